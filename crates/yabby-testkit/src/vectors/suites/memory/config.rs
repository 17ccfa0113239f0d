//! `config-resolve.json`.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::Value;
use yabby_domain::session::path::Folders;
use yabby_memory::settings::Settings;

use crate::vectors::Case;

pub fn answer(case: &Case) -> Option<Value> {
    let agent = case.text("agentId")?;
    let config = Config::new(json!({"agents": {
        "defaults": {"memorySearch": case.arg("defaults")},
        "list": [{"id": agent, "memorySearch": case.arg("agent")}],
    }}));
    let folders = Folders { state: "<STATE>", home: "/home/user", current: "/" };
    let settings = Settings::from_config(&config, &AgentId::normalize(agent), &folders);
    Some(settings.map_or(Value::Null, |settings| settings.to_json()))
}
