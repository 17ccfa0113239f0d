//! `yabby models probe`: one tiny request, to see whether a model answers.

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::{Args, value_parser};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use uuid::Uuid;
use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value};
use yabby_domain::ledger::CallRecord;
use yabby_domain::message::Message;
use yabby_domain::model::{ModelRef, configured_model};
use yabby_domain::seam::ledger::Ledger as _;
use yabby_domain::seam::model::{Answer, ModelError, ModelErrorKind, ModelProvider, ModelRequest};
use yabby_models::Retries;
use yabby_store::files::ledger::UsageLedger;

use super::{known, shared_config};
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;
use crate::wire::models::{default_model, main_folder, offered, providers, speaking_of};

#[derive(Args)]
pub struct Arguments {
    /// `provider/model`, or an alias [default: the model that answers]
    model: Option<String>,
    /// How long to wait, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A request, to see whether it is answered.
pub(super) struct Question {
    pub(super) model: ModelRef,
    pub(super) agent: AgentId,
    pub(super) profile: Option<String>,
    pub(super) max_tokens: u64,
    pub(super) limit: Duration,
    /// The option that allows more time.
    pub(super) allowing: &'static str,
}

/// What became of the request.
pub(super) struct Probed {
    pub(super) answer: Result<Answer, ModelError>,
    first_word: Option<Duration>,
    pub(super) all: Duration,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let (place, config) = (&setting.place, shared_config(setting)?);
    let model = match &arguments.model {
        Some(raw) => known(raw, &config, &offered(place, &config, &main_folder(place)))?,
        None => configured_model(&config, &default_model(place, &config)),
    };
    let config = std::sync::Arc::new(speaking_of(&config, &model));
    let ledger = UsageLedger::open(place.folder.usage())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut providers = providers(place, &config, Retries::none())?.into_iter();
    let provider = providers.find(|provider| provider.id() == model.provider);
    let question = Question {
        model,
        agent: AgentId::default(),
        profile: None,
        // Some models think before the first word whether they are asked to or not.
        max_tokens: 256,
        limit: Duration::from_secs(arguments.timeout),
        allowing: "--timeout",
    };
    let probed = runtime.block_on(probed(provider.as_deref(), &ledger, &question));
    ledger.flush().context("the call is not on the books")?;
    runtime.shutdown_background();
    report(&question.model, &probed, arguments.json)
}

/// Asks, unless there is nothing left to be spent, and puts the call on the books.
pub(super) async fn probed(
    provider: Option<&dyn ModelProvider>,
    ledger: &UsageLedger,
    question: &Question,
) -> Probed {
    let model = &question.model;
    let call = call(question);
    // Whoever limits what is spent does not want it to be spent on this, either.
    if let Some(why) = ledger.refusal(&call, &TimeZone::system()) {
        return failed(ModelErrorKind::Refused, why);
    }
    let Some(provider) = provider else {
        return failed(ModelErrorKind::Unavailable, format!("There is no provider {}.", model.provider));
    };
    let probed = ask(provider, question).await;
    if let Ok(answer) = &probed.answer {
        let prices = provider.describe(&model.model).and_then(|info| info.prices);
        let cost = prices.map(|prices| prices.of(&answer.usage));
        let duration_ms = u64::try_from(probed.all.as_millis()).unwrap_or(u64::MAX);
        ledger.record(CallRecord { cost, duration_ms, ..call }.with_usage(&answer.usage));
    }
    probed
}

/// The call on the books; it belongs to no conversation.
fn call(question: &Question) -> CallRecord {
    let model = &question.model;
    CallRecord {
        at: Timestamp::now().as_millisecond(),
        session_key: "models:probe".to_owned(),
        session_id: Uuid::new_v4().to_string(),
        agent: question.agent.as_str().to_owned(),
        provider: model.provider.clone(),
        model: model.model.clone(),
        ..CallRecord::default()
    }
}

fn failed(kind: ModelErrorKind, why: String) -> Probed {
    Probed { answer: Err(ModelError::new(kind, why)), first_word: None, all: Duration::ZERO }
}

async fn ask(provider: &dyn ModelProvider, question: &Question) -> Probed {
    let mut words = Object::new();
    words.insert("role".to_owned(), "user".into());
    words.insert("content".to_owned(), "Reply with OK. Do not use tools.".into());
    words.insert("timestamp".to_owned(), Timestamp::now().as_millisecond().into());
    let (model, limit) = (&question.model, question.limit);
    let request = ModelRequest {
        system: "You are asked whether you can be reached.".to_owned(),
        max_tokens: Some(question.max_tokens),
        session_id: Uuid::new_v4().to_string(),
        agent: question.agent.clone(),
        profile: question.profile.clone(),
        ..ModelRequest::new(model.clone(), vec![Message::new(words)])
    };
    let began = Instant::now();
    let mut first_word = None;
    let mut heard = |_| {
        first_word.get_or_insert_with(|| began.elapsed());
    };
    let answer = match tokio::time::timeout(limit, provider.stream(&request, &mut heard)).await {
        Ok(answer) => answer,
        Err(_) => Err(ModelError::new(
            ModelErrorKind::TimedOut,
            format!(
                "There was no answer within {} s; {} allows more.",
                limit.as_secs_f64(),
                question.allowing
            ),
        )),
    };
    let all = began.elapsed();
    Probed { first_word: first_word.or(answer.is_ok().then_some(all)), answer, all }
}

fn report(model: &ModelRef, probed: &Probed, as_json: bool) -> Result<()> {
    let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    if as_json {
        let mut told = json!({
            "model": model.to_string(),
            "ok": probed.answer.is_ok(),
            "firstWordMs": probed.first_word.map(milliseconds),
            "totalMs": milliseconds(probed.all),
        });
        match &probed.answer {
            Ok(answer) => {
                let usage = &answer.usage;
                told["text"] = text(answer).into();
                told["usage"] = json!({"input": usage.input, "output": usage.output, "cacheRead": usage.cache_read, "cacheWrite": usage.cache_write});
            }
            Err(error) => {
                told["error"] = error.message.as_str().into();
                told["kind"] = kind(error.kind).into();
            }
        }
        terminal::print_json(&told)?;
    }
    match &probed.answer {
        Err(_) if as_json => Err(Failure::silent().into()),
        Err(error) => Err(Failure::bare(format!("{model} does not answer: {}", error.message)).into()),
        Ok(_) if as_json => Ok(()),
        Ok(_) => {
            let first = milliseconds(probed.first_word.unwrap_or(probed.all));
            let all = milliseconds(probed.all);
            let told = format!("{model} answers: the first word after {first}ms, all of it after {all}ms.");
            writeln!(anstream::stdout(), "{}", terminal::harmless(&told))?;
            Ok(())
        }
    }
}

fn text(answer: &Answer) -> String {
    answer.blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect()
}

pub(super) fn kind(kind: ModelErrorKind) -> &'static str {
    match kind {
        ModelErrorKind::ContextOverflow => "overflow",
        ModelErrorKind::RateLimited { .. } => "rate_limit",
        ModelErrorKind::Overloaded => "overloaded",
        ModelErrorKind::Auth => "auth",
        ModelErrorKind::Billing => "billing",
        ModelErrorKind::Refused => "refused",
        ModelErrorKind::BadRequest => "format",
        ModelErrorKind::TimedOut => "timeout",
        ModelErrorKind::Unavailable => "no_model",
        ModelErrorKind::Broken => "broken",
    }
}
