//! `routing.json`.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::id::{AccountId, AgentId};
use yabby_domain::json::Value;
use yabby_domain::route::{Peer, Routes, Source, bound_accounts, peer_key};
use yabby_domain::session::key::{DmScope, IdentityLinks, KeyPolicy, PeerKind, default_agent};

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "routing.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    let text = |field: &str| case.text(field).unwrap_or("");
    let config = Config::new(case.arg("cfg").clone());
    Some(match case.rule.as_str() {
        "resolveAgentRoute" => {
            let route = Routes::from_config(&config).resolve(&Source {
                channel: text("channel"),
                account: text("accountId"),
                peer: peer(case.arg("peer")),
                parent_peer: peer(case.arg("parentPeer")),
                guild: text("guildId"),
                team: text("teamId"),
            });
            json!({
                "agentId": route.agent.as_str(),
                "channel": route.channel,
                "accountId": route.account,
                "sessionKey": route.session_key.as_str(),
                "mainSessionKey": route.main_session_key.as_str(),
                "matchedBy": route.matched_by.as_str(),
            })
        }
        "buildAgentSessionKey" => {
            let peer = peer(case.arg("peer"));
            let links = IdentityLinks::default();
            let agent = AgentId::normalize(text("agentId"));
            let scope = DmScope::from_word(text("dmScope")).unwrap_or_default();
            json!(peer_key(&agent, text("channel"), text("accountId"), peer.as_ref(), scope, &links).as_str())
        }
        "listBoundAccountIds" => {
            json!(
                bound_accounts(&config, text("channelId")).iter().map(AccountId::as_str).collect::<Vec<_>>()
            )
        }
        "resolveDefaultAgentId" => json!(default_agent(&config).as_str()),
        "resolveSessionAgentId" => {
            let policy = KeyPolicy::from_config(&Config::new(case.arg("config").clone()));
            json!(policy.session_agent(text("sessionKey")).as_str())
        }
        _ => return None,
    })
}

fn peer(value: &Value) -> Option<Peer> {
    let text = |field: &str| value.get(field).and_then(Value::as_str);
    value.as_object()?;
    Some(Peer { kind: PeerKind::parse(text("kind")?), id: text("id").unwrap_or("").to_owned() })
}
