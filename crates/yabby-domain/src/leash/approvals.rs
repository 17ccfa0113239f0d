//! `exec-approvals.json`: which programs an agent may run (`state-files.md` §4).
//!
//! Other programs keep it, too: what we do not know goes back as it stood.

use regex::RegexBuilder;

use super::exec_policy::{Ask, Security};
use crate::id::AgentId;
use crate::json::{self, Object, Value};
use crate::text;

/// The file as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Approvals(Object);

/// What the file says about one agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForAgent {
    pub security: Option<Security>,
    pub ask: Option<Ask>,
    pub ask_fallback: Option<Security>,
    /// Patterns, those for everybody first.
    pub allowed: Vec<String>,
    pub commands: Vec<ExactCommand>,
}

/// A command that may run as it stands, in the folder that it was allowed for. An entry of the list whose pattern is
/// `=` and the command; to programs that do not know it, it is a pattern that matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactCommand {
    pub command: String,
    /// Everywhere, if there is none.
    pub folder: Option<String>,
}

impl ExactCommand {
    const MARK: char = '=';

    /// The command of an entry, if it is one of a command.
    fn from_entry(entry: &Value) -> Option<Self> {
        let command = pattern_of(entry)?.strip_prefix(Self::MARK)?;
        let folder = entry.get("cwd").and_then(Value::as_str);
        Some(Self { command: text::trim(command).to_owned(), folder: folder.map(str::to_owned) })
    }

    /// How the list spells it.
    pub fn pattern(&self) -> String {
        format!("{}{}", Self::MARK, self.command)
    }

    pub fn allows(&self, command: &str, folder: &str) -> bool {
        text::trim(command) == self.command && self.folder.as_deref().is_none_or(|own| own == folder)
    }
}

/// A program that was used.
pub struct Use<'u> {
    pub pattern: &'u str,
    pub command: &'u str,
    pub program: Option<&'u str>,
    pub now: i64,
}

pub const EVERYBODY: &str = "*";

impl Default for Approvals {
    fn default() -> Self {
        let mut object = Object::new();
        object.insert("version".to_owned(), 1.into());
        object.insert("agents".to_owned(), Value::Object(Object::new()));
        Self(object)
    }
}

impl Approvals {
    /// `None` if the text is none of ours: other text, or another version.
    pub fn parse(source: &str) -> Option<Self> {
        let Ok(Value::Object(object)) = json::parse(source) else { return None };
        let is_ours = object.get("version").and_then(Value::as_f64) == Some(1.0);
        is_ours.then(|| Self(object).normalized())
    }

    /// Whatever it says about its version.
    pub fn from_object(mut object: Object) -> Self {
        object.insert("version".to_owned(), 1.into());
        Self(object).normalized()
    }

    pub fn object(&self) -> &Object {
        &self.0
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        format!("{}\n", json::stringify_pretty(&Value::Object(self.0.clone())))
    }

    pub fn for_agent(&self, agent: &AgentId) -> ForAgent {
        let defaults = self.0.get("defaults").and_then(Value::as_object);
        let [own, everybody] = [agent.as_str(), EVERYBODY].map(|id| self.agent(id));
        let word = |name: &str| {
            let at = |place: Option<&Object>| place?.get(name)?.as_str().map(str::to_owned);
            at(own).or_else(|| at(everybody)).or_else(|| at(defaults))
        };
        let security = |name: &str| word(name).as_deref().and_then(Security::parse);
        let listed = || {
            let lists = [everybody, own].into_iter().flatten().filter_map(|place| place.get("allowlist"));
            lists.filter_map(Value::as_array).flatten()
        };
        let patterns = listed().filter(|entry| ExactCommand::from_entry(entry).is_none());
        ForAgent {
            security: security("security"),
            ask: word("ask").as_deref().and_then(Ask::parse),
            ask_fallback: security("askFallback"),
            allowed: patterns.filter_map(pattern_of).map(str::to_owned).collect(),
            commands: listed().filter_map(ExactCommand::from_entry).collect(),
        }
    }

