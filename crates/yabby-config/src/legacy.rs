//! Keys of older versions: what is said of them, and where their values go now (`config.md` §4).

mod agent;
mod channels;
mod renamed;
mod routing;
mod tree;

use serde_json::Value;
use yabby_base::json::Object;

use crate::issue::Issue;

pub(crate) use tree::ensure;

/// What older keys stand in a configuration; any of them makes it invalid.
pub fn issues(parsed: &Value) -> Vec<Issue> {
    KEYS.iter()
        .filter(|key| key.stands_in(parsed))
        .map(|key| Issue::new(key.path.join("."), format!("{} (auto-migrated on load).", key.message)))
        .collect()
}

/// Moves the values of older keys to where they belong now, and tells each change. Without a change
/// the configuration stays as it is.
pub fn migrate(parsed: &mut Value) -> Vec<String> {
    const STEPS: [fn(&mut Object, &mut Vec<String>); 17] = [
        renamed::binding_channels,
        renamed::binding_accounts,
        renamed::send_rule_channels,
        renamed::queue_channels,
        channels::sections,
        channels::allowed_senders,
        channels::group_mentions,
        renamed::gateway_token,
        channels::telegram_mentions,
        agent::models,
        routing::agents,
        routing::others,
        renamed::claude_cli_mode,
        renamed::bash_tool,
        renamed::speech_switch,
        agent::defaults,
        agent::identity,
    ];
    let Value::Object(root) = parsed else { return Vec::new() };
    let mut migrated = root.clone();
    let mut changes = Vec::new();
    for step in STEPS {
        step(&mut migrated, &mut changes);
    }
    if !changes.is_empty() {
        *root = migrated;
    }
    changes
}

struct Key {
    path: &'static [&'static str],
    message: &'static str,
    counts: Counts,
}

#[derive(PartialEq)]
enum Counts {
    Always,
    /// The same key is still used for objects.
    AsText,
}

impl Key {
    fn stands_in(&self, root: &Value) -> bool {
        let found = self.path.iter().try_fold(root, |value, key| value.get(key));
        found.is_some_and(|value| self.counts == Counts::Always || value.is_string())
    }
}

const fn key(path: &'static [&'static str], message: &'static str) -> Key {
    Key { path, message, counts: Counts::Always }
}

const fn text_key(path: &'static [&'static str], message: &'static str) -> Key {
    Key { path, message, counts: Counts::AsText }
}

