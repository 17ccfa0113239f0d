//! The `claude` program, and a stand-in for it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use yabby_domain::message::{Message, text_block};
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::{
    Answer, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, Purpose,
};
use yabby_domain::transcript::context::COMPACTION_INTRO;
use yabby_models::claude_cli::{ClaudeCli, ClaudeCliSettings, Memory};
use yabby_testkit::stage::eventually;

/// A session of ours.
const SESSION: &str = "0a1b2c3d-0000-4000-8000-000000000000";
/// A session of the program's.
const KEPT: &str = "0a1b2c3d-0000-4000-8000-00000000cafe";

pub struct Program {
    pub folder: TempDir,
    runs: usize,
}

impl Program {
    pub fn new() -> Self {
        Self { folder: TempDir::new().unwrap(), runs: 0 }
    }

    pub fn provider(&self, memory: Memory) -> ClaudeCli {
        let stand_in = self.folder.path().to_str().unwrap().to_owned();
        ClaudeCli::new(ClaudeCliSettings {
            program: Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/claude_stand_in.sh"),
            set_variables: vec![("STAND_IN".to_owned(), stand_in.into())],
            memory,
            silence: Duration::from_secs(5),
            ..ClaudeCliSettings::default()
        })
    }

    pub fn put(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    pub fn get(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap_or_default()
    }

    /// What the next run prints.
    pub fn will_print(&mut self, lines: &[Value]) {
        self.runs += 1;
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        self.put(&format!("lines-{}", self.runs), &text);
    }

    pub fn will_say(&mut self, text: &str) {
        self.will_say_in(SESSION, text, 3);
    }

    /// The session that it says it is in, and how many tokens it says it read.
    pub fn will_say_in(&mut self, session: &str, text: &str, read: u64) {
        let mut result = result(text);
        result["session_id"] = session.into();
        result["usage"]["input_tokens"] = read.into();
        self.will_print(&[
            json!({"type": "system", "subtype": "init", "session_id": session}),
            json!({"type": "assistant", "session_id": session, "message": {"content": [{"type": "text", "text": text}]}}),
            result,
        ]);
    }

    /// The session arguments of a run.
    pub fn session(&self, run: usize) -> Vec<String> {
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
    let messages = messages.as_array().unwrap().iter().cloned().filter_map(Message::from_value).collect();
    ModelRequest {
        system: "You are a crab.".to_owned(),
        session_id: SESSION.to_owned(),
        ..ModelRequest::new(ModelRef::new("claude-cli", "opus"), messages)
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

async fn go_on(provider: &ClaudeCli, messages: Value) -> Result<Answer, ModelError> {
    let request = ModelRequest { cli_session: Some(KEPT.to_owned()), ..request(messages) };
    provider.stream(&request, &mut |_| {}).await
}

#[tokio::test]
async fn it_is_asked_in_print_mode_and_metered() {
    let mut program = Program::new();
    program.will_say("Hello.");
    let provider = program.provider(Memory::Own);
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
    let messages = json!([user("one?"), answered("claude-cli", "one"), user("two?")]);
    go_on(&provider, messages).await.unwrap();
    assert_eq!(program.session(1), ["--resume", KEPT]);
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
    go_on(&provider, messages).await.unwrap();
    assert_eq!(program.session(2), ["--resume", KEPT]);
    let prompt = program.get("prompt-2");
    assert!(prompt.contains("User: two?\n\nAssistant: zwei") && prompt.ends_with("three?"), "{prompt}");
    assert!(!prompt.contains("one"), "{prompt}");

    // OpenClaw kept its session, and wrote nothing down.
    program.will_say("one");
    go_on(&provider, json!([user("one?")])).await.unwrap();
    assert_eq!(
        (program.session(3), program.get("prompt-3")),
        (vec!["--resume".into(), KEPT.into()], "one?".into())
    );
}

#[tokio::test]
async fn a_session_that_is_gone_is_begun_again_with_everything() {
    let mut program = Program::new();
    let provider = program.provider(Memory::Own);
    program.will_print(&[json!({"type": "result", "subtype": "error_during_execution", "is_error": true,
        "errors": [format!("No conversation found with session ID: {KEPT}")]})]);
    program.will_say("two");
    let messages = json!([user("one?"), answered("claude-cli", "one"), user("two?")]);
    go_on(&provider, messages).await.unwrap();
    assert_eq!(program.session(1), ["--resume", KEPT]);
    let begun = program.session(2);
    assert_eq!(begun[0], "--session-id");
    assert!(begun[1] != KEPT && begun[1] != SESSION, "what stands under either is not known: {begun:?}");
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
    program.will_say("ok");
    let messages = json!([summary, user("and?"), answered("claude-cli", "so"), user("then?")]);
    ask(&provider, messages).await.1.unwrap();
    let begun = program.session(1);
    assert_eq!(begun[0], "--session-id");
    assert_ne!(begun[1], SESSION);
    let prompt = program.get("prompt-1");
    assert!(prompt.contains("It was about crabs.") && prompt.ends_with("then?"), "{prompt}");
}

#[tokio::test]
async fn what_it_keeps_in_mind_is_what_it_read_last() {
    let mut program = Program::new();
    let message = |read: u64| {
        json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "So."}],
            "usage": {"input_tokens": 1, "cache_read_input_tokens": read, "output_tokens": 1}}})
    };
    let delta = json!({"type": "stream_event", "event": {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 9}}});
    program.will_print(&[message(100), message(200), delta, result("So.")]);
    let usage = ask(&program.provider(Memory::Own), json!([user("?")])).await.1.unwrap().usage;
    assert_eq!((usage.cache_read, usage.total), (Some(7.0), Some(210.0)));
}

#[tokio::test]
async fn without_a_memory_it_is_told_everything_each_time() {
    let mut program = Program::new();
    let provider = program.provider(Memory::None);
    program.will_say("two");
    let messages = json!([user("one?"), answered("claude-cli", "one"), user("two?")]);
    let answer = ask(&provider, messages).await.1.unwrap();
    assert_eq!(answer.cli_session_id, None);
    assert!(program.session(1).is_empty());
    // All of it by standard input, what it is told to heed included.
    let prompt = program.get("prompt-1");
    assert!(prompt.contains("<instructions>\nYou are a crab.\n</instructions>"), "{prompt}");
    assert!(prompt.contains("User: one?\n\nAssistant: one") && prompt.ends_with("two?"), "{prompt}");
    assert!(!program.get("arguments-1").contains("crab"), "{}", program.get("arguments-1"));
}

#[tokio::test]
async fn words_that_are_too_long_for_an_argument_are_told_with_the_question() {
    let mut program = Program::new();
    program.will_say("ok");
    let system = "Heed this. ".repeat(20_000);
    let request = ModelRequest { system: system.clone(), ..request(json!([user("hi")])) };
    program.provider(Memory::Own).stream(&request, &mut |_| {}).await.unwrap();
    let prompt = program.get("prompt-1");
    assert!(prompt.contains(&system) && prompt.ends_with("hi"));
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
