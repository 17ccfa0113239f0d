//! Groups: recognising one from where a message came from, and its display name (`sessions.md` §3).

use crate::channel::{self, ChatType};
use crate::id::{AgentId, MainKey};
use crate::inbound::InboundMessage;
use crate::session::key::{Scope, SessionKey};
use crate::text;

/// The group a message belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// `<channel>:<kind>:<id>`
    pub key: String,
    pub channel: String,
    pub id: String,
    /// `Group` or `Channel`.
    pub chat_type: ChatType,
}

/// The group that `message` came from, if it came from one.
pub fn resolve_group(message: &InboundMessage) -> Option<Group> {
    let from = text::trim(message.from.as_deref().unwrap_or(""));
    let chat_type =
        message.chat_type.as_deref().and_then(|raw| match text::lower(text::trim(raw)).as_str() {
            "channel" => Some(ChatType::Channel),
            "group" => Some(ChatType::Group),
            _ => None,
        });
    let is_whatsapp_group = text::lower(from).ends_with("@g.us");
    if chat_type.is_none() && !from.contains(":group:") && !from.contains(":channel:") && !is_whatsapp_group {
        return None;
    }
    let segments: Vec<&str> = from.split(':').filter(|segment| !segment.is_empty()).collect();
    let head =
        segments.first().map(|head| text::lower(text::trim(head))).filter(|head| channel::is_surface(head));
    let channel = match (&head, message.provider.as_deref()) {
        (Some(head), _) => head.clone(),
        // An empty provider was given all the same, and names no channel.
        (None, Some(provider)) => text::lower_non_blank(provider)?,
        (None, None) if is_whatsapp_group => "whatsapp".to_owned(),
        (None, None) => return None,
    };
    let named_kind = segments.get(1).and_then(|kind| match text::lower(text::trim(kind)).as_str() {
        "group" => Some(ChatType::Group),
        "channel" => Some(ChatType::Channel),
        _ => None,
    });
    let kind =
        named_kind.unwrap_or(match from.contains(":channel:") || chat_type == Some(ChatType::Channel) {
            true => ChatType::Channel,
            false => ChatType::Group,
        });
    let id = match (&head, named_kind) {
        (Some(_), Some(_)) => segments[2..].join(":"),
        (Some(_), None) => segments[1..].join(":"),
        (None, _) => from.to_owned(),
    };
    let id = text::lower_non_blank(&id)?;
    Some(Group { key: format!("{channel}:{}:{id}", kind.as_str()), channel, id, chat_type: kind })
}

/// The raw key of a message before it is put below an agent: its group, or the sender's number.
pub fn derive_key(scope: Scope, message: &InboundMessage) -> String {
    if scope == Scope::Global {
        return "global".to_owned();
    }
    if let Some(group) = resolve_group(message) {
        return group.key;
    }
    match message.from.as_deref() {
        Some(from) if !from.is_empty() => channel::e164(from),
        _ => "unknown".to_owned(),
    }
}

/// The session a message belongs to: the key it brought, else its group's, else the main one.
pub fn message_key(scope: Scope, message: &InboundMessage, main_key: &MainKey) -> SessionKey {
    if let Some(explicit) = message.session_key.as_deref().and_then(text::lower_non_blank) {
        return SessionKey::new(explicit);
    }
    let raw = derive_key(scope, message);
    if scope == Scope::Global {
        return SessionKey::new(raw);
    }
    if raw.contains(":group:") || raw.contains(":channel:") {
        return SessionKey::new(format!("agent:{}:{raw}", AgentId::default()));
    }
    SessionKey::main(&AgentId::default(), main_key)
}

/// What is known of a group when it is given a name.
#[derive(Clone, Copy, Debug, Default)]
pub struct GroupNames<'a> {
    pub channel: Option<&'a str>,
    pub group_channel: Option<&'a str>,
    pub subject: Option<&'a str>,
    pub space: Option<&'a str>,
    pub id: Option<&'a str>,
    pub key: &'a str,
}

/// A short name such as `discord:guild#general` or `whatsapp:g-family`.
pub fn display_name(names: &GroupNames<'_>) -> String {
    let channel = names.channel.and_then(text::lower_non_blank).unwrap_or_else(|| "group".to_owned());
    let group_channel = names.group_channel.and_then(text::non_blank);
    let space = names.space.and_then(text::non_blank);
    let subject = names.subject.and_then(text::non_blank);
    let detail = match (space, group_channel) {
        (Some(space), Some(name)) if name.starts_with('#') => format!("{space}{name}"),
        (Some(space), Some(name)) => format!("{space}#{name}"),
        _ => group_channel
            .or(subject)
            .or(space)
            .or(names.id.and_then(text::non_blank))
            .unwrap_or(names.key)
            .to_owned(),
    };
    let mut token = label_token(&detail);
    if token.is_empty() {
        token = label_token(&shorten(&detail));
    }
    if names.group_channel.is_none_or(str::is_empty) {
        token = token.trim_start_matches('#').to_owned();
    }
    let marked = token.starts_with(['@', '#']) || token.starts_with("g-") || token.contains('#');
    match token.as_str() {
        "" => channel,
        _ if marked => format!("{channel}:{token}"),
        _ => format!("{channel}:g-{token}"),
    }
}

/// Lower case, dashes for everything a name cannot hold.
pub(crate) fn label_token(raw: &str) -> String {
    let mut token = String::new();
    for c in text::lower(text::trim(raw)).chars() {
        let kept = c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '#' | '@' | '.' | '_' | '+');
        if kept {
            token.push(c);
        } else if !token.ends_with('-') {
            token.push('-');
        }
    }
    token.trim_matches(['-', '.']).to_owned()
}

fn shorten(id: &str) -> String {
    let id = text::trim(id);
    if text::units(id) <= 14 {
        id.to_owned()
    } else {
        format!("{}...{}", text::head(id, 6), text::tail(id, 4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_recognised_by_its_address() {
        //  from                      chat type        provider      key
        let table = [
            ("whatsapp:group:1@g.us", None, None, Some("whatsapp:group:1@g.us")),
            ("123@G.US", None, None, Some("whatsapp:group:123@g.us")),
            ("slack:channel:C1", None, None, Some("slack:channel:c1")),
            ("telegram:-100", Some("group"), None, Some("telegram:group:-100")),
            ("+1555", Some("group"), None, None),
            ("x", Some("channel"), Some("matrix"), Some("matrix:channel:x")),
            ("+1555", None, None, None),
        ];
        for (from, chat_type, provider, key) in table {
            let message = InboundMessage {
                from: Some(from.to_owned()),
                chat_type: chat_type.map(str::to_owned),
                provider: provider.map(str::to_owned),
                ..InboundMessage::default()
            };
            assert_eq!(resolve_group(&message).map(|group| group.key).as_deref(), key, "{from}");
        }
    }

    #[test]
    fn a_group_has_a_short_name() {
        let names =
            GroupNames { channel: Some("Discord"), space: Some("Guild"), key: "k", ..GroupNames::default() };
        assert_eq!(
            display_name(&GroupNames { group_channel: Some("general"), ..names }),
            "discord:guild#general"
        );
        assert_eq!(
            display_name(&GroupNames { space: None, subject: Some("#My  Fam!"), ..names }),
            "discord:g-my-fam"
        );
        assert_eq!(display_name(&GroupNames { space: None, id: Some("..."), ..names }), "discord");
    }
}
