//! Session keys: their exact text, what it says, and every way to build one (`sessions.md` §2).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::channel;
use crate::config::Config;
use crate::config::agents::entry::AgentEntry;
use crate::id::{AccountId, AgentId, MainKey};
use crate::text;

pub use crate::config::session::{DmScope, SessionScope as Scope};

/// The address of one conversation, e.g. `agent:main:telegram:dm:42`.
///
/// Holds the text it was read from: keys written by older versions or other programs must go back to
/// disk byte for byte, so what a key says is a view, not the storage.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionKey(Arc<str>);

/// An `agent:<id>:<rest>` key taken apart; the case is as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentKey<'k> {
    pub agent: &'k str,
    pub rest: Cow<'k, str>,
}

/// A group key taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupKey {
    pub channel: String,
    pub kind: PeerKind,
    pub id: String,
}

/// What a listing calls a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionKind {
    Global,
    Unknown,
    Group,
    Direct,
}

impl SessionKind {
    pub const ALL: [Self; 4] = [Self::Direct, Self::Group, Self::Global, Self::Unknown];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Unknown => "unknown",
            Self::Group => "group",
            Self::Direct => "direct",
        }
    }
}

/// Who may read what is said in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// One person.
    Person,
    /// Everybody in a group or channel.
    Group,
}

/// With whom a conversation is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PeerKind {
    Dm,
    Group,
    Channel,
    /// A kind a plugin made up; it stands in the key as it is.
    Other(String),
}

/// People known under several addresses: canonical name → addresses, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IdentityLinks(Vec<(String, Vec<String>)>);

/// Everything a peer's key depends on.
#[derive(Clone, Debug)]
pub struct PeerAddress<'a> {
    pub agent: &'a AgentId,
    pub main_key: &'a MainKey,
    pub channel: &'a str,
    pub account: &'a str,
    pub kind: PeerKind,
    pub peer: &'a str,
    pub dm_scope: DmScope,
    pub links: &'a IdentityLinks,
}

/// The key of a thread and the key it hangs from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadKeys {
    pub key: SessionKey,
    pub parent: Option<SessionKey>,
}

impl SessionKey {
    /// What everybody shares, and belongs to no session.
    pub const SHARED: [&str; 2] = ["global", "unknown"];

    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn global() -> Self {
        Self::new("global")
    }

    pub fn is_shared(&self) -> bool {
        Self::SHARED.contains(&self.as_str())
    }

    /// The key of an agent's main session.
    pub fn main(agent: &AgentId, main_key: &MainKey) -> Self {
        Self::new(format!("agent:{agent}:{main_key}"))
    }

    /// The key of a conversation with a person, a group or a channel.
    pub fn peer(address: &PeerAddress<'_>) -> Self {
        match &address.kind {
            PeerKind::Dm => Self::direct(address),
            kind => {
                let channel = text::lower_non_blank(address.channel).unwrap_or_else(unknown);
                let peer = text::lower_non_blank(address.peer).unwrap_or_else(unknown);
                Self::new(format!("agent:{}:{channel}:{kind}:{peer}", address.agent))
            }
        }
    }

    fn direct(address: &PeerAddress<'_>) -> Self {
        let linked = match address.dm_scope {
            DmScope::Main => None,
            _ => address.links.canonical_name(address.channel, address.peer),
        };
        let peer = text::lower(linked.unwrap_or_else(|| text::trim(address.peer)));
        if peer.is_empty() {
            return Self::main(address.agent, address.main_key);
        }
        let agent = address.agent;
        let channel = || text::lower_non_blank(address.channel).unwrap_or_else(unknown);
        match address.dm_scope {
            DmScope::Main => Self::main(agent, address.main_key),
            DmScope::PerPeer => Self::new(format!("agent:{agent}:dm:{peer}")),
            DmScope::PerChannelPeer => Self::new(format!("agent:{agent}:{}:dm:{peer}", channel())),
            DmScope::PerAccountChannelPeer => {
                let account = AccountId::normalize(address.account);
                Self::new(format!("agent:{agent}:{}:{account}:dm:{peer}", channel()))
            }
        }
    }

