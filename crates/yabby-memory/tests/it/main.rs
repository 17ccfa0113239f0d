//! The memory crate from outside.

mod compat;
mod compat_damage;
mod compat_files;
mod compat_sharing;
