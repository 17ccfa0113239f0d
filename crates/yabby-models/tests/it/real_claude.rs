//! The real `claude` program with a stand-in for its service. `YABBY_CLAUDE` says where the program is;
//! without it, there is nothing to test.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use yabby_domain::message::Message;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::{
    Answer, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, Purpose,
};
use yabby_domain::session::cli_session;
use yabby_models::claude_cli::{ClaudeCli, ClaudeCliSettings, Memory};
use yabby_models::settings::ModelSettings;
use yabby_testkit::stage::{self, Stage, eventually};
use yabby_testkit::stand_in::{Format, Piece, Reply, Said, Script, StandIn};

const FORMAT: Format = Format::Anthropic;

struct Real {
    home: TempDir,
    service: StandIn,
    provider: ClaudeCli,
    session: String,
    /// What the record would name.
    kept: Option<String>,
}

impl Real {
    async fn start(memory: Memory, arguments: &[&str]) -> Option<Self> {
        let program = std::env::var_os("YABBY_CLAUDE")?;
        let home = TempDir::new().unwrap();
        let service = StandIn::start().await;
        let work = home.path().join("work");
        std::fs::create_dir(&work).unwrap();
        let variables = [
            ("HOME", home.path().to_str().unwrap()),
            ("CLAUDE_CONFIG_DIR", home.path().join("config").to_str().unwrap()),
            ("ANTHROPIC_BASE_URL", service.address()),
            ("ANTHROPIC_API_KEY", "test-key"),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
            ("CLAUDE_CODE_MAX_RETRIES", "0"),
        ]
        .map(|(name, value)| (name.to_owned(), SecretString::from(value)));
        let provider = ClaudeCli::new(ClaudeCliSettings {
            program: PathBuf::from(program),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            folder: Some(work),
            set_variables: variables.to_vec(),
            memory,
            models: vec![ModelSettings::named("claude-test")],
            silence: Duration::from_secs(60),
            ..ClaudeCliSettings::default()
        });
        Some(Self { home, service, provider, session: uuid::Uuid::new_v4().to_string(), kept: None })
    }

    fn request(&self, messages: Value) -> ModelRequest {
        let messages = messages.as_array().unwrap().iter().cloned().filter_map(Message::from_value).collect();
        ModelRequest {
            system: "You are a crab.".to_owned(),
            session_id: self.session.clone(),
            cli_session: self.kept.clone(),
            ..ModelRequest::new(ModelRef::new("claude-cli", "claude-test"), messages)
        }
    }

    async fn ask(&self, messages: Value) -> (Vec<ModelEvent>, Result<Answer, ModelError>) {
        let mut heard = Vec::new();
        let answer = self.provider.stream(&self.request(messages), &mut |event| heard.push(event)).await;
        (heard, answer)
    }

