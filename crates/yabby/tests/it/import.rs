//! `yabby import`.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::exec;
use crate::home::Home;
use crate::seed_answers::question;

/// A home without a folder of ours, beside the folder of an OpenBot.
fn openbot() -> Home {
    let home = Home::empty();
    fs::remove_dir_all(home.path().join(".openclaw")).unwrap();
    home.write(
        ".openbot/agents/default/sessions/sessions.json",
        r#"{"agent:default:5054": {"sessionId": "s1", "updatedAt": 1769868002000,
            "deliveryContext": {"channel": "telegram", "target": "5054", "account": "default"}}}"#,
    );
    let header =
        r#"{"type":"session","version":2,"id":"s1","timestamp":"2026-01-31T14:00:00.000Z","cwd":"/x"}"#;
    let said = r#"{"type":"message","timestamp":"2026-01-31T14:00:01.000Z","message":{"role":"user","content":"Hello!"}}"#;
    home.write(".openbot/agents/default/sessions/s1.jsonl", &format!("{header}\n{said}\n"));
    home
}

fn config(home: &Home) -> Value {
    serde_json::from_str(&fs::read_to_string(home.path().join(".yabby/yabby.json")).unwrap()).unwrap()
}

#[test]
fn a_dry_run_only_tells() {
    let home = openbot();
    let told = home.out(&["import", "openbot", ".openbot", "--dry-run"]);
    let expected = "agent:main:telegram:dm:5054 ← agent:default:5054 (1 message, new)\n\
        session.dmScope = \"per-channel-peer\" ← a session for each person\n\
        Would adopt 1 session into ~/.yabby: 1 new, 0 grown.\n";
    assert!(told.starts_with(expected), "{told}");
    let told = home.json(&["import", "openbot", ".openbot", "--dry-run"]);
    let session = json!({"from": "agent:default:5054", "key": "agent:main:telegram:dm:5054", "sessionId": "s1",
        "messages": 1, "outcome": "new"});
    assert_eq!((&told["dryRun"], &told["sessions"]), (&json!(true), &json!([session])));
    assert!(!home.path().join(".yabby").exists());
}

#[test]
fn tokens_are_taken_over_and_not_shown() {
    let home = openbot();
    let token = "5054873275:AAF-very-secret-token-of-a-bot";
    home.write(
        ".openbot/config.yaml",
        &format!("telegram:\n  botToken: \"{token}\"\ndiscord:\n  token: short\n"),
    );
    for flags in [&["--dry-run"][..], &["--dry-run", "--json"], &[], &["--json"]] {
        let told = home.out(&[&["import", "openbot", ".openbot"], flags].concat());
        assert!(
            told.contains("channels.telegram.botToken") && told.contains("channels.discord.token"),
            "{told}"
        );
        assert!(told.contains("***") && !told.contains("very-secret") && !told.contains("short"), "{told}");
    }
    assert_eq!(config(&home)["channels"]["telegram"]["botToken"], token);
    home.write(".openbot/config.yaml", &format!("telegram:\n  botToken: \"{token}\n  other: [\n"));
    let failed = home.run(&["import", "openbot", ".openbot", "--dry-run"]);
    assert!(failed.code == 1 && !failed.err.contains("very-secret"), "{failed:?}");
}

#[test]
fn an_import_brings_sessions_and_settings_once() {
    let home = openbot();
    let told = home.json(&["import", "openbot", ".openbot"]);
    assert_eq!(told["settings"][0]["alreadySet"], false);
    assert!(home.out(&["history", "telegram:dm:5054"]).contains("Hello!"));
    assert_eq!(config(&home)["session"], json!({"dmScope": "per-channel-peer"}));
    let before = fs::read(home.path().join(".yabby/yabby.json")).unwrap();
    let again = home.json(&["import", "openbot", ".openbot"]);
    assert_eq!(
        (&again["sessions"][0]["outcome"], &again["settings"][0]["alreadySet"]),
        (&json!("known"), &json!(true))
    );
    assert_eq!(fs::read(home.path().join(".yabby/yabby.json")).unwrap(), before, "settings are written once");
    home.out(&["config", "set", "session.dmScope", "main"]);
    home.out(&["import", "openbot", ".openbot"]);
    assert_eq!(config(&home)["session"]["dmScope"], "main", "what the person set stays");
}

