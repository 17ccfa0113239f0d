//! `yabby models aliases`: short names for models.

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::config::agents::defaults::CatalogEntry;
use yabby_domain::json::{Object, Value};
use yabby_domain::text;
use yabby_store::config_file::edit::Edit;

use super::{Listing, edit, known, listed_at, one_form, shared_config, told_update};
use crate::setting::Setting;
use crate::terminal;
use crate::wire::models::{main_folder, offered};

#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  yabby models aliases\n  yabby models aliases add fast anthropic/claude-haiku-4-5\n  yabby models aliases remove fast"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: Listing,
}

#[derive(Subcommand)]
enum Command {
    /// List the short names
    #[command(after_help = "Examples:\n  yabby models aliases list\n  yabby models aliases list --json")]
    List(Listing),
    /// Give a model a short name
    #[command(after_help = "Examples:\n  yabby models aliases add fast anthropic/claude-haiku-4-5")]
    Add {
        /// Letters, digits, dots, underscores, colons and dashes
        alias: String,
        /// `provider/model`
        model: String,
    },
    /// Forget a short name
    #[command(after_help = "Examples:\n  yabby models aliases remove fast")]
    Remove {
        /// The short name
        alias: String,
    },
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        None => list(setting, &arguments.list),
        Some(Command::List(arguments)) => list(setting, arguments),
        Some(Command::Add { alias, model }) => add(setting, alias, model),
        Some(Command::Remove { alias }) => remove(setting, alias),
    }
}

/// Every short name with the key that it stands under; of two equal ones the later wins.
pub(super) fn all(config: &Config) -> Object {
    let models = config.agents.defaults.models.iter().flatten();
    let alias = |entry: &CatalogEntry| Some(text::non_blank(entry.alias.as_deref()?)?.to_owned());
    models.filter_map(|(key, entry)| Some((alias(entry)?, Value::from(key.as_str())))).collect()
}

fn list(setting: &Setting, arguments: &Listing) -> Result<()> {
    one_form(arguments.json, arguments.plain)?;
    let aliases = all(&setting.config()?);
    if arguments.json {
        return terminal::print_json(&json!({ "aliases": aliases }));
    }
    let arrow = if arguments.plain { "" } else { "-> " };
    let line =
        |(alias, model): (&String, &Value)| format!("{alias} {arrow}{}", model.as_str().unwrap_or_default());
    arguments.print("Aliases", aliases.iter().map(line).collect())
}

fn add(setting: &Setting, raw: &str, model: &str) -> Result<()> {
    let alias = checked(raw)?;
    let config = shared_config(setting)?;
    let model = known(model, &config, &offered(&setting.place, &config, &main_folder(&setting.place)))?;
    let model = model.to_string();
    if let Some(other) = all(&config).get(alias).and_then(Value::as_str).filter(|other| *other != model) {
        bail!("Alias {alias} already points to {other}.");
    }
    edit(setting, &[(listed_at(&model, ".alias")?, Edit::Set(alias.into()))])?;
    writeln!(
        anstream::stdout(),
        "{}\nAlias {alias} -> {}",
        told_update(setting),
        terminal::harmless(&model)
    )?;
    Ok(())
}

fn remove(setting: &Setting, raw: &str) -> Result<()> {
    let alias = checked(raw)?;
    let mut aliases = all(&setting.config()?);
    let Some(model) = aliases.shift_remove(alias) else { bail!("Alias not found: {alias}") };
    edit(setting, &[(listed_at(model.as_str().unwrap_or_default(), ".alias")?, Edit::Unset)])?;
    let mut out = anstream::stdout();
    writeln!(out, "{}", told_update(setting))?;
    if aliases.is_empty() {
        writeln!(out, "No aliases configured.")?;
    }
    Ok(())
}

fn checked(raw: &str) -> Result<&str> {
    let Some(alias) = text::non_blank(raw) else { bail!("Alias cannot be empty.") };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '-');
    if !alias.chars().all(is_plain) {
        bail!("Alias must use letters, numbers, dots, underscores, colons, or dashes.");
    }
    Ok(alias)
}