    /// The key of a thread below `self`; without a thread id there is no thread and no parent.
    pub fn thread(&self, thread_id: &str, parent: Option<SessionKey>, use_suffix: bool) -> ThreadKeys {
        match text::lower_non_blank(thread_id) {
            None => ThreadKeys { key: self.clone(), parent: None },
            Some(id) if use_suffix => ThreadKeys { key: Self::new(format!("{self}:thread:{id}")), parent },
            Some(_) => ThreadKeys { key: self.clone(), parent },
        }
    }

    /// The key under which a client's `request` is stored.
    pub fn for_store(agent: &AgentId, request: &str, main_key: &MainKey) -> Self {
        match text::trim(request) {
            "" | "main" => Self::main(agent, main_key),
            request => {
                let key = text::lower(request);
                if key.starts_with("agent:") {
                    Self::new(key)
                } else {
                    Self::new(format!("agent:{agent}:{key}"))
                }
            }
        }
    }

    /// What a client calls this key: without the agent.
    pub fn for_request(&self) -> Option<String> {
        let raw = text::non_blank(self.as_str())?;
        Some(parse_agent_key(raw).map_or_else(|| raw.to_owned(), |parsed| parsed.rest.into_owned()))
    }

    /// The agent and the rest, if this is an agent's key.
    pub fn agent_key(&self) -> Option<AgentKey<'_>> {
        parse_agent_key(self.as_str())
    }

    /// The agent this key belongs to; keys without one belong to `main`.
    pub fn agent_id(&self) -> AgentId {
        self.agent_key().map(|parsed| AgentId::normalize(parsed.agent)).unwrap_or_default()
    }

    pub fn is_subagent(&self) -> bool {
        self.rest_starts_with("subagent:")
    }

    pub fn is_acp(&self) -> bool {
        self.rest_starts_with("acp:")
    }

    fn rest_starts_with(&self, marker: &str) -> bool {
        let starts = |text: &str| text::lower(text).starts_with(marker);
        starts(text::trim(self.as_str())) || self.agent_key().is_some_and(|parsed| starts(&parsed.rest))
    }

    /// The key that a thread or topic hangs from.
    pub fn thread_parent(&self) -> Option<SessionKey> {
        let raw = text::trim(self.as_str());
        let lowered = text::lower(raw);
        let at = lowered.rfind(":thread:").max(lowered.rfind(":topic:")).filter(|at| *at > 0)?;
        // Lower-casing may change lengths; the reference cuts the original at the lowered index.
        let parent = text::head(raw, text::units(&lowered[..at]));
        text::non_blank(&parent).map(Self::new)
    }

    /// Whether the key names a thread or a topic.
    pub fn is_thread(&self) -> bool {
        let lowered = text::lower(self.as_str());
        lowered.contains(":thread:") || lowered.contains(":topic:")
    }

    /// Whether the key names a group or a channel, in today's spelling or in the older
    /// `<channel>-group-<id>` and `<channel>-chan-<id>`.
    pub fn is_group(&self) -> bool {
        self.0.contains(":group:") || self.0.contains(":channel:") || self.dashed_group().is_some()
    }

    /// Channel, kind and id of a group key.
    pub fn group(&self) -> Option<GroupKey> {
        let rest = self.rest();
        let parts: Vec<&str> = rest.split(':').filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            [channel, kind @ ("group" | "channel"), id @ ..] if !id.is_empty() => Some(GroupKey {
                channel: (*channel).to_owned(),
                kind: PeerKind::parse(kind),
                id: id.join(":"),
            }),
            _ => self.dashed_group(),
        }
    }

    /// What follows the agent, or the whole key if it names none.
    pub fn rest(&self) -> Cow<'_, str> {
        self.agent_key().map_or(Cow::Borrowed(self.as_str()), |parsed| parsed.rest)
    }

    /// A group in the older spelling, which early folders hold: `agent:main:discord-chan-123`.
    fn dashed_group(&self) -> Option<GroupKey> {
        let rest = self.rest();
        let (channel, tail) = rest.split_once('-')?;
        if !channel::is_surface(&text::lower(channel)) {
            return None;
        }
        let (kind, id) = match tail.split_once('-')? {
            ("group", id) => (PeerKind::Group, id),
            ("chan", id) => (PeerKind::Channel, id),
            _ => return None,
        };
        let id = id.split(':').next().filter(|id| !id.is_empty())?;
        Some(GroupKey { channel: channel.to_owned(), kind, id: id.to_owned() })
    }

    /// What a listing calls the session; `chat_type` is the record's.
    pub fn kind(&self, chat_type: Option<&str>) -> SessionKind {
        match self.as_str() {
            "global" => SessionKind::Global,
            "unknown" => SessionKind::Unknown,
            _ if matches!(chat_type, Some("group" | "channel")) || self.is_group() => SessionKind::Group,
            _ => SessionKind::Direct,
        }
    }

    /// Who may read what is said in the session; `chat_type` is the record's. Where conversations
    /// share a session, or nobody knows whose it is, a group may be listening.
    pub fn audience(&self, chat_type: Option<&str>) -> Audience {
        match self.kind(chat_type) {
            SessionKind::Direct => Audience::Person,
            SessionKind::Group | SessionKind::Global | SessionKind::Unknown => Audience::Group,
        }
    }

    /// The name of the lane in which the session's runs stand in line, one at a time
    /// (`sessions.md` §18).
    pub fn lane(&self) -> String {
        format!("session:{self}")
    }
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// Takes `agent:<id>:<rest>` apart. Doubled colons collapse; the case is kept.
pub fn parse_agent_key(raw: &str) -> Option<AgentKey<'_>> {
    let below = text::trim(raw).trim_start_matches(':').strip_prefix("agent:")?;
    let (agent, rest) = below.trim_start_matches(':').split_once(':')?;
    let agent = text::non_blank(agent)?;
    let rest = if rest.starts_with(':') || rest.ends_with(':') || rest.contains("::") {
        Cow::Owned(rest.split(':').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":"))
    } else {
        Cow::Borrowed(rest)
    };
    (!rest.is_empty()).then_some(AgentKey { agent, rest })
}

