//! What the configuration says about heartbeats (`gateway.md` §7, `health` and `status`). Nothing beats yet:
//! this is what clients are told of the settings.

use crate::config::Config;
use crate::config::agents::heartbeat::Heartbeat as Settings;
use crate::duration::{self, MINUTE};
use crate::id::AgentId;
use crate::json::{self, Object, Value};
use crate::reply::tokens::HEARTBEAT_PROMPT;
use crate::session::key::default_agent;
use crate::text;

const EVERY: &str = "30m";

/// The heartbeat of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Heartbeat {
    pub enabled: bool,
    /// As it was written.
    pub every: String,
    pub every_ms: Option<u64>,
    pub prompt: String,
    pub target: String,
    pub model: Option<String>,
    pub ack_max_chars: f64,
}

impl Heartbeat {
    /// An agent's own settings lie over those of all. Where any agent has settings of its own, only those
    /// that do have a heartbeat; else it is the default agent's.
    pub fn of(config: &Config, agent: &AgentId) -> Self {
        let common = &config.agents.defaults.heartbeat;
        let enabled = is_enabled(config, agent);
        let own = config.agent(agent).and_then(|agent| agent.heartbeat.as_ref()).filter(|_| enabled);
        let said = |pick: fn(&Settings) -> &Option<String>| {
            own.and_then(|own| pick(own).as_deref()).or_else(|| pick(common).as_deref())
        };
        let every = if enabled { said(|of| &of.every).unwrap_or(EVERY) } else { "disabled" };
        Self {
            enabled,
            every: every.to_owned(),
            every_ms: duration::parse(every, MINUTE).filter(|ms| *ms > 0 && enabled),
            prompt: said(|of| &of.prompt).and_then(text::non_blank).unwrap_or(HEARTBEAT_PROMPT).to_owned(),
            target: said(|of| &of.target).unwrap_or(common.target()).to_owned(),
            model: said(|of| &of.model).map(str::to_owned),
            ack_max_chars: match own.and_then(|own| own.ack_max_chars) {
                Some(own) => f64::from(own),
                None => common.ack_max_chars(),
            }
            .max(0.0),
        }
    }

    pub fn to_object(&self) -> Object {
        let mut told = self.schedule();
        told.insert("prompt".to_owned(), self.prompt.clone().into());
        told.insert("target".to_owned(), self.target.clone().into());
        if let Some(model) = &self.model {
            told.insert("model".to_owned(), model.clone().into());
        }
        told.insert("ackMaxChars".to_owned(), json::number(self.ack_max_chars));
        told
    }

    /// Whether and how often.
    pub fn schedule(&self) -> Object {
        let every_ms = self.every_ms.map_or(Value::Null, Value::from);
        let members =
            [("enabled", self.enabled.into()), ("every", self.every.clone().into()), ("everyMs", every_ms)];
        members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn is_enabled(config: &Config, agent: &AgentId) -> bool {
    let mut with_own = config.agents.list.iter().filter(|entry| entry.heartbeat.is_some()).peekable();
    match with_own.peek() {
        None => *agent == default_agent(config),
        Some(_) => with_own.any(|entry| AgentId::normalize(&entry.id) == *agent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_heartbeat_belongs_to_the_default_agent_unless_others_have_their_own() {
        let (main, ops) = (AgentId::default(), AgentId::normalize("ops"));
        let common = json!({"agents": {"defaults": {"heartbeat": {"every": "0m"}}, "list": [{"id": "main"}, {"id": "ops"}]}});
        let own = json!({"agents": {"list": [{"id": "main"}, {"id": "ops", "heartbeat": {"every": "2h", "ackMaxChars": -1}}]}});
        let table = [
            (json!({}), &main, (true, "30m", Some(1_800_000))),
            (common.clone(), &main, (true, "0m", None)),
            (common, &ops, (false, "disabled", None)),
            (own.clone(), &main, (false, "disabled", None)),
            (own, &ops, (true, "2h", Some(7_200_000))),
        ];
        for (config, agent, expected) in table {
            let beat = Heartbeat::of(&Config::new(config.clone()), agent);
            assert_eq!((beat.enabled, beat.every.as_str(), beat.every_ms), expected, "{config} {agent}");
        }
    }
}
