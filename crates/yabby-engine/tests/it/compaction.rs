//! Long conversations: memory flush, compaction, overflow (`sessions.md` §14, `transcripts.md` §6).

use std::sync::Arc;

use serde_json::{Value, json};
use yabby_domain::seam::model::{ModelRequest, Purpose};
use yabby_domain::seam::tool::{Effect, ToolOutput};
use yabby_domain::transcript::entry::EntryKind;
use yabby_domain::turn::Outcome;
use yabby_engine::events::EventKind;
use yabby_engine::hooks::{CompactionChange, HookAnswer, HookEvent, HookPoint};
use yabby_testkit::scripted_model::{Line, ScriptedModel, told};
use yabby_testkit::stage::{Stage, direct, say, texts};

use crate::props::{Ear, MAIN, Probe, assert_settled};

fn small(window: u64, config: Value) -> Stage {
    Stage { model: ScriptedModel::new(window), ..Stage::new(config) }
}

fn purposes(stage: &Stage) -> Vec<&'static str> {
    stage.model.asked().iter().map(|request| request.purpose.as_str()).collect()
}

fn count(stage: &Stage, purpose: Purpose) -> usize {
    stage.model.asked().iter().filter(|request| request.purpose == purpose).count()
}

/// Words that take about so many tokens.
fn words(tokens: usize) -> String {
    "word ".repeat(tokens * 4 / 5)
}

fn size(request: &ModelRequest) -> u64 {
    yabby_domain::compaction::tokens::estimate_all(&request.messages)
}

