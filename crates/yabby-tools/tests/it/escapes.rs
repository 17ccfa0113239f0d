//! Ways out of the workspace, all of them closed.

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
async fn a_link_within_the_workspace_is_fine_to_read() {
    let desk = Desk::new();
    desk.put("real/a.md", "here");
    symlink("real", desk.context.workspace.join("alias")).unwrap();
    assert_eq!(desk.told("read", json!({"path": "alias/a.md"})).await, "here");
    assert_eq!(desk.told("list_files", json!({"path": "alias"})).await, "a.md");
}

#[tokio::test]
async fn a_workspace_behind_a_link_is_a_workspace() {
    let mut desk = Desk::new();
    desk.put("a.md", "here");
    let alias = desk.outside().join("alias");
    symlink(&desk.context.workspace, &alias).unwrap();
    desk.context.workspace = alias.clone();
    assert_eq!(desk.told("read", json!({"path": alias.join("a.md")})).await, "here");
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
