//! `yabby memory`: what agents remember, found, kept and forgotten.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use yabby_testkit::stand_in::embeddings::{EmbeddingStandIn, JobEnd, Trouble};

use crate::home::{Held, Home, MAIN, message};

const GROUP: &str = "22222222-2222-4222-8222-222222222222";
const PERSON: &str = "33333333-3333-4333-8333-333333333333";

const GROUP_KEY: &str = "agent:main:telegram:group:-100";
const PERSON_KEY: &str = "agent:main:telegram:dm:42";

/// With notes, the owner's conversation, one with somebody else, and one in a group.
fn remembering() -> Home {
    let home = Home::with(&json!({
        "agent:main:main": {"sessionId": MAIN, "updatedAt": 1},
        GROUP_KEY: {"sessionId": GROUP, "updatedAt": 2, "chatType": "group", "channel": "telegram"},
        PERSON_KEY: {"sessionId": PERSON, "updatedAt": 3, "chatType": "direct", "channel": "telegram"},
    }));
    home.say(
        MAIN,
        &[
            message("a1", "user", "My bicycle is locked with the code 471142, remember it"),
            message("a2", "assistant", "Noted: the code of the bicycle is 471142."),
            message("a3", "user", "What is for dinner?"),
            message("a4", "assistant", "Soup."),
        ],
    );
    home.say(
        GROUP,
        &[
            message("b1", "user", "Anna: the bicycle tour starts at nine"),
            message("b2", "assistant", "See you there."),
        ],
    );
    home.say(PERSON, &[message("c1", "user", "My bicycle is blue"), message("c2", "assistant", "Nice.")]);
    home.write(
        ".openclaw/workspace/MEMORY.md",
        "# Memory\n\n- The crab is called Yabby.\n- The bicycle is old.\n",
    );
    home.write(".openclaw/workspace/memory/2026-02-03.md", "# 2026-02-03\n\n- The dentist is at ten.\n");
    home
}

fn index_of(home: &Home) -> PathBuf {
    home.path().join(".openclaw/recall/main.sqlite")
}

/// The places of what a search finds.
fn places(home: &Home, arguments: &[&str]) -> Vec<String> {
    let found = home.json(&[&["memory", "search"], arguments].concat());
    let place = |hit: &Value| format!("{}:{}", hit["path"].as_str().unwrap(), hit["startLine"]);
    found["results"].as_array().unwrap().iter().map(place).collect()
}

/// A service that embeds, and a home that asks it.
struct Embedded {
    home: Home,
    stand_in: EmbeddingStandIn,
    _runtime: Runtime,
}

fn embedded() -> Embedded {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let stand_in = runtime.block_on(EmbeddingStandIn::start());
    stand_in.jobs_end(vec![JobEnd::Unknown; 20]);
    let home = remembering();
    let config = json!({"agents": {"defaults": {"memorySearch": {
        "provider": "openai",
        "sources": ["memory", "sessions"],
        "experimental": {"sessionMemory": true},
        "remote": {"baseUrl": format!("{}/v1", stand_in.address()), "apiKey": "sk-stand-in"},
    }}}});
    home.write(".openclaw/openclaw.json", &config.to_string());
    Embedded { home, stand_in, _runtime: runtime }
}

#[test]
fn a_search_finds_notes_and_what_was_said() {
    let home = remembering();
    assert_eq!(places(&home, &["crab called"])[0], "MEMORY.md:3");
    assert_eq!(places(&home, &["bicycle code"])[0], format!("sessions/{MAIN}.jsonl:3"));
    let found = home.json(&["memory", "search", "crab called", "--max-results", "1"]);
    let hit = json!({
        "path": "MEMORY.md", "startLine": 3, "endLine": 3, "score": 0.92, "snippet": "- The crab is called Yabby.",
        "source": "memory",
    });
    assert_eq!(found, json!({"results": [hit]}));
    let found = home.json(&["memory", "search", "dinner?", "--max-results", "1"]);
    let hit = &found["results"][0];
    assert_eq!(
        (&hit["speaker"], &hit["sessionKey"], &hit["sessionId"], &hit["messageId"], &hit["time"]),
        (
            &json!("user"),
            &json!("agent:main:main"),
            &json!(MAIN),
            &json!("a3"),
            &json!("2026-02-03T12:00:00.000Z")
        )
    );
    assert_eq!(home.out(&["memory", "search", "zzzz", "--min-score", "0.99"]), "No matches.\n");
    assert_eq!(home.json(&["memory", "search", "zzzz"]), json!({"results": []}));
}

