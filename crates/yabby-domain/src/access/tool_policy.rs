//! Which tools a run has: by configuration, agent, provider, group, sender and trust (`config.md` §9).
//!
//! Every policy that applies must allow a tool, and in each of them a refusal counts more than a permission.

use crate::access::group_policy::{GroupSender, group_policy};
use crate::config::Config;
use crate::config::agents::entry::AgentTools;
use crate::config::extras::{ByTrust, TrustPolicy};
use crate::config::map::Map;
use crate::config::tools::Tools;
use crate::config::tools::policy::{ProviderToolPolicy, ToolPolicy as PlacePolicy, ToolProfile};
use crate::id::AgentId;
use crate::model::ModelRef;
use crate::session::key::SessionKey;
use crate::text;

/// Who uses tools, and where.
pub struct ToolUser<'a> {
    pub config: &'a Config,
    pub agent: &'a AgentId,
    pub model: &'a ModelRef,
    pub session: &'a SessionKey,
    /// The session that a subagent works for.
    pub spawned_by: Option<&'a SessionKey>,
    pub account: Option<&'a str>,
    pub sender: GroupSender<'a>,
    pub is_owner: bool,
    /// Commands run behind walls here.
    pub is_confined: bool,
    /// Others than the owner hear what is said, or may have said what is worked on.
    pub among_others: bool,
}

/// What may be used.
pub struct ToolPolicy(Vec<Lists>);

/// One policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Lists {
    /// Nothing else, if there is any.
    allow: Vec<String>,
    deny: Vec<String>,
}

/// What one place of the configuration says about tools.
#[derive(Clone, Copy, Default)]
struct Said<'c> {
    profile: Option<ToolProfile>,
    allow: Option<&'c [String]>,
    also_allow: Option<&'c [String]>,
    deny: Option<&'c [String]>,
}

impl<'c> Said<'c> {
    fn of_all(tools: &'c Tools) -> Self {
        Self::new(tools.profile, &tools.allow, &tools.also_allow, &tools.deny)
    }

    fn of_agent(tools: &'c AgentTools) -> Self {
        Self::new(tools.profile, &tools.allow, &tools.also_allow, &tools.deny)
    }

    fn of_provider(tools: &'c ProviderToolPolicy) -> Self {
        Self::new(tools.profile, &tools.allow, &tools.also_allow, &tools.deny)
    }

    fn of_place(tools: &'c PlacePolicy) -> Self {
        Self::new(None, &tools.allow, &tools.also_allow, &tools.deny)
    }

    fn of_trust(tools: &'c TrustPolicy) -> Self {
        Self::new(None, &tools.allow, &None, &tools.deny)
    }

    fn new(
        profile: Option<ToolProfile>,
        allow: &'c Option<Vec<String>>,
        also_allow: &'c Option<Vec<String>>,
        deny: &'c Option<Vec<String>>,
    ) -> Self {
        let list = |list: &'c Option<Vec<String>>| list.as_deref();
        Self { profile, allow: list(allow), also_allow: list(also_allow), deny: list(deny) }
    }
}

/// What others than the owner may not do unless the configuration says so: run commands, look into or speak
/// in other conversations, and reach other programs.
const NOT_FOR_STRANGERS: [&str; 9] = [
    "exec",
    "process",
    "message",
    "sessions_list",
    "sessions_history",
    "sessions_search",
    "sessions_send",
    "sessions_spawn",
    "mcp_*",
];

/// What a subagent does not have: it works on its task alone.
const NOT_FOR_SUBAGENTS: [&str; 12] = [
    "sessions_list",
    "sessions_history",
    "sessions_search",
    "sessions_send",
    "sessions_spawn",
    "gateway",
    "agents_list",
    "whatsapp_login",
    "session_status",
    "cron",
    "memory_search",
    "memory_get",
];

/// What is left behind walls, unless the configuration says otherwise.
const CONFINED: [&str; 10] = [
    "group:runtime",
    "group:fs",
    "image",
    "sessions_list",
    "sessions_history",
    "sessions_send",
    "sessions_spawn",
    "session_status",
    "memory_search",
    "memory_get",
];

const GROUPS: [(&str, &[&str]); 10] = [
    ("group:memory", &["memory_search", "memory_get"]),
    ("group:web", &["web_search", "web_fetch"]),
    ("group:fs", &["read", "list_files", "grep", "find", "write", "edit", "apply_patch"]),
    ("group:runtime", &["exec", "process"]),
    (
        "group:sessions",
        &[
            "sessions_list",
            "sessions_history",
            "sessions_search",
            "sessions_send",
            "sessions_spawn",
            "session_status",
        ],
    ),
    ("group:ui", &["browser", "canvas"]),
    ("group:automation", &["cron", "gateway"]),
    ("group:messaging", &["message"]),
    ("group:nodes", &["nodes"]),
    ("group:plugins", &["mcp_*"]),
];

