//! `nodes/paired.json` and `nodes/pending.json`: nodes in the older way of pairing (`state-files.md` §5). The
//! rules of them are `yabby_domain::node`.

use std::sync::Arc;

use yabby_domain::node::Nodes;
use yabby_domain::seam::StoreError;

use super::pairing::{Pairing, PairingFiles};
use crate::disk::Disk;
use crate::paths::StateFolder;

pub struct NodeFiles(PairingFiles);

impl NodeFiles {
    pub fn of(folder: &StateFolder, disk: Arc<dyn Disk>) -> Self {
        Self(PairingFiles::new(folder.path().join("nodes"), disk))
    }

    /// Changes both in one go, and writes what became different.
    pub fn update<T>(&self, now: f64, change: impl FnOnce(&mut Nodes) -> T) -> Result<T, StoreError> {
        self.0.update(|Pairing { pending, paired }| {
            let mut nodes = Nodes { pending, paired };
            nodes.prune(now);
            let result = change(&mut nodes);
            (Pairing { pending: nodes.pending, paired: nodes.paired }, result)
        })
    }
}
