//! One message to be sent (`sessions.md` §16).

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::bootstrap;
use crate::json::Object;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReplyPayload {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media_urls: Option<Vec<String>>,
    /// The message it answers on the platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to_id: Option<String>,
    /// It was a tag in the text that asked for the answer; `None` where nobody looked yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to_tag: Option<bool>,
    /// It answers the message that started the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reply_to_current: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub audio_as_voice: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// What only the channel understands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_data: Option<Object>,
}

impl ReplyPayload {
    pub fn from_text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    pub fn has_media(&self) -> bool {
        let has_one = self.media_url.as_ref().is_some_and(|url| !url.is_empty());
        has_one || self.media_urls.as_ref().is_some_and(|urls| !urls.is_empty())
    }

    /// The payload as others than the owner may get it: a file of the workspace that is the owner's own is not
    /// sent along, and the line that named it stays in the text.
    ///
    /// Judged by the name alone. Whoever opens the file must follow no link to it.
    #[must_use]
    pub fn for_others(self) -> Self {
        let is_private = |source: &String| bootstrap::is_private(Path::new(source));
        let sources = self.media_urls.iter().flatten().chain(&self.media_url);
        let mut refused: Vec<String> = sources.filter(|source| is_private(source)).cloned().collect();
        if refused.is_empty() {
            return self;
        }
        refused.dedup();
        let text = self.text.into_iter().filter(|text| !text.is_empty());
        let lines: Vec<String> = text.chain(refused.iter().map(|source| format!("MEDIA:{source}"))).collect();
        let sent = |sources: Vec<String>| sources.into_iter().filter(|source| !is_private(source)).collect();
        let media_urls = self.media_urls.map(sent).filter(|sources: &Vec<String>| !sources.is_empty());
        let first = || media_urls.as_ref()?.first().cloned();
        Self {
            text: Some(lines.join("\n")),
            media_url: self.media_url.filter(|source| !is_private(source)).or_else(first),
            media_urls,
            ..self
        }
    }

    /// Whether there is anything to show. Data for the channel count even if they are empty.
    pub fn is_renderable(&self) -> bool {
        let has_text = self.text.as_ref().is_some_and(|text| !text.is_empty());
        has_text || self.has_media() || self.audio_as_voice == Some(true) || self.channel_data.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_without_anything_to_show_is_not_sent() {
        let empty =
            ReplyPayload { media_urls: Some(vec![]), is_error: Some(true), ..ReplyPayload::default() };
        let table = [
            (empty.clone(), false),
            (ReplyPayload::from_text(""), false),
            (ReplyPayload::from_text(" "), true),
            (ReplyPayload { media_urls: Some(vec!["u".to_owned()]), ..empty.clone() }, true),
            (ReplyPayload { audio_as_voice: Some(true), ..empty.clone() }, true),
            (ReplyPayload { channel_data: Some(Object::new()), ..empty }, true),
        ];
        for (payload, renderable) in table {
            assert_eq!(payload.is_renderable(), renderable, "{payload:?}");
        }
    }

    #[test]
    fn others_do_not_get_the_owners_own_files() {
        let of = |text: &str, sources: &[&str]| ReplyPayload {
            text: Some(text.to_owned()).filter(|text| !text.is_empty()),
            media_url: sources.first().map(|source| (*source).to_owned()),
            media_urls: Some(sources.iter().map(|source| (*source).to_owned()).collect())
                .filter(|sources: &Vec<String>| !sources.is_empty()),
            ..ReplyPayload::default()
        };
        //  text, sources, text for others, sources for others
        let table: [(&str, &[&str], &str, &[&str]); 7] = [
            ("look", &["./a.png"], "look", &["./a.png"]),
            ("look", &["./MEMORY.md"], "look\nMEDIA:./MEMORY.md", &[]),
            ("", &["./././memory//2026-01-01.md"], "MEDIA:./././memory//2026-01-01.md", &[]),
            ("", &["./user.MD", "./a.png"], "MEDIA:./user.MD", &["./a.png"]),
            ("", &["./a.png", "./memory/x/y.png"], "MEDIA:./memory/x/y.png", &["./a.png"]),
            ("", &["https://example.com/memory/x.png"], "", &["https://example.com/memory/x.png"]),
            ("hi", &[], "hi", &[]),
        ];
        for (text, sources, told, sent) in table {
            assert_eq!(of(text, sources).for_others(), of(told, sent), "{text} {sources:?}");
        }
    }
}