#[test]
fn a_search_for_people() {
    let home = remembering();
    assert_eq!(
        home.out(&["memory", "search", "crab called", "--max-results", "1"]),
        "0.920 MEMORY.md:3-3\n- The crab is called Yabby.\n"
    );
    assert_eq!(
        home.out(&["memory", "search", "dinner?", "--max-results", "1", "--around", "1"]),
        format!(
            "0.579 sessions/{MAIN}.jsonl:4-4\nuser · 2026-02-03 12:00 · agent:main:main\nassistant: Noted: the code of the bicycle is 471142.\nuser: What is for dinner?\nassistant: Soup.\n"
        )
    );
    let explained = home.out(&["memory", "search", "crab called", "--max-results", "1", "--explain"]);
    assert!(explained.lines().nth(1).unwrap().starts_with("why: words "), "{explained}");
    let explained = home.json(&["memory", "search", "crab called", "--max-results", "1", "--explain"]);
    assert!(explained["results"][0]["why"]["words"].as_f64().unwrap() > 0.0, "{explained}");
}

#[test]
fn everybody_finds_what_is_theirs() {
    let home = remembering();
    let only = |found: Vec<String>, path: &str| {
        assert!(!found.is_empty() && found.iter().all(|place| place.starts_with(path)), "{path}: {found:?}");
    };
    let (group, person) = (format!("sessions/{GROUP}"), format!("sessions/{PERSON}"));
    only(places(&home, &["bicycle", "--as", GROUP_KEY]), &group);
    only(places(&home, &["bicycle", "--as", PERSON_KEY]), &person);
    let owner = places(&home, &["bicycle", "--as", "main"]);
    assert!(owner.iter().any(|place| place.starts_with("MEMORY.md")), "{owner:?}");
    for found in [owner, places(&home, &["bicycle"])] {
        assert!(
            !found.iter().any(|place| place.starts_with(&group) || place.starts_with(&person)),
            "{found:?}"
        );
    }
    // A session that the owner names may be looked into; a platform alone opens nothing.
    only(places(&home, &["bicycle", "--session", GROUP_KEY]), &group);
    only(places(&home, &["bicycle", "--session", GROUP_KEY, "--channel", "Telegram"]), &group);
    assert_eq!(
        places(&home, &["bicycle", "--session", GROUP_KEY, "--channel", "slack"]),
        Vec::<String>::new()
    );
    // The owner is told that a group and a person said more, and how to see it; whoever looks from the group is not.
    let told = home.run(&["memory", "search", "bicycle tour"]).err;
    assert!(told.starts_with("note: not shown, since it was said to others: 2 more hits ("), "{told}");
    assert!(
        told.contains(&format!("--as {GROUP_KEY}")) && told.contains(&format!("--as {PERSON_KEY}")),
        "{told}"
    );
    assert!(told.contains("config set memory.share.groups true"), "{told}");
    let hidden = &home.json(&["memory", "search", "bicycle tour"])["hidden"];
    assert_eq!((&hidden["hits"], &hidden["groups"]), (&json!(2), &json!([GROUP_KEY])));
    assert_eq!(home.run(&["memory", "search", "bicycle tour", "--as", GROUP_KEY]).err, "");
    home.write(".openclaw/yabby-extras.json", r#"{"memory": {"share": {"groups": true}}}"#);
    let shared = places(&home, &["bicycle tour"]);
    assert!(shared[0].starts_with(&group), "{shared:?}");
}

#[test]
fn a_status_has_the_references_shape() {
    let home = remembering();
    let before = home.json(&["memory", "status"]);
    assert_eq!(before[0]["status"]["dirty"], true);
    assert_eq!(home.out(&["memory", "index"]), "Memory index updated (main).\n");
    let told = home.json(&["memory", "status", "--deep"]);
    let status = &told[0]["status"];
    assert_eq!(status.as_object().unwrap().keys().next().unwrap(), "backend");
    for (key, expected) in [
        ("backend", json!("builtin")),
        ("files", json!(5)),
        ("chunks", json!(11)),
        ("dirty", json!(false)),
        ("provider", json!("none")),
        ("requestedProvider", json!("auto")),
        ("sources", json!(["memory", "sessions"])),
        ("vector", json!({"enabled": false, "available": false})),
        ("fts", json!({"enabled": true, "available": true})),
        ("dbPath", json!(index_of(&home).display().to_string())),
    ] {
        assert_eq!(status[key], expected, "{key}: {status}");
    }
    assert_eq!(told[0]["agentId"], "main");
    assert_eq!(told[0]["embeddingProbe"]["ok"], false);
    assert_eq!(told[0]["scan"]["totalFiles"], 5);
    let own = &told[0]["recall"];
    assert_eq!(
        (&own["notes"], &own["conversations"], &own["messages"], &own["sessions"]),
        (&json!(2), &json!(3), &json!(8), &json!(3))
    );
    let stats = home.json(&["memory", "stats"]);
    assert_eq!((&stats[0]["totalChunks"], &stats[0]["totalSessions"]), (&json!(11), &json!(3)));
    assert!(home.out(&["memory", "stats"]).contains("\nChunks: 11\nSessions: 3\n"));
}

#[test]
fn a_status_for_people() {
    let home = remembering();
    home.out(&["memory", "index"]);
    let expected = "Memory Search (main)
Provider: none (requested: auto)
Model: words
Sources: memory, sessions
Indexed: 5/5 files · 11 chunks
Dirty: no
Store: ~/.openclaw/recall/main.sqlite
Workspace: ~/.openclaw/workspace
By source:
  memory · 2/2 files · 3 chunks
  sessions · 3/3 files · 8 chunks
Vector: disabled
FTS: ready
Embedding cache: enabled (0 entries)
Batch: enabled (failures 0/2)
Recall index: ~/.openclaw/recall/main.sqlite
Recall: 2 notes · 3 conversations · 8 messages · 3 sessions
Recall embedded: no, found by words

";
    assert_eq!(home.out(&["memory", "status"]), expected);
    let nobodys = home.out(&["memory", "status", "--agent", "ghost"]);
    assert!(
        nobodys.contains("\nIssues:\n  memory directory missing (~/.openclaw/workspace-ghost/memory)\n"),
        "{nobodys}"
    );
}

#[test]
fn lines_of_notes_and_conversations_are_read() {
    let home = remembering();
    assert_eq!(
        home.out(&["memory", "get", "MEMORY.md", "--from", "3", "--lines", "1"]),
        "- The crab is called Yabby.\n"
    );
    let note = home.json(&["memory", "get", "memory/2026-02-03.md"]);
    assert_eq!(
        note,
        json!({"text": "# 2026-02-03\n\n- The dentist is at ten.\n", "path": "memory/2026-02-03.md"})
    );
    let group = format!("sessions/{GROUP}.jsonl");
    assert_eq!(
        home.out(&["memory", "get", &group, "--from", "2", "--lines", "1"]),
        "Anna: the bicycle tour starts at nine\n"
    );
    assert_eq!(
        home.refusal(&["memory", "get", "../openclaw.json"]),
        "Memory get failed: ../openclaw.json is not part of the memory: MEMORY.md, memory/<name>.md, a file of memorySearch.extraPaths, or sessions/<id>.jsonl"
    );
    assert!(
        home.refusal(&["memory", "get", "memory/none.md"])
            == "Memory get failed: there is no memory/none.md in ~/.openclaw/workspace"
    );
    assert!(home.refusal(&["memory", "get", "sessions/none.jsonl"]).starts_with("Memory get failed: "));
}

#[test]
fn what_is_added_is_found_at_once() {
    let home = remembering();
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let place = format!("memory/{today}.md");
    assert_eq!(
        home.out(&["memory", "add", "The spare key\nis with Ann"]),
        format!("Noted in {place}:3 (~/.openclaw/workspace).\n")
    );
    assert_eq!(home.json(&["memory", "add", " Milk is out "]), json!({"path": place, "line": 5}));
    let file = home.path().join(".openclaw/workspace").join(&place);
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        format!("# {today}\n\n- The spare key\n  is with Ann\n- Milk is out\n")
    );
    // What stands there without an end is not run into.
    fs::write(&file, "by hand").unwrap();
    assert_eq!(home.json(&["memory", "add", "again"])["line"], 2);
    assert_eq!(fs::read_to_string(&file).unwrap(), "by hand\n- again\n");
    home.out(&["memory", "add", "The zebra is striped"]);
    assert_eq!(places(&home, &["zebra", "--max-results", "1"]), [format!("{place}:3")]);
    assert_eq!(home.refusal(&["memory", "add", "  "]), "There is nothing to note.");
}

