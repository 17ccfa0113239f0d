//! `yabby-extras.json`: settings that only yabby knows (`docs/adr/0010`).
//!
//! OpenClaw refuses a configuration with keys that it does not know, and both programs may use the same
//! folder. So our own keys have a file of their own beside the configuration; whoever runs sees both as
//! one.

use yabby_base::json::{self, Object, Value};

use crate::issue::Issue;
use crate::read::{Read as _, Shape};
use crate::schema;
use crate::sections::Sections;
use crate::sections::extras::Extras;
use crate::validate::walk_extras;

/// The name of the file, in the folder of the configuration.
pub const FILE: &str = "yabby-extras.json";

/// Keys that both know, and the values that only we know.
const OWN_VALUES: [(&[&str], &[&str]); 3] = [
    (&["tools", "web", "search", "provider"], &["searxng"]),
    (
        &["agents", "defaults", "memorySearch", "provider"],
        &["auto", "none", "voyage", "ollama", "openai-compatible"],
    ),
    (&["agents", "defaults", "memorySearch", "fallback"], &["voyage", "ollama", "openai-compatible"]),
];

/// The JSON Schema of the file.
pub fn schema() -> Value {
    schema::of::<Extras>()
}

/// What is wrong with a file whose variables are filled in.
pub fn issues(extras: &Value) -> Vec<Issue> {
    let mut issues = walk_extras(&schema(), extras);
    if issues.is_empty() {
        let servers = json::at(extras, &["tools", "mcp", "servers"]).and_then(Value::as_object);
        issues.extend(servers.into_iter().flatten().filter_map(|(name, server)| server_issue(name, server)));
    }
    issues
}

fn server_issue(name: &str, server: &Value) -> Option<Issue> {
    let has = |key: &str| server.get(key).is_some();
    let message = match (has("command"), has("url")) {
        (true, true) => "a server has a command or a url, not both",
        (false, false) => "a server needs a command that starts it, or a url where it is",
        (true, false) if has("headers") => "headers are for a server with a url",
        (false, true) if has("args") || has("env") || has("cwd") => {
            "args, env and cwd are for a server with a command"
        }
        _ => return None,
    };
    Some(Issue::new(format!("tools.mcp.servers.{name}"), message))
}

/// Whether a path leads to a key of ours.
pub fn is_own(path: &[String]) -> bool {
    let is_ours = |path: &[String]| Extras::shape().knows(path) && !theirs().knows(path);
    (1..=path.len()).any(|length| is_ours(&path[..length]))
}

/// What both know: the sections without ours.
fn theirs() -> Shape {
    match Sections::shape() {
        Shape::Fields { own, .. } => Shape::Fields { own, shared: &[] },
        other => other,
    }
}

/// Whether a path leads to a key that is ours by its value.
pub fn is_shared(path: &[String]) -> bool {
    own_values(path).is_some()
}

/// Whether a value of such a key is ours.
pub fn is_own_value(path: &[String], value: &Value) -> bool {
    let is =
        |name: &str| own_values(path).is_some_and(|own| own.iter().any(|own| name.eq_ignore_ascii_case(own)));
    value.as_str().is_some_and(|name| is(name.trim()))
}

fn own_values(path: &[String]) -> Option<&'static [&'static str]> {
    OWN_VALUES.iter().find(|(shared, _)| path == *shared).map(|(_, values)| *values)
}

/// Puts our own settings into a configuration.
pub fn merge(config: &mut Value, extras: &Value) {
    match (config, extras) {
        (Value::Object(config), Value::Object(extras)) => {
            for (key, value) in extras {
                match config.get_mut(key) {
                    Some(known) => merge(known, value),
                    None => _ = config.insert(key.clone(), value.clone()),
                }
            }
        }
        (config, extras) => *config = extras.clone(),
    }
}

/// Says where a key belongs that was refused in the configuration because it is ours.
pub fn point_out(issue: &mut Issue, config: &Value) {
    let path: Vec<String> =
        issue.path.split('.').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    let refused = issue.message.strip_prefix("Unrecognized key").unwrap_or_default();
    let told = refused.split('"').skip(1).step_by(2);
    let holds_ours =
        told.into_iter().any(|key| Extras::shape().knows(&[path.as_slice(), &[key.to_owned()]].concat()));
    if holds_ours {
        issue.allowed = Some(format!("in {FILE}, beside this file"));
    } else if let Some(values) = own_values(&path) {
        let keys: Vec<&str> = path.iter().map(String::as_str).collect();
        if json::at(config, &keys).is_some_and(|value| is_own_value(&path, value)) {
            let allowed = issue.allowed.take().unwrap_or_default();
            issue.allowed = Some(format!("{allowed}; {} in {FILE}, beside this file", values.join(", ")));
        }
    }
}

