//! `yabby doctor [--fix]`: what is whole, what is damaged, what can be recovered and how (`cli.md` §12).

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use clap::Args;
use yabby_domain::json::{self, Object, Value};
use yabby_store::doctor::{
    Area, Checked, Doctor, Done, Examination, Finding, Progress, Proof, Severity, Treatment,
};

use crate::failure::Failure;
use crate::setting::Setting;

#[derive(Args)]
#[command(after_help = "Examples:
  yabby doctor                look at everything, change nothing
  yabby doctor --fix          repair it, after a backup, and prove that nothing is missing
  yabby doctor --json | jq '.findings[] | select(.severity == \"damage\")'

Exit code 0 if nothing is damaged, or everything was repaired; 1 if damage remains.")]
pub struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Repair what is damaged, after a backup
    #[arg(long, visible_alias = "repair", overrides_with = "fix")]
    fix: bool,
    /// Repair without asking
    #[arg(long)]
    yes: bool,
    /// Ask nothing; without --fix nothing is changed
    #[arg(long)]
    non_interactive: bool,
    /// Accepted for compatibility; everything is always examined
    #[arg(long, hide = true)]
    deep: bool,
    /// Accepted for compatibility; nothing is overwritten without a backup anyway
    #[arg(long, hide = true)]
    force: bool,
    /// Accepted for compatibility
    #[arg(long, hide = true)]
    no_workspace_suggestions: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let doctor = Doctor::new(&setting.place);
    let mut progress = Line::new();
    let found = doctor.examine(&mut |step| progress.show(step));
    progress.clear();
    if !arguments.fix && !arguments.yes {
        let is_ok = found.is_ok();
        if arguments.json {
            print_json(examined(&found))?
        } else {
            print_examination(setting, &found)?
        }
        return verdict(is_ok);
    }
    let may_repair = !found.is_fixable() || arguments.may_repair(setting, &found)?;
    if !may_repair {
        return Err(Failure::bare("Nothing was changed.").into());
    }
    let treatment = doctor.repair(found, &mut |step| progress.show(step))?;
    progress.clear();
    if arguments.json {
        print_json(treated(&treatment))?
    } else {
        print_treatment(setting, &treatment)?
    }
    verdict(treatment.is_ok())
}

fn verdict(is_ok: bool) -> Result<()> {
    if is_ok { Ok(()) } else { Err(Failure::silent().into()) }
}

impl Arguments {
    /// Asks a person at a terminal; in a pipe `--fix` is answer enough.
    fn may_repair(&self, setting: &Setting, found: &Examination) -> Result<bool> {
        let is_asked = io::stdin().is_terminal() && io::stdout().is_terminal();
        if self.yes || self.non_interactive || self.json || !is_asked {
            return Ok(true);
        }
        print_examination(setting, found)?;
        anstream::print!("\nRepair this now? A backup is made first. [Y/n] ");
        io::stdout().flush()?;
        let mut answer = String::new();
        let is_answered = io::stdin().lock().read_line(&mut answer)? > 0;
        Ok(is_answered && matches!(answer.trim().to_lowercase().as_str(), "" | "y" | "yes"))
    }
}

/// One line on a terminal that says how far it is.
struct Line {
    is_shown: bool,
    last: String,
}

impl Line {
    fn new() -> Self {
        Self { is_shown: io::stderr().is_terminal(), last: String::new() }
    }

    fn show(&mut self, step: Progress<'_>) {
        const EVERY: usize = 64;
        if !self.is_shown || !step.done.is_multiple_of(EVERY) || step.all <= EVERY {
            return;
        }
        self.last = format!("{} {}/{}", step.what, step.done, step.all);
        anstream::eprint!("\r\u{1b}[K{}", self.last);
    }

    fn clear(&mut self) {
        if !self.last.is_empty() {
            anstream::eprint!("\r\u{1b}[K");
            self.last.clear();
        }
    }
}

fn print_json(report: Object) -> Result<()> {
    writeln!(anstream::stdout(), "{}", json::stringify_pretty(&Value::Object(report)))?;
    Ok(())
}

/// `{folder, ok, checked, findings}`
fn examined(found: &Examination) -> Object {
    let mut report = Object::new();
    report.insert("folder".into(), shown(&found.folder));
    report.insert("ok".into(), found.is_ok().into());
    report.insert("checked".into(), counts(&found.checked));
    report.insert("findings".into(), found.findings.iter().map(told).collect());
    report
}

/// The same of what is left, and what was done.
fn treated(treatment: &Treatment) -> Object {
    let mut report = examined(&treatment.after);
    report.insert("ok".into(), treatment.is_ok().into());
    report.insert("fixed".into(), treatment.fixed.iter().map(deed).collect());
    report.insert("failed".into(), treatment.failed.iter().map(deed).collect());
    report.insert("backup".into(), treatment.backup.as_deref().map_or(Value::Null, shown));
    report.insert("proof".into(), proof(&treatment.proof));
    report
}