#[test]
fn an_agent_without_memory_says_so() {
    let home = remembering();
    home.write(".openclaw/openclaw.json", r#"{"agents":{"defaults":{"memorySearch":{"enabled":false}}}}"#);
    for arguments in [&["status"][..], &["index"], &["search", "x"], &["get", "MEMORY.md"]] {
        assert_eq!(
            home.out(&[&["memory"], arguments].concat()),
            "Memory search disabled.\n",
            "{arguments:?}"
        );
    }
    assert_eq!(home.json(&["memory", "search", "x"]), json!({"results": [], "disabled": true}));
    assert_eq!(home.refusal(&["memory", "add", "x"]), "Memory search disabled.");
    assert_eq!(home.refusal(&["memory", "forget", "MEMORY.md:1", "--yes"]), "Memory search disabled.");
    assert!(!index_of(&home).exists());
}

#[test]
fn an_index_that_is_gone_or_damaged_is_built_again() {
    let home = remembering();
    let asked = ["crab called", "--max-results", "1"];
    places(&home, &asked);
    fs::remove_dir_all(index_of(&home).parent().unwrap()).unwrap();
    assert_eq!(places(&home, &asked), ["MEMORY.md:3"]);
    // From its first byte on, and somewhere in the middle.
    fs::write(index_of(&home), "this is no index ".repeat(1000)).unwrap();
    assert_eq!(places(&home, &asked), ["MEMORY.md:3"]);
    let aside = |home: &Home| {
        let files = fs::read_dir(index_of(home).parent().unwrap()).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| name.contains(".damaged-") && name.ends_with(|c: char| c.is_ascii_digit()))
            .count()
    };
    assert_eq!(aside(&home), 1);
    let mut bytes = fs::read(index_of(&home)).unwrap();
    bytes[4096..].fill(0xA5);
    fs::write(index_of(&home), &bytes).unwrap();
    let told = home.run(&["memory", "search", "crab called", "--max-results", "1"]);
    assert_eq!((told.code, told.out.lines().next()), (0, Some("0.920 MEMORY.md:3-3")), "{told:?}");
    assert_eq!(aside(&home), 2);
    assert_eq!(places(&home, &asked), ["MEMORY.md:3"]);
}

