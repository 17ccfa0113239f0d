//! The payloads of a turn, from what the run produced to what is sent (`sessions.md` §16).

use super::duplicates::{ReplyOrigin, SentTarget, answered_by_tool, without_duplicates};
use super::parse::ParsedReply;
use super::payload::ReplyPayload;
use super::threading::{ReplyToFilter, ReplyToMode, thread};
use super::tokens::{HEARTBEAT_TOKEN, SILENT_TOKEN, TokenContext, strip_heartbeat};
use crate::text;

/// What is known when a run has ended.
#[derive(Clone, Copy, Debug)]
pub struct TurnReply<'t> {
    pub is_heartbeat: bool,
    pub mode: ReplyToMode,
    pub channel: Option<&'t str>,
    pub current_message: Option<&'t str>,
    pub streamed: Streamed<'t>,
    pub origin: ReplyOrigin<'t>,
    /// What the messaging tool sent, and where to.
    pub tool_texts: &'t [String],
    pub tool_targets: &'t [SentTarget],
}

/// What went out while the run was still going on.
#[derive(Clone, Copy, Debug)]
pub enum Streamed<'t> {
    /// The whole reply, block by block.
    Everything,
    /// These blocks, perhaps none.
    Some(&'t [BlockKey]),
}

/// What makes two payloads the same message.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BlockKey {
    text: String,
    media: Vec<String>,
    reply_to_id: Option<String>,
}

impl BlockKey {
    pub fn of(payload: &ReplyPayload) -> Self {
        let several = payload.media_urls.clone().filter(|urls| !urls.is_empty());
        let one = || payload.media_url.clone().filter(|url| !url.is_empty()).into_iter().collect();
        Self {
            text: payload.text.as_deref().map_or("", text::trim).to_owned(),
            media: several.unwrap_or_else(one),
            reply_to_id: payload.reply_to_id.clone(),
        }
    }
}

/// What is left to send of `payloads`.
pub fn build(payloads: Vec<ReplyPayload>, turn: &TurnReply<'_>) -> Vec<ReplyPayload> {
    let payloads = match turn.is_heartbeat {
        // The heartbeat itself decides what its token means.
        true => payloads,
        false => payloads.into_iter().map(explained).filter_map(without_heartbeat).collect(),
    };
    let filter = ReplyToFilter::for_channel(turn.mode, turn.channel);
    let read = thread(payloads, filter, turn.current_message)
        .into_iter()
        .map(|payload| read(payload, turn.current_message))
        .filter(ReplyPayload::is_renderable)
        .collect();
    if answered_by_tool(turn.origin, turn.tool_targets) {
        return Vec::new();
    }
    let unsaid = without_duplicates(read, turn.tool_texts);
    match turn.streamed {
        Streamed::Everything => Vec::new(),
        Streamed::Some(sent) => {
            unsaid.into_iter().filter(|payload| !sent.contains(&BlockKey::of(payload))).collect()
        }
    }
}

/// A connection that broke is explained; the bare error would tell nobody what to do.
fn explained(payload: ReplyPayload) -> ReplyPayload {
    const BROKEN: &str = "socket connection was closed unexpectedly";
    match &payload.text {
        Some(error)
            if payload.is_error == Some(true) && text::find_ignoring_ascii_case(error, BROKEN).is_some() =>
        {
            let text = format!(
                "⚠️ LLM connection failed. This could be due to server issues, network problems, or context length exceeded (e.g., with local LLMs like LM Studio). Original error:\n```\n{}\n```",
                text::trim(error)
            );
            ReplyPayload { text: Some(text), ..payload }
        }
        _ => payload,
    }
}

/// A stray heartbeat token is taken out; a payload that was nothing else is dropped.
fn without_heartbeat(payload: ReplyPayload) -> Option<ReplyPayload> {
    match &payload.text {
        Some(text) if text.contains(HEARTBEAT_TOKEN) => {
            match strip_heartbeat(text, TokenContext::Message).text {
                Some(rest) => Some(ReplyPayload { text: Some(rest), ..payload }),
                None if payload.has_media() => Some(ReplyPayload { text: Some(String::new()), ..payload }),
                None => None,
            }
        }
        _ => Some(payload),
    }
}

