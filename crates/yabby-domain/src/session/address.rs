//! Which session an address means: one rule for clients, command lines, tools and programs (`gateway.md` §6).

use crate::id::AgentId;
use crate::session::key::{KeyPolicy, SessionKey, parse_agent_key};
use crate::text;

/// The session that somebody names by a key, whole, bare or as an alias of a main session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The key in small letters, in whose session turns are taken.
    pub key: SessionKey,
    /// The key as it is written, if that is another one: an older session may have it, and is meant as long as there
    /// is none in small letters.
    pub written: Option<SessionKey>,
    /// The agent in whose store the session is.
    pub agent: AgentId,
}

impl Address {
    /// What a client names; a bare key is one of the default agent's.
    pub fn of_client(named: &str, policy: &KeyPolicy) -> Self {
        let (key, written) = (policy.store_key(&text::lower(named)), policy.store_key(named));
        let agent = policy.session_agent(key.as_str());
        Self { written: Some(written).filter(|written| *written != key), key, agent }
    }

    /// What is named on behalf of an agent; a bare key is one of its own.
    pub fn of_agent(named: &str, agent: &AgentId, policy: &KeyPolicy) -> Self {
        let raw = text::trim(named);
        let is_whole = parse_agent_key(raw).is_some() || raw.starts_with("agent:") || is_shared(raw);
        if is_whole || raw.is_empty() {
            return Self::of_client(raw, policy);
        }
        let below = |raw: &str| match raw == "main" || raw == policy.main_key.as_str() {
            true => policy.resolve_main_alias(agent, "main"),
            false => SessionKey::new(format!("agent:{agent}:{raw}")),
        };
        let (key, written) = (below(&text::lower(raw)), below(raw));
        Self { written: Some(written).filter(|written| *written != key), key, agent: agent.clone() }
    }

    /// The keys to look for, the first one first.
    pub fn keys(&self) -> impl Iterator<Item = &SessionKey> {
        std::iter::once(&self.key).chain(&self.written)
    }
}

/// The session of a message that names a conversation by an id which no session has. The id begins a session of its own
/// only where nothing else says where the message goes.
pub fn session_of_unknown_id(
    id: &str,
    agent: Option<&AgentId>,
    peer: Option<SessionKey>,
    policy: &KeyPolicy,
) -> SessionKey {
    match (agent, peer) {
        (Some(agent), _) => SessionKey::main(agent, &policy.main_key),
        (None, Some(peer)) => peer,
        (None, None) => SessionKey::new(text::lower(&format!("agent:{}:{id}", policy.default_agent))),
    }
}

fn is_shared(raw: &str) -> bool {
    SessionKey::SHARED.contains(&raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use serde_json::json;

    #[test]
    fn every_way_to_name_a_session_means_one() {
        let config = json!({"agents": {"list": [{"id": "home", "default": true}, {"id": "ops"}]}});
        let policy = KeyPolicy::from_config(&Config::new(config));
        let ops = AgentId::normalize("ops");
        //  named                    of a client          of the agent ops    as it is written
        let table = [
            ("main", "agent:home:main", "agent:ops:main", None),
            (" MAIN ", "agent:home:main", "agent:ops:main", Some("MAIN")),
            ("agent:ops:main", "agent:ops:main", "agent:ops:main", None),
            ("agent:Ops:X", "agent:ops:x", "agent:ops:x", Some("agent:Ops:X")),
            ("telegram:dm:1", "agent:home:telegram:dm:1", "agent:ops:telegram:dm:1", None),
            ("global", "global", "global", None),
        ];
        for (named, client, agent, written) in table {
            let [of_client, of_agent] =
                [Address::of_client(named, &policy), Address::of_agent(named, &ops, &policy)];
            assert_eq!((of_client.key.as_str(), of_agent.key.as_str()), (client, agent), "{named}");
            for address in [of_client, of_agent] {
                let found = address.written.as_ref().map(SessionKey::as_str);
                let ends_so = written.is_none_or(|end| found.is_some_and(|found| found.ends_with(end)));
                assert!(ends_so && found.is_some() == written.is_some(), "{named}: {found:?}");
                let owner = if address.key == SessionKey::global() {
                    "home".to_owned()
                } else {
                    address.key.agent_id().to_string()
                };
                assert_eq!(address.agent.as_str(), owner, "{named}");
            }
        }
    }

    #[test]
    fn an_unknown_id_begins_a_session_only_where_nothing_else_is_named() {
        let policy = KeyPolicy::default();
        let (ops, peer) = (AgentId::normalize("ops"), SessionKey::new("agent:main:telegram:dm:1"));
        let table = [
            (Some(&ops), Some(peer.clone()), "agent:ops:main"),
            (Some(&ops), None, "agent:ops:main"),
            (None, Some(peer), "agent:main:telegram:dm:1"),
            (None, None, "agent:main:fresh-1"),
        ];
        for (agent, peer, key) in table {
            assert_eq!(session_of_unknown_id("Fresh-1", agent, peer, &policy).as_str(), key);
        }
    }

    #[test]
    fn where_all_conversations_are_one_the_main_session_is_that() {
        let config = json!({"session": {"scope": "global", "mainKey": "hub"}});
        let policy = KeyPolicy::from_config(&Config::new(config));
        for named in ["main", "agent:main:main"] {
            assert_eq!(Address::of_client(named, &policy).key, SessionKey::global());
            assert_eq!(Address::of_agent(named, &AgentId::default(), &policy).key, SessionKey::global());
        }
    }
}
