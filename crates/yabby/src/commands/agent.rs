//! `yabby agent`: talk to an agent, through the gateway or here (`cli.md` §1).

mod approval;
mod chat;
mod shown;
mod through;

use std::io::{IsTerminal as _, Read as _, Write as _};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use uuid::Uuid;
use yabby_domain::config::Config;
use yabby_domain::directive::level::{Level as _, ThinkLevel, VerboseLevel};
use yabby_domain::id::AgentId;
use yabby_domain::inbound::InboundMessage;
use yabby_domain::json::{self, Value};
use yabby_domain::principal::{Principal, ReplyTo};
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::session::address::session_of_unknown_id;
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::session::open::Target;
use yabby_domain::text;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::turn::{Outcome, TurnOptions};
use yabby_engine::events::Listener;
use yabby_engine::{Engine, Submission, SubmitOutcome, TurnHandle, TurnReport};
use yabby_store::files::turns::Kind;

use crate::book::{self, Book};
use crate::client::CallError;
use crate::failure::Failure;
use crate::setting::Setting;
use crate::terminal;
use crate::wire::{Wired, built_in_model};
use through::Silence;

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
    /// How much to think, from now on: off, minimal, low, medium, high
    #[arg(long, value_name = "LEVEL")]
    thinking: Option<String>,
    /// How much to tell of the run, from now on: on, full, off
    #[arg(long, value_name = "LEVEL")]
    verbose: Option<String>,
    /// How long to wait for the answer, in seconds [default: 600, or agents.defaults.timeoutSeconds]
    #[arg(long, value_name = "SECONDS")]
    timeout: Option<String>,
    /// Send the reply to a channel, too
    #[arg(long)]
    deliver: bool,
    /// The channel that the reply goes to [default: whatsapp]
    #[arg(long, value_name = "CHANNEL")]
    channel: Option<String>,
    /// To whom the reply goes, if to somebody else
    #[arg(long, value_name = "DEST")]
    reply_to: Option<String>,
    /// The channel that the reply goes to, if not that of the session
    #[arg(long, value_name = "CHANNEL")]
    reply_channel: Option<String>,
    /// The account that the reply goes out by
    #[arg(long, value_name = "ID")]
    reply_account: Option<String>,
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
    /// The conversation that is meant, whatever its age.
    id: Option<String>,
}

/// What ends within this is not waited for aloud.
const MOMENT: std::time::Duration = std::time::Duration::from_millis(300);
/// Nothing goes on for longer, whatever it is.
const LONGEST_TASK: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

/// Somebody did not want to wait for the end of a run that was asked to stop.
#[derive(Debug, thiserror::Error)]
#[error("left before the answer; the message is on record, and goes on with the next `yabby agent`")]
struct Left;

/// What came back.
struct Answer {
    payloads: Vec<ReplyPayload>,
    /// Why there is no answer but an error.
    failed: Option<String>,
    is_aborted: bool,
    json: Value,
}

impl Answer {
    fn of(report: &TurnReport) -> Self {
        Self {
            payloads: report.payloads.clone(),
            failed: report.error.clone().filter(|_| report.outcome == Outcome::Failed),
            is_aborted: report.outcome == Outcome::Aborted,
            json: report.to_json(),
        }
    }
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let said = match &arguments.message {
        Some(message) => Some(message.clone()),
        None => piped()?,
    };
    match &said {
        Some(said) if !arguments.local => {
            let live = !arguments.json && std::io::stdout().is_terminal();
            match through::ask(setting, arguments, said, live) {
                Ok(answered) => return answer(setting, arguments, &answered),
                Err(Silence::Taken(error)) => return Err(error),
                Err(Silence::NotTaken(error)) if error.is::<Failure>() => return Err(error),
                Err(Silence::NotTaken(error)) => tell_of_fallback(setting, arguments, &error),
            }
        }
        Some(_) => {}
        None => tell_of_gateway(setting),
    }
    here(setting, arguments, said)
}

