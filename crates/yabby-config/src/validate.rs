//! Whether a configuration may be used, and what is wrong with it (`config.md` §3).
//!
//! Checks come in stages, and a stage is reached only if those before it found nothing: legacy keys,
//! the schema with the rules of its types, folders that two agents share, avatars, and last plugins,
//! channels and heartbeat targets.

mod agents;
mod allowed;
mod plugins;
mod rules;
mod scalar;
mod walk;

use serde_json::Value;
use yabby_base::json;

use crate::issue::Issue;
use crate::legacy;

pub use plugins::{Origin, Plugin};

/// What the checks must know of the world around the configuration.
#[derive(Clone, Copy)]
pub struct World<'w> {
    pub home: &'w str,
    pub state: &'w str,
    /// What relative paths are relative to.
    pub working_folder: &'w str,
    pub env: &'w dyn Fn(&str) -> Option<String>,
    /// Whether there is such a file or folder.
    pub exists: &'w dyn Fn(&str) -> bool,
    /// The plugins found on disk, besides those that OpenClaw brings along.
    pub plugins: &'w [Plugin],
}

/// The outcome of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    /// The configuration in the order of the schema and with its defaults; as it was given if it has
    /// issues.
    pub config: Value,
    /// What makes it unusable; all of one stage.
    pub issues: Vec<Issue>,
    /// What does not.
    pub warnings: Vec<Issue>,
}

impl Validation {
    pub fn is_valid(&self) -> bool {
        self.issues.is_empty()
    }
}

/// Checks a configuration whose includes and variables are resolved.
pub fn validate(config: &Value, world: &World<'_>) -> Validation {
    let refused = |issues| Validation { config: config.clone(), issues, warnings: Vec::new() };
    let legacy = legacy::issues(config);
    if !legacy.is_empty() {
        return refused(legacy);
    }
    let walked = walk::config(config);
    if !walked.issues.is_empty() {
        let of_port = |issue: Issue| match issue.path == PORT {
            true => Issue { allowed: Some(PORTS.to_owned()), ..issue },
            false => issue,
        };
        return refused(walked.issues.into_iter().map(of_port).collect());
    }
    for stage in [ports, agents::shared_folders, agents::avatars] {
        let issues = stage(&walked.config, world);
        if !issues.is_empty() {
            return refused(issues);
        }
    }
    let (issues, warnings) = plugins::check(&walked.config, world);
    if !issues.is_empty() {
        return Validation { warnings, ..refused(issues) };
    }
    Validation { config: walked.config, issues, warnings }
}

const PORT: &str = "gateway.port";
const PORTS: &str = "a whole number from 1 to 65535";

/// Ports that no machine has. The reference takes them, and fails when it listens.
fn ports(config: &Value, _: &World<'_>) -> Vec<Issue> {
    let port = json::at(config, &["gateway", "port"]).and_then(Value::as_f64);
    let is_too_big = port.is_some_and(|port| port > f64::from(u16::MAX));
    let issue = Issue {
        allowed: Some(PORTS.to_owned()),
        ..Issue::new(PORT, "Too big: expected number to be <=65535")
    };
    if is_too_big { vec![issue] } else { Vec::new() }
}

/// What is wrong with a value, by a schema alone.
pub(crate) fn walk_extras(schema: &Value, value: &Value) -> Vec<Issue> {
    walk::by_schema(schema, value)
}

