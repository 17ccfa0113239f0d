//! Which agent and which session a message belongs to (`sessions.md` §4).

use std::sync::Arc;

use crate::channel::normalize_channel;
use crate::collation;
use crate::config::{Config, bindings};
use crate::id::{AccountId, AgentId, MainKey};
use crate::session::key::{DmScope, IdentityLinks, PeerAddress, PeerKind, SessionKey, default_agent};
use crate::text;
use crate::unique::unique;

/// Everything routing needs to know, read once from the configuration.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    agents: Vec<AgentId>,
    default_agent: AgentId,
    bindings: Vec<Binding>,
    dm_scope: DmScope,
    links: IdentityLinks,
}

#[derive(Clone, Debug, PartialEq)]
struct Binding {
    agent: Option<String>,
    channel: String,
    account: Account,
    peer: Option<Peer>,
    guild: Option<String>,
    team: Option<String>,
    /// Names a peer, guild or team, even if the name is no use.
    narrowed: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Account {
    Default,
    Any,
    Named(String),
}

/// A person, group or channel on a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    pub kind: PeerKind,
    pub id: String,
}

/// Where a message comes from.
#[derive(Clone, Debug, Default)]
pub struct Source<'a> {
    pub channel: &'a str,
    pub account: &'a str,
    pub peer: Option<Peer>,
    pub parent_peer: Option<Peer>,
    pub guild: &'a str,
    pub team: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub agent: AgentId,
    pub channel: String,
    /// As the channel wrote it, trimmed.
    pub account: String,
    pub session_key: SessionKey,
    pub main_session_key: SessionKey,
    pub matched_by: MatchedBy,
}

/// Which step of the cascade decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchedBy {
    Peer,
    ParentPeer,
    Guild,
    Team,
    Account,
    Channel,
    Default,
}

impl Routes {
    /// The routes of a configuration, which are made once for each state of it.
    pub fn from_config(config: &Config) -> Arc<Self> {
        config.derived(Self::derive)
    }

    fn derive(config: &Config) -> Self {
        Self {
            agents: config.agents.list.iter().map(|agent| AgentId::normalize(&agent.id)).collect(),
            default_agent: default_agent(config),
            bindings: config.bindings.iter().filter_map(Binding::of).collect(),
            dm_scope: config.session.dm_scope(),
            links: IdentityLinks::from_config(config),
        }
    }

    /// Seven steps, the first hit wins; within a step, the order of the list.
    pub fn resolve(&self, source: &Source<'_>) -> Route {
        let channel = text::lower(text::trim(source.channel));
        let account = text::non_blank(source.account).unwrap_or("default").to_owned();
        let (agent, matched_by) = self.choose(&channel, &account, source);
        let key = self.session_key(&agent, &channel, &account, source.peer.as_ref());
        Route {
            session_key: SessionKey::new(text::lower(key.as_str())),
            main_session_key: SessionKey::main(&agent, &MainKey::default()),
            agent,
            channel,
            account,
            matched_by,
        }
    }

    fn choose(&self, channel: &str, account: &str, source: &Source<'_>) -> (AgentId, MatchedBy) {
        let candidates = || self.bindings.iter().filter(|binding| binding.fits(channel, account));
        let guild = text::non_blank(source.guild);
        let team = text::non_blank(source.team);
        let named = |peer: &Option<Peer>| {
            peer.clone().map(|peer| Peer { id: text::trim(&peer.id).to_owned(), ..peer })
        };
        let peer = named(&source.peer);
        let parent = named(&source.parent_peer).filter(|peer| !peer.id.is_empty());

        let by_peer = || candidates().find(|b| peer.is_some() && b.peer == peer);
        let by_parent = || candidates().find(|b| parent.is_some() && b.peer == parent);
        let by_guild = || candidates().find(|b| guild.is_some() && b.guild.as_deref() == guild);
        let by_team = || candidates().find(|b| team.is_some() && b.team.as_deref() == team);
        let by_account = || candidates().find(|b| b.account != Account::Any && !b.narrowed);
        let by_channel = || candidates().find(|b| b.account == Account::Any && !b.narrowed);

        let hit = by_peer()
            .map(|b| (b, MatchedBy::Peer))
            .or_else(|| by_parent().map(|b| (b, MatchedBy::ParentPeer)))
            .or_else(|| by_guild().map(|b| (b, MatchedBy::Guild)))
            .or_else(|| by_team().map(|b| (b, MatchedBy::Team)))
            .or_else(|| by_account().map(|b| (b, MatchedBy::Account)))
            .or_else(|| by_channel().map(|b| (b, MatchedBy::Channel)));
        match hit {
            Some((binding, matched_by)) => (self.known_agent(binding.agent.as_deref()), matched_by),
            None => (self.default_agent.clone(), MatchedBy::Default),
        }
    }

    /// The agent a binding names, if the list of agents has it or there is no list.
    fn known_agent(&self, named: Option<&str>) -> AgentId {
        let Some(name) = named.and_then(text::non_blank) else {
            return self.default_agent.clone();
        };
        let agent = AgentId::normalize(name);
        if self.agents.is_empty() || self.agents.contains(&agent) {
            agent
        } else {
            self.default_agent.clone()
        }
    }

