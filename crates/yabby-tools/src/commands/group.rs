//! A control group that bounds how many processes a command has, where we may make one.
//!
//! The limits of a process count for every user but root, whom only a control group stops. Where there is
//! none, the keeper looks often, and ends a command that has too many.

use std::fs;
use std::path::{Path, PathBuf};

const MOUNT: &str = "/sys/fs/cgroup";

/// Ours, until it is dropped. Whatever is in it has to be gone by then.
pub(crate) struct Group(PathBuf);

impl Group {
    /// `None` where we may not make one.
    pub(crate) fn make(id: &str, processes: u64) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let parent = own.lines().find_map(|line| {
            // `8:pids:/path` of the first version, `0::/path` of the second.
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, path) = (parts.next()?, parts.next()?.trim_start_matches('/'));
            let folder = match controllers {
                "" => [Path::new(MOUNT).join(path), Path::new(MOUNT).join("unified").join(path)],
                listed if listed.split(',').any(|one| one == "pids") => {
                    [Path::new(MOUNT).join(listed).join(path), Path::new(MOUNT).join("pids").join(path)]
                }
                _ => return None,
            };
            let counts = |folder: &PathBuf| {
                let enabled = fs::read_to_string(folder.join("cgroup.subtree_control"));
                folder.is_dir()
                    && enabled.map_or(true, |enabled| enabled.split_whitespace().any(|one| one == "pids"))
            };
            folder.into_iter().find(counts)
        })?;
        let group = Self(parent.join(format!("yabby-{id}")));
        fs::create_dir(&group.0).ok()?;
        fs::write(group.0.join("pids.max"), processes.to_string()).ok()?;
        Some(group)
    }

    /// What a process writes `0` to in order to join.
    pub(crate) fn door(&self) -> PathBuf {
        self.0.join("cgroup.procs")
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It is not empty before the last process is buried.
        for _ in 0..50 {
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
