//! The configuration as a program runs with it (`config.md`).
//!
//! The file belongs to the user and to OpenClaw: keys that we do not know are kept. So there is the value as it was read,
//! for writing back and for showing, and the sections, which are read from it once.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use yabby_base::id::AgentId;
use yabby_base::json::{self, Value};
use yabby_base::text;

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
}

impl Config {
    pub fn new(raw: Value) -> Self {
        let mut reading = Reading::default();
        let sections = Sections::read(&raw, &mut reading).unwrap_or_default();
        Self { raw: Arc::new(raw), parsed: Arc::new(Parsed { sections, problems: reading.problems }) }
    }

    /// The configuration as it was written, with what was filled in.
    pub fn raw(&self) -> &Value {
        &self.raw
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
