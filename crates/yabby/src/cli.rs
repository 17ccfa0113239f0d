//! What the command line looks like.

use clap::{Parser, Subcommand};

use crate::commands::history;

#[derive(Parser)]
#[command(
    name = "yabby",
    version,
    about = "A personal-assistant gateway in one binary",
    arg_required_else_help = true
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Read a conversation
    #[command(
        after_help = "Examples:\n  yabby history\n  yabby history ~/.openclaw/agents/main/sessions/<id>.jsonl\n  yabby history --json | jq '.messages[].role'"
    )]
    History(history::Arguments),
}
