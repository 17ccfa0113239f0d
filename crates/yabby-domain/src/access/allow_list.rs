//! Sender allow-lists, each platform's way (`sessions.md` §17).

use crate::channel::e164;
use crate::channel::imessage::{self, ChatName};
use crate::json::{self, Value};
use crate::text;

/// The entry that let a sender in, and by which of the sender's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowMatch {
    pub entry: String,
    pub by: MatchedName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchedName {
    Wildcard,
    Id,
    Username,
    Name,
    Tag,
    PrefixedId,
    PrefixedUser,
    PrefixedName,
    Slug,
}

impl AllowMatch {
    fn new(entry: impl Into<String>, by: MatchedName) -> Self {
        Self { entry: entry.into(), by }
    }

    fn wildcard() -> Self {
        Self::new("*", MatchedName::Wildcard)
    }
}

/// The entries of a configured list as text, trimmed; numbers count as the text they print as.
pub fn entries(list: &[Value]) -> Vec<String> {
    list.iter()
        .filter_map(entry_text)
        .filter_map(|entry| text::non_blank(&entry).map(str::to_owned))
        .collect()
}

fn entry_text(entry: &Value) -> Option<String> {
    match entry {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => number.as_f64().map(json::number_text),
        _ => None,
    }
}

/// Telegram: ids as they are, user names in any case, with or without `@`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TelegramList {
    entries: Vec<String>,
    wildcard: bool,
    configured: bool,
}

impl TelegramList {
    pub fn new(list: &[Value]) -> Self {
        let all = entries(list);
        Self {
            wildcard: all.iter().any(|entry| entry == "*"),
            configured: !all.is_empty(),
            entries: all
                .iter()
                .filter(|entry| *entry != "*")
                .map(|entry| without_telegram_prefix(entry).to_owned())
                .collect(),
        }
    }

    /// Which entry lets the sender in. An empty list lets nobody in.
    pub fn find(&self, id: Option<&str>, username: Option<&str>) -> Option<AllowMatch> {
        if self.wildcard {
            return Some(AllowMatch::wildcard());
        }
        if let Some(id) = id.filter(|id| !id.is_empty() && self.entries.iter().any(|entry| entry == id)) {
            return Some(AllowMatch::new(id, MatchedName::Id));
        }
        let username = text::lower(username?);
        let is_user =
            |entry: &String| *entry == username || entry.strip_prefix('@') == Some(username.as_str());
        let known = self.entries.iter().map(|entry| text::lower(entry)).find(is_user);
        known.filter(|_| !username.is_empty()).map(|entry| AllowMatch::new(entry, MatchedName::Username))
    }

    /// Whether the sender may talk. Without a list, everybody may.
    pub fn allows(&self, id: Option<&str>, username: Option<&str>) -> bool {
        !self.configured || self.find(id, username).is_some()
    }
}

/// An entry without a `telegram:` or `tg:` in front.
pub fn without_telegram_prefix(entry: &str) -> &str {
    ["telegram:", "tg:"]
        .into_iter()
        .find_map(|prefix| text::strip_prefix_ignoring_ascii_case(entry, prefix))
        .unwrap_or(entry)
}

/// Discord: ids, mentions and prefixed ids; everything else is a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiscordList {
    wildcard: bool,
    ids: Vec<String>,
    names: Vec<String>,
}

/// What Discord says of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct DiscordSender<'a> {
    pub id: Option<&'a str>,
    pub name: Option<&'a str>,
    pub tag: Option<&'a str>,
}

