//! `session-keys.json`.

use yabby_domain::channel::{self, ChatType};
use yabby_domain::config::Config;
use yabby_domain::id::{AccountId, AgentId, MainKey};
use yabby_domain::inbound::ThreadId;
use yabby_domain::json::Value;
use yabby_domain::session::group::{self, Group, GroupNames};
use yabby_domain::session::key::{
    DmScope, IdentityLinks, KeyPolicy, PeerAddress, PeerKind, Scope, SessionKey, group_history_key,
    parse_agent_key,
};
use yabby_domain::session::path::{self, Folders};

use serde_json::json;

use super::dashed_keys::{self, DashedGroup};
use super::{context, rows};
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite = Suite {
    file: "session-keys.json",
    cases: rows,
    answer,
    differences: &[DASHED_GROUP_KIND, DASHED_GROUP_PARTS],
};

const DASHED_GROUP_KIND: Difference = Difference {
    name: dashed_keys::NAME,
    applies: |case| case.rule == "classifySessionKey" && dashed(case).is_some(),
    expected: |_| json!("group"),
};

const DASHED_GROUP_PARTS: Difference = Difference {
    name: dashed_keys::NAME,
    applies: |case| case.rule == "parseGroupKey" && dashed(case).is_some(),
    expected: |case| {
        dashed(case).map_or(
            Value::Null,
            |group| json!({"channel": group.channel, "kind": group.kind, "id": group.id}),
        )
    },
};

fn dashed(case: &Case) -> Option<DashedGroup> {
    dashed_keys::group_of(case.text("key")?)
}

fn answer(case: &Case) -> Option<Value> {
    let text = |field: &str| case.text(field).unwrap_or("");
    let key = || SessionKey::new(text("sessionKey"));
    let policy = || KeyPolicy::from_config(&Config::new(case.arg("cfg").clone()));
    Some(match case.rule.as_str() {
        "normalizeAgentId" => json!(AgentId::normalize(text("value")).as_str()),
        "normalizeAccountId" => json!(AccountId::normalize(text("value")).as_str()),
        "normalizeMainKey" => json!(MainKey::normalize(text("value")).as_str()),
        "buildAgentMainSessionKey" => {
            json!(
                SessionKey::main(&AgentId::normalize(text("agentId")), &MainKey::normalize(text("mainKey")))
                    .as_str()
            )
        }
        "buildAgentPeerSessionKey" => json!(peer_key(case).as_str()),
        "parseAgentSessionKey" => match parse_agent_key(text("sessionKey")) {
            Some(parsed) => json!({"agentId": parsed.agent, "rest": parsed.rest}),
            None => Value::Null,
        },
        "isSubagentSessionKey" => json!(key().is_subagent()),
        "isAcpSessionKey" => json!(key().is_acp()),
        "resolveThreadParentSessionKey" => key_value(key().thread_parent()),
        "resolveAgentIdFromSessionKey" => json!(key().agent_id().as_str()),
        "toAgentRequestSessionKey" => json!(key().for_request()),
        "resolveThreadSessionKeys" => thread_keys(case),
        "toAgentStoreSessionKey" => {
            let agent = AgentId::normalize(text("agentId"));
            json!(
                SessionKey::for_store(&agent, text("requestKey"), &MainKey::normalize(text("mainKey")))
                    .as_str()
            )
        }
        "buildGroupHistoryKey" => {
            let kind = PeerKind::parse(text("peerKind"));
            json!(group_history_key(text("channel"), text("accountId"), &kind, text("peerId")))
        }
        "resolveGroupSessionKey" => {
            group::resolve_group(&context::inbound(case.arg("ctx"))).map(group_value).into()
        }
        "deriveSessionKey" => json!(group::derive_key(scope(case), &context::inbound(case.arg("ctx")))),
        "resolveSessionKey" => {
            let main_key = MainKey::normalize(text("mainKey"));
            json!(group::message_key(scope(case), &context::inbound(case.arg("ctx")), &main_key).as_str())
        }
        "resolveMainSessionKey" => json!(policy().main_session().as_str()),
        "resolveAgentMainSessionKey" => {
            json!(SessionKey::main(&AgentId::normalize(text("agentId")), &policy().main_key).as_str())
        }
        "resolveExplicitAgentSessionKey" => key_value(policy().agent_main_session(text("agentId"))),
        "canonicalizeMainSessionAlias" => {
            json!(
                policy()
                    .resolve_main_alias(&AgentId::normalize(text("agentId")), text("sessionKey"))
                    .as_str()
            )
        }
        "buildGroupDisplayName" => json!(group::display_name(&GroupNames {
            channel: case.text("provider"),
            group_channel: case.text("groupChannel"),
            subject: case.text("subject"),
            space: case.text("space"),
            id: case.text("id"),
            key: text("key"),
        })),
        "classifySessionKey" => {
            let chat_type = case.arg("entry").get("chatType").and_then(Value::as_str);
            json!(SessionKey::new(text("key")).kind(chat_type).as_str())
        }
        "parseGroupKey" => match SessionKey::new(text("key")).group() {
            Some(group) => json!({"channel": group.channel, "kind": group.kind.as_str(), "id": group.id}),
            None => Value::Null,
        },
        "resolveSessionStoreKey" => json!(policy().store_key(text("sessionKey")).as_str()),
        "resolveSessionStoreAgentId" => json!(policy().store_agent(text("canonicalKey")).as_str()),
        "resolveSessionTranscriptPath" => {
            let topic = ThreadId::from_value(case.arg("topicId"));
            let agent = AgentId::normalize(text("agentId"));
            json!(path::transcript_path("$STATE", &agent, text("sessionId"), topic.as_ref()))
        }
        "resolveStorePath" => {
            let folders = Folders { state: "$STATE", home: "/$HOME", current: "/$CWD" };
            let store = path::store_path(case.text("store"), &AgentId::normalize(text("agentId")), &folders);
            json!(store.replace("/$HOME", "$HOME"))
        }
        "normalizeE164" => json!(channel::e164(text("number"))),
        "normalizeWhatsAppTarget" => json!(channel::whatsapp_target(text("value"))),
        "normalizeMessageChannel" => json!(channel::normalize_channel(text("raw"))),
        "normalizeChatType" => json!(ChatType::parse(text("raw")).map(ChatType::as_str)),
        _ => return None,
    })
}

