//! `usage/budgets.json`: what may be spent, and what was spent of it.
//!
//! Nothing is read as long as there are no budgets. With budgets, the ledger's files are read once, and
//! then only what was added to them, by whichever process.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::tz::TimeZone;
use yabby_domain::budget::{Budgets, Spending};
use yabby_domain::json;
use yabby_domain::ledger::CallRecord;
use yabby_domain::seam::StoreError;
use yabby_domain::text::lossy;

use super::files;
use crate::disk::{Disk, Doing, shown};
use crate::files::atomic::Draft;
use crate::files::folder::{open_plain, read_plain};

/// The file of the budgets in the folder of the ledger.
pub fn path(folder: &Path) -> PathBuf {
    folder.join("budgets.json")
}

/// The budgets of a folder; none if there is no file.
pub fn read(folder: &Path) -> Result<Budgets, StoreError> {
    let path = path(folder);
    match read_plain(&path) {
        Ok(bytes) => {
            Budgets::parse(&lossy(&bytes)).map_err(|what| StoreError::Damaged { path: shown(&path), what })
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Budgets::default()),
        Err(error) => Err(error).doing("read", &path),
    }
}

/// Changes the budgets of a folder. Of several who do so at once, each sees what the others did.
pub fn update(
    folder: &Path,
    disk: &dyn Disk,
    change: impl FnOnce(&mut Budgets),
) -> Result<Budgets, StoreError> {
    let _held = held(folder, disk)?;
    let mut budgets = read(folder)?;
    change(&mut budgets);
    write(folder, &budgets, disk)?;
    Ok(budgets)
}

/// Takes all limits away, whatever the file says.
pub fn clear(folder: &Path, disk: &dyn Disk) -> Result<(), StoreError> {
    let _held = held(folder, disk)?;
    write(folder, &Budgets::default(), disk)
}

/// Waits until nobody else changes the budgets. The folder itself is what is locked: no file is left
/// behind, and the system lets go of it if we die.
fn held(folder: &Path, disk: &dyn Disk) -> Result<File, StoreError> {
    if !folder.exists() {
        disk.create_folder(folder).doing("create", folder)?;
    }
    let held = File::open(folder).doing("lock", folder)?;
    held.lock().doing("lock", folder)?;
    Ok(held)
}

fn write(folder: &Path, budgets: &Budgets, disk: &dyn Disk) -> Result<(), StoreError> {
    let text = json::stringify_pretty(&serde_json::to_value(budgets).unwrap_or_default()) + "\n";
    Draft::write(disk, &path(folder), text.as_bytes())?.place()
}

/// Knows what was spent.
#[derive(Default)]
pub(super) struct Purse {
    budgets: Budgets,
    /// When the file of the budgets was changed; `None` if there is none.
    changed: Option<SystemTime>,
    /// How much of each file of the ledger was read.
    read: BTreeMap<PathBuf, u64>,
    spending: Spending,
}

impl Purse {
    /// Why a call must not be made. Budgets that cannot be read refuse everything: whoever set them
    /// did not mean that there are none.
    pub(super) fn refusal(&mut self, folder: &Path, call: &CallRecord, zone: &TimeZone) -> Option<String> {
        let changed = path(folder).metadata().and_then(|found| found.modified()).ok();
        if changed != self.changed {
            match read(folder) {
                Ok(budgets) => self.budgets = budgets,
                Err(error) => return Some(error.to_string()),
            }
            self.changed = changed;
        }
        if self.budgets.is_empty() {
            return None;
        }
        if let Err(error) = self.catch_up(folder, zone) {
            return Some(format!("nobody knows what was spent: {error}"));
        }
        self.spending.refusal(&self.budgets, call, zone)
    }

    /// Reads the calls that were added since the last time.
    fn catch_up(&mut self, folder: &Path, zone: &TimeZone) -> Result<(), StoreError> {
        for path in files(folder)? {
            let known = self.read.get(&path).copied().unwrap_or(0);
            let mut file = open_plain(&path).doing("open", &path)?;
            if file.metadata().doing("look at", &path)?.len() <= known {
                continue;
            }
            let mut added = Vec::new();
            file.seek(SeekFrom::Start(known)).doing("read", &path)?;
            file.read_to_end(&mut added).doing("read", &path)?;
            // A line that is being written belongs to the next time.
            let whole = added.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            let lines = added[..whole].split(|byte| *byte == b'\n');
            let calls = lines.filter_map(|line| CallRecord::parse(std::str::from_utf8(line).ok()?));
            calls.for_each(|call| self.spending.add(&call, zone));
            self.read.insert(path, known + whole as u64);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::LocalDisk;
    use crate::files::ledger::UsageLedger;
    use yabby_domain::budget::Limit;
    use yabby_domain::seam::ledger::Ledger as _;

    #[test]
    fn of_several_who_change_budgets_at_once_nobody_loses_anything() {
        let folder = tempfile::tempdir().unwrap();
        let usage = folder.path().join("usage");
        let one_more = |limit: &mut Option<Limit>| {
            limit.get_or_insert_default().tokens =
                Some(limit.and_then(|limit| limit.tokens).unwrap_or(0) + 1);
        };
        std::thread::scope(|scope| {
            for at in 0..4 {
                let usage = &usage;
                scope.spawn(move || {
                    for _ in 0..10 {
                        let change = |budgets: &mut Budgets| match at % 2 {
                            0 => one_more(&mut budgets.day),
                            _ => one_more(&mut budgets.session),
                        };
                        update(usage, &LocalDisk, change).unwrap();
                    }
                });
            }
        });
        let tokens = |limit: Option<Limit>| limit.and_then(|limit| limit.tokens);
        let budgets = read(&usage).unwrap();
        assert_eq!((tokens(budgets.day), tokens(budgets.session)), (Some(20), Some(20)));
    }

    #[test]
    fn a_budget_is_used_up_by_every_process() {
        let folder = tempfile::tempdir().unwrap();
        let ledgers = [0, 1].map(|_| UsageLedger::open(folder.path()).unwrap());
        let call =
            |cost| CallRecord { session_id: "s".into(), cost: Some(cost), at: 5, ..CallRecord::default() };
        let refused = |ledger: &UsageLedger| ledger.refusal(&call(0.0), &TimeZone::UTC);
        ledgers[0].record(call(3.0));
        ledgers[0].flush().unwrap();
        assert_eq!(refused(&ledgers[1]), None);
        let five = Some(Limit { dollars: Some(5.0), tokens: None });
        write(folder.path(), &Budgets { day: five, ..Budgets::default() }, &LocalDisk).unwrap();
        assert_eq!(refused(&ledgers[1]), None);
        ledgers[1].record(call(2.0));
        ledgers[1].flush().unwrap();
        for ledger in &ledgers {
            assert!(refused(ledger).unwrap().contains("$5.00 of $5.00"));
        }
        write(folder.path(), &Budgets::default(), &LocalDisk).unwrap();
        // The time of a file is not exact; a moment later it differs.
        std::fs::File::open(path(folder.path())).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!(refused(&ledgers[0]), None);
        std::fs::write(path(folder.path()), "{ broken").unwrap();
        assert!(refused(&ledgers[0]).unwrap().contains("budgets.json is damaged"));
    }
}
