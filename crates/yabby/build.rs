//! Has the program linked in the form that takes the least memory, where the system can read it.

use std::process::Command;

/// The first glibc that finds the addresses in a program's tables packed.
const PACKED_SINCE: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    let is_for_here = set("HOST") == set("TARGET") && set("CARGO_CFG_TARGET_ENV") == "gnu";
    if is_for_here && glibc().is_some_and(|version| version >= PACKED_SINCE) {
        // Otherwise they are a megabyte and a half, all of which is read at the start.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    if is_for_here && set("CARGO_CFG_TARGET_ARCH") == "x86_64" && set("PROFILE") == "release" {
        // Code of different types that came out the same is there once; the linker that comes with Rust for this
        // system knows how.
        println!("cargo:rustc-link-arg-bins=-Wl,--icf=all");
    }
}

/// The version of the system's library; `None` if it has another one.
fn glibc() -> Option<(u32, u32)> {
    let told = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?.stdout;
    let told = String::from_utf8(told).ok()?;
    let (major, minor) = told.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