/// The key of a group's history buffer.
pub fn group_history_key(channel: &str, account: &str, kind: &PeerKind, peer: &str) -> String {
    let channel = text::lower_non_blank(channel).unwrap_or_else(unknown);
    let peer = text::lower_non_blank(peer).unwrap_or_else(unknown);
    format!("{channel}:{}:{kind}:{peer}", AccountId::normalize(account))
}

/// What the session section of the configuration says about keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyPolicy {
    pub scope: Scope,
    pub main_key: MainKey,
    pub default_agent: AgentId,
    /// The agent whose main session is *the* main session. It is the default agent, except where that
    /// one has no id: then the main session is the first agent's.
    pub main_agent: AgentId,
}

impl KeyPolicy {
    /// The policy of a configuration, which is made once for each state of it.
    pub fn from_config(config: &Config) -> Arc<Self> {
        config.derived(Self::derive)
    }

    fn derive(config: &Config) -> Self {
        Self {
            scope: config.session.scope(),
            main_key: MainKey::normalize(config.session.main_key.as_deref().unwrap_or_default()),
            default_agent: default_agent(config),
            main_agent: main_agent(config),
        }
    }

    /// The key of the main session, or `global`.
    pub fn main_session(&self) -> SessionKey {
        match self.scope {
            Scope::Global => SessionKey::global(),
            Scope::PerSender => SessionKey::main(&self.main_agent, &self.main_key),
        }
    }

    /// The main key of an agent named by the user; blank names none.
    pub fn agent_main_session(&self, agent: &str) -> Option<SessionKey> {
        text::non_blank(agent).map(|agent| SessionKey::main(&AgentId::normalize(agent), &self.main_key))
    }

    /// One key for the main session, whichever of its names was used.
    pub fn resolve_main_alias(&self, agent: &AgentId, key: &str) -> SessionKey {
        let raw = text::trim(key);
        let main = SessionKey::main(agent, &self.main_key);
        let plain_main = SessionKey::main(agent, &MainKey::default());
        let is_alias = raw == "main"
            || raw == self.main_key.as_str()
            || raw == main.as_str()
            || raw == plain_main.as_str();
        match (is_alias && !raw.is_empty(), self.scope) {
            (false, _) => SessionKey::new(raw),
            (true, Scope::Global) => SessionKey::global(),
            (true, Scope::PerSender) => main,
        }
    }

