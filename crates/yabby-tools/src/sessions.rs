//! Other conversations: which there are, what was said in them, and how to say something in them.
//!
//! From a conversation of the owner alone, an agent sees its own sessions, and other agents' as far as
//! `tools.agentToAgent` lets it. From anywhere else it sees that conversation and what works for it:
//! nobody hears of other people's words because somebody asked.

pub(crate) mod history;
pub(crate) mod list;
pub(crate) mod send;
pub(crate) mod spawn;

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::config::agents::sandbox::SessionToolsVisibility;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self as js, Value};
use yabby_domain::seam::office::Conversations;
use yabby_domain::seam::tool::{Company, ToolContext, ToolOutput};
use yabby_domain::session::address::Address;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::text;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::untrusted::fence;

/// A session that a tool may look at.
struct Seen {
    key: SessionKey,
    entry: SessionEntry,
    conversations: Conversations,
}

/// Why a session is not shown.
#[derive(Debug, PartialEq, Eq)]
struct NotSeen {
    /// `error` or `forbidden`.
    status: &'static str,
    why: String,
}

impl NotSeen {
    fn error(why: impl Into<String>) -> Self {
        Self { status: "error", why: why.into() }
    }

    fn forbidden(why: impl Into<String>) -> Self {
        Self { status: "forbidden", why: why.into() }
    }

    fn output(self, mut fields: Value) -> ToolOutput {
        fields["status"] = self.status.into();
        fields["error"] = self.why.into();
        ToolOutput { is_error: true, ..as_json(&fields) }
    }
}

/// How far an agent sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sight {
    All,
    /// This conversation, and what it started.
    OwnFamily,
}

fn sight(context: &ToolContext) -> Sight {
    let walled = context.is_confined
        && context.config.agents.defaults.sandbox.session_tools_visibility() != SessionToolsVisibility::All;
    match context.company {
        Company::OwnerAlone if !walled => Sight::All,
        Company::OwnerAlone | Company::Others | Company::OthersNoted => Sight::OwnFamily,
    }
}

impl Sight {
    fn shows(self, context: &ToolContext, key: &SessionKey, entry: &SessionEntry) -> bool {
        let own = &context.session_key;
        match self {
            Self::All => true,
            Self::OwnFamily => key == own || entry.spawned_by() == Some(own.as_str()),
        }
    }
}

/// Which agents may talk to each other.
fn may_talk(config: &Config, one: &AgentId, other: &AgentId) -> Result<(), NotSeen> {
    if one == other {
        return Ok(());
    }
    if !config.tools.agent_to_agent.enabled() {
        return Err(NotSeen::forbidden(
            "Agent-to-agent messaging is disabled. Set tools.agentToAgent.enabled=true to allow cross-agent access.",
        ));
    }
    let listed = config.tools.agent_to_agent.allow.iter().flatten();
    let listed: Vec<&str> = listed.filter_map(|name| text::non_blank(name)).collect();
    let allowed = |agent: &AgentId| {
        listed.is_empty() || listed.iter().any(|name| text::matches_star(&text::lower(name), agent.as_str()))
    };
    match allowed(one) && allowed(other) {
        true => Ok(()),
        false => Err(NotSeen::forbidden("Agent-to-agent access denied by tools.agentToAgent.allow.")),
    }
}

/// The agents whose sessions may be looked at, one's own first.
fn agents(context: &ToolContext) -> Vec<AgentId> {
    let listed = context.config.agents.list.iter().map(|agent| AgentId::normalize(&agent.id));
    let mut agents = vec![context.agent.clone()];
    for agent in listed.chain([AgentId::default()]) {
        if !agents.contains(&agent) && may_talk(&context.config, &context.agent, &agent).is_ok() {
            agents.push(agent);
        }
    }
    agents
}

