//! What the tests of every crate stand on. Used from `tests/it` and from its own binaries only.

pub mod clock;
pub mod desk;
pub mod faulty_disk;
pub mod fuzz;
pub mod hashed_embedder;
pub mod loopback;
pub mod memory_approvals;
pub mod memory_journal;
pub mod memory_ledger;
pub mod memory_shelf;
pub mod memory_store;
pub mod note_office;
pub mod remembering;
pub mod scripted_model;
pub mod stage;
pub mod stand_in;
#[allow(clippy::unwrap_used, reason = "a story that cannot go on fails")]
pub mod store_contract;
pub mod torture;
pub mod vectors;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Whoever panics while holding one of these fails the test anyway.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
