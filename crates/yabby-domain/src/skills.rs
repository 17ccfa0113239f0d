//! The skills snapshot: which skills an agent has, and how its prompt lists them (`sessions.md` §20).

mod front_matter;
pub mod status;

use std::cmp::Ordering;

use crate::config::Config;
use crate::config::skills::SkillEntry;
use crate::json::{self, Object, Value};
use crate::session::entry::SessionEntry;
use crate::text;

use front_matter::FrontMatter;

/// The name of a system as skills write it, from the one that the compiler has for it.
pub fn platform(os: &str) -> &str {
    match os {
        "macos" => "darwin",
        "windows" => "win32",
        other => other,
    }
}

/// Where a skill was found. Later sources replace skills of the same name from earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkillSource {
    Extra,
    Bundled,
    Managed,
    Workspace,
}

/// A skill file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    pub source: SkillSource,
    pub path: String,
    pub text: String,
}

/// A skill that the agent has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    pub description: String,
    pub path: String,
    pub folder: String,
    pub source: SkillSource,
    /// The model is not told of it; only a user can call it.
    pub hidden_from_model: bool,
}

/// What decides whether a skill can work here.
pub struct Surroundings<'a> {
    pub config: &'a Config,
    pub platform: &'a str,
    pub has_program: &'a dyn Fn(&str) -> bool,
    pub has_variable: &'a dyn Fn(&str) -> bool,
}

impl<'a> Surroundings<'a> {
    /// What the configuration says of a skill.
    fn entry(&self, key: &str) -> Option<&'a SkillEntry> {
        self.config.skills.entries.as_ref()?.get(key)
    }
}

/// The skills of a session, as its record keeps them.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillsSnapshot {
    pub prompt: String,
    /// Every skill that can work here, with the variable that holds its key.
    pub skills: Vec<(String, Option<String>)>,
    /// Those of them that the model is told of.
    pub visible: Vec<Skill>,
    pub version: Option<f64>,
}

/// Takes the skills out of `files`, which stand in the order in which they were found
/// ([`finding_order`] within a folder).
///
/// `filter` names the skills that are wanted; an empty list wants none.
pub fn snapshot(
    files: &[SkillFile],
    surroundings: &Surroundings<'_>,
    filter: Option<&[String]>,
    remote_note: Option<&str>,
    version: Option<f64>,
) -> SkillsSnapshot {
    let wanted = |skill: &ReadSkill| {
        filter.is_none_or(|names| names.iter().any(|name| text::trim(name) == skill.skill.name))
    };
    let usable: Vec<ReadSkill> =
        merged(files).into_iter().filter(|skill| skill.works_in(surroundings)).filter(wanted).collect();
    let visible: Vec<Skill> =
        usable.iter().filter(|read| !read.only_for_users()).map(|read| read.skill.clone()).collect();
    let list = prompt(&visible);
    let prompt = match (remote_note.and_then(text::non_blank), list.is_empty()) {
        (Some(note), false) => format!("{note}\n{list}"),
        (Some(note), true) => note.to_owned(),
        (None, _) => list,
    };
    let skills =
        usable.into_iter().map(|read| (read.skill.name, read.requirements.primary_variable)).collect();
    SkillsSnapshot { prompt, skills, visible, version }
}

/// The skills among `names` that a person may call, and where each of them lies: also those that the model is
/// not told of, but none with `user-invocable: false`.
pub fn callable(files: &[SkillFile], names: &[&str]) -> Vec<Skill> {
    let mut skills = merged(files);
    skills.retain(|read| names.contains(&read.skill.name.as_str()) && read.may_be_called());
    skills.into_iter().map(|read| read.skill).collect()
}