/// Compactions on the path, newest last.
async fn compactions(stage: &Stage) -> Vec<yabby_domain::json::Object> {
    let transcript = stage.transcript(MAIN).await.unwrap();
    let branch = transcript.branch();
    let found = branch.iter().filter(|entry| entry.kind() == EntryKind::Compaction);
    found.map(|entry| entry.object().clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn memories_are_saved_before_the_history_is_compacted_and_once_per_cycle() {
    let stage = small(8000, json!({}));
    let engine = stage.engine();
    let mut events = engine.subscribe();
    // Flush at 3000, compaction above 4000.
    for _ in 0..2 {
        say(&engine, direct(&words(400))).await;
    }
    assert_eq!(purposes(&stage), ["turn", "turn"]);
    say(&engine, direct(&words(1500))).await;
    assert_eq!(purposes(&stage)[2..], ["flush", "turn"]);
    let flush = &stage.model.asked()[2];
    let asked = told(flush.messages.last().unwrap());
    assert!(asked.contains("memory/2026-02-03.md"), "{asked}");
    assert!(flush.system.contains("Pre-compaction memory flush turn"), "{}", flush.system);
    let entry = stage.entry(MAIN).await;
    assert_eq!((entry.memory_flush_compaction_count(), entry.memory_flush_at().is_some()), (Some(0.0), true));
    // The flush is no part of the conversation.
    assert!(!stage.said(MAIN).await.iter().any(|line| line.contains("memory flush")));
    say(&engine, direct(&words(800))).await;
    assert_eq!(purposes(&stage)[4..], ["summary", "turn"], "the flush was made in this cycle");
    let entry = stage.entry(MAIN).await;
    assert_eq!(entry.compaction_count(), Some(1.0));
    assert_eq!(compactions(&stage).await.len(), 1);
    let full = 2.0 * (400.0 + 400.0 + 1500.0 + 800.0);
    assert!(entry.total_tokens().unwrap() < full - 1500.0, "{:?}", entry.total_tokens());
    let last = stage.model.last_heard();
    assert!(last[0].contains("compacted into the following summary"), "{last:?}");
    let mut seen = Vec::new();
    while let Ok(event) = events.try_recv() {
        match event.kind {
            EventKind::Flushed => seen.push("flushed".to_owned()),
            EventKind::CompactionStarted { overflow } => seen.push(format!("started {overflow}")),
            EventKind::CompactionEnded { compacted, will_retry } => {
                let compacted = compacted.unwrap();
                assert!(compacted.tokens_after < compacted.tokens_before, "{compacted:?}");
                seen.push(format!("ended {will_retry}"));
            }
            _ => {}
        }
    }
    assert_eq!(seen, ["flushed", "started false", "ended false"]);
    let purposes: Vec<&str> = stage.calls.calls().into_iter().map(|call| call.purpose.as_str()).collect();
    assert!(purposes.contains(&"flush") && purposes.contains(&"summary"), "{purposes:?}");
}

#[tokio::test(start_paused = true)]
async fn the_flush_can_be_switched_off() {
    let off = json!({"agents": {"defaults": {"compaction": {"memoryFlush": {"enabled": false}}}}});
    let stage = small(8000, off);
    let engine = stage.engine();
    for _ in 0..8 {
        say(&engine, direct(&words(600))).await;
    }
    assert_eq!(count(&stage, Purpose::Flush), 0);
    assert!(count(&stage, Purpose::Summary) >= 1);
}

#[tokio::test(start_paused = true)]
async fn small_windows_work_for_as_long_as_anybody_talks() {
    for window in [4000, 8000, 16_000] {
        let stage = small(window, json!({}));
        let engine = stage.engine();
        for turn in 0..60 {
            let report = say(&engine, direct(&format!("{turn} {}", words(120)))).await;
            assert_eq!(report.outcome, Outcome::Answered, "{window} {turn}");
        }
        assert_eq!(count(&stage, Purpose::Turn), 60);
        let (summaries, flushes) = (count(&stage, Purpose::Summary), count(&stage, Purpose::Flush));
        // A turn takes about 250 tokens, and a compaction frees a quarter of the window at least.
        let most = 60 * 250 / (window as usize / 8);
        assert!((1..=most * 2).contains(&summaries), "{window}: {summaries} summaries");
        let cycles = stage.entry(MAIN).await.compaction_count().unwrap();
        #[expect(clippy::cast_precision_loss, reason = "tests are short")]
        let flushes = flushes as f64;
        assert!(flushes <= cycles + 1.0, "{window}: {flushes} flushes in {cycles} cycles");
        for request in stage.model.asked() {
            assert!(size(&request) < window, "{window}: {}", size(&request));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_overflow_is_flushed_compacted_and_tried_again() {
    let stage = small(20_000, json!({"agents": {"defaults": {"verboseDefault": "on"}}}));
    let engine = stage.engine();
    for _ in 0..6 {
        say(&engine, direct(&words(500))).await;
    }
    let before = stage.model.asked().len();
    stage.model.will([Line::overflow(), Line::say("made it")]);
    let report = say(&engine, direct("and now?")).await;
    assert_eq!(purposes(&stage)[before..], ["turn", "flush", "summary", "turn"]);
    assert_eq!(texts(&report), ["🧹 Auto-compaction complete (count 1).", "made it"]);
    let said = stage.said(MAIN).await;
    assert_eq!(said[said.len() - 2..], ["user: and now?", "assistant: made it"]);
    let entry = stage.entry(MAIN).await;
    assert_eq!((entry.compaction_count(), entry.memory_flush_compaction_count()), (Some(1.0), Some(0.0)));
    let flush = &stage.model.asked()[before + 1];
    assert!(size(flush) <= 11_000, "no more than the model can surely read: {}", size(flush));
}

#[tokio::test(start_paused = true)]
async fn an_overflow_in_the_midst_of_tools_goes_on_with_the_question() {
    let probe = Probe::new("probe", Effect::None).answering(|_| ToolOutput::text(&"r".repeat(4000)));
    let stage = Stage { tools: vec![Arc::new(probe)], ..small(20_000, json!({})) };
    let engine = stage.engine();
    for _ in 0..6 {
        say(&engine, direct(&words(500))).await;
    }
    stage.model.will([Line::call("probe", json!({})), Line::overflow(), Line::say("here you are")]);
    let report = say(&engine, direct("look it up")).await;
    assert_eq!(texts(&report), ["here you are"], "{:?}", purposes(&stage));
    let heard = stage.model.last_heard();
    assert!(heard.last().unwrap().starts_with("toolResult: "), "{heard:#?}");
    assert!(!heard.iter().any(|line| line.contains("memory flush")), "{heard:#?}");
    assert_settled(&stage);
}

#[tokio::test(start_paused = true)]
async fn an_overflow_that_never_ends_is_a_clear_error() {
    let stage = small(20_000, json!({}));
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    stage.model.refuse_over(0);
    let report = say(&engine, direct("and now?")).await;
    assert_eq!(report.outcome, Outcome::Failed);
    assert!(texts(&report)[0].contains("too long for the model, even after it was compacted"), "{report:?}");
    assert!(stage.model.asked().len() < 20, "{:?}", purposes(&stage));
    assert_settled(&stage);
    let transcript = stage.transcript(MAIN).await.unwrap();
    assert_eq!(transcript.leaf().unwrap().message().unwrap().stop_reason(), Some("error"));
}

#[tokio::test(start_paused = true)]
async fn a_huge_tool_result_is_trimmed_when_nothing_else_helps() {
    let huge = Probe::new("probe", Effect::None).answering(|_| ToolOutput::text(&"r".repeat(100_000)));
    let stage = Stage { tools: vec![Arc::new(huge)], ..small(20_000, json!({})) };
    let engine = stage.engine();
    stage.model.refuse_over(20_000);
    stage.model.will([Line::call("probe", json!({})), Line::say("enough")]);
    assert_eq!(texts(&say(&engine, direct("read it")).await), ["enough"]);
    let last = stage.model.asked().into_iter().rfind(|request| request.purpose == Purpose::Turn).unwrap();
    assert!(size(&last) < 20_000, "{} {:?}", size(&last), purposes(&stage));
    assert!(format!("{:?}", last.messages).contains("characters left out"), "{:?}", purposes(&stage));
}

#[tokio::test(start_paused = true)]
async fn a_hook_may_cancel_a_compaction_or_write_the_summary() {
    let write = |event: &HookEvent| match event {
        HookEvent::SessionBeforeCompact { .. } => HookAnswer::Compaction(CompactionChange::Summary {
            summary: "my own words".to_owned(),
            details: Some(json!({"by": "hook"})),
        }),
        _ => HookAnswer::Nothing,
    };
    let hook = Arc::new(
        Ear::new(
            "writer",
            &[HookPoint::SessionBeforeCompact, HookPoint::BeforeCompaction, HookPoint::AfterCompaction],
        )
        .answering(write),
    );
    let stage = Stage { hooks: vec![hook.clone()], ..small(100_000, json!({})) };
    let engine = stage.engine();
    for _ in 0..12 {
        say(&engine, direct(&words(1200))).await;
    }
    let told = say(&engine, direct("/compact")).await;
    assert!(texts(&told)[0].starts_with("⚙️ Compacted: "), "{told:?}");
    let entry = compactions(&stage).await.pop().unwrap();
    assert_eq!(
        (&entry["summary"], &entry["fromHook"], &entry["details"]),
        (&json!("my own words"), &json!(true), &json!({"by": "hook"}))
    );
    assert_eq!(count(&stage, Purpose::Summary), 0);
    yabby_testkit::stage::eventually("the hooks are told", || {
        let points: Vec<Value> = hook.events().iter().map(|event| event["hook"].clone()).collect();
        points.contains(&json!("before_compaction")) && points.contains(&json!("after_compaction"))
    })
    .await;

    let cancel = |_: &HookEvent| HookAnswer::Compaction(CompactionChange::Cancel);
    let hook = Arc::new(Ear::new("no", &[HookPoint::SessionBeforeCompact]).answering(cancel));
    let stage = Stage { hooks: vec![hook], ..small(100_000, json!({})) };
    let engine = stage.engine();
    for _ in 0..12 {
        say(&engine, direct(&words(1200))).await;
    }
    let told = say(&engine, direct("/compact")).await;
    assert_eq!(texts(&told), ["⚙️ Not compacted: a hook cancelled the compaction."]);
    assert!(compactions(&stage).await.is_empty());
    // A compaction that nobody allows does not keep anybody from being answered.
    for _ in 0..12 {
        assert_eq!(say(&engine, direct(&words(1200))).await.outcome, Outcome::Answered);
    }
}

#[tokio::test(start_paused = true)]
async fn compact_heeds_what_it_is_told_to() {
    let stage = small(100_000, json!({}));
    let engine = stage.engine();
    let told = say(&engine, direct("/compact")).await;
    assert!(texts(&told)[0].starts_with("⚙️ Not compacted: there is nothing to compact"), "{told:?}");
    say(&engine, direct("hi")).await;
    let told = say(&engine, direct("/compact")).await;
    assert!(texts(&told)[0].starts_with("⚙️ Not compacted: the conversation is short: its "), "{told:?}");
    for _ in 0..12 {
        say(&engine, direct(&words(1200))).await;
    }
    say(&engine, direct("/compact the colours")).await;
    let summary =
        stage.model.asked().into_iter().find(|request| request.purpose == Purpose::Summary).unwrap();
    assert!(summary.messages.iter().map(told_of).any(|line| line.contains("Additional focus: the colours")));
    assert_eq!(stage.entry(MAIN).await.compaction_count(), Some(1.0));
}

fn told_of(message: &yabby_domain::message::Message) -> String {
    told(message)
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_is_too_long_is_written_of_the_newer_half() {
    let stage = small(100_000, json!({}));
    let engine = stage.engine();
    for _ in 0..12 {
        say(&engine, direct(&words(1200))).await;
    }
    let before = stage.model.asked().len();
    stage.model.will_aside([Line::overflow(), Line::overflow(), Line::say("short")]);
    let told = say(&engine, direct("/compact")).await;
    assert!(texts(&told)[0].starts_with("⚙️ Compacted"), "{told:?} {:?}", purposes(&stage));
    let sizes: Vec<u64> = stage.model.asked()[before..].iter().map(size).collect();
    let (first, second) = sizes.split_at(sizes.len() / 2);
    assert!(first.iter().max() > second.iter().max(), "{sizes:?}");
    let summary = compactions(&stage).await.pop().unwrap()["summary"].as_str().unwrap().to_owned();
    assert!(summary.contains("oldest messages were too long to be read"), "{summary}");
}

#[tokio::test(start_paused = true)]
async fn what_is_certainly_too_long_for_a_model_is_not_sent_to_it() {
    let stage = small(100_000, json!({}));
    let engine = stage.engine();
    for _ in 0..12 {
        say(&engine, direct(&words(1200))).await;
    }
    // A model that reads less goes on with it.
    let window = 4000;
    let stage = Stage { model: ScriptedModel::new(window), ..stage };
    let report = say(&stage.engine(), direct("hello")).await;
    assert_eq!(report.outcome, Outcome::Answered, "{report:?} {:?}", purposes(&stage));
    let sizes: Vec<u64> = stage.model.asked().iter().map(size).collect();
    assert!(
        sizes.len() >= 3 && sizes.iter().all(|size| *size <= 2 * window),
        "{:?} {sizes:?}",
        purposes(&stage)
    );
    assert_eq!(compactions(&stage).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_long_alone_does_not_block_the_session_for_ever() {
    // The provider refuses what does not fit.
    let stage = small(8000, json!({}));
    stage.model.refuse_over(8000);
    let engine = stage.engine();
    say(&engine, direct("hello")).await;
    let report = say(&engine, direct(&words(20_000))).await;
    assert_eq!(report.outcome, Outcome::Failed);
    let report = say(&engine, direct("never mind")).await;
    assert_eq!(report.outcome, Outcome::Answered, "{report:?} {:?}", purposes(&stage));
}

#[tokio::test(start_paused = true)]
async fn a_flush_that_fails_does_not_fail_the_turn() {
    let stage = small(8000, json!({}));
    let engine = stage.engine();
    say(&engine, direct(&words(1200))).await;
    let busy = || Line::Fail(yabby_domain::seam::model::ModelErrorKind::Overloaded, "busy".to_owned());
    stage.model.will_aside([busy()]);
    let report = say(&engine, direct(&words(450))).await;
    assert_eq!(report.outcome, Outcome::Answered);
    assert_eq!(purposes(&stage), ["turn", "flush", "turn"]);
    assert_eq!(stage.entry(MAIN).await.memory_flush_compaction_count(), None, "it is tried again");
    say(&engine, direct("hm")).await;
    assert_eq!(purposes(&stage)[3..], ["flush", "turn"]);
}
