//! Whether a command may run, and who is asked (`config.md` §9, `sessions.md` §7, `state-files.md` §4).
//!
//! The configuration says what holds, a session may say otherwise, a call may only be stricter, and of
//! that and the approvals file the stricter wins.

use super::approvals::{Approvals, ExactCommand, ForAgent};
use super::command_line::{segments, with_paths};
use super::program::{FoundProgram, runs_anything, runs_no_other};
use super::safe_bins::SafeBins;
use crate::config::Config;
use crate::config::word::Word;
use crate::id::AgentId;
use crate::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Security {
    Deny,
    Allowlist,
    Full,
}

/// From the least strict on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ask {
    Off,
    OnMiss,
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Host {
    /// In confinement, if there is one; else where the program runs.
    Sandbox,
    Gateway,
    Node,
}

impl Security {
    pub fn parse(word: &str) -> Option<Self> {
        match text::lower(text::trim(word)).as_str() {
            "deny" => Some(Self::Deny),
            "allowlist" => Some(Self::Allowlist),
            "full" => Some(Self::Full),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Allowlist => "allowlist",
            Self::Full => "full",
        }
    }
}

impl Ask {
    pub fn parse(word: &str) -> Option<Self> {
        match text::lower(text::trim(word)).as_str() {
            "off" => Some(Self::Off),
            "on-miss" => Some(Self::OnMiss),
            "always" => Some(Self::Always),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::OnMiss => "on-miss",
            Self::Always => "always",
        }
    }
}

impl Host {
    pub fn parse(word: &str) -> Option<Self> {
        match text::lower(text::trim(word)).as_str() {
            "sandbox" => Some(Self::Sandbox),
            "gateway" => Some(Self::Gateway),
            "node" => Some(Self::Node),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sandbox => "sandbox",
            Self::Gateway => "gateway",
            Self::Node => "node",
        }
    }
}

/// What one place says about commands; what it leaves out is said elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    pub host: Option<Host>,
    pub security: Option<Security>,
    pub ask: Option<Ask>,
}

impl Said {
    pub fn new(host: Option<&str>, security: Option<&str>, ask: Option<&str>) -> Self {
        Self {
            host: host.and_then(Host::parse),
            security: security.and_then(Security::parse),
            ask: ask.and_then(Ask::parse),
        }
    }

    /// `tools.exec`, and the agent's own in its place.
    pub fn from_config(config: &Config, agent: &AgentId) -> Self {
        let exec = config.exec(agent);
        Self::new(
            exec.host.as_ref().map(Word::as_str),
            exec.security.as_ref().map(Word::as_str),
            exec.ask.as_ref().map(Word::as_str),
        )
    }

    fn over(self, other: Self) -> Self {
        Self {
            host: self.host.or(other.host),
            security: self.security.or(other.security),
            ask: self.ask.or(other.ask),
        }
    }
}

/// Somebody who may do so wants a command to run outside of its confinement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Elevation {
    #[default]
    None,
    /// On the host, by its rules.
    Ask,
    /// On the host, without any.
    Full,
}

/// What holds for one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    pub confined: bool,
    pub security: Security,
    pub ask: Ask,
    pub ask_fallback: Security,
    /// The approvals file has a say, and learns from answers.
    pub uses_approvals: bool,
    /// An owner took it out of its confinement.
    pub is_elevated: bool,
}

/// Where a call comes from and what is said about it.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    pub config: Said,
    pub session: Said,
    pub call: Said,
    /// The session's commands are confined.
    pub confined: bool,
    pub elevation: Elevation,
}

