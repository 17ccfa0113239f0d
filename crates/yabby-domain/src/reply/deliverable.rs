//! The last look at a payload before it is sent (`sessions.md` §16).

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::payload::ReplyPayload;
use super::tokens::{HEARTBEAT_TOKEN, SILENT_TOKEN, TokenContext, is_silent, strip_heartbeat};
use crate::text::{self, SPACE_CLASS};

/// Why a payload is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    Empty,
    Silent,
    Heartbeat,
}

#[derive(Clone, Copy, Debug)]
pub struct DeliveryOptions<'o> {
    pub silent_token: &'o str,
    pub strip_heartbeat: bool,
    /// Put in front of every text; see [`PrefixValues::fill_in`].
    pub prefix: Option<&'o str>,
}

impl Default for DeliveryOptions<'_> {
    fn default() -> Self {
        Self { silent_token: SILENT_TOKEN, strip_heartbeat: true, prefix: None }
    }
}

/// The payload as it is sent, or why it is not. Media and channel data are sent without a text, too.
pub fn deliverable(payload: ReplyPayload, options: &DeliveryOptions<'_>) -> Result<ReplyPayload, Skipped> {
    let has_data = payload.channel_data.as_ref().is_some_and(|data| !data.is_empty());
    let text_needed = !payload.has_media() && !has_data;
    let mut text = payload.text.clone();
    let is_blank = |text: &Option<String>| text.as_deref().and_then(text::non_blank).is_none();
    if is_blank(&text) {
        if text_needed {
            return Err(Skipped::Empty);
        }
        text = text.map(|_| String::new());
    }
    if text.as_deref().is_some_and(|text| is_silent(text, options.silent_token)) {
        if text_needed {
            return Err(Skipped::Silent);
        }
        text = Some(String::new());
    }
    if let Some(tagged) =
        text.as_deref().filter(|text| options.strip_heartbeat && text.contains(HEARTBEAT_TOKEN))
    {
        let rest = strip_heartbeat(tagged, TokenContext::Message).text;
        if rest.is_none() && text_needed {
            return Err(Skipped::Heartbeat);
        }
        text = Some(rest.unwrap_or_default());
    }
    text = text.map(|text| without_repeated_blocks(&without_final_tags(&text)));
    if is_blank(&text) && text_needed {
        return Err(Skipped::Empty);
    }
    let prefix = options.prefix.filter(|prefix| !prefix.is_empty());
    if let (Some(said), Some(prefix)) = (text.as_deref().filter(|text| !text.is_empty()), prefix)
        && text::trim(said) != HEARTBEAT_TOKEN
        && !said.starts_with(prefix)
    {
        text = Some(format!("{prefix} {said}"));
    }
    Ok(ReplyPayload { text, ..payload })
}

/// Some models wrap what they mean to say in `<final>`.
fn without_final_tags(text: &str) -> String {
    static TAG: LazyLock<Regex> = LazyLock::new(|| {
        let space = format!("[{SPACE_CLASS}]*");
        text::pattern(&format!("<{space}/?{space}(?i-u:final){space}>"))
    });
    TAG.replace_all(text, "").into_owned()
}

/// A paragraph that says the same as the one before it is dropped. The text is touched only then.
fn without_repeated_blocks(text: &str) -> String {
    static BREAK: LazyLock<Regex> = LazyLock::new(|| text::pattern("\n{2,}"));
    let said = |block: &str| text::collapse_spaces(text::trim(block));
    let blocks: Vec<&str> = BREAK.split(text::trim(text)).collect();
    let mut kept: Vec<&str> = Vec::with_capacity(blocks.len());
    let mut last = String::new();
    for block in &blocks {
        let this = said(block);
        if this.is_empty() || this != last {
            kept.push(text::trim(block));
            last = this;
        }
    }
    if kept.len() == blocks.len() { text.to_owned() } else { kept.join("\n\n") }
}

/// What a prefix may speak of.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrefixValues<'v> {
    pub model: Option<&'v str>,
    pub model_full: Option<&'v str>,
    pub provider: Option<&'v str>,
    pub thinking_level: Option<&'v str>,
    pub identity_name: Option<&'v str>,
}

impl PrefixValues<'_> {
    /// `{model}` and its like become values; what is not known stays as it was written.
    pub fn fill_in(&self, template: &str) -> String {
        static NAME: LazyLock<Regex> = LazyLock::new(|| text::pattern(r"\{([a-zA-Z][a-zA-Z0-9.]*)\}"));
        let value = |found: &Captures<'_>| {
            let value = match found[1].to_ascii_lowercase().as_str() {
                "model" => self.model,
                "modelfull" => self.model_full,
                "provider" => self.provider,
                "thinkinglevel" | "think" => self.thinking_level,
                "identity.name" | "identityname" => self.identity_name,
                _ => None,
            };
            value.unwrap_or(&found[0]).to_owned()
        };
        NAME.replace_all(template, value).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_sent_or_there_is_a_reason() {
        let options = DeliveryOptions { prefix: Some("[bot]"), ..DeliveryOptions::default() };
        let media = Some("u".to_owned());
        let table = [
            ("hi", None, Ok("[bot] hi")),
            ("[bot] hi", None, Ok("[bot] hi")),
            (" ", None, Err(Skipped::Empty)),
            (" ", media.clone(), Ok("")),
            ("NO_REPLY", None, Err(Skipped::Silent)),
            ("NO_REPLY", media.clone(), Ok("")),
            ("HEARTBEAT_OK", None, Err(Skipped::Heartbeat)),
            ("HEARTBEAT_OK fine", None, Ok("[bot] fine")),
            ("<final> a </ Final >", None, Ok("[bot]  a ")),
            ("<final></final>", None, Err(Skipped::Empty)),
            ("a\n\n\na \n\nb", None, Ok("[bot] a\n\nb")),
        ];
        for (text, media_url, expected) in table {
            let payload = ReplyPayload { media_url, ..ReplyPayload::from_text(text) };
            let sent = deliverable(payload, &options).map(|payload| payload.text.unwrap_or_default());
            assert_eq!(sent.as_deref(), expected.as_ref().copied(), "{text:?}");
        }
    }

    #[test]
    fn a_prefix_speaks_of_the_model() {
        let values = PrefixValues { model: Some("m"), identity_name: Some("Al"), ..PrefixValues::default() };
        assert_eq!(values.fill_in("[{Model}|{identity.name}|{provider}|{x}]"), "[m|Al|{provider}|{x}]");
    }
}