    /// Allows a pattern; `false` if it was allowed already.
    pub fn allow(&mut self, agent: &str, pattern: &str, id: String, now: i64) -> bool {
        let list = self.list_mut(agent);
        if list.iter().any(|entry| pattern_of(entry) == Some(pattern)) {
            return false;
        }
        list.push(serde_json::json!({"id": id, "pattern": pattern, "lastUsedAt": now}));
        true
    }

    /// Allows a command; `false` if it was allowed already.
    pub fn allow_command(&mut self, agent: &str, command: &ExactCommand, id: String, now: i64) -> bool {
        let list = self.list_mut(agent);
        if list.iter().filter_map(ExactCommand::from_entry).any(|known| known == *command) {
            return false;
        }
        let mut entry = serde_json::json!({"id": id, "pattern": command.pattern(), "lastUsedAt": now});
        if let Some(folder) = &command.folder {
            entry["cwd"] = folder.as_str().into();
        }
        list.push(entry);
        true
    }

    /// Allows it no longer; `false` if it was not allowed.
    pub fn forget(&mut self, agent: &str, pattern: &str) -> bool {
        if self.agent(agent).is_none() {
            return false;
        }
        let list = self.list_mut(agent);
        let before = list.len();
        list.retain(|entry| pattern_of(entry) != Some(pattern));
        let (is_changed, is_empty) = (list.len() < before, list.is_empty());
        let Some(agents) = self.0.get_mut("agents").and_then(Value::as_object_mut) else { return is_changed };
        if let Some(found) = agents.get_mut(agent).and_then(Value::as_object_mut)
            && is_empty
        {
            found.shift_remove("allowlist");
            if found.is_empty() {
                agents.shift_remove(agent);
            }
        }
        is_changed
    }

    /// Notes that a pattern of the agent's was used.
    pub fn note(&mut self, agent: &AgentId, used: &Use<'_>) {
        let Some(agents) = self.0.get_mut("agents").and_then(Value::as_object_mut) else { return };
        for id in [agent.as_str(), EVERYBODY] {
            let list =
                agents.get_mut(id).and_then(|found| found.get_mut("allowlist")).and_then(Value::as_array_mut);
            for entry in list.into_iter().flatten().filter(|entry| pattern_of(entry) == Some(used.pattern)) {
                let Some(entry) = entry.as_object_mut() else { continue };
                entry.insert("lastUsedAt".to_owned(), used.now.into());
                entry.insert("lastUsedCommand".to_owned(), used.command.into());
                if let Some(program) = used.program {
                    entry.insert("lastResolvedPath".to_owned(), program.into());
                }
            }
        }
    }

    /// Fills in what every file has: where the socket of the companion is, its token, and ids.
    pub fn complete(
        &mut self,
        socket: &str,
        token: &mut dyn FnMut() -> String,
        id: &mut dyn FnMut() -> String,
    ) {
        let place = self.0.entry("socket".to_owned()).or_insert_with(|| Value::Object(Object::new()));
        if !place.is_object() {
            *place = Value::Object(Object::new());
        }
        if let Some(place) = place.as_object_mut() {
            let is_missing = |place: &Object, name: &str| {
                place.get(name).and_then(Value::as_str).and_then(text::non_blank).is_none()
            };
            if is_missing(place, "path") {
                place.insert("path".to_owned(), socket.into());
            }
            if is_missing(place, "token") {
                place.insert("token".to_owned(), token().into());
            }
        }
        let agents = self.0.get_mut("agents").and_then(Value::as_object_mut);
        for (_, agent) in agents.into_iter().flatten() {
            let list = agent.get_mut("allowlist").and_then(Value::as_array_mut);
            for entry in list.into_iter().flatten().filter_map(Value::as_object_mut) {
                if entry.get("id").and_then(Value::as_str).is_none_or(str::is_empty) {
                    entry.insert("id".to_owned(), id().into());
                }
            }
        }
    }

    /// For everybody's eyes: without the token, and with every part that there may be.
    pub fn without_token(&self) -> Object {
        let mut object = self.0.clone();
        for part in ["defaults", "agents"] {
            object.entry(part.to_owned()).or_insert_with(|| Value::Object(Object::new()));
        }
        if let Some(socket) = object.get_mut("socket").and_then(Value::as_object_mut) {
            socket.shift_remove("token");
        }
        object
    }

