//! Chat commands: messages that are for the program, not for the model (`sessions.md` §15, §17).
//!
//! To add one, write a file and list it in [`COMMANDS`].

mod activation;
mod approve;
mod compact;
mod context;
mod help;
mod model;
mod send;
mod settings;
mod skill;
pub(crate) mod status;
pub(crate) mod stop;
mod subagents;
mod usage;
mod whoami;

use std::pin::Pin;

use yabby_domain::access::command_auth::command_is_blocked;
use yabby_domain::body::{self, MediaPart, PromptParts, strip_structure};
use yabby_domain::command::{is_abort_word, is_command, normalize_body};
use yabby_domain::config::Config;
use yabby_domain::directive::{Circumstances, Directives};
use yabby_domain::inbound::media::media_note;
use yabby_domain::mention::{mention_patterns, strip_mentions};
use yabby_domain::model::ModelAliases;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::session::reset::ResetTriggers;
use yabby_domain::text;

use crate::Engine;
use crate::durability::Recorded;
use crate::inbound::{Inbound, PromptSource};
use crate::recovery;
use crate::steering::RunControl;
use crate::turn::TurnError;
use crate::turn::open::Opened;
use crate::turn::prompt::plain;

/// When a message is dealt with while a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Urgency {
    /// It stops the run.
    Abort,
    /// It is answered beside the run.
    AtOnce,
    /// It waits for the run, alone and at its place.
    InPlace,
    /// As the queue mode says.
    Usual,
}

/// What a command works with.
pub(crate) struct CommandContext<'c> {
    pub(crate) engine: &'c Engine,
    pub(crate) inbound: &'c Inbound,
    pub(crate) opened: &'c mut Opened,
    pub(crate) control: &'c RunControl,
    pub(crate) recorded: &'c Recorded,
    /// The command as it was said, in its canonical spelling.
    pub(crate) words: &'c str,
    /// What follows its name.
    pub(crate) rest: &'c str,
}

type Answering<'c> = Pin<Box<dyn Future<Output = Result<String, TurnError>> + Send + 'c>>;

/// A command: its name without the slash, what it does, and how.
struct Command {
    name: &'static str,
    usage: &'static str,
    does: &'static str,
    answer: for<'c> fn(CommandContext<'c>) -> Answering<'c>,
}

macro_rules! command {
    ($name:literal, $usage:literal, $does:literal, $answer:path) => {
        Command { name: $name, usage: $usage, does: $does, answer: |context| Box::pin($answer(context)) }
    };
}

const COMMANDS: &[Command] = &[
    command!("help", "/help", "what can be said", help::answer),
    command!("commands", "/commands", "the same", help::answer),
    command!("status", "/status", "the session, its model and how full its context is", status::answer),
    command!("whoami", "/whoami", "who you are here, and what you may do", whoami::answer),
    command!("context", "/context", "what the model will see, and what each part costs", context::answer),
    command!("usage", "/usage off|tokens|full", "tell what each reply took", usage::answer),
    command!("compact", "/compact [what to heed]", "summarise the conversation so far", compact::answer),
    command!("model", "/model [name]", "which model answers, or choose another", model::answer),
    command!("models", "/models", "which models there are", model::list),
    command!("send", "/send on|off|inherit", "whether replies are sent here", send::answer),
    command!("activation", "/activation mention|always", "when a group is answered", activation::answer),
    command!("approve", "/approve id once|always|deny", "allow a command that waits", approve::answer),
    command!("subagents", "/subagents list|stop", "what works in the background", subagents::answer),
    command!("stop", "/stop", "stop what is going on", stop::answer),
];

/// What else can be said: settings that may also stand alone in a message, and words that begin anew.
const SETTINGS: &[(&str, &str)] = &[
    ("/new [model] [words]", "begin a new session"),
    ("/skill name [words]", "use a skill"),
    ("/think off|minimal|low|medium|high", "how much the model thinks"),
    ("/verbose on|full|off", "how much of a run is told"),
    ("/reasoning on|off|stream", "whether reasoning is shown"),
    (
        "/queue steer|followup|collect|steer-backlog|interrupt|default",
        "what happens to messages during a run",
    ),
];