#[test]
fn settings_and_sessions_of_openclaudecode_are_taken_over() {
    let home = openbot();
    home.write(
        ".occ/config.yaml",
        "gateway:\n  autoResponder:\n    sessionMaxAgeMs: 14400000\n    other: no\n",
    );
    let said = r#"{"type":"message","timestamp":"2026-01-31T14:00:01.000Z","message":{"role":"user","content":"Hi","channel":"telegram","from":"7"}}"#;
    home.write(".occ/sessions/a.jsonl", &format!("{said}\n"));
    let database = Connection::open(home.path().join(".occ/gateway.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE sessions (sessionId TEXT PRIMARY KEY, sessionKey TEXT, createdAt INTEGER,
                 updatedAt INTEGER, messageCount INTEGER, compactionCount INTEGER, transcriptPath TEXT);
             INSERT INTO sessions VALUES ('a', 'telegram:42', 1, 1769868009000, 2, 3, '/gone/a.jsonl');",
        )
        .unwrap();
    let told = home.json(&["import", "openclaudecode", ".occ"]);
    assert_eq!(told["sessions"][0]["key"], "agent:main:telegram:dm:42");
    let expected = json!({"reset": {"mode": "idle", "idleMinutes": 240}, "dmScope": "per-channel-peer"});
    assert_eq!(config(&home)["session"], expected);
    assert_eq!(told["left"].as_array().unwrap().len(), 1, "{told}");
}

/// `config.yaml` as its design writes it.
const CONFIG: &str = "gateway:
  autoResponder:
    enabled: true
    maxConcurrent: 3
    debounceMs: 1500
    maxHistoryMessages: 20          # increased from 10
    sessionMaxAgeMs: 14400000       # 4 hours
    memoryIndexIntervalMessages: 5  # index every 5 messages
    memorySearchMaxResults: 5
    memoryFtsEnabled: true
";

#[test]
fn the_whole_configuration_of_openclaudecode_is_taken_over_and_remembered_by() {
    let service = exec::service([]);
    service.stand_in.otherwise(exec::answer());
    // The person of the conversation owns this.
    let home = exec::home(&service, &json!({"commands": {"ownerAllowFrom": ["telegram:5054873275"]}}));
    home.write(".occ/config.yaml", CONFIG);
    let said = |role: &str, text: &str| {
        json!({"type": "message", "timestamp": "2026-01-31T14:00:01.000Z",
        "message": {"role": role, "content": text, "channel": "telegram", "from": "5054873275"}})
    };
    let lines = [said("user", "The spare key is under the blue flower pot."), said("assistant", "Noted.")];
    home.write(".occ/sessions/a.jsonl", &format!("{}\n{}\n", lines[0], lines[1]));
    let told = home.json(&["import", "openclaudecode", ".occ"]);
    assert_eq!(told["left"], json!([]), "every setting has a place");
    let table = [
        ("memory.autoRecall.enabled", json!(true)),
        ("agents.defaults.maxConcurrent", json!(3)),
        ("messages.inbound.debounceMs", json!(1500)),
        ("channels.telegram.dmHistoryLimit", json!(20)),
        ("messages.groupChat.historyLimit", json!(20)),
        ("session.reset", json!({"mode": "idle", "idleMinutes": 240})),
        ("agents.defaults.memorySearch.sync.sessions.deltaMessages", json!(5)),
        ("memory.autoRecall.maxResults", json!(5)),
        ("session.dmScope", json!("per-channel-peer")),
    ];
    for (path, value) in &table {
        assert_eq!(home.json(&["config", "get", path]), *value, "{path}");
    }
    let file = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(home.path().join(".openclaw").join(name)).unwrap()).unwrap()
    };
    let own = json!({"memory": {"autoRecall": {"enabled": true, "maxResults": 5}}});
    assert_eq!(file("yabby-extras.json"), own, "OpenClaw does not know these");
    assert_eq!(file("openclaw.json").get("memory"), None);
    // A turn has what was said there before it.
    home.out(&["agent", "--local", "--agent", "main", "-m", "where is the spare key?"]);
    let asked = question(&service);
    assert!(asked.starts_with("## Relevant memories from past conversations:\n"), "{asked}");
    let memory = asked.lines().find(|line| line.starts_with("[Score: ")).unwrap();
    assert!(memory.contains("under the blue flower pot"), "{asked}");
    assert!(
        asked.contains("## New message:\nUser:") && asked.ends_with("where is the spare key?"),
        "{asked}"
    );
    // What the person sets stays, in whichever file it is.
    home.out(&["config", "set", "memory.autoRecall.enabled", "false"]);
    let again = home.json(&["import", "openclaudecode", ".occ"]);
    assert!(again["settings"].as_array().unwrap().iter().all(|one| one["alreadySet"] == true), "{again}");
    assert_eq!(home.json(&["config", "get", "memory.autoRecall.enabled"]), false);
    home.out(&["agent", "--local", "--agent", "main", "-m", "and the boat?"]);
    assert_eq!(question(&service), "and the boat?");
}

