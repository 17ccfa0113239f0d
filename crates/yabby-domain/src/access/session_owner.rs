//! Whose a direct conversation is: the owner's, or that of the person whom its key names (`sessions.md` §2).

use crate::access::command_auth::command_authority;
use crate::config::Config;
use crate::inbound::InboundMessage;
use crate::session::key::{IdentityLinks, SessionKey};

/// The other one in a direct conversation whose key names them, by the name or address that keys know them under.
pub fn person_in(key: &SessionKey) -> Option<String> {
    let key = key.thread_parent().unwrap_or_else(|| key.clone());
    let rest = key.rest().to_lowercase();
    let parts: Vec<&str> = rest.split(':').collect();
    let at = parts.iter().position(|part| *part == "dm")?;
    let peer = parts[at + 1..].join(":");
    (!peer.is_empty()).then(|| match parts[..at].first() {
        // With a channel before it, an address of that channel.
        Some(channel) => format!("{channel}:{peer}"),
        None => peer,
    })
}

/// Whether the configuration knows a person as the owner, by one of their addresses.
pub fn is_owner(person: &str, config: &Config) -> bool {
    let owns = |address: &str| {
        let (channel, peer) = address.split_once(':').unwrap_or(("", address));
        let message = InboundMessage {
            provider: Some(channel.to_owned()),
            sender_id: Some(peer.to_owned()),
            from: Some(peer.to_owned()),
            ..InboundMessage::default()
        };
        command_authority(&message, config, true).is_owner
    };
    let mut addresses = IdentityLinks::from_config(config).addresses(person);
    addresses.push(person.to_owned());
    addresses.iter().any(|address| owns(address))
}

/// Whether a direct conversation is with somebody who is not known as the owner.
pub fn is_with_another(key: &SessionKey, config: &Config) -> bool {
    person_in(key).is_some_and(|person| !is_owner(&person, config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_conversation_is_the_owners_unless_its_key_names_somebody_else() {
        let config = Config::new(json!({
            "channels": {"telegram": {"allowFrom": ["7"]}},
            "session": {"identityLinks": {"robin": ["telegram:7", "discord:8"]}},
        }));
        let table = [
            ("agent:main:main", false),
            ("agent:main:subagent:x", false),
            ("agent:main:cron:y", false),
            ("agent:main:telegram:dm:7", false),
            ("agent:main:telegram:work:dm:7:thread:1", false),
            ("agent:main:dm:robin", false),
            ("agent:main:telegram:dm:42", true),
            ("agent:main:telegram:dm:42:thread:1", true),
            ("agent:main:dm:ben", true),
        ];
        for (key, expected) in table {
            assert_eq!(is_with_another(&SessionKey::new(key), &config), expected, "{key}");
        }
    }
}
