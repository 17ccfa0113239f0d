//! The table of methods through one connection of OpenClaw's own client.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{House, PORT, TOKEN};
use crate::interop::{Stage, Told};
use crate::peer::Peer;

/// With what each of these answers.
fn answered() -> Vec<(&'static str, Value)> {
    let main = json!({"sessionKey": "agent:main:main"});
    vec![
        ("health", json!({})),
        ("logs.tail", json!({"limit": 5})),
        ("channels.status", json!({})),
        ("status", json!({})),
        ("usage.status", json!({})),
        ("usage.cost", json!({"days": 2})),
        ("config.get", json!({})),
        ("config.schema", json!({})),
        ("exec.approvals.get", json!({})),
        ("models.list", json!({})),
        ("agents.list", json!({})),
        ("agents.files.list", json!({"agentId": "main"})),
        ("agents.files.get", json!({"agentId": "main", "name": "AGENTS.md"})),
        ("agents.files.set", json!({"agentId": "main", "name": "USER.md", "content": "Sam\n"})),
        ("skills.status", json!({})),
        ("sessions.list", json!({})),
        ("sessions.preview", json!({"keys": ["agent:main:main"]})),
        ("sessions.resolve", json!({"key": "agent:main:main"})),
        ("sessions.patch", json!({"key": "agent:main:main", "label": "Mine"})),
        ("sessions.tree", json!({"key": "agent:main:main"})),
        ("sessions.search", json!({"query": "tide"})),
        ("last-heartbeat", json!({})),
        ("node.list", json!({})),
        ("node.pair.list", json!({})),
        ("device.pair.list", json!({})),
        ("system-presence", json!({})),
        ("system-event", json!({"text": "Node: here"})),
        ("agent.identity.get", json!({})),
        ("chat.history", main.clone()),
        ("chat.inject", json!({"sessionKey": "agent:main:main", "message": "A note."})),
        ("chat.abort", main),
        ("memory.status", json!({})),
        ("memory.search", json!({"query": "tide"})),
        ("sessions.compact", json!({"key": "agent:main:main", "maxLines": 100})),
        ("sessions.reset", json!({"key": "agent:main:main"})),
        ("sessions.delete", json!({"key": "agent:main:another"})),
    ]
}

/// Nothing that the client may ask for is unknown, and what is here is answered.
pub fn every_method(stage: &Stage, _: &mut Peer) -> Told {
    let mut house = House::open(stage)?;
    let mut client = house.script("OpenClaw's client", "client.mjs")?;
    let hello =
        client.ask(&json!({"do": "connect", "url": format!("ws://127.0.0.1:{PORT}"), "token": TOKEN}))?;
    ensure!(hello["protocol"] == 3 && hello["type"] == "hello-ok", "it is greeted with {hello:#}");
    let methods = words(&hello["features"]["methods"]);
    let missing: Vec<String> =
        advertised_by_openclaw()?.into_iter().filter(|name| !methods.contains(name)).collect();
    ensure!(missing.is_empty(), "OpenClaw advertises what yabby does not: {missing:?}");

    house.model_will_say("The tide turns at five.")?;
    let asked = json!({"message": "When does the tide turn?", "agentId": "main", "idempotencyKey": "one"});
    let ran = call(&mut client, "agent", &asked)?;
    ensure!(ran["answer"]["result"]["payloads"][0]["text"] == "The tide turns at five.", "{ran:#}");
    let waited = call(&mut client, "agent.wait", &json!({"runId": "one"}))?;
    ensure!(waited["answer"]["status"] == "ok", "{waited:#}");

    let answered = answered();
    for (method, params) in &answered {
        let told = call(&mut client, method, params)?;
        ensure!(told.get("answer").is_some(), "{method} {params}: {told:#}");
    }
    let known = ["sessions.resolve", "chat.inject", "poll", "web.login.start", "web.login.wait"];
    for method in methods.iter().map(String::as_str).chain(known) {
        let told = call(&mut client, method, &json!({}))?;
        let refused = told["refused"].as_str().unwrap_or_default();
        ensure!(!refused.contains("unknown method"), "{method}: {refused}");
        ensure!(!refused.starts_with("gateway closed"), "{method} ended the connection: {refused}");
    }
    let unknown = call(&mut client, "no.such.method", &json!({}))?;
    ensure!(unknown["refused"] == "unknown method: no.such.method", "{unknown:#}");
    // The client counts events, and tells of one that it has not seen.
    let events = client.ask(&json!({"do": "events"}))?;
    let events = events.as_array().context("events are a list")?;
    ensure!(events.iter().any(|event| event["event"] == "agent"), "{events:#?}");
    ensure!(!events.iter().any(|event| event["event"] == "gap"), "{events:#?}");
    client.ask(&json!({"do": "end"}))?;
    client.end()?;
    house.close()?;
    let all = methods.len() + known.len();
    Ok(format!("{all} methods, {} of them answered in full", answered.len() + 2))
}

fn call(client: &mut Peer, method: &str, params: &Value) -> Result<Value> {
    client
        .ask(&json!({"do": "call", "method": method, "params": params, "expectFinal": true}))
        .with_context(|| method.to_owned())
}

/// What the real gateway greets with, as it was recorded.
fn advertised_by_openclaw() -> Result<Vec<String>> {
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/gateway/hs-token-no-device.jsonl");
    let text = fs::read_to_string(&recording).with_context(|| format!("reading {}", recording.display()))?;
    let lines = text.lines().map(serde_json::from_str::<Value>);
    for line in lines {
        let methods = words(&line?["frame"]["payload"]["features"]["methods"]);
        if !methods.is_empty() {
            return Ok(methods);
        }
    }
    anyhow::bail!("{} greets nobody", recording.display())
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