#[test]
fn what_is_no_such_folder_is_refused() {
    let home = openbot();
    let table = [
        (
            &["openbot", "nope"][..],
            "Error: nope is no folder; name the folder that openbot keeps its data in",
        ),
        (&["openbot"], "error: missing required argument 'dir'"),
        (
            &["openbt", ".openbot"],
            "error: command-argument value 'openbt' is invalid for argument 'program'. Allowed choices are openbot, openclaudecode.",
        ),
    ];
    for (arguments, told) in table {
        assert_eq!(home.refusal(&[&["import"], arguments].concat()), told, "{arguments:?}");
    }
    assert!(
        home.refusal(&["import", "openclaudecode", ".openbot"])
            .contains("is a folder of openbot, not of openclaudecode")
    );
    assert!(!home.path().join(".yabby").exists());
}

#[test]
fn the_owner_finds_what_was_said_to_them() {
    let search = ["memory", "search", "hello"];
    // Nobody said who the owner is: they are told that something is hidden, and how to see it.
    let home = openbot();
    let told = home.out(&["import", "openbot", ".openbot"]);
    assert!(told.contains("add `--owner telegram:5054`"), "{told}");
    let told = home.run(&search);
    assert_eq!(told.out, "No matches.\n");
    assert!(
        told.err.starts_with("note: not shown, since it was said to others: 1 more hit (telegram:5054)."),
        "{told:?}"
    );
    assert!(told.err.contains("--as agent:main:telegram:dm:5054"), "{told:?}");
    assert!(home.out(&[&search[..], &["--as", "agent:main:telegram:dm:5054"]].concat()).contains("Hello!"));
    // Whoever looks as somebody else is told nothing about others.
    let told = home.run(&[&search[..], &["--as", "main"]].concat());
    assert_eq!((told.out.as_str(), told.err.as_str()), ("No matches.\n", ""));
    // Who is an owner already stays one.
    home.out(&["config", "set", "commands.ownerAllowFrom", "[\"discord:7\"]", "--json"]);
    let told = home.run(&search).err;
    let advice = "config set commands.ownerAllowFrom '[\"discord:7\",\"telegram:5054\"]' --json";
    assert!(told.contains(advice), "{told}");
    home.out(&["config", "set", "commands.ownerAllowFrom", "[\"telegram:5054\"]", "--json"]);
    assert!(home.out(&search).contains("Hello!"), "it is the owner's once they say so");
    // Said with the import, it is theirs from the beginning.
    let home = openbot();
    let told = home.out(&["import", "openbot", ".openbot", "--owner", "Telegram:5054"]);
    assert!(!told.contains("add `--owner"), "{told}");
    assert!(home.out(&search).contains("Hello!"));
    // Nobody is asked about a person who is known as the owner.
    let told = home.out(&["import", "openbot", ".openbot"]);
    assert!(!told.contains("add `--owner"), "{told}");
    // A mistake is told before anything is adopted.
    let home = openbot();
    let told = home.refusal(&["import", "openbot", ".openbot", "--owner", "5054"]);
    assert_eq!(told, "Error: --owner must be a channel and an id, such as telegram:42");
    assert!(!home.path().join(".yabby/agents").exists());
}
