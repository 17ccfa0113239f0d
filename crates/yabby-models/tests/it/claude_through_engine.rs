//! Conversations with the `claude` program, through the engine: its session goes on as long as ours does,
//! and its turns are written down, metered, flushed and compacted like any others.

use std::sync::Arc;

use serde_json::json;
use yabby_domain::ledger::Purpose;
use yabby_domain::model::ModelRef;
use yabby_domain::session::cli_session;
use yabby_models::claude_cli::Memory;
use yabby_testkit::stage::{Stage, direct, say, texts};

use crate::claude::Program;

const KEY: &str = "agent:main:main";
/// Sessions of the program's.
const FIRST: &str = "0a1b2c3d-0000-4000-8000-000000000001";
const SECOND: &str = "0a1b2c3d-0000-4000-8000-000000000002";

fn stage(program: &Program, memory: Memory) -> Stage {
    let mut stage = Stage::new(json!({}));
    stage.providers.push(Arc::new(program.provider(memory)));
    stage.default_model = ModelRef::new("claude-cli", "opus");
    stage
}

async fn on_record(stage: &Stage) -> Option<String> {
    cli_session::stored(&stage.entry(KEY).await, "claude-cli").map(str::to_owned)
}

#[tokio::test]
async fn its_session_goes_on_after_a_restart() {
    let mut program = Program::new();
    let before = stage(&program, Memory::Own);
    program.will_say_in(FIRST, "one", 3);
    assert_eq!(texts(&say(&before.engine(), direct("first")).await), ["one"]);
    assert_eq!(on_record(&before).await.as_deref(), Some(FIRST));

    // Another process: nothing remains but what was written down.
    let mut after = before.killed();
    after.providers = vec![Arc::new(program.provider(Memory::Own))];
    let engine = after.engine();
    program.will_say_in(SECOND, "two", 3);
    program.will_say_in(SECOND, "three", 3);
    assert_eq!(texts(&say(&engine, direct("second")).await), ["two"]);
    assert_eq!(program.session(2), ["--resume", FIRST]);
    assert!(program.get("prompt-2").ends_with("second") && !program.get("prompt-2").contains("first"));

    // It may go on under another id.
    assert_eq!(texts(&say(&engine, direct("third")).await), ["three"]);
    assert_eq!(program.session(3), ["--resume", SECOND]);
    let entry = after.entry(KEY).await;
    assert_eq!(entry.claude_cli_session_id(), Some(SECOND));
    let said = after.said(KEY).await;
    let answers: Vec<&str> = said.iter().filter_map(|line| line.strip_prefix("assistant: ")).collect();
    assert_eq!(answers, ["one", "two", "three"]);
    let calls = after.calls.calls();
    assert_eq!(calls.len(), 3);
    assert!(
        calls
            .iter()
            .all(|call| (call.input, call.output, call.cache_read, call.cache_write) == (3, 5, 7, 11))
    );
}

#[tokio::test]
async fn a_reset_begins_a_session_of_its_own_that_knows_nothing() {
    for word in ["/new", "/reset"] {
        let mut program = Program::new();
        let stage = stage(&program, Memory::Own);
        let engine = stage.engine();
        program.will_say_in(FIRST, "Blue.", 3);
        program.will_say_in(SECOND, "Hello.", 3);
        program.will_say_in(SECOND, "Fine.", 3);
        say(&engine, direct("Which colour?")).await;
        say(&engine, direct(word)).await;
        let begun = program.session(2);
        assert_eq!(begun[0], "--session-id", "{word}");
        assert_ne!(begun[1], program.session(1)[1], "{word}");
        assert!(!program.get("prompt-2").contains("colour"), "{word}");
        say(&engine, direct("How are you?")).await;
        assert_eq!(program.session(3), ["--resume", SECOND], "{word}");
        assert_eq!(on_record(&stage).await.as_deref(), Some(SECOND), "{word}");
    }
}

