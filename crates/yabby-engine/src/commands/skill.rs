//! `/skill name words`, or `/name words`: the agent is to use a skill for this.

use yabby_domain::json::Value;
use yabby_domain::skills::command_name;
use yabby_domain::text;

use crate::turn::open::Opened;

/// What the agent is told, if the words call a skill; `Err` tells what is wrong with the call.
pub(crate) fn called(opened: &Opened, words: &str) -> Option<Result<String, String>> {
    let line = words.strip_prefix('/')?;
    let (name, rest) = split(line);
    let skills = skills(opened);
    if text::lower(name) != "skill" {
        let found = skills.iter().find(|(known, _)| command_name(known) == text::lower(name))?;
        return Some(Ok(request(found, rest)));
    }
    let (wanted, rest) = split(rest);
    let names = || skills.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
    Some(match find(&skills, wanted) {
        Some(found) => Ok(request(found, rest)),
        None if skills.is_empty() => {
            Err("There are no skills here. `yabby skills check` tells what is missing.".to_owned())
        }
        None if wanted.is_empty() => {
            Err(format!("Say /skill, the name of a skill, and what it is for. There are: {}.", names()))
        }
        None => Err(format!("There is no skill {wanted:?} here. There are: {}.", names())),
    })
}

fn split(line: &str) -> (&str, &str) {
    let end = line.find(text::is_space).unwrap_or(line.len());
    (&line[..end], text::trim(&line[end..]))
}

fn find<'s>(skills: &'s [(String, Option<String>)], wanted: &str) -> Option<&'s (String, Option<String>)> {
    let wanted = command_name(wanted);
    skills.iter().find(|(name, _)| command_name(name) == wanted)
}

/// Every skill of the session, and where the model finds it.
fn skills(opened: &Opened) -> Vec<(String, Option<String>)> {
    let Some(snapshot) = opened.entry.skills_snapshot() else { return Vec::new() };
    let list = |field: &str| snapshot.get(field).and_then(Value::as_array).into_iter().flatten();
    let text = |skill: &Value, field: &str| skill.get(field).and_then(Value::as_str).map(str::to_owned);
    let path = |name: &str| {
        let mut resolved = list("resolvedSkills");
        resolved
            .find(|skill| skill.get("name").and_then(Value::as_str) == Some(name))
            .and_then(|skill| text(skill, "filePath"))
    };
    list("skills").filter_map(|skill| text(skill, "name")).map(|name| (name.clone(), path(&name))).collect()
}

fn request((name, path): &(String, Option<String>), words: &str) -> String {
    let place = path.as_deref().map(|path| format!(" ({path})")).unwrap_or_default();
    let asked = if words.is_empty() { String::new() } else { format!("\n\n{words}") };
    format!("Use the skill \"{name}\"{place} for this: read it first.{asked}")
}
