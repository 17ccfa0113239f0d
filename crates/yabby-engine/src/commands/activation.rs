//! `/activation`: whether a group is answered always, or only when it mentions the agent.

use yabby_domain::command::parse_activation;
use yabby_domain::session::entry::{Patch, SessionEntry};

use super::CommandContext;
use crate::turn::TurnError;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    let CommandContext { inbound, opened, words, recorded, .. } = context;
    if !inbound.target().is_group {
        return Ok("/activation is for groups: a direct chat is always answered.".to_owned());
    }
    let Some(wanted) = parse_activation(words).flatten() else {
        let now = opened.entry.group_activation().unwrap_or("as configured");
        return Ok(format!("Activation: {now}. Say /activation mention or /activation always."));
    };
    let change = move |_: &SessionEntry| {
        let mut patch = Patch::default();
        patch.set_group_activation(Some(wanted.as_str()));
        Some(patch)
    };
    opened.update(change, recorded).await?;
    Ok(format!("Activation: {}.", wanted.as_str()))
}