/// When a message is dealt with.
pub(crate) fn urgency(inbound: &Inbound, config: &Config) -> Urgency {
    if recovery::is_underway(inbound) {
        return Urgency::InPlace;
    }
    let usual = if inbound.options.alone { Urgency::InPlace } else { Urgency::Usual };
    urgency_of_command(inbound, config).unwrap_or(usual)
}

/// When a message that is for the program is dealt with; `None` if it is for the model.
pub(crate) fn urgency_of_command(inbound: &Inbound, config: &Config) -> Option<Urgency> {
    if inbound.prompt != PromptSource::Message || !inbound.authority().is_authorized {
        return None;
    }
    let words = words(inbound, config);
    if is_abort(&words) {
        return Some(Urgency::Abort);
    }
    let raw = inbound.command_text();
    if ResetTriggers::from_config(config).find(raw, &words).is_some() {
        return Some(Urgency::InPlace);
    }
    // Settings in front of other words make no command of them.
    let rest = directives(inbound, raw, config).map(|found| without_structure(inbound, config, &found.rest));
    let words = match rest.filter(|rest| text::non_blank(rest).is_some()) {
        Some(rest) => normalize_body(&rest, None),
        None => words,
    };
    if is_usual_trigger(&words) {
        return None;
    }
    match named(&words) {
        _ if !is_command(&words, config, None) => None,
        Some(("compact", _)) => Some(Urgency::InPlace),
        Some(_) | None => Some(Urgency::AtOnce),
    }
}

/// Whether a message may be for the program, or have settings in it: then [`answer`] is to look at it.
pub(crate) fn is_for_program(inbound: &Inbound, opened: &Opened) -> bool {
    if inbound.prompt != PromptSource::Message || opened.was_reset {
        return false;
    }
    let words = words(inbound, &opened.config);
    words.starts_with('/')
        || is_abort(&words)
        || is_command(&words, &opened.config, None)
        || directives(inbound, &opened.body, &opened.config).is_some()
}