/// Why the agent runs here: for people in one line, for programs and scripts of the reference in its words.
fn tell_of_fallback(setting: &Setting, arguments: &Arguments, error: &anyhow::Error) {
    let is_for_people = !arguments.json && !setting.keeps_reference_text();
    let absence = error.downcast_ref::<CallError>().and_then(CallError::absence).filter(|_| is_for_people);
    match absence {
        Some(absence) => anstream::eprintln!("{}; answering here", terminal::harmless(&absence)),
        None => {
            let told = shown::harmless_lines(&error.to_string());
            anstream::eprintln!("Gateway agent failed; falling back to embedded: Error: {told}");
        }
    }
}

/// A conversation in a terminal runs here. Beside a gateway that is worth knowing: both take turns in a session.
fn tell_of_gateway(setting: &Setting) {
    if let Some(pid) = super::gateway::service::holder(setting) {
        anstream::eprintln!(
            "note: a gateway runs on this folder, too (pid {pid}); this conversation runs here, and what is said to the same session there waits for its turn."
        );
    }
}

/// Runs an agent in this process.
fn here(setting: &Setting, arguments: &Arguments, said: Option<String>) -> Result<()> {
    let config = setting.config()?;
    if said.as_deref().is_some_and(|said| text::non_blank(said).is_none()) {
        bail!("Message (--message) is required");
    }
    let destination = destination(setting, arguments, &config)?;
    let (levels, options) = (Levels::of(arguments)?, options(arguments)?);
    prepare(setting, &destination, &levels)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let wired = {
        let _inside = runtime.enter();
        Wired::new(setting, config, Kind::Agent)?
    };
    let done = runtime.block_on(talk(setting, arguments, &wired.engine, &destination, options, said));
    for notice in wired.notices() {
        anstream::eprintln!("note: {}", terminal::harmless(&notice));
    }
    if done.as_ref().is_err_and(|error| error.is::<Left>()) {
        runtime.shutdown_background();
        return done;
    }
    runtime.block_on(wired.close());
    // Stores write their files on the way out.
    runtime.shutdown_timeout(std::time::Duration::from_secs(10));
    done?;
    if arguments.deliver {
        bail!("the reply was not delivered: --deliver needs a gateway");
    }
    Ok(())
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
    match said {
        None => {
            let mut meanwhile = engine.subscribe();
            chat::run(setting, engine, destination, options, &mut meanwhile).await?;
            finish_tasks(engine, &mut meanwhile, &destination.key, false).await
        }
        Some(said) => {
            let live = !arguments.json && std::io::stdout().is_terminal();
            let mut meanwhile = engine.subscribe();
            let report = ask(engine, destination, options, &said, live).await?;
            let answered = answer(setting, arguments, &Answer::of(&report));
            // A turn that failed is written down as done, too: otherwise the next start would take it again.
            finish_tasks(engine, &mut meanwhile, &destination.key, arguments.json).await?;
            answered
        }
    }
}

/// Messages that were accepted before something stopped us are answered first.
async fn finish_interrupted(engine: &Engine) -> Result<()> {
    let tickets = engine.recover().await?;
    match tickets.len() {
        0 => return Ok(()),
        1 => anstream::eprintln!("Finishing a message that was interrupted."),
        count => anstream::eprintln!("Finishing {count} messages that were interrupted."),
    }
    for ticket in tickets {
        if let Ok(report) = ticket.done.await {
            for text in report.payloads.iter().filter_map(|payload| payload.text.as_deref()) {
                anstream::eprintln!("{}", shown::harmless_lines(text));
            }
        }
    }
    Ok(())
}