    pub fn agents(&self) -> impl Iterator<Item = (&str, &Object)> {
        let agents = self.0.get("agents").and_then(Value::as_object);
        agents.into_iter().flatten().filter_map(|(id, agent)| Some((id.as_str(), agent.as_object()?)))
    }

    fn agent(&self, id: &str) -> Option<&Object> {
        self.0.get("agents")?.get(id)?.as_object()
    }

    fn list_mut(&mut self, agent: &str) -> &mut Vec<Value> {
        let agents = object_at(&mut self.0, "agents");
        let agent = object_at(agents, agent);
        let list = agent.entry("allowlist".to_owned()).or_insert_with(|| Value::Array(Vec::new()));
        if !list.is_array() {
            *list = Value::Array(Vec::new());
        }
        match list {
            Value::Array(list) => list,
            _ => unreachable!("it was made a list above"),
        }
    }

    /// Once the main agent was called `default`.
    fn normalized(mut self) -> Self {
        let Some(agents) = self.0.get_mut("agents").and_then(Value::as_object_mut) else { return self };
        let Some(Value::Object(old)) = agents.shift_remove("default") else { return self };
        let main = object_at(agents, AgentId::default().as_str());
        for (name, value) in old {
            match (main.get_mut(&name), value) {
                (Some(Value::Array(own)), Value::Array(more)) if name == "allowlist" => {
                    let known: Vec<String> = own.iter().filter_map(pattern_of).map(text::lower).collect();
                    let is_new =
                        |entry: &Value| pattern_of(entry).is_some_and(|p| !known.contains(&text::lower(p)));
                    own.extend(more.into_iter().filter(is_new));
                }
                (Some(_), _) => {}
                (None, value) => drop(main.insert(name, value)),
            }
        }
        self
    }
}

fn object_at<'o>(object: &'o mut Object, name: &str) -> &'o mut Object {
    let place = object.entry(name.to_owned()).or_insert_with(|| Value::Object(Object::new()));
    if !place.is_object() {
        *place = Value::Object(Object::new());
    }
    match place {
        Value::Object(object) => object,
        _ => unreachable!("it was made an object above"),
    }
}

/// The pattern of an entry; old files have the bare text.
pub fn pattern_of(entry: &Value) -> Option<&str> {
    let written = entry.as_str().or_else(|| entry.get("pattern")?.as_str());
    written.and_then(text::non_blank).map(text::trim)
}