/// What holds for a call; `Err` tells why it cannot be made at all.
///
/// In confinement nobody is asked unless that is said: the walls are the answer. Without confinement the
/// host `sandbox` is the gateway's, and its rules hold; in the reference nothing holds there.
pub fn rules(asked: &Asked, approvals: &Approvals, agent: &AgentId) -> Result<Rules, String> {
    let said = asked.session.over(asked.config);
    let configured = said.host.unwrap_or(Host::Sandbox);
    let elevated = asked.confined && asked.elevation != Elevation::None;
    if let Some(wanted) = asked.call.host
        && wanted != configured
        && !elevated
        // Without confinement both are the same place.
        && (asked.confined || wanted == Host::Node || configured == Host::Node)
    {
        let (wanted, configured) = (wanted.as_str(), configured.as_str());
        return Err(format!(
            "exec host not allowed (requested {wanted}; configure tools.exec.host={wanted} to allow; it is {configured})"
        ));
    }
    if configured == Host::Node {
        return Err("exec host=node requires a paired node, and none is here; use host=gateway".to_owned());
    }
    if asked.confined && configured == Host::Sandbox && !elevated {
        let stricter = [said.security, asked.call.security].into_iter().flatten().min();
        let ask = [said.ask, asked.call.ask].into_iter().flatten().max();
        return Ok(Rules {
            confined: true,
            security: if stricter == Some(Security::Deny) { Security::Deny } else { Security::Full },
            ask: if ask == Some(Ask::Always) { Ask::Always } else { Ask::Off },
            ask_fallback: Security::Deny,
            uses_approvals: false,
            is_elevated: false,
        });
    }
    if elevated && asked.elevation == Elevation::Full {
        return Ok(Rules {
            confined: false,
            security: Security::Full,
            ask: Ask::Off,
            ask_fallback: Security::Deny,
            uses_approvals: false,
            is_elevated: true,
        });
    }
    let security = said.security.unwrap_or(Security::Allowlist);
    let security = asked.call.security.map_or(security, |wanted| wanted.min(security));
    let ask = said.ask.unwrap_or(Ask::OnMiss);
    let ask = asked.call.ask.map_or(ask, |wanted| wanted.max(ask));
    let file = approvals.for_agent(agent);
    Ok(Rules {
        confined: false,
        security: file.security.map_or(security, |filed| filed.min(security)),
        ask: file.ask.map_or(ask, |filed| filed.max(ask)),
        ask_fallback: file.ask_fallback.unwrap_or(Security::Deny),
        uses_approvals: true,
        is_elevated: elevated,
    })
}

/// What is known about the programs of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Every program is on the list, or works on its input only.
    pub is_allowed: bool,
    /// Why not, if it is not.
    pub why: Option<String>,
    /// The programs as they were found, in order; only if the command can be read.
    pub programs: Vec<String>,
    /// The patterns that allowed them.
    pub used: Vec<String>,
    /// What runs unasked in its place: the same with every program named by its path, see [`with_paths`].
    pub by_path: Option<String>,
    /// What an answer of *always* allows.
    pub grant: Grant,
}

/// What is allowed from now on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Grant {
    #[default]
    Nothing,
    /// These programs, whatever their arguments: they run no others.
    Programs(Vec<String>),
    /// This very command: one of its programs can run others.
    Command(ExactCommand),
}

/// What the rules have to ask about the disk.
pub trait Programs {
    /// The file that a program's name leads to from where the command runs, through the `PATH` that it is
    /// given. `has_home` tells that a leading `~` is the home folder.
    fn find(&self, name: &str, has_home: bool) -> Option<FoundProgram>;

    /// Whether there is such a file where the command runs.
    fn exists(&self, name: &str) -> bool;
}

/// A command, and what is around it when it runs.
#[derive(Clone, Copy, Debug)]
pub struct Invocation<'a> {
    pub command: &'a str,
    pub folder: &'a str,
    /// The folder is one that the agent may work in.
    pub is_known_folder: bool,
    /// A variable that the call sets and that a program on the list is not given unasked.
    pub variable: Option<&'a str>,
}

