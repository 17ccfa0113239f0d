//! What was said in the conversations that the one who asks may see.
//!
//! People stay apart: a sender sees the conversation that they are in. Only an owner of the agent sees
//! its other ones, and only where nobody else reads along.

use jiff::Timestamp;
use yabby_domain::channel::ChatType;
use yabby_domain::flush;
use yabby_domain::message::{Block, Content, Message, Role};
use yabby_domain::reply::tokens::HEARTBEAT_PROMPT;
use yabby_domain::seam::StoreError;
use yabby_domain::seam::tool::{Company, ToolContext};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{Audience, SessionKey};
use yabby_domain::session::path;
use yabby_domain::session::reset::BARE_RESET;
use yabby_domain::text;
use yabby_domain::transcript::context::message_of;
use yabby_domain::transcript::envelope::without_envelope;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::time;
use yabby_domain::transcript::tree::Transcript;

use crate::Conversations;

/// How many conversations are looked through, the latest first.
const MOST_CONVERSATIONS: usize = 300;
/// How much of them, in bytes.
const MOST_TEXT: usize = 32 * 1024 * 1024;

/// Something that somebody said.
pub(super) struct Spoken {
    /// `sessions/<file>`
    pub(super) path: String,
    /// Counts what was said in the conversation, from 1.
    pub(super) line: usize,
    pub(super) by_user: bool,
    pub(super) time: Option<String>,
    pub(super) text: String,
}

/// What was said where the one who asks may look. What cannot be read is told to `unread`.
pub(super) async fn visible(
    conversations: &Conversations,
    context: &ToolContext,
    unread: &mut Vec<String>,
) -> Vec<Spoken> {
    let mut spoken = Vec::new();
    let mut length = 0;
    let found = match transcripts(conversations, context).await {
        Ok(found) => found,
        Err(error) => {
            unread.push(error.to_string());
            return spoken;
        }
    };
    for (at, (id, is_current)) in found.into_iter().enumerate() {
        if at >= MOST_CONVERSATIONS || length >= MOST_TEXT {
            unread.push("the oldest conversations: there are too many to look through".to_owned());
            break;
        }
        match conversations.transcripts.load(&id).await {
            Ok(None) => {}
            Ok(Some(transcript)) => {
                let said = said_in(&transcript, &id, is_current);
                length += said.iter().map(|spoken| spoken.text.len()).sum::<usize>();
                spoken.extend(said);
            }
            Err(error) => unread.push(error.to_string()),
        }
    }
    spoken
}

/// The conversations that may be seen, and which of them this one is.
async fn transcripts(
    conversations: &Conversations,
    context: &ToolContext,
) -> Result<Vec<(TranscriptId, bool)>, StoreError> {
    let record = conversations.sessions.get(&context.session_key).await?;
    let current = record
        .as_ref()
        .filter(|record| record.session_id() == Some(&context.session_id))
        .and_then(transcript_of)
        .map_or_else(|| TranscriptId::new(&context.session_id, None), Ok)?;
    let chat_type = record.as_ref().and_then(|record| record.chat_type()).map(ChatType::as_str);
    let mut found = vec![(current.clone(), true)];
    let is_alone = context.company == Company::OwnerAlone;
    if is_alone && context.sender_is_owner && context.session_key.audience(chat_type) == Audience::Person {
        let others = of_agent(conversations, context).await?;
        found.extend(others.into_iter().filter(|id| *id != current).map(|id| (id, false)));
    }
    Ok(found)
}

/// All conversations of the agent, the latest first. Several agents may share a folder; then those count
/// that a record says are this one's.
async fn of_agent(
    conversations: &Conversations,
    context: &ToolContext,
) -> Result<Vec<TranscriptId>, StoreError> {
    let records = conversations.sessions.list().await?;
    let is_ours = |key: &SessionKey| key.agent_key().is_none() || key.agent_id() == context.agent;
    let mut all = conversations.transcripts.list().await?;
    if !records.iter().all(|(key, _)| is_ours(key)) {
        let ours: Vec<TranscriptId> = records
            .iter()
            .filter(|(key, _)| is_ours(key))
            .filter_map(|(_, record)| transcript_of(record))
            .collect();
        all.retain(|id| ours.contains(id));
    }
    Ok(all)
}

fn transcript_of(record: &SessionEntry) -> Option<TranscriptId> {
    let file = record.session_file().and_then(text::non_blank).map(path::name_of);
    match file {
        Some(file) => TranscriptId::of_file(file).ok(),
        None => TranscriptId::new(record.session_id()?, None).ok(),
    }
}

/// What people and the agent said in a conversation. In the current one that ends where the question
/// begins: it would find itself.
fn said_in(transcript: &Transcript, id: &TranscriptId, is_current: bool) -> Vec<Spoken> {
    let path = format!("sessions/{}", id.file_name());
    let mut spoken: Vec<Spoken> = Vec::new();
    // Where the user's messages begin that have no answer yet.
    let mut question: Option<usize> = None;
    for entry in transcript.entries() {
        let Some(message) = message_of(entry) else { continue };
        let by_user = match message.role() {
            Role::User => true,
            Role::Assistant => false,
            _ => continue,
        };
        if by_user {
            question = question.or(Some(spoken.len()));
        } else if !waits_for_tools(&message) {
            question = None;
        }
        let text = text_of(&without_envelope(message));
        if text.is_empty() || (by_user && is_ours(&text)) {
            continue;
        }
        let time = entry.time().and_then(stamp);
        spoken.push(Spoken { path: path.clone(), line: spoken.len() + 1, by_user, time, text });
    }
    if is_current {
        spoken.truncate(question.unwrap_or(spoken.len()));
    }
    spoken
}

fn waits_for_tools(answer: &Message) -> bool {
    answer.blocks().iter().any(|block| matches!(Block::of(block), Block::ToolCall(_)))
}

/// What was said in a user's name, though no user said it.
fn is_ours(text: &str) -> bool {
    [BARE_RESET, flush::DEFAULT_PROMPT, HEARTBEAT_PROMPT].iter().any(|words| text.contains(words))
}

fn stamp(milliseconds: f64) -> Option<String> {
    #[expect(clippy::cast_possible_truncation, reason = "a time of the calendar is a whole number")]
    Timestamp::from_millisecond(milliseconds as i64).ok().map(time::iso)
}

/// The words of a message on one line (`memory.md` §1.1).
fn text_of(message: &Message) -> String {
    let on_one_line = |text: &str| text::trim(&text::collapse_spaces(text)).to_owned();
    match message.content() {
        Content::Text(text) => on_one_line(text),
        Content::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match Block::of(block) {
                Block::Text(text) => Some(on_one_line(text)),
                _ => None,
            });
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
        }
        Content::Missing => String::new(),
    }
}
