//! `yabby sessions export`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use crate::home::{Home, message};

fn home() -> Home {
    let mut called = message("2", "assistant", "");
    called["message"]["content"] = json!([
        {"type": "text", "text": "**Look**: <img src=x onerror=alert(1)> [here](javascript:alert(1))"},
        {"type": "toolCall", "id": "c", "name": "exec", "arguments": {"command": "echo '<b>'"}},
    ]);
    let mut answered = message("3", "toolResult", "```\n<script>alert(2)</script>");
    answered["message"]["toolCallId"] = "c".into();
    let home = Home::saying(&[message("1", "user", "<script>alert(3)</script> & more"), called, answered]);
    home.out(&["sessions", "label", "main", "A & <b>"]);
    home
}

#[test]
fn markdown_is_written_to_standard_output() {
    let home = home();
    let expected = "# A & <b>\n\nSession `11111111-1111-4111-8111-111111111111`\n\n\
        ## You · 2026-02-03 12:00 UTC\n\n<script>alert(3)</script> & more\n\n\
        ## Assistant · 2026-02-03 12:00 UTC\n\n**Look**: <img src=x onerror=alert(1)> [here](javascript:alert(1))\n\n\
        **exec**\n\n```\n{\"command\":\"echo '<b>'\"}\n```\n\n````\n```\n<script>alert(2)</script>\n````\n";
    assert_eq!(home.out(&["sessions", "export", "main"]), expected);
    assert_eq!(home.out(&["sessions", "export", "main", "--output", "-"]), expected);
}

#[test]
fn html_runs_and_loads_nothing() {
    let page = home().out(&["sessions", "export", "main", "--format", "html"]);
    assert!(page.contains("<title>A &amp; &lt;b&gt;</title>"), "{page}");
    assert!(page.contains("&lt;script&gt;alert(3)&lt;/script&gt; &amp; more"), "{page}");
    assert!(page.contains("<strong>Look</strong>"), "{page}");
    for harm in ["<script", "<img", "javascript:", "<b>"] {
        assert!(!page.contains(harm), "{harm} is in {page}");
    }
}

#[test]
fn a_file_is_private_and_not_overwritten_by_accident() {
    let home = home();
    let told = home.run(&["sessions", "export", "main", "--output", "it.HTML"]);
    assert_eq!((told.code, told.out.as_str(), told.err.as_str()), (0, "", "Wrote it.HTML.\n"));
    let file = home.path().join("it.HTML");
    assert!(fs::read_to_string(&file).unwrap().starts_with("<!doctype html>"));
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    fs::write(&file, "mine").unwrap();
    let refused = home.refusal(&["sessions", "export", "main", "--output", "it.HTML"]);
    assert!(refused.starts_with("Error: it.HTML is there already; --force replaces it"), "{refused}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    home.run(&["sessions", "export", "main", "--output", "it.HTML", "--force", "--format", "markdown"]);
    assert!(fs::read_to_string(&file).unwrap().starts_with("# A & <b>"));
    let nowhere = home.refusal(&["sessions", "export", "main", "--output", "no/such/folder.md"]);
    assert!(nowhere.starts_with("Error: cannot write no/such/folder.md: "), "{nowhere}");
}

#[test]
fn nothing_said_is_nothing_to_export() {
    let home = Home::with(&json!({"agent:main:main": {"sessionId": "s", "updatedAt": 1}}));
    let told = home.refusal(&["sessions", "export", "main", "--output", "x.md"]);
    assert!(told.starts_with("Error: nothing has been said yet in agent:main:main"), "{told}");
    assert!(!home.path().join("x.md").exists());
}
