//! The section of the one agent there was (`config.md` §4).

use serde_json::{Value, json};
use yabby_base::json::{Object, in_js_order, truthy};
use yabby_base::text;

use super::tree::{self, agent_entry, as_text, ensure, merge_missing, object, settle};

/// Models as plain text and lists, which became one choice and one catalog.
pub fn models(root: &mut Object, changes: &mut Vec<String>) {
    let is_old = root.get("agent").is_some_and(Value::is_object);
    let (agent, label) = if is_old {
        (object(root, "agent"), "agent")
    } else {
        (object(root, "agents").and_then(|agents| object(agents, "defaults")), "agents.defaults")
    };
    let Some(agent) = agent else { return };
    let old = OldModels::read(agent);
    if old.is_empty() {
        return;
    }
    let mut catalog = agent.get("models").and_then(Value::as_object).cloned().unwrap_or_default();
    old.list_in(&mut catalog);
    choose(agent, "model", old.model.as_deref(), &old.fallbacks);
    choose(agent, "imageModel", old.image_model.as_deref(), &old.image_fallbacks);
    agent.insert("models".to_owned(), Value::Object(catalog));
    old.tell(label, changes);
    for key in ["allowedModels", "modelAliases", "modelFallbacks", "imageModelFallbacks"] {
        agent.shift_remove(key);
    }
}

struct OldModels {
    model: Option<String>,
    image_model: Option<String>,
    allowed: Vec<String>,
    fallbacks: Vec<String>,
    image_fallbacks: Vec<String>,
    aliases: Object,
}

impl OldModels {
    fn read(agent: &Object) -> Self {
        let name = |key: &str| agent.get(key).and_then(Value::as_str).map(str::to_owned);
        let list =
            |key: &str| agent.get(key).and_then(Value::as_array).into_iter().flatten().map(as_text).collect();
        Self {
            model: name("model"),
            image_model: name("imageModel"),
            allowed: list("allowedModels"),
            fallbacks: list("modelFallbacks"),
            image_fallbacks: list("imageModelFallbacks"),
            aliases: agent.get("modelAliases").and_then(Value::as_object).cloned().unwrap_or_default(),
        }
    }

    fn is_empty(&self) -> bool {
        let blank = |name: &Option<String>| name.as_deref().unwrap_or_default().is_empty();
        blank(&self.model)
            && blank(&self.image_model)
            && self.allowed.is_empty()
            && self.fallbacks.is_empty()
            && self.image_fallbacks.is_empty()
            && self.aliases.is_empty()
    }

    /// Every model that was named gets its entry; aliases go to the models they stand for.
    fn list_in(&self, catalog: &mut Object) {
        let aliases = in_js_order(&self.aliases);
        let aliased =
            aliases.iter().filter_map(|(alias, target)| Some((alias, text::trim(target.as_str()?))));
        let named = self.model.iter().chain(&self.image_model).chain(&self.allowed);
        let named = named.chain(&self.fallbacks).chain(&self.image_fallbacks);
        let named = named.map(|name| text::trim(name)).chain(aliased.clone().map(|(_, target)| target));
        for name in named.filter(|name| !name.is_empty()) {
            if !catalog.get(name).is_some_and(truthy) {
                catalog.insert(name.to_owned(), json!({}));
            }
        }
        for (alias, target) in aliased.filter(|(_, target)| !target.is_empty()) {
            let entry = ensure(catalog, target);
            if !entry.contains_key("alias") {
                entry.insert("alias".to_owned(), alias.as_str().into());
            }
        }
    }

    fn tell(&self, label: &str, changes: &mut Vec<String>) {
        let rows = [
            (self.model.is_some(), "model string", "model.primary"),
            (!self.fallbacks.is_empty(), "modelFallbacks", "model.fallbacks"),
            (self.image_model.is_some(), "imageModel string", "imageModel.primary"),
            (!self.image_fallbacks.is_empty(), "imageModelFallbacks", "imageModel.fallbacks"),
            (!self.allowed.is_empty(), "allowedModels", "models"),
            (!self.aliases.is_empty(), "modelAliases", "models.*.alias"),
        ];
        let told = rows.into_iter().filter(|(happened, ..)| *happened);
        changes.extend(told.map(|(_, from, to)| format!("Migrated {label}.{from} → {label}.{to}.")));
    }
}

