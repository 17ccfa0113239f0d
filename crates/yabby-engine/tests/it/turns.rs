//! A message becomes a reply.

use serde_json::json;
use yabby_domain::turn::Outcome;
use yabby_testkit::scripted_model::Line;
use yabby_testkit::stage::{Stage, direct, say, texts};

const MAIN: &str = "agent:main:main";

#[tokio::test]
async fn a_message_is_answered_transcribed_and_recorded() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    stage.model.will([Line::say("Hello Sam!")]);
    let report = say(&engine, direct("hi")).await;
    assert_eq!((report.outcome, texts(&report)), (Outcome::Answered, vec!["Hello Sam!".to_owned()]));
    assert_eq!(stage.channel.texts(), ["Hello Sam!"]);
    assert_eq!(stage.said(MAIN).await, ["user: hi", "assistant: Hello Sam!"]);
    let entry = stage.entry(MAIN).await;
    assert_eq!(
        (entry.model(), entry.model_provider(), entry.system_sent()),
        (Some("model"), Some("test"), Some(true))
    );
    assert!(entry.total_tokens().unwrap() > 0.0);
    assert_eq!(stage.calls.calls().len(), 1);
}
