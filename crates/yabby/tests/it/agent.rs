//! `yabby agent` in a pipe. What it is on a terminal is told in `terminal.rs`.

use std::fs;
use std::io::{Read as _, Write as _};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::home::{Held, Home, MAIN, Told, message};

const ASK: [&str; 5] = ["agent", "--local", "--agent", "main", "-m"];

/// Says something in the main session; what is answered.
fn ask(home: &Home, words: &str) -> String {
    home.out(&[&ASK[..], &[words]].concat())
}

/// Runs with something piped in.
fn piped(home: &Home, arguments: &[&str], input: &[u8]) -> Told {
    let mut child = started(home, arguments, Stdio::piped());
    child.stdin.take().unwrap().write_all(input).unwrap();
    told(child)
}

fn started(home: &Home, arguments: &[&str], input: Stdio) -> Child {
    let mut command = home.command(arguments);
    command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn told(child: Child) -> Told {
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Told { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

/// Everything that was remembered.
fn memory(home: &Home) -> String {
    let folder = home.path().join(".openclaw/workspace/memory");
    let files = fs::read_dir(folder).into_iter().flatten();
    files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap()).collect()
}

fn lines_of_transcripts(home: &Home) -> Vec<Value> {
    let transcripts = home.files().into_iter().filter(|name| name.ends_with(".jsonl"));
    let text: String =
        transcripts.map(|name| fs::read_to_string(home.sessions().join(name)).unwrap()).collect();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Waits until a child has taken up a message.
fn wait_until_running(home: &Home, child: &mut Child) {
    while !home.takes_a_turn() {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it was stopped");
    }
}

#[test]
fn a_new_user_gets_an_answer() {
    let home = Home::empty();
    assert!(ask(&home, "hello").starts_with("Hello!"));
    assert!(ask(&home, "remember that the spare key is with Ann").starts_with("Noted in memory/"));
    assert!(memory(&home).contains("the spare key is with Ann"));
    let recalled = ask(&home, "what do you remember about the spare key?");
    assert!(recalled.contains("with Ann"), "{recalled}");
    assert_eq!(home.json(&["sessions"])["count"], 1);
    assert_eq!(home.out(&["turns", "--all"]), "No turn is on file.\n");
    assert_eq!(home.complaints_of_the_doctor(), [""; 0]);
}

#[test]
fn the_answer_as_json_has_the_recorded_shape() {
    let home = Home::empty();
    let answer = home.json(&[&ASK[..], &["hello"]].concat());
    assert_eq!(answer["payloads"].as_array().unwrap().len(), 1);
    assert!(answer["payloads"][0]["text"].as_str().unwrap().starts_with("Hello!"));
    assert_eq!(answer["payloads"][0]["mediaUrl"], Value::Null);
    let meta = &answer["meta"];
    assert!(meta["durationMs"].is_u64() && meta["aborted"] == false, "{meta}");
    let agent = &meta["agentMeta"];
    assert_eq!((&agent["provider"], &agent["model"]), (&json!("offline"), &json!("rules")));
    let id = home.records()["agent:main:main"]["sessionId"].clone();
    assert_eq!((&agent["sessionId"], &meta["systemPromptReport"]["sessionId"]), (&id, &id));
    let usage: Vec<f64> = ["input", "output", "cacheRead", "cacheWrite", "total"]
        .iter()
        .map(|name| agent["usage"][name].as_f64().unwrap())
        .collect();
    assert!(usage[0] > 0.0 && usage[1] > 0.0 && usage[4] == usage[..4].iter().sum::<f64>(), "{usage:?}");
}

#[test]
fn a_command_line_that_cannot_be_meant_is_refused() {
    let home = Home::empty();
    let table: [(&[&str], &str); 10] = [
        (&["-m", " ", "--agent", "main"], "Error: Message (--message) is required"),
        (
            &["-m", "x", "--agent", "ghost"],
            "Error: Unknown agent id \"ghost\". Use \"yabby agents list\" to see configured agents.",
        ),
        (
            &["-m", "x", "--agent", "main", "--thinking", "lots"],
            "Error: Invalid thinking level. Use one of: off, minimal, low, medium, high.",
        ),
        (
            &["-m", "x", "--to", "+1", "--timeout", "0"],
            "Error: --timeout must be a positive integer (seconds)",
        ),
        (
            &["-m", "x", "--to", "+1", "--timeout", "-1"],
            "Error: --timeout must be a positive integer (seconds)",
        ),
        (
            &["-m", "x", "--to", "+1", "--timeout", "soon"],
            "Error: --timeout must be a positive integer (seconds)",
        ),
        (
            &["-m", "x", "--session-id", "../x"],
            "Error: \"../x\" cannot be the id of a session: it would not make a file name",
        ),
        (&[], "error: required option '-m, --message <text>' not specified"),
        (&["--agent", "main"], "error: required option '-m, --message <text>' not specified"),
        (&["-m"], "error: option '-m, --message <text>' argument missing"),
    ];
    for (arguments, refusal) in table {
        assert_eq!(home.refusal(&[&["agent", "--local"], arguments].concat()), refusal, "{arguments:?}");
    }
    assert_eq!(home.files(), [""; 0], "nothing was begun");
}

#[test]
fn what_is_piped_in_is_said() {
    let home = Home::empty();
    let answer = piped(&home, &["agent", "--local"], b"remember that tea is at five\n");
    assert!(answer.code == 0 && answer.out.starts_with("Noted in memory/"), "{answer:?}");
    assert!(home.records()["agent:main:main"].is_object(), "without a name it is the main session");
    for (input, refusal) in [
        (&b" \n"[..], "error: required option '-m, --message <text>' not specified\n"),
        (
            b"tea \xff",
            "Error: what is piped in is not UTF-8 text (byte 5); convert it first, say with iconv\n",
        ),
    ] {
        let told = piped(&home, &["agent", "--local"], input);
        assert_eq!((told.code, told.out.as_str(), told.err.as_str()), (1, "", refusal));
    }
    let told = piped(&home, &ASK, b"");
    assert_eq!(told.code, 1, "a message that is missing is not read from the pipe: {told:?}");
}

#[test]
fn a_huge_message_is_answered_or_refused_in_words() {
    let home = Home::empty();
    let line = "the quick brown fox jumps over the lazy dog and back again \n";
    let told = piped(&home, &["agent", "--local"], line.repeat(1_000_000 / line.len()).as_bytes());
    assert_eq!(told.code, 1, "{told:?}");
    assert!(told.out.is_empty() && told.err.contains("too long for the model"), "{told:?}");
    assert!(ask(&home, "/new").contains("New session started"));
}

#[test]
fn a_session_is_named_by_its_id() {
    let home = Home::with(&json!({
        "agent:main:telegram:dm:4": {"sessionId": MAIN, "updatedAt": 1},
        "agent:main:main": {"sessionId": "22222222", "updatedAt": 1},
    }));
    home.say(MAIN, &[message("1", "user", "long ago"), message("2", "assistant", "indeed")]);
    home.out(&["agent", "--local", "--session-id", MAIN, "-m", "hello"]);
    let text = fs::read_to_string(home.transcript(MAIN)).unwrap();
    assert!(text.contains("hello"), "an old conversation goes on: {text}");
    home.out(&["agent", "--local", "--session-id", "Fresh-1", "-m", "hello"]);
    assert_eq!(home.records()["agent:main:fresh-1"]["sessionId"], "Fresh-1");
    home.out(&["agent", "--local", "--session-id", "Fresh-1", "-m", "hello"]);
    assert!(home.files().contains(&"Fresh-1.jsonl".to_owned()));
    let refusal = home.refusal(&["agent", "--local", "--session-id", "main", "-m", "hello"]);
    assert!(refusal.contains("is the name of another session, agent:main:main (id 22222222)"), "{refusal}");
    home.out(&["agent", "--local", "--to", "+15550100", "-m", "hello"]);
    assert_ne!(
        home.records()["agent:main:main"]["sessionId"],
        "22222222",
        "everybody's session is the main one"
    );
}

#[test]
fn levels_are_set_for_the_session() {
    let home = Home::empty();
    home.out(&[&ASK[..], &["hello", "--thinking", "high", "--verbose", "full"]].concat());
    let record = home.records()["agent:main:main"].clone();
    assert_eq!((&record["thinkingLevel"], &record["verboseLevel"]), (&json!("high"), &json!("full")));
    home.out(&[&ASK[..], &["hello", "--thinking", "off"]].concat());
    assert_eq!(home.records()["agent:main:main"]["thinkingLevel"], Value::Null);
    let odd = home.run(&[&ASK[..], &["hello", "--verbose", "loud"]].concat());
    assert_eq!(
        (odd.code, odd.err.as_str()),
        (0, "note: --verbose takes on, full or off; \"loud\" changes nothing\n")
    );
    assert_eq!(home.records()["agent:main:main"]["verboseLevel"], "full");
}

#[test]
fn chat_commands_are_understood() {
    let home = Home::empty();
    ask(&home, "hello");
    let first = home.records()["agent:main:main"]["sessionId"].clone();
    assert!(ask(&home, "/status").contains("Session: agent:main:main"));
    assert!(ask(&home, "/new").contains("New session started"));
    assert_ne!(home.records()["agent:main:main"]["sessionId"], first);
}

#[test]
fn a_model_that_is_not_there_is_told_with_a_remedy() {
    let home = Home::empty();
    home.write(".openclaw/openclaw.json", r#"{"agents":{"defaults":{"model":{"primary":"acme/large"}}}}"#);
    let refusal = home.refusal(&[&ASK[..], &["hello"]].concat());
    assert!(refusal.starts_with("Error: acme/large cannot be reached"), "{refusal}");
    assert!(
        refusal.ends_with("`yabby config set agents.defaults.model.primary offline/rules`."),
        "{refusal}"
    );
    let json = home.run(&[&ASK[..], &["hello", "--json"]].concat());
    let answer: Value = serde_json::from_str(&json.out).unwrap();
    assert!(json.code == 1 && answer["payloads"][0]["isError"] == true, "{json:?}");
    home.out(&["config", "set", "agents.defaults.model.primary", "offline/rules"]);
    assert!(ask(&home, "hello").starts_with("Hello!"));
}

#[test]
fn what_is_damaged_is_told_and_left_alone() {
    let home = Home::empty();
    fs::write(home.store(), "{\"agent:main:main\": {").unwrap();
    for arguments in [&["--agent", "main"][..], &["--session-id", "some"], &["--to", "+1"]] {
        let refusal = home.refusal(&[&["agent", "--local", "-m", "hello"], arguments].concat());
        assert!(refusal.contains("is damaged") && refusal.contains("yabby doctor --fix"), "{refusal}");
    }
    assert_eq!(fs::read_to_string(home.store()).unwrap(), "{\"agent:main:main\": {");
    assert_eq!(home.out(&["turns", "--all"]), "No turn is on file.\n", "whoever asked was told");
    home.write(".openclaw/openclaw.json", r#"{"agents": 3}"#);
    assert!(home.refusal(&[&ASK[..], &["hello"]].concat()).contains("Config invalid"));
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    for blocked in ["turns", "agents"] {
        let home = Home::empty();
        let folder = home.path().join(".openclaw").join(blocked);
        let _ = fs::remove_dir_all(&folder);
        fs::write(&folder, "in the way").unwrap();
        let refusal = home.refusal(&[&ASK[..], &["hello"]].concat());
        assert!(refusal.starts_with("Error: cannot ") && refusal.contains(blocked), "{refusal}");
    }
}

#[test]
fn nobody_who_stops_reading_sees_a_complaint() {
    let home = Home::empty();
    for format in [&[][..], &["--json"]] {
        let mut child = started(&home, &[&ASK[..], &["help"], format].concat(), Stdio::null());
        drop(child.stdout.take());
        let mut complaint = String::new();
        child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
        assert_eq!((child.wait().unwrap().code(), complaint.as_str()), (Some(0), ""));
    }
}

#[test]
fn several_at_once_in_one_session_wait_for_each_other() {
    let home = Home::empty();
    ask(&home, "hello");
    let children: Vec<Child> = (0..4)
        .map(|n| {
            started(&home, &[&ASK[..], &[&format!("remember that number {n} is up")]].concat(), Stdio::null())
        })
        .collect();
    for child in children {
        let told = told(child);
        assert!(told.code == 0 && told.out.starts_with("Noted in memory/"), "{told:?}");
    }
    for n in 0..4 {
        assert_eq!(memory(&home).matches(&format!("number {n} is up")).count(), 1, "{}", memory(&home));
    }
    let said = home.json(&["history", "main"])["messages"].as_array().unwrap().len();
    assert!(said >= 2 + 4 * 3, "all of it is one conversation: {said} messages");
}

#[test]
fn a_message_whose_process_was_killed_is_answered_by_the_next() {
    let home = Home::empty();
    ask(&home, "hello");
    let held = Held::transcript(&home, &home.session_id("agent:main:main"));
    let mut child = started(&home, &[&ASK[..], &["remember that the lamp is green"]].concat(), Stdio::null());
    wait_until_running(&home, &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    drop(held);
    assert!(!memory(&home).contains("lamp"));
    assert!(home.out(&["turns"]).contains("finished when yabby next takes turns"));

    let next = home.run(&[&ASK[..], &["thanks"]].concat());
    assert_eq!(next.code, 0, "{next:?}");
    assert!(next.err.starts_with("Finishing a message that was interrupted.\nNoted in memory/"), "{next:?}");
    assert_eq!(memory(&home).matches("the lamp is green").count(), 1);
    let is_question = |line: &&Value| line["message"]["role"] == "user";
    let lines = lines_of_transcripts(&home);
    let asked: Vec<String> = lines.iter().filter(is_question).map(ToString::to_string).collect();
    assert_eq!(asked.iter().filter(|line| line.contains("the lamp is green")).count(), 1, "{asked:#?}");
    assert_eq!(home.out(&["turns", "--all"]), "No turn is on file.\n");
    assert_eq!(home.run(&[&ASK[..], &["thanks"]].concat()).err, "", "once is enough");
}

#[test]
fn an_interrupt_stops_the_run_and_a_second_one_the_waiting() {
    let interrupt = |child: &Child| {
        let pid = rustix::process::Pid::from_child(child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    };
    let home = Home::empty();
    ask(&home, "hello");
    let held = Held::transcript(&home, &home.session_id("agent:main:main"));
    let mut child = started(&home, &[&ASK[..], &["remember that the lamp is red"]].concat(), Stdio::null());
    wait_until_running(&home, &mut child);
    // The first may come before anybody listens for it, which ends the program as well.
    while child.try_wait().unwrap().is_none() {
        interrupt(&child);
        std::thread::yield_now();
    }
    drop(held);
    let next = home.run(&[&ASK[..], &["thanks"]].concat());
    assert_eq!(next.code, 0, "{next:?}");
    assert_eq!(home.out(&["turns", "--all"]), "No turn is on file.\n");
}

#[test]
fn what_is_typed_or_piped_is_kept_to_the_letter() {
    let home = Home::empty();
    const WORDS: &str = r#"What is C:\new\notes.txt? printf("a\n")"#;
    ask(&home, WORDS);
    piped(&home, &["agent", "--local", "--agent", "main"], WORDS.as_bytes());
    let lines = lines_of_transcripts(&home);
    let kept = lines.iter().filter(|line| line["message"]["role"] == "user");
    let texts: Vec<&str> =
        kept.map(|line| line["message"]["content"][0]["text"].as_str().unwrap_or_default()).collect();
    assert_eq!(texts.len(), 2, "{lines:?}");
    assert!(texts.iter().all(|text| text.contains(WORDS)), "{texts:?}");
}
