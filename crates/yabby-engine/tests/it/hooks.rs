//! Those who look on, and those who change what happens (`docs/hooks.md`).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::Barrier;
use yabby_domain::json::Object;
use yabby_domain::message::Message;
use yabby_domain::turn::Outcome;
use yabby_engine::hooks::{Hook, HookAnswer, HookEvent, HookPoint, SendingChange, StartChange};
use yabby_testkit::scripted_model::Line;
use yabby_testkit::stage::{Stage, direct, eventually, say, texts};

use crate::props::{Ear, MAIN, questions};

fn with_hooks(hooks: Vec<Arc<dyn Hook>>) -> Stage {
    Stage { hooks, ..Stage::new(json!({})) }
}

/// A hook that does something odd when it is asked.
struct Odd {
    points: Vec<HookPoint>,
    how: Oddity,
}

enum Oddity {
    Panics,
    NeverAnswers,
    WaitsForAnother(Arc<Barrier>),
}

#[async_trait]
impl Hook for Odd {
    fn name(&self) -> &str {
        "odd"
    }

    fn points(&self) -> &[HookPoint] {
        &self.points
    }

    fn priority(&self) -> i32 {
        0
    }

    async fn handle(&self, _: &HookEvent) -> HookAnswer {
        match &self.how {
            Oddity::Panics => panic!("odd"),
            Oddity::NeverAnswers => std::future::pending().await,
            Oddity::WaitsForAnother(barrier) => {
                barrier.wait().await;
                HookAnswer::Nothing
            }
        }
    }
}

fn odd(points: &[HookPoint], how: Oddity) -> Arc<dyn Hook> {
    Arc::new(Odd { points: points.to_vec(), how })
}

