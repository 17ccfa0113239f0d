//! `/whoami`: who the sender is here, and what they may do.

use super::CommandContext;
use crate::turn::TurnError;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    let inbound = context.inbound;
    let sender = inbound.message.sender();
    let mut lines = vec![format!(
        "You are {}.",
        sender.label().unwrap_or_else(|| "the person at this terminal".to_owned())
    )];
    lines.extend(inbound.channel().map(|channel| format!("Channel: {channel}")));
    lines.extend(inbound.authority().sender.as_ref().map(|id| format!("Id: {id}")));
    lines.push(format!("Session: {}", inbound.key()));
    let role = match (inbound.authority().is_owner, inbound.authority().is_authorized) {
        (true, _) => "an owner",
        (false, true) => "somebody who may give commands",
        (false, false) => "a guest",
    };
    lines.push(format!("You are {role}."));
    Ok(lines.join("\n"))
}