/// Writes a model and those to fall back to; what is chosen already stays.
fn choose(agent: &mut Object, key: &str, primary: Option<&str>, fallbacks: &[String]) {
    if let Some(choice) = object(agent, key) {
        let is_free = choice.get("fallbacks").and_then(Value::as_array).is_none_or(Vec::is_empty);
        if is_free && !fallbacks.is_empty() {
            choice.insert("fallbacks".to_owned(), json!(fallbacks));
        }
    } else if primary.is_some_and(|primary| !primary.is_empty()) || !fallbacks.is_empty() {
        let mut choice = Object::new();
        if let Some(primary) = primary {
            choice.insert("primary".to_owned(), primary.into());
        }
        choice.insert("fallbacks".to_owned(), json!(fallbacks));
        agent.insert(key.to_owned(), Value::Object(choice));
    }
}

/// `agent` itself: its tools go to `tools`, the rest becomes the defaults of all agents.
pub fn defaults(root: &mut Object, changes: &mut Vec<String>) {
    let Some(mut agent) = root.get("agent").and_then(Value::as_object).cloned() else { return };
    ensure(root, "agents");
    let tools = ensure(root, "tools");
    if let Some(Value::Object(lists)) = agent.shift_remove("tools") {
        for key in ["allow", "deny"] {
            if let Some(list) = lists.get(key).filter(|_| !tools.contains_key(key)) {
                tools.insert(key.to_owned(), list.clone());
                changes.push(format!("Moved agent.tools.{key} → tools.{key}."));
            }
        }
    }
    for (key, to) in [("elevated", "elevated"), ("bash", "exec")] {
        if let Some(section @ Value::Object(_)) = agent.shift_remove(key) {
            settle(section, &format!("agent.{key}"), tools, to, &format!("tools.{to}"), changes);
        }
    }
    for key in ["sandbox", "subagents"] {
        let policy = object(&mut agent, key).and_then(|section| section.shift_remove("tools"));
        if let Some(Value::Object(policy)) = policy {
            merge_missing(ensure(ensure(tools, key), "tools"), &policy);
            changes.push(format!("Moved agent.{key}.tools → tools.{key}.tools."));
        }
    }
    merge_missing(ensure(ensure(root, "agents"), "defaults"), &agent);
    root.shift_remove("agent");
    changes.push("Moved agent → agents.defaults.".to_owned());
}

/// Who the assistant is belongs to the agent that is asked by default.
pub fn identity(root: &mut Object, changes: &mut Vec<String>) {
    let Some(identity @ Value::Object(_)) = root.get("identity").cloned() else { return };
    let id = default_agent(root);
    let agents = ensure(root, "agents");
    let mut list = agents.get("list").and_then(Value::as_array).cloned().unwrap_or_default();
    let entry = agent_entry(&mut list, &id);
    if entry.contains_key("identity") {
        changes.push("Removed identity (agents.list identity already set).".to_owned());
    } else {
        entry.insert("identity".to_owned(), identity);
        changes.push(format!("Moved identity → agents.list (id \"{id}\").identity."));
    }
    agents.insert("list".to_owned(), Value::Array(list));
    root.shift_remove("identity");
}

fn default_agent(root: &Object) -> String {
    let list = root.get("agents").and_then(|agents| agents["list"].as_array());
    let named = || {
        let entries = list.into_iter().flatten().filter_map(Value::as_object);
        entries.filter(|entry| !tree::text(entry, "id").is_empty())
    };
    let marked = named().find(|entry| entry.get("default").is_some_and(|default| default == true));
    let routed =
        root.get("routing").and_then(Value::as_object).map(|routing| tree::text(routing, "defaultAgentId"));
    marked
        .map(|entry| tree::text(entry, "id"))
        .or(routed.filter(|id| !id.is_empty()))
        .or_else(|| named().next().map(|entry| tree::text(entry, "id")))
        .unwrap_or("main")
        .to_owned()
}
