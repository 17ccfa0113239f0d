//! One spelling for each address a channel delivers to, to tell whether two are the same
//! (`sessions.md` §16).

use std::sync::LazyLock;

use regex::Regex;

use crate::channel::{self, imessage};
use crate::text::{self, strip_prefix_ignoring_ascii_case as without};

/// Whether two addresses of a channel (lower case) mean the same conversation.
pub fn same_target(channel: &str, one: &str, other: &str) -> bool {
    let key = |raw: &str| comparable_target(channel, raw);
    key(one).is_some_and(|one| key(other) == Some(one))
}

/// The address in one spelling; `None` if it names nobody.
pub fn comparable_target(channel: &str, raw: &str) -> Option<String> {
    let trimmed = text::non_blank(raw)?;
    let spelt = match channel::core_channel(channel) {
        Some("telegram") => telegram(trimmed),
        Some("whatsapp") => channel::whatsapp_target(trimmed),
        Some("discord") => discord(trimmed),
        Some("slack") => slack(trimmed),
        Some("signal") => signal(trimmed),
        Some("imessage") => Some(imessage(trimmed)).filter(|handle| !handle.is_empty()),
        Some("googlechat") => Some(googlechat(trimmed)),
        _ => None,
    };
    Some(spelt.unwrap_or_else(|| text::lower(trimmed))).filter(|target| !target.is_empty())
}

/// Whether a word names a chat of Telegram's by itself: an id, somebody's name, or a chat with its prefix. Any other
/// would have to be looked up.
pub fn is_telegram_address(raw: &str) -> bool {
    let name = text::trim(raw);
    let id = name.strip_prefix('-').unwrap_or(name);
    let is_id = id.len() >= 6 && id.bytes().all(|b| b.is_ascii_digit());
    let has_prefix = ["telegram:", "tg:"].into_iter().any(|prefix| without(name, prefix).is_some());
    has_prefix || name.starts_with('@') || is_id
}

fn telegram(target: &str) -> Option<String> {
    static LINK: LazyLock<Regex> =
        LazyLock::new(|| text::pattern(r"^(?i-u:(?:https?://)?t\.me/)([A-Za-z0-9_]+)$"));
    let prefix = ["telegram:", "tg:"].into_iter().find(|prefix| target.starts_with(prefix));
    let name = match prefix {
        Some(prefix) => text::non_blank(&target[prefix.len()..])?,
        None => target,
    };
    let linked = LINK.captures(name).map(|found| format!("@{}", &found[1]));
    Some(text::lower(&format!("telegram:{}", linked.as_deref().unwrap_or(name))))
}

fn discord(target: &str) -> Option<String> {
    let is_id = |id: &&str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_digit());
    named(target, "discord:", is_id)
}

fn slack(target: &str) -> Option<String> {
    let is_id = |id: &&str| !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric());
    match target.strip_prefix('#') {
        Some(id) => Some(text::trim(id)).filter(is_id).map(|id| text::lower(&format!("channel:{id}"))),
        None => named(target, "slack:", is_id),
    }
}

/// `user:` and `channel:` as Discord and Slack write them; the channel's own prefix means a user, and
/// an address without a prefix is a channel.
fn named(target: &str, own_prefix: &str, is_id: impl Fn(&&str) -> bool) -> Option<String> {
    let mention = target.strip_prefix("<@").and_then(|id| id.strip_suffix('>'));
    let mention = mention.map(|id| id.strip_prefix('!').filter(|_| own_prefix == "discord:").unwrap_or(id));
    let (kind, id) = if let Some(id) = mention.filter(&is_id) {
        ("user", Some(id))
    } else if let Some(id) = target.strip_prefix("user:").or_else(|| target.strip_prefix(own_prefix)) {
        ("user", text::non_blank(id))
    } else if let Some(id) = target.strip_prefix("channel:") {
        ("channel", text::non_blank(id))
    } else if let Some(id) = target.strip_prefix('@') {
        ("user", Some(text::trim(id)).filter(is_id))
    } else {
        ("channel", Some(target))
    };
    id.map(|id| text::lower(&format!("{kind}:{id}")))
}

fn signal(target: &str) -> Option<String> {
    let target = match without(target, "signal:") {
        Some(bare) => text::non_blank(bare)?,
        None => target,
    };
    for (prefix, spelt) in
        [("group:", "group:"), ("username:", "username:"), ("u:", "username:"), ("uuid:", "")]
    {
        if let Some(id) = without(target, prefix) {
            return text::non_blank(id).map(|id| text::lower(&format!("{spelt}{id}")));
        }
    }
    Some(text::lower(target))
}

/// The service is kept in front of a person's handle, but not in front of a chat.
fn imessage(target: &str) -> String {
    let handle = imessage::handle(target);
    match imessage::service(target) {
        Some((service, _)) if !handle.is_empty() && !handle.starts_with("chat_") => {
            format!("{service}{handle}")
        }
        _ => handle,
    }
}

fn googlechat(target: &str) -> String {
    let bare =
        ["googlechat:", "google-chat:", "gchat:"].into_iter().find_map(|prefix| without(target, prefix));
    let mut name = bare.unwrap_or(target).to_owned();
    for (prefix, spelt) in [("user:", "users/"), ("space:", "spaces/")] {
        if let Some(id) = without(&name, prefix) {
            name = format!("{spelt}{}", without(id, spelt).unwrap_or(id));
        }
    }
    match (without(&name, "users/"), without(&name, "spaces/")) {
        (Some(user), _) if user.contains('@') => format!("users/{}", text::lower(user)),
        (None, None) if name.contains('@') => format!("users/{}", text::lower(&name)),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        let table = [
            ("telegram", "tg: 5", "telegram:5"),
            ("telegram", "https://T.me/Some_One", "telegram:@some_one"),
            ("whatsapp", "1555@s.whatsapp.net", "+1555"),
            ("discord", "<@!9>", "user:9"),
            ("discord", "9", "channel:9"),
            ("discord", "discord:9", "user:9"),
            ("discord", "@someone", "@someone"),
            ("slack", "#C1", "channel:c1"),
            ("slack", "<@!U1>", "channel:<@!u1>"),
            ("signal", "Signal:U:Al", "username:al"),
            ("signal", "uuid:AB", "ab"),
            ("imessage", "SMS:+1 555", "sms:+1555"),
            ("imessage", "imessage:chat:7", "chat_id:7"),
            ("imsg", "A@b.c", "a@b.c"),
            ("googlechat", "gchat:user:users/A@b.c", "users/a@b.c"),
            ("googlechat", "space:AA", "spaces/AA"),
            ("matrix", " !Room ", "!room"),
        ];
        for (channel, raw, expected) in table {
            assert_eq!(comparable_target(channel, raw).as_deref(), Some(expected), "{channel} {raw}");
        }
        assert_eq!(comparable_target("telegram", " "), None);
        assert_eq!(comparable_target("googlechat", "gchat:"), None);
    }

    #[test]
    fn a_chat_of_telegram_is_named_by_its_id_its_name_or_its_prefix() {
        let table = [
            ("123456", true),
            (" -1001234567 ", true),
            ("12345", false),
            ("-12345", false),
            ("+123456", false),
            ("@someone", true),
            ("someone", false),
            ("TG:5", true),
            ("telegram:x", true),
            ("t.me/someone", false),
            ("", false),
        ];
        for (raw, expected) in table {
            assert_eq!(is_telegram_address(raw), expected, "{raw}");
        }
    }
}
