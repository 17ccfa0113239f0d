//! The conversation of `tests/it/through_engine.rs` with the real services, for `cargo xtask live`.
//!
//! It costs money, if little, and what a model says is never quite certain: it is started by hand, by
//! whoever has a key, and never by CI.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use serde_json::{Value, json};
use yabby_domain::json::Object;
use yabby_domain::model::ModelRef;
use yabby_domain::seam::model::ModelProvider;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_engine::Engine;
use yabby_engine::events::{EngineEvent, EventKind};
use yabby_models::presets::{self, Preset};
use yabby_models::settings::ModelSettings;
use yabby_models::{Http, Patience, RemoteProvider, Retries, catalog};
use yabby_testkit::stage::{Stage, direct, say, texts};

/// A model of each service that is cheap, and calls tools. Those of servers are whatever they have.
const MODELS: &[(&str, &str)] = &[
    ("anthropic", "claude-haiku-4-5"),
    ("openai", "gpt-5-mini"),
    ("google", "gemini-2.5-flash"),
    ("openrouter", "anthropic/claude-haiku-4.5"),
    ("groq", "openai/gpt-oss-20b"),
    ("mistral", "mistral-small-latest"),
    ("deepseek", "deepseek-chat"),
    ("xai", "grok-4-1-fast"),
];

/// What only the tool knows.
const CODE: &str = "KR4B-7731";
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SESSION: &str = "agent:main:main";

