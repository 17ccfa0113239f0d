//! What services do to a session beside its turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::id::AgentId;
use yabby_domain::message::{Message, text_block};
use yabby_domain::recollection::Remembered;
use yabby_domain::seam::TranscriptStore as _;
use yabby_domain::seam::recollection::{Asked, Recollection};
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::line_compact::MaxLines;
use yabby_domain::turn::Outcome;
use yabby_engine::services::{
    AppendError, CompactOutcome, DeleteError, DeleteRequest, InLaneError, WithoutTranscript,
};
use yabby_testkit::scripted_model::Line;
use yabby_testkit::stage::{Stage, accepted, direct, eventually, say};

use crate::props::{MAIN, assert_settled, gate, outcome, paused};

fn key() -> SessionKey {
    SessionKey::new(MAIN)
}

fn other(key: &str) -> yabby_engine::Submission {
    let mut heard = direct("one");
    heard.message.session_key = Some(key.to_owned());
    heard
}

fn note(said: &str) -> Message {
    let mut message = Message::default();
    message.set("role", "assistant");
    message.set("content", vec![text_block(said)]);
    message
}

/// Remembers how often it was to read what was said.
#[derive(Default)]
struct Reader(AtomicUsize);

#[async_trait]
impl Recollection for Reader {
    async fn recollect(&self, _: Asked) -> Vec<Remembered> {
        Vec::new()
    }

    async fn catch_up(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_stops_the_run_and_what_waits_and_lets_memory_read_first() {
    let memory = Arc::new(Reader::default());
    let stage = Stage { memory: Some(memory.clone()), ..Stage::new(json!({})) };
    let engine = stage.engine();
    stage.model.will([paused("first", &gate(), " answer")]);
    let running = accepted(&engine, direct("one")).await;
    eventually("the model is asked", || !stage.model.asked().is_empty()).await;
    let waiting = accepted(&engine, direct("two")).await;
    let before = stage.entry(MAIN).await.session_id().unwrap().to_owned();
    let read = memory.0.load(Ordering::Relaxed);
    let reset = engine.reset_session(&AgentId::default(), &key()).await.unwrap();
    assert_eq!((outcome(running).await, outcome(waiting).await), (Outcome::Aborted, Outcome::Aborted));
    assert_eq!(memory.0.load(Ordering::Relaxed), read + 1);
    let after = stage.entry(MAIN).await;
    assert_eq!(after.session_id(), reset.begun.session_id());
    assert_ne!(after.session_id(), Some(before.as_str()));
    assert!(engine.busy().is_empty(), "{:?}", engine.busy());
    say(&engine, direct("three")).await;
    assert_eq!(stage.said(MAIN).await, ["user: three", "assistant: echo: three"]);
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_does_not_stop_in_time_stays_as_it_is() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let held = gate();
    stage.model.will([paused("first", &held, " answer")]);
    let running = accepted(&engine, direct("one")).await;
    eventually("the model is asked", || !stage.model.asked().is_empty()).await;
    let before = stage.entry(MAIN).await;
    let busy = engine.compact_lines(&AgentId::default(), &key(), MaxLines::at_most(1)).await.unwrap_err();
    assert_eq!(busy.to_string(), "Session agent:main:main is still active; try again in a moment.");
    held.add_permits(1);
    assert_eq!(outcome(running).await, Outcome::Answered);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(stage.entry(MAIN).await.session_id(), before.session_id());
    assert_eq!(stage.said(MAIN).await.len(), 2, "nobody waited for it any more");
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_shortened_between_two_turns() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    say(&engine, direct("one")).await;
    let held = gate();
    stage.model.will([paused("second", &held, " answer"), Line::say("third")]);
    let running = accepted(&engine, direct("two")).await;
    eventually("the model is asked", || stage.model.asked().len() == 2).await;
    let waiting = accepted(&engine, direct("three")).await;
    let compacting = {
        let engine = engine.clone();
        tokio::spawn(
            async move { engine.compact_lines(&AgentId::default(), &key(), MaxLines::at_most(2)).await },
        )
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!compacting.is_finished());
    held.add_permits(1);
    assert_eq!(outcome(running).await, Outcome::Answered);
    let compacted = compacting.await.unwrap().unwrap();
    assert!(matches!(compacted, CompactOutcome::Done { kept: 2, .. }), "{compacted:?}");
    assert_eq!(outcome(waiting).await, Outcome::Answered);
    let said = stage.said(MAIN).await;
    assert_eq!(said[0], "user: two", "{said:?}");
    assert_eq!(said.len(), 4, "{said:?}");
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn the_main_session_is_not_deleted_and_any_other_is() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let request = |key: &str| DeleteRequest { key: SessionKey::new(key), keeps_transcript: false };
    for key in [MAIN, "agent:main:x", "agent:ops:main"] {
        say(&engine, other(key)).await;
    }
    let main = engine.delete_session(&AgentId::default(), request(MAIN)).await.unwrap_err();
    assert!(matches!(main, InLaneError::Service(DeleteError::MainSession(_))), "{main}");
    for (agent, key) in [("main", "agent:main:x"), ("ops", "agent:ops:main")] {
        let deleted = engine.delete_session(&AgentId::normalize(agent), request(key)).await.unwrap();
        assert!(deleted.is_deleted() && deleted.archived.is_some(), "{deleted:?}");
        assert_eq!(stage.entry(key).await.session_id(), None);
    }
    let nothing = engine.delete_session(&AgentId::default(), request("agent:main:nobody")).await.unwrap();
    assert!(!nothing.existed && !nothing.is_deleted());
}

#[tokio::test(start_paused = true)]
async fn a_message_is_appended_where_there_is_a_conversation() {
    let stage = Stage::new(json!({}));
    let engine = stage.engine();
    let append = async |key: &str| {
        let (key, agent) = (SessionKey::new(key), AgentId::default());
        engine.append_message(&agent, &key, note("by the way"), WithoutTranscript::Refuse).await
    };
    let missing = append(MAIN).await.unwrap_err();
    assert!(matches!(missing, InLaneError::Service(AppendError::NoSession)), "{missing}");
    say(&engine, direct("one")).await;
    append(MAIN).await.unwrap();
    assert_eq!(stage.said(MAIN).await, ["user: one", "assistant: echo: one", "assistant: by the way"]);
    engine.reset_session(&AgentId::default(), &key()).await.unwrap();
    let silent = append(MAIN).await.unwrap_err();
    assert!(matches!(silent, InLaneError::Service(AppendError::NoTranscript)), "{silent}");
    assert_eq!(stage.transcripts.list().await.unwrap().len(), 1, "nothing was begun");
}
