//! Whether a command may run: the rules are asked, and if they say so a person.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use yabby_domain::leash::approvals::Use;
use yabby_domain::leash::confinement::Confinement;
use yabby_domain::leash::environment::is_harmless;
use yabby_domain::leash::exec_policy::{
    Asked, Elevation, Grant, Invocation, Judged, Outcome, Programs, Rules, Said, Security, Verdict,
    after_asking, judge, rules, verdict,
};
use yabby_domain::leash::program::FoundProgram;
use yabby_domain::leash::safe_bins::SafeBins;
use yabby_domain::seam::office::Question;
use yabby_domain::seam::tool::ToolContext;
use yabby_domain::session::entry::SessionEntry;

use super::{Leash, denied, off_thread};
use crate::arguments::Arguments;
use crate::places;

/// A command that somebody wants to run.
pub(super) struct Asking<'a> {
    pub(super) leash: &'a Leash,
    pub(super) context: &'a ToolContext,
    pub(super) command: &'a str,
    pub(super) environment: &'a BTreeMap<String, String>,
    /// The variables that the call sets.
    pub(super) wanted: &'a [(String, String)],
}

impl Asking<'_> {
    pub(super) fn confinement(&self) -> Result<Option<Confinement>, String> {
        let context = self.context;
        Confinement::of(&context.config, &context.agent, &context.session_key).map_err(denied)
    }

    pub(super) async fn rules(
        &self,
        arguments: Arguments<'_>,
        session: &SessionEntry,
        confined: bool,
    ) -> Result<Rules, String> {
        let context = self.context;
        let asked = Asked {
            config: Said::from_config(&context.config, &context.agent),
            session: Said::new(session.exec_host(), session.exec_security(), session.exec_ask()),
            call: Said::new(arguments.text("host"), arguments.text("security"), arguments.text("ask")),
            confined,
            elevation: self.elevation(arguments, session, confined)?,
        };
        let book = self.leash.approvals.clone();
        let approvals = off_thread(move || book.read().map_err(denied)).await?;
        rules(&asked, &approvals, &context.agent).map_err(denied)
    }

    /// Whether the command may leave its confinement.
    fn elevation(
        &self,
        arguments: Arguments<'_>,
        session: &SessionEntry,
        confined: bool,
    ) -> Result<Elevation, String> {
        let level = session.elevated_level();
        let by_session = matches!(level, Some("on" | "ask" | "full"));
        let is_said = arguments.0.contains_key("elevated");
        let is_wanted = if is_said { arguments.flag("elevated") } else { by_session };
        if !confined || !is_wanted {
            return Ok(Elevation::None);
        }
        let elevated = &self.context.config.tools.elevated;
        let names_somebody = elevated.allow_from.as_ref().is_some_and(|from| !from.is_empty());
        let is_allowed = elevated.enabled.unwrap_or(names_somebody) && self.context.sender_is_owner;
        match (is_allowed, level) {
            (true, Some("full")) => Ok(Elevation::Full),
            (true, _) => Ok(Elevation::Ask),
            (false, _) if !is_said => Ok(Elevation::None),
            (false, _) => Err(denied(
                "elevated is not available right now; it needs tools.elevated.enabled, and an owner who asks for it",
            )),
        }
    }

    /// Gets the permission, or tells why there is none. The answer is the command as it may be run.
    pub(super) async fn obtain(&self, rules: &Rules, cwd: &Path) -> Result<String, String> {
        let judged = self.judged(cwd).await?;
        let is_listed = match verdict(rules, &judged) {
            Verdict::Refuse(why) => return Err(denied(why)),
            Verdict::Run => rules.security == Security::Allowlist,
            Verdict::Ask => self.ask(rules, &judged, cwd).await?,
        };
        if rules.uses_approvals && !judged.used.is_empty() {
            self.note(&judged).await;
        }
        let by_path = judged.by_path.filter(|_| is_listed);
        Ok(by_path.unwrap_or_else(|| self.command.to_owned()))
    }

    /// The command, held against the list.
    async fn judged(&self, cwd: &Path) -> Result<Judged, String> {
        let (book, agent) = (self.leash.approvals.clone(), self.context.agent.clone());
        let safe = SafeBins::from_config(&self.context.config);
        let programs = OnPath {
            path: self.environment.get("PATH").cloned().unwrap_or_default(),
            home: self.leash.home.clone(),
            cwd: cwd.to_owned(),
            changeable: places::changeable(self.context),
        };
        let readable = self.leash.readable.clone();
        let variable = self.wanted.iter().find(|(name, value)| !is_harmless(name, value));
        let variable = variable.map(|(name, _)| name.clone());
        let (command, home) = (self.command.to_owned(), self.leash.home.to_string_lossy().into_owned());
        off_thread(move || {
            let allowed = book.read().map_err(denied)?.for_agent(&agent);
            let readable = places::steady(&readable, &programs.changeable);
            let folders = [programs.changeable.as_slice(), &readable].concat();
            let folder = programs.cwd.to_string_lossy();
            let invocation = Invocation {
                command: &command,
                folder: &folder,
                is_known_folder: is_in(&programs.cwd, &folders),
                variable: variable.as_deref(),
            };
            Ok(judge(&invocation, &allowed, &safe, &home, &programs))
        })
        .await
    }

    /// Asks a person; tells whether the command runs because it is on the list, without an answer.
    async fn ask(&self, rules: &Rules, judged: &Judged, cwd: &Path) -> Result<bool, String> {
        let question = Question {
            command: self.shown(),
            folder: cwd.to_string_lossy().into_owned(),
            security: rules.security.as_str().to_owned(),
            ask: rules.ask.as_str().to_owned(),
            program: judged.programs.first().cloned(),
        };
        let decision = self.context.office.ask(question).await;
        match after_asking(rules, judged, decision) {
            Outcome::Refuse(why) => Err(denied(why)),
            Outcome::Listed => Ok(true),
            Outcome::Unanswered | Outcome::Approved(Grant::Nothing) => Ok(false),
            Outcome::Approved(grant) => {
                let (book, agent) = (self.leash.approvals.clone(), self.context.agent.clone());
                let now = self.context.now.as_millisecond();
                let id = || uuid::Uuid::new_v4().to_string();
                off_thread(move || {
                    let written = book.update(&mut |approvals| match &grant {
                        Grant::Nothing => {}
                        Grant::Programs(programs) => programs
                            .iter()
                            .for_each(|program| _ = approvals.allow(agent.as_str(), program, id(), now)),
                        Grant::Command(command) => {
                            approvals.allow_command(agent.as_str(), command, id(), now);
                        }
                    });
                    written.map_err(|error| denied(format!("the approval could not be kept: {error}")))
                })
                .await?;
                Ok(false)
            }
        }
    }

    /// The command as a person is shown it, with the variables that it is given.
    fn shown(&self) -> String {
        let variables = self.wanted.iter().map(|(name, value)| format!("{name}={value:?} "));
        variables.chain([self.command.to_owned()]).collect()
    }

    /// Writes down what was used; that it cannot be written is no reason not to run.
    async fn note(&self, judged: &Judged) {
        let patterns = judged.used.clone();
        let (book, agent) = (self.leash.approvals.clone(), self.context.agent.clone());
        let (command, program) = (self.command.to_owned(), judged.programs.first().cloned());
        let now = self.context.now.as_millisecond();
        let noted = off_thread(move || {
            let _ = book.update(&mut |approvals| {
                for pattern in &patterns {
                    let used = Use { pattern, command: &command, program: program.as_deref(), now };
                    approvals.note(&agent, &used);
                }
            });
            Ok(())
        });
        let _ = noted.await;
    }
}

