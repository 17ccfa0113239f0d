//! `yabby hooks list`: there are none (`cli.md` §17).

use std::io::Write as _;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;

use super::plugins::workspace;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// List the hooks
    #[command(after_help = "Examples:\n  yabby hooks list\n  yabby hooks list --json")]
    List(List),
}

#[derive(Args, Default)]
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
    // A configuration that is invalid stops this as anything else, though there is nothing to read in it.
    setting.config()?;
    // As the reference: the list is what there is to see.
    let usual = Command::List(List::default());
    let Command::List(List { eligible, json, .. }) = arguments.command.as_ref().unwrap_or(&usual);
    if *json {
        let folder = setting.place.folder.path().join("hooks").display().to_string();
        return terminal::print_json(
            &json!({"workspaceDir": workspace(setting)?, "managedHooksDir": folder, "hooks": []}),
        );
    }
    let told = match eligible {
        true => format!("No eligible hooks found. Run `{}` to see all hooks.", setting.command("hooks list")),
        false => "No hooks found.".to_owned(),
    };
    Ok(writeln!(anstream::stdout(), "{told}")?)
}