/// The payload with the directives in its text carried out. What it says itself comes before what its
/// text says.
fn read(payload: ReplyPayload, current_message: Option<&str>) -> ReplyPayload {
    let text = payload.text.as_deref().unwrap_or_default();
    let parsed = ParsedReply::of(text, current_message, SILENT_TOKEN);
    let found = Some(parsed.sources).filter(|sources| !sources.is_empty());
    let first_found = found.as_ref().and_then(|sources| sources.first().cloned());
    let media_urls = payload.media_urls.or(found);
    let first = media_urls.as_ref().and_then(|urls| urls.first().cloned());
    ReplyPayload {
        text: Some(parsed.text).filter(|text| !text.is_empty()),
        media_url: payload.media_url.or(first_found).or(first),
        media_urls,
        reply_to_id: payload.reply_to_id.or(parsed.tags.reply_to_id),
        reply_to_tag: Some(payload.reply_to_tag == Some(true) || parsed.tags.any),
        reply_to_current: Some(payload.reply_to_current == Some(true) || parsed.tags.current),
        audio_as_voice: Some(payload.audio_as_voice == Some(true) || parsed.audio_as_voice),
        ..payload
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: TurnReply<'_> = TurnReply {
        is_heartbeat: false,
        mode: ReplyToMode::All,
        channel: None,
        current_message: Some("1"),
        streamed: Streamed::Some(&[]),
        origin: ReplyOrigin { provider: None, to: None, account: None },
        tool_texts: &[],
        tool_targets: &[],
    };

    fn texts(payloads: &[&str], turn: &TurnReply<'_>) -> Vec<String> {
        let payloads = payloads.iter().map(|text| ReplyPayload::from_text(*text)).collect();
        build(payloads, turn).into_iter().map(|payload| payload.text.unwrap_or_default()).collect()
    }

    #[test]
    fn tokens_and_directives_are_carried_out() {
        let all = ["HEARTBEAT_OK", "NO_REPLY", "hi HEARTBEAT_OK", "", "[[reply_to_current]] a"];
        assert_eq!(texts(&all, &TURN), ["hi", "a"]);
        assert_eq!(texts(&["HEARTBEAT_OK"], &TurnReply { is_heartbeat: true, ..TURN }), ["HEARTBEAT_OK"]);

        let media = build(vec![ReplyPayload::from_text("see\nMEDIA:./a.png")], &TURN).remove(0);
        assert_eq!(media.text.as_deref(), Some("see"));
        assert_eq!(media.media_url.as_deref(), Some("./a.png"));
    }

    #[test]
    fn a_broken_connection_is_explained() {
        let error = "The Socket connection was closed unexpectedly.";
        let payload = ReplyPayload { is_error: Some(true), ..ReplyPayload::from_text(error) };
        let told = build(vec![payload], &TURN).remove(0).text.unwrap_or_default();
        assert!(
            told.starts_with("⚠️ LLM connection failed.") && told.ends_with(&format!("\n```\n{error}\n```"))
        );
        assert_eq!(texts(&[error], &TURN), [error]);
    }

    #[test]
    fn nothing_is_said_twice() {
        let streamed = [BlockKey::of(&ReplyPayload::from_text(" one "))];
        let partly = TurnReply { streamed: Streamed::Some(&streamed), ..TURN };
        assert_eq!(texts(&["one", "two"], &partly), ["two"]);
        assert!(texts(&["one"], &TurnReply { streamed: Streamed::Everything, ..TURN }).is_empty());

        let said = ["a longer sentence".to_owned()];
        assert!(texts(&["A longer sentence!"], &TurnReply { tool_texts: &said, ..TURN }).is_empty());

        let target = SentTarget { provider: "telegram".into(), to: Some("5".into()), account: None };
        let origin = ReplyOrigin { provider: Some("telegram"), to: Some("5"), account: None };
        let turn = TurnReply { origin, tool_targets: &[target], ..TURN };
        assert!(texts(&["anything"], &turn).is_empty());
    }
}