/// Waits for what goes on in the background. Ctrl-C leaves it to the next start.
async fn finish_tasks(engine: &Engine, meanwhile: &mut Listener, key: &SessionKey, json: bool) -> Result<()> {
    // What is only being written down needs no word.
    if !engine.idle(MOMENT).await {
        let tasks = terminal::counted(engine.busy().len(), "task");
        anstream::eprintln!(
            "Waiting for {tasks} in the background; Ctrl-C leaves it to the next `yabby agent`."
        );
        tokio::select! {
            _ = engine.idle(LONGEST_TASK) => {}
            signal = tokio::signal::ctrl_c() => {
                signal?;
                return Err(Left.into());
            }
        }
    }
    // What programs read is one value.
    if json { Ok(()) } else { shown::said_meanwhile(meanwhile, key) }
}

/// Says something and waits for the answer, which may be shown as it comes. Ctrl-C stops the run; once
/// more, and nobody waits until it has stopped.
async fn ask(
    engine: &Engine,
    destination: &Destination,
    options: TurnOptions,
    said: &str,
    live: bool,
) -> Result<TurnReport> {
    let listener = engine.subscribe();
    // Somebody sits there and reads along.
    let answers = live && std::io::stdin().is_terminal();
    let _approver = answers.then(|| engine.approver());
    let ticket = say(engine, destination, options, said).await?;
    let key = ticket.session_key.clone();
    let reporting = shown::until_done(ticket, listener, live, answers.then_some(engine));
    tokio::pin!(reporting);
    let mut is_stopping = false;
    loop {
        tokio::select! {
            report = &mut reporting => return report,
            signal = tokio::signal::ctrl_c() => {
                signal?;
                if std::mem::replace(&mut is_stopping, true) {
                    return Err(Left.into());
                }
                let (engine, key) = (engine.clone(), key.clone());
                tokio::spawn(async move { engine.abort(&key).await });
            }
        }
    }
}

async fn say(
    engine: &Engine,
    destination: &Destination,
    options: TurnOptions,
    said: &str,
) -> Result<TurnHandle> {
    let said = text::from_outside(said).into_owned();
    let message = InboundMessage { body: Some(said), ..destination.message.clone() };
    let submission = Submission {
        principal: Principal::LocalOwner,
        reply_to: ReplyTo::Caller,
        message,
        options,
        ..Submission::default()
    };
    match engine.submit(submission).await? {
        SubmitOutcome::Accepted(ticket) => Ok(ticket),
        SubmitOutcome::Repeated | SubmitOutcome::Overheard | SubmitOutcome::NotServed => Err(anyhow!(
            "the message was not taken in; is {} a group that does not serve you?",
            destination.key
        )),
    }
}

/// Prints the answer to one message; on a terminal it stands there already.
fn answer(setting: &Setting, arguments: &Arguments, answer: &Answer) -> Result<()> {
    let failed = answer.failed.as_deref();
    if arguments.json {
        terminal::print_json(&answer.json)?;
    } else if !std::io::stdout().is_terminal() {
        let mut out = std::io::stdout().lock();
        let is_told_apart = |payload: &&ReplyPayload| failed.is_some() && payload.is_error == Some(true);
        let told = answer.payloads.iter().filter(|payload| !is_told_apart(payload));
        let texts: Vec<String> = told.flat_map(lines_of).collect();
        texts.iter().try_for_each(|text| writeln!(out, "{}", text::to_outside(text)))?;
        match failed {
            Some(error) => anstream::eprintln!("Error: {}", shown::harmless_lines(error)),
            None if answer.is_aborted && texts.is_empty() => anstream::eprintln!("Stopped."),
            None if texts.is_empty() => writeln!(out, "No reply from agent.")?,
            None => {}
        }
    }
    if let Some(hint) = failed.and_then(|error| hint(setting, error)) {
        anstream::eprintln!("{hint}");
    }
    if answer.is_aborted || failed.is_some() { Err(Failure::silent().into()) } else { Ok(()) }
}

/// What to type if nobody answers: a folder of OpenClaw's often names a model that is not there yet.
fn hint(setting: &Setting, error: &str) -> Option<String> {
    let own = built_in_model();
    let everywhere = setting.command(&format!("config set agents.defaults.model.primary {own}"));
    error.contains("cannot be reached").then(|| {
        format!("The built-in helper answers after `/model {own}`, or in every session after `{everywhere}`.")
    })
}