#[rustfmt::skip]
const KEYS: [Key; 28] = [
    key(&["whatsapp"], "whatsapp config moved to channels.whatsapp"),
    key(&["telegram"], "telegram config moved to channels.telegram"),
    key(&["discord"], "discord config moved to channels.discord"),
    key(&["slack"], "slack config moved to channels.slack"),
    key(&["signal"], "signal config moved to channels.signal"),
    key(&["imessage"], "imessage config moved to channels.imessage"),
    key(&["msteams"], "msteams config moved to channels.msteams"),
    key(&["routing", "allowFrom"], "routing.allowFrom was removed; use channels.whatsapp.allowFrom instead"),
    key(&["routing", "bindings"], "routing.bindings was moved; use top-level bindings instead"),
    key(&["routing", "agents"], "routing.agents was moved; use agents.list instead"),
    key(&["routing", "defaultAgentId"], "routing.defaultAgentId was moved; use agents.list[].default instead"),
    key(&["routing", "agentToAgent"], "routing.agentToAgent was moved; use tools.agentToAgent instead"),
    key(
        &["routing", "groupChat", "requireMention"],
        "routing.groupChat.requireMention was removed; use channels.whatsapp/telegram/imessage groups defaults \
         (e.g. channels.whatsapp.groups.\"*\".requireMention) instead",
    ),
    key(
        &["routing", "groupChat", "mentionPatterns"],
        "routing.groupChat.mentionPatterns was moved; use agents.list[].groupChat.mentionPatterns or \
         messages.groupChat.mentionPatterns instead",
    ),
    key(&["routing", "queue"], "routing.queue was moved; use messages.queue instead"),
    key(&["routing", "transcribeAudio"], "routing.transcribeAudio was moved; use tools.media.audio.models instead"),
    key(
        &["telegram", "requireMention"],
        "telegram.requireMention was removed; use channels.telegram.groups.\"*\".requireMention instead",
    ),
    key(&["identity"], "identity was moved; use agents.list[].identity instead"),
    key(
        &["agent"],
        "agent.* was moved; use agents.defaults (and tools.* for tool/elevated/exec settings) instead",
    ),
    key(&["tools", "bash"], "tools.bash was removed; use tools.exec instead"),
    text_key(
        &["agent", "model"],
        "agent.model string was replaced by agents.defaults.model.primary/fallbacks and agents.defaults.models",
    ),
    text_key(
        &["agent", "imageModel"],
        "agent.imageModel string was replaced by agents.defaults.imageModel.primary/fallbacks",
    ),
    key(&["agent", "allowedModels"], "agent.allowedModels was replaced by agents.defaults.models"),
    key(&["agent", "modelAliases"], "agent.modelAliases was replaced by agents.defaults.models.*.alias"),
    key(&["agent", "modelFallbacks"], "agent.modelFallbacks was replaced by agents.defaults.model.fallbacks"),
    key(
        &["agent", "imageModelFallbacks"],
        "agent.imageModelFallbacks was replaced by agents.defaults.imageModel.fallbacks",
    ),
    key(&["messages", "tts", "enabled"], "messages.tts.enabled was replaced by messages.tts.auto"),
    key(&["gateway", "token"], "gateway.token is ignored; use gateway.auth.token instead"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_older_key_is_told() {
        for key in &KEYS {
            let value = if key.counts == Counts::AsText { json!("x") } else { json!({}) };
            let config = key.path.iter().rev().fold(value, |value, key| json!({ *key: value }));
            let path = key.path.join(".");
            let told = issues(&config).into_iter().find(|issue| issue.path == path);
            assert_eq!(told.unwrap().message, format!("{} (auto-migrated on load).", key.message));
        }
        let today = json!({"agents": {}, "tools": {}, "channels": {}, "messages": {"tts": {}}});
        assert_eq!(issues(&today), []);
        assert_eq!(
            issues(&json!({"agent": {"model": {"primary": "x"}}})).len(),
            1,
            "an object is no old model"
        );
    }

    #[test]
    fn values_move_to_where_they_belong_now() {
        // A run leaves empty sections behind: `channels` and `tools` are looked into.
        let table: &[(Value, Value, &[&str])] = &[
            (
                json!({"telegram": {"botToken": "t"}}),
                json!({"channels": {"telegram": {"botToken": "t"}}, "tools": {}}),
                &["Moved telegram → channels.telegram."],
            ),
            (
                json!({"slack": {"a": 1, "b": 1}, "channels": {"slack": {"a": 2}}}),
                json!({"channels": {"slack": {"a": 2, "b": 1}}, "tools": {}}),
                &["Merged slack → channels.slack."],
            ),
            (
                json!({"routing": {"allowFrom": ["+1"]}, "channels": {"whatsapp": {}}}),
                json!({"channels": {"whatsapp": {"allowFrom": ["+1"]}}, "tools": {}}),
                &["Moved routing.allowFrom → channels.whatsapp.allowFrom."],
            ),
            (
                json!({"routing": {"allowFrom": ["+1"]}}),
                json!({"channels": {}, "tools": {}}),
                &["Removed routing.allowFrom (channels.whatsapp not configured)."],
            ),
            (
                json!({"routing": {"groupChat": {"requireMention": true}}}),
                json!({
                    "channels": {
                        "telegram": {"groups": {"*": {"requireMention": true}}},
                        "imessage": {"groups": {"*": {"requireMention": true}}},
                    },
                    "tools": {},
                }),
                &[
                    "Moved routing.groupChat.requireMention → channels.telegram.groups.\"*\".requireMention.",
                    "Moved routing.groupChat.requireMention → channels.imessage.groups.\"*\".requireMention.",
                ],
            ),
            (
                json!({"telegram": {"requireMention": false}}),
                json!({"channels": {"telegram": {"groups": {"*": {"requireMention": false}}}}, "tools": {}}),
                &[
                    "Moved telegram → channels.telegram.",
                    "Moved telegram.requireMention → channels.telegram.groups.\"*\".requireMention.",
                ],
            ),
            (
                json!({"routing": {
                    "groupChat": {"historyLimit": 5, "mentionPatterns": ["@x"]},
                    "queue": {"mode": "steer"},
                }}),
                json!({
                    "channels": {},
                    "agents": {},
                    "messages": {
                        "queue": {"mode": "steer"},
                        "groupChat": {"historyLimit": 5, "mentionPatterns": ["@x"]},
                    },
                    "tools": {},
                }),
                &[
                    "Moved routing.queue → messages.queue.",
                    "Moved routing.groupChat.historyLimit → messages.groupChat.historyLimit.",
                    "Moved routing.groupChat.mentionPatterns → messages.groupChat.mentionPatterns.",
                ],
            ),
            (
                json!({"routing": {"bindings": [], "agentToAgent": {"enabled": true}}, "bindings": [1]}),
                json!({"bindings": [1], "channels": {}, "agents": {}, "tools": {"agentToAgent": {"enabled": true}}}),
                &[
                    "Removed routing.bindings (bindings already set).",
                    "Moved routing.agentToAgent → tools.agentToAgent.",
                ],
            ),
            (
                json!({"routing": {
                    "agents": {"ops": {"name": "Ops", "mentionPatterns": ["@ops"], "sandbox": {"tools": {"deny": ["x"]}}}},
                    "defaultAgentId": "ops",
                }}),
                json!({
                    "channels": {},
                    "agents": {"list": [{
                        "id": "ops",
                        "groupChat": {"mentionPatterns": ["@ops"]},
                        "tools": {"sandbox": {"tools": {"deny": ["x"]}}},
                        "name": "Ops",
                        "sandbox": {},
                        "default": true,
                    }]},
                    "tools": {},
                }),
                &[
                    "Moved routing.agents.ops.mentionPatterns → agents.list (id \"ops\").groupChat.mentionPatterns.",
                    "Moved routing.agents.ops.sandbox.tools → agents.list (id \"ops\").tools.sandbox.tools.",
                    "Moved routing.agents → agents.list.",
                    "Moved routing.defaultAgentId → agents.list (id \"ops\").default.",
                ],
            ),
            (
                json!({"routing": {"transcribeAudio": {"command": ["/bin/whisper", "-f"], "timeoutSeconds": 9}}}),
                json!({
                    "channels": {},
                    "agents": {},
                    "tools": {"media": {"audio": {"enabled": true, "models": [
                        {"command": "/bin/whisper", "type": "cli", "args": ["-f"], "timeoutSeconds": 9},
                    ]}}},
                }),
                &["Moved routing.transcribeAudio → tools.media.audio.models."],
            ),
            (
                json!({"routing": {"x": 1}, "audio": {"transcription": {"command": ["curl"]}}}),
                json!({"routing": {"x": 1}, "channels": {}, "agents": {}, "tools": {}}),
                &["Removed audio.transcription (unsupported transcription CLI)."],
            ),
            (
                json!({"agent": {
                    "model": "anthropic/claude-opus-4-5",
                    "modelFallbacks": ["openai/gpt-5.2"],
                    "modelAliases": {"big": "anthropic/claude-opus-4-5"},
                    "tools": {"allow": ["read"]},
                    "bash": {"timeoutSec": 5},
                    "sandbox": {"mode": "all", "tools": {"deny": ["exec"]}},
                }}),
                json!({
                    "channels": {},
                    "tools": {
                        "allow": ["read"],
                        "exec": {"timeoutSec": 5},
                        "sandbox": {"tools": {"deny": ["exec"]}},
                    },
                    "agents": {"defaults": {
                        "model": {"primary": "anthropic/claude-opus-4-5", "fallbacks": ["openai/gpt-5.2"]},
                        "sandbox": {"mode": "all"},
                        "models": {"anthropic/claude-opus-4-5": {"alias": "big"}, "openai/gpt-5.2": {}},
                    }},
                }),
                &[
                    "Migrated agent.model string → agent.model.primary.",
                    "Migrated agent.modelFallbacks → agent.model.fallbacks.",
                    "Migrated agent.modelAliases → agent.models.*.alias.",
                    "Moved agent.tools.allow → tools.allow.",
                    "Moved agent.bash → tools.exec.",
                    "Moved agent.sandbox.tools → tools.sandbox.tools.",
                    "Moved agent → agents.defaults.",
                ],
            ),
            (
                json!({"agents": {"defaults": {"imageModel": "x/y", "allowedModels": ["a/b"]}}}),
                json!({
                    "agents": {"defaults": {
                        "imageModel": {"primary": "x/y", "fallbacks": []},
                        "models": {"x/y": {}, "a/b": {}},
                    }},
                    "channels": {},
                    "tools": {},
                }),
                &[
                    "Migrated agents.defaults.imageModel string → agents.defaults.imageModel.primary.",
                    "Migrated agents.defaults.allowedModels → agents.defaults.models.",
                ],
            ),
            (
                json!({"tools": {"bash": {"timeoutSec": 1}, "exec": {}}}),
                json!({"tools": {"exec": {}}, "channels": {}}),
                &["Removed tools.bash (tools.exec already set)."],
            ),
            (
                json!({"identity": {"name": "Bee"}, "agents": {"list": [{"id": "ops"}]}}),
                json!({
                    "agents": {"list": [{"id": "ops", "identity": {"name": "Bee"}}]},
                    "channels": {},
                    "tools": {},
                }),
                &["Moved identity → agents.list (id \"ops\").identity."],
            ),
            (
                json!({"gateway": {"token": "s"}}),
                json!({"gateway": {"auth": {"token": "s", "mode": "token"}}, "channels": {}, "tools": {}}),
                &["Moved gateway.token → gateway.auth.token."],
            ),
            (
                json!({"messages": {"tts": {"enabled": false}}}),
                json!({"messages": {"tts": {"auto": "off"}}, "channels": {}, "tools": {}}),
                &["Moved messages.tts.enabled → messages.tts.auto (off)."],
            ),
            (
                json!({"bindings": [{"match": {"provider": " slack ", "accountID": "w"}}]}),
                json!({
                    "bindings": [{"match": {"channel": "slack", "accountId": "w"}}],
                    "channels": {},
                    "tools": {},
                }),
                &[
                    "Moved bindings[].match.provider → bindings[].match.channel.",
                    "Moved bindings[].match.accountID → bindings[].match.accountId.",
                ],
            ),
            (
                json!({
                    "session": {"sendPolicy": {"rules": [{"match": {"provider": "slack"}}]}},
                    "messages": {"queue": {"byProvider": {"slack": "steer"}}},
                }),
                json!({
                    "session": {"sendPolicy": {"rules": [{"match": {"channel": "slack"}}]}},
                    "messages": {"queue": {"byChannel": {"slack": "steer"}}},
                    "channels": {},
                    "tools": {},
                }),
                &[
                    "Moved session.sendPolicy.rules[].match.provider → match.channel.",
                    "Moved messages.queue.byProvider → messages.queue.byChannel.",
                ],
            ),
            (
                json!({"auth": {"profiles": {"anthropic:claude-cli": {"mode": "token"}}}}),
                json!({
                    "auth": {"profiles": {"anthropic:claude-cli": {"mode": "oauth"}}},
                    "channels": {},
                    "tools": {},
                }),
                &["Updated auth.profiles[\"anthropic:claude-cli\"].mode → \"oauth\"."],
            ),
        ];
        for (before, after, told) in table {
            let mut config = before.clone();
            assert_eq!(migrate(&mut config), *told, "{before}");
            assert_eq!(config, *after, "{before}");
        }
    }

    #[test]
    fn without_an_older_key_nothing_is_touched() {
        for config in [json!({}), json!({"gateway": {"port": 1}}), json!([1]), json!({"agent": 5})] {
            let mut migrated = config.clone();
            assert!(migrate(&mut migrated).is_empty());
            assert_eq!(migrated, config);
        }
    }
}