fn counts(checked: &Checked) -> Value {
    let Checked { agents, stores, records, transcripts, lines, archives, locks, other_files, bytes, free } =
        checked;
    let mut counts = Object::new();
    for (name, count) in [
        ("agents", agents),
        ("stores", stores),
        ("records", records),
        ("transcripts", transcripts),
        ("lines", lines),
        ("archives", archives),
        ("locks", locks),
        ("otherFiles", other_files),
    ] {
        counts.insert(name.into(), (*count).into());
    }
    counts.insert("bytes".into(), (*bytes).into());
    counts.insert("freeBytes".into(), free.map_or(Value::Null, Value::from));
    Value::Object(counts)
}

fn told(finding: &Finding) -> Value {
    let mut told = Object::new();
    told.insert("code".into(), finding.code.as_str().into());
    told.insert("severity".into(), finding.code.severity().as_str().into());
    told.insert("area".into(), finding.code.area().as_str().into());
    told.insert("path".into(), shown(&finding.path));
    if !finding.lines.is_empty() {
        told.insert("lines".into(), finding.lines.clone().into());
    }
    told.insert("what".into(), finding.what.as_str().into());
    told.insert("remedy".into(), finding.code.remedy().into());
    told.insert("fixable".into(), finding.is_fixable().into());
    if let Some(pid) = finding.held_by {
        told.insert("heldBy".into(), pid.into());
    }
    Value::Object(told)
}

fn deed(done: &Done) -> Value {
    let mut deed = Object::new();
    deed.insert("path".into(), shown(&done.path));
    deed.insert("what".into(), done.what.as_str().into());
    if !done.kept.is_empty() {
        deed.insert("kept".into(), done.kept.iter().map(|path| shown(path)).collect());
    }
    Value::Object(deed)
}

fn proof(proof: &Proof) -> Value {
    let mut told = Object::new();
    told.insert("ok".into(), proof.holds().into());
    told.insert("records".into(), proof.records.into());
    told.insert("lines".into(), proof.lines.into());
    told.insert("files".into(), proof.files.into());
    told.insert("setAside".into(), proof.set_aside.into());
    told.insert("missing".into(), proof.missing.clone().into());
    Value::Object(told)
}

fn shown(path: &Path) -> Value {
    path.display().to_string().into()
}

/// A path below the folder that is examined, or as a person reads it.
fn place(setting: &Setting, path: &Path) -> String {
    match path.strip_prefix(setting.place.folder.path()) {
        Ok(inside) if !inside.as_os_str().is_empty() => harmless(&inside.display().to_string()),
        _ => harmless(&setting.place.shortened(path)),
    }
}

fn print_examination(setting: &Setting, found: &Examination) -> Result<()> {
    let mut out = anstream::stdout();
    writeln!(out, "{BOLD}{}{BOLD:#}", setting.place.shortened(&found.folder))?;
    print_areas(&mut out, setting, found)?;
    writeln!(out)?;
    let count =
        |severity| found.findings.iter().filter(|finding| finding.code.severity() == severity).count();
    let (damages, warnings) = (count(Severity::Damage), count(Severity::Warning));
    if damages == 0 && warnings == 0 {
        writeln!(out, "{GREEN}Everything is whole.{GREEN:#}")?;
        return Ok(());
    }
    let told = match (damages, warnings) {
        (0, warnings) => format!("Nothing is damaged; {}.", counted(warnings, "warning")),
        (damages, 0) => format!("{} of damage.", counted(damages, "case")),
        (damages, warnings) => {
            format!("{} of damage, {}.", counted(damages, "case"), counted(warnings, "warning"))
        }
    };
    let command = match found.is_fixable() {
        true => format!(" Run: {}", setting.command("doctor --fix")),
        false => String::new(),
    };
    let style = if damages > 0 { RED } else { YELLOW };
    writeln!(out, "{style}{told}{style:#}{command}")?;
    Ok(())
}

fn print_areas(out: &mut impl io::Write, setting: &Setting, found: &Examination) -> Result<()> {
    for area in Area::ALL {
        let findings: Vec<&Finding> =
            found.findings.iter().filter(|finding| finding.code.area() == area).collect();
        let worst = findings.iter().map(|finding| finding.code.severity()).max();
        let (mark, style) = match worst {
            None | Some(Severity::Note) => ("✓", GREEN),
            Some(Severity::Warning) => ("!", YELLOW),
            Some(Severity::Damage) => ("✗", RED),
        };
        writeln!(out, "{style}{mark}{style:#} {}", heading(area, &found.checked))?;
        let mut by_code = BTreeMap::<_, Vec<&Finding>>::new();
        for finding in findings {
            by_code
                .entry((std::cmp::Reverse(finding.code.severity()), finding.code))
                .or_default()
                .push(finding);
        }
        for findings in by_code.into_values() {
            print_findings(out, setting, &findings)?;
        }
    }
    Ok(())
}

