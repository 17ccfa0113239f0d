//! Commands that wait until somebody allows them.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::office::Question;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_testkit::scripted_model::Line;

use crate::client::Stand;

/// A tool that asks before it does anything.
struct Careful;

#[async_trait]
impl Tool for Careful {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "exec".to_owned(),
            description: "Runs a command.".to_owned(),
            parameters: json!({"type": "object", "properties": {}}),
        }
    }

    fn effect(&self) -> Effect {
        Effect::Lasting
    }

    async fn call(&self, _: &Object, context: &ToolContext) -> ToolOutput {
        let question =
            Question { command: "rm boat".to_owned(), folder: "/boats".to_owned(), ..Question::default() };
        let decision = context.office.ask(question).await;
        ToolOutput::text(&format!("Decision: {decision:?}"))
    }
}

async fn careful() -> Stand {
    Stand::on(json!({}), Box::new(|_| None), vec![Arc::new(Careful)]).await
}

#[tokio::test]
async fn a_client_that_may_only_write_gets_no_commands_and_no_private_notes() {
    let stand = careful().await;
    stand.stage.shelf.put("MEMORY.md", "Robin is afraid of geese.");
    let writer: &[&str] = &["operator.read", "operator.write"];
    for (scopes, expected) in [(writer, false), (&["operator.admin"], true)] {
        let mut client = stand.client(scopes).await;
        for method in ["agent", "chat.send"] {
            let key = format!("{method}-{expected}");
            let said = json!({"sessionKey": "agent:main:main", "message": "hi", "idempotencyKey": key});
            client.get(method, said).await;
            client.get("agent.wait", json!({"runId": key})).await;
            let asked = stand.stage.model.asked();
            let last = asked.last().unwrap();
            assert_eq!(last.system.contains("geese"), expected, "{method} {scopes:?}");
            assert_eq!(last.tools.iter().any(|tool| tool.name == "exec"), expected, "{method} {scopes:?}");
        }
    }
}

#[tokio::test]
async fn a_run_waits_until_a_client_decides() {
    let stand = careful().await;
    let mut owner = stand.client(&["operator.admin", "operator.approvals"]).await;
    stand.stage.model.will([Line::call("exec", json!({})), Line::say("noted")]);
    let said = json!({"sessionKey": "agent:main:main", "message": "remove it", "idempotencyKey": "k1"});
    owner.get("chat.send", said).await;
    let asked = owner.event("exec.approval.requested").await;
    let request = &asked["request"];
    assert_eq!((&request["command"], &request["cwd"]), (&json!("rm boat"), &json!("/boats")));
    assert_eq!((&request["sessionKey"], &request["agentId"]), (&json!("agent:main:main"), &json!("main")));
    let id = asked["id"].as_str().unwrap();
    // A part of a name is not enough here.
    let part = owner.refusal("exec.approval.resolve", json!({"id": &id[..8], "decision": "deny"})).await;
    assert_eq!(part, "unknown approval id");
    owner.get("exec.approval.resolve", json!({"id": id, "decision": "allow-always"})).await;
    let resolved = owner.event("exec.approval.resolved").await;
    assert_eq!((&resolved["decision"], &resolved["resolvedBy"]), (&json!("allow-always"), &json!("tester")));
    while owner.event("chat").await["state"] != "final" {}
    let said = stand.stage.said("agent:main:main").await;
    assert!(said.iter().any(|line| line.ends_with("Decision: Always")), "{said:?}");
}

#[tokio::test]
async fn a_session_that_is_begun_anew_stops_what_goes_on_in_it() {
    let stand = careful().await;
    let mut owner = stand.client(&["operator.admin", "operator.approvals"]).await;
    stand.stage.model.will([Line::call("exec", json!({})), Line::say("never said")]);
    let said = json!({"sessionKey": "agent:main:a", "message": "remove it", "idempotencyKey": "k1"});
    owner.get("chat.send", said).await;
    owner.event("exec.approval.requested").await;
    let before = stand.stage.entry("agent:main:a").await;
    let begun = owner.get("sessions.reset", json!({"key": "agent:main:a"})).await;
    assert_ne!(begun["entry"]["sessionId"].as_str(), before.session_id());
    assert_eq!(owner.event("exec.approval.resolved").await["decision"], json!(null));
    let after = stand.stage.entry("agent:main:a").await;
    assert_eq!(after.session_id(), begun["entry"]["sessionId"].as_str(), "the run has written nothing since");
}

