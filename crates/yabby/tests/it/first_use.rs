//! What somebody sees who has just installed yabby: a home without a folder, and no gateway.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::gateway::{Gateway, free_port};
use crate::home::{Home, Told, YABBY};

/// A home without any folder of ours or of the reference. Its gateway would be where nobody listens.
fn new_home() -> (Home, u16) {
    let home = Home::empty();
    fs::remove_dir_all(home.path().join(".openclaw")).unwrap();
    (home, free_port())
}

fn run(home: &Home, port: u16, arguments: &[&str]) -> Told {
    let mut command = home.command(arguments);
    command.env("OPENCLAW_GATEWAY_PORT", port.to_string());
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Told { code: output.status.code().unwrap(), out: text(output.stdout), err: text(output.stderr) }
}

fn config(home: &Home) -> Value {
    serde_json::from_str(&fs::read_to_string(home.path().join(".yabby/yabby.json")).unwrap()).unwrap()
}

#[test]
fn without_a_gateway_every_command_says_so_in_one_line() {
    let (home, port) = new_home();
    let told = run(&home, port, &["agent", "-m", "hi"]);
    assert_eq!((told.code, told.err.as_str()), (0, "no gateway running; answering here\n"));
    assert!(told.out.contains("Hello!"), "{told:?}");
    let commands: [&[&str]; 7] = [
        &["health"],
        &["devices", "list"],
        &["system", "presence"],
        &["gateway", "health"],
        &["gateway", "call", "health"],
        &["logs"],
        &["message", "send", "--channel", "webchat", "-t", "agent:main:main", "-m", "x"],
    ];
    for command in commands {
        let told = run(&home, port, command);
        assert_eq!(told.code, 1, "{command:?}");
        assert_eq!(told.err, "no gateway running; start one: yabby gateway\n", "{command:?}");
    }
    let told = run(&home, port, &["gateway", "status"]);
    assert!(told.err.contains("no gateway running; start one: yabby gateway\n"), "{told:?}");
    assert!(!format!("{told:?}").contains("1006"), "{told:?}");
    let told = run(&home, port, &["channels", "status"]);
    assert_eq!(told.err, "no gateway running; start one: yabby gateway\n");
}

#[test]
fn programs_read_what_the_reference_says() {
    let (home, port) = new_home();
    for command in [&["health", "--json"][..], &["agent", "-m", "hi", "--json"]] {
        let told = run(&home, port, command);
        assert!(told.err.contains("gateway closed (1006 abnormal closure"), "{command:?}: {told:?}");
    }
    // So does a script on a folder of the reference.
    let home = Home::empty();
    let told = run(&home, port, &["health"]);
    assert!(told.err.starts_with("Error: gateway closed (1006"), "{told:?}");
}

