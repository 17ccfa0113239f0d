//! The binary, from outside.

mod history;