/// Whatever went wrong; whoever asked only wants its text.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let known = |word: &String| presets::preset(word.split('/').next().unwrap_or_default()).is_some();
    if let Some(unknown) = wanted.iter().find(|word| !known(word)) {
        let all: Vec<&str> = presets::ALL.iter().map(|preset| preset.id).collect();
        eprintln!("error: {unknown} is none of {}", all.join(", "));
        return ExitCode::from(2);
    }
    let (mut asked, mut failed) = (0, 0);
    for preset in presets::ALL {
        let wish = wanted.iter().find(|word| word.split('/').next() == Some(preset.id));
        if !wanted.is_empty() && wish.is_none() {
            continue;
        }
        let model = wish.and_then(|wish| wish.split_once('/')).map(|(_, model)| model.to_owned());
        let (key, model) = match reachable(preset, model).await {
            Ok(found) => found,
            Err(why) => {
                println!("skipped  {}: {why}", preset.id);
                continue;
            }
        };
        asked += 1;
        println!("asking   {}/{model}", preset.id);
        match Service::new(preset, key, &model) {
            Ok(service) => failed += service.suite().await,
            Err(error) => {
                failed += 1;
                println!("  FAIL   {error}");
            }
        }
    }
    match (asked, failed) {
        (0, _) => {
            println!("nothing was asked: no service has a key in the environment, and no server runs here")
        }
        (_, 0) => println!("{asked} asked, all is well"),
        _ => println!("{asked} asked, {failed} of their answers were wrong"),
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The key of a service, and the model to ask; or why it is not asked.
async fn reachable(
    preset: &Preset,
    model: Option<String>,
) -> std::result::Result<(Option<SecretString>, String), String> {
    let variable = |name: &&str| std::env::var(name).ok().filter(|key| !key.trim().is_empty());
    let key = preset.key_variables.iter().find_map(variable).map(SecretString::from);
    if preset.needs_key {
        let key = key.ok_or_else(|| format!("{} is not set", preset.key_variables.join(" or ")))?;
        let usual = MODELS.iter().find(|(id, _)| *id == preset.id).map(|(_, model)| (*model).to_owned());
        let model = model.or(usual).ok_or_else(|| format!("name a model: {}/MODEL", preset.id))?;
        return Ok((Some(key), model));
    }
    let has =
        models_of(preset.base_url).await.map_err(|_| format!("nothing listens at {}", preset.base_url))?;
    let model = model.or_else(|| has.into_iter().next());
    Ok((key, model.ok_or_else(|| format!("the server at {} has no model", preset.base_url))?))
}

/// What a server on this machine has.
async fn models_of(base_url: &str) -> Result<Vec<String>> {
    // Somebody else may have chosen one already, and then that is the one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(2)).build()?;
    let told: Value =
        client.get(format!("{base_url}/models")).send().await?.error_for_status()?.json().await?;
    let rows = told["data"].as_array().into_iter().flatten();
    Ok(rows.filter_map(|row| row["id"].as_str().map(str::to_owned)).collect())
}

struct Service {
    preset: &'static Preset,
    settings: ModelSettings,
    provider: RemoteProvider,
}

impl Service {
    fn new(preset: &'static Preset, key: Option<SecretString>, model: &str) -> Result<Self> {
        let settings = match catalog::find(preset.id, model) {
            Some(known) => ModelSettings {
                context_window: known.context_window,
                max_output: known.max_output.min(4096),
                reasoning: known.reasoning,
                images: known.images,
                ..preset.model(model)
            },
            None => preset.model(model),
        };
        let provider = RemoteProvider::new(
            preset.settings(key, vec![settings.clone()]),
            Http::new(Patience::default()),
            Retries::default(),
        );
        Ok(Self { preset, settings, provider })
    }

    /// How many checks failed.
    async fn suite(&self) -> usize {
        let stage = self.stage(self.provider.clone());
        let engine = stage.engine();
        let mut checks = Checks::default();
        checks.tell("an answer, word by word", streamed(&engine).await);
        checks.tell(
            "two tools, and their results",
            answered(&engine, "Call the tool `look` with at=\"box\", and the tool `note` with text=\"seen\". Then tell me the code that you found, exactly.", CODE).await,
        );
        let said = stage.said(SESSION).await;
        let called = |tool: &str| said.iter().any(|line| line.contains(&format!("<{tool}>")));
        checks.tell(
            "both were called",
            if called("look") && called("note") { Ok(()) } else { Err(format!("{said:#?}").into()) },
        );
        checks.tell(
            "the conversation goes on",
            answered(&engine, "Without calling a tool: which code was it?", CODE).await,
        );
        if self.settings.reasoning {
            say(&engine, direct("/think low")).await;
            checks.tell("a thought, and a tool", answered(&engine, "Call `look` with at=\"shelf\". Is its code the same as the one in the box? Begin with YES or NO.", "YES").await);
            checks.tell("on from a thought", answered(&engine, "Say the code once more.", CODE).await);
            say(&engine, direct("/think off")).await;
        }
        if self.settings.images {
            checks.tell(
                "a picture from a tool",
                answered(&engine, "Call `look` with at=\"picture\", and then say SEEN.", "SEEN").await,
            );
        }
        let calls = stage.calls.calls();
        let metered =
            calls.iter().all(|call| call.input + call.cache_read + call.cache_write > 0 && call.output > 0);
        checks.tell("usage is told", if metered { Ok(()) } else { Err(format!("{calls:?}").into()) });
        if self.preset.needs_key {
            checks.tell("a wrong key is told", self.refused().await);
        }
        checks.failed
    }

    async fn refused(&self) -> Result<()> {
        let wrong =
            self.preset.settings(Some(SecretString::from("wrong-0123456789")), vec![self.settings.clone()]);
        let provider = RemoteProvider::new(wrong, Http::new(Patience::default()), Retries::none());
        let report = say(&self.stage(provider).engine(), direct("hello")).await;
        let told = texts(&report).join("\n");
        if told.contains("key") { Ok(()) } else { Err(told.into()) }
    }

    fn stage(&self, provider: RemoteProvider) -> Stage {
        let mut stage = Stage::new(json!({}));
        stage.default_model = ModelRef::new(provider.id(), &self.settings.id);
        stage.providers.push(Arc::new(provider));
        let images = self.settings.images;
        stage.tools = [("look", "at", images), ("note", "text", false)]
            .map(|(name, argument, images)| Arc::new(Known { name, argument, images }) as Arc<dyn Tool>)
            .into();
        stage
    }
}

#[derive(Default)]
struct Checks {
    failed: usize,
}

impl Checks {
    fn tell(&mut self, what: &str, came: Result<()>) {
        match came {
            Ok(()) => println!("  ok     {what}"),
            Err(error) => {
                self.failed += 1;
                println!("  FAIL   {what}: {error}");
            }
        }
    }
}

/// What is heard on the way is what is said in the end.
async fn streamed(engine: &Engine) -> Result<()> {
    let mut events = engine.subscribe();
    let report = say(engine, direct("Count from one to ten in English words, without calling a tool.")).await;
    let mut heard = String::new();
    while let Ok(EngineEvent { kind, .. }) = events.try_recv() {
        if let EventKind::Text(text) = kind {
            heard.push_str(&text);
        }
    }
    let told = texts(&report).join("\n");
    if told.to_lowercase().contains("seven") && heard.trim() == told.trim() {
        return Ok(());
    }
    Err(format!("heard {heard:?}, and in the end {told:?}").into())
}

async fn answered(engine: &Engine, question: &str, expected: &str) -> Result<()> {
    let report = say(engine, direct(question)).await;
    let told = texts(&report).join("\n");
    if told.contains(expected) { Ok(()) } else { Err(told.into()) }
}

struct Known {
    name: &'static str,
    argument: &'static str,
    images: bool,
}

#[async_trait]
impl Tool for Known {
    fn spec(&self) -> ToolSpec {
        let Self { name, argument, .. } = self;
        ToolSpec {
            name: (*name).to_owned(),
            description: match *name {
                "look" => "Looks at a thing, and tells what is written on it.".to_owned(),
                _ => "Writes something down.".to_owned(),
            },
            parameters: json!({"type": "object", "properties": {*argument: {"type": "string"}}, "required": [argument], "additionalProperties": false}),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, _: &ToolContext) -> ToolOutput {
        if self.name == "note" {
            return ToolOutput::text("Written down.");
        }
        let mut output = ToolOutput::text(&format!("The code is {CODE}."));
        if self.images && arguments.get("at").is_some_and(|at| at == "picture") {
            output.blocks.push(json!({"type": "image", "data": PIXEL, "mimeType": "image/png"}));
        }
        output
    }
}
