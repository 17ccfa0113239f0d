//! One message to be sent (`sessions.md` §16).

use serde::{Deserialize, Serialize};

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
}
