//! The model against the one that others have made of the same weights, and its folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod folder;
mod reference;

use std::path::PathBuf;
use std::sync::LazyLock;

use yabby_minilm::{Status, install, status};

/// The package with the weights, if `cargo xtask judge-minilm` has fetched it.
fn package() -> Option<PathBuf> {
    std::env::var_os("YABBY_MINILM_PACKAGE").map(PathBuf::from)
}

/// The folder of the model, which is brought from the package once.
fn folder() -> Option<PathBuf> {
    static FOLDER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
        let package = package()?;
        let folder = package.with_file_name("model");
        if !matches!(status(&folder), Status::Installed(_)) {
            install(&package, &folder, &mut |_| {}).unwrap();
        }
        Some(folder)
    });
    FOLDER.clone()
}
