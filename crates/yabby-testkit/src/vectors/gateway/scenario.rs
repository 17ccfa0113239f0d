//! A recorded scenario: what is known about it, and what was said on the wire, line by line.

use std::fs;
use std::path::Path;
use std::time::Duration;

use yabby_domain::json::{self, Value};

use super::later;

/// The lines of a recording, and what its first line tells.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) meta: Value,
    pub(super) lines: Vec<Value>,
}

impl Scenario {
    pub(super) fn load(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
        Self::parse(&text)
    }

    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let mut lines = lines.map(json::parse).collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
        if lines.is_empty() {
            return Err("no lines are in it".to_owned());
        }
        let first = lines.remove(0);
        let meta = first.get("meta").cloned().ok_or("the first line has no `meta`")?;
        Ok(Self { meta, lines })
    }

    /// The same as text, for whoever wants to judge it otherwise.
    pub(super) fn text(&self) -> String {
        let meta = serde_json::json!({"meta": self.meta});
        let lines = std::iter::once(&meta).chain(&self.lines);
        lines.map(|line| format!("{line}\n")).collect()
    }

    pub(super) fn is_replayed(&self) -> bool {
        self.meta.get("replay") != Some(&Value::Bool(false))
    }

    pub(super) fn home(&self) -> &str {
        self.meta["home"].as_str().unwrap_or_default()
    }

    /// Variables of the gateway's environment.
    pub(super) fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        let variables = self.meta["env"].as_object().into_iter().flatten();
        variables.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
    }

    /// Headers of the request that opens a connection.
    pub(super) fn headers(&self, connection: &str) -> Vec<(String, String)> {
        let connections = self.meta["conns"].as_array().into_iter().flatten();
        let own = connections.filter(|other| other["conn"] == connection);
        let headers = own.filter_map(|own| own["headers"].as_object()).flatten();
        headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
    }

    /// What the client did, in order.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Value> {
        self.lines.iter().filter(|line| line["dir"] == "c2s")
    }

    /// Whether the model is made to run a command.
    pub(super) fn runs_commands(&self) -> bool {
        let mut said = self.steps().filter_map(|step| step["frame"]["params"]["message"].as_str());
        said.any(|said| said.contains("TOOLCALL"))
    }

    /// Whether it asks for pages, or what belongs to them.
    pub(super) fn asks_for_pages(&self) -> bool {
        let mut paths = self.steps().filter_map(|step| step["http"]["path"].as_str());
        paths.any(|path| !later::is_path(path))
    }

    /// What the frame of a line carries.
    pub(super) fn payload(&mut self, line: usize) -> Option<&mut Value> {
        self.lines[line].pointer_mut("/frame/payload")
    }

    /// How long it took when it was recorded.
    pub(super) fn duration(&self) -> Duration {
        let last = self.lines.iter().filter_map(|line| line["t"].as_u64()).max();
        Duration::from_millis(last.unwrap_or_default())
    }
}
