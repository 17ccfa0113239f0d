//! The configuration as the rules see it (`config.md`).
//!
//! The file belongs to the user and to OpenClaw: keys we do not know are kept. So the root holds the
//! value as it was read, and each rule takes its own section out of it, with the reference's
//! tolerance for odd values, in a `from_config` beside the rule.

use crate::id::AgentId;
use crate::json::{self, Object, Value};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config(Value);

impl Config {
    pub fn new(root: Value) -> Self {
        Self(root)
    }

    pub fn root(&self) -> &Value {
        &self.0
    }

    /// The value at `path`, unless it is absent or null.
    pub fn get(&self, path: &[&str]) -> Option<&Value> {
        json::at(&self.0, path).filter(|value| !value.is_null())
    }

    pub fn text(&self, path: &[&str]) -> Option<&str> {
        self.get(path)?.as_str()
    }

    pub fn number(&self, path: &[&str]) -> Option<f64> {
        self.get(path)?.as_f64()
    }

    pub fn flag(&self, path: &[&str]) -> Option<bool> {
        self.get(path)?.as_bool()
    }

    pub fn object(&self, path: &[&str]) -> Option<&Object> {
        self.get(path)?.as_object()
    }

    /// What is said about one agent alone.
    pub fn agent(&self, agent: &AgentId) -> Option<&Value> {
        let is_it = |entry: &&Value| {
            entry.get("id").and_then(Value::as_str).is_some_and(|id| AgentId::normalize(id) == *agent)
        };
        self.list(&["agents", "list"]).unwrap_or_default().iter().find(is_it)
    }

    pub fn list(&self, path: &[&str]) -> Option<&[Value]> {
        self.get(path)?.as_array().map(Vec::as_slice)
    }
}