    /// The key in the store for a key that a client sent.
    pub fn store_key(&self, key: &str) -> SessionKey {
        let raw = text::trim(key);
        if matches!(raw, "" | "global" | "unknown") {
            return SessionKey::new(raw);
        }
        if let Some(parsed) = parse_agent_key(raw) {
            return self.resolve_main_alias(&AgentId::normalize(parsed.agent), raw);
        }
        if raw == "main" || raw == self.main_key.as_str() {
            return self.main_session();
        }
        if raw.starts_with("agent:") {
            SessionKey::new(raw)
        } else {
            SessionKey::new(format!("agent:{}:{raw}", self.default_agent))
        }
    }

    /// What a session is for, as `sessions_list` tells it.
    pub fn kind(&self, key: &SessionKey) -> &'static str {
        let main = self.resolve_main_alias(&key.agent_id(), "main");
        let rest = key.rest();
        match () {
            () if *key == main => "main",
            () if rest.starts_with("cron:") => "cron",
            () if rest.starts_with("hook:") => "hook",
            () if rest.starts_with("node-") || rest.starts_with("node:") => "node",
            () if key.is_group() => "group",
            () => "other",
        }
    }

    /// The agent in whose store a key lives.
    pub fn store_agent(&self, key: &str) -> AgentId {
        match parse_agent_key(key) {
            Some(parsed) => AgentId::normalize(parsed.agent),
            None => self.default_agent.clone(),
        }
    }

    /// The agent a session key belongs to, whatever its case.
    pub fn session_agent(&self, key: &str) -> AgentId {
        self.store_agent(&text::lower(key))
    }
}

/// The first agent marked as default, else the first, else `main`.
pub fn default_agent(config: &Config) -> AgentId {
    let agents = &config.agents.list;
    let chosen = marked_default(agents).or(agents.first()).map(|entry| entry.id.as_str());
    AgentId::normalize(chosen.unwrap_or_default())
}

/// The id of the agent marked as default, else that of the first.
fn main_agent(config: &Config) -> AgentId {
    let agents = &config.agents.list;
    let chosen = marked_default(agents).filter(|entry| !entry.id.is_empty()).or(agents.first());
    AgentId::normalize(chosen.map(|entry| entry.id.as_str()).unwrap_or_default())
}

fn marked_default(agents: &[AgentEntry]) -> Option<&AgentEntry> {
    agents.iter().find(|agent| agent.default == Some(true))
}

impl PeerKind {
    pub fn parse(text: &str) -> Self {
        match text {
            "dm" => Self::Dm,
            "group" => Self::Group,
            "channel" => Self::Channel,
            other => Self::Other(other.to_owned()),
        }
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Dm => "dm",
            Self::Group => "group",
            Self::Channel => "channel",
            Self::Other(kind) => kind,
        }
    }
}

impl IdentityLinks {
    /// Names without a list of addresses, and blank names, are skipped.
    pub fn from_config(config: &Config) -> Self {
        let person = |(name, addresses): (&String, &Vec<String>)| {
            let addresses = addresses.iter().filter_map(|address| text::lower_non_blank(address));
            Some((text::non_blank(name)?.to_owned(), addresses.collect()))
        };
        Self(config.session.identity_links.iter().flatten().filter_map(person).collect())
    }

    /// Every address of a person, as it was written but in small letters.
    pub fn addresses(&self, name: &str) -> Vec<String> {
        let is_meant = |known: &&(String, Vec<String>)| text::lower(&known.0) == text::lower(name);
        self.0.iter().find(is_meant).map(|(_, addresses)| addresses.clone()).unwrap_or_default()
    }

