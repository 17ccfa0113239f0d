//! The `claude` program, and a stand-in for it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use yabby_domain::directive::level::ThinkLevel;
use yabby_domain::message::{Message, text_block};
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::{
    Answer, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, Purpose,
};
use yabby_domain::transcript::context::COMPACTION_INTRO;
use yabby_models::claude_cli::{ClaudeCli, ClaudeCliSettings, Memory};
use yabby_testkit::stage::{Stage, direct, eventually, say, texts};

const SESSION: &str = "0a1b2c3d-0000-4000-8000-000000000000";

struct Program {
    folder: TempDir,
    runs: usize,
}

impl Program {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), runs: 0 }
    }

    fn provider(&self, memory: Memory) -> ClaudeCli {
        let stand_in = self.folder.path().to_str().unwrap().to_owned();
        ClaudeCli::new(ClaudeCliSettings {
            program: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/claude_stand_in.sh"),
            set_variables: vec![("STAND_IN".to_owned(), stand_in.into())],
            memory,
            silence: Duration::from_secs(5),
            ..ClaudeCliSettings::default()
        })
    }

    fn put(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// What the next run prints.
    fn will_print(&mut self, lines: &[Value]) {
        self.runs += 1;
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.put(&format!("lines-{}", self.runs), &text);
    }

    fn will_say(&mut self, text: &str) {
        self.will_print(&[
            json!({"type": "system", "subtype": "init", "session_id": SESSION}),
            json!({"type": "assistant", "session_id": SESSION, "message": {"content": [{"type": "text", "text": text}]}}),
            result(text),
        ]);
    }

    /// The session arguments of a run.
    fn session(&self, run: usize) -> Vec<String> {
        let arguments: Vec<String> =
            self.get(&format!("arguments-{run}")).lines().map(str::to_owned).collect();
        let at = arguments.iter().position(|word| word == "--session-id" || word == "--resume");
        at.map(|at| arguments[at..at + 2].to_vec()).unwrap_or_default()
    }
}

fn result(text: &str) -> Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "result": text, "session_id": SESSION,
        "usage": {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 11}})
}

fn request(messages: Value) -> ModelRequest {
    ModelRequest {
        model: ModelRef::new("claude-cli", "opus"),
        system: "You are a crab.".to_owned(),
        messages: messages.as_array().unwrap().iter().cloned().filter_map(Message::from_value).collect(),
        tools: Vec::new(),
        thinking: ThinkLevel::Off,
        max_tokens: None,
        session_id: SESSION.to_owned(),
        profile: None,
        purpose: Purpose::Turn,
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn answered(api: &str, text: &str) -> Value {
    json!({"role": "assistant", "api": api, "provider": api, "model": "opus", "content": [{"type": "text", "text": text}]})
}

async fn ask(provider: &ClaudeCli, messages: Value) -> (Vec<ModelEvent>, Result<Answer, ModelError>) {
    let mut heard = Vec::new();
    let answer = provider.stream(&request(messages), &mut |event| heard.push(event)).await;
    (heard, answer)
}

#[tokio::test]
async fn it_is_asked_in_print_mode_and_metered() {
    let mut program = Program::new();
    program.will_say("Hello.");
    let provider = program.provider(Memory::Own);
    assert!(provider.describe("opus").unwrap().keeps_own_context);
    let (heard, answer) = ask(&provider, json!([user("hi")])).await;
    let answer = answer.unwrap();
    assert_eq!(heard, [ModelEvent::Text("Hello.".into())]);
    assert_eq!(answer.blocks, [text_block("Hello.")]);
    assert_eq!(answer.cli_session_id.as_deref(), Some(SESSION));
    let usage = answer.usage;
    let found = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total];
    assert_eq!(found, [3.0, 5.0, 7.0, 11.0, 26.0].map(Some));
    let expected = format!(
        "--print\n--output-format\nstream-json\n--verbose\n--include-partial-messages\n--model\nopus\n--append-system-prompt\nYou are a crab.\n--session-id\n{SESSION}\n"
    );
    assert_eq!(program.get("arguments-1"), expected);
    assert_eq!(program.get("prompt-1"), "hi");
    assert!(!program.get("environment-1").contains("ANTHROPIC_API_KEY="));
}

#[tokio::test]
async fn its_session_goes_on_and_it_is_told_what_it_missed() {
    let mut program = Program::new();
    let provider = program.provider(Memory::Own);
    program.will_say("two");
    ask(&provider, json!([user("one?"), answered("claude-cli", "one"), user("two?")])).await.1.unwrap();
    assert_eq!(program.session(1), ["--resume", SESSION]);
    assert_eq!(program.get("prompt-1"), "two?");

    // Another model answered meanwhile.
    program.will_say("three");
    let messages = json!([
        user("one?"),
        answered("claude-cli", "one"),
        user("two?"),
        answered("openai", "zwei"),
        user("three?")
    ]);
    ask(&provider, messages).await.1.unwrap();
    assert_eq!(program.session(2), ["--resume", SESSION]);
    let prompt = program.get("prompt-2");
    assert!(prompt.contains("User: two?\n\nAssistant: zwei") && prompt.ends_with("three?"), "{prompt}");
    assert!(!prompt.contains("one"), "{prompt}");
}

#[tokio::test]
async fn a_session_that_is_gone_is_begun_again_with_everything() {
    let mut program = Program::new();
    let provider = program.provider(Memory::Own);
    program.will_print(&[json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
        "errors": [format!("No conversation found with session ID: {SESSION}")]})]);
    program.will_say("two");
    ask(&provider, json!([user("one?"), answered("claude-cli", "one"), user("two?")])).await.1.unwrap();
    assert_eq!(program.session(1), ["--resume", SESSION]);
    assert_eq!(program.session(2), ["--session-id", SESSION]);
    let prompt = program.get("prompt-2");
    assert!(prompt.contains("User: one?\n\nAssistant: one") && prompt.ends_with("two?"), "{prompt}");
}