/// The keys that the schema does not know, as paths, wherever they stand.
pub fn unknown_keys(config: &Value) -> Vec<String> {
    walk::config(config).unknown_keys
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(config: &Value) -> Validation {
        let world = World {
            home: "/home/user",
            state: "/home/user/.openclaw",
            working_folder: "/work",
            env: &|_| None,
            exists: &|path| path == "/here",
            plugins: &[],
        };
        validate(config, &world)
    }

    fn issues(config: &Value) -> Vec<(String, String)> {
        check(config).issues.into_iter().map(|issue| (issue.path, issue.message)).collect()
    }

    /// Every row is one configuration with exactly one issue.
    #[track_caller]
    fn each_has_one_issue(table: &[(Value, &str, &str)]) {
        for (config, path, message) in table {
            assert_eq!(issues(config), [((*path).to_owned(), (*message).to_owned())], "{config}");
        }
    }

    #[test]
    fn says_which_form_a_value_should_have() {
        each_has_one_issue(&[
            (json!([]), "", "Invalid input: expected object, received array"),
            (json!({"foo": 1}), "", "Unrecognized key: \"foo\""),
            (json!({"foo": 1, "bar": 1}), "", "Unrecognized keys: \"foo\", \"bar\""),
            (json!({"gateway": {"zz": 1}}), "gateway", "Unrecognized key: \"zz\""),
            (
                json!({"gateway": {"port": "x"}}),
                "gateway.port",
                "Invalid input: expected number, received string",
            ),
            (
                json!({"gateway": {"port": null}}),
                "gateway.port",
                "Invalid input: expected number, received null",
            ),
            (
                json!({"gateway": {"port": 1.5}}),
                "gateway.port",
                "Invalid input: expected int, received number",
            ),
            (
                json!({"gateway": {"port": 1e20}}),
                "gateway.port",
                "Too big: expected int to be <=9007199254740991",
            ),
            (json!({"gateway": {"port": 0}}), "gateway.port", "Too small: expected number to be >0"),
            (json!({"gateway": {"port": 65_536}}), "gateway.port", "Too big: expected number to be <=65535"),
            (json!({"gateway": {"bind": "x"}}), "gateway.bind", "Invalid input"),
            (json!({"gateway": []}), "gateway", "Invalid input: expected object, received array"),
            (
                json!({"cron": {"enabled": 1}}),
                "cron.enabled",
                "Invalid input: expected boolean, received number",
            ),
            (json!({"env": {"A": 1}}), "env.A", "Invalid input: expected string, received number"),
            (json!({"auth": {"order": []}}), "auth.order", "Invalid input: expected record, received array"),
            (json!({"bindings": {}}), "bindings", "Invalid input: expected array, received object"),
            (
                json!({"agents": {"list": [{"name": "x"}]}}),
                "agents.list.0.id",
                "Invalid input: expected string, received undefined",
            ),
            (
                json!({"session": {"reset": {"atHour": 24}}}),
                "session.reset.atHour",
                "Too big: expected number to be <=23",
            ),
            (
                json!({"agents": {"defaults": {"compaction": {"maxHistoryShare": 0}}}}),
                "agents.defaults.compaction.maxHistoryShare",
                "Too small: expected number to be >=0.1",
            ),
            (
                json!({"channels": {"telegram": {"dmPolicy": "x"}}}),
                "channels.telegram.dmPolicy",
                "Invalid option: expected one of \"pairing\"|\"allowlist\"|\"open\"|\"disabled\"",
            ),
            (
                json!({"tools": {"links": {"models": [{"type": "x", "command": "c"}]}}}),
                "tools.links.models.0.type",
                "Invalid input: expected \"cli\"",
            ),
            (
                json!({"tools": {"links": {"models": [{"command": ""}]}}}),
                "tools.links.models.0.command",
                "Too small: expected string to have >=1 characters",
            ),
            (
                json!({"ui": {"assistant": {"name": "x".repeat(51)}}}),
                "ui.assistant.name",
                "Too big: expected string to have <=50 characters",
            ),
            (json!({"ui": {"seamColor": "red"}}), "ui.seamColor", "expected hex color (RRGGBB)"),
            (
                json!({"browser": {"profiles": {"My Profile": {"color": "aabbcc", "cdpPort": 1}}}}),
                "browser.profiles.My Profile",
                "Invalid key in record",
            ),
            // Only the object was meant, so its own complaint counts.
            (
                json!({"agents": {"list": [{"id": "a", "model": {"prime": "x"}}]}}),
                "agents.list.0.model",
                "Unrecognized key: \"prime\"",
            ),
            (json!({"agents": {"list": [{"id": "a", "model": 5}]}}), "agents.list.0.model", "Invalid input"),
        ]);
    }

    #[test]
    fn says_which_rule_is_broken() {
        let both = "cannot set both allow and alsoAllow in the same scope (merge alsoAllow into allow, or remove \
                    allow and use profile + alsoAllow)";
        let lists = json!({"allow": ["a"], "alsoAllow": ["b"]});
        let heartbeat = |heartbeat: Value| json!({"agents": {"defaults": {"heartbeat": heartbeat}}});
        let start = |time: &str| heartbeat(json!({"every": "5m", "activeHours": {"start": time}}));
        let telegram = |section: Value| json!({"channels": {"telegram": section}});
        each_has_one_issue(&[
            (json!({"tools": lists}), "tools", &format!("tools {both}")),
            (
                json!({"agents": {"list": [{"id": "a", "tools": lists}]}}),
                "agents.list.0.tools",
                &format!("agent tools {both}"),
            ),
            (
                json!({"tools": {"sandbox": {"tools": lists}}}),
                "tools.sandbox.tools",
                &format!("tools policy {both}"),
            ),
            (
                json!({"tools": {"byProvider": {"openai": lists}}}),
                "tools.byProvider.openai",
                &format!("tools.byProvider policy {both}"),
            ),
            (
                heartbeat(json!({"every": "soon"})),
                "agents.defaults.heartbeat.every",
                "invalid duration (use ms, s, m, h)",
            ),
            (
                start("8:00"),
                "agents.defaults.heartbeat.activeHours.start",
                "invalid time (use \"HH:MM\" 24h format)",
            ),
            (
                start("24:00"),
                "agents.defaults.heartbeat.activeHours.start",
                "invalid time (start cannot be 24:00)",
            ),
            (
                start("24:30"),
                "agents.defaults.heartbeat.activeHours.start",
                "invalid time (24:00 is the only allowed 24:xx value)",
            ),
            (
                heartbeat(json!({"target": "pigeon"})),
                "agents.defaults.heartbeat.target",
                "unknown heartbeat target: pigeon",
            ),
            (
                heartbeat(json!({"target": " "})),
                "agents.defaults.heartbeat.target",
                "heartbeat target must not be empty",
            ),
            (
                telegram(json!({"dmPolicy": "open", "allowFrom": [1]})),
                "channels.telegram.allowFrom",
                "channels.telegram.dmPolicy=\"open\" requires channels.telegram.allowFrom to include \"*\"",
            ),
            (
                json!({"channels": {"whatsapp": {"accounts": {"a": {"dmPolicy": "open"}}}}}),
                "channels.whatsapp.accounts.a.allowFrom",
                "channels.whatsapp.accounts.*.dmPolicy=\"open\" requires allowFrom to include \"*\"",
            ),
            (
                json!({"channels": {"discord": {"dm": {"policy": "open"}}}}),
                "channels.discord.dm.allowFrom",
                "channels.discord.dm.policy=\"open\" requires channels.discord.dm.allowFrom to include \"*\"",
            ),
            (
                json!({"channels": {"slack": {"mode": "http"}}}),
                "channels.slack.signingSecret",
                "channels.slack.mode=\"http\" requires channels.slack.signingSecret",
            ),
            (
                json!({"channels": {"slack": {"accounts": {"a": {"mode": "http"}}}}}),
                "channels.slack.accounts.a.signingSecret",
                "channels.slack.accounts.*.mode=\"http\" requires channels.slack.signingSecret or \
                 channels.slack.accounts.*.signingSecret",
            ),
            (
                telegram(json!({"webhookUrl": "https://example.org"})),
                "channels.telegram.webhookSecret",
                "channels.telegram.webhookUrl requires channels.telegram.webhookSecret",
            ),
            (
                telegram(json!({"customCommands": [{"command": "/No Way", "description": "d"}]})),
                "channels.telegram.customCommands.0.command",
                "Telegram custom command \"/no way\" is invalid (use a-z, 0-9, underscore; max 32 chars).",
            ),
            (
                telegram(json!({"customCommands": [{"command": "ok", "description": " "}]})),
                "channels.telegram.customCommands.0.description",
                "Telegram custom command \"/ok\" is missing a description.",
            ),
            (
                json!({"channels": {"signal": {"cliPath": "signal-cli; reboot"}}}),
                "channels.signal.cliPath",
                "expected safe executable name or path",
            ),
            (
                json!({"audio": {"transcription": {"command": []}}}),
                "audio.transcription.command.0",
                "expected safe executable name or path",
            ),
            (
                json!({"browser": {"profiles": {"work": {"color": "aabbcc"}}}}),
                "browser.profiles.work",
                "Profile must set cdpPort or cdpUrl",
            ),
            (
                json!({"agents": {"list": [{"id": "a"}]}, "broadcast": {"g": ["a", "zz"]}}),
                "broadcast.g.1",
                "Unknown agent id \"zz\" (not in agents.list).",
            ),
        ]);
    }

    #[test]
    fn says_what_is_amiss_around_the_configuration() {
        let avatar =
            |avatar: &str| json!({"agents": {"list": [{"id": "a", "identity": {"avatar": avatar}}]}});
        let avatar_path = "agents.list.0.identity.avatar";
        let form = "identity.avatar must be a workspace-relative path, http(s) URL, or data URI.";
        let outside = "identity.avatar must stay within the agent workspace.";
        each_has_one_issue(&[
            (avatar("~/me.png"), avatar_path, form),
            (avatar("ftp://example.org/me.png"), avatar_path, form),
            (avatar("../me.png"), avatar_path, outside),
            (avatar("/etc/me.png"), avatar_path, outside),
            (json!({"channels": {"pigeon": {}}}), "channels.pigeon", "unknown channel id: pigeon"),
            (json!({"plugins": {"entries": {"nope": {}}}}), "plugins.entries.nope", "plugin not found: nope"),
            (json!({"plugins": {"allow": ["nope"]}}), "plugins.allow", "plugin not found: nope"),
            (json!({"plugins": {"deny": ["nope"]}}), "plugins.deny", "plugin not found: nope"),
            (json!({"plugins": {"slots": {"memory": "x"}}}), "plugins.slots.memory", "plugin not found: x"),
            (
                json!({"plugins": {"load": {"paths": ["/here", "~/p"]}}}),
                "plugins.load.paths",
                "plugin: plugin path not found: /home/user/p",
            ),
            (
                json!({"plugins": {"entries": {"telegram": {"enabled": true, "config": {"a": 1}}}}}),
                "plugins.entries.telegram.config",
                "invalid config: <root>: must NOT have additional properties",
            ),
            (
                json!({"agents": {"list": [{"id": "a", "agentDir": "/x/y"}, {"id": "b", "agentDir": "/x/./y/"}]}}),
                "agents.list",
                "Duplicate agentDir detected (multi-agent config).\n\
                 Each agent must have a unique agentDir; sharing it causes auth/session state collisions and \
                 token invalidation.\n\n\
                 Conflicts:\n- /x/y: \"a\", \"b\"\n\n\
                 Fix: remove the shared agents.list[].agentDir override (or give each agent its own \
                 directory).\n\
                 If you want to share credentials, copy auth-profiles.json instead of sharing the entire \
                 agentDir.",
            ),
        ]);
    }

    #[test]
    fn known_channels_and_avatars_in_place_are_fine() {
        let valid = [
            json!({}),
            json!({"channels": {"matrix": {"anything": 1}, "zalouser": {}}}),
            json!({"agents": {"list": [{"id": "a", "identity": {"avatar": "pictures/me.png"}}]}}),
            json!({"agents": {"list": [{"id": "a", "identity": {"avatar": "data:image/png;base64,AA"}}]}}),
            json!({"agents": {"defaults": {"heartbeat": {"target": "gchat"}}}}),
            json!({"gateway": {"tls": {"more": true}}, "env": {"KEY": "value"}}),
            json!({"channels": {"telegram": {"dmPolicy": "open", "allowFrom": [" * "]}}}),
        ];
        for config in valid {
            assert_eq!(issues(&config), [], "{config}");
        }
    }

    #[test]
    fn a_stage_is_reached_only_if_those_before_it_found_nothing() {
        let config = json!({
            "agents": {"list": [
                {"id": "a", "agentDir": "/x", "identity": {"avatar": "../x"}},
                {"id": "b", "agentDir": "/x"},
            ]},
            "channels": {"pigeon": {}},
            "gateway": {"port": "x"},
            "identity": {},
        });
        let mut config = config;
        let first_path = |config: &Value| issues(config).first().map(|(path, _)| path.clone());
        assert_eq!(first_path(&config).as_deref(), Some("identity"));
        config.as_object_mut().unwrap().shift_remove("identity");
        assert_eq!(first_path(&config).as_deref(), Some("gateway.port"));
        config["gateway"]["port"] = json!(1);
        assert_eq!(first_path(&config).as_deref(), Some("agents.list"));
        config["agents"]["list"][1]["agentDir"] = json!("/y");
        assert_eq!(first_path(&config).as_deref(), Some("agents.list.0.identity.avatar"));
        config["agents"]["list"][0]["identity"]["avatar"] = json!("x");
        assert_eq!(first_path(&config).as_deref(), Some("channels.pigeon"));
    }

    #[test]
    fn issues_come_in_the_order_of_the_schema_and_unknown_keys_of_the_root_last() {
        let config = json!({
            "zz": 1,
            "gateway": {"bind": 1, "foo": 1, "port": "x"},
            "meta": {"lastTouchedAt": 5},
            "7": 1,
        });
        let paths: Vec<_> = issues(&config).into_iter().map(|(path, _)| path).collect();
        assert_eq!(paths, ["meta.lastTouchedAt", "gateway.port", "gateway.bind", "gateway", ""]);
        assert_eq!(issues(&config).last().unwrap().1, "Unrecognized keys: \"7\", \"zz\"");
    }

    #[test]
    fn says_what_would_be_right() {
        let allowed = |config: Value| check(&config).issues[0].allowed.clone();
        assert_eq!(
            allowed(json!({"gateway": {"port": "x"}})).as_deref(),
            Some("a whole number from 1 to 65535")
        );
        assert_eq!(
            allowed(json!({"gateway": {"bind": "x"}})).as_deref(),
            Some("one of: auto, lan, loopback, custom, tailnet")
        );
        assert_eq!(allowed(json!({"gateway": {"prot": 1}})).as_deref(), Some("port, among others"));
    }

    #[test]
    fn a_valid_configuration_comes_back_in_order_and_with_the_schemas_defaults() {
        let config = json!({
            "channels": {
                "slack": {"dm": {}},
                "whatsapp": {"accounts": {"a": {"ackReaction": {}}}},
                "telegram": {"customCommands": [{"description": " d ", "command": " /Go "}]},
            },
            "gateway": {"tls": {"more": 1}, "port": 1},
        });
        let expected = json!({
            "commands": {"native": "auto", "nativeSkills": "auto"},
            "channels": {
                "whatsapp": {
                    "accounts": {"a": {
                        "dmPolicy": "pairing", "groupPolicy": "allowlist",
                        "ackReaction": {"direct": true, "group": "mentions"}, "debounceMs": 0,
                    }},
                    "dmPolicy": "pairing", "groupPolicy": "allowlist", "mediaMaxMb": 50, "debounceMs": 0,
                },
                "telegram": {
                    "customCommands": [{"command": "go", "description": "d"}],
                    "dmPolicy": "pairing", "groupPolicy": "allowlist", "streamMode": "partial",
                },
                "slack": {
                    "mode": "socket", "webhookPath": "/slack/events", "userTokenReadOnly": true,
                    "groupPolicy": "allowlist", "dm": {"policy": "pairing"},
                },
            },
            "gateway": {"port": 1, "tls": {"more": 1}},
        });
        let checked = check(&config);
        assert_eq!(checked.issues, []);
        assert_eq!(checked.config.to_string(), expected.to_string());
    }

    #[test]
    fn options_of_a_plugin_that_is_off_are_worth_a_warning() {
        let warning = |plugins: Value| check(&json!({"plugins": plugins})).warnings;
        let entry = |id: &str| json!({id: {"config": {"embedding": {"apiKey": "k"}}}});
        let table = [
            (json!({"entries": {"telegram": {"config": {}}}}), "bundled (disabled by default)"),
            (json!({"entries": {"telegram": {"enabled": false, "config": {}}}}), "disabled in config"),
            (json!({"deny": ["telegram"], "entries": {"telegram": {"config": {}}}}), "blocked by denylist"),
            (json!({"allow": ["slack"], "entries": {"telegram": {"config": {}}}}), "not in allowlist"),
            (json!({"enabled": false, "entries": {"telegram": {"config": {}}}}), "plugins disabled"),
            (
                json!({"allow": ["memory-lancedb"], "entries": entry("memory-lancedb")}),
                "bundled (disabled by default)",
            ),
        ];
        for (plugins, why) in table {
            let warnings: Vec<_> = warning(plugins).into_iter().map(|warning| warning.message).collect();
            assert_eq!(warnings, [format!("plugin disabled ({why}) but config is present")]);
        }
    }

    #[test]
    fn unknown_keys_are_listed_wherever_they_stand() {
        let config = json!({
            "zz": 1,
            "gateway": {"foo": 1, "tls": {"more": 1}, "auth": {"toke": "x"}},
            "agents": {"list": [{"id": "a", "model": {"prime": 1}}]},
            "channels": {"pigeon": {"x": 1}, "telegram": {"groups": {"*": {"y": 1}}}},
            "env": {"ANY": "x"},
        });
        assert_eq!(
            unknown_keys(&config),
            [
                "agents.list.0.model.prime",
                "channels.telegram.groups.*.y",
                "gateway.auth.toke",
                "gateway.tls.more",
                "gateway.foo",
                "zz",
            ]
        );
    }
}