/// The answer to a message that is for the program; `None` if it is for the model.
pub(crate) async fn answer(
    engine: &Engine,
    inbound: &Inbound,
    opened: &mut Opened,
    control: &RunControl,
    recorded: &Recorded,
) -> Result<Option<Vec<ReplyPayload>>, TurnError> {
    if inbound.prompt != PromptSource::Message || opened.was_reset {
        return Ok(None);
    }
    let config = opened.config.clone();
    let words = words(inbound, &config);
    let is_abort = is_abort(&words);
    if !inbound.authority().is_authorized {
        // A stranger's command is neither carried out nor explained, and no business of the model.
        let text_commands = config.commands.text();
        let is_command = is_command(&words, &config, None) && !is_abort;
        return Ok(command_is_blocked(text_commands, is_command, false).then(Vec::new));
    }
    let words = match settings::apply(engine, inbound, opened, recorded).await? {
        settings::Applied::Told(told) => return Ok(Some(vec![ReplyPayload::from_text(told)])),
        settings::Applied::Words(rest) => normalize_body(&rest, None),
        settings::Applied::Nothing => words,
    };
    if named(&words).is_none() {
        match skill::called(opened, &words).await {
            Some(Ok(asked)) => {
                opened.body = inbound.message.signed(&asked);
                return Ok(None);
            }
            Some(Err(told)) => return Ok(Some(vec![ReplyPayload::from_text(told)])),
            None => {}
        }
    }
    let (name, rest) = match named(&words) {
        _ if is_abort => ("stop", ""),
        None if inbound.options.refuses_unknown_commands && looks_like_command(&words, &config) => {
            let name = first_word(&words);
            return Ok(Some(vec![ReplyPayload::from_text(format!(
                "There is no command {name}. /help tells which there are."
            ))]));
        }
        // Some commands stand alone: with other words behind them they are words, too.
        _ if !is_command(&words, &config, None) => return Ok(None),
        Some(found) => found,
        None if is_usual_trigger(&words) => return Ok(None),
        None => {
            let name = first_word(&words);
            return Ok(Some(vec![ReplyPayload::from_text(format!(
                "{name} is not available here yet. /help tells what is."
            ))]));
        }
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else { return Ok(None) };
    let context = CommandContext { engine, inbound, opened, control, recorded, words: &words, rest };
    let told = (command.answer)(context).await?;
    Ok(Some(vec![ReplyPayload::from_text(told)]))
}

/// The command that a message names, and what follows the name.
fn named(words: &str) -> Option<(&'static str, &str)> {
    let line = words.strip_prefix('/')?;
    let end = line.find(text::is_space).unwrap_or(line.len());
    let name = text::lower(&line[..end]);
    let command = COMMANDS.iter().find(|command| command.name == name)?;
    Some((command.name, text::trim(&line[end..])))
}

/// Whether words begin as a command does, and are none: `/foo`, but not `/etc/hosts`.
fn looks_like_command(words: &str, config: &Config) -> bool {
    let Some(name) = first_word(words).strip_prefix('/') else { return false };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    is_name && !is_command(words, config, None) && !is_usual_trigger(words)
}

fn is_abort(words: &str) -> bool {
    is_abort_word(words) || text::lower(words) == "/stop"
}

/// Whether a message begins with what usually begins a session anew. Where other words do, it means nothing.
fn is_usual_trigger(words: &str) -> bool {
    ["/new", "/reset"].contains(&text::lower(first_word(words)).as_str())
}

fn first_word(words: &str) -> &str {
    words.split(text::is_space).next().unwrap_or_default()
}

/// The words of a message as commands are read: without headers, histories and mentions.
fn words(inbound: &Inbound, config: &Config) -> String {
    normalize_body(&without_structure(inbound, config, inbound.command_text()), None)
}

fn without_structure(inbound: &Inbound, config: &Config, said: &str) -> String {
    let stripped = strip_structure(said);
    match inbound.target().is_group {
        true => without_mentions(inbound, config, &stripped),
        false => stripped,
    }
}

fn without_mentions(inbound: &Inbound, config: &Config, text: &str) -> String {
    let patterns = mention_patterns(config, Some(&inbound.target().agent));
    strip_mentions(text, &inbound.message, &patterns)
}

/// What a message says when it has had to wait, or is slipped into a run: without the settings in it,
/// which have no effect among other words.
pub(crate) fn queued_prompt(inbound: &Inbound, config: &Config) -> String {
    let message = &inbound.message;
    let said = message.body_for_agent.as_deref().unwrap_or_default();
    let found = directives(inbound, said, config).filter(|_| inbound.authority().is_authorized);
    let said = plain(inbound, &found.map_or_else(|| said.to_owned(), |found| found.rest));
    let note = media_note(&message.media).map(|note| plain(inbound, &note));
    body::queued_prompt(&PromptParts {
        body: &said,
        message_id: message.message_id.as_deref(),
        media: note.as_deref().map(|note| MediaPart { note, hint: "" }),
        ..PromptParts::default()
    })
}

/// The directives that take effect, and what is left of the words.
fn directives(inbound: &Inbound, said: &str, config: &Config) -> Option<Directives> {
    let aliases = ModelAliases::from_config(config, "anthropic");
    let names: Vec<String> = aliases.all().iter().map(|alias| alias.name.clone()).collect();
    let authorized = inbound.authority().is_authorized;
    let taken = Directives::take(said, &names, authorized);
    let untouched = Directives { rest: taken.rest.clone(), ..Directives::default() };
    if taken == untouched {
        return None;
    }
    let here = Circumstances {
        in_group: inbound.target().is_group,
        mentioned: true,
        text_commands_allowed: config.commands.text(),
        sender_authorized: authorized,
        commands_authorized: authorized,
    };
    Some(taken.in_effect(here, &names, |text| without_mentions(inbound, config, text)))
}