#[tokio::test]
async fn a_session_that_was_begun_and_aborted_goes_on() {
    let mut program = Program::new();
    let provider = program.provider(Memory::Own);
    program.will_print(&[]);
    program.put("errors-1", &format!("Error: Session ID {SESSION} is already in use.\n"));
    program.put("exit-1", "1");
    program.will_say("two");
    ask(&provider, json!([user("one?"), user("two?")])).await.1.unwrap();
    assert_eq!(
        (program.session(1), program.get("prompt-1")),
        (vec!["--session-id".into(), SESSION.into()], "one?\n\ntwo?".into())
    );
    assert_eq!(
        (program.session(2), program.get("prompt-2")),
        (vec!["--resume".into(), SESSION.into()], "two?".into())
    );
}

#[tokio::test]
async fn a_compaction_begins_a_new_session() {
    let mut program = Program::new();
    let provider = program.provider(Memory::Own);
    let summary = user(&format!("{COMPACTION_INTRO}It was about crabs.\n</summary>"));
    for _ in 0..2 {
        program.will_say("ok");
    }
    ask(&provider, json!([summary, user("and?")])).await.1.unwrap();
    let begun = program.session(1);
    assert_eq!(begun[0], "--session-id");
    assert_ne!(begun[1], SESSION);
    assert!(program.get("prompt-1").contains("It was about crabs."));
    ask(&provider, json!([summary, user("and?"), answered("claude-cli", "ok"), user("then?")]))
        .await
        .1
        .unwrap();
    assert_eq!(program.session(2), ["--resume", &begun[1]]);
    assert_eq!(program.get("prompt-2"), "then?");
}

#[tokio::test]
async fn without_a_memory_it_is_told_everything_each_time() {
    let mut program = Program::new();
    let provider = program.provider(Memory::None);
    assert!(!provider.describe("opus").unwrap().keeps_own_context);
    program.will_say("two");
    let messages = json!([user("one?"), answered("claude-cli", "one"), user("two?")]);
    let answer = ask(&provider, messages).await.1.unwrap();
    assert_eq!(answer.cli_session_id, None);
    assert!(program.session(1).is_empty());
    assert!(program.get("prompt-1").contains("Assistant: one"));
}

#[tokio::test]
async fn a_summary_is_no_part_of_its_session() {
    let mut program = Program::new();
    let provider = program.provider(Memory::Own);
    program.will_say("a summary");
    let request = ModelRequest { purpose: Purpose::Summary, ..request(json!([user("sum up")])) };
    provider.stream(&request, &mut |_| {}).await.unwrap();
    assert!(program.session(1).is_empty());
}

#[tokio::test]
async fn words_are_heard_as_they_are_written_and_helpers_are_not() {
    let mut program = Program::new();
    let provider = program.provider(Memory::Own);
    let piece = |delta: Value| json!({"type": "stream_event", "event": {"type": "content_block_delta", "index": 0, "delta": delta}});
    let text = |text: &str| piece(json!({"type": "text_delta", "text": text}));
    let message =
        |text: &str| json!({"type": "assistant", "message": {"content": [{"type": "text", "text": text}]}});
    let mut helper = message("psst");
    helper["parent_tool_use_id"] = "toolu_1".into();
    program.will_print(&[
        piece(json!({"type": "thinking_delta", "thinking": "Hm."})),
        text("I loo"),
        text("k."),
        message("I look."),
        json!({"type": "user", "message": {"content": [{"type": "tool_result", "content": "x"}]}}),
        helper,
        text("A crab 🦀"),
        message("A crab 🦀"),
        result("A crab 🦀"),
    ]);
    let (heard, answer) = ask(&provider, json!([user("?")])).await;
    let texts = ["I loo", "k.", "\n\n", "A crab 🦀"].map(|text| ModelEvent::Text(text.into()));
    assert_eq!(heard[0], ModelEvent::Thinking("Hm.".into()));
    assert_eq!(heard[1..], texts);
    assert_eq!(answer.unwrap().blocks, [text_block("I look."), text_block("A crab 🦀")]);
}

