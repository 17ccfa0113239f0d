//! What the tests of every crate stand on. Used from `tests/it` and from its own binaries only.

pub mod faulty_disk;
pub mod fuzz;
pub mod vectors;
