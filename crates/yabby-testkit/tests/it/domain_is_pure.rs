//! What `yabby-domain` promises to be: no waiting, no clock, no files, no sockets, no surroundings;
//! and every file says which section of the specification it is.

use std::fs;
use std::path::{Path, PathBuf};

use crate::project;

#[test]
fn the_domain_does_no_io() {
    let forbidden = [
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
        "use std::{",
        "async {",
        "async move",
    ];
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        for word in forbidden {
            assert!(!text.contains(word), "{} uses {word}", file.display());
        }
        // The doors say that they wait; whoever implements them does.
        for line in text.lines().filter(|line| line.contains("async fn")) {
            let is_door =
                file.ends_with("src/seam.rs") || file.parent().is_some_and(|at| at.ends_with("src/seam"));
            let is_signature = is_door && !line.contains('{');
            assert!(is_signature, "{} waits: {line}", file.display());
        }
    }
}

#[test]
fn every_file_says_which_section_it_is() {
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        let purpose: String = text.lines().take_while(|line| line.starts_with("//!")).collect();
        // The list of all rules has no section of its own.
        let names_its_section = purpose.contains(".md`") || file.ends_with("src/lib.rs");
        assert!(names_its_section, "{} does not say which section it is", file.display());
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