/// Whether a pattern stands for a program. Bare names stand for nothing: anybody can put a program of
/// that name somewhere.
pub fn matches(pattern: &str, program: &str, home: &str) -> bool {
    let pattern = text::trim(pattern);
    let pattern = match pattern.strip_prefix("~/") {
        Some(below) => format!("{}/{below}", home.trim_end_matches('/')),
        None => pattern.to_owned(),
    };
    if !pattern.contains('/') {
        return false;
    }
    let mut written = String::from("^");
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '*' if rest.peek() == Some(&'*') => {
                rest.next();
                written.push_str(".*");
            }
            '*' => written.push_str("[^/]*"),
            '?' => written.push('.'),
            c => written.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    written.push('$');
    let compiled = RegexBuilder::new(&written).case_insensitive(true).build();
    compiled.is_ok_and(|pattern| pattern.is_match(program))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parsed(text: &Value) -> Approvals {
        Approvals::parse(&text.to_string()).unwrap()
    }

    #[test]
    fn patterns_stand_for_programs() {
        let table = [
            ("/usr/bin/rg", "/usr/bin/rg", true),
            ("/USR/bin/RG", "/usr/bin/rg", true),
            ("/usr/bin/*", "/usr/bin/rg", true),
            ("/usr/*", "/usr/bin/rg", false),
            ("/usr/**", "/usr/bin/rg", true),
            ("~/bin/?g", "/home/u/bin/rg", true),
            ("rg", "/usr/bin/rg", false),
            ("*", "/usr/bin/rg", false),
            ("**", "/usr/bin/rg", false),
            ("", "/usr/bin/rg", false),
            ("/usr/bin/r.", "/usr/bin/rg", false),
            ("/usr/bin/rg", "/usr/bin/rg2", false),
            ("/usr/bin/rg", "/tmp/usr/bin/rg", false),
        ];
        for (pattern, program, expected) in table {
            assert_eq!(matches(pattern, program, "/home/u"), expected, "{pattern} {program}");
        }
    }

    #[test]
    fn what_others_wrote_stays() {
        let file = json!({"version": 1, "x": [1], "socket": {"token": "t", "y": 2}, "agents": {
            "main": {"z": 3, "allowlist": [{"pattern": "/bin/a", "note": "mine"}]}}});
        let mut approvals = parsed(&file);
        assert!(approvals.allow("main", "/bin/b", "id".into(), 7));
        assert!(!approvals.allow("main", "/bin/b", "id2".into(), 8));
        let used = Use { pattern: "/bin/a", command: "a -x", program: Some("/bin/a"), now: 9 };
        approvals.note(&AgentId::default(), &used);
        approvals.complete("/s", &mut || "new".into(), &mut || "made".into());
        let expected = json!({"version": 1, "x": [1], "socket": {"token": "t", "y": 2, "path": "/s"}, "agents": {
            "main": {"z": 3, "allowlist": [
                {"pattern": "/bin/a", "note": "mine", "lastUsedAt": 9, "lastUsedCommand": "a -x",
                    "lastResolvedPath": "/bin/a", "id": "made"},
                {"id": "id", "pattern": "/bin/b", "lastUsedAt": 7}]}}});
        assert_eq!(Value::Object(approvals.object().clone()), expected);
        assert!(approvals.forget("main", "/bin/a") && !approvals.forget("main", "/bin/a"));
        assert!(!approvals.forget("other", "/bin/a"));
        assert_eq!(approvals.without_token()["socket"], json!({"y": 2, "path": "/s"}));
    }

    #[test]
    fn a_command_is_allowed_as_it_stands_and_where_it_was() {
        let mut approvals = Approvals::default();
        let command = ExactCommand { command: "git log /x".to_owned(), folder: Some("/ws".to_owned()) };
        assert!(approvals.allow_command("main", &command, "1".into(), 1));
        assert!(!approvals.allow_command("main", &command, "2".into(), 1));
        let main = Approvals::parse(&approvals.text()).unwrap().for_agent(&AgentId::default());
        assert_eq!((main.allowed, main.commands.as_slice()), (Vec::new(), [command.clone()].as_slice()));
        assert!(command.allows(" git log /x ", "/ws"));
        assert!(!command.allows("git log /x -c y", "/ws") && !command.allows("git log /x", "/other"));
        // As a pattern it stands for no program.
        assert!(!matches(&command.pattern(), "/usr/bin/git", "/home/u"));
        assert!(!matches("=/usr/bin/**", "/usr/bin/git", "/home/u"));
        assert!(approvals.forget("main", "=git log /x"));
    }

    #[test]
    fn an_agent_that_says_nothing_more_is_gone() {
        let mut approvals = Approvals::default();
        approvals.allow("*", "/bin/a", "1".into(), 1);
        assert!(approvals.forget("*", "/bin/a"));
        assert_eq!(approvals.agents().count(), 0);
    }

    #[test]
    fn everybodys_come_first_and_default_was_the_main_agent() {
        let approvals = parsed(&json!({"version": 1, "defaults": {"ask": "off"}, "agents": {
            "*": {"ask": "always", "allowlist": [{"pattern": "/a"}]},
            "default": {"security": "full", "allowlist": [{"pattern": "/B"}, {"pattern": "/c"}]},
            "main": {"askFallback": "full", "allowlist": ["/b"]}}}));
        let main = approvals.for_agent(&AgentId::default());
        assert_eq!(main.allowed, ["/a", "/b", "/c"]);
        assert_eq!((main.security, main.ask), (Some(Security::Full), Some(Ask::Always)));
        assert_eq!(main.ask_fallback, Some(Security::Full));
        assert_eq!(approvals.for_agent(&AgentId::normalize("ops")).allowed, ["/a"]);
    }

    #[test]
    fn another_version_is_none_of_ours() {
        for text in ["", "[]", "{\"version\": 2}", "{}", "{broken"] {
            assert_eq!(Approvals::parse(text), None, "{text}");
        }
    }
}
