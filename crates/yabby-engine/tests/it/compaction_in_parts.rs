//! `compaction.mode: "safeguard"`: a history that is too long for one request is summarised in parts
//! (`transcripts.md` §6.7).

use serde_json::json;
use yabby_domain::seam::model::{ModelErrorKind, ModelRequest, Purpose};
use yabby_domain::transcript::entry::EntryKind;
use yabby_domain::turn::Outcome;
use yabby_testkit::scripted_model::{Line, ScriptedModel, told};
use yabby_testkit::stage::{Stage, direct, say, texts};

use crate::props::MAIN;

fn stage(window: u64) -> Stage {
    let config = json!({"agents": {"defaults": {"compaction": {
        "mode": "safeguard", "memoryFlush": {"enabled": false},
    }}}});
    Stage { model: ScriptedModel::new(window), ..Stage::new(config) }
}

/// Words that take about so many tokens.
fn words(tokens: usize) -> String {
    "word ".repeat(tokens * 4 / 5)
}

fn summaries(stage: &Stage) -> Vec<ModelRequest> {
    stage.model.asked().into_iter().filter(|request| request.purpose == Purpose::Summary).collect()
}

fn asked(request: &ModelRequest) -> String {
    request.messages.iter().map(told).collect()
}

async fn summary(stage: &Stage) -> String {
    let transcript = stage.transcript(MAIN).await.unwrap();
    let branch = transcript.branch();
    let found = branch.iter().rfind(|entry| entry.kind() == EntryKind::Compaction).expect("it was compacted");
    found.object()["summary"].as_str().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_history_that_fits_has_one_summary() {
    let stage = stage(100_000);
    let engine = stage.engine();
    for _ in 0..12 {
        say(&engine, direct(&words(1200))).await;
    }
    stage.model.will_aside([Line::say("in short")]);
    say(&engine, direct("/compact the colours")).await;
    let [history, turn_prefix] =
        summaries(&stage).try_into().expect("one, and one of the turn that is split");
    assert!(asked(&history).contains("Additional focus: the colours"));
    assert!(!asked(&turn_prefix).contains("Additional focus"));
    assert!(summary(&stage).await.starts_with("in short"));
}

#[tokio::test(start_paused = true)]
async fn a_history_of_many_windows_is_read_to_its_beginning() {
    let long = stage(1_000_000);
    let engine = long.engine();
    say(&engine, direct("the word is xyzzy")).await;
    for _ in 0..20 {
        say(&engine, direct(&words(1000))).await;
    }
    let window = 8000;
    let short = Stage { model: ScriptedModel::new(window), ..long.killed() };
    short.model.refuse_over(window);
    let report = say(&short.engine(), direct("and now?")).await;
    assert_eq!(report.outcome, Outcome::Answered);
    let requests = summaries(&short);
    assert!(requests.len() > 4, "{}", requests.len());
    assert!(asked(&requests[0]).contains("xyzzy"), "the oldest part is read as well");
    let goes_on = |request: &&ModelRequest| asked(request).contains("<previous-summary>");
    assert!(requests.iter().filter(goes_on).count() >= 2, "a part goes on from the one before");
    let merges = |request: &ModelRequest| asked(request).contains("summaries of consecutive parts");
    assert!(requests.iter().any(merges), "the stages become one");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_leaves_a_note() {
    let long = stage(1_000_000);
    let engine = long.engine();
    for said in ["hello", words(9000).as_str(), "a word", "another"] {
        say(&engine, direct(said)).await;
    }
    let short = Stage { model: ScriptedModel::new(8000), ..long.killed() };
    short.model.refuse_over(8000);
    let report = say(&short.engine(), direct("and now?")).await;
    assert_eq!(report.outcome, Outcome::Answered);
    assert!(summary(&short).await.contains("[Large user (~9K tokens) omitted from summary]"));
}

#[tokio::test(start_paused = true)]
async fn a_history_that_nothing_can_be_read_of_is_still_compacted() {
    let stage = stage(100_000);
    let engine = stage.engine();
    for _ in 0..12 {
        say(&engine, direct(&words(1200))).await;
    }
    stage.model.will_aside((0..8).map(|_| Line::overflow()));
    let told = say(&engine, direct("/compact")).await;
    assert!(texts(&told)[0].starts_with("⚙️ Compacted"), "{told:?}");
    assert!(summary(&stage).await.contains("could not be read for a summary"), "{}", summary(&stage).await);
}

/// The reference puts a sentence in the place of the history, whatever went wrong.
#[tokio::test(start_paused = true)]
async fn a_service_that_is_away_costs_no_history() {
    let stage = stage(100_000);
    let engine = stage.engine();
    for _ in 0..12 {
        say(&engine, direct(&words(1200))).await;
    }
    stage.model.will_aside([Line::Fail(ModelErrorKind::Overloaded, "busy".to_owned())]);
    let told = say(&engine, direct("/compact")).await;
    assert!(texts(&told)[0].starts_with("⚙️ Not compacted: the summary was not written"), "{told:?}");
    assert_eq!(stage.entry(MAIN).await.compaction_count().unwrap_or(0.0), 0.0);
}