/// Fills in the home folder where a setting of ours is a path.
pub fn expand(extras: &mut Value, expanded: &dyn Fn(&str) -> String) {
    fn at<'v>(value: &'v mut Value, path: &[&str]) -> Option<&'v mut Value> {
        path.iter().try_fold(value, |value, key| value.get_mut(*key))
    }
    let fill = |value: &mut Value| {
        if let Value::String(text) = value
            && (text == "~" || text.starts_with("~/"))
        {
            *text = expanded(text);
        }
    };
    if let Some(Value::Array(folders)) = at(extras, &["tools", "fs", "allow"]) {
        folders.iter_mut().for_each(fill);
    }
    if let Some(Value::Object(servers)) = at(extras, &["tools", "mcp", "servers"]) {
        for server in servers.values_mut().filter_map(Value::as_object_mut) {
            let paths = |server: &mut Object, key: &str| server.get_mut(key).into_iter().for_each(fill);
            paths(server, "command");
            paths(server, "cwd");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(extras: &Value) -> Vec<(String, String)> {
        issues(extras).into_iter().map(|issue| (issue.path, issue.message)).collect()
    }

    #[test]
    fn our_own_settings_are_as_strict_as_theirs() {
        let good = json!({"tools": {
            "exec": {"confine": "landlock"},
            "fs": {"allow": ["~/notes"]},
            "web": {"allowPrivate": ["nas.lan"], "search": {"provider": "searxng", "searxng": {"baseUrl": "http://x"}}},
            "mcp": {"servers": {"a": {"command": "x", "args": ["y"], "env": {"K": "v"}, "timeoutSeconds": 5, "tools": ["t"]},
                                "b": {"url": "http://x", "headers": {"A": "b"}, "enabled": false}}},
            "byTrust": {"owner": {"allow": ["*"]}, "stranger": {"deny": ["exec"]}},
        }});
        assert_eq!(told(&good), []);
        assert_eq!(told(&json!({})), []);
        let server = |server: Value| json!({"tools": {"mcp": {"servers": {"a": server}}}});
        let at = "tools.mcp.servers.a";
        let table = [
            (json!([]), "", "Invalid input: expected object, received array"),
            (json!({"channels": {}}), "", "Unrecognized key: \"channels\""),
            (json!({"gateway": {"port": 1}}), "gateway", "Unrecognized key: \"port\""),
            (json!({"tools": {"allow": []}}), "tools", "Unrecognized key: \"allow\""),
            (json!({"tools": {"exec": {"host": "x"}}}), "tools.exec", "Unrecognized key: \"host\""),
            (
                json!({"tools": {"fs": {"allow": [5]}}}),
                "tools.fs.allow.0",
                "Invalid input: expected string, received number",
            ),
            (server(json!({})), at, "a server needs a command that starts it, or a url where it is"),
            (server(json!({"command": "x", "url": "y"})), at, "a server has a command or a url, not both"),
            (server(json!({"command": "x", "headers": {}})), at, "headers are for a server with a url"),
            (
                server(json!({"url": "x", "args": []})),
                at,
                "args, env and cwd are for a server with a command",
            ),
            (
                server(json!({"command": "x", "timeoutSeconds": 0})),
                "tools.mcp.servers.a.timeoutSeconds",
                "Too small: expected number to be >0",
            ),
        ];
        for (extras, path, message) in table {
            assert_eq!(told(&extras), [(path.to_owned(), message.to_owned())], "{extras}");
        }
        assert_eq!(told(&json!({"tools": {"exec": {"confine": "jail"}}})).len(), 1);
    }

    #[test]
    fn own_keys_are_known_by_their_path() {
        let path = |path: &str| path.split('.').map(str::to_owned).collect::<Vec<_>>();
        for (raw, own) in [
            ("tools.mcp.servers.a.command", true),
            ("tools.fs", true),
            ("tools.web.allowPrivate", true),
            ("tools.web.search.searxng.baseUrl", true),
            ("tools.web.search.provider", false),
            ("tools.web", false),
            ("tools.exec", false),
            ("tools.exec.confine", true),
            ("gateway.port", false),
        ] {
            assert_eq!(is_own(&path(raw)), own, "{raw}");
        }
    }

    #[test]
    fn a_refused_key_of_ours_is_pointed_out() {
        //  path, message, is ours
        let table = [
            ("tools", "Unrecognized key: \"mcp\"", true),
            ("tools", "Unrecognized keys: \"xyz\", \"fs\"", true),
            ("tools.web", "Unrecognized key: \"allowPrivate\"", true),
            ("tools.exec", "Unrecognized key: \"confine\"", true),
            ("tools", "Unrecognized key: \"confine\"", false),
            ("gateway", "Unrecognized key: \"mcp\"", false),
            ("tools.web.search.provider", "Invalid input", true),
        ];
        let config = json!({"tools": {"web": {"search": {"provider": "searxng"}}}});
        for (path, message, ours) in table {
            let mut issue = Issue::new(path, message);
            point_out(&mut issue, &config);
            assert_eq!(issue.allowed.is_some_and(|allowed| allowed.contains(FILE)), ours, "{path} {message}");
        }
    }

    #[test]
    fn both_files_are_one() {
        let mut config =
            json!({"tools": {"exec": {"host": "gateway"}, "web": {"search": {"provider": "brave"}}}});
        let mut extras = json!({"tools": {"exec": {"confine": "off"}, "web": {"search": {"provider": "searxng"}}, "fs": {"allow": ["~/x", "/y"]}}});
        expand(&mut extras, &|path| path.replace('~', "/home/me"));
        merge(&mut config, &extras);
        let merged = json!({"tools": {"exec": {"host": "gateway", "confine": "off"}, "web": {"search": {"provider": "searxng"}}, "fs": {"allow": ["/home/me/x", "/y"]}}});
        assert_eq!(config, merged);
    }
}
