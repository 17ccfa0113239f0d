//! `yabby turns`.

use serde_json::json;
use yabby_domain::seam::journal::Promise;
use yabby_store::files::turns::{Kind, Settings, TurnJournal};
use yabby_testkit::store_contract::turns::{accepted, settled, tool_begun};

use crate::home::Home;

const NOON: i64 = 1_770_120_000_000;

#[test]
fn unsettled_turns_are_told_with_how_far_they_came_and_whose_they_are() {
    let home = Home::empty();
    assert_eq!(home.out(&["turns"]), "Every message that was accepted is settled.\n");
    assert_eq!(home.out(&["turns", "--all"]), "No turn is on file.\n");
    let lost = [accepted("lost", NOON), tool_begun("lost", "1", NOON)].map(|record| record.line() + "\n");
    home.write(".openclaw/turns/gateway-4711-0a1b2c3d.jsonl", &lost.concat());
    let folder = home.path().join(".openclaw/turns");
    let journal = TurnJournal::open(&folder, Kind::Agent, Settings::default()).unwrap();
    let records = vec![accepted("open", NOON + 60_000), accepted("done", NOON), settled("done", NOON)];
    journal.append_blocking(records, Promise::Written).unwrap();

    let pid = std::process::id();
    let told = home.out(&["turns"]);
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(
        lines[1],
        "2026-02-03 12:00 UTC  agent:main:main  being answered, a tool at work  gateway 4711, gone"
    );
    assert!(lines[2].starts_with("2026-02-03 12:01 UTC  agent:main:main  waiting "), "{told}");
    assert!(lines[2].ends_with(&format!("  agent {pid}")), "{told}");
    assert_eq!(lines[3..], ["1 turn without a process; finished when yabby next takes turns."]);
    assert!(home.out(&["turns", "--all"]).contains(" done "));

    let json = home.json(&["turns", "--all"]);
    assert_eq!(json["count"], 3);
    let lost = json["turns"].as_array().unwrap().iter().find(|turn| turn["id"] == "lost").unwrap();
    assert_eq!(lost["process"], json!({"kind": "gateway", "pid": 4711, "alive": false}));
    assert_eq!((&lost["stage"], &lost["runningTools"]), (&json!("running"), &json!(["1"])));
    let done = json["turns"].as_array().unwrap().iter().find(|turn| turn["id"] == "done").unwrap();
    assert_eq!((&done["stage"], &done["outcome"]), (&json!("settled"), &json!("answered")));
    assert_eq!(home.json(&["turns"])["count"], 2);
}

#[test]
fn damaged_lines_are_told_and_skipped() {
    let home = Home::empty();
    let text = format!("garbage\n{}\n", accepted("a", NOON).line());
    home.write(".openclaw/turns/gateway-4711-0a1b2c3d.jsonl", &text);
    let told = home.run(&["turns"]);
    assert!(told.err.contains("gateway-4711-0a1b2c3d.jsonl: 1 line cannot be read"), "{told:?}");
    assert!(told.out.contains("agent:main:main"), "{told:?}");
}

#[test]
fn the_doctor_knows_journals_and_the_ledger_as_ours() {
    let home = Home::empty();
    home.write(
        ".openclaw/turns/gateway-4711-0a1b2c3d.jsonl",
        &format!("x\n{}\n", accepted("a", NOON).line()),
    );
    home.write(".openclaw/turns/gateway-4711-0a1b2c3d.jsonl.damaged-0a1b", "x\n");
    home.write(".openclaw/turns/notes.txt", "mine");
    home.write(".openclaw/usage/2026-02.jsonl", "garbage\n");
    let told = home.run(&["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    let findings = report["findings"].as_array().unwrap().iter();
    let mut codes: Vec<(&str, &str)> = findings
        .map(|finding| (finding["code"].as_str().unwrap(), finding["path"].as_str().unwrap()))
        .filter(|(code, _)| *code != "open-to-others")
        .map(|(code, path)| (code, path.rsplit('/').next().unwrap()))
        .collect();
    codes.sort_unstable();
    assert_eq!(
        codes,
        [
            ("foreign-file", "notes.txt"),
            ("ledger-damaged-line", "2026-02.jsonl"),
            ("turn-journal-damaged-line", "gateway-4711-0a1b2c3d.jsonl"),
            ("turns-waiting", "gateway-4711-0a1b2c3d.jsonl"),
        ],
        "{told:?}"
    );
}
