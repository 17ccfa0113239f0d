//! Commands that wait until somebody allows them.

use serde_json::json;

use crate::client::Stand;

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