impl DiscordList {
    /// `None` if there is no list at all. `prefixes` mark ids, such as `user:`.
    pub fn new(list: &[Value], prefixes: &[&str]) -> Option<Self> {
        if list.is_empty() {
            return None;
        }
        let mut parsed = Self::default();
        for entry in entries(list) {
            let unwrapped = entry
                .strip_prefix("<@")
                .map_or(entry.as_str(), |rest| rest.strip_prefix('!').unwrap_or(rest));
            let bare = unwrapped.strip_suffix('>').unwrap_or(unwrapped);
            if entry == "*" {
                parsed.wildcard = true;
            } else if !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit()) {
                parsed.ids.push(bare.to_owned());
            } else if let Some(id) = prefixes.iter().find_map(|prefix| entry.strip_prefix(prefix)) {
                parsed.ids.extend(Some(id).filter(|id| !id.is_empty()).map(str::to_owned));
            } else {
                parsed.names.extend(Some(discord_slug(&entry)).filter(|slug| !slug.is_empty()));
            }
        }
        Some(parsed)
    }

    pub fn find(&self, sender: &DiscordSender<'_>) -> Option<AllowMatch> {
        if self.wildcard {
            return Some(AllowMatch::wildcard());
        }
        if let Some(id) = sender.id.filter(|id| self.ids.iter().any(|known| known == id)) {
            return Some(AllowMatch::new(id, MatchedName::Id));
        }
        let known = |name: Option<&str>| {
            name.map(discord_slug).filter(|slug| !slug.is_empty() && self.names.contains(slug))
        };
        let by_name = known(sender.name).map(|slug| AllowMatch::new(slug, MatchedName::Name));
        by_name.or_else(|| known(sender.tag).map(|slug| AllowMatch::new(slug, MatchedName::Tag)))
    }
}

/// A Discord name as lists compare it: letters and digits, dashes between them.
pub fn discord_slug(name: &str) -> String {
    let lowered = text::lower(text::trim(name));
    let mut slug = String::new();
    for c in lowered.strip_prefix('#').unwrap_or(&lowered).chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            slug.push(c);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

/// Slack: the list is in lower case; a sender has an id and a name, each with and without prefix.
pub fn slack_match(list: &[String], id: Option<&str>, name: Option<&str>) -> Option<AllowMatch> {
    if list.iter().any(|entry| entry == "*") {
        return Some(AllowMatch::wildcard());
    }
    let filled = |text: Option<&str>| text.map(text::lower).filter(|text| !text.is_empty());
    let (id, name) = (filled(id), filled(name));
    let with = |prefix: &str, text: &Option<String>| text.as_ref().map(|text| format!("{prefix}{text}"));
    let candidates = [
        (id.clone(), MatchedName::Id),
        (with("slack:", &id), MatchedName::PrefixedId),
        (with("user:", &id), MatchedName::PrefixedUser),
        (name.clone(), MatchedName::Name),
        (with("slack:", &name), MatchedName::PrefixedName),
        (name.as_deref().map(slack_slug), MatchedName::Slug),
    ];
    let known = |value: &String| !value.is_empty() && list.contains(value);
    candidates.into_iter().find_map(|(value, by)| value.filter(known).map(|value| AllowMatch::new(value, by)))
}

/// Whether a Slack user may talk; without a list, everybody may.
pub fn slack_allows(list: &[Value], id: Option<&str>, name: Option<&str>) -> bool {
    let list: Vec<String> = entries(list).iter().map(|entry| text::lower(entry)).collect();
    list.is_empty() || slack_match(&list, id, name).is_some()
}

/// A Slack name as lists compare it.
pub fn slack_slug(name: &str) -> String {
    crate::session::group::label_token(name)
}

/// Who a Signal message is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignalSender {
    Phone { e164: String },
    Uuid { uuid: String },
}

/// Signal: numbers and uuids; an empty list lets nobody in.
pub fn signal_allows(list: &[Value], sender: &SignalSender) -> bool {
    entries(list).iter().any(|entry| entry == "*" || signal_entry(entry).as_ref() == Some(sender))
}

fn signal_entry(entry: &str) -> Option<SignalSender> {
    let bare = text::strip_prefix_ignoring_ascii_case(entry, "signal:").map_or(entry, text::trim);
    if let Some(uuid) = text::strip_prefix_ignoring_ascii_case(bare, "uuid:") {
        return text::non_blank(uuid).map(|uuid| SignalSender::Uuid { uuid: uuid.to_owned() });
    }
    Some(match looks_like_uuid(bare) {
        true => SignalSender::Uuid { uuid: bare.to_owned() },
        false => SignalSender::Phone { e164: e164(bare) },
    })
}

/// Hexadecimal with dashes, and with at least one letter unless it has the length of a uuid.
fn looks_like_uuid(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    let compact: String = text.chars().filter(|c| *c != '-').collect();
    let is_hex = !compact.is_empty() && compact.chars().all(|c| c.is_ascii_hexdigit());
    let has_shape = groups == [8, 4, 4, 4, 12] || groups == [32];
    is_hex && (has_shape || compact.chars().any(|c| c.is_ascii_alphabetic()))
}

