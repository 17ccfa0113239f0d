//! `yabby sessions` and what can be done with one.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::home::{Home, MAIN, message};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis().try_into().unwrap()
}

const GROUP: &str = "22222222-2222-4222-8222-222222222222";
const TASK: &str = "33333333-3333-4333-8333-333333333333";

/// Three sessions, two of which have said something.
fn home() -> Home {
    let home = Home::with(&json!({
        "agent:main:task": {"sessionId": TASK, "updatedAt": now() - 600_000, "label": "Garden", "unheardOf": {"a": [1]}},
        "agent:main:main": {"sessionId": MAIN, "updatedAt": now() - 60_000, "model": "m", "totalTokens": 15_400,
            "lastChannel": "telegram", "lastTo": "+41", "deliveryContext": {"channel": "telegram", "to": "+41"}},
        "agent:main:telegram:group:-1001234567890": {"sessionId": GROUP, "updatedAt": now() - 7_200_000,
            "chatType": "group", "displayName": "Crab club", "thinkingLevel": "high"},
    }));
    home.say(
        MAIN,
        &[message("a1", "user", "hello"), message("a2", "assistant", "hi"), message("a3", "user", "more")],
    );
    home.say(GROUP, &[message("g1", "user", "in the group")]);
    home
}

fn keys(list: &Value) -> Vec<&str> {
    list["sessions"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect()
}

#[test]
fn a_list_in_a_pipe_has_the_columns_of_the_reference() {
    let home = home();
    let store = home.store();
    let expected = format!(
        "Session store: {}\n\
         Sessions listed: 3\n\
         Kind   Key                        Age       Model          Tokens (ctx %)       Flags\n\
         direct agent:main:main            1m ago    m              15k/200k (8%)        id:{MAIN}\n\
         direct agent:main:task            10m ago   claude-opus-4-5 -                    id:{TASK}\n\
         group  agent:main:teleg...567890  2h ago    claude-opus-4-5 -                    think:high id:{GROUP}\n",
        store.display()
    );
    assert_eq!(home.out(&["sessions"]), expected);
    assert_eq!(home.out(&["sessions", "--verbose", "--no-color"]), expected);
}

#[test]
fn json_has_the_fields_of_the_reference_and_labels() {
    let list = home().json(&["sessions"]);
    assert_eq!((&list["count"], &list["activeMinutes"]), (&json!(3), &Value::Null));
    let rows = list["sessions"].as_array().unwrap();
    let fields = |row: usize| rows[row].as_object().unwrap().keys().map(String::as_str).collect::<Vec<_>>();
    let always = ["key", "kind", "updatedAt", "ageMs", "sessionId"];
    assert_eq!(fields(0), [&always[..], &["totalTokens", "model", "contextTokens"]].concat());
    assert_eq!(fields(1), [&always[..], &["model", "contextTokens", "label"]].concat());
    assert_eq!(rows[2]["kind"], "group");
}

#[test]
fn conditions_narrow_the_list() {
    let home = home();
    let table = [
        (&["--active", "5"][..], &["agent:main:main"][..]),
        (&["--active", "30"], &["agent:main:main", "agent:main:task"]),
        (&["--kind", "group"], &["agent:main:telegram:group:-1001234567890"]),
        (&["--kind", "group", "--kind", "direct", "--limit", "1"], &["agent:main:main"]),
        (&["--label", "GARDEN"], &["agent:main:task"]),
        (&["--label", "gard"], &[]),
        (&["--search", "CRAB"], &["agent:main:telegram:group:-1001234567890"]),
        (&["--search", "3333"], &["agent:main:task"]),
        (&["--limit", "0"], &[]),
        (
            &["--limit", "99999999999999999999999"],
            &["agent:main:main", "agent:main:task", "agent:main:telegram:group:-1001234567890"],
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(keys(&home.json(&[&["sessions"], arguments].concat())), expected, "{arguments:?}");
    }
    let told = home.out(&["sessions", "--active", "5"]);
    assert!(told.contains("Sessions listed: 1\nFiltered to last 5 minute(s)\n"), "{told}");
}

#[test]
fn stores_are_chosen_by_agent_or_file() {
    let home = home();
    home.write(
        ".openclaw/agents/ops/sessions/sessions.json",
        r#"{"agent:ops:main":{"sessionId":"o","updatedAt":1}}"#,
    );
    home.write("elsewhere.json", r#"{"x":{"sessionId":"x","updatedAt":1}}"#);
    assert_eq!(keys(&home.json(&["sessions", "--agent", "ops"])), ["agent:ops:main"]);
    assert_eq!(home.json(&["sessions", "--agent", "all"])["count"], 4);
    assert_eq!(home.json(&["sessions", "--agent", "all"])["path"], "(multiple)");
    assert_eq!(keys(&home.json(&["sessions", "--store", "~/elsewhere.json"])), ["x"]);
    let missing = home.out(&["sessions", "--store", "/nonexistent/{agentId}.json"]);
    assert_eq!(missing, "Session store: /nonexistent/main.json\nSessions listed: 0\nNo sessions found.\n");
    let unknown = home.refusal(&["sessions", "--agent", "ghost"]);
    assert_eq!(
        unknown,
        "Error: Unknown agent id \"ghost\". Use \"yabby agents list\" to see configured agents."
    );
}

#[test]
fn a_slip_is_answered_in_one_line() {
    let home = home();
    let table = [
        (&["sessions", "--active", "0"][..], "--active must be a positive integer (minutes)"),
        (&["sessions", "--active", "-3"], "--active must be a positive integer (minutes)"),
        (&["sessions", "--active"], "error: option '--active <minutes>' argument missing"),
        (&["sessions", "--bogus"], "error: unknown option '--bogus'"),
        (&["sessions", "--jsn"], "error: unknown option '--jsn'\n(Did you mean --json?)"),
        (&["sesions"], "error: unknown command 'sesions'\n(Did you mean sessions?)"),
        (&["frobnicate"], "error: unknown command 'frobnicate'"),
        (
            &["sessions", "--limit", "-1"],
            "error: option '--limit <count>' argument '-1' is invalid. It must be a whole number, such as 20.",
        ),
        (
            &["sessions", "--kind", "grp"],
            "error: option '--kind <kind>' argument 'grp' is invalid. Allowed choices are direct, group, global, unknown.",
        ),
        (&["sessions", "reset"], "error: missing required argument 'session'"),
        (
            &["history", "main", "task"],
            "error: too many arguments for 'history'. Expected 1 argument but got 2.",
        ),
        (&["sessions", "compact", "main", "--max-lines", "0"], "--max-lines must be a positive integer"),
        (
            &["sessions", "reset", "nope"],
            "No session found: nope\nNothing in ~/.openclaw has this key, id or label; `yabby sessions` lists what there is.",
        ),
    ];
    for (arguments, told) in table {
        assert_eq!(home.refusal(arguments), told, "{arguments:?}");
    }
}

#[test]
fn a_store_that_is_damaged_is_named_and_left_alone() {
    let home = Home::empty();
    for damaged in ["{\"a\":{\"sessionId\":\"x\"", "[]", "null"] {
        fs::write(home.store(), damaged).unwrap();
        let told = home.refusal(&["sessions"]);
        assert!(told.contains("sessions.json is damaged") && told.contains("yabby doctor --fix"), "{told}");
        assert_eq!(fs::read_to_string(home.store()).unwrap(), damaged);
    }
}

#[test]
fn nothing_at_all_is_no_failure() {
    let home = Home::empty();
    fs::remove_dir_all(home.path().join(".openclaw")).unwrap();
    assert!(home.out(&["sessions"]).ends_with("Sessions listed: 0\nNo sessions found.\n"));
    assert_eq!(home.out(&["history"]), "No sessions found.\n");
    assert_eq!(home.json(&["history"])["messages"], json!([]));
    assert_eq!(home.json(&["history", "--tree"])["entries"], json!([]));
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "looking leaves nothing behind");
    let slip = home.run(&["--state-dir", "/nonexistent", "sessions"]);
    assert_eq!((slip.code, slip.err.as_str()), (0, "note: there is no folder /nonexistent\n"));
}

#[test]
fn ten_thousand_sessions_are_listed() {
    let records = (0..10_000).map(|number| {
        let record = json!({"sessionId": format!("{number:08}"), "updatedAt": number + 1, "skillsSnapshot": {"prompt": "x"}});
        (format!("agent:main:telegram:dm:{number}"), record)
    });
    let home = Home::with(&Value::Object(records.collect()));
    assert_eq!(home.out(&["sessions"]).lines().count(), 3 + 10_000);
    let newest = home.json(&["sessions", "--limit", "2"]);
    assert_eq!(keys(&newest), ["agent:main:telegram:dm:9999", "agent:main:telegram:dm:9998"]);
    assert_eq!(home.json(&["sessions", "label", "telegram:dm:77", "found"])["label"], "found");
}

#[test]
fn keys_labels_and_names_cannot_steer_the_terminal() {
    let key = "agent:main:a\u{1b}[2Jb";
    let home = Home::with(&json!({ key: {"sessionId": MAIN, "updatedAt": 1, "thinkingLevel": "\u{9b}31m"} }));
    let commands: [&[&str]; 7] = [
        &["sessions"],
        &["sessions", "label", key, "x\u{1b}]0;title\u{7}"],
        &["sessions", "compact", key],
        &["sessions", "reset", key],
        &["history", key],
        &["sessions", "fork", key],
        &["sessions", "delete", key, "--yes"],
    ];
    for arguments in commands {
        let told = home.run(arguments);
        let steers = |c: char| c.is_control() && c != '\n';
        assert!(!told.out.contains(steers) && !told.err.contains(steers), "{arguments:?}: {told:?}");
    }
}

#[test]
fn a_label_is_set_added_to_and_taken_away() {
    let home = home();
    assert_eq!(home.out(&["sessions", "label", "main"]), "agent:main:main: (no label)\n");
    assert_eq!(home.out(&["sessions", "label", "main", " Holiday 🏖 "]), "agent:main:main: Holiday 🏖\n");
    let added = home.out(&["sessions", "label", "holiday 🏖", "--add", "sea", "--add", "SEA", "--add", "sun"]);
    assert_eq!(added, "agent:main:main: Holiday 🏖 [sea, sun]\n");
    let removed = home.json(&["sessions", "label", "main", "--remove", "Sea"]);
    assert_eq!(removed, json!({"key": "agent:main:main", "label": "Holiday 🏖", "labels": ["sun"]}));
    assert_eq!(
        home.out(&["sessions", "label", "main", "--clear", "--remove", "sun"]),
        "agent:main:main: (no label)\n"
    );
    let main = &home.records()["agent:main:main"];
    assert!(main.get("label").is_none() && main.get("labels").is_none(), "{main}");
    let table = [
        (&["sessions", "label", "main", "Garden"][..], "Error: label already in use: Garden"),
        (&["sessions", "label", "main", "  "], "Error: invalid label: empty"),
        (
            &["sessions", "label", "main", "--remove", "zz"],
            "Error: agent:main:main has no label \"zz\"; it has: none",
        ),
    ];
    for (arguments, told) in table {
        assert_eq!(home.refusal(arguments), told, "{arguments:?}");
    }
}

#[test]
fn a_label_change_leaves_everything_else_as_it_was() {
    let home = home();
    let mut before = home.records();
    home.out(&["sessions", "label", "task", "Balcony"]);
    before["agent:main:task"]["label"] = "Balcony".into();
    assert_eq!(home.records(), before);
}

#[test]
fn a_text_that_names_several_sessions_is_not_guessed() {
    let home = home();
    home.out(&["sessions", "label", "main", "garden"]);
    let told = home.refusal(&["sessions", "reset", "GARDEN"]);
    assert_eq!(
        told,
        "Error: \"GARDEN\" fits several sessions: agent:main:task, agent:main:main; name one by its key"
    );
}

#[test]
fn a_reset_begins_anew_and_keeps_what_was_said() {
    let home = home();
    let before = home.records();
    let said = fs::read_to_string(home.transcript(MAIN)).unwrap();
    let told = home.json(&["sessions", "reset", "main"]);
    assert_eq!((&told["ok"], &told["key"]), (&json!(true), &json!("agent:main:main")));
    let after = home.records();
    let main = &after["agent:main:main"];
    assert_eq!(main, &told["entry"]);
    assert_ne!(main["sessionId"], MAIN);
    assert_eq!(
        (&main["totalTokens"], &main["model"], &main["lastTo"]),
        (&json!(0), &json!("m"), &json!("+41"))
    );
    assert_eq!(fs::read_to_string(home.transcript(MAIN)).unwrap(), said);
    for other in ["agent:main:task", "agent:main:telegram:group:-1001234567890"] {
        assert_eq!(after[other], before[other]);
    }
    let told = home.out(&["sessions", "reset", "telegram:group:-1001234567890"]);
    assert!(
        told.contains(&format!(
            "What was said before stays in ~/.openclaw/agents/main/sessions/{GROUP}.jsonl."
        )),
        "{told}"
    );
    let silent = home.refusal(&["history", "main"]);
    assert!(silent.starts_with("Error: nothing has been said yet in agent:main:main"), "{silent}");
}

/// Whose a conversation was is known by the record of its session, which lets go of it.
#[test]
fn what_somebody_else_said_is_not_the_owners_after_a_reset() {
    for command in
        [&["sessions", "reset", "dm:4"][..], &["sessions", "delete", "dm:4", "--keep-transcript", "--yes"]]
    {
        let home = Home::with(&json!({
            "agent:main:telegram:dm:4": {"sessionId": MAIN, "updatedAt": 1, "chatType": "direct", "label": "dm:4",
                "origin": {"from": "telegram:4", "provider": "telegram"}},
        }));
        home.say(
            MAIN,
            &[message("1", "user", "the zebra is in the garage"), message("2", "assistant", "noted")],
        );
        home.out(command);
        assert!(home.transcript(MAIN).exists());
        let found = home.json(&["memory", "search", "zebra garage"]);
        assert_eq!(found["results"], json!([]), "{command:?}: {found}");
        assert_eq!(found["hidden"]["hits"].as_u64().map(|hits| hits > 0), Some(true), "{command:?}: {found}");
    }
}

#[test]
fn a_deleted_session_leaves_its_conversation_behind() {
    let home = home();
    let mut before = home.records();
    let said = fs::read_to_string(home.transcript(GROUP)).unwrap();
    let told = home.json(&["sessions", "delete", "2222", "--yes"]);
    assert_eq!(told["deleted"], true);
    let archive = told["archived"][0].as_str().unwrap();
    assert!(archive.contains(&format!("{GROUP}.jsonl.deleted.")), "{archive}");
    assert_eq!(fs::read_to_string(archive).unwrap(), said);
    assert!(!home.transcript(GROUP).exists());
    before.as_object_mut().unwrap().remove("agent:main:telegram:group:-1001234567890");
    assert_eq!(home.records(), before);
    assert_eq!(home.out(&["sessions", "delete", "task", "--yes"]), "Deleted agent:main:task.\n");
}

#[test]
fn a_script_deletes_nothing_without_yes() {
    let home = home();
    let before = (home.records(), home.files());
    for arguments in [&["sessions", "delete", "2222"][..], &["sessions", "delete", "2222", "--json"]] {
        let told = home.run(arguments);
        assert!(told.code != 0 && told.err.contains("--yes"), "{told:?}");
    }
    assert_eq!((home.records(), home.files()), before);
}

#[test]
fn a_transcript_that_others_use_or_want_stays() {
    let home = home();
    let mut records = home.records();
    records["agent:main:also"] = records["agent:main:telegram:group:-1001234567890"].clone();
    fs::write(home.store(), records.to_string()).unwrap();
    assert_eq!(home.json(&["sessions", "delete", "also", "--yes"])["archived"], json!([]));
    assert!(home.transcript(GROUP).exists());
    home.out(&["sessions", "delete", "2222", "--keep-transcript", "--yes"]);
    assert!(home.transcript(GROUP).exists());
}

#[test]
fn the_main_session_is_not_deleted() {
    let home = home();
    let before = (home.records(), home.files());
    for name in ["main", "agent:main:main", "1111"] {
        let told = home.refusal(&["sessions", "delete", name, "--yes"]);
        assert_eq!(told, "Error: Cannot delete the main session (agent:main:main).");
    }
    assert_eq!((home.records(), home.files()), before);
}

#[test]
fn a_compacted_conversation_is_kept_whole_beside() {
    let home = home();
    let whole = fs::read_to_string(home.transcript(MAIN)).unwrap();
    assert_eq!(home.out(&["sessions", "compact", "main"]), "agent:main:main is short enough: 4 lines.\n");
    let told = home.json(&["sessions", "compact", "main", "--max-lines", "2"]);
    assert_eq!((&told["compacted"], &told["kept"]), (&json!(true), &json!(2)));
    assert_eq!(fs::read_to_string(told["archived"].as_str().unwrap()).unwrap(), whole);
    let left = home.json(&["history", "main"]);
    assert_eq!(left["messages"].as_array().unwrap().last().unwrap()["content"], "more");
    assert!(home.records()["agent:main:main"].get("totalTokens").is_none());
    assert_eq!(home.json(&["sessions", "compact", "task"])["reason"], "no transcript");
}

#[test]
fn a_fork_goes_on_by_itself_and_answers_nobody() {
    let home = home();
    let before = home.records();
    let said = fs::read_to_string(home.transcript(MAIN)).unwrap();
    let told =
        home.json(&["sessions", "fork", "main", "--at", "a2", "--key", "What-If", "--label", "What if"]);
    assert_eq!(
        (&told["key"], &told["forkedFrom"]),
        (&json!("agent:main:what-if"), &json!("agent:main:main"))
    );
    let mut after = home.records();
    let fork = after.as_object_mut().unwrap().remove("agent:main:what-if").unwrap();
    assert_eq!(after, before);
    assert_eq!(fs::read_to_string(home.transcript(MAIN)).unwrap(), said);
    for delivery in ["deliveryContext", "lastChannel", "lastTo", "totalTokens"] {
        assert!(fork.get(delivery).is_none(), "{delivery}: {fork}");
    }
    assert_eq!((&fork["label"], &fork["model"]), (&json!("What if"), &json!("m")));
    let messages = home.json(&["history", "what if"]);
    let texts: Vec<&str> =
        messages["messages"].as_array().unwrap().iter().filter_map(|m| m["content"].as_str()).collect();
    assert_eq!(texts, ["hello", "hi"]);
    let own = home.out(&["sessions", "fork", "main"]);
    assert!(
        own.starts_with("agent:main:fork:") && own.contains(" goes on from agent:main:main (~/"),
        "{own}"
    );
}

#[test]
fn a_fork_that_cannot_be_leaves_nothing_behind() {
    let home = home();
    let before = (home.records(), home.files());
    let table = [
        (&["main", "--at", "zzz"][..], "Error: Entry zzz not found"),
        (
            &["main", "--key", "task"],
            "Error: there is a session agent:main:task already; choose another --key",
        ),
        (&["main", "--key", " "], "Error: a session needs a key, such as agent:main:what-if"),
        (
            &["main", "--key", "agent:ops:x"],
            "Error: agent:ops:x belongs to another agent; a fork stays with main",
        ),
        (&["main", "--label", "Garden"], "Error: label already in use: Garden"),
    ];
    for (arguments, told) in table {
        assert_eq!(home.refusal(&[&["sessions", "fork"], arguments].concat()), told, "{arguments:?}");
    }
    assert!(home.refusal(&["sessions", "fork", "task"]).contains("Cannot fork"));
    assert_eq!((home.records(), home.files()), before);
}

#[test]
fn a_record_that_names_no_transcript_can_still_be_dealt_with() {
    let broken = [
        json!({"updatedAt": 9}),
        json!({"sessionId": 7}),
        json!({"sessionId": "x".repeat(3000)}),
        json!({"sessionId": "s", "sessionFile": "/etc/passwd"}),
    ];
    for record in broken {
        let home = Home::with(&json!({ "agent:main:odd": record }));
        assert!(home.out(&["sessions"]).contains("agent:main:odd"), "{record}");
        let told = "Error: the record of agent:main:odd names no transcript of this folder; `yabby sessions reset` begins it anew";
        for command in [&["history"][..], &["sessions", "fork", "odd"], &["sessions", "export", "odd"]] {
            assert_eq!(home.refusal(command), told, "{record}");
        }
        assert_eq!(home.json(&["sessions", "compact", "odd"])["reason"], "no transcript");
        assert_eq!(home.json(&["sessions", "label", "odd", "Odd"])["label"], "Odd");
        assert_eq!(home.json(&["sessions", "reset", "odd"])["ok"], true);
        assert_eq!(home.json(&["sessions", "delete", "odd", "--yes"])["deleted"], true);
    }
}

/// A record is only a text in a file; whoever wrote it must not reach other files of the owner's with it.
#[test]
fn no_record_leads_a_command_out_of_the_folder() {
    let home = Home::with(&json!({}));
    let outside = home.path().parent().unwrap().join("outside.jsonl");
    let text = "{\"type\":\"session\",\"version\":3,\"id\":\"x\"}\n{\"type\":\"message\",\"id\":\"1\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"private\"}}\n";
    fs::write(&outside, text).unwrap();
    let up = "../".repeat(home.sessions().components().count());
    let up = format!("{up}{}", outside.with_extension("").display());
    fs::write(
        home.store(),
        json!({
            "agent:main:up": {"sessionId": up, "updatedAt": 1},
            "agent:main:named": {"sessionId": "x", "sessionFile": outside, "updatedAt": 1},
        })
        .to_string(),
    )
    .unwrap();
    for key in ["agent:main:up", "agent:main:named"] {
        let refused = home.refusal(&["history", key]);
        assert!(refused.contains("no transcript of this folder"), "{refused}");
        home.refusal(&["sessions", "export", key]);
        home.refusal(&["sessions", "fork", key]);
        home.run(&["sessions", "compact", key, "--max-lines", "1"]);
        home.run(&["sessions", "delete", key, "--yes"]);
        assert_eq!(fs::read_to_string(&outside).unwrap(), text, "{key}");
    }
    assert_eq!(home.records(), json!({}));
}

#[test]
fn a_session_that_is_deleted_leaves_the_others_their_conversation() {
    let home = Home::with(&json!({}));
    home.say("shared", &[message("a", "user", "for both")]);
    let record =
        |id: &str| json!({"sessionId": id, "updatedAt": 1, "sessionFile": home.transcript("shared")});
    fs::write(
        home.store(),
        json!({"agent:main:a": record("one"), "agent:main:b": record("two")}).to_string(),
    )
    .unwrap();
    home.out(&["sessions", "delete", "agent:main:a", "--yes"]);
    assert!(home.transcript("shared").exists());
    home.out(&["sessions", "delete", "agent:main:b", "--yes"]);
    assert!(!home.transcript("shared").exists(), "nobody needs it any more");
}

#[test]
fn a_damaged_store_stops_only_those_who_need_it() {
    let home = home();
    home.write(
        ".openclaw/agents/ops/sessions/sessions.json",
        r#"{"agent:ops:main": {"sessionId": "o", "updatedAt": 1}}"#,
    );
    home.write(".openclaw/agents/cut/sessions/sessions.json", "{\"agent:cut:main\": {\"sessionId\": ");
    let damaged = "agents/cut/sessions/sessions.json is damaged";

    // A key is a key, whatever the other store holds.
    assert!(home.out(&["history", "main"]).contains("hello"));
    assert_eq!(home.out(&["sessions", "label", "agent:main:task", "Shed"]), "agent:main:task: Shed\n");
    assert_eq!(home.out(&["sessions", "label", "Shed", "--agent", "main"]), "agent:main:task: Shed\n");
    // Anything else may be meant for a session in there.
    for wanted in ["Shed", &TASK[..8], "nobody"] {
        let told = home.refusal(&["sessions", "reset", wanted]);
        assert!(told.contains(damaged) && told.contains("--agent"), "{wanted}: {told}");
    }
    assert!(!home.refusal(&["sessions", "--agent", "cut"]).contains("--agent"));

    let told = home.run(&["history"]);
    assert_eq!((told.code, told.out.contains("hello")), (0, true), "{told:?}");
    assert!(told.err.starts_with("note: ") && told.err.contains(damaged), "{}", told.err);
    let told = home.run(&["sessions", "--agent", "all", "--json"]);
    let list: Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!((told.code, &list["count"]), (1, &json!(4)), "what is listed is not all there is");
    assert!(told.err.starts_with("Error: ") && told.err.contains(damaged), "{}", told.err);

    // The session that a bare name stands for first may be in there, too.
    fs::write(home.store(), "{").unwrap();
    assert!(home.refusal(&["sessions", "reset", "main"]).contains("is damaged"));
}

#[test]
fn a_compaction_is_undone_and_nothing_deleted() {
    let compaction = json!({"type": "compaction", "id": "3", "summary": "They greeted.", "firstKeptEntryId": "2", "tokensBefore": 9});
    let home = Home::saying(&[
        message("1", "user", "hello"),
        message("2", "assistant", "hi"),
        compaction,
        message("4", "user", "and now?"),
        message("5", "assistant", "this"),
    ]);
    let told = |home: &Home| -> Vec<String> {
        let context = home.json(&["history", "main", "--context"]);
        context["messages"].as_array().unwrap().iter().map(ToString::to_string).collect()
    };
    assert_eq!(told(&home).len(), 4);
    let before = fs::read_to_string(home.transcript(MAIN)).unwrap();
    let undone = home.json(&["sessions", "undo-compaction"]);
    let tokens = undone["totalTokens"].clone();
    assert_eq!(
        undone,
        json!({"ok": true, "key": "agent:main:main", "compaction": "3", "copied": 2, "messages": 4, "totalTokens": tokens})
    );
    assert_eq!(home.records()["agent:main:main"]["totalTokens"], tokens);
    let after = fs::read_to_string(home.transcript(MAIN)).unwrap();
    assert!(after.starts_with(&before), "the file only grows");
    let told = told(&home);
    assert!(!told.concat().contains("They greeted.") && told.concat().contains("hello"), "{told:?}");
    let refusal = home.refusal(&["sessions", "undo-compaction", "main", "--json"]);
    assert_eq!(
        refusal,
        "Error: no compaction in agent:main:main is left to undo; the model is told all of it"
    );
    assert_eq!(fs::read_to_string(home.transcript(MAIN)).unwrap(), after);
}

#[test]
fn a_line_compaction_is_undone_with_what_was_said_since() {
    let first = [message("1", "user", "hello"), message("2", "assistant", "hi"), message("3", "user", "so?")];
    let home = Home::saying(&[&first[..], &[message("4", "assistant", "this")]].concat());
    let before = fs::read_to_string(home.transcript(MAIN)).unwrap();
    let compacted = home.json(&["sessions", "compact", "main", "--max-lines", "2"]);
    use std::io::Write as _;
    let mut since = fs::OpenOptions::new().append(true).open(home.transcript(MAIN)).unwrap();
    let later = message("5", "user", "and then?").to_string().replacen('{', r#"{"parentId":"4","#, 1);
    writeln!(since, "{later}").unwrap();
    let undone = home.json(&["sessions", "undo-compaction"]);
    assert_eq!((&undone["restored"], &undone["messages"]), (&json!(2), &json!(5)), "{undone}");
    assert_eq!(undone["backup"], compacted["archived"]);
    assert_eq!(home.records()["agent:main:main"]["totalTokens"], undone["totalTokens"]);
    let after = fs::read_to_string(home.transcript(MAIN)).unwrap();
    assert!(after.contains("hello") && after.contains("and then?"), "{after}");
    assert_eq!(after.lines().count(), before.lines().count() + 1);
    assert!(fs::exists(compacted["archived"].as_str().unwrap()).unwrap(), "the backup stays");
    let refusal = home.refusal(&["sessions", "undo-compaction"]);
    assert!(refusal.contains("no compaction in agent:main:main is left to undo"), "{refusal}");
}

#[test]
fn a_compaction_is_not_undone_while_somebody_writes() {
    let home = Home::with(&json!({"agent:main:main": {"sessionId": MAIN, "updatedAt": 1}}));
    assert!(home.refusal(&["sessions", "undo-compaction"]).contains("nothing has been said yet"));
    assert!(!home.transcript(MAIN).exists());
    home.say(MAIN, &[message("1", "user", "hello"), message("2", "assistant", "hi")]);
    let held = crate::home::Held::transcript(&home, MAIN);
    assert!(home.refusal(&["sessions", "undo-compaction"]).contains("session file locked"));
    drop(held);
    assert!(home.refusal(&["sessions", "undo-compaction", "nobody"]).contains("No session found: nobody"));
}

/// Sessions `main` and `ops`; of the first there were two conversations before, and one session was deleted.
fn home_with_earlier_conversations() -> Home {
    let home = Home::saying(&[message("1", "user", "the first"), message("2", "assistant", "yes")]);
    let begin = |text: &str| {
        let id = home.records()["agent:main:main"]["sessionId"].as_str().unwrap().to_owned();
        home.say(&id, &[message("1", "user", text), message("2", "assistant", "yes")]);
        id
    };
    home.json(&["sessions", "reset", "main"]);
    begin("the second");
    home.json(&["sessions", "reset", "main"]);
    begin("the third");
    // The order is that of the last words; a test is faster than any file system's clock may be.
    for (at, file) in fs::read_dir(home.sessions()).unwrap().map(Result::unwrap).enumerate() {
        let text = fs::read_to_string(file.path()).unwrap();
        let order = ["the first", "the second", "the third"].iter().position(|said| text.contains(said));
        let time = std::time::UNIX_EPOCH
            + std::time::Duration::from_secs(1000 * order.map_or(at, |at| at + 1) as u64);
        fs::File::options().append(true).open(file.path()).unwrap().set_modified(time).unwrap();
    }
    home
}

#[test]
fn earlier_conversations_are_listed() {
    let home = home_with_earlier_conversations();
    let plain = home.json(&["sessions"]);
    assert_eq!((plain["count"].clone(), plain.get("earlier")), (json!(1), None));
    let all = home.json(&["sessions", "--all"]);
    assert_eq!(all["sessions"][0]["sessionId"], plain["sessions"][0]["sessionId"]);
    let listed = |all: &Value| -> Vec<[String; 3]> {
        let text = |row: &Value, name: &str| row[name].as_str().unwrap_or("null").to_owned();
        let row = |row: &Value| [text(row, "key"), text(row, "title"), text(row, "state")];
        all["earlier"].as_array().unwrap().iter().map(row).collect()
    };
    let expected =
        ["the second", "the first"].map(|title| ["agent:main:main", title, "replaced"].map(str::to_owned));
    assert_eq!(listed(&all), expected);
    assert_eq!(all["earlier"][1]["sessionId"], MAIN);
    let text = home.out(&["sessions", "--all"]);
    assert!(
        text.contains("Earlier conversations: 2") && text.contains("the first") && text.contains(MAIN),
        "{text}"
    );
    assert_eq!(listed(&home.json(&["sessions", "--all", "--search", "SECOND"])), expected[..1]);
    assert_eq!(listed(&home.json(&["sessions", "--all", "--limit", "1"])), expected[..1]);

    // What nobody noted is listed all the same, and so is what was put away.
    home.say("55555555-aaaa", &[message("1", "user", "from elsewhere")]);
    fs::write(home.sessions().join("66666666.jsonl.deleted.2026-02-03T12-00-00.000Z"), "").unwrap();
    let all = listed(&home.json(&["sessions", "--all"]));
    assert!(all.contains(&["null", "from elsewhere", "replaced"].map(str::to_owned)), "{all:?}");
    assert!(all.contains(&["null", "null", "deleted"].map(str::to_owned)), "{all:?}");
}

#[test]
fn the_conversation_before_a_reset_is_shown() {
    let home = home_with_earlier_conversations();
    let said =
        |arguments: &[&str]| home.json(&[&["history"], arguments].concat())["messages"][0]["content"].clone();
    assert_eq!(said(&["main"]), "the third");
    assert_eq!(said(&["main", "--previous"]), "the second");
    assert_eq!(said(&["--previous", "2"]), "the first");
    assert_eq!(said(&[&MAIN[..8]]), "the first", "by its id");
    assert_eq!(home.json(&["history", "main", "--previous"])["sessionKey"], "agent:main:main");
    assert!(home.out(&["history", "main", "--previous"]).contains("the second"));
    let refusal = home.refusal(&["history", "main", "--previous", "3"]);
    assert!(refusal.contains("only 2 earlier conversations of agent:main:main are known"), "{refusal}");
    assert!(home.refusal(&["history", "main", "--previous", "0"]).contains("counts from 1"));
}

#[test]
fn a_deleted_session_is_found_again() {
    let home = Home::with(&json!({"agent:main:ops": {"sessionId": MAIN, "updatedAt": 1}}));
    home.say(MAIN, &[message("1", "user", "hello"), message("2", "assistant", "hi")]);
    home.json(&["sessions", "delete", "agent:main:ops", "--yes"]);
    let all = home.json(&["sessions", "--all"]);
    assert_eq!((&all["count"], &all["earlier"][0]["key"]), (&json!(0), &json!("agent:main:ops")));
    assert_eq!(all["earlier"][0]["state"], "deleted");
    assert_eq!(home.json(&["history", "agent:main:ops", "--previous"])["messages"][0]["content"], "hello");
}
