//! What was allowed, in memory.

use std::sync::Mutex;

use yabby_domain::leash::approvals::{ApprovalBook, Approvals};
use yabby_domain::seam::StoreError;

#[derive(Default)]
pub struct MemoryApprovals(Mutex<Approvals>);

impl ApprovalBook for MemoryApprovals {
    fn read(&self) -> Result<Approvals, StoreError> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn update(&self, change: &mut dyn FnMut(&mut Approvals)) -> Result<(), StoreError> {
        change(&mut self.0.lock().unwrap());
        Ok(())
    }
}
