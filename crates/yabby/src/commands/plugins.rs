//! `yabby plugins list`: there are none, and there is nothing that one could be (`cli.md` §17).

use std::io::Write as _;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use yabby_domain::agent;

use crate::book::Book;
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
    /// List the plugins
    #[command(after_help = "Examples:\n  yabby plugins list\n  yabby plugins list --json")]
    List(List),
}

#[derive(Args)]
struct List {
    /// Only those that are switched on
    #[arg(long)]
    enabled: bool,
    /// Say more
    #[arg(long)]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    // A configuration that is invalid stops this as anything else, though there is nothing to read in it.
    setting.config()?;
    let Command::List(List { json, .. }) = &arguments.command;
    if *json {
        return terminal::print_json(
            &json!({"workspaceDir": workspace(setting)?, "plugins": [], "diagnostics": []}),
        );
    }
    writeln!(
        anstream::stdout(),
        "Plugins (0/0 loaded)\nyabby loads no code of others: what a plugin brings there is built in, or an MCP server here."
    )?;
    Ok(())
}

/// Where the default agent works.
pub(super) fn workspace(setting: &Setting) -> Result<Option<String>> {
    let book = Book::open(setting)?;
    let agents = book.with_folders(|folders| agent::agents(book.config(), folders));
    Ok(agents.into_iter().find(|agent| agent.is_default).map(|agent| agent.workspace))
}