/// Programs as a shell would find them.
struct OnPath {
    path: String,
    home: PathBuf,
    cwd: PathBuf,
    /// Folders that the agent can write in.
    changeable: Vec<PathBuf>,
}

impl Programs for OnPath {
    fn find(&self, name: &str, has_home: bool) -> Option<FoundProgram> {
        let is_program = |path: &PathBuf| {
            path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        let found = match name.strip_prefix("~/").filter(|_| has_home) {
            Some(below) => Some(self.home.join(below)).filter(is_program),
            None if name.contains('/') => Some(self.cwd.join(name)).filter(is_program),
            None => self.path.split(':').map(|folder| Path::new(folder).join(name)).find(is_program),
        };
        let path = lexical(&found?);
        let real = path.canonicalize().ok()?;
        Some(FoundProgram {
            is_changeable: is_in(&path, &self.changeable) || is_in(&real, &self.changeable),
            path: path.to_str()?.to_owned(),
            real: real.to_str()?.to_owned(),
        })
    }

    fn exists(&self, name: &str) -> bool {
        self.cwd.join(name).symlink_metadata().is_ok()
    }
}

/// Whether a path is in one of the folders, by its own name or by the real one.
fn is_in(path: &Path, folders: &[PathBuf]) -> bool {
    folders.iter().any(|folder| {
        let real = folder.canonicalize();
        path.starts_with(folder) || real.is_ok_and(|real| path.starts_with(real))
    })
}

/// Without `.` and `..`: `/usr/bin/../../tmp/rg` is not in `/usr/bin`.
fn lexical(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // The folder before it may be a link; then it leads somewhere else.
            Component::ParentDir => return path.canonicalize().unwrap_or_default(),
            other => plain.push(other),
        }
    }
    plain
}
