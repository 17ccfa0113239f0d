//! `/help`: what can be said.

use std::future::{Ready, ready};

use super::{COMMANDS, CommandContext, SETTINGS};
use crate::turn::TurnError;

/// Not `async`: it reads the table that it stands in.
pub(crate) fn answer(_: CommandContext<'_>) -> Ready<Result<String, TurnError>> {
    ready(Ok(text()))
}

fn text() -> String {
    let commands = COMMANDS.iter().filter(|command| command.name != "commands");
    let commands = commands.map(|command| (command.usage, command.does));
    let lines = commands.chain(SETTINGS.iter().copied()).map(|(usage, does)| format!("{usage} — {does}"));
    lines.collect::<Vec<_>>().join("\n")
}
