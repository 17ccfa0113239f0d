//! `/approve`: whether a command that waits may run.

use yabby_domain::seam::office::Decision;
use yabby_domain::text;

use super::CommandContext;
use crate::turn::TurnError;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    let CommandContext { engine, inbound, rest, .. } = context;
    if !inbound.is_owner() {
        return Ok("Only the owner may allow commands.".to_owned());
    }
    let mut words = rest.split(text::is_space).filter(|word| !word.is_empty());
    let (Some(id), Some(word), None) = (words.next(), words.next(), words.next()) else {
        return Ok(usage(engine.open_questions().len()));
    };
    let Some(decision) = decision(&text::lower(word)) else {
        return Ok(usage(engine.open_questions().len()));
    };
    Ok(match (engine.decide(id, decision), decision) {
        (false, _) => {
            format!("Nothing waits under {id}. It may have been answered, or nobody answered in time.")
        }
        (true, Decision::Once) => "It may run this once.".to_owned(),
        (true, Decision::Always) => "It may run from now on.".to_owned(),
        (true, Decision::Deny | Decision::Unanswered) => "It will not run.".to_owned(),
    })
}

fn decision(word: &str) -> Option<Decision> {
    Some(match word {
        "once" | "allow-once" | "allow" | "yes" => Decision::Once,
        "always" | "allow-always" => Decision::Always,
        "deny" | "no" | "reject" | "block" => Decision::Deny,
        _ => return None,
    })
}

fn usage(open: usize) -> String {
    format!("Say /approve, the name of the question, and once, always or deny. Questions that wait: {open}.")
}