#[test]
fn the_only_agent_is_meant_without_a_name() {
    let (home, port) = new_home();
    assert_eq!(run(&home, port, &["agent", "-m", "Remember that the key is with Ann."]).code, 0);
    let listed: Value = serde_json::from_str(&run(&home, port, &["sessions", "--json"]).out).unwrap();
    assert_eq!(listed["sessions"][0]["key"], "agent:main:main");
    run(&home, port, &["config", "set", "agents.list", r#"[{"id": "main"}, {"id": "ops"}]"#, "--json"]);
    let told = run(&home, port, &["agent", "-m", "hi"]);
    assert!(told.err.ends_with("Error: Pass --to <E.164>, --session-id, or --agent to choose a session\n"));
}

#[test]
fn a_gateway_starts_after_setup_and_on_a_fresh_folder() {
    let (home, port) = new_home();
    assert_eq!(run(&home, port, &["setup"]).code, 0);
    let written = config(&home);
    assert_eq!(written["gateway"]["mode"], "local");
    let token = written["gateway"]["auth"]["token"].as_str().unwrap().to_owned();
    assert!(token.len() >= 32, "{token}");
    assert_eq!(run(&home, port, &["setup"]).code, 0);
    assert_eq!(config(&home)["gateway"]["auth"]["token"], token.as_str(), "a token is made once");
    for (home, arguments) in [(home, &["gateway", "run"][..]), (new_home().0, &["gateway"])] {
        let mut command = home.command(arguments);
        command.env("OPENCLAW_GATEWAY_PORT", port.to_string());
        let mut gateway = Gateway::run(&mut command, port);
        let told = run(&home, port, &["health"]);
        assert_eq!(told.code, 0, "{told:?}");
        assert!(told.out.contains("Heartbeat: not in yabby yet; configured: 30m (main)"), "{told:?}");
        gateway.signal(Signal::TERM);
        assert_eq!(gateway.ended(), Some(0));
    }
    let (home, port) = new_home();
    let told = run(&home, port, &["gateway", "run"]);
    assert!(told.err.contains("Missing config. Run `yabby setup`"), "{told:?}");
}

#[test]
fn commands_of_the_reference_that_are_missing_are_named() {
    let (home, port) = new_home();
    let table: [(&[&str], &str); 5] = [
        (&["cron"], "error: 'cron' is not in yabby yet\n"),
        (&["cron", "list", "--json"], "error: 'cron' is not in yabby yet\n"),
        (&["onboard"], "error: 'onboard' is not in yabby yet; see `yabby setup`\n"),
        (&["channels", "add"], "error: 'channels add' is not in yabby yet\n"),
        (&["frobnicate"], "error: unknown command 'frobnicate'\n"),
    ];
    for (arguments, expected) in table {
        let told = run(&home, port, arguments);
        assert_eq!((told.code, told.err.as_str()), (1, expected), "{arguments:?}");
    }
}

#[test]
fn the_status_promises_only_what_is_there() {
    let (home, port) = new_home();
    let told = run(&home, port, &["status"]).out;
    assert!(!told.contains("Dashboard") && !told.contains("ECONNREFUSED"), "{told}");
    assert!(told.contains("no gateway running"), "{told}");
    assert!(told.contains("not in yabby yet; configured: 30m (main)"), "{told}");
    // The model that answers, and its window, as everywhere else.
    assert!(told.contains("default rules (32k ctx)"), "{told}");
    let listed = run(&home, port, &["models", "list"]).out;
    assert!(listed.contains(" 32k "), "{listed}");
}

#[test]
fn a_port_that_no_machine_has_is_refused() {
    let (home, port) = new_home();
    let told = run(&home, port, &["config", "set", "gateway.port", "70000"]);
    assert_eq!(
        (told.code, told.err.as_str()),
        (
            1,
            "Error: gateway.port: 70000 is not allowed: Too big: expected number to be <=65535 (allowed: a whole number from 1 to 65535)\n"
        )
    );
    home.write(".yabby/yabby.json", r#"{"gateway": {"mode": "local", "port": 70000}}"#);
    let told = run(&home, port, &["gateway"]);
    assert!(
        told.err.contains("yabby.json:1: gateway.port: Too big") && told.err.contains("found 70000"),
        "{told:?}"
    );
}

#[test]
fn a_variable_that_names_no_port_is_refused() {
    let (home, _) = new_home();
    for port in ["70000", "0", "abc"] {
        let told = home.command(&["gateway"]).env("OPENCLAW_GATEWAY_PORT", port).output().unwrap();
        let told = String::from_utf8(told.stderr).unwrap();
        let expected =
            format!("OPENCLAW_GATEWAY_PORT is no port: {port} (allowed: a whole number from 1 to 65535)");
        assert!(told.contains(&expected), "{told}");
        assert!(!home.path().join(".yabby/yabby.json").exists(), "{told}");
    }
    // Of a key that nobody knows, the value says nothing.
    let told = run(&home, 1, &["config", "set", "foo.bar", "1"]).err;
    assert!(told.starts_with("Error: Unrecognized key: \"foo\" (allowed: one of: meta, "), "{told}");
    let told = run(&home, 1, &["config", "set", "gateway.prot", "1"]).err;
    assert_eq!(told, "Error: gateway: Unrecognized key: \"prot\" (allowed: port, among others)\n");
    let told = run(&home, 1, &["config", "set", "gateway.port", "abc"]);
    assert!(told.err.contains("(allowed: a whole number from 1 to 65535)"), "{told:?}");
}

#[test]
fn another_program_on_the_port_is_no_gateway() {
    let (home, _) = new_home();
    let port = refusing_service("404 Not Found");
    let absent = format!("no gateway running: what listens at ws://127.0.0.1:{port} is another program");
    let told = run(&home, port, &["agent", "-m", "hi"]);
    assert_eq!((told.code, told.err), (0, format!("{absent}; answering here\n")));
    for command in [&["health"][..], &["devices", "list"], &["logs"]] {
        let told = run(&home, port, command);
        let remedy = "; choose another port: yabby config set gateway.port PORT\n";
        assert_eq!((told.code, told.err), (1, format!("{absent}{remedy}")), "{command:?}");
    }
    let told = run(&home, port, &["status"]).out;
    assert!(told.contains(&absent) && !told.contains("1006"), "{told}");
    let told = run(&home, port, &["gateway", "status"]);
    assert!(!format!("{told:?}").contains("1006") && !told.out.contains("Dashboard"), "{told:?}");
}

#[test]
fn nothing_that_is_not_there_is_told_of_in_riddles() {
    let (home, port) = new_home();
    let told = run(&home, port, &["memory", "get", "MEMORY.md"]).err;
    assert!(told.contains("there is no MEMORY.md in ~/.yabby/workspace"), "{told}");
    let told = run(&home, port, &["usage", "--since", "tomorrow"]).err;
    assert!(told.contains("tomorrow is in the future."), "{told}");
    let told = run(&home, port, &["pairing", "list"]).err;
    assert_eq!(told, "Error: no channels are set up, so that nobody can ask to be let in\n");
    let told = run(&home, port, &["channels", "list"]).out;
    assert!(
        told.starts_with("Chat channels:\n- none are set up; yabby itself has no channels yet\n"),
        "{told}"
    );
    // A gateway on a fresh folder makes a secret of its own.
    let told = run(&home, port, &["status"]).out;
    assert!(told.contains("0 critical"), "{told}");
    // Where a repair is no help, nobody is sent back to it.
    home.write(".yabby/yabby.json", r#"{"gateway": {"bind": "x"}}"#);
    let told = run(&home, port, &["doctor", "--fix"]).out;
    assert!(told.contains("Damage remains: what to do about it stands above."), "{told}");
}

#[test]
fn an_invalid_value_is_told_once_and_a_repair_advised_where_it_helps() {
    let (home, port) = new_home();
    home.write(".yabby/yabby.json", "{\n  \"gateway\": {\"mode\": \"local\", \"bind\": \"everywhere\"}\n}");
    let told = run(&home, port, &["sessions"]).err;
    assert_eq!(told.matches("gateway.bind").count(), 1, "{told}");
    assert!(told.contains("yabby.json:2: gateway.bind") && told.contains("found \"everywhere\""), "{told}");
    assert!(told.contains("allowed: one of: auto, lan, loopback"), "{told}");
    assert!(!told.contains("doctor --fix") && told.contains("config validate"), "{told}");
    home.write(".yabby/yabby.json", r#"{"foo": 1}"#);
    let told = run(&home, port, &["sessions"]).err;
    assert!(told.ends_with("Run: yabby doctor --fix\n"), "{told}");
    // A secret of the wrong kind is not shown.
    home.write(".yabby/yabby.json", r#"{"gateway": {"auth": {"token": 271828}}}"#);
    let told = run(&home, port, &["sessions"]).err;
    assert!(told.contains("gateway.auth.token") && !told.contains("271828"), "{told}");
}

#[test]
fn a_change_of_the_configuration_says_whether_it_applies() {
    let (home, port) = new_home();
    let set = |path: &str, value: &str| run(&home, port, &["config", "set", path, value]).out;
    assert_eq!(set("ui.seamColor", "#445566"), "Updated ui.seamColor.\n");
    let mut command = home.command(&["gateway"]);
    command.env("OPENCLAW_GATEWAY_PORT", port.to_string());
    let mut gateway = Gateway::run(&mut command, port);
    assert_eq!(set("ui.seamColor", "#445577"), "Updated ui.seamColor. The running gateway applies it now.\n");
    assert_eq!(
        set("gateway.bind", "auto"),
        "Updated gateway.bind. The running gateway restarts itself to apply it.\n"
    );
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
}

#[test]
fn a_second_gateway_is_refused_at_once() {
    let (home, port) = new_home();
    let mut command = home.command(&["gateway"]);
    command.env("OPENCLAW_GATEWAY_PORT", port.to_string());
    let mut gateway = Gateway::run(&mut command, port);
    let told = run(&home, port, &["gateway"]);
    let waited = told.err.split("lock timeout after ").nth(1).and_then(|rest| rest.split("ms").next());
    // It does not wait for one that serves: not a single of its pauses.
    assert!(waited.unwrap().parse::<u64>().unwrap() < 5000, "{told:?}");
    assert!(told.err.contains(&format!("gateway already running (pid {})", gateway.pid())), "{told:?}");
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
}

#[test]
fn a_port_that_is_taken_is_told_with_who_has_it_here() {
    let (home, port) = new_home();
    // A process that listens on the same port in a network of its own has nothing to do with it.
    let (other, _) = new_home();
    let mut elsewhere = Command::new("unshare");
    elsewhere.args(["-rn", YABBY, "gateway"]).current_dir(other.path()).env_clear();
    elsewhere.env("HOME", other.path()).env("OPENCLAW_GATEWAY_PORT", port.to_string());
    elsewhere.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let probe = Command::new("unshare").args(["-rn", "true"]).stderr(Stdio::null()).status();
    let mut elsewhere =
        probe.is_ok_and(|status| status.success()).then(|| Gateway::run(&mut elsewhere, port));
    let _here = TcpListener::bind(("127.0.0.1", port)).unwrap();
    run(&home, port, &["setup"]);
    let told = run(&home, port, &["gateway"]);
    assert!(told.err.contains(&format!("- pid {}:", std::process::id())), "{told:?}");
    if let Some(gateway) = &mut elsewhere {
        gateway.signal(Signal::TERM);
        assert_eq!(gateway.ended(), Some(0));
    }
}

#[test]
fn a_model_without_a_key_and_one_that_nobody_knows_are_told() {
    let (home, port) = new_home();
    let told = run(&home, port, &["models", "set", "anthropic/claude-opus-4-5"]);
    assert_eq!(told.code, 0);
    assert!(
        told.err.starts_with("warning: it cannot answer yet. There is no key for anthropic."),
        "{told:?}"
    );
    let told = run(&home, port, &["models", "set", "nosuch"]);
    assert!(
        told.err.starts_with("Error: There is no model \"nosuch\". `yabby models list --all`"),
        "{told:?}"
    );
    let told = run(&home, port, &["models", "set", "gpt-5-mini"]);
    assert!(told.err.contains("Did you mean openai/gpt-5-mini?"), "{told:?}");
}

#[test]
fn days_and_shells_are_understood() {
    let (home, port) = new_home();
    let told = run(&home, port, &["usage", "--since", "soon"]);
    assert!(told.err.contains("It must be a day such as 2026-02-03, today or yesterday."), "{told:?}");
    let told = run(&home, port, &["usage", "--since", "2999-01-01"]);
    assert!(told.err.contains("2999-01-01 is in the future."), "{told:?}");
    assert_eq!(run(&home, port, &["usage", "--since", "yesterday"]).code, 0);
    for (shell, begins) in [("/bin/bash", "_yabby() {"), ("/usr/bin/zsh", "#compdef yabby"), ("", "#compdef")]
    {
        let script = home.command(&["completion"]).env("SHELL", shell).output().unwrap();
        assert!(String::from_utf8(script.stdout).unwrap().starts_with(begins), "{shell}");
    }
}

#[test]
fn nothing_links_to_the_site_of_the_reference() {
    let (home, port) = new_home();
    for command in [&["gateway", "status"][..], &["channels", "list"]] {
        let told = run(&home, port, command);
        assert!(!format!("{told:?}").contains("openclaw.ai"), "{command:?}: {told:?}");
    }
}

#[test]
fn sessions_are_listed_with_labels_whole_keys_and_in_columns() {
    let (home, port) = new_home();
    let key = "agent:main:telegram:group:-1001234567890";
    let records = json!({
        "agent:main:main": {"sessionId": "5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11", "updatedAt": 2, "model": "claude-sonnet-4-5-20250929", "label": "Holiday"},
        key: {"sessionId": "6d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11", "updatedAt": 1},
    });
    home.write(".yabby/agents/main/sessions/sessions.json", &records.to_string());
    let told = run(&home, port, &["sessions"]).out;
    let lines: Vec<&str> = told.lines().skip(2).collect();
    let [heading, named, group] = lines[..] else { panic!("{told}") };
    assert!(named.contains("\"Holiday\"") && group.contains(key), "{told}");
    // Nobody has a key: the built-in model would answer.
    assert!(group.contains(" rules "), "{told}");
    let column = heading.find("Tokens").unwrap();
    for line in [named, group] {
        assert_eq!(&line[column..=column], "-", "{told}");
    }
}

#[test]
fn a_folder_of_one_program_is_not_taken_for_that_of_another() {
    let (home, port) = new_home();
    home.write(".occ/sessions/a.jsonl", "");
    home.write(".openbot/agents/default/sessions/sessions.json", "{}");
    let told = run(&home, port, &["import", "openbot", ".occ"]);
    assert_eq!(
        told.err,
        "Error: .occ is a folder of openclaudecode, not of openbot; run: yabby import openclaudecode .occ\n"
    );
    let told = run(&home, port, &["import", "openclaudecode", ".openbot"]);
    assert!(told.err.contains("is a folder of openbot, not of openclaudecode"), "{told:?}");
}

#[test]
fn defaults_that_an_edit_writes_count_as_set_by_nobody() {
    let (home, port) = new_home();
    home.write(".occ/sessions/a.jsonl", "");
    home.write(".occ/config.yaml", "gateway:\n  autoResponder:\n    maxConcurrent: 2\n");
    run(&home, port, &["config", "set", "ui.seamColor", "#445566"]);
    assert_eq!(config(&home)["agents"]["defaults"]["maxConcurrent"], 4);
    let told = run(&home, port, &["import", "openclaudecode", ".occ", "--json"]);
    let told: Value = serde_json::from_str(&told.out).unwrap();
    let settings = told["settings"].as_array().unwrap();
    assert!(settings.iter().all(|setting| setting["alreadySet"] == false), "{told}");
}

/// Answers every request with a status and nothing else, until it is dropped with its process.
fn refusing_service(status: &'static str) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = stream;
            let mut request = [0; 65_536];
            let _ = std::io::Read::read(&mut stream, &mut request);
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
            let _ = std::io::Write::write_all(&mut stream, answer.as_bytes());
        }
    });
    port
}

#[test]
fn the_log_has_a_line_for_each_turn_and_each_failure_of_a_model() {
    let (home, port) = new_home();
    let service = refusing_service("401 Unauthorized");
    let model = json!({"id": "m", "name": "M", "contextWindow": 200_000, "maxTokens": 8192, "reasoning": false,
        "input": ["text"], "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}});
    let config = json!({
        "gateway": {"mode": "local", "auth": {"token": "a-token-of-a-test-that-is-long"}},
        "models": {"providers": {"stub": {"baseUrl": format!("http://127.0.0.1:{service}"), "apiKey": "k",
            "api": "anthropic-messages", "models": [model]}}},
        "agents": {"defaults": {"model": {"primary": "stub/m"}}},
    });
    home.write(".yabby/yabby.json", &config.to_string());
    let mut command = home.command(&["gateway"]);
    command.env("OPENCLAW_GATEWAY_PORT", port.to_string());
    let mut gateway = Gateway::run(&mut command, port);
    for said in ["hello", "/model offline/rules", "hello again"] {
        run(&home, port, &["agent", "-m", said]);
    }
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.ended(), Some(0));
    let log = fs::read_to_string(home.path().join(".yabby/logs/yabby.log")).unwrap();
    let turns: Vec<&str> = log.lines().filter(|line| line.contains("turn finished")).collect();
    assert_eq!(turns.len(), 3, "{log}");
    for field in ["agent:main:main", "channel", "offline/rules", "duration_ms", "tokens", "answered"] {
        assert!(turns[2].contains(field), "{field}: {}", turns[2]);
    }
    assert!(turns[0].contains("outcome=failed") && turns[0].contains("stub/m"), "{}", turns[0]);
    let failures: Vec<&str> = log.lines().filter(|line| line.contains("model call failed")).collect();
    assert_eq!(failures.len(), 1, "{log}");
    assert!(failures[0].contains("stub") && failures[0].contains("401"), "{}", failures[0]);
}
