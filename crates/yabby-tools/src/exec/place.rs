//! Where a command runs, and what is around it.

use std::collections::BTreeMap;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use yabby_domain::bootstrap::{is_agents_own, is_private};
use yabby_domain::leash::confinement::{Access, Confinement, Limits, Scope, Walls as Wanted};
use yabby_domain::seam::tool::{Company, ToolContext};
use yabby_domain::text;

use super::{Leash, denied, off_thread};
use crate::commands::Kept;
use crate::commands::job::{Inside, Walls};
use crate::commands::walls::{bubblewrap_works, own_namespaces_work};
use crate::places;

pub(super) struct Spot {
    pub(super) cwd: PathBuf,
    walls: Walls,
}

impl Spot {
    pub(super) async fn find(
        workdir: Option<&str>,
        confinement: Option<Confinement>,
        context: &ToolContext,
        leash: &Leash,
    ) -> Result<Self, String> {
        let workdir = workdir.and_then(text::non_blank).map(|folder| text::trim(folder).to_owned());
        let workspace = context.workspace.clone();
        let Some(confinement) = confinement else {
            return off_thread(move || {
                let cwd = workdir.map_or_else(|| workspace.clone(), |folder| workspace.join(folder));
                Ok(Self { cwd: real_folder(&cwd)?, walls: Walls::None })
            })
            .await;
        };
        let limits = Limits::from_config(&context.config, &context.agent);
        let own_folder = leash.state.join("sandboxes").join(match confinement.scope {
            Scope::Shared => "shared".to_owned(),
            Scope::Agent => format!("agent-{}", context.agent),
            Scope::Session => format!("session-{}", plain_name(context.session_key.as_str())),
        });
        let (readable, changeable) = (leash.readable.clone(), places::changeable(context));
        let state = leash.state.clone();
        let among_others = context.company != Company::OwnerAlone;
        off_thread(move || {
            let (base, access) = match confinement.workspace {
                Access::None => {
                    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&own_folder);
                    made.map_err(|error| denied(format!("no folder for the sandbox: {error}")))?;
                    (own_folder, Access::Write)
                }
                access => (workspace, access),
            };
            let base = real_folder(&base)?;
            let steady = places::steady(&readable, &changeable);
            // Without the workspace nobody inside can put a link in the place of what is in there.
            let is_there = |folder: &&PathBuf| {
                let real = folder.canonicalize().ok();
                let own = changeable.first().and_then(|workspace| workspace.canonicalize().ok());
                real.zip(own).is_some_and(|(real, own)| real.starts_with(own))
            };
            let of_workspace = readable.iter().filter(|_| confinement.workspace == Access::None);
            let of_workspace = of_workspace.filter(|folder| !steady.contains(folder)).filter(is_there);
            let readable: Vec<PathBuf> = steady.iter().chain(of_workspace).cloned().collect();
            // Who makes the state folder the workspace, or one around it, has nothing that could be hidden.
            let state = state.canonicalize().unwrap_or(state);
            let holds_state = |folder: &PathBuf| state.starts_with(folder);
            if holds_state(&base) {
                return Err(denied("the workspace holds the state folder, which a sandbox has to hide"));
            }
            let readable = readable.iter().filter_map(|folder| folder.canonicalize().ok());
            let cwd = match workdir {
                None => base.clone(),
                Some(folder) => real_folder(&base.join(folder))?,
            };
            if !cwd.starts_with(&base) {
                return Err(denied(format!("{} is outside of the sandbox", cwd.display())));
            }
            let is_workspace = confinement.workspace != Access::None;
            let below = cwd.strip_prefix(&base).unwrap_or(Path::new(""));
            if among_others && is_workspace && is_private(below) {
                return Err(denied(places::private(&below.to_string_lossy())));
            }
            let mut inside = Inside {
                writable: Vec::new(),
                readable: readable.filter(|folder| !holds_state(folder)).collect(),
                has_network: confinement.has_network,
                processes: limits.processes,
                memory: limits.memory,
                file_size: limits.file_size,
                open_files: limits.open_files,
            };
            match access {
                access if among_others && is_workspace => add_shared(&mut inside, &base, access)
                    .map_err(|error| denied(format!("the workspace cannot be read: {error}")))?,
                Access::Write => inside.writable.push(base),
                Access::Read | Access::None => inside.readable.push(base),
            }
            Ok(Self { cwd, walls: choose(confinement.by, inside)? })
        })
        .await
    }

    /// The walls, with what they need of this command.
    pub(super) fn walls(
        &self,
        kept: &Kept,
        environment: &mut BTreeMap<String, String>,
    ) -> Result<Walls, String> {
        let mut walls = self.walls.clone();
        match &mut walls {
            Walls::None => {}
            // Inside there is no home; see `walls.rs`.
            Walls::Bubblewrap(_) => {}
            Walls::Landlock(inside) => {
                let tmp = kept.folder.join("tmp");
                let made =
                    std::fs::DirBuilder::new().mode(0o700).create(&tmp).and_then(|()| tmp.canonicalize());
                let tmp = made.map_err(|error| denied(format!("no /tmp for the command: {error}")))?;
                for name in ["TMPDIR", "HOME"] {
                    environment.insert(name.to_owned(), tmp.to_string_lossy().into_owned());
                }
                inside.writable.push(tmp);
            }
        }
        Ok(walls)
    }
}

