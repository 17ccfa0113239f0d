//! The real `claude` program with a stand-in for its service. `YABBY_CLAUDE` says where the program is;
//! without it, there is nothing to test.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;
use yabby_domain::directive::level::ThinkLevel;
use yabby_domain::message::Message;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::{
    Answer, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest, Purpose,
};
use yabby_models::claude_cli::{ClaudeCli, ClaudeCliSettings, Memory};
use yabby_models::settings::ModelSettings;
use yabby_testkit::stage::eventually;
use yabby_testkit::stand_in::{Format, Piece, Reply, Script, StandIn};

const FORMAT: Format = Format::Anthropic;

struct Real {
    home: TempDir,
    service: StandIn,
    provider: ClaudeCli,
    session: String,
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
        Some(Self { home, service, provider, session: uuid::Uuid::new_v4().to_string() })
    }

    fn request(&self, messages: Value) -> ModelRequest {
        ModelRequest {
            model: ModelRef::new("claude-cli", "claude-test"),
            system: "You are a crab.".to_owned(),
            messages: messages.as_array().unwrap().iter().cloned().filter_map(Message::from_value).collect(),
            tools: Vec::new(),
            thinking: ThinkLevel::Off,
            max_tokens: None,
            session_id: self.session.clone(),
            profile: None,
            purpose: Purpose::Turn,
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
    real.ask(json!([user("Hello?")])).await.1.unwrap();
    let told = real.told();
    assert!(told.contains("Hello?") && !told.contains("Which colour?"), "{told}");
}

#[tokio::test]
async fn it_uses_tools_of_its_own() {
    let Some(real) = Real::start(Memory::None, &["--allowedTools", "Read"]).await else { return };
    let file = real.home.path().join("work/note.txt");
    std::fs::write(&file, "the crab is red").unwrap();
    let arguments: &'static str = json!({"file_path": file}).to_string().leak();
    let call = Script::calls(&[("toolu_1", "Read", &[])]);
    let mut call = call;
    if let Some(yabby_testkit::stand_in::Said::Call { arguments: pieces, .. }) = call.parts.first_mut() {
        *pieces = vec![arguments];
    }
    call.parts.insert(0, yabby_testkit::stand_in::Said::Text(vec!["I look."]));
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