/// Findings of one kind: the first ones, and how many more there are.
fn print_findings(out: &mut impl io::Write, setting: &Setting, findings: &[&Finding]) -> Result<()> {
    const SHOWN: usize = 5;
    let Some(first) = findings.first() else { return Ok(()) };
    let style = match first.code.severity() {
        Severity::Note => DIM,
        Severity::Warning => YELLOW,
        Severity::Damage => RED,
    };
    for finding in findings.iter().take(SHOWN) {
        let path = place(setting, &finding.path);
        // Elsewhere the line is part of what is said.
        let line = finding.lines.first().filter(|_| finding.code.area() == Area::Config);
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        writeln!(out, "    {style}{path}{line}{style:#} {}", harmless(&finding.what))?;
        if let Some(pid) = finding.held_by.filter(|_| first.code.severity() > Severity::Note) {
            writeln!(out, "      {DIM}Process {pid} works on it, so it is left alone for now.{DIM:#}")?;
        }
    }
    if let Some(more) = findings.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        writeln!(out, "    {style}… and {more} more{style:#}")?;
    }
    writeln!(out, "      {DIM}{} ({}){DIM:#}", first.code.remedy(), first.code.as_str())?;
    Ok(())
}

fn heading(area: Area, checked: &Checked) -> String {
    match area {
        Area::Folder => match checked.free {
            Some(free) => {
                format!("Folder: {} of sessions, {} free on the disk", size(checked.bytes), size(free))
            }
            None => "Folder".to_owned(),
        },
        Area::Config => "Configuration".to_owned(),
        Area::Permissions => "Permissions".to_owned(),
        Area::Stores => format!(
            "Stores: {} of {}, {}",
            counted(checked.stores, "store"),
            counted(checked.agents, "agent"),
            counted(checked.records, "record")
        ),
        Area::Journals => "Journals".to_owned(),
        Area::Transcripts => {
            format!(
                "Transcripts: {}, {}",
                counted(checked.transcripts, "file"),
                counted(checked.lines, "line")
            )
        }
        Area::Locks => format!("Locks: {}", checked.locks),
        Area::Leftovers => format!("Leftovers; {} put away", counted(checked.archives, "file")),
        Area::OtherFiles => format!("Other files: {}", checked.other_files),
    }
}

fn print_treatment(setting: &Setting, treatment: &Treatment) -> Result<()> {
    let mut out = anstream::stdout();
    if let Some(backup) = &treatment.backup {
        writeln!(
            out,
            "Backup of everything that was touched: {BOLD}{}{BOLD:#}",
            harmless(&setting.place.shortened(backup))
        )?;
    }
    print_deeds(&mut out, setting, &treatment.fixed, ("✓", GREEN))?;
    print_deeds(&mut out, setting, &treatment.failed, ("✗", RED))?;
    let after = &treatment.after;
    let remaining = |finding: &&Finding| finding.code.severity() > Severity::Note;
    if after.findings.iter().any(|finding| remaining(&finding)) {
        writeln!(out, "\n{BOLD}What is left{BOLD:#}")?;
        print_areas(&mut out, setting, after)?;
    }
    writeln!(out)?;
    let Proof { records, lines, missing, set_aside, .. } = &treatment.proof;
    if missing.is_empty() {
        let aside = match set_aside {
            0 => String::new(),
            aside => format!(" ({aside} of them in files set aside or in the backup)"),
        };
        writeln!(
            out,
            "nothing is missing: {}, {} accounted for{aside}",
            counted(*records, "record"),
            counted(*lines, "line")
        )?;
    } else {
        writeln!(out, "{RED}missing: {}{RED:#}", harmless(&missing.join(", ")))?;
    }
    match (treatment.is_ok(), &treatment.backup) {
        (true, None) => writeln!(out, "{GREEN}There was nothing to repair.{GREEN:#}")?,
        (true, Some(_)) => writeln!(out, "{GREEN}Everything that was damaged is repaired.{GREEN:#}")?,
        (false, _) => writeln!(out, "{RED}Damage remains:{RED:#} what to do about it stands above.")?,
    }
    Ok(())
}

fn print_deeds(
    out: &mut impl io::Write,
    setting: &Setting,
    deeds: &[Done],
    (mark, style): (&str, Style),
) -> Result<()> {
    const SHOWN: usize = 50;
    for done in deeds.iter().take(SHOWN) {
        let path = place(setting, &done.path);
        writeln!(out, "{style}{mark}{style:#} {path} {}", harmless(&done.what))?;
        for kept in &done.kept {
            writeln!(out, "    {DIM}kept: {}{DIM:#}", place(setting, kept))?;
        }
    }
    if let Some(more) = deeds.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        writeln!(out, "  … and {more} more")?;
    }
    Ok(())
}

/// Names of files and keys come from outside, and must not steer the terminal.
fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn size(bytes: u64) -> String {
    const STEP: u64 = 1024;
    match bytes {
        bytes if bytes < STEP => format!("{bytes} B"),
        bytes if bytes < STEP * STEP => format!("{} KB", bytes / STEP),
        bytes if bytes < STEP * STEP * STEP => format!("{} MB", bytes / STEP / STEP),
        bytes => format!("{} GB", bytes / STEP / STEP / STEP),
    }
}

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GREEN: Style = AnsiColor::Green.on_default();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const RED: Style = AnsiColor::Red.on_default();