#[test]
fn an_index_is_built_anew_on_request() {
    let home = remembering();
    home.out(&["memory", "index"]);
    let before = home.json(&["memory", "status"]);
    // Whose an old transcript is, no file says.
    fs::write(home.store(), json!({"agent:main:main": {"sessionId": MAIN, "updatedAt": 1}}).to_string())
        .unwrap();
    assert_eq!(home.out(&["memory", "index", "--force"]), "Memory index updated (main).\n");
    let after = home.json(&["memory", "status"]);
    assert_eq!(before[0]["recall"], after[0]["recall"]);
    let found = places(&home, &["bicycle"]);
    assert!(!found.iter().any(|place| place.contains(GROUP)), "{found:?}");
    let folder = index_of(&home);
    let files = fs::read_dir(folder.parent().unwrap()).unwrap();
    let drafts = files.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().contains(".tmp-"));
    assert_eq!(drafts.count(), 0);
    let told = home.out(&["memory", "index", "--verbose"]);
    assert!(told.starts_with("Memory Index (main)\nProvider: none (requested: auto)\n"), "{told}");
}

/// Whether the words are in any file of a folder.
fn is_anywhere(folder: &std::path::Path, words: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(is_anywhere(&entry.path(), words));
        } else if String::from_utf8_lossy(&fs::read(entry.path()).unwrap()).contains(words) {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

#[test]
fn what_is_forgotten_leaves_no_trace() {
    let Embedded { home, stand_in, _runtime } = embedded();
    home.out(&["memory", "index"]);
    assert!(is_anywhere(home.path(), "471142").len() >= 3, "the transcript and both indexes");
    let shown = home.out(&["memory", "forget", "--matching", "471142", "--dry-run"]);
    assert!(shown.starts_with("Would be forgotten: 2 messages.\n"), "{shown}");
    let refused = home.refusal(&["memory", "forget", "--matching", "471142"]);
    assert!(refused.contains("--yes"), "{refused}");
    let told = home.out(&["memory", "forget", "--matching", "471142", "--yes"]);
    assert!(told.contains("\nNo trace left: "), "{told}");
    assert_eq!(is_anywhere(home.path(), "471142"), Vec::<String>::new());
    // The tree is as it was.
    let lines = fs::read_to_string(home.transcript(MAIN)).unwrap();
    let entries: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(entries[1]["message"], json!({"role": "user", "content": "[forgotten]"}));
    assert_eq!((&entries[2]["id"], &entries[2]["parentId"]), (&json!("a2"), &json!("a1")));
    assert_eq!(home.complaints_of_the_doctor(), Vec::<String>::new());
    // The rest is found, and nothing else is asked for again.
    let asked = stand_in.asked().len();
    home.out(&["memory", "index"]);
    let texts: Vec<Value> =
        stand_in.asked()[asked..].iter().map(|asked| asked.body["input"].clone()).collect();
    assert!(!texts.iter().any(|texts| texts.to_string().contains("dentist")), "{texts:?}");
    assert!(places(&home, &["dinner"]).contains(&format!("sessions/{MAIN}.jsonl:4")));
    assert_eq!(is_anywhere(home.path(), "471142"), Vec::<String>::new());
    let vectors = |home: &Home| {
        let index = rusqlite::Connection::open(index_of(home)).unwrap();
        index.query_row("SELECT count(*) FROM yabby_embeddings", [], |row| row.get::<_, u32>(0)).unwrap()
    };
    // Two messages of the first conversation, two of each other one, and the three parts of the notes.
    assert_eq!(vectors(&home), 9);
}

#[test]
fn lines_and_single_messages_are_forgotten() {
    let home = remembering();
    home.out(&["memory", "index"]);
    let told = home.out(&["memory", "forget", "memory/2026-02-03.md:3", "--yes"]);
    let (done, proof) = told.split_at(told.find("No trace left: ").unwrap());
    assert_eq!(done, "Forgotten: 1 line of notes.\n  memory/2026-02-03.md:3 - The dentist is at ten.\n");
    assert!(proof.ends_with(" files searched, byte by byte.\n"), "{proof}");
    assert_eq!(is_anywhere(home.path(), "dentist"), Vec::<String>::new());
    assert_eq!(home.json(&["memory", "get", "memory/2026-02-03.md"])["text"], "# 2026-02-03\n\n");
    let told = home.json(&["memory", "forget", "--message", &format!("{GROUP}/b1"), "--yes"]);
    assert_eq!((&told["noTraceLeft"], &told["traces"]), (&json!(true), &json!([])));
    assert_eq!(told["forgotten"][0]["messageId"], "b1");
    // A place that a search told.
    let place = format!("sessions/{PERSON}.jsonl:2-2");
    assert_eq!(home.json(&["memory", "forget", &place, "--yes"])["noTraceLeft"], true);
    assert_eq!(places(&home, &["bicycle", "--as", PERSON_KEY]), Vec::<String>::new());
    // What stays behind elsewhere is told.
    home.write(
        ".openclaw/agents/main/sessions/old.jsonl.deleted.2026-02-03T12-00-00.000Z",
        "What is for dinner?\n",
    );
    let entries = [
        message("a3", "user", "What is for dinner?"),
        json!({"type": "compaction", "id": "s", "summary": "They asked: What is for dinner?"}),
    ];
    home.say(MAIN, &entries);
    let told = home.json(&["memory", "forget", "--message", &format!("{MAIN}/a3"), "--yes"]);
    let traces: Vec<(&Value, &Value)> =
        told["traces"].as_array().unwrap().iter().map(|trace| (&trace["line"], &trace["what"])).collect();
    let away = json!("a line, in a copy that was put away");
    assert_eq!(traces, [(&json!(3), &json!("compaction")), (&json!(1), &away)], "{told}");
    let table = [
        (&["MEMORY.md:99"][..], "Memory forget failed: MEMORY.md has 4 lines only"),
        (&["../x.md:1"], "Memory forget failed: ../x.md is not part of the memory"),
        (
            &["--matching", "ab"],
            "Memory forget failed: \"ab\" is in too many texts; give at least 3 characters",
        ),
    ];
    for (arguments, expected) in table {
        assert_eq!(home.refusal(&[&["memory", "forget", "--yes"], arguments].concat()), expected);
    }
    assert_eq!(home.out(&["memory", "forget", "--matching", "nowhere", "--yes"]), "No matches.\n");
}

#[test]
fn what_nobody_has_answered_is_forgotten_too() {
    let home = remembering();
    home.say("waiting", &[message("d1", "user", "The alarm code is 998877")]);
    let waits = home.sessions().join("waiting.jsonl.journal");
    fs::rename(home.transcript("waiting"), &waits).unwrap();
    let told = home.json(&["memory", "forget", "--matching", "998877", "--yes"]);
    assert_eq!(
        (&told["forgotten"][0]["messageId"], &told["noTraceLeft"]),
        (&json!("d1"), &json!(true)),
        "{told}"
    );
    assert!(fs::read_to_string(&waits).unwrap().contains("[forgotten]"));
}

#[test]
fn nothing_is_half_forgotten_while_somebody_talks() {
    let home = remembering();
    home.write(".openclaw/workspace/memory/code.md", "- 471142\n");
    let held = Held::transcript(&home, MAIN);
    let refused = home.refusal(&["memory", "forget", "--matching", "471142", "--yes"]);
    assert!(refused.starts_with("Memory forget failed: ") && refused.contains(".lock"), "{refused}");
    assert_eq!(home.out(&["memory", "get", "memory/code.md"]), "- 471142\n");
    drop(held);
    assert_eq!(home.json(&["memory", "forget", "--matching", "471142", "--yes"])["noTraceLeft"], true);
}

#[test]
fn a_provider_that_both_know_keeps_both_indexes() {
    let Embedded { home, stand_in, _runtime } = embedded();
    home.out(&["memory", "index", "--agent", "main"]);
    let told = home.json(&["memory", "status", "--index"]);
    let status = &told[0]["status"];
    assert_eq!(
        (&status["provider"], &status["files"], &status["dirty"]),
        (&json!("openai"), &json!(5), &json!(false))
    );
    assert_eq!(status["vector"]["available"], true);
    assert_eq!(told[0]["embeddingProbe"], json!({"ok": true}));
    assert_eq!(told[0]["recall"]["embedded"], json!({"done": 11, "all": 11}));
    assert!(home.path().join(".openclaw/memory/main.sqlite").exists());
    // The reference's ranking, where it is asked for.
    home.write(".openclaw/yabby-extras.json", r#"{"memory": {"ranking": "compat"}}"#);
    let found = home.json(&["memory", "search", "crab called Yabby", "--min-score", "0"]);
    let hit = &found["results"][0];
    assert_eq!(
        (&hit["path"], &hit["startLine"], &hit["endLine"]),
        (&json!("MEMORY.md"), &json!(1), &json!(5))
    );
    assert_eq!(hit.as_object().unwrap().len(), 6);
    let refused = home.refusal(&["memory", "search", "x", "--as", "main"]);
    assert!(refused.starts_with("Memory search failed: --as needs yabby's own ranking"), "{refused}");
    // Who does not answer is told, and what is found by words is found.
    home.write(".openclaw/workspace/memory/new.md", "The new note about whales");
    stand_in.will(vec![Trouble::Status(401, "no such key".to_owned()); 4]);
    let refused = home.refusal(&["memory", "index"]);
    assert!(refused.starts_with("Memory index failed (main): openai embeddings failed: 401"), "{refused}");
}

#[test]
fn without_a_key_for_the_provider_words_are_found() {
    let home = remembering();
    home.write(
        ".openclaw/openclaw.json",
        r#"{"agents":{"defaults":{"memorySearch":{"provider":"openai"}}}}"#,
    );
    let refused = home.refusal(&["memory", "index"]);
    assert!(refused.starts_with("Memory index failed (main): No API key found"), "{refused}");
    let told = home.run(&["memory", "search", "crab called", "--max-results", "1"]);
    assert_eq!((told.code, told.out.as_str()), (0, "0.920 MEMORY.md:3-3\n- The crab is called Yabby.\n"));
    assert!(told.err.starts_with("note: found by words only: No API key found"), "{}", told.err);
}

#[test]
fn a_model_that_is_not_one_is_refused() {
    let home = remembering();
    assert_eq!(home.json(&["memory", "model", "status"])["installed"], false);
    let shown = home.out(&["memory", "model", "status"]);
    assert!(shown.contains("\nInstalled: no; `yabby memory model install` brings it\n"), "{shown}");
    home.write("model.safetensors", "no weights");
    let refused = home.refusal(&["memory", "model", "install", "model.safetensors"]);
    assert!(refused.starts_with("Error: "), "{refused}");
    assert_eq!(home.out(&["memory", "model", "remove"]), "There is no model in ~/.openclaw/models/minilm.\n");
}
