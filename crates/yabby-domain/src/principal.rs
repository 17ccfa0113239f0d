//! Who a message comes from, and where its answer goes (`gateway.md` §3, `sessions.md` §8, §17). Neither is inferred from the
//! other.

use serde::{Deserialize, Serialize};

use crate::access::command_auth::CommandAuthority;
use crate::config::Config;
use crate::delivery::DeliveryContext;

/// The scope of gateway clients that includes all others.
pub const ADMIN_SCOPE: &str = "operator.admin";

/// Who a message comes from. Decides what it may do and what memory it may read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Principal {
    /// The person at the machine, by a command line.
    LocalOwner,
    /// A client of the gateway, with the scopes of its connection.
    Client {
        scopes: Vec<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
    },
    /// A sender on a channel, named in the message; the lists of the configuration say what they may do.
    #[default]
    Peer,
    /// An agent, with no more rights than those on whose behalf it asks.
    Agent(OnBehalfOf),
    /// The program itself.
    System { source: SystemSource },
}

/// What makes the program ask something by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum SystemSource {
    Cron,
    Heartbeat,
    /// Its text comes from outside.
    Webhook,
}

/// For whom an agent asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OnBehalfOf {
    /// The session that asks.
    pub session: String,
    /// Whether its owner asked there.
    pub is_owner: bool,
    /// Others read what is said there: what is the owner's own stays out of the answer.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub among_others: bool,
}

impl Principal {
    /// Whether the owner asks; `authority` is what the lists of the configuration say of the sender.
    pub fn is_owner(&self, authority: &CommandAuthority, config: &Config) -> bool {
        match self {
            Self::LocalOwner => true,
            Self::Client { scopes, .. } => is_owner_client(scopes, config),
            Self::Peer => authority.is_trusted,
            Self::Agent(behalf) => behalf.is_owner,
            Self::System { source } => match source {
                SystemSource::Cron | SystemSource::Heartbeat => true,
                SystemSource::Webhook => false,
            },
        }
    }

    pub fn on_behalf_of(&self) -> Option<&OnBehalfOf> {
        match self {
            Self::Agent(behalf) => Some(behalf),
            Self::LocalOwner | Self::Client { .. } | Self::Peer | Self::System { .. } => None,
        }
    }

    pub fn is_heartbeat(&self) -> bool {
        matches!(self, Self::System { source: SystemSource::Heartbeat })
    }

    pub fn is_agent(&self) -> bool {
        matches!(self, Self::Agent(_))
    }

    /// Whether the message came through a channel, and not from elsewhere into the session of one.
    pub fn is_peer(&self) -> bool {
        matches!(self, Self::Peer)
    }
}

/// Whether clients of the gateway with these scopes are the owner: administrators, and whom the configuration
/// names (`gateway.ownerScopes`).
fn is_owner_client(scopes: &[String], config: &Config) -> bool {
    let named = config.extras.gateway.owner_scopes.as_deref().unwrap_or_default();
    scopes.iter().any(|scope| scope == ADMIN_SCOPE || named.contains(scope))
}

/// Where the answer to a message goes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReplyTo {
    /// To the one who waits for the turn, and to no channel.
    Caller,
    /// To where the message came from, else to where its session was last spoken to.
    #[default]
    Session,
    /// To this address.
    Address(DeliveryContext),
    /// To the session that asked for the work, as a message of its own.
    Announcement(Announcement),
    Nowhere,
}

/// A result that is announced where it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Announcement {
    pub label: String,
    /// The session that did the work is put away afterwards.
    pub delete_after: bool,
}

impl ReplyTo {
    /// Whether a channel sends the answer.
    pub fn is_sent(&self) -> bool {
        matches!(self, Self::Session | Self::Address(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn client(scopes: &[&str]) -> Principal {
        Principal::Client { scopes: scopes.iter().map(|&scope| scope.to_owned()).collect(), device: None }
    }

    #[test]
    fn rights_come_from_the_principal() {
        let nobody = CommandAuthority::default();
        let named = CommandAuthority { is_trusted: true, ..CommandAuthority::default() };
        let agent = |is_owner| Principal::Agent(OnBehalfOf { is_owner, ..OnBehalfOf::default() });
        let usual = Config::default();
        let table = [
            (Principal::LocalOwner, &nobody, true),
            (client(&["operator.admin"]), &nobody, true),
            (client(&["operator.read", "operator.write"]), &nobody, false),
            // What lists say of a sender gives a client nothing.
            (client(&["operator.write"]), &named, false),
            (Principal::Peer, &nobody, false),
            (Principal::Peer, &named, true),
            (agent(true), &nobody, true),
            (agent(false), &named, false),
            (Principal::System { source: SystemSource::Cron }, &nobody, true),
            (Principal::System { source: SystemSource::Heartbeat }, &nobody, true),
            (Principal::System { source: SystemSource::Webhook }, &named, false),
        ];
        for (principal, authority, expected) in table {
            assert_eq!(principal.is_owner(authority, &usual), expected, "{principal:?}");
        }
    }

    #[test]
    fn the_configuration_may_make_writers_the_owner() {
        let config = Config::new(json!({"gateway": {"ownerScopes": ["operator.write"]}}));
        let nobody = CommandAuthority::default();
        assert!(client(&["operator.write"]).is_owner(&nobody, &config));
        assert!(!client(&["operator.read"]).is_owner(&nobody, &config));
    }
}
