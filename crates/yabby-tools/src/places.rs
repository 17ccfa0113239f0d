//! Which folders the file tools may use: the workspace, those of `tools.fs.allow`, and for reading those that
//! the program gives them, such as skills.
//!
//! What of the workspace is the owner's own is not for a conversation that others hear.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::slice;

use yabby_domain::bootstrap::{self, NOTES, is_agents_own, is_private};
use yabby_domain::seam::tool::{Company, ToolContext};
use yabby_domain::untrusted;

use crate::workspace::{Workspace, told};

#[derive(Clone)]
pub(crate) struct Places {
    workspace: PathBuf,
    allowed: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    company: Company,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Somewhere in one of the folders, with every link on the way to it resolved.
pub(crate) struct Found {
    pub(crate) folder: Workspace,
    /// From the folder on.
    pub(crate) names: PathBuf,
    is_workspace: bool,
    company: Company,
}

/// The folders that the agent can write in: the workspace, and those of `tools.fs.allow`.
pub(crate) fn changeable(context: &ToolContext) -> Vec<PathBuf> {
    [vec![context.workspace.clone()], allowed(context)].concat()
}

/// Those folders whose place the agent cannot change. In its own ones it could put a link to anywhere in their place, as a
/// confined command did with `skills`; what is there it may read anyway.
pub(crate) fn steady(readable: &[PathBuf], changeable: &[PathBuf]) -> Vec<PathBuf> {
    let own: Vec<PathBuf> = changeable.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
    let is_own = |path: &Path| {
        let real = path.canonicalize();
        real.is_ok_and(|real| own.iter().any(|folder| real.starts_with(folder)))
    };
    readable.iter().filter(|folder| !folder.ancestors().any(is_own)).cloned().collect()
}

/// `tools.fs.allow`.
fn allowed(context: &ToolContext) -> Vec<PathBuf> {
    let allowed = context.config.extras.tools.fs.allow.iter().flatten().map(PathBuf::from);
    // `/` would be no leash at all, and a relative one would depend on where the program was started.
    allowed.filter(|folder| folder.is_absolute() && folder.parent().is_some()).collect()
}

const SKILL: &str = "SKILL.md";

impl Places {
    pub(crate) fn of(context: &ToolContext, readable: &[PathBuf]) -> Self {
        Self {
            allowed: allowed(context),
            readable: readable.to_owned(),
            ..Self::of_workspace(context.workspace.clone(), context.company)
        }
    }

    /// A workspace and nothing else.
    pub(crate) fn of_workspace(workspace: PathBuf, company: Company) -> Self {
        Self { workspace, allowed: Vec::new(), readable: Vec::new(), company }
    }

    /// The folder that a path is in, and the names from there on; nothing is resolved yet.
    pub(crate) fn named(&self, path: &str, access: Access) -> Result<(Workspace, PathBuf, bool), String> {
        let workspace = Workspace::open(&self.workspace)?;
        let outside = match workspace.names(path) {
            Ok(names) => return Ok((workspace, names, true)),
            Err(outside) => outside,
        };
        if Path::new(path).is_absolute() {
            let changeable = [slice::from_ref(&self.workspace), &self.allowed].concat();
            let readable = match access {
                Access::Read => steady(&self.readable, &changeable),
                Access::Write => Vec::new(),
            };
            for folder in self.allowed.iter().chain(&readable) {
                // One that is not there has nothing in it.
                let Ok(other) = Workspace::open(folder) else { continue };
                if let Ok(names) = other.names(path) {
                    return Ok((other, names, false));
                }
            }
        }
        Err(outside)
    }

    /// Where a path really is. It has to be there.
    pub(crate) fn find(&self, path: &str, access: Access) -> Result<Found, String> {
        let (folder, _, is_workspace) = self.named(path, access)?;
        let names = folder.resolve(path)?;
        let found = Found { folder, names, is_workspace, company: self.company };
        found.check(path)?;
        Ok(found)
    }

    /// Whether a file may be changed; its folder, its names from there on, and whether that is the workspace.
    /// No name on the way may be a link, so nothing has to be resolved.
    pub(crate) fn to_change(&self, path: &str) -> Result<(Workspace, PathBuf), String> {
        let (folder, names, is_workspace) = self.named(path, Access::Write)?;
        let is_gits = names.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"));
        let others_hear = self.company != Company::OwnerAlone && is_workspace;
        if is_gits {
            return Err(format!("{path} is one of git's own files; use git to change it"));
        }
        if self.only_notes_grow() {
            return match is_workspace && names.parent() == Some(Path::new(NOTES)) {
                true => Ok((folder, names)),
                false => Err(format!(
                    "{path} is not changed here: others are in the conversation, and what is remembered of it goes to {NOTES}/<day>.md"
                )),
            };
        }
        if others_hear && is_private(&names) {
            return Err(private(path));
        }
        if others_hear && is_agents_own(&names) {
            return Err(format!(
                "{path} is the agent's own; it is not changed while others are in the conversation"
            ));
        }
        Ok((folder, names))
    }
}

impl Places {
    /// Whether notes may be added to, and nothing else changed.
    pub(crate) fn only_notes_grow(&self) -> bool {
        self.company == Company::OthersNoted
    }
}

impl Found {
    fn check(&self, path: &str) -> Result<(), String> {
        match self.hides(Path::new("")) {
            true => Err(private(path)),
            false => Ok(()),
        }
    }

    /// Whether something below it is the owner's own, and others listen.
    pub(crate) fn hides(&self, below: &Path) -> bool {
        self.company != Company::OwnerAlone && self.is_workspace && is_private(&self.names.join(below))
    }

    /// The text of a file as the model may read it: what others may have written is fenced.
    pub(crate) fn fenced(&self, text: &str) -> String {
        match self.is_own(&self.names) {
            true => text.to_owned(),
            false => untrusted::fence(&format!("the file {}", self.names.display()), text),
        }
    }

    fn is_own(&self, names: &Path) -> bool {
        let is_own = |name: &&str| names == Path::new(name);
        names.file_name() == Some(OsStr::new(SKILL))
            || self.is_workspace && bootstrap::FILES.iter().any(is_own)
    }

    /// From the root of all folders on.
    pub(crate) fn real(&self) -> PathBuf {
        self.folder.real().join(&self.names)
    }

    pub(crate) fn file(&self, path: &str) -> Result<std::fs::File, String> {
        self.folder.file_at(&self.names).map_err(|error| told(path, &error))
    }
}

/// What a conversation that others hear is told about the owner's own files.
pub(crate) fn private(path: &str) -> String {
    format!("{path} is private: it is the owner's own, and others are in this conversation")
}

/// A name or a path on one line.
pub(crate) fn on_one_line(name: &str) -> String {
    name.replace(char::is_control, "?")
}
