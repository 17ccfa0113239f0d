//! Reading, listing and writing files.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;

use serde_json::json;
use yabby_domain::seam::tool::Effect;

use crate::desk::Desk;

#[tokio::test]
async fn a_file_is_read_from_any_line_on() {
    let desk = Desk::new();
    desk.put("notes/a.txt", "one\ntwo\nthree\n");
    assert_eq!(desk.told("read", json!({"path": "notes/a.txt"})).await, "one\ntwo\nthree\n");
    assert_eq!(desk.told("read", json!({"file_path": "./notes/a.txt", "offset": "3"})).await, "three\n");
    let cut = desk.told("read", json!({"path": "notes/a.txt", "offset": 2, "limit": 1})).await;
    assert_eq!(cut, "two\n\n[Cut before line 3; read on with offset 3.]");
    desk.put("empty", "");
    assert_eq!(desk.told("read", json!({"path": "empty"})).await, "(the file is empty)");
    let absolute = desk.context.workspace.join("notes/a.txt");
    assert_eq!(desk.told("read", json!({"path": absolute, "offset": 3})).await, "three\n");
}

#[tokio::test]
async fn what_cannot_be_read_is_told() {
    let desk = Desk::new();
    desk.put("notes/a.txt", "one\n");
    desk.put("image", "\u{1}\0\u{2}");
    let table = [
        (json!({}), "path required"),
        (json!({"path": "missing"}), "missing does not exist"),
        (json!({"path": "notes"}), "notes is a folder"),
        (json!({"path": "."}), ". is a folder"),
        (json!({"path": "notes/a.txt/b"}), "notes/a.txt/b is not in a folder"),
        (json!({"path": "image"}), "image is not a text file"),
        (json!({"path": "notes/a.txt", "offset": 5}), "notes/a.txt has 1 lines; line 5 is past its end"),
    ];
    for (arguments, expected) in table {
        let told = desk.refused("read", arguments.clone()).await;
        assert_eq!(told, expected, "{arguments}");
    }
}

#[tokio::test]
async fn a_folder_is_listed_by_name() {
    let desk = Desk::new();
    desk.put("b.md", "");
    desk.put("a/deep/c.md", "");
    desk.put(".hidden", "");
    desk.put("ünï\ncode", "");
    std::os::unix::fs::symlink("b.md", desk.context.workspace.join("link")).unwrap();
    assert_eq!(desk.told("list_files", json!({})).await, ".hidden\na/\nb.md\nlink@\nünï?code");
    assert_eq!(desk.told("list_files", json!({"path": "a", "recursive": true})).await, "deep/\ndeep/c.md");
    let cut = desk.told("list_files", json!({"limit": 2})).await;
    assert_eq!(cut, ".hidden\na/\n\n[Cut after 2 entries; list a folder in it, or raise limit.]");
    fs::create_dir(desk.context.workspace.join("empty")).unwrap();
    assert_eq!(desk.told("list_files", json!({"path": "empty"})).await, "(nothing is in it)");
    assert_eq!(desk.refused("list_files", json!({"path": "none"})).await, "none does not exist");
}

#[tokio::test]
async fn appending_ends_the_line_before_and_replacing_leaves_no_draft() {
    let desk = Desk::new();
    let path = "memory/2026-02-03.md";
    let append = |content: &str| json!({"path": path, "content": content});
    assert_eq!(desk.told("write", append("- one")).await, "Appended 1 line to memory/2026-02-03.md.");
    desk.put(path, "- one\n- by hand");
    assert_eq!(
        desk.told("write", append("- two\n- 三\n")).await,
        "Appended 2 lines to memory/2026-02-03.md."
    );
    assert_eq!(desk.text(path), "- one\n- by hand\n- two\n- 三\n");

    let file = desk.context.workspace.join(path);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let replace = json!({"path": path, "content": "# all new", "mode": "replace"});
    assert_eq!(desk.told("write", replace).await, "Replaced memory/2026-02-03.md (1 line).");
    assert_eq!(desk.text(path), "# all new");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);

    assert_eq!(
        desk.told("write", json!({"path": "MEMORY.md", "content": "x", "mode": "append"})).await,
        "Appended 1 line to MEMORY.md."
    );
    assert_eq!(desk.text("MEMORY.md"), "x\n");
}

#[tokio::test]
async fn only_memory_is_written_and_nothing_on_an_error() {
    let desk = Desk::new();
    desk.put("SOUL.md", "me");
    let table = [
        json!({"path": "SOUL.md", "content": "x"}),
        json!({"path": "memory/deep/x.md", "content": "x"}),
        json!({"path": "memory/x.sh", "content": "x"}),
        json!({"path": "memory/../SOUL.md", "content": "x"}),
        json!({"path": "../x.md", "content": "x"}),
        json!({"path": "/tmp/memory/x.md", "content": "x"}),
        json!({"path": "MEMORY.md"}),
        json!({"path": "MEMORY.md", "content": " \n"}),
        json!({"path": "MEMORY.md", "content": "x", "mode": "prepend"}),
        json!({"content": "x"}),
    ];
    for arguments in table {
        desk.refused("write", arguments).await;
    }
    assert_eq!(desk.text("SOUL.md"), "me");
    assert_eq!(fs::read_dir(&desk.context.workspace).unwrap().count(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_write_at_once_lose_nothing() {
    let desk = Arc::new(Desk::new());
    let writing: Vec<_> = (0..40)
        .map(|at| {
            let desk = Arc::clone(&desk);
            tokio::spawn(async move {
                let (content, mode) = (format!("- {at}"), if at == 20 { "replace" } else { "append" });
                desk.told("write", json!({"path": "memory/x.md", "content": content, "mode": mode})).await;
            })
        })
        .collect();
    for written in writing {
        written.await.unwrap();
    }
    // Whatever came after the replacement is there, each on a line of its own, and the replacement first.
    let text = desk.text("memory/x.md");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "- 20", "{text}");
    assert!(lines.iter().all(|line| line.starts_with("- ")), "{text}");
    let mut after: Vec<&str> = lines.clone();
    after.sort_unstable();
    after.dedup();
    assert_eq!(after.len(), lines.len(), "{text}");
}

#[tokio::test]
async fn a_lone_half_of_a_character_is_not_written_as_one() {
    let desk = Desk::new();
    let half = yabby_domain::text::stand_in(0xD83D);
    desk.told("write", json!({"path": "MEMORY.md", "content": format!("a{half}b")})).await;
    assert_eq!(desk.text("MEMORY.md"), "a\u{fffd}b\n");
}

#[tokio::test]
async fn the_status_is_the_sessions() {
    let desk = Desk::new();
    assert!(desk.told("session_status", json!({})).await.starts_with("yabby 1.2.3\n"));
}

#[test]
fn only_writing_lasts_and_every_schema_is_an_object() {
    let desk = Desk::new();
    let names: Vec<String> = desk.tools.iter().map(|tool| tool.spec().name).collect();
    assert_eq!(
        names,
        ["read", "list_files", "write", "exec", "process", "memory_search", "memory_get", "session_status"]
    );
    for tool in &desk.tools {
        let spec = tool.spec();
        assert_eq!(
            tool.effect() == Effect::Lasting,
            ["write", "edit", "exec", "process"].contains(&spec.name.as_str())
        );
        assert_eq!(spec.parameters["type"], "object");
    }
}
