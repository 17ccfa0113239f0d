//! What the model wants done (`transcripts.md` §1.3).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use yabby_domain::json::Object;
use yabby_domain::message::Message;
use yabby_domain::reply::duplicates::SentTarget;
use yabby_domain::seam::tool::{Effect, Sent, Tool, ToolOutput};
use yabby_domain::turn::{Outcome, Step};
use yabby_engine::hooks::{HookAnswer, HookPoint, ToolCallChange};
use yabby_testkit::scripted_model::{Line, told};
use yabby_testkit::stage::{Stage, accepted, direct, eventually, say, texts};

use crate::props::{Ear, MAIN, Probe, assert_settled, gate};

fn with_tools(tools: Vec<Arc<dyn Tool>>) -> Stage {
    Stage { tools, ..Stage::new(json!({})) }
}

async fn results(stage: &Stage) -> Vec<Message> {
    let transcript = stage.transcript(MAIN).await.unwrap();
    let messages = transcript.branch().into_iter().filter_map(|entry| entry.message());
    messages.filter(|message| message.text_field("role") == Some("toolResult")).collect()
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_answer_are_made_side_by_side_and_answered_in_their_order() {
    let (first, second) = (gate(), gate());
    let slow =
        Arc::new(Probe::new("slow", Effect::None).held_by(&first).answering(|_| ToolOutput::text("slow")));
    let quick =
        Arc::new(Probe::new("quick", Effect::None).held_by(&second).answering(|_| ToolOutput::text("quick")));
    let stage = with_tools(vec![slow.clone(), quick.clone()]);
    let engine = stage.engine();
    stage.model.will([Line::Call(vec![
        ("slow".into(), json!({"word": "a"})),
        ("quick".into(), json!({"word": "b"})),
    ])]);
    let ticket = accepted(&engine, direct("both")).await;
    eventually("both are called", || slow.count() + quick.count() == 2).await;
    second.add_permits(1);
    tokio::task::yield_now().await;
    first.add_permits(1);
    ticket.done.await.unwrap();
    let results: Vec<String> = results(&stage).await.iter().map(told).collect();
    assert_eq!(results, ["toolResult: slow", "toolResult: quick"]);
    let given = slow.given.lock().unwrap().clone();
    assert_eq!(given[0].get("word"), Some(&json!("a")));
}

#[tokio::test(start_paused = true)]
async fn what_goes_wrong_with_a_tool_is_told_to_the_model() {
    let failing = Probe::new("failing", Effect::None).answering(|_| ToolOutput::error("no such file"));
    let panicking = Probe::new("panicking", Effect::Lasting).answering(|_| panic!("a bug"));
    let fine = Arc::new(Probe::new("fine", Effect::None));
    let stage = with_tools(vec![Arc::new(failing), Arc::new(panicking), fine.clone()]);
    let engine = stage.engine();
    stage.model.will([
        Line::Call(vec![
            ("nobody".into(), json!({})),
            ("fine".into(), json!("not an object")),
            ("failing".into(), json!({})),
            ("panicking".into(), json!({})),
        ]),
        Line::say("I see"),
    ]);
    let report = say(&engine, direct("try")).await;
    assert_eq!((report.outcome, texts(&report)), (Outcome::Answered, vec!["I see".to_owned()]));
    let results = results(&stage).await;
    let expected = [
        "There is no tool \"nobody\" here.",
        "The arguments could not be read: they are not a JSON object. Make the call again with one.",
        "no such file",
        "The tool failed. It may or may not have done its work.",
    ];
    for (result, expected) in results.iter().zip(expected) {
        assert_eq!(told(result), format!("toolResult: {expected}"));
        assert_eq!(result.get("isError"), Some(&json!(true)));
        assert!(result.text_field("toolCallId").is_some_and(|id| id.starts_with("call_")));
    }
    assert_eq!((results.len(), fine.count()), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_takes_too_long_is_given_up() {
    let probe = Arc::new(Probe::new("probe", Effect::Lasting).held_by(&gate()));
    let stage = with_tools(vec![probe.clone()]);
    let engine = stage.engine();
    stage.model.will([Line::call("probe", json!({}))]);
    let mut heard = direct("wait for it");
    heard.options.timeout_ms = Some(30_000);
    let began = tokio::time::Instant::now();
    let report = say(&engine, heard).await;
    assert_eq!(began.elapsed().as_secs(), 30);
    assert!(told(&results(&stage).await[0]).contains("took too long and was given up"));
    assert!(
        report.outcome == Outcome::Failed && texts(&report)[0].contains("no answer in time"),
        "{report:?}"
    );
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn stopping_a_run_gives_up_its_tools() {
    let probe = Arc::new(Probe::new("probe", Effect::Lasting).held_by(&gate()));
    let stage = with_tools(vec![probe.clone()]);
    let engine = stage.engine();
    stage.model.will([Line::call("probe", json!({}))]);
    let ticket = accepted(&engine, direct("go")).await;
    eventually("the tool is called", || probe.count() == 1).await;
    say(&engine, direct("/stop")).await;
    assert_eq!(ticket.done.await.unwrap().outcome, Outcome::Aborted);
    assert!(told(&results(&stage).await[0]).contains("The user stopped this call"));
    assert_eq!(stage.model.asked().len(), 1);
    say(&engine, direct("what happened?")).await;
    assert!(stage.model.last_heard()[2].contains("The user stopped this call"));
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_may_leave_something_behind_is_on_record_before_it_is_made() {
    use yabby_domain::seam::journal::Promise;
    for (effect, promise) in [(Effect::Lasting, Promise::Durable), (Effect::None, Promise::Written)] {
        let held = gate();
        let probe = Arc::new(Probe::new("probe", effect).held_by(&held));
        let stage = with_tools(vec![probe.clone()]);
        let engine = stage.engine();
        stage.model.will([Line::call("probe", json!({}))]);
        let ticket = accepted(&engine, direct("go")).await;
        eventually("the tool is called", || probe.count() == 1).await;
        let records = stage.journal.records();
        assert!(matches!(&records.last().unwrap().step, Step::ToolBegun { tool, .. } if tool == "probe"));
        assert_eq!(stage.journal.promises().last(), Some(&promise));
        held.add_permits(1);
        ticket.done.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_may_refuse_a_call_or_change_it() {
    let object = |value: Value| match value {
        Value::Object(object) => object,
        _ => Object::new(),
    };
    let answer = move |event: &yabby_engine::hooks::HookEvent| match event {
        yabby_engine::hooks::HookEvent::BeforeToolCall { params, .. }
            if params.get("word") == Some(&json!("bad")) =>
        {
            HookAnswer::ToolCall(ToolCallChange { block: Some("not that".to_owned()), params: None })
        }
        yabby_engine::hooks::HookEvent::BeforeToolCall { .. } => HookAnswer::ToolCall(ToolCallChange {
            params: Some(object(json!({"word": "changed"}))),
            block: None,
        }),
        _ => HookAnswer::Nothing,
    };
    let guard =
        Arc::new(Ear::new("guard", &[HookPoint::BeforeToolCall, HookPoint::AfterToolCall]).answering(answer));
    let probe = Arc::new(Probe::new("probe", Effect::None));
    let stage = Stage { hooks: vec![guard.clone()], ..with_tools(vec![probe.clone()]) };
    let engine = stage.engine();
    stage.model.will([Line::Call(vec![
        ("probe".into(), json!({"word": "bad"})),
        ("probe".into(), json!({"word": "good"})),
    ])]);
    say(&engine, direct("go")).await;
    let said: Vec<String> = results(&stage).await.iter().map(told).collect();
    assert_eq!(said, ["toolResult: The call was refused: not that", "toolResult: done"]);
    let given = probe.given.lock().unwrap().clone();
    assert_eq!(given, [json!({"word": "changed"}).as_object().unwrap().clone()]);
    eventually("the hook is told", || guard.events().len() == 3).await;
    let after = guard.events().into_iter().find(|event| event["hook"] == "after_tool_call").unwrap();
    assert_eq!((&after["params"], &after["error"]), (&json!({"word": "changed"}), &Value::Null));
    assert_eq!(after["result"], json!({"content": [{"type": "text", "text": "done"}]}));
}

#[tokio::test(start_paused = true)]
async fn a_hook_may_change_what_is_kept_of_a_result() {
    let redact = |event: &yabby_engine::hooks::HookEvent| match event {
        yabby_engine::hooks::HookEvent::ToolResultPersist { message, .. } => {
            let mut message = message.clone();
            message.set("content", vec![yabby_domain::message::text_block("[redacted]")]);
            HookAnswer::ToolResult(message)
        }
        _ => HookAnswer::Nothing,
    };
    let hook = Arc::new(Ear::new("redact", &[HookPoint::ToolResultPersist]).answering(redact));
    let probe = Probe::new("probe", Effect::None).answering(|_| ToolOutput::text("the password is tiger"));
    let stage = Stage { hooks: vec![hook], ..with_tools(vec![Arc::new(probe)]) };
    let engine = stage.engine();
    stage.model.will([Line::call("probe", json!({}))]);
    say(&engine, direct("look")).await;
    assert_eq!(told(&results(&stage).await[0]), "toolResult: [redacted]");
    assert!(!format!("{:?}", stage.model.asked()[1].messages).contains("tiger"));
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_has_sent_is_not_sent_again() {
    let sender = |to: &'static str| {
        Probe::new("message", Effect::Lasting).answering(move |_| ToolOutput {
            sent: vec![Sent {
                text: "The train leaves at nine tomorrow".to_owned(),
                target: SentTarget {
                    provider: "telegram".to_owned(),
                    to: Some(to.to_owned()),
                    account: None,
                },
            }],
            ..ToolOutput::text("sent")
        })
    };
    // To the very place that the reply would go to: nothing is left to say.
    let stage = with_tools(vec![Arc::new(sender("7"))]);
    let engine = stage.engine();
    stage.model.will([Line::call("message", json!({})), Line::say("I told you when the train leaves.")]);
    let report = say(&engine, direct("when does it leave?")).await;
    assert_eq!((report.outcome, stage.channel.texts().len()), (Outcome::Answered, 0), "{report:?}");
    // To somebody else: only a repetition is left out.
    let stage = with_tools(vec![Arc::new(sender("9"))]);
    let engine = stage.engine();
    stage.model.will([
        Line::call("message", json!({})),
        Line::say("The train leaves at nine tomorrow"),
        Line::call("message", json!({})),
        Line::say("I told Bo when it leaves, as you asked."),
    ]);
    say(&engine, direct("tell Bo")).await;
    assert!(stage.channel.texts().is_empty());
    say(&engine, direct("again")).await;
    assert_eq!(stage.channel.texts(), ["I told Bo when it leaves, as you asked."]);
}

#[tokio::test(start_paused = true)]
async fn details_of_a_result_are_kept_and_a_tool_knows_who_asks() {
    let probe = Probe::new("probe", Effect::None)
        .answering(|_| ToolOutput { details: Some(json!({"rows": 3})), ..ToolOutput::text("three rows") });
    let stage = with_tools(vec![Arc::new(probe)]);
    let engine = stage.engine();
    stage.model.will([Line::call("probe", json!({}))]);
    say(&engine, direct("count")).await;
    assert_eq!(results(&stage).await[0].get("details"), Some(&json!({"rows": 3})));
    assert!(engine.idle(Duration::from_secs(1)).await);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_asks_for_tools_without_end_is_stopped_with_a_reason() {
    let probe = Arc::new(Probe::new("probe", Effect::None));
    let stage = Stage { tools: vec![probe.clone()], ..Stage::new(json!({"tools": {"maxRounds": 3}})) };
    let engine = stage.engine();
    stage.model.will((0..5).map(|_| Line::call("probe", json!({}))));
    let report = say(&engine, direct("loop")).await;
    assert_eq!((report.outcome, probe.count()), (Outcome::Failed, 3));
    assert!(texts(&report).concat().contains("`tools.maxRounds`"), "{:?}", texts(&report));
    // Every call has a result, so that the conversation goes on.
    let results = results(&stage).await;
    assert_eq!(results.len(), 4);
    assert!(told(&results[3]).contains("This call was not made."), "{:?}", told(&results[3]));
}