/// The variables that the settings of the skills that work here ask for: `skills.entries.<key>.env`, and
/// `apiKey` under the name that the skill gives it. The first skill that names one decides.
pub fn variables(
    files: &[SkillFile],
    here: &Surroundings<'_>,
    filter: Option<&[String]>,
) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: &str| {
        let Some(value) = text::non_blank(value) else { return };
        if !found.iter().any(|(known, _)| known == name) {
            found.push((name.to_owned(), value.to_owned()));
        }
    };
    let is_wanted = |read: &ReadSkill| {
        filter.is_none_or(|names| names.iter().any(|name| text::trim(name) == read.skill.name))
    };
    for read in merged(files).into_iter().filter(|read| read.works_in(here) && is_wanted(read)) {
        let key = read.requirements.key.as_deref().unwrap_or(&read.skill.name);
        let Some(own) = here.entry(key) else { continue };
        for (name, value) in own.env.iter().flatten() {
            add(name, value);
        }
        if let (Some(name), Some(value)) = (&read.requirements.primary_variable, &own.api_key) {
            add(name, value);
        }
    }
    found
}

/// Whether the file at `path`, relative to a skills folder, holds a skill: `SKILL.md` in any folder
/// below, or any Markdown file at the top.
pub fn is_skill_file(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let skipped = parts.iter().any(|part| part.starts_with('.') || *part == "node_modules");
    match parts.as_slice() {
        [file] => !skipped && file.ends_with(".md"),
        [.., file] => !skipped && *file == "SKILL.md",
        [] => false,
    }
}

/// The order in which the files below a skills folder are found: folder by folder, by their names.
pub fn finding_order(one: &str, other: &str) -> Ordering {
    one.split('/').cmp(other.split('/'))
}

/// The part of the system prompt that lists skills; empty without any.
pub fn prompt(skills: &[Skill]) -> String {
    let visible: Vec<&Skill> = skills.iter().filter(|skill| !skill.hidden_from_model).collect();
    if visible.is_empty() {
        return String::new();
    }
    // The words are the reference's: a snapshot it took and one we took must read the same.
    let mut lines = vec![
        "\n\nThe following skills provide specialized instructions for specific tasks.".to_owned(),
        "Use the read tool to load a skill's file when the task matches its description.".to_owned(),
        "When a skill file references a relative path, resolve it against the skill directory (parent of SKILL.md / dirname of the path) and use that absolute path in tool commands.".to_owned(),
        String::new(),
        "<available_skills>".to_owned(),
    ];
    for skill in visible {
        lines.push("  <skill>".to_owned());
        for (tag, value) in
            [("name", &skill.name), ("description", &skill.description), ("location", &skill.path)]
        {
            lines.push(format!("    <{tag}>{}</{tag}>", escaped(value)));
        }
        lines.push("  </skill>".to_owned());
    }
    lines.push("</available_skills>".to_owned());
    lines.join("\n")
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            c => out.push(c),
        }
    }
    out
}

