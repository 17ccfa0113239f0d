//! What the configuration says about a server: `tools.mcp.servers.{name}`.

use std::collections::BTreeMap;
use std::time::Duration;

use yabby_domain::config::Config;
use yabby_domain::config::extras::McpServer;
use yabby_domain::config::map::Map;
use yabby_domain::config::text::NonEmptyText;
use yabby_domain::text;

/// How long it may take until a server is there.
pub(crate) const CONNECT_TIME: Duration = Duration::from_secs(10);

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
        let named = config.extras.tools.mcp.servers.iter().flatten();
        let mut servers: Vec<Self> =
            named.filter_map(|(name, server)| Self::of(name, server, variable)).collect();
        servers.sort_by(|a, b| a.name.cmp(&b.name));
        servers
    }

    fn of(name: &str, server: &McpServer, variable: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        if !server.enabled() {
            return None;
        }
        let word = |written: &Option<NonEmptyText>| {
            written.as_deref().and_then(|written| text::non_blank(written)).map(str::to_owned)
        };
        let by_name = |written: &Option<Map<String>>| {
            let members = written.iter().flatten();
            members.map(|(name, value)| (name.clone(), value.clone())).collect::<BTreeMap<_, _>>()
        };
        let way = match (word(&server.command), word(&server.url)) {
            (Some(command), _) => {
                let usual = HARMLESS.iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?)));
                let mut environment: BTreeMap<String, String> = usual.collect();
                environment.extend(by_name(&server.env));
                let arguments = server.args.clone().unwrap_or_default();
                Way::Program { command, arguments, environment, folder: word(&server.cwd) }
            }
            (None, Some(url)) => Way::Address { url, headers: by_name(&server.headers) },
            (None, None) => return None,
        };
        Some(Self {
            name: name.to_owned(),
            way,
            call_time: Duration::from_secs_f64(server.timeout_seconds().clamp(1.0, 86_400.0)),
            tools: server.tools.clone(),
        })
    }

    pub(crate) fn uses(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.iter().any(|known| known == tool))
    }
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
