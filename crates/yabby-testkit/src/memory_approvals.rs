//! What was allowed, in memory.

use std::sync::Mutex;

use yabby_domain::leash::approvals::{ApprovalBook, Approvals};
use yabby_domain::seam::StoreError;

use crate::unpoisoned;

#[derive(Default)]
pub struct MemoryApprovals(Mutex<Approvals>);

impl ApprovalBook for MemoryApprovals {
    fn read(&self) -> Result<Approvals, StoreError> {
        Ok(unpoisoned(&self.0).clone())
    }

    fn update(&self, change: &mut dyn FnMut(&mut Approvals)) -> Result<(), StoreError> {
        change(&mut unpoisoned(&self.0));
        Ok(())
    }
}
