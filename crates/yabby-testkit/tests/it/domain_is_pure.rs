//! What `yabby-domain` promises to be: no waiting, no clock, no files, no sockets, no surroundings;
//! and every file says what it is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::project;

#[test]
fn the_domain_does_no_io() {
    let forbidden = [
        "async fn",
        "std::fs",
        "std::net",
        "std::env",
        "std::process",
        "std::thread",
        "SystemTime",
        "Instant::now",
        "Timestamp::now",
        "Zoned::now",
        "TimeZone::system",
        "println!",
    ];
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        for word in forbidden {
            assert!(!text.contains(word), "{} uses {word}", file.display());
        }
    }
}

#[test]
fn every_file_says_what_it_is() {
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//! "), "{} does not begin with its purpose", file.display());
    }
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&project("crates/yabby-domain/src"), &mut found);
    assert!(found.len() > 50, "only {} files were found", found.len());
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else {
            found.push(path);
        }
    }
}
