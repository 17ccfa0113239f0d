//! `yabby hooks list`: there are none (`cli.md` §17).

use std::io::Write as _;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;

use super::plugins::workspace;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(arg_required_else_help = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// List the hooks
    #[command(after_help = "Examples:\n  yabby hooks list\n  yabby hooks list --json")]
    List(List),
}

#[derive(Args)]
struct List {
    /// Only those that could run here
    #[arg(long)]
    eligible: bool,
    /// Say more
    #[arg(short, long)]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let Command::List(List { json, .. }) = &arguments.command;
    if *json {
        let folder = setting.place.folder.path().join("hooks").display().to_string();
        return terminal::print_json(
            &json!({"workspaceDir": workspace(setting)?, "managedHooksDir": folder, "hooks": []}),
        );
    }
    Ok(writeln!(anstream::stdout(), "No hooks found.")?)
}