/// Holds a command against the list.
pub fn judge(
    invocation: &Invocation<'_>,
    allowed: &ForAgent,
    safe: &SafeBins,
    home: &str,
    programs: &dyn Programs,
) -> Judged {
    let Invocation { command, folder, .. } = *invocation;
    let mut judged = Judged {
        is_allowed: false,
        why: None,
        programs: Vec::new(),
        used: Vec::new(),
        by_path: None,
        grant: Grant::Nothing,
    };
    let missed = |judged: Judged, why: String| Judged { why: Some(why), ..judged };
    let read = match segments(command) {
        Ok(read) => read,
        Err(why) => return missed(judged, why.to_string()),
    };
    let found: Vec<Option<FoundProgram>> =
        read.iter().map(|segment| programs.find(&segment.words[0].text, segment.words[0].has_home)).collect();
    judged.programs = found.iter().flatten().map(|program| program.path.clone()).collect();
    if let Some(at) = found.iter().position(Option::is_none) {
        return missed(judged, format!("{} is no program that can be found", read[at].words[0].text));
    }
    let found: Vec<FoundProgram> = found.into_iter().flatten().collect();
    judged.grant = grant(&found, command, folder);
    if let Some(name) = invocation.variable {
        return missed(judged, format!("it is given the variable {name}, which may make it run other code"));
    }
    // A program that the agent can change, and that a shell would find by its name alone, was another one then.
    let is_same = read
        .iter()
        .zip(&found)
        .all(|(segment, program)| !program.is_changeable || segment.words[0].text.contains('/'));
    if let Some(exact) =
        allowed.commands.iter().find(|exact| exact.allows(command, folder)).filter(|_| is_same)
    {
        return Judged { is_allowed: true, used: vec![exact.pattern()], ..judged };
    }
    for (segment, program) in read.iter().zip(&found) {
        if let Some(pattern) = allowed.allowed.iter().find(|pattern| stands_for(pattern, program, home)) {
            judged.used.push(pattern.clone());
        } else if !safe.allow(program, &segment.words[1..], |file| programs.exists(file)) {
            judged.used.clear();
            return missed(judged, format!("{} is not on the allowlist", program.path));
        }
    }
    if !invocation.is_known_folder {
        judged.used.clear();
        return missed(judged, format!("it runs in {folder}, which is not one of the agent's folders"));
    }
    let by_path = with_paths(command, &read, found.iter().map(|program| program.path.as_str()));
    Judged { is_allowed: true, by_path: Some(by_path), ..judged }
}

/// Whether a pattern of the list stands for a program. One that the agent can change it has to name exactly.
fn stands_for(pattern: &str, program: &FoundProgram, home: &str) -> bool {
    let matches = |path: &str| super::approvals::matches(pattern, path, home);
    match program.is_changeable {
        true => !pattern.contains(['*', '?']) && matches(&program.path),
        false => matches(&program.path) || matches(&program.real),
    }
}

/// What somebody allows who says *always* to a command.
fn grant(programs: &[FoundProgram], command: &str, folder: &str) -> Grant {
    // Who says yes to `sh build.sh` for good has not thought of everything that `sh` runs, or that the file becomes.
    if programs.iter().any(|program| program.is_changeable || runs_anything(&program.path)) {
        Grant::Nothing
    } else if programs.iter().all(|program| program.is_system() && runs_no_other(program.name())) {
        Grant::Programs(programs.iter().map(|program| program.path.clone()).collect())
    } else {
        let (command, folder) = (text::trim(command).to_owned(), Some(folder.to_owned()));
        Grant::Command(ExactCommand { command, folder })
    }
}

/// What is to be done with a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Run,
    Ask,
    Refuse(String),
}

pub fn verdict(rules: &Rules, judged: &Judged) -> Verdict {
    let is_missed = rules.security == Security::Allowlist && !judged.is_allowed;
    let why = || judged.why.as_deref().unwrap_or("it is not on the allowlist").to_owned();
    match (rules.security, rules.ask) {
        (Security::Deny, _) => Verdict::Refuse("commands are not allowed here (security=deny)".to_owned()),
        (_, Ask::Always) => Verdict::Ask,
        (_, Ask::OnMiss) if is_missed => Verdict::Ask,
        (_, Ask::Off) if is_missed => Verdict::Refuse(format!("allowlist miss: {}", why())),
        (Security::Allowlist | Security::Full, Ask::Off | Ask::OnMiss) => Verdict::Run,
    }
}

/// What comes of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A person said that it runs, as it is written; this is allowed from now on.
    Approved(Grant),
    /// Nobody answered, and it is on the list.
    Listed,
    /// Nobody answered, and everything runs then.
    Unanswered,
    Refuse(String),
}

