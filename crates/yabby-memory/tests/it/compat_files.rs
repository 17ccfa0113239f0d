//! Which files are memory: no link leads anywhere else.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use yabby_memory::compat::files::memory_files;
use yabby_memory::compat::reading::{Lines, ReadError};

use crate::compat::{Home, best, sync};

#[tokio::test]
async fn what_is_behind_a_link_is_neither_indexed_nor_read() {
    let home = Home::new();
    let outside = home.path().join("outside");
    fs::create_dir_all(outside.join("folder")).expect("made");
    fs::write(outside.join("secret.md"), "The diary of somebody else.\n").expect("written");
    fs::write(outside.join("folder/secret.md"), "The diary of somebody else.\n").expect("written");
    let workspace = home.workspace();
    fs::create_dir_all(workspace.join("notes")).expect("made");
    symlink(outside.join("secret.md"), workspace.join("memory/link.md")).expect("linked");
    symlink(outside.join("folder"), workspace.join("memory/folder")).expect("linked");
    symlink(outside.join("folder"), workspace.join("notes/folder")).expect("linked");
    symlink(&outside, workspace.join("elsewhere")).expect("linked");
    let extra = ["notes", "elsewhere", "elsewhere/secret.md"];
    let index = home.open(json!({"extraPaths": extra})).await;
    sync(&index).await;
    // A file behind a linked folder can be configured: whoever names it means it.
    let mut listed: Vec<String> = memory_files(&workspace, &extra.map(str::to_owned))
        .iter()
        .map(|file| file.strip_prefix(&workspace).expect("below").display().to_string())
        .collect();
    listed.sort();
    assert_eq!(listed, ["MEMORY.md", "elsewhere/secret.md", "memory/trip.md"]);
    for path in
        ["memory/link.md", "memory/folder/secret.md", "notes/folder/secret.md", "elsewhere/folder/secret.md"]
    {
        assert_eq!(index.read(path, Lines::default()).await, Err(ReadError::Refused), "{path}");
    }
    assert!(index.read("memory/trip.md", Lines::default()).await.is_ok());
    assert!(index.read("elsewhere/secret.md", Lines::default()).await.is_ok());
}

#[tokio::test]
async fn what_is_no_memory_is_not_read() {
    let home = Home::new();
    home.write("notes.md", "Private.\n");
    home.write("memory/plain.txt", "Text.\n");
    home.write("memory/folder.md/x.md", "Inside.\n");
    let index = home.open(json!({})).await;
    for path in [
        "",
        "  ",
        "notes.md",
        "memory",
        "memory/",
        "memory/plain.txt",
        "memory/folder.md",
        "../ws/notes.md",
        "memory/../notes.md",
        "/etc/passwd",
        "memory/../../outside.md",
        "sessions/a.jsonl",
    ] {
        assert_eq!(index.read(path, Lines::default()).await, Err(ReadError::Refused), "{path:?}");
    }
    let missing =
        index.read("memory/none.md", Lines::default()).await.expect_err("it is missing").to_string();
    assert!(missing.starts_with("ENOENT: no such file or directory, lstat '/"), "{missing}");
    let below_a_file = index.read("memory/trip.md/x.md", Lines::default()).await.expect_err("no folder");
    assert!(below_a_file.to_string().starts_with("ENOTDIR: not a directory, lstat"), "{below_a_file}");
    let absolute = home.workspace().join("memory/trip.md").display().to_string();
    let read =
        index.read(&absolute, Lines { from: Some(1.0), count: Some(1.0) }).await.expect("it is memory");
    assert_eq!((read.text.as_str(), read.path.as_str()), ("Flights to Lisbon are booked.", "memory/trip.md"));
}

#[tokio::test]
async fn odd_bytes_are_indexed_as_far_as_they_are_text() {
    let home = Home::new();
    fs::write(home.workspace().join("memory/odd.md"), b"caf\xe9 marmalade \xff\xfe\n\xf0\x9f\x98")
        .expect("written");
    fs::write(home.workspace().join("memory/empty.md"), "").expect("written");
    let index = home.open(json!({"chunking": {"tokens": 8, "overlap": 0}})).await;
    home.write("memory/pairs.md", &"😀".repeat(100));
    sync(&index).await;
    assert_eq!(best(&index, "marmalade").await.as_deref(), Some("memory/odd.md"));
    assert_eq!(index.status().await.expect("a status").files, 5);
}