#[tokio::test]
async fn whoever_may_answer_hears_the_question_and_decides() {
    let stand = Stand::new(json!({})).await;
    let mut asking = stand.client(&["operator.approvals"]).await;
    let mut answering = stand.client(&["operator.approvals"]).await;
    let mut reading = stand.client(&["operator.read"]).await;
    let request =
        asking.begin("exec.approval.request", json!({"id": "q1", "command": "rm x", "cwd": null})).await;
    let asked = answering.event("exec.approval.requested").await;
    assert_eq!(asked["id"], "q1");
    assert_eq!(
        asked["request"],
        json!({"command": "rm x", "cwd": null, "host": null, "security": null, "ask": null, "agentId": null,
            "resolvedPath": null, "sessionKey": null})
    );
    let again = answering.refusal("exec.approval.request", json!({"id": "q1", "command": "ls"})).await;
    assert_eq!(again, "approval id already pending");
    let refused = answering.refusal("exec.approval.resolve", json!({"id": "q1", "decision": "maybe"})).await;
    assert_eq!(refused, "invalid decision");
    answering.get("exec.approval.resolve", json!({"id": "q1", "decision": "allow-once"})).await;
    assert_eq!(asking.answer(&request).await["payload"]["decision"], "allow-once");
    let resolved = answering.event("exec.approval.resolved").await;
    assert_eq!((&resolved["decision"], &resolved["resolvedBy"]), (&json!("allow-once"), &json!("tester")));
    let unknown = answering.refusal("exec.approval.resolve", json!({"id": "q1", "decision": "deny"})).await;
    assert_eq!(unknown, "unknown approval id");
    reading.get("health", json!({})).await;
    assert!(!reading.heard("exec.approval.requested"), "nobody else hears of it");
}

#[tokio::test]
async fn a_question_that_nobody_answers_is_no_decision() {
    let stand = Stand::new(json!({})).await;
    let mut asking = stand.client(&["operator.approvals"]).await;
    let told = asking.get("exec.approval.request", json!({"command": "ls", "timeoutMs": 30})).await;
    assert_eq!(told["decision"], json!(null));
    let lasts = told["expiresAtMs"].as_i64().unwrap() - told["createdAtMs"].as_i64().unwrap();
    assert_eq!(lasts, 30);
}

#[tokio::test]
async fn a_question_ends_with_the_connection_that_asked() {
    let stand = Stand::new(json!({})).await;
    let mut asking = stand.client(&["operator.approvals"]).await;
    let mut answering = stand.client(&["operator.approvals"]).await;
    asking.begin("exec.approval.request", json!({"id": "q1", "command": "ls", "timeoutMs": 1e15})).await;
    let asked = answering.event("exec.approval.requested").await;
    let lasts = asked["expiresAtMs"].as_i64().unwrap() - asked["createdAtMs"].as_i64().unwrap();
    assert_eq!(lasts, 24 * 60 * 60 * 1000, "nobody is asked for longer than a day");
    drop(asking);
    let resolved = answering.event("exec.approval.resolved").await;
    assert_eq!((&resolved["id"], &resolved["decision"]), (&json!("q1"), &json!(null)));
    let gone = answering.refusal("exec.approval.resolve", json!({"id": "q1", "decision": "deny"})).await;
    assert_eq!(gone, "unknown approval id");
}

#[tokio::test]
async fn nobody_waits_for_a_node_to_decide() {
    let stand = careful().await;
    let _node = stand.client_as("node", &["operator.approvals"]).await;
    let mut owner = stand.owner().await;
    stand.stage.model.will([Line::call("exec", json!({})), Line::say("noted")]);
    let said = json!({"sessionKey": "agent:main:main", "message": "remove it", "idempotencyKey": "k1"});
    owner.get("chat.send", said).await;
    while owner.event("chat").await["state"] != "final" {}
    let said = stand.stage.said("agent:main:main").await;
    assert!(said.iter().any(|line| line.ends_with("Decision: Unanswered")), "{said:?}");
}