/// Where an iMessage came from.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImessageSender<'a> {
    pub handle: &'a str,
    pub chat_id: Option<f64>,
    pub chat_guid: Option<&'a str>,
    pub chat_identifier: Option<&'a str>,
}

#[derive(Clone, Debug, PartialEq)]
enum ImessageEntry {
    Handle(String),
    ChatId(f64),
    ChatGuid(String),
    ChatIdentifier(String),
}

/// iMessage: handles, or whole chats; an empty list lets everybody in.
pub fn imessage_allows(list: &[Value], sender: &ImessageSender<'_>) -> bool {
    let handle = imessage::handle(sender.handle);
    let is_sender = |entry: &String| match imessage_entry(entry) {
        ImessageEntry::Handle(known) => !handle.is_empty() && known == handle,
        ImessageEntry::ChatId(id) => sender.chat_id == Some(id),
        ImessageEntry::ChatGuid(guid) => sender.chat_guid.and_then(text::non_blank) == Some(guid.as_str()),
        ImessageEntry::ChatIdentifier(name) => {
            sender.chat_identifier.and_then(text::non_blank) == Some(name.as_str())
        }
    };
    list.is_empty() || entries(list).iter().any(|entry| entry == "*" || is_sender(entry))
}

fn imessage_entry(entry: &str) -> ImessageEntry {
    let address = imessage::without_services(entry);
    let chat = imessage::chat(address).and_then(|(by, name)| match by {
        ChatName::Id => json::leading_integer(name).map(ImessageEntry::ChatId),
        _ if name.is_empty() => None,
        ChatName::Guid => Some(ImessageEntry::ChatGuid(name.to_owned())),
        ChatName::Identifier => Some(ImessageEntry::ChatIdentifier(name.to_owned())),
    });
    chat.unwrap_or_else(|| ImessageEntry::Handle(imessage::handle(address)))
}

impl MatchedName {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wildcard => "wildcard",
            Self::Id => "id",
            Self::Username => "username",
            Self::Name => "name",
            Self::Tag => "tag",
            Self::PrefixedId => "prefixed-id",
            Self::PrefixedUser => "prefixed-user",
            Self::PrefixedName => "prefixed-name",
            Self::Slug => "slug",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list(value: Value) -> Vec<Value> {
        value.as_array().unwrap().clone()
    }

    #[test]
    fn telegram_knows_ids_and_user_names() {
        let allow = TelegramList::new(&list(json!([123, "TG:@Alice"])));
        let by = |id, name| allow.find(id, name).map(|found| found.by);
        assert_eq!(by(Some("123"), None), Some(MatchedName::Id));
        assert_eq!(by(Some("9"), Some("ALICE")), Some(MatchedName::Username));
        assert_eq!(by(Some("9"), Some("bob")), None);
        let none = TelegramList::new(&[]);
        assert!(none.allows(Some("9"), None) && none.find(Some("9"), None).is_none());
    }

    #[test]
    fn discord_tells_ids_from_names() {
        let allow = DiscordList::new(&list(json!(["<@!42>", "user:7", "Alice Smith"])), &["user:"]).unwrap();
        let by = |sender| allow.find(&sender).map(|found| found.by);
        assert_eq!(by(DiscordSender { id: Some("42"), ..DiscordSender::default() }), Some(MatchedName::Id));
        assert_eq!(by(DiscordSender { id: Some("7"), ..DiscordSender::default() }), Some(MatchedName::Id));
        assert_eq!(
            by(DiscordSender { name: Some("alice-smith"), ..DiscordSender::default() }),
            Some(MatchedName::Name)
        );
        assert_eq!(DiscordList::new(&[], &[]), None);
    }

    #[test]
    fn imessage_knows_handles_and_chats() {
        let allows =
            |entry: &str, sender: ImessageSender<'_>| imessage_allows(&[Value::from(entry)], &sender);
        assert!(allows("sms:+1555", ImessageSender { handle: "auto:+1 555", ..ImessageSender::default() }));
        assert!(allows(
            "chat:5",
            ImessageSender { handle: "z", chat_id: Some(5.0), ..ImessageSender::default() }
        ));
        assert!(!allows("sms:", ImessageSender { handle: "+1", ..ImessageSender::default() }));
    }
}