#[tokio::test]
async fn what_goes_wrong_is_told_with_the_remedy() {
    let error_result =
        |words: &str| json!({"type": "result", "subtype": "success", "is_error": true, "result": words});
    let limited = ModelErrorKind::RateLimited { retry_after: None };
    let table = [
        (Some(error_result("Invalid API key · Please run /login")), "", ModelErrorKind::Auth, "log in"),
        (Some(error_result("Prompt is too long")), "", ModelErrorKind::ContextOverflow, "/new"),
        (Some(error_result("Claude AI usage limit reached|1760000000")), "", limited, "later"),
        (Some(error_result("API Error: 529 overloaded_error")), "", ModelErrorKind::Overloaded, "try again"),
        (None, "error: unknown option '--session-id'", ModelErrorKind::Unavailable, "claude update"),
        (None, "node: not happy", ModelErrorKind::Broken, "“node: not happy”"),
        (None, "", ModelErrorKind::Broken, "ended without an answer"),
    ];
    for (line, errors, kind, words) in table {
        let mut program = Program::new();
        program.will_print(line.as_slice());
        program.put("errors-1", errors);
        program.put("exit-1", "1");
        let error = ask(&program.provider(Memory::Own), json!([user("?")])).await.1.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        assert!(error.message.contains(words), "{error}");
        assert!(!error.message.contains('\n'), "{error}");
    }
    let settings =
        ClaudeCliSettings { program: PathBuf::from("/nowhere/claude"), ..ClaudeCliSettings::default() };
    let error = ask(&ClaudeCli::new(settings), json!([user("?")])).await.1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unavailable);
    assert!(error.message.contains("is not installed"), "{error}");
}

/// Whether a process is there and not only waiting to be taken note of.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn whoever_stops_waiting_ends_it_with_everything_it_started() {
    let mut program = Program::new();
    program.will_print(&[]);
    program.put("hang-1", "");
    let provider = program.provider(Memory::Own);
    let asking = tokio::spawn(async move { ask(&provider, json!([user("?")])).await.1 });
    let child = || program.get("child").trim().to_owned();
    eventually("it starts a child", || is_alive(&child())).await;
    let child = child();
    asking.abort();
    eventually("the child is gone", || !is_alive(&child)).await;
}

#[tokio::test]
async fn a_program_that_says_nothing_is_not_waited_for_for_ever() {
    let mut program = Program::new();
    program.will_print(&[]);
    program.put("hang-1", "");
    let settings = ClaudeCliSettings {
        program: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/claude_stand_in.sh"),
        set_variables: vec![("STAND_IN".into(), program.folder.path().to_str().unwrap().into())],
        silence: Duration::from_millis(300),
        ..ClaudeCliSettings::default()
    };
    let error = ask(&ClaudeCli::new(settings), json!([user("?")])).await.1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::TimedOut);
}

#[tokio::test]
async fn the_engine_writes_its_turns_down_like_any_others() {
    let mut program = Program::new();
    let mut stage = Stage::new(json!({}));
    stage.providers.push(Arc::new(program.provider(Memory::Own)));
    stage.default_model = ModelRef::new("claude-cli", "opus");
    let engine = stage.engine();
    program.will_say("one");
    program.will_say("two");
    assert_eq!(texts(&say(&engine, direct("first")).await), ["one"]);
    assert_eq!(texts(&say(&engine, direct("second")).await), ["two"]);
    let key = "agent:main:main";
    let entry = stage.entry(key).await;
    assert_eq!(entry.claude_cli_session_id(), Some(SESSION));
    let begun = program.session(1);
    assert_eq!(begun[0], "--session-id");
    assert_eq!(program.session(2), ["--resume", &begun[1]]);
    assert!(program.get("prompt-2").ends_with("second") && !program.get("prompt-2").contains("first"));
    let said = stage.said(key).await;
    assert!(
        said.iter().any(|line| line == "assistant: one") && said.last().unwrap() == "assistant: two",
        "{said:?}"
    );
    assert_eq!(stage.calls.calls().len(), 2);
}