/// Every built-in tool that is not about files or commands.
const BUILT_IN: [&str; 8] = [
    "group:ui",
    "group:nodes",
    "group:automation",
    "group:messaging",
    "group:sessions",
    "group:memory",
    "group:web",
    "agents_list",
];

impl ToolPolicy {
    pub fn of(user: &ToolUser<'_>) -> Self {
        let tools = &user.config.tools;
        let agent = user.config.agent(user.agent).map(|agent| &agent.tools);
        let everybody = Some(Said::of_all(tools));
        let own = agent.map(Said::of_agent);
        let provider = tools.by_provider.as_ref().and_then(|entries| provider_entry(entries, user.model));
        let own_provider = agent.and_then(|agent| provider_entry(agent.by_provider.as_ref()?, user.model));
        let layers = [Some(profile(own, everybody)), Some(profile(own_provider, provider))]
            .into_iter()
            .chain([everybody, provider, own, own_provider].map(|said| said.map(|said| Lists::read(&said))))
            .chain([group(user)])
            .chain([user.is_confined.then(|| confined(&tools.sandbox.tools, agent))])
            .chain([hides_commands(user).then(|| Lists::new([], ["group:runtime"]))])
            .chain([user.session.is_subagent().then(|| subagent(&tools.subagents.tools))])
            .chain([Some(trust(&user.config.extras.tools.by_trust, user.is_owner))]);
        Self(layers.flatten().filter(|lists| *lists != Lists::default()).collect())
    }

    /// The tools among `known` that may be used. An allow-list that names none of them is for other
    /// programs' tools, and leaves these alone.
    pub fn allowed<'t>(&self, known: &[&'t str]) -> Vec<&'t str> {
        let layers: Vec<Lists> = self.0.iter().map(|lists| lists.about(known)).collect();
        known.iter().copied().filter(|name| layers.iter().all(|lists| lists.allows(name))).collect()
    }
}

impl Lists {
    fn new(
        allow: impl IntoIterator<Item = &'static str>,
        deny: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        Self { allow: expanded(allow), deny: expanded(deny) }
    }

    /// `allow`, `alsoAllow` and `deny`, as they are written.
    fn read(said: &Said<'_>) -> Self {
        let (allow, also) = (words(said.allow), words(said.also_allow));
        let everything = (allow.is_empty() && !also.is_empty()).then_some("*");
        Self {
            allow: expanded(everything.into_iter().chain(allow).chain(also)),
            deny: expanded(words(said.deny)),
        }
    }

    fn about(&self, known: &[&str]) -> Self {
        let names_one = known.iter().any(|name| matches_any(&self.allow, name));
        // `nothing` is no tool, and whoever writes it means it.
        let is_for_others =
            !self.allow.is_empty() && !names_one && !self.allow.iter().any(|name| is_built_in(name));
        if is_for_others { Self { allow: Vec::new(), deny: self.deny.clone() } } else { self.clone() }
    }

    fn allows(&self, name: &str) -> bool {
        let denied = matches_any(&self.deny, name);
        let allowed = self.allow.is_empty() || matches_any(&self.allow, name);
        allowed && !denied
    }
}

fn is_built_in(name: &str) -> bool {
    let built_in = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).chain(["agents_list", "image"]);
    let mut built_in = built_in.filter(|known| !known.contains('*'));
    built_in.any(|known| known == name)
}

fn words(list: Option<&[String]>) -> Vec<&str> {
    list.unwrap_or_default().iter().map(String::as_str).collect()
}

/// Groups are written out; old names become the present ones.
fn expanded<'w>(words: impl IntoIterator<Item = &'w str>) -> Vec<String> {
    let mut names = Vec::new();
    for word in words {
        let name = match text::lower(text::trim(word)).as_str() {
            "bash" => "exec".to_owned(),
            "apply-patch" => "apply_patch".to_owned(),
            name => name.to_owned(),
        };
        match (name.as_str(), GROUPS.iter().find(|(group, _)| *group == name)) {
            ("", _) => {}
            ("group:openclaw", _) => names.extend(expanded(BUILT_IN.into_iter().chain(["image"]))),
            (_, Some((_, members))) => names.extend(members.iter().map(|&member| member.to_owned())),
            (_, None) => names.push(name),
        }
    }
    names
}

