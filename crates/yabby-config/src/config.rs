//! The configuration as a program runs with it (`config.md`).
//!
//! The file belongs to the user and to OpenClaw: keys that we do not know are kept. So there is the value as it was read,
//! for writing back and for showing, and the sections, which are read from it once.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock};

use yabby_base::id::AgentId;
use yabby_base::json::{self, Value};
use yabby_base::text;

use crate::key_path::KeyPath;
use crate::read::{Problem, Read as _, Reading};
use crate::sections::Sections;
use crate::sections::agents::entry::AgentEntry;
use crate::sections::tools::exec::AgentExec;
use crate::sections::word::Word;

/// One state of the configuration. Its sections are its fields: `config.session.scope`.
#[derive(Clone, Default)]
pub struct Config {
    raw: Arc<Value>,
    parsed: Arc<Parsed>,
}

#[derive(Default)]
struct Parsed {
    sections: Sections,
    problems: Vec<Problem>,
    /// What rules made of it, by type.
    derived: RwLock<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
}

impl Config {
    pub fn new(raw: Value) -> Self {
        let mut reading = Reading::default();
        let sections = Sections::read(&raw, &mut reading).unwrap_or_default();
        Self {
            raw: Arc::new(raw),
            parsed: Arc::new(Parsed { sections, problems: reading.problems, derived: RwLock::default() }),
        }
    }

    /// The configuration as it was written, with what was filled in.
    pub fn raw(&self) -> &Value {
        &self.raw
    }

    /// What a rule makes of this state of the configuration, made once.
    pub fn derived<T: Any + Send + Sync>(&self, derive: fn(&Self) -> T) -> Arc<T> {
        let derived = &self.parsed.derived;
        let known = derived.read().unwrap_or_else(PoisonError::into_inner).get(&TypeId::of::<T>()).cloned();
        if let Some(known) = known.and_then(|known| known.downcast().ok()) {
            return known;
        }
        let made = Arc::new(derive(self));
        derived.write().unwrap_or_else(PoisonError::into_inner).insert(TypeId::of::<T>(), made.clone());
        made
    }

    /// The same configuration, which says this as well. What cannot be said there is not.
    pub fn with(&self, path: &KeyPath, value: Value) -> Self {
        let mut raw = Value::clone(&self.raw);
        let _ = path.set(&mut raw, value);
        Self::new(raw)
    }

    /// What is said about one agent alone.
    pub fn agent(&self, agent: &AgentId) -> Option<&AgentEntry> {
        self.agents.list.iter().find(|entry| AgentId::normalize(&entry.id) == *agent)
    }

    /// What keeps an agent's commands in the workspace, as it is written.
    pub fn confine(&self, agent: &AgentId) -> Option<&str> {
        let own = self.agent(agent).and_then(|entry| entry.extras.tools.exec.confine.as_ref());
        own.or(self.extras.tools.exec.confine.as_ref()).map(Word::as_str)
    }

    /// Whether an agent's commands run unconfined where others than the owner talk.
    pub fn runs_among_others(&self, agent: &AgentId) -> bool {
        let own = self.agent(agent).and_then(|entry| entry.extras.tools.exec.among_others);
        own.unwrap_or(self.extras.tools.exec.among_others())
    }

    /// Whether the setting that a skill asks about is on. Its path comes from the skill.
    pub fn is_on(&self, path: &str) -> bool {
        /// Settings that are on unless they are switched off.
        const ON_BY_DEFAULT: [&str; 2] = ["browser.enabled", "browser.evaluateEnabled"];
        let parts: Vec<&str> = path.split('.').filter(|part| !part.is_empty()).collect();
        match json::at(&self.raw, &parts) {
            None => ON_BY_DEFAULT.contains(&path),
            Some(Value::String(text)) => text::non_blank(text).is_some(),
            Some(value) => json::truthy(value),
        }
    }

    /// How an agent runs commands: its own settings in the place of those of all.
    pub fn exec(&self, agent: &AgentId) -> AgentExec {
        let own = self.agent(agent).map(|entry| entry.tools.exec.clone()).unwrap_or_default();
        own.over(&self.tools.exec)
    }

    /// What is not as it should be, so that its default holds.
    pub fn problems(&self) -> &[Problem] {
        &self.parsed.problems
    }
}

