//! The memory crate from outside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod compat;
mod compat_damage;
mod compat_files;
mod compat_sharing;
mod hostile;
mod house;
mod keeping_up;
mod languages;
mod people;
mod seed;
mod upkeep;
