//! How much history goes to the provider or to a client (`transcripts.md` §7.7, §8).

use crate::config::Config;
use crate::json::{self, Value};
use crate::message::{Message, Role};

/// The last `limit` user messages and what follows each; everything without a positive limit. A fraction of a turn is
/// none.
pub fn limit_turns(mut messages: Vec<Message>, limit: Option<f64>) -> Vec<Message> {
    let first = first_kept(&messages, |message| message.role() == Role::User, limit);
    messages.drain(..first);
    messages
}

/// Where the last `limit` turns begin in a conversation.
pub fn first_kept<T>(conversation: &[T], is_user: impl Fn(&T) -> bool, limit: Option<f64>) -> usize {
    let Some(limit) = limit.filter(|limit| *limit > 0.0) else { return 0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
    let turns = limit.floor() as usize;
    let mut begins =
        conversation.iter().enumerate().rev().filter(|(_, item)| is_user(item)).map(|(at, _)| at);
    let last_kept = turns.checked_sub(1).map_or(Some(conversation.len()), |later| begins.nth(later));
    // Nothing is cut before the first turn as long as all turns stay.
    let is_longer = begins.next().is_some();
    last_kept.filter(|_| is_longer).unwrap_or(0)
}

/// The turn limit that the configuration sets for the direct chat behind a session key, which is
/// `[agent:<id>:]<channel>:dm:<user>`: the user's own, else the channel's.
pub fn dm_limit(session_key: &str, config: &Config) -> Option<f64> {
    let parts: Vec<&str> = session_key.split(':').filter(|part| !part.is_empty()).collect();
    let address = match parts.as_slice() {
        ["agent", _, address @ ..] if !address.is_empty() => address,
        whole => whole,
    };
    let [channel, kind, user @ ..] = address else {
        return None;
    };
    if !kind.eq_ignore_ascii_case("dm") {
        return None;
    }
    let channel = config.channels.settings(&crate::text::lower(channel))?;
    let user = user.join(":");
    let of_user = || channel.dms.as_ref()?.get(without_thread(&user))?.history_limit;
    of_user().or(channel.dm_history_limit)?.number()
}

/// The user without a numeric thread or topic suffix: threads of a chat share its limit.
fn without_thread(user: &str) -> &str {
    let suffix = || {
        let (rest, number) = user.rsplit_once(':')?;
        let (user, kind) = rest.rsplit_once(':')?;
        let is_number = !number.is_empty() && number.bytes().all(|digit| digit.is_ascii_digit());
        let is_thread = kind.eq_ignore_ascii_case("thread") || kind.eq_ignore_ascii_case("topic");
        (is_number && is_thread).then_some(user)
    };
    suffix().unwrap_or(user)
}

/// The items at the end of a list whose JSON array fits a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CappedItems<'v> {
    pub items: &'v [Value],
    /// The size of their JSON array in UTF-8.
    pub bytes: usize,
}

/// Drops items from the front until the JSON array fits `max_bytes`; the last item always stays.
pub fn cap_json_bytes(items: &[Value], max_bytes: usize) -> CappedItems<'_> {
    let sizes: Vec<usize> = items.iter().map(|item| json::stringify(item).len()).collect();
    let commas = items.len().saturating_sub(1);
    let mut bytes = 2 + sizes.iter().sum::<usize>() + commas;
    let mut start = 0;
    while bytes > max_bytes && start < commas {
        bytes -= sizes[start] + 1;
        start += 1;
    }
    CappedItems { items: &items[start..], bytes }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_limit_keeps_the_last_turns_whole() {
        let roles = ["assistant", "user", "assistant", "toolResult", "user", "user", "assistant"];
        let messages: Vec<Message> =
            roles.iter().map(|role| Message::from_value(json!({"role": role})).unwrap()).collect();
        //  limit     first kept
        let table = [
            (None, 0),
            (Some(0.0), 0),
            (Some(-1.0), 0),
            (Some(1.0), 5),
            (Some(2.0), 4),
            (Some(3.0), 0),
            (Some(9.0), 0),
            // A fraction of a turn is no turn.
            (Some(0.5), 7),
            (Some(2.9), 4),
            (Some(-0.5), 0),
            (Some(1e300), 0),
        ];
        for (limit, first_kept) in table {
            assert_eq!(limit_turns(messages.clone(), limit), messages[first_kept..], "{limit:?}");
        }
    }

    #[test]
    fn a_direct_chat_has_its_own_limit_or_its_channels() {
        let config = Config::new(json!({"channels": {
            "telegram": {"dmHistoryLimit": 15, "dms": {
                "123": {"historyLimit": 5}, "a:b": {"historyLimit": null}, "half": {"historyLimit": 2.5},
                "text": {"historyLimit": " 3 "}, "words": {"historyLimit": "many"}, "yes": {"historyLimit": true},
            }},
            "signal": [1],
        }}));
        let table = [
            ("agent:main:telegram:dm:123", Some(5.0)),
            ("telegram:dm:123", Some(5.0)),
            ("agent:main:TELEGRAM:DM:456", Some(15.0)),
            ("agent:main:telegram:dm:123:Topic:42", Some(5.0)),
            ("agent:main:telegram:dm:123:thread:x", Some(15.0)),
            ("agent:main:telegram:dm:a:b", None),
            ("agent:main:telegram:dm:half", Some(2.5)),
            ("agent:main:telegram:dm:text", Some(3.0)),
            ("agent:main:telegram:dm:words", None),
            ("agent:main:telegram:dm:yes", Some(1.0)),
            ("agent:main:telegram:group:123", None),
            ("agent:main:signal:dm:1", None),
            ("agent:main:dm:123", None),
            ("agent:main", None),
            ("", None),
        ];
        for (key, limit) in table {
            assert_eq!(dm_limit(key, &config), limit, "{key}");
        }
    }

    #[test]
    fn a_capped_list_loses_its_front_but_never_its_last_item() {
        let items = [json!("xx"), json!("é"), json!(1)];
        //  max  kept  bytes
        let table = [(99, 3, 13), (13, 3, 13), (12, 2, 8), (0, 1, 3)];
        for (max, kept, bytes) in table {
            let capped = cap_json_bytes(&items, max);
            assert_eq!((capped.items.len(), capped.bytes), (kept, bytes), "{max}");
        }
        assert_eq!(cap_json_bytes(&[], 0), CappedItems { items: &[], bytes: 2 });
    }
}