/// What a payload says, with its media below.
fn lines_of(payload: &ReplyPayload) -> Vec<String> {
    let media = payload.media_urls.clone().unwrap_or_default().into_iter().chain(payload.media_url.clone());
    payload.text.clone().into_iter().chain(media.map(|url| format!("MEDIA:{url}"))).collect()
}

/// What the command line sets for the session, from now on.
#[derive(Clone, Copy)]
struct Levels {
    thinking: Option<ThinkLevel>,
    verbose: Option<VerboseLevel>,
}

impl Levels {
    fn of(arguments: &Arguments) -> Result<Self> {
        let thinking = arguments.thinking.as_deref().map(|level| {
            ThinkLevel::parse(level).ok_or_else(|| {
                anyhow!("Invalid thinking level. Use one of: off, minimal, low, medium, high.")
            })
        });
        let verbose = arguments.verbose.as_deref().and_then(VerboseLevel::parse);
        if let (Some(level), None) = (&arguments.verbose, verbose) {
            let level = terminal::harmless(level);
            anstream::eprintln!("note: --verbose takes on, full or off; {level:?} changes nothing");
        }
        Ok(Self { thinking: thinking.transpose()?, verbose })
    }

    fn verbose_text(self) -> Option<&'static str> {
        self.verbose.map(VerboseLevel::as_str)
    }

    fn patch(self) -> Patch {
        let mut patch = Patch::default();
        if let Some(level) = self.thinking {
            // As the reference has it: a session without a level does not think.
            patch.set_thinking_level(Some(level.as_str()).filter(|_| level != ThinkLevel::Off));
        }
        if let Some(level) = self.verbose {
            patch.set_verbose_level(Some(level.as_str()));
        }
        patch
    }
}

/// How long a run may take, if the command line says so.
fn seconds(arguments: &Arguments) -> Result<Option<f64>> {
    let seconds = arguments.timeout.as_deref().map(|seconds| {
        let seconds = json::leading_integer(seconds).filter(|seconds| *seconds > 0.0);
        seconds.ok_or_else(|| anyhow!("--timeout must be a positive integer (seconds)"))
    });
    seconds.transpose()
}

fn options(arguments: &Arguments) -> Result<TurnOptions> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
    let timeout_ms = seconds(arguments)?.map(|seconds| (seconds * 1000.0) as u64);
    // Who types a command that nobody knows has mistyped it; a script may mean a text.
    let refuses_unknown_commands = std::io::stdin().is_terminal() && !arguments.json;
    Ok(TurnOptions { timeout_ms, refuses_unknown_commands, ..TurnOptions::default() })
}

/// What is said without a name goes to the main session of the only agent. Where there are several, a message on the
/// command line names one, as in the reference; what is piped in goes to the default one.
fn choose_session(arguments: &Arguments, config: &Config) -> Result<()> {
    let is_given = |option: &Option<String>| option.as_deref().and_then(text::non_blank).is_some();
    let names = [&arguments.to, &arguments.session_id, &arguments.agent].into_iter().any(is_given);
    let has_several = config.agents.list.len() > 1;
    if arguments.message.is_some() && !names && has_several {
        bail!("Pass --to <E.164>, --session-id, or --agent to choose a session");
    }
    Ok(())
}

