//! What the configuration says about a server: `tools.mcp.servers.{name}`.

use std::collections::BTreeMap;
use std::time::Duration;

use yabby_domain::config::Config;
use yabby_domain::json::{Object, Value};
use yabby_domain::text;

/// How long it may take until a server is there.
pub(crate) const CONNECT_TIME: Duration = Duration::from_secs(10);

/// How long a call may take, unless the configuration says otherwise.
const CALL_TIME: f64 = 60.0;

/// What a program needs to find itself in a system, and none of it a secret.
const HARMLESS: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "TERM",
    "SYSTEMROOT",
];

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerSettings {
    pub(crate) name: String,
    pub(crate) way: Way,
    pub(crate) call_time: Duration,
    /// The only tools that are used.
    pub(crate) tools: Option<Vec<String>>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Way {
    Program {
        command: String,
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
        folder: Option<String>,
    },
    Address {
        url: String,
        headers: BTreeMap<String, String>,
    },
}

impl ServerSettings {
    /// The servers that are on, by name.
    pub(crate) fn all(config: &Config, variable: &dyn Fn(&str) -> Option<String>) -> Vec<Self> {
        let named = config.object(&["tools", "mcp", "servers"]).into_iter().flatten();
        let mut servers: Vec<Self> =
            named.filter_map(|(name, server)| Self::of(name, server.as_object()?, variable)).collect();
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        servers
    }

    fn of(name: &str, server: &Object, variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        if server.get("enabled").and_then(Value::as_bool) == Some(false) {
            return None;
        }
        let word =
            |key: &str| server.get(key).and_then(Value::as_str).and_then(text::non_blank).map(str::to_owned);
        let way = match (word("command"), word("url")) {
            (Some(command), _) => {
                let usual = HARMLESS.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
                let mut environment: BTreeMap<String, String> = usual.collect();
                environment.extend(words_by_name(server.get("env")));
                let arguments = words(server.get("args")).unwrap_or_default();
                Way::Program { command, arguments, environment, folder: word("cwd") }
            }
            (None, Some(url)) => Way::Address { url, headers: words_by_name(server.get("headers")) },
            (None, None) => return None,
        };
        let seconds = server.get("timeoutSeconds").and_then(Value::as_f64).unwrap_or(CALL_TIME);
        Some(Self {
            name: name.to_owned(),
            way,
            call_time: Duration::from_secs_f64(seconds.clamp(1.0, 86_400.0)),
            tools: words(server.get("tools")),
        })
    }

    pub(crate) fn uses(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|known| known == tool))
    }
}

fn words(value: Option<&Value>) -> Option<Vec<String>> {
    Some(value?.as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect())
}

fn words_by_name(value: Option<&Value>) -> BTreeMap<String, String> {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    members.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_server_sees_only_what_it_is_given() {
        let config = Config::new(json!({"tools": {"mcp": {"servers": {
            "zoo": {"url": "http://x", "headers": {"A": "b"}, "timeoutSeconds": 5},
            "ape": {"command": "x", "args": ["y"], "env": {"OWN_KEY": "k", "HOME": "/else"}, "tools": ["t"]},
            "off": {"command": "x", "enabled": false},
            "odd": {"args": []},
        }}}}));
        let ours = |name: &str| match name {
            "PATH" => Some("/bin".to_owned()),
            "HOME" => Some("/home/me".to_owned()),
            "ANTHROPIC_API_KEY" => Some("secret".to_owned()),
            _ => None,
        };
        let servers = ServerSettings::all(&config, &ours);
        assert_eq!(servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>(), ["ape", "zoo"]);
        let Way::Program { environment, .. } = &servers[0].way else { panic!() };
        let seen: Vec<(&str, &str)> =
            environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(seen, [("HOME", "/else"), ("OWN_KEY", "k"), ("PATH", "/bin")]);
        assert!(servers[0].uses("t") && !servers[0].uses("u") && servers[1].uses("u"));
        assert_eq!([servers[0].call_time, servers[1].call_time], [60, 5].map(Duration::from_secs));
    }
}