/// The name of the chat command for a skill.
pub fn command_name(skill: &str) -> String {
    const MAX_UNITS: usize = 32;
    let mut name = String::new();
    for c in text::lower(skill).chars() {
        if c.is_ascii_lowercase() || c.is_ascii_digit() {
            name.push(c);
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    let name = text::head(name.trim_matches('_'), MAX_UNITS).into_owned();
    if name.is_empty() { "skill".to_owned() } else { name }
}

struct ReadSkill {
    skill: Skill,
    front: FrontMatter,
    requirements: Requirements,
}

/// What a skill says it needs, in its `metadata`.
#[derive(Default)]
struct Requirements {
    key: Option<String>,
    primary_variable: Option<String>,
    always: bool,
    platforms: Vec<String>,
    programs: Vec<String>,
    any_program: Vec<String>,
    variables: Vec<String>,
    config: Vec<String>,
    emoji: Option<String>,
    homepage: Option<String>,
    /// Ways to get what is missing.
    install: Vec<Value>,
}

/// One skill a name; the first place a name was seen in decides its place.
fn merged(files: &[SkillFile]) -> Vec<ReadSkill> {
    let mut by_source: Vec<&SkillFile> = files.iter().collect();
    by_source.sort_by_key(|file| file.source);
    let mut skills: Vec<ReadSkill> = Vec::new();
    for read in by_source.into_iter().filter_map(ReadSkill::from_file) {
        match skills.iter_mut().find(|known| known.skill.name == read.skill.name) {
            Some(known) => *known = read,
            None => skills.push(read),
        }
    }
    skills
}

impl ReadSkill {
    /// `None` for a file without a description, which is what makes a skill.
    fn from_file(file: &SkillFile) -> Option<Self> {
        let (folder, _) = file.path.rsplit_once('/')?;
        let folder_name = folder.rsplit('/').next().unwrap_or(folder);
        let yaml = front_matter::yaml(&file.text)?;
        let description =
            yaml.get("description")?.as_str().filter(|text| text::non_blank(text).is_some())?.to_owned();
        let name = yaml
            .get("name")
            .filter(|name| json::truthy(name))
            .map_or(Some(folder_name), Value::as_str)?
            .to_owned();
        let front = FrontMatter::parse(&file.text);
        let requirements = front.get("metadata").and_then(Requirements::parse).unwrap_or_default();
        let skill = Skill {
            name,
            description,
            path: file.path.clone(),
            folder: folder.to_owned(),
            source: file.source,
            hidden_from_model: yaml.get("disable-model-invocation") == Some(&Value::Bool(true)),
        };
        Some(Self { skill, front, requirements })
    }

    fn only_for_users(&self) -> bool {
        self.front.flag("disable-model-invocation").unwrap_or(false)
    }

    fn may_be_called(&self) -> bool {
        self.front.flag("user-invocable").unwrap_or(true)
    }

    fn works_in(&self, here: &Surroundings<'_>) -> bool {
        let needs = &self.requirements;
        let key = needs.key.as_deref().unwrap_or(&self.skill.name);
        let own = here.entry(key);
        if own.is_some_and(|own| own.enabled == Some(false)) || !self.is_allowed(here.config, key) {
            return false;
        }
        if !needs.platforms.is_empty() && !needs.platforms.iter().any(|platform| platform == here.platform) {
            return false;
        }
        if needs.always {
            return true;
        }
        let gives = |name: &str| own.is_some_and(|own| gives_variable(own, needs, name));
        needs.programs.iter().all(|name| (here.has_program)(name))
            && (needs.any_program.is_empty() || needs.any_program.iter().any(|name| (here.has_program)(name)))
            && needs.variables.iter().all(|name| (here.has_variable)(name) || gives(name))
            && needs.config.iter().all(|path| here.config.is_on(path))
    }

    /// `skills.allowBundled` limits the skills that come with the program.
    fn is_allowed(&self, config: &Config, key: &str) -> bool {
        let allowed = config.skills.allow_bundled.iter().flatten();
        let names: Vec<&str> = allowed.filter_map(|name| text::non_blank(name)).collect();
        let is_bundled = self.skill.source == SkillSource::Bundled;
        !is_bundled || names.is_empty() || names.contains(&key) || names.contains(&self.skill.name.as_str())
    }
}

/// Whether the settings of a skill give a variable that it needs.
fn gives_variable(own: &SkillEntry, needs: &Requirements, name: &str) -> bool {
    let is_said = |text: &String| !text.is_empty();
    own.env.as_ref().and_then(|env| env.get(name)).is_some_and(is_said)
        || needs.primary_variable.as_deref() == Some(name) && own.api_key.as_ref().is_some_and(is_said)
}

impl Requirements {
    /// The part for us in a `metadata` value, which is JSON5.
    fn parse(metadata: &str) -> Option<Self> {
        let parsed = json::parse_json5(metadata)?;
        let ours = parsed.get("openclaw").filter(|ours| ours.is_object() || ours.is_array())?;
        let text_at = |name: &str| ours.get(name).and_then(Value::as_str).map(str::to_owned);
        let required = |name: &str| names(ours.get("requires").and_then(|requires| requires.get(name)));
        Some(Self {
            key: text_at("skillKey"),
            primary_variable: text_at("primaryEnv"),
            always: ours.get("always") == Some(&Value::Bool(true)),
            platforms: names(ours.get("os")),
            programs: required("bins"),
            any_program: required("anyBins"),
            variables: required("env"),
            config: required("config"),
            emoji: text_at("emoji"),
            homepage: text_at("homepage"),
            install: ours.get("install").and_then(Value::as_array).cloned().unwrap_or_default(),
        })
    }
}

fn names(list: Option<&Value>) -> Vec<String> {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    entries.filter_map(Value::as_str).filter_map(text::non_blank).map(str::to_owned).collect()
}

impl SkillSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Extra => "openclaw-extra",
            Self::Bundled => "openclaw-bundled",
            Self::Managed => "openclaw-managed",
            Self::Workspace => "openclaw-workspace",
        }
    }
}

