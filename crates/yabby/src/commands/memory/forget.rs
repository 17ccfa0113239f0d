//! `yabby memory forget`: takes something out of the notes, the conversations and every index of them, and then
//! looks for it everywhere.

mod plan;
mod proof;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Write as _};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::forget::forget;
use yabby_memory::compat::files::Source;
use yabby_memory::compat::forget::{self as reference, Changed};
use yabby_memory::recall::Gone;
use yabby_store::files::transcripts::TranscriptFolder;
use yabby_tools::notes;

use super::{BAD, DISABLED, Desk, GOOD, LABEL, VALUE, tell_unread};
use crate::failure::{self, Failure};
use crate::setting::Setting;
use crate::terminal::{self, counted};
use crate::wire::memory::AgentMemory;
use plan::Plan;
use proof::Proof;

#[derive(Args)]
pub struct Arguments {
    /// Where it stands, as `memory search` tells it: memory/<name>.md:3, MEMORY.md:3-5, sessions/<id>.jsonl:12
    #[arg(value_name = "PATH:LINE", required_unless_present_any = ["message", "matching"], conflicts_with_all = ["message", "matching"])]
    place: Option<String>,
    /// What a message says
    #[arg(long, value_name = "SESSION_ID/ENTRY_ID", conflicts_with = "matching")]
    message: Option<String>,
    /// Every line of a note and every text of a message that has these words
    #[arg(long, value_name = "TEXT")]
    matching: Option<String>,
    /// The agent whose memory it is [default: the default one]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Only say what would be forgotten
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let desk = Desk::open(setting)?;
    let agent = desk.agent(arguments.agent.as_deref());
    let Some(kept) = desk.memory(&agent)? else { return Err(Failure::bare(DISABLED).into()) };
    let failed = |error: anyhow::Error| -> anyhow::Error {
        Failure::bare(format!("Memory forget failed: {}", failure::told(&error))).into()
    };
    let plan = match (&arguments.place, &arguments.message, &arguments.matching) {
        (Some(place), ..) => Plan::of_place(&kept, place),
        (_, Some(message), _) => Plan::of_message(&kept, message),
        (_, _, Some(words)) => Plan::of_words(&kept, words),
        (None, None, None) => bail!("say what to forget"),
    };
    let plan = plan.map_err(failed)?;
    if plan.is_empty() {
        return match arguments.json {
            true => terminal::print_json(&json!({"forgotten": [], "dryRun": arguments.dry_run})),
            false => Ok(writeln!(anstream::stdout(), "No matches.")?),
        };
    }
    if arguments.dry_run {
        return match arguments.json {
            true => terminal::print_json(&json!({"forgotten": plan.json(), "dryRun": true})),
            false => print_plan("Would be forgotten", &plan),
        };
    }
    if !arguments.yes {
        ask(&plan)?;
    }
    carry_out(&desk, &kept, &plan).map_err(failed)?;
    let proof = Proof::of(&desk, &kept, &plan.needles);
    if arguments.json {
        let mut told = json!({"forgotten": plan.json(), "dryRun": false});
        if let (Value::Object(told), Value::Object(proof)) = (&mut told, proof.json()) {
            told.extend(proof);
        }
        return terminal::print_json(&told);
    }
    print_plan("Forgotten", &plan)?;
    print_proof(&desk, &proof)
}

/// Asks whoever sits at a terminal; nobody else is taken at half a word.
fn ask(plan: &Plan) -> Result<()> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::bare(
            "Nothing was forgotten: without a terminal, --yes has to say that it is meant.",
        )
        .into());
    }
    for line in plan.lines() {
        anstream::eprintln!("  {}", terminal::short(&line, 100));
    }
    anstream::eprint!("Forget {}? No copy is kept. [y/N] ", plan.summary());
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::bare("Nothing was forgotten.").into()),
    }
}

