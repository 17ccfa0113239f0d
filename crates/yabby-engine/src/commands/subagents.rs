//! `/subagents`: what works for this session in the background.

use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;

use super::CommandContext;
use crate::Engine;
use crate::turn::TurnError;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    let CommandContext { engine, inbound, rest, .. } = context;
    let at_work = engine.subagents_of(inbound.key()).await;
    let mut words = rest.split(text::is_space).filter(|word| !word.is_empty());
    match (words.next().map(text::lower).as_deref(), words.next()) {
        (None | Some("list"), _) => list(engine, &at_work).await,
        (Some("stop"), Some(which)) => {
            let chosen: Vec<&SessionKey> = match which {
                "all" => at_work.iter().collect(),
                which => chosen(&at_work, which).into_iter().collect(),
            };
            let mut stopped = 0;
            for key in chosen {
                stopped += usize::from(engine.abort(key).await);
            }
            Ok(format!("Stopped: {stopped}."))
        }
        _ => Ok("Say /subagents list, or /subagents stop and a number, an id or all.".to_owned()),
    }
}

fn chosen<'k>(at_work: &'k [SessionKey], which: &str) -> Option<&'k SessionKey> {
    let number = which.trim_start_matches('#').parse::<usize>().ok().filter(|number| *number > 0);
    let by_id = || at_work.iter().find(|key| key.as_str().contains(&format!(":subagent:{which}")));
    number.and_then(|number| at_work.get(number - 1)).or_else(by_id)
}

async fn list(engine: &Engine, at_work: &[SessionKey]) -> Result<String, TurnError> {
    if at_work.is_empty() {
        return Ok("Nothing works in the background for this session.".to_owned());
    }
    let mut lines = Vec::new();
    for (number, key) in at_work.iter().enumerate() {
        let home = engine.home(&key.agent_id())?;
        let entry = home.sessions.get(key).await?;
        let label = entry.as_ref().and_then(SessionEntry::label).unwrap_or("without a name");
        lines.push(format!("{}. {label} ({key})", number + 1));
    }
    Ok(lines.join("\n"))
}