#[tokio::test]
async fn a_full_context_is_flushed_and_compacted_and_its_next_session_knows_the_summary() {
    let mut program = Program::new();
    let mut stage = stage(&program, Memory::Own);
    let workspace = tempfile::TempDir::new().unwrap();
    stage.workspace = workspace.path().to_owned();
    let engine = stage.engine();
    program.will_say_in(FIRST, "one", 3);
    program.will_say_in(FIRST, "two", 190_000);
    say(&engine, direct(&"first ".repeat(16_000))).await;
    say(&engine, direct(&"second ".repeat(16_000))).await;
    program.will_say_in("flush", "NO_REPLY", 3);
    program.will_say_in("summary", "It was about crabs.", 3);
    program.will_say_in(SECOND, "three", 3);
    program.will_say_in(SECOND, "four", 3);
    assert_eq!(texts(&say(&engine, direct("third")).await), ["three"]);

    let purposes: Vec<Purpose> = stage.calls.calls().iter().map(|call| call.purpose).collect();
    assert_eq!(purposes, [Purpose::Turn, Purpose::Turn, Purpose::Flush, Purpose::Summary, Purpose::Turn]);
    // The flush and the summary stand beside its session.
    assert!(program.session(3).is_empty() && program.session(4).is_empty());
    assert!(program.get("prompt-3").contains("Pre-compaction memory flush"), "{}", program.get("prompt-3"));
    assert!(program.get("arguments-3").contains("--permission-mode\nacceptEdits"), "it may write memories");
    assert!(!program.get("arguments-4").contains("acceptEdits"));
    let folder = program.get("folder-3");
    assert_eq!(folder.trim(), workspace.path().canonicalize().unwrap().to_str().unwrap());

    let begun = program.session(5);
    assert_eq!(begun[0], "--session-id");
    assert_ne!(begun[1], program.session(1)[1]);
    let prompt = program.get("prompt-5");
    assert!(prompt.contains("It was about crabs.") && prompt.ends_with("third"), "{prompt}");
    assert!(!prompt.contains("first first"), "what was summarised is not told");
    let entry = stage.entry(KEY).await;
    assert_eq!((entry.compaction_count(), entry.memory_flush_compaction_count()), (Some(1.0), Some(0.0)));
    assert_eq!(on_record(&stage).await.as_deref(), Some(SECOND));
    say(&engine, direct("fourth")).await;
    assert_eq!(program.session(6), ["--resume", SECOND]);
    assert!(program.get("prompt-6").ends_with("fourth") && !program.get("prompt-6").contains("crabs"));
}

#[tokio::test]
async fn a_session_that_overflows_is_compacted_and_asked_again() {
    let mut program = Program::new();
    let stage = stage(&program, Memory::Own);
    let engine = stage.engine();
    program.will_say_in(FIRST, "one", 3);
    program.will_say_in(FIRST, "two", 3);
    say(&engine, direct(&"first ".repeat(16_000))).await;
    say(&engine, direct(&"second ".repeat(16_000))).await;
    program.will_print(&[
        json!({"type": "result", "is_error": true, "result": "Prompt is too long", "session_id": FIRST}),
    ]);
    program.will_say_in("flush", "NO_REPLY", 3);
    program.will_say_in("summary", "It was about crabs.", 3);
    program.will_say_in(SECOND, "three", 3);
    assert_eq!(texts(&say(&engine, direct("third")).await), ["three"]);
    assert_eq!(program.session(3), ["--resume", FIRST]);
    assert_eq!(program.session(6)[0], "--session-id");
    assert!(program.get("prompt-6").contains("It was about crabs."));
}

#[tokio::test]
async fn without_a_memory_of_its_own_it_is_told_the_whole_conversation() {
    let mut program = Program::new();
    let stage = stage(&program, Memory::None);
    let engine = stage.engine();
    program.will_say("Blue.");
    program.will_say("Because.");
    say(&engine, direct("Which colour?")).await;
    assert_eq!(texts(&say(&engine, direct("Why?")).await), ["Because."]);
    assert!(program.session(1).is_empty() && program.session(2).is_empty());
    assert_eq!(on_record(&stage).await, None);
    let prompt = program.get("prompt-2");
    assert!(prompt.starts_with("These are your instructions:"), "{prompt}");
    assert!(prompt.contains("Which colour?") && prompt.contains("Assistant: Blue."), "{prompt}");
    assert!(prompt.ends_with("Why?"), "{prompt}");
    assert_eq!(stage.calls.calls().len(), 2);
}