fn matches_any(patterns: &[String], name: &str) -> bool {
    patterns.iter().any(|pattern| text::matches_star(pattern, name))
}

/// A named set of tools, and what is allowed beside it.
fn profile(own: Option<Said<'_>>, everybody: Option<Said<'_>>) -> Lists {
    let both = [own, everybody];
    let allow: &[&str] = match both.into_iter().flatten().find_map(|said| said.profile) {
        Some(ToolProfile::Minimal) => &["session_status"],
        Some(ToolProfile::Coding) => {
            &["group:fs", "group:runtime", "group:sessions", "group:memory", "image"]
        }
        Some(ToolProfile::Messaging) => {
            &["group:messaging", "sessions_list", "sessions_history", "sessions_send", "session_status"]
        }
        Some(ToolProfile::Full) | None => return Lists::default(),
    };
    let also = words(both.into_iter().flatten().find_map(|said| said.also_allow));
    Lists { allow: expanded(allow.iter().copied().chain(also)), deny: Vec::new() }
}

/// What is said about a model, else about its provider.
fn provider_entry<'c>(entries: &'c Map<ProviderToolPolicy>, model: &ModelRef) -> Option<Said<'c>> {
    let provider = text::lower(text::trim(&model.provider));
    let name = text::lower(text::trim(&model.model));
    let full = if name.contains('/') { name } else { format!("{provider}/{name}") };
    let find = |wanted: &str| {
        // The last of several spellings counts.
        entries.iter().rfind(|(key, _)| text::lower(text::trim(key)) == wanted).map(|(_, entry)| entry)
    };
    find(&full).or_else(|| find(&provider)).map(Said::of_provider)
}

fn group(user: &ToolUser<'_>) -> Option<Lists> {
    let of = |key: &SessionKey| key.thread_parent().unwrap_or_else(|| key.clone()).group();
    let group = of(user.session).or_else(|| user.spawned_by.and_then(of))?;
    let policy = group_policy(user.config, &group.channel, user.account, Some(&group.id));
    policy.tools(&user.sender).map(|tools| Lists::read(&Said::of_place(tools)))
}

fn confined(everybody: &PlacePolicy, agent: Option<&AgentTools>) -> Lists {
    let own = agent.map(|agent| &agent.sandbox.tools);
    let said = |pick: fn(&PlacePolicy) -> Option<&[String]>| {
        own.and_then(pick).or_else(|| pick(everybody)).map(|list| expanded(words(Some(list))))
    };
    let usual = Lists::new(CONFINED, ["browser", "canvas", "nodes", "cron", "gateway"]);
    Lists {
        allow: said(|tools| tools.allow.as_deref()).unwrap_or(usual.allow),
        deny: said(|tools| tools.deny.as_deref()).unwrap_or(usual.deny),
    }
}

/// Whether there are no commands: one that is not confined reads whatever the owner can.
fn hides_commands(user: &ToolUser<'_>) -> bool {
    user.among_others && !user.is_confined && !user.config.runs_among_others(user.agent)
}

fn subagent(everybody: &PlacePolicy) -> Lists {
    let Lists { allow, deny } = Lists::read(&Said::of_place(everybody));
    Lists { allow, deny: deny.into_iter().chain(NOT_FOR_SUBAGENTS.map(str::to_owned)).collect() }
}

