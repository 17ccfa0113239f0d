//! `/skill name words`, or `/name words`: the agent is to use a skill for this.

use yabby_domain::json::Value;
use yabby_domain::skills::{Skill, callable, command_name};
use yabby_domain::text;

use crate::turn::open::Opened;

/// What the agent is told, if the words call a skill; `Err` tells what is wrong with the call.
pub(crate) async fn called(opened: &Opened, words: &str) -> Option<Result<String, String>> {
    let line = words.strip_prefix('/')?;
    let (name, rest) = split(line);
    let skills = skills(opened).await;
    if text::lower(name) != "skill" {
        let found = skills.iter().find(|known| command_name(&known.name) == text::lower(name))?;
        return Some(Ok(request(found, rest)));
    }
    let (wanted, rest) = split(rest);
    let names = || skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>().join(", ");
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

fn find<'s>(skills: &'s [Skill], wanted: &str) -> Option<&'s Skill> {
    text::non_blank(wanted)?;
    let exact = || skills.iter().find(|skill| skill.name == wanted);
    let wanted_name = command_name(wanted);
    exact().or_else(|| skills.iter().find(|skill| command_name(&skill.name) == wanted_name))
}

/// The skills of the session that people may call. Where each of them lies the record does not tell: it leaves
/// out those that are for people only.
async fn skills(opened: &Opened) -> Vec<Skill> {
    let Some(snapshot) = opened.entry.skills_snapshot() else { return Vec::new() };
    let listed = snapshot.get("skills").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<&str> = listed.filter_map(|skill| skill.get("name")?.as_str()).collect();
    callable(&opened.home.shelf.skills(&opened.config).await, &names)
}

fn request(skill: &Skill, words: &str) -> String {
    let asked = if words.is_empty() { String::new() } else { format!("\n\n{words}") };
    format!("Use the skill \"{}\" ({}) for this: read it first.{asked}", skill.name, skill.path)
}