#[tokio::test(start_paused = true)]
async fn no_hook_fails_a_turn() {
    let ear = Arc::new(Ear::new("ear", &HookPoint::ALL));
    let stage = with_hooks(vec![
        odd(&HookPoint::ALL, Oddity::Panics),
        odd(&HookPoint::ALL, Oddity::NeverAnswers),
        ear.clone(),
    ]);
    let engine = stage.engine();
    let report = say(&engine, direct("hello")).await;
    assert_eq!((report.outcome, stage.channel.texts()), (Outcome::Answered, vec!["echo: hello".to_owned()]));
    eventually("all others are told", || {
        let heard = ear.events();
        [
            "message_received",
            "session_start",
            "before_agent_start",
            "agent_end",
            "message_sending",
            "message_sent",
        ]
        .iter()
        .all(|point| heard.iter().any(|event| event["hook"] == *point))
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn those_who_look_on_are_told_at_once_and_hold_nobody_up() {
    // Each of the two is done only when the other is asked as well.
    let barrier = Arc::new(Barrier::new(3));
    let points = [HookPoint::MessageReceived];
    let stage = with_hooks(vec![
        odd(&points, Oddity::WaitsForAnother(barrier.clone())),
        odd(&points, Oddity::WaitsForAnother(barrier.clone())),
        odd(&points, Oddity::NeverAnswers),
    ]);
    let engine = stage.engine();
    let began = tokio::time::Instant::now();
    say(&engine, direct("hello")).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    tokio::time::timeout(Duration::from_secs(1), barrier.wait()).await.expect("both are asked");
}

#[tokio::test(start_paused = true)]
async fn those_who_change_something_are_asked_in_order_and_see_what_became_of_it() {
    let add = |name: &str, priority: i32| {
        let word = name.to_owned();
        let answer = move |event: &HookEvent| match event {
            HookEvent::MessageSending { content, .. } => HookAnswer::Sending(SendingChange {
                content: Some(format!("{content} {word}")),
                cancel: false,
            }),
            _ => HookAnswer::Nothing,
        };
        Arc::new(Ear::new(name, &[HookPoint::MessageSending]).urgent(priority).answering(answer))
    };
    let stage = with_hooks(vec![add("last", -1), add("first", 9), add("second", 9), add("third", 0)]);
    let engine = stage.engine();
    let report = say(&engine, direct("go")).await;
    assert_eq!(stage.channel.texts(), ["echo: go first second third last"]);
    assert_eq!(texts(&report), ["echo: go"], "the transcript and the report keep what was said");
    assert_eq!(stage.said(MAIN).await[1], "assistant: echo: go");
}

#[tokio::test(start_paused = true)]
async fn a_message_may_be_cancelled() {
    let cancel = |_: &HookEvent| HookAnswer::Sending(SendingChange { content: None, cancel: true });
    let never = Arc::new(Ear::new("never", &[HookPoint::MessageSending]));
    let sent = Arc::new(Ear::new("sent", &[HookPoint::MessageSent]));
    let stage = with_hooks(vec![
        Arc::new(Ear::new("no", &[HookPoint::MessageSending]).urgent(1).answering(cancel)),
        never.clone(),
        sent.clone(),
    ]);
    let engine = stage.engine();
    assert_eq!(say(&engine, direct("go")).await.outcome, Outcome::Answered);
    assert!(stage.channel.texts().is_empty());
    tokio::task::yield_now().await;
    assert_eq!((never.events().len(), sent.events().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_may_begin_with_other_words() {
    let start = |system: Option<&'static str>, context: Option<&'static str>| {
        move |_: &HookEvent| {
            HookAnswer::Start(StartChange {
                system_prompt: system.map(str::to_owned),
                prepend_context: context.map(str::to_owned),
            })
        }
    };
    let point = [HookPoint::BeforeAgentStart];
    let first =
        Arc::new(Ear::new("a", &point).urgent(2).answering(start(Some("Be brief."), Some("It rains."))));
    let second =
        Arc::new(Ear::new("b", &point).urgent(1).answering(start(Some("Be kind."), Some("It is late."))));
    let third = Arc::new(Ear::new("c", &point).answering(start(None, None)));
    let stage = with_hooks(vec![third, second, first.clone()]);
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    assert_eq!(stage.model.asked()[0].system, "Be kind.");
    assert_eq!(questions(&stage), ["user: It rains.\n\nIt is late.\n\nhello"]);
    say(&engine, direct("again")).await;
    let event = first.events().pop().unwrap();
    assert_eq!((&event["prompt"], event["messages"].as_array().unwrap().len()), (&json!("again"), 2));
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_run_is_told_with_the_conversation() {
    let ear = Arc::new(Ear::new("ear", &[HookPoint::AgentEnd]));
    let stage = with_hooks(vec![ear.clone()]);
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    stage.model.will([Line::Fail(yabby_domain::seam::model::ModelErrorKind::Broken, "no line".to_owned())]);
    say(&engine, direct("again")).await;
    eventually("both are told", || ear.events().len() == 2).await;
    let events = ear.events();
    assert_eq!((&events[0]["success"], &events[0]["error"]), (&json!(true), &Value::Null));
    assert_eq!(events[0]["messages"].as_array().unwrap().len(), 2);
    assert_eq!((&events[1]["success"], &events[1]["error"]), (&json!(false), &json!("no line")));
}

/// An event of every kind.
fn examples() -> Vec<HookEvent> {
    let key = || MAIN.to_owned();
    let messages = || Arc::new(vec![Message::from_value(json!({"role": "user", "content": "hi"})).unwrap()]);
    let some = || Some("x".to_owned());
    let params = Object::new;
    vec![
        HookEvent::BeforeAgentStart { session_key: key(), prompt: key(), messages: messages() },
        HookEvent::AgentEnd {
            session_key: key(),
            messages: messages(),
            success: true,
            error: some(),
            duration_ms: 1,
        },
        HookEvent::MessageReceived { session_key: key(), from: key(), content: key(), timestamp: 1 },
        HookEvent::MessageSending { session_key: key(), to: key(), content: key() },
        HookEvent::MessageSent {
            session_key: key(),
            to: key(),
            content: key(),
            success: true,
            error: some(),
        },
        HookEvent::BeforeToolCall { session_key: key(), tool_name: key(), params: params() },
        HookEvent::AfterToolCall {
            session_key: key(),
            tool_name: key(),
            params: params(),
            result: params(),
            error: some(),
            duration_ms: 1,
        },
        HookEvent::ToolResultPersist {
            session_key: key(),
            tool_name: key(),
            tool_call_id: key(),
            message: messages()[0].clone(),
        },
        HookEvent::SessionBeforeCompact {
            session_key: key(),
            session_id: key(),
            message_count: 1,
            tokens_before: 1,
            previous_summary: some(),
            messages: messages(),
        },
        HookEvent::BeforeCompaction { session_key: key(), message_count: 1, token_count: 1 },
        HookEvent::AfterCompaction {
            session_key: key(),
            message_count: 1,
            token_count: 1,
            compacted_count: 1,
        },
        HookEvent::SessionStart { session_key: key(), session_id: key(), resumed_from: some() },
        HookEvent::SessionEnd { session_key: key(), session_id: key() },
    ]
}

/// The fields of an event, in order, and what kind of value each has.
fn shape(event: &Value) -> Vec<(String, &'static str)> {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    event.as_object().unwrap().iter().map(|(name, value)| (name.clone(), kind(value))).collect()
}

#[test]
fn every_point_is_documented_with_the_event_as_it_is_serialised() {
    let page = include_str!("../../../../docs/hooks.md");
    let examples = examples();
    assert_eq!(examples.len(), HookPoint::ALL.len());
    for (event, point) in examples.iter().zip(HookPoint::ALL) {
        assert_eq!(event.point(), point);
        let name = point.as_str();
        assert!(page.contains(&format!("`{name}`")), "{name} is in no list");
        let (_, section) = page.split_once(&format!("\n## {name}\n")).expect(name);
        let section = section.split("\n## ").next().unwrap();
        let (_, example) = section.split_once("```json\n").expect(name);
        let (example, _) = example.split_once("\n```").expect(name);
        let documented: Value = serde_json::from_str(example).expect(name);
        assert_eq!(documented["hook"], name);
        assert_eq!(shape(&documented), shape(&serde_json::to_value(event).unwrap()), "{name}");
    }
}