/// First the files, since they are the truth; then what was made of them.
fn carry_out(desk: &Desk<'_>, kept: &AgentMemory, plan: &Plan) -> Result<()> {
    let mut gone: Vec<Gone> = Vec::new();
    let mut changed: Vec<Changed> = Vec::new();
    // First what can fail because somebody is talking: then nothing has changed yet.
    let mut conversations: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for turn in &plan.turns {
        conversations.entry(&turn.path).or_default().insert(&turn.line_text);
        let (path, entry) = (turn.path.clone(), turn.entry.clone());
        gone.extend(entry.map(|entry| Gone::Entry { path, entry }));
    }
    for (path, lines) in conversations {
        let name = path.trim_start_matches("sessions/");
        let id = TranscriptId::of_file(name)?;
        let mut silenced = |entry: &Entry| {
            let is_meant = lines.contains(entry.line());
            is_meant.then(|| forget(entry, plan.which())).flatten().map(|forgotten| forgotten.line)
        };
        TranscriptFolder::open(&kept.transcripts).forget_blocking(&id, &mut silenced)?;
        let file = kept.transcripts.join(name);
        changed.push(Changed { source: Source::Sessions, path: path.to_owned(), file });
    }
    for note in &plan.notes {
        note.remove().map_err(|problem| anyhow!("{problem}"))?;
        changed.push(Changed { source: Source::Memory, path: note.path.clone(), file: note.file.clone() });
        let lines =
            note.lines.keys().map(|line| Gone::Lines { path: note.path.clone(), first: *line, last: *line });
        gone.extend(lines);
    }
    desk.runtime.block_on(async {
        kept.memory.blocking(move |memory| memory.recall().forget(&gone)).await?;
        tell_unread(&kept.memory.sync(&|_| {}).await?.unread);
        kept.memory.blocking(|memory| memory.recall().shred()).await
    })?;
    reference::forget(&kept.settings, &kept.workspace, &changed)?;
    Ok(())
}

impl plan::Note {
    fn remove(&self) -> Result<(), String> {
        let mut has_changed = false;
        notes::change(&self.file, |bytes| {
            let lines = (1..).zip(bytes.split_inclusive(|byte| *byte == b'\n'));
            let mut left = Vec::with_capacity(bytes.len());
            let mut found = 0;
            for (number, line) in lines {
                match self.lines.get(&number) {
                    Some(meant) if plan::text_of(line) == *meant => found += 1,
                    _ => left.extend_from_slice(line),
                }
            }
            has_changed = found < self.lines.len();
            (!has_changed).then_some(left)
        })?;
        match has_changed {
            true => Err(format!("{} has changed meanwhile; look at it again", self.path)),
            false => Ok(()),
        }
    }
}

fn print_plan(heading: &str, plan: &Plan) -> Result<()> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{heading}: {}.", plan.summary())?;
    let most = terminal::width().unwrap_or(100).saturating_sub(2);
    for line in plan.lines() {
        writeln!(out, "  {LABEL}{}{LABEL:#}", terminal::short(&line, most))?;
    }
    Ok(())
}

fn print_proof(desk: &Desk<'_>, proof: &Proof) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let searched = counted(proof.searched, "file");
    if !proof.was_possible {
        writeln!(out, "It is too short to be looked for.")?;
    } else if proof.traces.is_empty() {
        writeln!(out, "{GOOD}No trace left{GOOD:#}: {searched} searched, byte by byte.")?;
    } else {
        writeln!(out, "{BAD}Still there{BAD:#} ({searched} searched):")?;
        for trace in &proof.traces {
            let path = desk.shortened(&trace.path.to_string_lossy());
            let place = trace.line.map(|line| format!(":{line}")).unwrap_or_default();
            writeln!(
                out,
                "  {VALUE}{path}{place}{VALUE:#} {LABEL}({}){LABEL:#}",
                terminal::harmless(&trace.what)
            )?;
        }
        writeln!(out, "Copies that were put away can be deleted; summaries go with their conversation.")?;
    }
    Ok(())
}