fn key_value(key: Option<SessionKey>) -> Value {
    json!(key.as_ref().map(SessionKey::as_str))
}

fn peer_key(case: &Case) -> SessionKey {
    let text = |field: &str| case.text(field).unwrap_or("");
    SessionKey::peer(&PeerAddress {
        agent: &AgentId::normalize(text("agentId")),
        main_key: &MainKey::normalize(text("mainKey")),
        channel: text("channel"),
        account: text("accountId"),
        kind: PeerKind::parse(case.text("peerKind").unwrap_or("dm")),
        peer: text("peerId"),
        dm_scope: DmScope::from_word(text("dmScope")).unwrap_or_default(),
        links: &IdentityLinks::from_config(&Config::new(
            json!({"session": {"identityLinks": case.arg("identityLinks")}}),
        )),
    })
}

fn thread_keys(case: &Case) -> Value {
    let base = SessionKey::new(case.text("baseSessionKey").unwrap_or(""));
    let parent = case.text("parentSessionKey").map(SessionKey::new);
    let use_suffix = case.arg("useSuffix").as_bool().unwrap_or(true);
    let keys = base.thread(case.text("threadId").unwrap_or(""), parent, use_suffix);
    let mut value = json!({"sessionKey": keys.key.as_str()});
    if let Some(parent) = keys.parent {
        value["parentSessionKey"] = json!(parent.as_str());
    }
    value
}

pub fn group_value(group: Group) -> Value {
    json!({"key": group.key, "channel": group.channel, "id": group.id, "chatType": group.chat_type.as_str()})
}

fn scope(case: &Case) -> Scope {
    if case.text("scope") == Some("global") { Scope::Global } else { Scope::PerSender }
}
