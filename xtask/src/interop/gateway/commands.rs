//! OpenClaw's command line.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{House, PORT, TOKEN};
use crate::interop::{Stage, Told};
use crate::peer::Peer;
use crate::reference::state_folder;

/// What a person does with a gateway before anything else.
pub fn some_commands(stage: &Stage, _: &mut Peer) -> Told {
    let mut house = House::open(stage)?;
    health(&house)?;
    agent(&mut house)?;
    let methods = &methods()[..4];
    for method in methods {
        method.ensure_answered(&house)?;
    }
    house.close()?;
    Ok(format!("{} commands", 3 + methods.len()))
}

/// Every command that asks a gateway, and those that read the same files.
pub fn every_command(stage: &Stage, _: &mut Peer) -> Told {
    let mut house = House::open(stage)?;
    health(&house)?;
    agent(&mut house)?;
    let methods = methods();
    for method in &methods {
        method.ensure_answered(&house)?;
    }
    let shown: [(&[&str], &[&str]); 9] = [
        (&["health", "--json"], &["\"defaultAgentId\": \"main\"", "\"count\": 1"]),
        (&["status"], &["· reachable"]),
        (&["status", "--deep"], &["· reachable", "│ Gateway  │ reachable │", "│ Last heartbeat  │ none"]),
        (&["logs", "--limit", "5"], &["Log file: ", "connected"]),
        (&["logs", "--limit", "5", "--json"], &["{\"type\":\"meta\",", "\"subsystem\":\"gateway\""]),
        (&["channels", "status"], &["Gateway reachable."]),
        (&["system", "presence"], &["\"mode\": \"gateway\"", "\"reason\": \"self\""]),
        (&["devices", "list"], &["Paired (1)", "operator"]),
        (&["gateway", "probe"], &["Reachable: yes", "Connect: ok", "RPC: ok"]),
    ];
    for (words, texts) in shown {
        ensure_shown(&house, words, texts)?;
    }
    // Of a gateway that has no heartbeats and runs no jobs yet, the commands say so.
    let refused: [(&[&str], &str); 2] = [
        (&["system", "event", "--text", "hello", "--mode", "now"], "Error: yabby has no heartbeat yet"),
        (&["cron", "list"], "Error: yabby runs no jobs yet"),
    ];
    for (words, text) in refused {
        let ran = run(&house, words)?;
        ensure!(ran.status == Some(1) && ran.stderr.contains(text), "{words:?}: {ran:#?}");
    }
    sessions(&house)?;
    a_wrong_token(&house)?;
    house.close()?;
    Ok(format!("{} commands", 3 + methods.len() + shown.len() + refused.len() + 2))
}

fn health(house: &House) -> Result<()> {
    ensure_shown(house, &["health"], &["Agents: main (default)", "Session store (main): "])
}

/// What is said is said by the gateway, which has the model; the words are in its transcript.
fn agent(house: &mut House) -> Result<()> {
    let answers = ["It is the blue one. 🦀", "It likes clams."];
    house.model_will_say(answers[0])?;
    let ran = run(house, &["agent", "--agent", "main", "-m", "Which crab is it?"])?;
    ensure!(ran.status == Some(0) && ran.stdout.trim() == answers[0], "{ran:#?}");
    ensure!(!ran.stderr.contains("falling back"), "the gateway was not asked: {ran:#?}");
    house.model_will_say(answers[1])?;
    let ran = run(house, &["agent", "--agent", "main", "--json", "-m", "What does it eat?"])?;
    let told = ran.json()?;
    ensure!(told["status"] == "ok" && told["summary"] == "completed", "{told:#}");
    ensure!(told["result"]["payloads"][0]["text"] == answers[1], "{told:#}");
    ensure!(told["result"]["meta"]["agentMeta"]["model"] == "stub", "{told:#}");
    house.ensure_said(&["Which crab is it?", answers[0], "What does it eat?", answers[1]])
}

/// The guest has no sessions of its own, and reads those of the gateway.
fn sessions(house: &House) -> Result<()> {
    let mut listed = Vec::new();
    for home in [&house.guest, &house.home] {
        let output = house.openclaw_in(home, &["sessions", "--json"]).output()?;
        let told: Value = serde_json::from_slice(&output.stdout).context("`sessions` prints JSON")?;
        listed.push(told["sessions"].as_array().context("it lists sessions")?.len());
    }
    ensure!(listed == [0, 1], "{listed:?} sessions");
    Ok(())
}

/// Nobody gets in who does not know the token.
fn a_wrong_token(house: &House) -> Result<()> {
    let stranger = house.guest.join("stranger");
    std::fs::create_dir_all(state_folder(&stranger))?;
    let config = json!({"gateway": {"mode": "local", "port": PORT, "auth": {"token": "guessed"}}});
    std::fs::write(state_folder(&stranger).join("openclaw.json"), config.to_string())?;
    let output = house.openclaw_in(&stranger, &["health"]).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && said.contains("unauthorized: gateway token mismatch"),
        "a stranger is told {said}"
    );
    Ok(())
}

/// `gateway call`, and something that the answer has.
struct Method {
    name: &'static str,
    params: Value,
    pointer: &'static str,
    value: Value,
}

fn methods() -> Vec<Method> {
    let main = || json!("agent:main:main");
    let plain = |name, pointer, value| Method { name, params: json!({}), pointer, value };
    vec![
        plain("sessions.list", "/sessions/0/key", main()),
        Method {
            name: "chat.history",
            params: json!({"sessionKey": main()}),
            pointer: "/messages/3/content/0/text",
            value: json!("It likes clams."),
        },
        // Nobody is told the token, not even who knows it.
        plain("config.get", "/config/gateway/auth/token", json!("__OPENCLAW_REDACTED__")),
        plain("status", "/sessions/count", json!(1)),
        plain("health", "/ok", json!(true)),
        plain("agents.list", "/defaultId", json!("main")),
        plain("models.list", "/models/0/provider", json!("anthropic")),
        plain("skills.status", "/skills/0/bundled", json!(true)),
        plain("system-presence", "/0/mode", json!("gateway")),
        plain("usage.cost", "/totals/totalTokens", json!(240)),
        plain("device.pair.list", "/paired/0/clientId", json!("cli")),
        plain("last-heartbeat", "", Value::Null),
    ]
}

impl Method {
    fn ensure_answered(&self, house: &House) -> Result<()> {
        let params = self.params.to_string();
        let ran = run(house, &["gateway", "call", self.name, "--params", &params, "--json"])?;
        let told = ran.json().with_context(|| self.name.to_owned())?;
        let found = told.pointer(self.pointer);
        ensure!(found == Some(&self.value), "{}: {} is {found:?} in {told:#}", self.name, self.pointer);
        ensure!(!ran.stdout.contains(TOKEN), "{} tells the token: {told:#}", self.name);
        Ok(())
    }
}

#[derive(Debug)]
struct Ran {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn json(&self) -> Result<Value> {
        ensure!(self.status == Some(0), "{self:#?}");
        serde_json::from_str(&self.stdout).with_context(|| format!("{self:#?}"))
    }
}

fn run(house: &House, words: &[&str]) -> Result<Ran> {
    let output = house.openclaw(words).output().context("running openclaw")?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(Ran { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) })
}

fn ensure_shown(house: &House, words: &[&str], texts: &[&str]) -> Result<()> {
    let ran = run(house, words)?;
    ensure!(ran.status == Some(0), "{words:?}: {ran:#?}");
    for text in texts {
        ensure!(ran.stdout.contains(text), "{words:?} do not show {text:?}, but:\n{}", ran.stdout);
    }
    Ok(())
}
