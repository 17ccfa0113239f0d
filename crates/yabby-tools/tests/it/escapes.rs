//! Ways out of the workspace, all of them closed: paths and links here, and those of commands below.

mod confined;
mod running;
mod shell;

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::desk::Desk;

/// A workspace with links out of it, and a secret beside it.
fn besieged() -> Desk {
    let desk = Desk::new();
    let (inside, outside) = (desk.context.workspace.clone(), desk.outside().join("other"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret.md"), "- the secret is 42\n").unwrap();
    symlink(outside.join("secret.md"), inside.join("file.md")).unwrap();
    symlink(&outside, inside.join("folder")).unwrap();
    symlink("../other/secret.md", inside.join("MEMORY.md")).unwrap();
    symlink(&outside, inside.join("memory")).unwrap();
    symlink("loop", inside.join("loop")).unwrap();
    desk
}

fn ways(desk: &Desk) -> Vec<String> {
    let secret = desk.outside().join("other/secret.md").to_string_lossy().into_owned();
    let relative = [
        "../other/secret.md",
        "x/../../other/secret.md",
        "./../other/secret.md",
        "file.md",
        "folder/secret.md",
        "folder/../../other/secret.md",
        "MEMORY.md",
        "memory/secret.md",
        "loop",
        "~/secret.md",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        "/proc/self/root/etc/passwd",
        "/proc/self/cwd/../../etc/passwd",
        "/dev/fd/0",
        "/dev/stdin",
        "other/secret.md\0.md",
        "file.md\0",
        "folder/./secret.md",
        "folder//secret.md",
        "a/b/c/../../../../other/secret.md",
        "~root/.bashrc",
    ];
    let mut ways: Vec<String> = relative.iter().map(|way| (*way).to_owned()).collect();
    ways.push(format!("{}/../other/secret.md", desk.context.workspace.display()));
    ways.push(secret);
    ways
}

#[tokio::test]
async fn no_path_leads_out() {
    let desk = besieged();
    for way in ways(&desk) {
        desk.refused("read", json!({"path": way})).await;
        desk.refused("list_files", json!({"path": way})).await;
        desk.refused("write", json!({"path": way, "content": "x"})).await;
        desk.refused("write", json!({"path": way, "content": "x", "mode": "replace"})).await;
        desk.refused("edit", json!({"path": way, "oldText": "secret", "newText": "x"})).await;
        desk.refused("grep", json!({"pattern": "secret", "path": way})).await;
        desk.refused("find", json!({"pattern": "*", "path": way})).await;
        let got = desk.told("memory_get", json!({"path": way})).await;
        assert!(got.contains("\"disabled\": true") && !got.contains("42"), "{way} {got}");
    }
    for folder in ["..", "folder", "folder/", "memory", "../other"] {
        desk.refused("list_files", json!({"path": folder})).await;
    }
    let listing = desk.told("list_files", json!({"recursive": true})).await;
    assert!(!listing.contains("secret"), "{listing}");
    assert_eq!(desk.found("secret 42").await, []);
    assert_eq!(fs::read_to_string(desk.outside().join("other/secret.md")).unwrap(), "- the secret is 42\n");
    assert_eq!(fs::read_dir(desk.outside().join("other")).unwrap().count(), 1);
}

#[tokio::test]
async fn what_only_looks_like_a_way_out_stays_in() {
    let desk = besieged();
    let look_alikes = [
        "․․/other/secret.md",
        "..／other／secret.md",
        "．．/other/secret.md",
        "%2e%2e/other/secret.md",
        "..\\other\\secret.md",
        "file:///etc/passwd",
        "..\u{200b}/other/secret.md",
    ];
    for way in look_alikes {
        let told = desk.refused("read", json!({"path": way})).await;
        assert!(told.ends_with("does not exist"), "{way} {told}");
        desk.told("write", json!({"path": way, "content": "x"})).await;
        let names: std::path::PathBuf = std::path::Path::new(way).components().collect();
        assert_eq!(fs::read_to_string(desk.context.workspace.join(names)).unwrap(), "x", "{way}");
    }
    assert_eq!(fs::read_to_string(desk.outside().join("other/secret.md")).unwrap(), "- the secret is 42\n");
    assert_eq!(fs::read_dir(desk.outside().join("other")).unwrap().count(), 1);
}

/// While a folder is swapped for a link out of the workspace all the time, nothing is read or written there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_swaps_a_folder_for_a_link_gains_nothing() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    let desk = Desk::new();
    let (inside, outside) = (desk.context.workspace.clone(), desk.outside().join("other"));
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("x.md"), "the secret is 42").unwrap();
    desk.put("real/x.md", "harmless 7");
    fs::rename(inside.join("real"), inside.join("swap")).unwrap();
    symlink(&outside, inside.join("link")).unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let swapping = std::thread::spawn({
        let (inside, stop) = (inside.clone(), stop.clone());
        move || {
            let exchange = |one: &str, other: &str| {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                rustix::fs::renameat_with(cwd, inside.join(one), cwd, inside.join(other), flags).unwrap();
            };
            let mut swapped = 0_u64;
            while !stop.load(Ordering::Relaxed) {
                exchange("swap", "link");
                swapped += 1;
            }
            swapped
        }
    });
    for round in 0..300 {
        let read = desk.call("read", json!({"path": "swap/x.md"})).await;
        assert!(!crate::desk::text_of(&read).contains("42"), "{read:?}");
        let found = desk.call("grep", json!({"pattern": "42"})).await;
        assert!(!crate::desk::text_of(&found).contains("secret is"), "{found:?}");
        desk.call("write", json!({"path": "swap/y.md", "content": format!("{round}")})).await;
        desk.call("edit", json!({"path": "swap/x.md", "oldText": "7", "newText": "7"})).await;
        desk.call("edit", json!({"path": "swap/x.md", "oldText": "secret", "newText": "leak"})).await;
    }
    stop.store(true, Ordering::Relaxed);
    assert!(swapping.join().unwrap() > 300);
    assert_eq!(fs::read_to_string(outside.join("x.md")).unwrap(), "the secret is 42");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn a_file_with_another_name_outside_is_not_changed_there() {
    let desk = Desk::new();
    let outside = desk.outside().join("mine.md");
    fs::write(&outside, "mine 7\n").unwrap();
    fs::create_dir(desk.context.workspace.join("memory")).unwrap();
    for name in ["memory/x.md", "y.md"] {
        fs::hard_link(&outside, desk.context.workspace.join(name)).unwrap();
    }
    desk.told("write", json!({"path": "memory/x.md", "content": "more"})).await;
    desk.told("edit", json!({"path": "y.md", "oldText": "7", "newText": "8"})).await;
    assert_eq!(desk.text("memory/x.md"), "mine 7\nmore\n");
    assert_eq!(desk.text("y.md"), "mine 8\n");
    assert_eq!(fs::read_to_string(outside).unwrap(), "mine 7\n");
}

#[tokio::test]
async fn a_link_within_the_workspace_is_fine_to_read() {
    let desk = Desk::new();
    desk.put("real/a.md", "here");
    symlink("real", desk.context.workspace.join("alias")).unwrap();
    assert_eq!(desk.read(json!({"path": "alias/a.md"})).await, "here");
    assert_eq!(desk.told("list_files", json!({"path": "alias"})).await, "a.md");
}

#[tokio::test]
async fn a_workspace_behind_a_link_is_a_workspace() {
    let mut desk = Desk::new();
    desk.put("a.md", "here");
    let alias = desk.outside().join("alias");
    symlink(&desk.context.workspace, &alias).unwrap();
    desk.context.workspace = alias.clone();
    assert_eq!(desk.read(json!({"path": alias.join("a.md")})).await, "here");
    desk.told("write", json!({"path": "memory/x.md", "content": "x"})).await;
    desk.context.workspace = desk.outside().join("gone");
    desk.refused("read", json!({"path": "a.md"})).await;
}

#[tokio::test]
async fn a_pipe_is_not_waited_for() {
    let desk = Desk::new();
    desk.put("memory/a.md", "x");
    for pipe in ["pipe", "memory/pipe.md"] {
        let made = std::process::Command::new("mkfifo").arg(desk.context.workspace.join(pipe)).status();
        assert!(made.unwrap().success());
    }
    desk.refused("read", json!({"path": "pipe"})).await;
    desk.refused("write", json!({"path": "memory/pipe.md", "content": "x"})).await;
    assert_eq!(desk.found("x").await.len(), 1);
}
