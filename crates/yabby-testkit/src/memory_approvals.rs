//! What was allowed, in memory.

use std::sync::Mutex;

use yabby_domain::leash::approvals::Approvals;
use yabby_domain::seam::StoreError;
use yabby_domain::seam::approvals::ApprovalBook;

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