    /// The person behind an address, given with or without its channel.
    pub fn canonical_name(&self, channel: &str, peer: &str) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        let peer = text::lower_non_blank(peer)?;
        let with_channel = text::lower_non_blank(channel).map(|channel| format!("{channel}:{peer}"));
        let is_peer = |address: &String| *address == peer || Some(address) == with_channel.as_ref();
        self.0.iter().find(|(_, addresses)| addresses.iter().any(is_peer)).map(|(name, _)| name.as_str())
    }
}

impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for PeerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row a spelling that a seed document uses.
    #[test]
    fn older_spellings_are_understood() {
        //  key                                         agent      kind                 group
        let table = [
            ("telegram:123456", "main", SessionKind::Direct, None),
            ("whatsapp:group:123@g.us", "main", SessionKind::Group, Some(("whatsapp", "123@g.us"))),
            ("agent:default:123", "default", SessionKind::Direct, None),
            ("agent:main:user-77", "main", SessionKind::Direct, None),
            ("agent:main:discord-chan-1", "main", SessionKind::Group, Some(("discord", "1"))),
            (
                "agent:main:whatsapp-group-1-2@g.us",
                "main",
                SessionKind::Group,
                Some(("whatsapp", "1-2@g.us")),
            ),
            ("agent:main:discord-chan-1:thread:9", "main", SessionKind::Group, Some(("discord", "1"))),
            ("agent:main:my-group-chat", "main", SessionKind::Direct, None),
            ("wizard-5f0c", "main", SessionKind::Direct, None),
        ];
        for (text, agent, kind, group) in table {
            let key = SessionKey::new(text);
            assert_eq!(key.agent_id().as_str(), agent, "{text}");
            assert_eq!(key.kind(None), kind, "{text}");
            let found = key.group();
            assert_eq!(found.as_ref().map(|g| (g.channel.as_str(), g.id.as_str())), group, "{text}");
            assert_eq!(key.as_str(), text);
        }
    }

    #[test]
    fn what_is_said_in_a_group_is_read_by_a_group() {
        //  key                               chat type         audience
        let table = [
            ("agent:main:telegram:dm:1", None, Audience::Person),
            ("agent:main:main", None, Audience::Person),
            ("telegram:123456", None, Audience::Person),
            ("agent:main:main", Some("channel"), Audience::Group),
            ("agent:main:slack:channel:c1:thread:2", None, Audience::Group),
            ("agent:main:whatsapp-group-1", None, Audience::Group),
            ("agent:main:discord-chan-1", None, Audience::Group),
            ("global", None, Audience::Group),
            ("unknown", None, Audience::Group),
        ];
        for (key, chat_type, audience) in table {
            assert_eq!(SessionKey::new(key).audience(chat_type), audience, "{key} {chat_type:?}");
        }
    }

    #[test]
    fn the_main_session_is_that_of_an_agent_with_an_id() {
        let config = Config::new(serde_json::json!({"agents": {"list": [{"id": "ops"}, {"default": true}]}}));
        let policy = KeyPolicy::from_config(&config);
        assert_eq!(policy.main_session().as_str(), "agent:ops:main");
        assert_eq!(policy.store_key("x").as_str(), "agent:main:x");
    }

    #[test]
    fn a_direct_key_follows_the_scope() {
        let links = IdentityLinks(vec![("Alice".to_owned(), vec!["telegram:42".to_owned()])]);
        let (agent, main_key) = (AgentId::default(), MainKey::default());
        let key = |dm_scope, peer| {
            let address = PeerAddress {
                agent: &agent,
                main_key: &main_key,
                channel: "Telegram",
                account: "Work",
                kind: PeerKind::Dm,
                peer,
                dm_scope,
                links: &links,
            };
            SessionKey::peer(&address).as_str().to_owned()
        };
        assert_eq!(key(DmScope::Main, "7"), "agent:main:main");
        assert_eq!(key(DmScope::PerPeer, "42"), "agent:main:dm:alice");
        assert_eq!(key(DmScope::PerChannelPeer, "AbC"), "agent:main:telegram:dm:abc");
        assert_eq!(key(DmScope::PerAccountChannelPeer, "7"), "agent:main:telegram:work:dm:7");
        assert_eq!(key(DmScope::PerPeer, " "), "agent:main:main");
    }
}