impl Deref for Config {
    type Target = Sections;

    fn deref(&self) -> &Sections {
        &self.parsed.sections
    }
}

impl PartialEq for Config {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.raw, &other.raw) || self.raw == other.raw
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Config").field(&self.raw).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_cannot_be_read_is_told_and_as_good_as_not_there() {
        let config = Config::new(json!({
            "session": {"scope": "galaxy", "store": 5, "idleMinutes": -2.5, "unknown": 1},
            "messages": {"queue": {"cap": "many", "mode": " Steer "}},
            "agents": {"list": [7, {"id": "a", "default": 1}, {"name": "without an id"}]},
            "bindings": {},
            "tools": {"exec": {"timeoutSec": null}},
        }));
        assert_eq!(config.session.scope().word(), "per-sender");
        assert_eq!(
            (config.session.store.as_deref(), config.session.idle_minutes.map(f64::from)),
            (None, Some(-2.5))
        );
        assert_eq!((config.messages.queue.cap(), config.bindings.len()), (20.0, 0));
        assert_eq!(config.messages.queue.mode.as_ref().map(Word::as_str), Some(" Steer "));
        let agents: Vec<_> =
            config.agents.list.iter().map(|agent| (agent.id.as_str(), agent.default)).collect();
        assert_eq!(agents, [("a", None), ("", None)]);
        assert_eq!(config.exec(&AgentId::default()).timeout_sec(), 1800.0);
        let mut told: Vec<String> = config.problems().iter().map(|problem| problem.path.clone()).collect();
        told.sort_unstable();
        let expected = [
            "agents.list.0",
            "agents.list.1.default",
            "agents.list.2",
            "bindings",
            "messages.queue.cap",
            "session.scope",
            "session.store",
        ];
        assert_eq!(told, expected);
        assert_eq!(config.raw()["session"]["unknown"], 1, "what nobody knows is kept");
    }

    #[test]
    fn what_is_made_of_a_state_is_made_once() {
        let config = Config::new(json!({"session": {"scope": "global"}}));
        let scope = |config: &Config| config.derived(|config| config.session.scope().word());
        assert!(Arc::ptr_eq(&scope(&config), &scope(&config.clone())));
        let other = config.with(&KeyPath::of(["session", "scope"]), "per-sender".into());
        assert_eq!((*scope(&config), *scope(&other)), ("global", "per-sender"));
    }

    #[test]
    fn a_setting_of_an_agent_goes_before_that_of_all() {
        let config = Config::new(json!({
            "tools": {"exec": {"timeoutSec": 5, "host": "gateway", "confine": "auto"}},
            "agents": {"list": [{"id": "a", "tools": {"exec": {"timeoutSec": 7, "confine": "off"}}}]},
        }));
        let (a, b) = (AgentId::normalize("a"), AgentId::normalize("b"));
        assert_eq!((config.exec(&a).timeout_sec(), config.exec(&b).timeout_sec()), (7.0, 5.0));
        assert_eq!(config.exec(&a).host.as_ref().map(Word::as_str), Some("gateway"));
        assert_eq!((config.confine(&a), config.confine(&b)), (Some("off"), Some("auto")));
    }

    #[test]
    fn what_channels_share_is_read_of_any_channel() {
        let config = Config::new(json!({"channels": {
            "defaults": {"groupPolicy": "open"},
            "telegram": {"botToken": "x", "dmPolicy": "open", "accounts": {"work": {"allowFrom": [7, "eve"]}}},
            "matrix": {"enabled": false, "textChunkLimit": 900},
        }}));
        let names: Vec<&str> = config.channels.all().map(|(name, _)| name).collect();
        assert_eq!(names, ["telegram", "matrix"]);
        let telegram = config.channels.settings("telegram").unwrap();
        assert_eq!(telegram.dm_policy.as_ref().map(Word::as_str), Some("open"));
        let work = &telegram.accounts.as_ref().unwrap()["work"];
        let allowed: Vec<_> =
            work.allow_from.iter().flatten().map(|entry| entry.text().into_owned()).collect();
        assert_eq!(allowed, ["7", "eve"]);
        assert!(!config.channels.settings("matrix").unwrap().enabled());
        assert!(
            config.channels.telegram.as_ref().is_some_and(|telegram| telegram.account.bot_token.is_some())
        );
    }
}
