//! What a turn says to the model (`sessions.md` §11, §12).

use yabby_domain::body::{self, MediaPart, PromptParts};
use yabby_domain::channel::ChatType;
use yabby_domain::config::Config;
use yabby_domain::config::channels::settings::ChannelSettings;
use yabby_domain::directive::level::{supports_xhigh, take_leading_level};
use yabby_domain::inbound::media::media_note;
use yabby_domain::json::Value;
use yabby_domain::message::{Message, text_block};
use yabby_domain::recollection::without_false_memories;
use yabby_domain::reply::notices::NO_TEXT;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::session::reset::words_for_agent;
use yabby_domain::system_events::{self, SystemEvent, stamp_zone};
use yabby_domain::text;
use yabby_domain::turn::ShownPicture;

use super::open::Opened;
use crate::durability::Recorded;
use crate::inbound::{Inbound, PromptSource};
use crate::{Engine, unpoisoned};

/// How the agent may send media back.
const MEDIA_HINT: &str = "To send an image back, put MEDIA:./path or MEDIA:https://example.com/image.jpg on a line of its own (no spaces, no quotes), and keep a caption in the text.";

/// The question of a turn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    /// When it was asked, by which it is found in the transcript.
    pub(crate) asked_at: i64,
    /// What is shown beside the words.
    pub(crate) pictures: Vec<ShownPicture>,
}

impl Prompt {
    /// For what is done without a question.
    pub(crate) fn nothing(asked_at: i64) -> Self {
        Self { text: String::new(), asked_at, pictures: Vec::new() }
    }

    /// The message as it stands in the transcript.
    pub(crate) fn message(&self) -> Message {
        illustrated(&self.text, &self.pictures, self.asked_at)
    }
}

/// A message from the user's side, with what is shown beside its words.
pub(crate) fn illustrated(text: &str, pictures: &[ShownPicture], at: i64) -> Message {
    let mut message = user_message(text, at);
    if !pictures.is_empty() {
        let words = text::non_blank(text).map(text_block);
        let content: Vec<Value> = words.into_iter().chain(pictures.iter().map(ShownPicture::block)).collect();
        message.set("content", content);
    }
    message
}

/// A message from the user's side.
pub(crate) fn user_message(text: &str, at: i64) -> Message {
    let mut message = Message::default();
    message.set("role", "user");
    message.set("content", vec![text_block(text)]);
    message.set("timestamp", at);
    message
}

/// Puts the prompt together, with the notices that wait for it; `None` if the message says nothing.
pub(crate) fn compose_prompt(
    engine: &Engine,
    inbound: &Inbound,
    opened: &mut Opened,
    notices: &Notices,
) -> Option<Prompt> {
    let message = &inbound.message;
    let is_message = inbound.prompt == PromptSource::Message;
    let note = media_note(&message.media).filter(|_| is_message);
    let words = match (said(inbound, opened), &note) {
        (Some(said), _) => said.to_owned(),
        (None, Some(_)) => String::new(),
        (None, None) if !inbound.pictures().is_empty() => String::new(),
        (None, None) => return None,
    };
    let plain = |words: &str| plain(inbound, words);
    let (words, note) = (plain(&words), note.as_deref().map(plain));
    let untrusted: Vec<String> = message.untrusted_context.iter().map(|entry| plain(entry)).collect();
    let starter = message.thread_starter_body.as_deref().filter(|_| opened.is_new).map(plain);
    let events = system_events(engine, inbound, opened, notices);
    let text = body::prompt(&PromptParts {
        body: &words,
        last_run_aborted: opened.aborted_last_run,
        message_id: message.message_id.as_deref().filter(|_| is_message),
        system_events: events.as_deref(),
        untrusted_context: if is_message { &untrusted } else { &[] },
        thread_starter: starter.as_deref(),
        media: note.as_deref().map(|note| MediaPart { note, hint: MEDIA_HINT }),
    });
    let text = take_level(opened, text);
    Some(Prompt { text, asked_at: inbound.accepted_at, pictures: inbound.pictures().to_vec() })
}

/// What is said to the agent, without anything around it; `None` if nothing is.
pub(super) fn said<'w>(inbound: &'w Inbound, opened: &'w Opened) -> Option<&'w str> {
    match &inbound.prompt {
        PromptSource::Queued { prompt, .. } => Some(prompt),
        PromptSource::Message => {
            let raw = inbound.message.body_for_commands.as_deref().unwrap_or_default();
            words_for_agent(&opened.body, raw, opened.is_new && opened.was_reset)
        }
    }
}

/// Words of a message, without what passes for the program's own words unless its sender may write these.
pub(crate) fn plain(inbound: &Inbound, words: &str) -> String {
    match inbound.is_verbatim() {
        true => words.to_owned(),
        false => without_false_memories(&body::without_false_notices(words)).into_owned(),
    }
}

pub(crate) fn nothing_said() -> ReplyPayload {
    ReplyPayload::from_text(NO_TEXT)
}

/// A first word that names a level of thinking is one, if nobody has named another.
fn take_level(opened: &mut Opened, text: String) -> String {
    if opened.thinking.is_some() || opened.entry.thinking_level().is_some() {
        return text;
    }
    let Ok(choice) = &opened.model else { return text };
    let knows_xhigh = supports_xhigh(Some(&choice.model.provider), &choice.model.model);
    match take_leading_level(&text, knows_xhigh) {
        Some((level, rest)) => {
            opened.thinking = Some(level);
            rest
        }
        None => text,
    }
}

/// What happened since the last prompt. A new main session is told about its channels first.
fn system_events(engine: &Engine, inbound: &Inbound, opened: &Opened, notices: &Notices) -> Option<String> {
    let policy = KeyPolicy::from_config(&opened.config);
    let chat_type = inbound.message.chat_type.as_deref().and_then(ChatType::parse);
    let in_group = matches!(chat_type, Some(ChatType::Group | ChatType::Channel));
    let is_main = opened.key == policy.resolve_main_alias(&inbound.target().agent, "main");
    let summary = match opened.is_new && is_main && !in_group {
        true => channel_summary(engine, &opened.config),
        false => Vec::new(),
    };
    let zone = stamp_zone(&opened.config, &engine.0.zone);
    system_events::render(&summary, &notices.0, &zone)
}

/// The notices that wait for the next prompt of a session.
#[derive(Default)]
pub(crate) struct Notices(Vec<SystemEvent>);

/// Takes them: they are told once.
pub(crate) fn take_notices(engine: &Engine, session: &SessionKey, _recorded: &Recorded) -> Notices {
    let notices = unpoisoned(&engine.0.notices).remove(session);
    Notices(notices.map(|mut notices| notices.drain()).unwrap_or_default())
}

/// A line for each channel that is configured.
fn channel_summary(engine: &Engine, config: &Config) -> Vec<String> {
    let line = |(name, settings): (&str, &ChannelSettings)| {
        let state = match (settings.enabled(), engine.channel(name).is_some()) {
            (false, _) => "switched off",
            (true, true) => "connected",
            (true, false) => "configured, not connected",
        };
        format!("Channel {name}: {state}.")
    };
    config.channels.all().map(line).collect()
}
