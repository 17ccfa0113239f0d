//! Where sessions of other programs of the family belong (the seed documents; `sessions.md` §1).
//!
//! Both keep people apart by their address on a platform, so their keys become those of
//! `session.dmScope: "per-channel-peer"`.

use crate::id::{AgentId, MainKey};
use crate::session::key::{DmScope, IdentityLinks, PeerAddress, PeerKind, SessionKey, parse_agent_key};
use crate::text;

/// A program whose folder can be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    OpenBot,
    OpenClaudeCode,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenBot => "openbot",
            Self::OpenClaudeCode => "openclaudecode",
        }
    }
}

/// The key that a session has here. `default` stands for the agent that answers when none is named.
pub fn adopted_key(program: Program, key: &str, default: &AgentId) -> SessionKey {
    let (agent, rest) = match parse_agent_key(key) {
        Some(parsed) if parsed.agent != "default" => {
            (AgentId::normalize(parsed.agent), parsed.rest.into_owned())
        }
        Some(parsed) => (default.clone(), parsed.rest.into_owned()),
        None => (default.clone(), text::trim(key).to_owned()),
    };
    let is_id = |id: &str| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = rest.split(':').collect();
    match (program, parts.as_slice()) {
        // OpenBot speaks Telegram, and names a person by the number alone.
        (Program::OpenBot, [person]) if is_id(person) => peer(&agent, "telegram", PeerKind::Dm, person),
        (Program::OpenClaudeCode, [channel, person]) if is_person(channel, person) => {
            peer(&agent, channel, PeerKind::Dm, person)
        }
        (Program::OpenClaudeCode, ["telegram", group]) if group.starts_with('-') => {
            peer(&agent, "telegram", PeerKind::Group, group)
        }
        _ => SessionKey::new(format!("agent:{agent}:{}", text::lower(&rest))),
    }
}

fn is_person(channel: &str, person: &str) -> bool {
    let is_group = channel == "telegram" && person.starts_with('-');
    !channel.is_empty() && !person.is_empty() && !is_group
}

fn peer(agent: &AgentId, channel: &str, kind: PeerKind, peer: &str) -> SessionKey {
    SessionKey::peer(&PeerAddress {
        agent,
        main_key: &MainKey::normalize(""),
        channel,
        account: "",
        kind,
        peer,
        dm_scope: DmScope::PerChannelPeer,
        links: &IdentityLinks::default(),
    })
}

/// The keys that a session may have, the one that it wants first. That may be taken: by a newer one of the
/// same person, or by one begun here.
pub fn keys_for(wanted: &SessionKey, session_id: &str) -> impl Iterator<Item = SessionKey> {
    let id = text::lower(session_id);
    let beginning: String = id.chars().take(8).collect();
    let beside = {
        let wanted = wanted.clone();
        move |name: String| SessionKey::new(format!("{wanted}:imported:{name}"))
    };
    let numbered = (2_u32..).map({
        let id = id.clone();
        move |number| format!("{id}-{number}")
    });
    std::iter::once(wanted.clone()).chain([beginning, id].into_iter().chain(numbered).map(beside))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_keeps_a_session_of_their_own() {
        use Program::{OpenBot, OpenClaudeCode};
        //  program         key                              here
        let table = [
            (OpenBot, "agent:default:5054873275", "agent:main:telegram:dm:5054873275"),
            (OpenBot, "agent:default:telegram:group:-100", "agent:main:telegram:group:-100"),
            (OpenBot, "agent:main:main", "agent:main:main"),
            (OpenBot, "agent:ops:main:thread:7", "agent:ops:main:thread:7"),
            (OpenBot, "agent:main:discord-chan-123", "agent:main:discord-chan-123"),
            (OpenClaudeCode, "telegram:5054873275", "agent:main:telegram:dm:5054873275"),
            (OpenClaudeCode, "telegram:-100200", "agent:main:telegram:group:-100200"),
            (OpenClaudeCode, "WhatsApp:+1555", "agent:main:whatsapp:dm:+1555"),
            (OpenClaudeCode, "agent:main:main", "agent:main:main"),
            (OpenClaudeCode, "odd", "agent:main:odd"),
        ];
        for (program, key, here) in table {
            assert_eq!(adopted_key(program, key, &AgentId::default()).as_str(), here, "{key}");
        }
    }

    #[test]
    fn there_is_always_a_key_that_is_free() {
        let keys: Vec<_> = keys_for(&SessionKey::new("agent:main:main"), "ABCDEFGH-1").take(4).collect();
        let keys: Vec<&str> = keys.iter().map(SessionKey::as_str).collect();
        assert_eq!(
            keys,
            [
                "agent:main:main",
                "agent:main:main:imported:abcdefgh",
                "agent:main:main:imported:abcdefgh-1",
                "agent:main:main:imported:abcdefgh-1-2",
            ]
        );
    }
}