    /// The main session's key is always `main` here; `session.mainKey` is not consulted.
    fn session_key(&self, agent: &AgentId, channel: &str, account: &str, peer: Option<&Peer>) -> SessionKey {
        peer_key(agent, channel, account, peer, self.dm_scope, &self.links)
    }
}

/// The key of a conversation as routing builds it: a peer without an id is `unknown`.
pub fn peer_key(
    agent: &AgentId,
    channel: &str,
    account: &str,
    peer: Option<&Peer>,
    dm_scope: DmScope,
    links: &IdentityLinks,
) -> SessionKey {
    SessionKey::peer(&PeerAddress {
        agent,
        main_key: &MainKey::default(),
        channel,
        account,
        kind: peer.map_or(PeerKind::Dm, |peer| peer.kind.clone()),
        peer: peer.map_or("", |peer| text::non_blank(&peer.id).unwrap_or("unknown")),
        dm_scope,
        links,
    })
}

/// The accounts of a channel that bindings name, sorted as a reader expects.
pub fn bound_accounts(config: &Config, channel: &str) -> Vec<AccountId> {
    let Some(wanted) = normalize_channel(channel) else {
        return Vec::new();
    };
    let account = |binding: &bindings::Binding| {
        let named = normalize_channel(&binding.r#match.channel)?;
        let account = binding.r#match.account_id.as_deref().and_then(text::non_blank)?;
        (named == wanted && account != "*").then(|| AccountId::normalize(account))
    };
    let mut accounts = unique(config.bindings.iter().filter_map(account));
    accounts.sort_by(|left, right| collation::compare(left.as_str(), right.as_str()));
    accounts
}

impl Binding {
    /// A binding without a channel never fits and is left out.
    fn of(binding: &bindings::Binding) -> Option<Self> {
        let matched = &binding.r#match;
        let id = |id: &Option<String>| id.as_deref().and_then(text::non_blank).map(str::to_owned);
        let is_given = |id: &Option<String>| id.as_ref().is_some_and(|id| !id.is_empty());
        let account = match matched.account_id.as_deref().and_then(text::non_blank) {
            None => Account::Default,
            Some("*") => Account::Any,
            Some(name) => Account::Named(name.to_owned()),
        };
        Some(Self {
            agent: Some(binding.agent_id.clone()).filter(|id| !id.is_empty()),
            channel: text::lower_non_blank(&matched.channel)?,
            account,
            peer: matched.peer.as_ref().and_then(bound_peer),
            guild: id(&matched.guild_id),
            team: id(&matched.team_id),
            narrowed: matched.peer.is_some() || is_given(&matched.guild_id) || is_given(&matched.team_id),
        })
    }

    fn fits(&self, channel: &str, account: &str) -> bool {
        let account_fits = match &self.account {
            Account::Default => account == "default",
            Account::Any => true,
            Account::Named(name) => name == account,
        };
        account_fits && self.channel == channel
    }
}

/// A binding's peer needs both its kind and its id.
fn bound_peer(peer: &bindings::BindingPeer) -> Option<Peer> {
    let kind = text::lower_non_blank(peer.kind.as_str())?;
    let id = text::non_blank(&peer.id)?;
    Some(Peer { kind: PeerKind::parse(&kind), id: id.to_owned() })
}

impl MatchedBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Peer => "binding.peer",
            Self::ParentPeer => "binding.peer.parent",
            Self::Guild => "binding.guild",
            Self::Team => "binding.team",
            Self::Account => "binding.account",
            Self::Channel => "binding.channel",
            Self::Default => "default",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_narrowest_binding_wins() {
        let config = Config::new(json!({
            "agents": {"list": [{"id": "main"}, {"id": "any"}, {"id": "acc"}, {"id": "team"}, {"id": "guild"}, {"id": "peer"}]},
            "bindings": [
                {"agentId": "any", "match": {"channel": "discord", "accountId": "*"}},
                {"agentId": "acc", "match": {"channel": "discord", "accountId": "work"}},
                {"agentId": "team", "match": {"channel": "discord", "accountId": "*", "teamId": "T"}},
                {"agentId": "guild", "match": {"channel": "discord", "accountId": "*", "guildId": "G"}},
                {"agentId": "peer", "match": {"channel": "discord", "accountId": "*", "peer": {"kind": "channel", "id": "P"}}},
            ],
        }));
        let routes = Routes::from_config(&config);
        let peer = |id: &str| Some(Peer { kind: PeerKind::Channel, id: id.to_owned() });
        let source = Source { channel: "Discord", account: "work", ..Source::default() };
        //  source                                                                     agent    by
        let table = [
            (Source { peer: peer("P"), guild: "G", team: "T", ..source.clone() }, "peer", MatchedBy::Peer),
            (
                Source { peer: peer("x"), parent_peer: peer("P"), guild: "G", ..source.clone() },
                "peer",
                MatchedBy::ParentPeer,
            ),
            (Source { guild: "G", team: "T", ..source.clone() }, "guild", MatchedBy::Guild),
            (Source { team: "T", ..source.clone() }, "team", MatchedBy::Team),
            (source.clone(), "acc", MatchedBy::Account),
            (Source { account: "home", ..source.clone() }, "any", MatchedBy::Channel),
            (Source { channel: "slack", ..source }, "main", MatchedBy::Default),
        ];
        for (source, agent, by) in table {
            let route = routes.resolve(&source);
            assert_eq!((route.agent.as_str(), route.matched_by), (agent, by), "{source:?}");
        }
    }
}