    /// The messages of the last request.
    fn told(&self) -> String {
        self.service.last_body()["messages"].to_string()
    }
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn answered(text: &str) -> Value {
    json!({"role": "assistant", "api": "claude-cli", "provider": "claude-cli", "content": [{"type": "text", "text": text}]})
}

fn say(text: &'static str) -> Reply {
    FORMAT.answer(&Script::text(&[text]))
}

#[tokio::test]
async fn it_answers_goes_on_and_begins_anew() {
    let Some(mut real) = Real::start(Memory::Own, &[]).await else { return };
    real.service.otherwise(say("Blue."));
    let (heard, answer) = real.ask(json!([user("Which colour?")])).await;
    let answer = answer.unwrap();
    assert_eq!(heard, [ModelEvent::Text("Blue.".into())]);
    assert_eq!(answer.blocks, [yabby_domain::message::text_block("Blue.")]);
    assert_eq!(answer.cli_session_id.as_deref(), Some(real.session.as_str()));
    assert_eq!((answer.usage.cache_read, answer.usage.output), (Some(60.0), Some(20.0)));
    assert!(real.service.last_body()["system"].to_string().contains("You are a crab."));
    assert!(real.told().contains("Which colour?"));

    // It remembers by itself.
    real.kept = answer.cli_session_id;
    real.service.otherwise(say("Because."));
    let messages = json!([user("Which colour?"), answered("Blue."), user("Why?")]);
    let answer = real.ask(messages.clone()).await.1.unwrap();
    assert_eq!(answer.cli_session_id.as_deref(), Some(real.session.as_str()));
    let told = real.told();
    assert!(told.contains("Which colour?") && told.contains("Blue.") && told.contains("Why?"), "{told}");
    assert!(!told.contains("<conversation>"), "{told}");

    // Its memory is lost: it is told everything.
    std::fs::remove_dir_all(real.home.path().join("config")).unwrap();
    real.ask(messages).await.1.unwrap();
    assert!(real.told().contains("<conversation>"), "{}", real.told());

    // A new session of ours is a new one of its own.
    real.session = uuid::Uuid::new_v4().to_string();
    real.kept = None;
    real.ask(json!([user("Hello?")])).await.1.unwrap();
    let told = real.told();
    assert!(told.contains("Hello?") && !told.contains("Which colour?"), "{told}");
}

#[tokio::test]
async fn through_the_engine_it_goes_on_until_a_compaction_or_a_reset() {
    let Some(real) = Real::start(Memory::Own, &[]).await else { return };
    let mut stage = Stage::new(json!({}));
    stage.providers.push(Arc::new(real.provider.clone()));
    stage.default_model = ModelRef::new("claude-cli", "claude-test");
    let kept = async |stage: &Stage| {
        cli_session::stored(&stage.entry("agent:main:main").await, "claude-cli").map(str::to_owned)
    };
    real.service.otherwise(say("Blue."));
    stage::say(&stage.engine(), stage::direct(&format!("Which colour? {}", "sea ".repeat(30_000)))).await;
    let first = kept(&stage).await.unwrap();

    // Another process goes on with what the record names.
    let stage = stage.killed();
    let engine = stage.engine();
    real.service.otherwise(say("Because."));
    let report = stage::say(&engine, stage::direct(&format!("Why? {}", "sand ".repeat(30_000)))).await;
    assert_eq!(stage::texts(&report), ["Because."]);
    assert!(real.told().contains("Which colour?") && !real.told().contains("<conversation>"));
    assert_eq!(kept(&stage).await.unwrap(), first);

    real.service.otherwise(say("It was about crabs."));
    stage::say(&engine, stage::direct("/compact")).await;
    assert_eq!(kept(&stage).await, None);
    stage::say(&engine, stage::direct("And now?")).await;
    let told = real.told();
    assert!(told.contains("It was about crabs.") && told.contains("And now?"), "{told}");
    assert!(!told.contains("Which colour?"), "{told}");
    let second = kept(&stage).await.unwrap();
    assert_ne!(second, first);

    stage::say(&engine, stage::direct("/new Hello?")).await;
    let told = real.told();
    assert!(told.contains("Hello?") && !told.contains("crabs") && !told.contains("now?"), "{told}");
    assert_ne!(kept(&stage).await.unwrap(), second);
}

/// A call of one of its tools.
fn calls(tool: &'static str, arguments: &Value) -> Script {
    let mut call = Script::calls(&[("toolu_1", tool, &[])]);
    if let Some(Said::Call { arguments: pieces, .. }) = call.parts.first_mut() {
        *pieces = vec![arguments.to_string().leak()];
    }
    call
}

#[tokio::test]
async fn it_uses_tools_of_its_own() {
    let Some(real) = Real::start(Memory::None, &["--allowedTools", "Read"]).await else { return };
    let file = real.home.path().join("work/note.txt");
    std::fs::write(&file, "the crab is red").unwrap();
    let mut call = calls("Read", &json!({"file_path": file}));
    call.parts.insert(0, Said::Text(vec!["I look."]));
    real.service.will([FORMAT.answer(&call)]);
    real.service.otherwise(say("Red."));
    let (heard, answer) = real.ask(json!([user("Which colour has the crab?")])).await;
    let answer = answer.unwrap();
    let blocks: Vec<&Value> = answer.blocks.iter().map(|block| &block["text"]).collect();
    assert_eq!(blocks, ["I look.", "Red."]);
    assert_eq!(heard.len(), 3, "{heard:?}");
    assert!(real.told().contains("the crab is red"), "{}", real.told());
}

#[tokio::test]
async fn it_may_write_memories_down_before_a_compaction_and_nothing_otherwise() {
    for (purpose, written) in [(Purpose::Flush, true), (Purpose::Turn, false)] {
        let Some(real) = Real::start(Memory::Own, &[]).await else { return };
        let file = real.home.path().join("work/memory/2026-02-03.md");
        let call = calls("Write", &json!({"file_path": file, "content": "Sam likes crabs."}));
        real.service.will([FORMAT.answer(&call)]);
        real.service.otherwise(say("NO_REPLY"));
        let request = ModelRequest { purpose, ..real.request(json!([user("Store durable memories now.")])) };
        real.provider.stream(&request, &mut |_| {}).await.unwrap();
        assert_eq!(file.exists(), written, "{purpose:?} {}", real.told());
    }
}

#[tokio::test]
async fn it_is_stopped_and_goes_on() {
    let Some(real) = Real::start(Memory::Own, &[]).await else { return };
    real.service.will([say("Wait").then(3, Piece::Wait(Duration::from_secs(60)))]);
    real.service.otherwise(say("Here."));
    {
        let request = real.request(json!([user("First?")]));
        let mut ignore = |_| {};
        let asking = real.provider.stream(&request, &mut ignore);
        tokio::select! {
            _ = asking => panic!("it cannot answer"),
            () = eventually("it asks", || !real.service.seen().is_empty()) => {}
        }
    }
    let (_, answer) = real.ask(json!([user("First?"), user("Second?")])).await;
    assert_eq!(answer.unwrap().blocks[0]["text"], "Here.");
    assert!(real.told().contains("Second?"), "{}", real.told());
}

#[tokio::test]
async fn what_its_service_says_is_understood() {
    let table = [
        (FORMAT.denied("k"), ModelErrorKind::Auth),
        (FORMAT.overflow(), ModelErrorKind::ContextOverflow),
        (FORMAT.overloaded(), ModelErrorKind::Overloaded),
    ];
    for (reply, kind) in table {
        let Some(real) = Real::start(Memory::None, &[]).await else { return };
        real.service.otherwise(reply);
        let error = real.ask(json!([user("?")])).await.1.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
    }
}

#[tokio::test]
async fn options_that_it_does_not_know_are_told_as_its_age() {
    let Some(real) = Real::start(Memory::Own, &["--from-the-future"]).await else { return };
    let error = real.ask(json!([user("?")])).await.1.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Unavailable, "{error}");
    assert!(error.message.contains("too old"), "{error}");
}
