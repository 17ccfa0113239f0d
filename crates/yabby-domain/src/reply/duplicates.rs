//! What the agent already said through its messaging tool is not said again (`sessions.md` §16).

use std::sync::LazyLock;

use regex::Regex;

use super::payload::ReplyPayload;
use super::target::same_target;
use crate::text;

/// Shorter texts repeat by chance.
const MIN_LENGTH: usize = 10;

/// The payloads whose text was not sent already, whole or in part.
pub fn without_duplicates(payloads: Vec<ReplyPayload>, sent: &[String]) -> Vec<ReplyPayload> {
    let sent: Vec<String> =
        sent.iter().map(|text| comparable(text)).filter(|text| text::units(text) >= MIN_LENGTH).collect();
    let is_duplicate = |payload: &ReplyPayload| {
        let text = comparable(payload.text.as_deref().unwrap_or_default());
        text::units(&text) >= MIN_LENGTH
            && sent.iter().any(|sent| text.contains(sent.as_str()) || sent.contains(&text))
    };
    payloads.into_iter().filter(|payload| !is_duplicate(payload)).collect()
}

/// The text as it is compared: in lower case, without pictures, white space collapsed.
pub fn comparable(text: &str) -> String {
    static PICTURES: LazyLock<Regex> =
        LazyLock::new(|| text::pattern(r"[\p{Emoji_Presentation}\p{Extended_Pictographic}]"));
    let lowered = text::lower(text::trim(text));
    text::trim(&text::collapse_spaces(&PICTURES.replace_all(&lowered, ""))).to_owned()
}

/// Where the turn's message came from.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReplyOrigin<'m> {
    pub provider: Option<&'m str>,
    pub to: Option<&'m str>,
    pub account: Option<&'m str>,
}

/// Where the messaging tool sent something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SentTarget {
    pub provider: String,
    pub to: Option<String>,
    pub account: Option<String>,
}

/// Whether the tool answered in the very conversation that asked. An account that is not known could
/// be the same.
pub fn answered_by_tool(origin: ReplyOrigin<'_>, sent: &[SentTarget]) -> bool {
    let (Some(provider), Some(to)) = (origin.provider.and_then(text::lower_non_blank), origin.to) else {
        return false;
    };
    let account = origin.account.and_then(text::lower_non_blank);
    sent.iter().any(|target| {
        let same_provider = text::lower(text::trim(&target.provider)) == provider;
        let other = target.account.as_deref().and_then(text::lower_non_blank);
        let same_account = account.is_none() || other.is_none() || account == other;
        let same = || target.to.as_deref().is_some_and(|other| same_target(&provider, to, other));
        same_provider && same_account && same()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_was_sent_is_not_repeated() {
        let table = [
            ("🎉 Hello   there\nfriend", "hello there friend!", true),
            ("I said: hello there friend", "Hello there friend", true),
            ("123456789", "123456789", false),
            ("something else", "hello there friend", false),
            ("", "hello there friend", false),
        ];
        for (text, sent, duplicate) in table {
            let left = without_duplicates(vec![ReplyPayload::from_text(text)], &[sent.to_owned()]);
            assert_eq!(left.is_empty(), duplicate, "{text}");
        }
    }

    #[test]
    fn the_tool_answered_if_it_wrote_to_the_same_place() {
        let origin = ReplyOrigin { provider: Some("telegram"), to: Some("telegram:5"), account: Some("A") };
        let target = |provider: &str, to: &str, account: Option<&str>| SentTarget {
            provider: provider.to_owned(),
            to: Some(to.to_owned()),
            account: account.map(str::to_owned),
        };
        let table = [
            (target("Telegram ", "5", None), true),
            (target("telegram", "tg:5", Some("a")), true),
            (target("telegram", "5", Some("b")), false),
            (target("telegram", "6", None), false),
            (target("slack", "5", None), false),
        ];
        for (sent, answered) in table {
            assert_eq!(answered_by_tool(origin, std::slice::from_ref(&sent)), answered, "{sent:?}");
        }
    }
}
