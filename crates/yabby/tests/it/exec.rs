//! Commands through the whole program, which is its own keeper. The model is stood in for.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime;
use yabby_testkit::stand_in::{Format, Reply, Script, StandIn};

use crate::home::Home;

pub struct Service {
    pub stand_in: StandIn,
    _runtime: Runtime,
}

pub fn service(replies: impl IntoIterator<Item = Reply>) -> Service {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let stand_in = runtime.block_on(StandIn::start());
    stand_in.will(replies);
    Service { stand_in, _runtime: runtime }
}

pub fn call(tool: &'static str, arguments: &Value) -> Reply {
    let arguments: &'static str = Box::leak(arguments.to_string().into_boxed_str());
    Format::OpenAiChat.answer(&Script::calls(&[("call_1", tool, &[arguments])]))
}

pub fn answer() -> Reply {
    Format::OpenAiChat.answer(&Script::text(&["done"]))
}

pub fn home(service: &Service, more: &Value) -> Home {
    let home = Home::empty();
    let mut config = json!({
        "models": {"providers": {"acme": {
            "baseUrl": format!("{}/v1", service.stand_in.address()),
            "api": "openai-completions",
            "apiKey": "config-very-secret",
            "models": [{
                "id": "small", "name": "Small", "reasoning": false, "input": ["text"], "contextWindow": 128000,
                "maxTokens": 4096, "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
            }],
        }}},
        "agents": {"defaults": {"model": {"primary": "acme/small"}}},
        "tools": {"exec": {"security": "full", "ask": "off"}},
    });
    for (name, value) in more.as_object().unwrap() {
        config[name] = value.clone();
    }
    home.write(".openclaw/openclaw.json", &config.to_string());
    home
}

const ASK: [&str; 6] = ["agent", "--local", "--agent", "main", "-m", "go"];

/// What the model was told of its call.
pub fn told(service: &Service) -> String {
    let body = service.stand_in.last_body();
    let messages = body["messages"].as_array().unwrap();
    let result = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    match &result["content"] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn living(word: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let called = |pid: &u32| {
        let called = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        called.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
    };
    pids.filter(called).count()
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < end, "waited too long: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn odd_seconds(salt: u32) -> String {
    format!("{}.{}", 4000 + std::process::id() % 3000, 10_000 + salt)
}

#[test]
fn a_command_runs_and_knows_no_secret() {
    let command = "echo it ran; env; cat /proc/$PPID/environ | tr '\\0' '\\n'";
    let service = service([call("exec", &json!({"command": command})), answer()]);
    let home = home(&service, &json!({}));
    let output = home
        .command(&ASK)
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("ANTHROPIC_API_KEY", "environment-very-secret")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = told(&service);
    assert!(told.contains("it ran") && told.contains("PATH="), "{told}");
    assert!(!told.contains("very-secret"), "{told}");
}

#[test]
fn without_anybody_to_ask_nothing_runs() {
    let service = service([call("exec", &json!({"command": "touch ran"})), answer()]);
    let home = home(&service, &json!({"tools": {}}));
    home.command(&ASK).env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap();
    assert!(told(&service).contains("exec denied: it needs an approval"), "{}", told(&service));
    assert!(!home.path().join(".openclaw/workspace/ran").exists());
}

#[test]
fn one_word_confines() {
    let service = service([
        call(
            "exec",
            &json!({"command": "cat ~/.openclaw/openclaw.json $HOME/.openclaw/*; ls -a / /root; echo ran"}),
        ),
        answer(),
    ]);
    let more = json!({"tools": {}, "agents": {"defaults": {"model": {"primary": "acme/small"}, "sandbox": {"mode": "all"}}}});
    let home = home(&service, &more);
    home.command(&ASK).env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap();
    let told = told(&service);
    assert!(told.contains("ran") && !told.contains("very-secret"), "{told}");
}

#[test]
fn a_program_that_is_killed_in_a_command_leaves_no_orphans() {
    let seconds = odd_seconds(1);
    let command = format!("(setsid sleep {seconds} &); sleep {seconds}");
    let service = service([call("exec", &json!({"command": command, "yieldMs": 120_000})), answer()]);
    let home = home(&service, &json!({}));
    let mut command = home.command(&ASK);
    command.env("PATH", std::env::var_os("PATH").unwrap()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut yabby = command.spawn().unwrap();
    until("it runs", || living(&seconds) >= 2);
    yabby.kill().unwrap();
    yabby.wait().unwrap();
    until("all of it is gone", || living(&seconds) == 0);
}

#[test]
fn a_background_command_is_found_again_by_the_next_program() {
    let seconds = odd_seconds(2);
    let command = format!("echo still here; sleep {seconds}");
    let service = service([
        call("exec", &json!({"command": command, "background": true})),
        answer(),
        call("process", &json!({"action": "list"})),
        answer(),
    ]);
    let home = home(&service, &json!({}));
    let run = || home.command(&ASK).env("PATH", std::env::var_os("PATH").unwrap()).output().unwrap();
    assert!(run().status.success());
    assert!(told(&service).contains("Command still running"), "{}", told(&service));
    until("it runs", || living(&seconds) > 0);
    assert!(run().status.success());
    let listed = told(&service);
    assert!(listed.contains(" running ") && listed.contains("still here"), "{listed}");
    // Ended as the next agent would, by its record.
    let entry = std::fs::read_dir(home.path().join(".openclaw/commands")).unwrap().next().unwrap().unwrap();
    std::fs::write(entry.path().join("control"), "kill\n").unwrap();
    until("it is gone", || living(&seconds) == 0);
}
