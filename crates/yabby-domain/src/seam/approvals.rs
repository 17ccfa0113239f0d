//! Where it is kept which commands may run without asking (`state-files.md` §3).

use super::StoreError;
use crate::leash::approvals::Approvals;

/// Where approvals are kept.
pub trait ApprovalBook: Send + Sync {
    fn read(&self) -> Result<Approvals, StoreError>;

    /// Changes them; nobody else does meanwhile.
    fn update(&self, change: &mut dyn FnMut(&mut Approvals)) -> Result<(), StoreError>;
}
