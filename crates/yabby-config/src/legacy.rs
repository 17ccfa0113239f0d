//! Keys of older versions: what is said of them, and where their values go now (`config.md` §4).

mod agent;
mod channels;
mod renamed;
mod routing;
mod tree;

use serde_json::Value;
use yabby_domain::json::Object;

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