fn trust(by_trust: &ByTrust, is_owner: bool) -> Lists {
    let said = if is_owner { &by_trust.owner } else { &by_trust.stranger };
    match said {
        Some(said) => Lists::read(&Said::of_trust(said)),
        None if is_owner => Lists::default(),
        None => Lists::new([], NOT_FOR_STRANGERS),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use serde_json::Value;

    const KNOWN: [&str; 10] = [
        "read",
        "grep",
        "write",
        "exec",
        "process",
        "web_fetch",
        "memory_search",
        "sessions_list",
        "session_status",
        "mcp_notes_add",
    ];

    struct Case<'a> {
        config: Value,
        session: &'a str,
        model: &'a str,
        is_owner: bool,
        is_confined: bool,
        among_others: bool,
    }

    fn owner(config: Value) -> Case<'static> {
        Case {
            config,
            session: "agent:main:main",
            model: "a/b",
            is_owner: true,
            is_confined: false,
            among_others: false,
        }
    }

    fn allowed(case: &Case<'_>) -> String {
        let config = Config::new(case.config.clone());
        let user = ToolUser {
            config: &config,
            agent: &AgentId::default(),
            model: &ModelRef::parse(case.model, "a").unwrap(),
            session: &SessionKey::new(case.session),
            spawned_by: None,
            account: None,
            sender: GroupSender { id: Some("7"), ..GroupSender::default() },
            is_owner: case.is_owner,
            is_confined: case.is_confined,
            among_others: case.among_others,
        };
        ToolPolicy::of(&user).allowed(&KNOWN).join(" ")
    }

    #[test]
    fn every_policy_must_allow_a_tool_and_refusals_count_more() {
        let all = KNOWN.join(" ");
        //  configuration  tools
        let table = [
            (json!({}), all.as_str()),
            (json!({"tools": {"profile": "minimal"}}), "session_status"),
            (json!({"tools": {"profile": "minimal", "alsoAllow": ["web_*"]}}), "web_fetch session_status"),
            (
                json!({"tools": {"profile": "coding", "deny": ["group:runtime"]}}),
                "read grep write memory_search sessions_list session_status",
            ),
            (json!({"tools": {"allow": ["Bash", " READ "], "deny": ["read"]}}), "exec"),
            (json!({"tools": {"allow": ["lobster"]}}), all.as_str()),
            (json!({"tools": {"allow": ["browser"]}}), ""),
            (json!({"tools": {"deny": ["*"]}}), ""),
            (json!({"tools": {"alsoAllow": ["lobster"]}}), all.as_str()),
            (json!({"tools": {"byProvider": {"A": {"allow": ["read"]}}}}), "read"),
            (
                json!({"tools": {"byProvider": {"a": {"allow": ["read"]}, "a/b": {"profile": "minimal"}}}}),
                "session_status",
            ),
            (
                json!({
                    "tools": {"profile": "minimal"},
                    "agents": {"list": [{"id": "main", "tools": {"profile": "full", "deny": ["mcp_*", "group:fs", "group:runtime"]}}]},
                }),
                "web_fetch memory_search sessions_list session_status",
            ),
        ];
        for (config, expected) in table {
            assert_eq!(allowed(&owner(config.clone())), expected, "{config}");
        }
    }

    #[test]
    fn commands_that_are_not_confined_are_for_the_owner_alone_unless_the_owner_says_otherwise() {
        let said = json!({"tools": {"exec": {"amongOthers": true}}});
        let own = json!({"agents": {"list": [{"id": "main", "tools": {"exec": {"amongOthers": true}}}]}});
        //  configuration  among others  confined  has commands
        let table = [
            (json!({}), false, false, true),
            (json!({}), true, false, false),
            (json!({}), true, true, true),
            (said, true, false, true),
            (own, true, false, true),
        ];
        for (config, among_others, is_confined, expected) in table {
            let case = Case { among_others, is_confined, ..owner(config) };
            let found = allowed(&case);
            assert_eq!(found.contains("exec"), expected, "{} {among_others} {is_confined}", case.config);
            assert_eq!(found.contains("process"), expected, "{} {among_others} {is_confined}", case.config);
        }
    }

    #[test]
    fn groups_strangers_subagents_and_walls_narrow_it_down() {
        let group = "agent:main:telegram:group:-1";
        let groups = json!({"channels": {"telegram": {"groups": {
            "-1": {"tools": {"allow": ["read"]}, "toolsBySender": {"7": {"deny": ["exec"]}}},
        }}}});
        let loose = json!({"tools": {"byTrust": {"stranger": {"deny": ["write"]}}}});
        let strange = |config: Value| Case { is_owner: false, ..owner(config) };
        let table = [
            (
                Case { session: group, ..owner(groups.clone()) },
                "read grep write process web_fetch memory_search sessions_list session_status mcp_notes_add",
            ),
            (
                Case { session: "agent:main:telegram:group:-1:topic:3", ..strange(groups) },
                "read grep write web_fetch memory_search session_status",
            ),
            (strange(json!({})), "read grep write web_fetch memory_search session_status"),
            (
                strange(loose),
                "read grep exec process web_fetch memory_search sessions_list session_status mcp_notes_add",
            ),
            (
                Case { session: "agent:main:subagent:x", ..owner(json!({})) },
                "read grep write exec process web_fetch mcp_notes_add",
            ),
            (
                Case { is_confined: true, ..owner(json!({})) },
                "read grep write exec process memory_search sessions_list session_status",
            ),
            (
                Case {
                    is_confined: true,
                    ..owner(json!({"tools": {"sandbox": {"tools": {"allow": ["exec", "web_fetch"]}}}}))
                },
                "exec web_fetch",
            ),
        ];
        for (case, expected) in table {
            assert_eq!(allowed(&case), expected, "{} {}", case.config, case.session);
        }
    }
}