pub fn after_asking(rules: &Rules, judged: &Judged, decision: Decision) -> Outcome {
    match (decision, rules.ask_fallback) {
        (Decision::Always, _) if rules.uses_approvals && rules.security == Security::Allowlist => {
            Outcome::Approved(judged.grant.clone())
        }
        (Decision::Once | Decision::Always, _) => Outcome::Approved(Grant::Nothing),
        (Decision::Deny, _) => Outcome::Refuse("it was denied by the person who was asked".to_owned()),
        (Decision::Unanswered, Security::Full) => Outcome::Unanswered,
        (Decision::Unanswered, Security::Allowlist) if judged.is_allowed => Outcome::Listed,
        (Decision::Unanswered, Security::Allowlist | Security::Deny) => {
            let why = judged.why.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
            Outcome::Refuse(format!("it needs an approval{why}, and nobody answered"))
        }
    }
}

/// What somebody said who was asked about a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Once,
    /// From now on.
    Always,
    Deny,
    /// Nobody could be asked, or nobody answered in time.
    Unanswered,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn approvals(text: serde_json::Value) -> Approvals {
        Approvals::parse(&text.to_string()).unwrap_or_default()
    }

    fn asked(config: Said, session: Said, call: Said) -> Asked {
        Asked { config, session, call, confined: false, elevation: Elevation::None }
    }

    fn said(host: &str, security: &str, ask: &str) -> Said {
        Said::new(Some(host), Some(security), Some(ask))
    }

    #[test]
    fn a_call_may_only_be_stricter_and_the_file_too() {
        let none = Said::default();
        let empty = json!({"version": 1});
        let strict = json!({"version": 1, "defaults": {"security": "deny"}});
        let filed = json!({"version": 1, "defaults": {"security": "full", "ask": "always", "askFallback": "full"},
            "agents": {"*": {"ask": "off"}, "main": {"security": "allowlist"}}});
        //  config, session, call, file, security, ask, fallback
        let table = [
            (none, none, none, &empty, "allowlist", "on-miss", "deny"),
            (said("", "full", "off"), none, none, &empty, "full", "off", "deny"),
            (
                said("", "full", "off"),
                none,
                said("", "allowlist", "always"),
                &empty,
                "allowlist",
                "always",
                "deny",
            ),
            (none, none, said("", "full", "off"), &empty, "allowlist", "on-miss", "deny"),
            (none, said("", "full", "off"), none, &empty, "full", "off", "deny"),
            (said("", "deny", "off"), said("", "full", "off"), none, &empty, "full", "off", "deny"),
            (none, said("", "full", "off"), none, &strict, "deny", "off", "deny"),
            (said("", "full", "off"), none, none, &filed, "allowlist", "off", "full"),
            (said("", "full", "always"), none, none, &filed, "allowlist", "always", "full"),
            (said("", "nonsense", "maybe"), none, none, &empty, "allowlist", "on-miss", "deny"),
        ];
        for (config, session, call, file, security, ask, fallback) in table {
            let rules =
                rules(&asked(config, session, call), &approvals(file.clone()), &AgentId::default()).unwrap();
            let found = (rules.security.as_str(), rules.ask.as_str(), rules.ask_fallback.as_str());
            assert_eq!(found, (security, ask, fallback), "{config:?} {session:?} {call:?} {file}");
        }
    }

    #[test]
    fn confinement_is_left_by_those_who_may_only() {
        let none = Said::default();
        let on = |host: &str| Said::new(Some(host), None, None);
        //  confined  config  call  elevation  (confined, security, ask)
        let table = [
            (true, none, none, Elevation::None, Some((true, "full", "off"))),
            (true, said("", "deny", "off"), none, Elevation::None, Some((true, "deny", "off"))),
            (true, said("", "allowlist", "on-miss"), none, Elevation::None, Some((true, "full", "off"))),
            (true, none, said("", "full", "always"), Elevation::None, Some((true, "full", "always"))),
            (true, on("gateway"), none, Elevation::None, Some((false, "allowlist", "on-miss"))),
            (true, none, on("gateway"), Elevation::None, None),
            (true, none, on("gateway"), Elevation::Ask, Some((false, "allowlist", "on-miss"))),
            (true, none, none, Elevation::Full, Some((false, "full", "off"))),
            (false, none, none, Elevation::Full, Some((false, "allowlist", "on-miss"))),
            (false, none, on("gateway"), Elevation::None, Some((false, "allowlist", "on-miss"))),
            (false, none, on("node"), Elevation::None, None),
            (false, on("node"), none, Elevation::None, None),
        ];
        for (confined, config, call, elevation, expected) in table {
            let asked = Asked { config, session: none, call, confined, elevation };
            let found = rules(&asked, &Approvals::default(), &AgentId::default()).ok();
            let found = found.map(|rules| (rules.confined, rules.security.as_str(), rules.ask.as_str()));
            assert_eq!(found, expected, "{asked:?}");
        }
    }

    struct Shelf;

    impl Programs for Shelf {
        fn find(&self, name: &str, has_home: bool) -> Option<FoundProgram> {
            let found = |path: &str, real: &str| FoundProgram {
                path: path.to_owned(),
                real: real.to_owned(),
                is_changeable: path.starts_with("/here/") || real.starts_with("/here/"),
            };
            match name {
                "planted" => Some(found("/here/bin/planted", "/here/bin/planted")),
                "ls" | "git" | "sh" | "grep" | "wc" | "printf" => {
                    let path = format!("/usr/bin/{name}");
                    Some(found(&path, &path))
                }
                "~/bin/x" if has_home => Some(found("/home/u/bin/x", "/home/u/bin/x")),
                "~/bin/link" => Some(found("/home/u/bin/link", "/here/x")),
                "~/bin/grep" => Some(found("/home/u/bin/grep", "/usr/bin/bash")),
                "~/bin/x" => Some(found("/here/~/bin/x", "/here/~/bin/x")),
                "./ls" | "./wc" => Some(found(&name.replace('.', "/here"), "/usr/bin/ls")),
                _ => None,
            }
        }

        fn exists(&self, name: &str) -> bool {
            name == "notes.md"
        }
    }

    #[test]
    fn every_part_of_a_command_has_to_be_allowed() {
        let allowed = ["/usr/bin/ls".to_owned(), "/usr/bin/printf".to_owned(), "~/bin/?".to_owned()];
        let allowed = ForAgent {
            allowed: [&allowed[..], &["/home/**/link".to_owned()]].concat(),
            ..ForAgent::default()
        };
        let table = [
            ("ls -la", true),
            ("ls | grep x", true),
            ("ls && ls", true),
            ("~/bin/x", true),
            ("'~/bin/x'", false),
            ("~/bin/link", false),
            ("ls | ~/bin/grep", false),
            ("ls | ./wc", false),
            ("ls && git push", false),
            ("ls ; sh -c id", false),
            ("ls | grep x notes.md", false),
            ("ls $(git push)", false),
            ("eval ls", false),
            ("if ls; then ls; fi", false),
            ("ls > x", false),
        ];
        let safe = SafeBins::from_config(&Config::default());
        for (command, expected) in table {
            let judged = judge(&in_folder(command), &allowed, &safe, "/home/u", &Shelf);
            assert_eq!(judged.is_allowed, expected, "{command} {judged:?}");
            assert_eq!(judged.why.is_none(), expected, "{command}");
        }
        let judged = |invocation| judge(&invocation, &allowed, &safe, "/home/u", &Shelf);
        // A shell would run its own.
        let printf = judged(in_folder("printf -v 'a[$(id)]' x | wc -l"));
        assert_eq!(printf.by_path.unwrap(), "'/usr/bin/printf' -v 'a[$(id)]' x | '/usr/bin/wc' -l");
        assert!(!judged(Invocation { is_known_folder: false, ..in_folder("ls | wc") }).is_allowed);
        assert!(!judged(Invocation { variable: Some("GIT_EDITOR"), ..in_folder("ls") }).is_allowed);
    }

    #[test]
    fn a_command_that_is_allowed_as_it_stands_runs_as_it_stands() {
        let exact = ExactCommand { command: "git log".to_owned(), folder: Some("/here".to_owned()) };
        let allowed = ForAgent { commands: vec![exact], ..ForAgent::default() };
        let safe = SafeBins::from_config(&Config::default());
        let judged = |invocation| judge(&invocation, &allowed, &safe, "/home/u", &Shelf);
        let found = judged(in_folder("git log"));
        assert!(found.is_allowed && found.by_path.is_none() && found.used == ["=git log"]);
        for other in ["git log -c alias.x='!id'", "git", "git log; git push"] {
            assert!(!judged(in_folder(other)).is_allowed, "{other}");
        }
        assert!(!judged(Invocation { folder: "/other", ..in_folder("git log") }).is_allowed);
        // One of that name was put before the one that was meant; one in the workspace can be meant by its path only.
        for (command, expected) in [("planted x", false), ("./wc x", true)] {
            let exact = ExactCommand { command: command.to_owned(), folder: None };
            let allowed = ForAgent { commands: vec![exact], ..ForAgent::default() };
            let found = judge(&in_folder(command), &allowed, &safe, "/home/u", &Shelf);
            assert_eq!(found.is_allowed, expected, "{command}");
        }
        assert!(!judged(Invocation { variable: Some("GIT_EDITOR"), ..in_folder("git log") }).is_allowed);
    }

    fn in_folder(command: &str) -> Invocation<'_> {
        Invocation { command, folder: "/here", is_known_folder: true, variable: None }
    }

    #[test]
    fn who_is_asked_and_what_comes_of_the_answer() {
        use Decision::*;
        let rules = |security, ask, ask_fallback| Rules {
            confined: false,
            security,
            ask,
            ask_fallback,
            uses_approvals: true,
            is_elevated: false,
        };
        let judged = |command: &str| {
            let safe = SafeBins::from_config(&Config::default());
            let allowed = ForAgent { allowed: vec!["/usr/bin/ls".to_owned()], ..ForAgent::default() };
            judge(&in_folder(command), &allowed, &safe, "/home/u", &Shelf)
        };
        let table = [
            (Security::Deny, Ask::Off, "ls", "refuse"),
            (Security::Deny, Ask::Always, "ls", "refuse"),
            (Security::Allowlist, Ask::Off, "ls", "run"),
            (Security::Allowlist, Ask::Off, "git", "refuse"),
            (Security::Allowlist, Ask::OnMiss, "ls", "run"),
            (Security::Allowlist, Ask::OnMiss, "git", "ask"),
            (Security::Allowlist, Ask::OnMiss, "ls `git`", "ask"),
            (Security::Allowlist, Ask::Always, "ls", "ask"),
            (Security::Full, Ask::Off, "git", "run"),
            (Security::Full, Ask::OnMiss, "git", "run"),
            (Security::Full, Ask::Always, "git", "ask"),
        ];
        for (security, ask, command, expected) in table {
            let found = match verdict(&rules(security, ask, Security::Deny), &judged(command)) {
                Verdict::Run => "run",
                Verdict::Ask => "ask",
                Verdict::Refuse(_) => "refuse",
            };
            assert_eq!(found, expected, "{security:?} {ask:?} {command}");
        }
        let program = |path: &str| Grant::Programs(vec![path.to_owned()]);
        let exact = |command: &str| {
            Grant::Command(ExactCommand { command: command.to_owned(), folder: Some("/here".to_owned()) })
        };
        let approved = |grant| Some(Outcome::Approved(grant));
        //  decision  fallback  command  what comes of it, if it runs
        let table = [
            (Once, Security::Deny, "git", approved(Grant::Nothing)),
            (Always, Security::Deny, "wc x", approved(program("/usr/bin/wc"))),
            (Always, Security::Deny, "git push", approved(exact("git push"))),
            (Always, Security::Deny, "ls | git push", approved(exact("ls | git push"))),
            (Always, Security::Deny, "git | sh -c x", approved(Grant::Nothing)),
            (Always, Security::Deny, "./wc", approved(Grant::Nothing)),
            (Always, Security::Deny, "git > x", approved(Grant::Nothing)),
            (Deny, Security::Full, "git", None),
            (Unanswered, Security::Deny, "ls", None),
            (Unanswered, Security::Allowlist, "ls", Some(Outcome::Listed)),
            (Unanswered, Security::Allowlist, "git", None),
            (Unanswered, Security::Full, "git", Some(Outcome::Unanswered)),
        ];
        for (decision, fallback, command, expected) in table {
            let rules = rules(Security::Allowlist, Ask::OnMiss, fallback);
            let found = after_asking(&rules, &judged(command), decision);
            let found = Some(found).filter(|outcome| !matches!(outcome, Outcome::Refuse(_)));
            assert_eq!(found, expected, "{decision:?} {fallback:?} {command}");
        }
    }
}
