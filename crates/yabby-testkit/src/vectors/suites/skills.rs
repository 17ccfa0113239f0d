//! `skills.json`.

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::json::{Object, Value};
use yabby_domain::skills::{
    Skill, SkillFile, SkillSource, Surroundings, command_name, finding_order, is_skill_file, prompt, snapshot,
};

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "skills.json", cases: rows, answer, differences: &[] };

fn answer(case: &Case) -> Option<Value> {
    Some(match case.rule.as_str() {
        "buildWorkspaceSkillSnapshot" => taken(case),
        "formatSkillsForPrompt" => {
            let skills: Vec<Skill> =
                case.arg("skills").as_array().into_iter().flatten().map(recorded_skill).collect();
            json!(prompt(&skills))
        }
        "sanitizeSkillCommandName" => json!(command_name(case.text("raw").unwrap_or(""))),
        _ => return None,
    })
}

/// The recorded runs were on a Linux with these few programs and variables.
fn taken(case: &Case) -> Value {
    let config = Config::new(case.arg("config").clone());
    let here = Surroundings {
        config: &config,
        platform: "linux",
        has_program: &|name| matches!(name, "sh" | "ls" | "cat" | "node"),
        has_variable: &|name| matches!(name, "PATH" | "HOME"),
    };
    let filter: Option<Vec<String>> = case
        .arg("skillFilter")
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect());
    let version = case.arg("snapshotVersion").as_f64();
    let result = snapshot(&files(case), &here, filter.as_deref(), case.text("remoteNote"), version);
    Value::Object(result.to_object())
}

fn files(case: &Case) -> Vec<SkillFile> {
    let empty = Object::new();
    let mut files = Vec::new();
    for (path, text) in case.arg("files").as_object().unwrap_or(&empty) {
        let places = [(".managed/", SkillSource::Managed), ("skills/", SkillSource::Workspace)];
        for (folder, source) in places {
            if path.strip_prefix(folder).is_some_and(is_skill_file) {
                let text = text.as_str().unwrap_or_default().to_owned();
                files.push(SkillFile { source, path: format!("$WORKSPACE/{path}"), text });
            }
        }
    }
    files.sort_by(|one, other| finding_order(&one.path, &other.path));
    files
}

fn recorded_skill(value: &Value) -> Skill {
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    Skill {
        name: text("name"),
        description: text("description"),
        path: text("filePath"),
        folder: text("baseDir"),
        source: SkillSource::Workspace,
        hidden_from_model: value["disableModelInvocation"].as_bool().unwrap_or(false),
    }
}