/// Finds a session by its key, or by its id.
async fn find(context: &ToolContext, named: &str) -> Result<Seen, NotSeen> {
    let policy = KeyPolicy::from_config(&context.config);
    let address = Address::of_agent(named, &context.agent, &policy);
    let sight = sight(context);
    let hidden = || NotSeen::forbidden(format!("Session not visible from this conversation: {named}"));
    let readable = may_talk(&context.config, &context.agent, &address.agent);
    if readable.is_ok()
        && let Ok(conversations) = context.office.conversations(&address.agent)
    {
        for key in address.keys() {
            let Some(entry) = conversations.sessions.get(key).await.map_err(told)? else { continue };
            return match sight.shows(context, key, &entry) {
                true => Ok(Seen { key: key.clone(), entry, conversations }),
                false => Err(hidden()),
            };
        }
    }
    for agent in agents(context) {
        let Ok(conversations) = context.office.conversations(&agent) else { continue };
        let listed = conversations.sessions.list().await.map_err(told)?;
        let found = listed.into_iter().find(|(_, entry)| entry.session_id() == Some(named));
        if let Some((key, entry)) = found {
            return match sight.shows(context, &key, &entry) {
                true => Ok(Seen { key, entry, conversations }),
                false => Err(hidden()),
            };
        }
    }
    readable?;
    Err(match sight {
        Sight::All => NotSeen::error(format!("No session found: {named} (use the key from sessions_list)")),
        // Whether there is one is nobody's business here.
        Sight::OwnFamily => hidden(),
    })
}

fn told(error: yabby_domain::seam::StoreError) -> NotSeen {
    NotSeen::error(error.to_string())
}

/// The key as a model knows it.
fn shown(config: &Config, key: &SessionKey) -> String {
    let policy = KeyPolicy::from_config(config);
    if *key == policy.resolve_main_alias(&key.agent_id(), "main") && key.agent_id() == policy.default_agent {
        "main".to_owned()
    } else {
        key.as_str().to_owned()
    }
}

/// The last messages of a session, without tools' results unless they are wanted.
async fn messages(seen: &Seen, limit: usize, with_tools: bool) -> Result<Vec<Value>, NotSeen> {
    let Ok(id) = TranscriptId::of_record(&seen.entry) else { return Ok(Vec::new()) };
    let Some(context) = seen.conversations.transcripts.context(&id).await.map_err(told)? else {
        return Ok(Vec::new());
    };
    let is_wanted = |message: &Value| {
        let role = message.get("role").and_then(Value::as_str);
        with_tools || !matches!(role, Some("toolResult" | "tool"))
    };
    let all = context.messages.into_iter().map(|message| Value::Object(message.as_object().clone()));
    let mut wanted: Vec<Value> = all
        .filter(is_wanted)
        .map(|message| shortened(message, with_tools))
        // Of a message that only called tools nothing may be left.
        .filter(|message| {
            message.get("content").and_then(Value::as_array).is_none_or(|left| !left.is_empty())
        })
        .collect();
    wanted.drain(..wanted.len().saturating_sub(limit));
    // Older ones give way until the answer is no burden.
    while wanted.len() > 1
        && wanted.iter().map(|message| js::stringify(message).len()).sum::<usize>() > MAX_BYTES
    {
        wanted.remove(0);
    }
    if let [only] = wanted.as_mut_slice()
        && js::stringify(only).len() > MAX_BYTES
    {
        only["content"] = "(too long to be shown)".into();
    }
    Ok(wanted)
}

const MAX_BYTES: usize = 80 * 1024;
const MAX_TEXT: usize = 4000;

/// Long texts are cut, images left out; calls of tools only where they are wanted.
fn shortened(mut message: Value, with_tools: bool) -> Value {
    if let Some(blocks) = message.get_mut("content").and_then(Value::as_array_mut) {
        blocks.retain(|block| match block.get("type").and_then(Value::as_str) {
            Some("image" | "thinking") => false,
            Some("toolCall" | "toolUse" | "tool_use") => with_tools,
            _ => true,
        });
    }
    if let Some(content) = message.get_mut("content") {
        cut(content);
    }
    if let Some(fields) = message.as_object_mut() {
        for field in ["usage", "details", "api", "stopReason"] {
            fields.shift_remove(field);
        }
    }
    message
}

/// Every text in it, also in what a tool was told.
fn cut(value: &mut Value) {
    match value {
        Value::String(said) => {
            if let Some((end, _)) = said.char_indices().nth(MAX_TEXT) {
                *value = format!("{}…(cut)", &said[..end]).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(cut),
        Value::Object(members) => members.values_mut().for_each(cut),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The same with words of other conversations in it, which anybody may have said.
fn overheard(value: &Value) -> ToolOutput {
    let ToolOutput { blocks, details, .. } = as_json(value);
    let said = blocks.first().and_then(|block| block.get("text")?.as_str()).unwrap_or_default();
    ToolOutput { details, ..ToolOutput::text(&fence("other conversations", said)) }
}

/// What programs read; the model gets it as text.
fn as_json(value: &Value) -> ToolOutput {
    let text = serde_json::to_string_pretty(value).unwrap_or_else(|_| json!({}).to_string());
    ToolOutput { details: Some(value.clone()), ..ToolOutput::text(&text) }
}