impl SkillsSnapshot {
    /// The object that a record keeps (`sessions.md` §7).
    pub fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.insert("prompt".to_owned(), self.prompt.as_str().into());
        object.insert("skills".to_owned(), self.skills.iter().map(named).collect());
        object.insert("resolvedSkills".to_owned(), self.visible.iter().map(Skill::to_value).collect());
        object.extend(self.version.map(|version| ("version".to_owned(), json::number(version))));
        object
    }
}

fn named((name, variable): &(String, Option<String>)) -> Value {
    let mut object = Object::new();
    object.insert("name".to_owned(), name.as_str().into());
    object.extend(variable.as_deref().map(|variable| ("primaryEnv".to_owned(), variable.into())));
    Value::Object(object)
}

impl Skill {
    fn to_value(&self) -> Value {
        let mut object = Object::new();
        let texts = [
            ("name", self.name.as_str()),
            ("description", &self.description),
            ("filePath", &self.path),
            ("baseDir", &self.folder),
            ("source", self.source.as_str()),
        ];
        object.extend(texts.map(|(field, text)| (field.to_owned(), text.into())));
        object.insert("disableModelInvocation".to_owned(), self.hidden_from_model.into());
        Value::Object(object)
    }
}

/// Whether a session's snapshot is taken anew: on its first turn, and when the files have changed
/// since. `watched_version` counts their changes, 0 before the first.
pub fn needs_refresh(entry: &SessionEntry, is_new: bool, watched_version: f64) -> bool {
    let first_turn = is_new || entry.system_sent() != Some(true);
    let stored = entry.skills_snapshot().and_then(|snapshot| snapshot.get("version")?.as_f64());
    first_turn || (watched_version > 0.0 && stored.unwrap_or(0.0) < watched_version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(source: SkillSource, name: &str, front: &str) -> SkillFile {
        SkillFile {
            source,
            path: format!("/ws/{name}/SKILL.md"),
            text: format!("---\n{front}\n---\nBody.\n"),
        }
    }

    fn names(files: &[SkillFile], config: Value) -> Vec<String> {
        let here = Surroundings {
            config: &Config::new(config),
            platform: "linux",
            has_program: &|name| name == "sh",
            has_variable: &|_| false,
        };
        snapshot(files, &here, None, None, None).skills.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn a_skill_needs_what_it_says_it_needs() {
        let skill = |needs: &str| {
            let front = format!("name: k\ndescription: K.\nmetadata: {{\"openclaw\":{needs}}}");
            [file(SkillSource::Workspace, "k", &front)]
        };
        let table = [
            (r#"{"requires":{"bins":["sh"]}}"#, json!({}), true),
            (r#"{"requires":{"bins":["sh","zz"]}}"#, json!({}), false),
            (r#"{"requires":{"anyBins":["sh","zz"]}}"#, json!({}), true),
            (r#"{"requires":{"env":["K"]}}"#, json!({}), false),
            (
                r#"{"requires":{"env":["K"]}}"#,
                json!({"skills": {"entries": {"k": {"env": {"K": "x"}}}}}),
                true,
            ),
            (
                r#"{"primaryEnv":"K","requires":{"env":["K"]}}"#,
                json!({"skills": {"entries": {"k": {"apiKey": "x"}}}}),
                true,
            ),
            (r#"{"requires":{"config":["browser.enabled"]}}"#, json!({}), true),
            (r#"{"requires":{"config":["a.b"]}}"#, json!({"a": {"b": " "}}), false),
            (r#"{"os":["plan9"]}"#, json!({}), false),
            (r#"{"always":true,"requires":{"bins":["zz"]}}"#, json!({}), true),
        ];
        for (needs, config, works) in table {
            assert_eq!(names(&skill(needs), config), if works { vec!["k"] } else { vec![] }, "{needs}");
        }
    }

    #[test]
    fn people_call_also_what_the_model_is_not_told_of() {
        let files = [
            file(SkillSource::Workspace, "a", "name: a\ndescription: A.\ndisable-model-invocation: true"),
            file(SkillSource::Workspace, "b", "name: b\ndescription: B.\nuser-invocable: false"),
            file(SkillSource::Workspace, "c", "name: c\ndescription: C."),
        ];
        let called = callable(&files, &["a", "b"]);
        let called: Vec<(&str, &str)> =
            called.iter().map(|skill| (skill.name.as_str(), skill.path.as_str())).collect();
        assert_eq!(called, [("a", "/ws/a/SKILL.md")]);
    }

    #[test]
    fn the_settings_of_skills_that_work_become_variables() {
        let metadata = |needs: &str| format!("description: D.\nmetadata: {{\"openclaw\":{needs}}}");
        let files = [
            file(SkillSource::Workspace, "a", &metadata(r#"{"skillKey":"kay","primaryEnv":"A_KEY"}"#)),
            file(SkillSource::Workspace, "b", &metadata(r#"{"primaryEnv":"A_KEY"}"#)),
            file(SkillSource::Workspace, "gone", &metadata(r#"{"requires":{"bins":["zz"]}}"#)),
            file(SkillSource::Workspace, "off", &metadata("{}")),
        ];
        let config = Config::new(json!({"skills": {"entries": {
            "kay": {"apiKey": "one", "env": {"REGION": "north", "EMPTY": " ", "NUMBER": 3}},
            "b": {"apiKey": "two", "env": {"REGION": "south", "B": "b"}},
            "gone": {"env": {"GONE": "x"}},
            "off": {"enabled": false, "env": {"OFF": "x"}},
        }}}));
        let here = Surroundings {
            config: &config,
            platform: "linux",
            has_program: &|_| false,
            has_variable: &|_| false,
        };
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let all = [pair("REGION", "north"), pair("A_KEY", "one"), pair("B", "b")];
        assert_eq!(variables(&files, &here, None), all);
        let only_b = [pair("REGION", "south"), pair("B", "b"), pair("A_KEY", "two")];
        assert_eq!(variables(&files, &here, Some(&["b".to_owned()])), only_b);
    }

    #[test]
    fn a_later_source_replaces_a_skill_in_its_place() {
        let files = [
            file(SkillSource::Workspace, "b", "name: b\ndescription: own"),
            file(SkillSource::Managed, "m", "name: m\ndescription: managed"),
            file(SkillSource::Bundled, "b", "name: b\ndescription: bundled"),
        ];
        assert_eq!(names(&files, json!({})), ["b", "m"]);
    }

    #[test]
    fn a_snapshot_is_taken_on_the_first_turn_and_after_changes() {
        let entry = |value: Value| SessionEntry::new(value.as_object().unwrap().clone());
        let sent = entry(json!({"systemSent": true, "skillsSnapshot": {"version": 3}}));
        //  entry                           new    watched  taken
        let table = [
            (&entry(json!({})), false, 0.0, true),
            (&sent, true, 0.0, true),
            (&sent, false, 0.0, false),
            (&sent, false, 3.0, false),
            (&sent, false, 4.0, true),
            (&entry(json!({"systemSent": true})), false, 1.0, true),
        ];
        for (entry, is_new, watched, taken) in table {
            assert_eq!(needs_refresh(entry, is_new, watched), taken, "{entry:?} {is_new} {watched}");
        }
    }

    #[test]
    fn skill_files_are_found_by_their_names() {
        for (path, found) in [
            ("a/SKILL.md", true),
            ("a/b/SKILL.md", true),
            ("loose.md", true),
            ("a/x.md", false),
            (".a/SKILL.md", false),
        ] {
            assert_eq!(is_skill_file(path), found, "{path}");
        }
        let mut paths = ["b.md", "a.md", "a/z/SKILL.md", "a/SKILL.md", "B/SKILL.md"];
        paths.sort_by(|one, other| finding_order(one, other));
        assert_eq!(paths, ["B/SKILL.md", "a/SKILL.md", "a/z/SKILL.md", "a.md", "b.md"]);
    }
}
