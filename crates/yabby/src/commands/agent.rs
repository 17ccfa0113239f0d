//! `yabby agent`: talk to an agent, here and now (`cli.md` §1).

mod chat;
mod shown;

use std::io::{IsTerminal as _, Read as _, Write as _};

use anyhow::{Result, anyhow, bail};
use clap::Args;
use tokio::runtime::Runtime;
use uuid::Uuid;
use yabby_domain::config::Config;
use yabby_domain::directive::level::{Level as _, ThinkLevel, VerboseLevel};
use yabby_domain::id::AgentId;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::json::{Object, Value, number};
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::session::entry::Patch;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::text;
use yabby_domain::turn::{Outcome, TurnOptions};
use yabby_engine::{Engine, Heard, Hearing, Ticket, TurnReport};
use yabby_store::files::turns::Kind;

use crate::book::Book;
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;
use crate::wire::Wired;

#[derive(Args)]
pub struct Arguments {
    /// What to say; without it, what is piped in, or on a terminal a conversation
    #[arg(short, long, value_name = "TEXT")]
    message: Option<String>,
    /// The session of somebody, by their phone number
    #[arg(short, long, value_name = "NUMBER")]
    to: Option<String>,
    /// A session, by its id
    #[arg(long, value_name = "ID")]
    session_id: Option<String>,
    /// The main session of an agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// How much to think: off, minimal, low, medium, high
    #[arg(long, value_name = "LEVEL")]
    thinking: Option<String>,
    /// How much to tell of the run, from now on: on, full, off
    #[arg(long, value_name = "LEVEL")]
    verbose: Option<String>,
    /// How long to wait for the answer, in seconds [default: 600, or agents.defaults.timeoutSeconds]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<String>,
    /// Run here, whether or not a gateway runs
    #[arg(long)]
    local: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The session that is talked to.
struct Destination {
    message: InboundMessage,
    key: SessionKey,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let config = setting.config()?;
    let said = match &arguments.message {
        Some(message) => Some(message.clone()),
        None => piped()?,
    };
    let options = options(arguments)?;
    let is_chat = said.is_none();
    let destination = destination(setting, arguments, &config, is_chat)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let wired = {
        let _inside = runtime.enter();
        Wired::new(setting, config, Kind::Agent)?
    };
    let done = runtime.block_on(talk(setting, arguments, &wired.engine, &destination, options, said));
    runtime.block_on(wired.close());
    shut_down(runtime);
    done
}

/// Waits for stores that write their files on the way out.
fn shut_down(runtime: Runtime) {
    runtime.shutdown_timeout(std::time::Duration::from_secs(10));
}

async fn talk(
    setting: &Setting,
    arguments: &Arguments,
    engine: &Engine,
    destination: &Destination,
    options: TurnOptions,
    said: Option<String>,
) -> Result<()> {
    finish_interrupted(engine).await?;
    if let Some(level) = arguments.verbose.as_deref().and_then(VerboseLevel::parse) {
        chat::set_verbose(setting, destination, level)?;
    }
    match said {
        None => chat::run(setting, engine, destination, options).await,
        Some(said) => {
            let report = ask(engine, destination, options, &said, !arguments.json).await?;
            answer(arguments, &report)
        }
    }
}

/// Messages that were accepted before something stopped us are answered first.
async fn finish_interrupted(engine: &Engine) -> Result<()> {
    let tickets = engine.recover().await?;
    if tickets.is_empty() {
        return Ok(());
    }
    anstream::eprintln!("Finishing {} that was interrupted.", terminal::counted(tickets.len(), "message"));
    for ticket in tickets {
        if let Ok(report) = ticket.done.await {
            for text in report.payloads.iter().filter_map(|payload| payload.text.as_deref()) {
                anstream::eprintln!("{}", shown::harmless_lines(text));
            }
        }
    }
    Ok(())
}

/// Says something and waits for the answer; on a terminal it is shown as it comes.
async fn ask(
    engine: &Engine,
    destination: &Destination,
    options: TurnOptions,
    said: &str,
    shows: bool,
) -> Result<TurnReport> {
    let listener = engine.subscribe();
    let ticket = say(engine, destination, options, said).await?;
    let live = shows && std::io::stdout().is_terminal();
    let key = ticket.session_key.clone();
    let reporting = shown::until_done(ticket, listener, live);
    tokio::pin!(reporting);
    loop {
        tokio::select! {
            report = &mut reporting => return report,
            signal = tokio::signal::ctrl_c() => {
                signal?;
                engine.abort(&key).await;
            }
        }
    }
}

async fn say(engine: &Engine, destination: &Destination, options: TurnOptions, said: &str) -> Result<Ticket> {
    let said = text::from_outside(said).into_owned();
    let message = InboundMessage { body: Some(said), ..destination.message.clone() };
    match engine.hear(Heard { message, options, ..Heard::default() }).await? {
        Hearing::Accepted(ticket) => Ok(ticket),
        Hearing::Repeated | Hearing::Overheard | Hearing::NotServed => Err(anyhow!(
            "the message was not taken in; is {} a group that does not serve you?",
            destination.key
        )),
    }
}

/// Prints the answer to one message.
fn answer(arguments: &Arguments, report: &TurnReport) -> Result<()> {
    if arguments.json {
        terminal::print_json(&report_json(report))?;
    } else if !std::io::stdout().is_terminal() {
        let mut out = std::io::stdout().lock();
        let texts: Vec<String> = report.payloads.iter().flat_map(lines_of).collect();
        match texts.is_empty() {
            true => writeln!(out, "No reply from agent.")?,
            false => texts.iter().try_for_each(|text| writeln!(out, "{}", text::to_outside(text)))?,
        }
    }
    match report.outcome {
        Outcome::Answered | Outcome::Joined | Outcome::Dropped => Ok(()),
        Outcome::Aborted | Outcome::Failed => Err(Failure::silent().into()),
    }
}

/// What a payload says, with its media below.
fn lines_of(payload: &ReplyPayload) -> Vec<String> {
    let media = payload.media_urls.clone().unwrap_or_default().into_iter().chain(payload.media_url.clone());
    payload.text.clone().into_iter().chain(media.map(|url| format!("MEDIA:{url}"))).collect()
}

/// The answer as the reference tells it.
fn report_json(report: &TurnReport) -> Value {
    let payload = |payload: &ReplyPayload| {
        let mut object = Object::new();
        object.insert("text".to_owned(), payload.text.clone().unwrap_or_default().into());
        object.insert("mediaUrl".to_owned(), payload.media_url.clone().map_or(Value::Null, Value::from));
        if let Some(urls) = payload.media_urls.clone().filter(|urls| !urls.is_empty()) {
            object.insert("mediaUrls".to_owned(), urls.into());
        }
        if payload.is_error == Some(true) {
            object.insert("isError".to_owned(), true.into());
        }
        Value::Object(object)
    };
    let mut agent = Object::new();
    agent.insert("sessionId".to_owned(), report.session_id.clone().unwrap_or_default().into());
    if let Some(model) = &report.model {
        agent.insert("provider".to_owned(), model.provider.clone().into());
        agent.insert("model".to_owned(), model.model.clone().into());
    }
    if let Some(usage) = &report.usage {
        let parts =
            [usage.input, usage.output, usage.cache_read, usage.cache_write].map(|part| part.unwrap_or(0.0));
        let names = ["input", "output", "cacheRead", "cacheWrite"];
        let mut object: Object = names.into_iter().map(str::to_owned).zip(parts.map(number)).collect();
        object.insert("total".to_owned(), number(usage.total.unwrap_or_else(|| parts.iter().sum())));
        agent.insert("usage".to_owned(), Value::Object(object));
    }
    let mut meta = Object::new();
    meta.insert("durationMs".to_owned(), report.duration_ms.into());
    meta.insert("agentMeta".to_owned(), Value::Object(agent));
    meta.insert("aborted".to_owned(), (report.outcome == Outcome::Aborted).into());
    if let Some(report) = report.system_prompt_report.clone() {
        meta.insert("systemPromptReport".to_owned(), Value::Object(report));
    }
    if let Some(error) = &report.error {
        meta.insert("error".to_owned(), error.clone().into());
    }
    let payloads: Vec<Value> = report.payloads.iter().map(payload).collect();
    Value::Object(Object::from_iter([
        ("payloads".to_owned(), payloads.into()),
        ("meta".to_owned(), Value::Object(meta)),
    ]))
}

fn options(arguments: &Arguments) -> Result<TurnOptions> {
    if let Some(level) = &arguments.thinking
        && ThinkLevel::parse(level).is_none()
    {
        bail!("Invalid thinking level. Use one of: off, minimal, low, medium, high.");
    }
    let timeout_ms = match arguments.timeout.as_deref().map(str::parse::<u64>) {
        None => None,
        Some(Ok(seconds)) if seconds > 0 => Some(seconds.saturating_mul(1000)),
        Some(_) => bail!("--timeout must be a positive integer (seconds)"),
    };
    // There is no gateway to go through yet, so that every run is a local one.
    let _ = arguments.local;
    Ok(TurnOptions {
        thinking: arguments.thinking.clone(),
        timeout_ms,
        to_caller: true,
        ..TurnOptions::default()
    })
}

/// The session that the command line names; a conversation without a name is the main session.
fn destination(
    setting: &Setting,
    arguments: &Arguments,
    config: &Config,
    is_chat: bool,
) -> Result<Destination> {
    let book = Book::open(setting)?;
    let policy = KeyPolicy::from_config(config);
    let agent = match arguments.agent.as_deref() {
        Some(named) => Some(book.agent(named)?),
        None => None,
    };
    let blank = InboundMessage { command_authorized: true, ..InboundMessage::default() };
    if let Some(id) = arguments.session_id.as_deref().and_then(text::non_blank) {
        let agent = agent.unwrap_or_else(|| policy.default_agent.clone());
        return by_session_id(&book, &agent, id, blank);
    }
    if let Some(agent) = agent {
        let key = policy.resolve_main_alias(&agent, "main");
        return Ok(with_key(blank, key));
    }
    match arguments.to.as_deref().and_then(text::non_blank) {
        Some(to) => {
            let message = InboundMessage { from: Some(to.to_owned()), to: Some(to.to_owned()), ..blank };
            let key = yabby_domain::session::open::Target::of(&message, &policy).key;
            Ok(Destination { message, key })
        }
        None if is_chat => Ok(with_key(blank, policy.main_session())),
        None => bail!("Pass --to <E.164>, --session-id, or --agent to choose a session"),
    }
}

fn with_key(message: InboundMessage, key: SessionKey) -> Destination {
    let message = InboundMessage { session_key: Some(key.as_str().to_owned()), ..message };
    Destination { message, key }
}

/// The session with this id; one that nobody has begins with it.
fn by_session_id(book: &Book<'_>, agent: &AgentId, id: &str, blank: InboundMessage) -> Result<Destination> {
    let is_id = |found: &crate::book::Found| found.entry.session_id() == Some(id);
    if let Some(found) = book.find(id, None).ok().filter(is_id) {
        return Ok(with_key(blank, found.key));
    }
    if Uuid::parse_str(id).is_err()
        && yabby_domain::transcript::file_name::TranscriptId::new(id, None).is_err()
    {
        bail!("{id:?} cannot be the id of a session: it would not make a file name");
    }
    let key = SessionKey::new(text::lower(&format!("agent:{agent}:{id}")));
    let store = yabby_store::files::sessions::SessionFile::open(book.store_path(agent), Default::default())?;
    let (id, now) = (id.to_owned(), jiff::Timestamp::now().as_millisecond());
    store.update_blocking(
        &key,
        Box::new(move |entry| {
            let mut patch = Patch::default();
            patch.set_session_id(Some(&id));
            patch.set_updated_at(Some(now as f64));
            entry.get_or_insert_default().apply(&patch);
        }),
    )?;
    Ok(with_key(blank, key))
}

/// What is piped in; `None` on a terminal.
fn piped() -> Result<Option<String>> {
    if std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut said = String::new();
    std::io::stdin().read_to_string(&mut said)?;
    match text::non_blank(&said) {
        Some(said) => Ok(Some(said.to_owned())),
        None => Err(Failure::bare("error: required option '-m, --message <text>' not specified").into()),
    }
}