/// As much of a workspace as a command can be told of.
const MOST_ENTRIES: usize = 400;

/// Adds what those who listen may see of a workspace, entry by entry: what is the owner's own is not there, also if it
/// comes later, and what the agent is told by is not changed. Nor is the history of all of it, which git keeps. A link
/// would be followed, so there are none.
fn add_shared(inside: &mut Inside, workspace: &Path, access: Access) -> std::io::Result<()> {
    let mut entries = std::fs::read_dir(workspace)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let is_shared = |name: &Path| !is_private(name) && !name.as_os_str().eq_ignore_ascii_case(".git");
    let shared = entries.into_iter().filter(|entry| is_shared(Path::new(&entry.file_name())));
    for entry in shared.take(MOST_ENTRIES) {
        let kind = entry.file_type()?;
        let is_writable = access == Access::Write && !is_agents_own(Path::new(&entry.file_name()));
        match kind {
            kind if kind.is_dir() && is_writable => inside.writable.push(entry.path()),
            kind if kind.is_dir() || kind.is_file() => inside.readable.push(entry.path()),
            _ => {}
        }
    }
    Ok(())
}

/// The walls that can be put up here.
fn choose(wanted: Wanted, inside: Inside) -> Result<Walls, String> {
    let landlock = |inside: Inside| own_namespaces_work(inside.has_network).map(|()| Walls::Landlock(inside));
    let chosen = match wanted {
        Wanted::Bubblewrap => bubblewrap_works().map(|()| Walls::Bubblewrap(inside)),
        Wanted::Landlock => landlock(inside),
        Wanted::Any => match bubblewrap_works() {
            Ok(()) => Ok(Walls::Bubblewrap(inside)),
            Err(why) => landlock(inside).map_err(|other| format!("{why}; {other}")),
        },
    };
    chosen.map_err(|why| {
        denied(format!(
            "commands are to be confined, and that is not possible here ({why}); install bubblewrap, or set \
            agents.defaults.sandbox.mode to off"
        ))
    })
}

fn real_folder(path: &Path) -> Result<PathBuf, String> {
    let real = path.canonicalize().map_err(|error| denied(format!("workdir {}: {error}", path.display())))?;
    match real.is_dir() {
        true => Ok(real),
        false => Err(denied(format!("workdir {} is not a folder", path.display()))),
    }
}

fn plain_name(key: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = key.chars().map(plain).take(80).collect();
    // Two keys must not share a folder because they look alike.
    let sum = key
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{name}-{sum:016x}")
}