/// The session that the command line names; a conversation without a name is the main session.
fn destination(setting: &Setting, arguments: &Arguments, config: &Config) -> Result<Destination> {
    let book = Book::open(setting)?;
    let policy = KeyPolicy::from_config(config);
    let given = |option: &Option<String>| option.as_deref().and_then(text::non_blank).map(str::to_owned);
    let [to, id, agent] = [&arguments.to, &arguments.session_id, &arguments.agent].map(given);
    choose_session(arguments, config)?;
    let agent = agent.map(|named| book.agent(&named)).transpose()?;
    let peer = |to: Option<String>| {
        let to = to?;
        let message = InboundMessage { from: Some(to.clone()), to: Some(to), ..InboundMessage::default() };
        Some(Target::of(&message, &policy).key)
    };
    let blank = InboundMessage { command_authorized: true, ..InboundMessage::default() };
    match (id, agent, to) {
        (Some(id), agent, to) => {
            let key = match book.by_id(&id, agent.as_ref())? {
                Some(key) => key,
                None => unknown_id(&book, &id, agent.as_ref(), peer(to), &policy)?,
            };
            Ok(Destination { id: Some(id), ..with_key(blank, key) })
        }
        (None, Some(agent), _) => Ok(with_key(blank, SessionKey::main(&agent, &policy.main_key))),
        (None, None, Some(to)) => {
            let message = InboundMessage { from: Some(to.clone()), to: Some(to), ..blank };
            let key = Target::of(&message, &policy).key;
            Ok(Destination { message, key, id: None })
        }
        (None, None, None) => Ok(with_key(blank, policy.main_session())),
    }
}

fn with_key(message: InboundMessage, key: SessionKey) -> Destination {
    let message = InboundMessage { session_key: Some(key.as_str().to_owned()), ..message };
    Destination { message, key, id: None }
}

/// The key of the session for an id that nobody has.
fn unknown_id(
    book: &Book<'_>,
    id: &str,
    agent: Option<&AgentId>,
    peer: Option<SessionKey>,
    policy: &KeyPolicy,
) -> Result<SessionKey> {
    if TranscriptId::new(id, None).is_err() {
        bail!("{id:?} cannot be the id of a session: it would not make a file name");
    }
    let begins_one = agent.is_none() && peer.is_none();
    let key = session_of_unknown_id(id, agent, peer, policy);
    if !begins_one {
        return Ok(key);
    }
    let known = book::open(&book.store_path(&policy.default_agent))?.get_blocking(&key)?;
    // Another process may have begun it with this id just now.
    if let Some(other) = known.filter(|known| known.session_id() != Some(id)) {
        let other = other.session_id().unwrap_or("unknown");
        bail!("{id:?} is the name of another session, {key} (id {other}); choose another id");
    }
    Ok(key)
}

/// Writes down what the command line says about the session, before anything is said in it.
fn prepare(setting: &Setting, destination: &Destination, levels: &Levels) -> Result<()> {
    let sets_levels = levels.thinking.is_some() || levels.verbose.is_some();
    if destination.id.is_none() && !sets_levels {
        return Ok(());
    }
    let store = book::open(&Book::open(setting)?.store_path(&destination.key.agent_id()))?;
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    let now = jiff::Timestamp::now().as_millisecond() as f64;
    let (id, levels) = (destination.id.clone(), *levels);
    let change = move |entry: &mut Option<SessionEntry>| {
        let mut patch = levels.patch();
        // Whoever names a conversation means that one, however long ago it was.
        if id.is_some() || entry.is_none() {
            patch.set_updated_at(Some(now));
        }
        if entry.is_none() {
            patch.set_session_id(Some(&id.unwrap_or_else(|| Uuid::new_v4().to_string())));
        }
        entry.get_or_insert_default().apply(&patch);
    };
    store.update_blocking(&destination.key, Box::new(change))?;
    Ok(())
}

/// What is piped in; `None` on a terminal.
fn piped() -> Result<Option<String>> {
    if std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let mut said = Vec::new();
    std::io::stdin().read_to_end(&mut said).context("cannot read what is piped in")?;
    let said = String::from_utf8(said).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow!("what is piped in is not UTF-8 text (byte {}); convert it first, say with iconv", at + 1)
    })?;
    match text::non_blank(&said) {
        Some(said) => Ok(Some(said.to_owned())),
        None => Err(Failure::bare("error: required option '-m, --message <text>' not specified").into()),
    }
}
