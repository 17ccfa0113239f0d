//! `yabby models fallbacks` and `yabby models image-fallbacks`: who is asked next.

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use yabby_store::config_file::edit::Edit;

use super::{Configured, Listing, Slot, edit, known, listing, one_form, shared_config, told_update};
use crate::setting::Setting;
use crate::terminal;
use crate::wire::models::{main_folder, offered};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    list: Listing,
}

#[derive(Subcommand)]
enum Command {
    /// List them, in the order in which they are asked
    #[command(after_help = "Examples:\n  yabby models fallbacks list\n  yabby models fallbacks list --json")]
    List(Listing),
    /// Add one at the end
    #[command(after_help = "Examples:\n  yabby models fallbacks add openai/gpt-5.2")]
    Add {
        /// `provider/model`, or an alias
        model: String,
    },
    /// Remove one of them
    #[command(after_help = "Examples:\n  yabby models fallbacks remove openai/gpt-5.2")]
    Remove {
        /// `provider/model`, or an alias
        model: String,
    },
    /// Remove all of them
    #[command(after_help = "Examples:\n  yabby models fallbacks clear")]
    Clear,
}

impl Slot {
    fn heading(self) -> &'static str {
        match self {
            Self::Model => "Fallbacks",
            Self::Image => "Image fallbacks",
        }
    }

    /// One of them, at the beginning of a sentence.
    fn one(self) -> &'static str {
        match self {
            Self::Model => "Fallback",
            Self::Image => "Image fallback",
        }
    }

    fn fallbacks(self, configured: &Configured) -> Vec<String> {
        match self {
            Self::Model => configured.fallbacks.clone(),
            Self::Image => configured.image_fallbacks.clone(),
        }
    }
}

pub fn run(setting: &Setting, slot: Slot, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        None => list(setting, slot, &arguments.list),
        Some(Command::List(arguments)) => list(setting, slot, arguments),
        Some(Command::Add { model }) => add(setting, slot, model),
        Some(Command::Remove { model }) => remove(setting, slot, model),
        Some(Command::Clear) => clear(setting, slot),
    }
}

fn list(setting: &Setting, slot: Slot, arguments: &Listing) -> Result<()> {
    one_form(arguments.json, arguments.plain)?;
    let fallbacks = slot.fallbacks(&Configured::of(&setting.config()?));
    if arguments.json {
        return terminal::print_json(&json!({ "fallbacks": fallbacks }));
    }
    arguments.print(slot.heading(), fallbacks)
}

fn add(setting: &Setting, slot: Slot, raw: &str) -> Result<()> {
    let config = shared_config(setting)?;
    let model = known(raw, &config, &offered(&setting.place, &config, &main_folder(&setting.place)))?;
    let configured = Configured::of(&config);
    let mut fallbacks = slot.fallbacks(&configured);
    if !fallbacks.iter().any(|name| configured.resolve(name).as_ref() == Some(&model)) {
        fallbacks.push(model.to_string());
        let mut edits: Vec<_> = listing(&model, &configured)?.into_iter().collect();
        edits.push((slot.at("fallbacks")?, Edit::Set(json!(fallbacks))));
        edit(setting, &edits)?;
    }
    tell(setting, slot, &fallbacks)
}

fn remove(setting: &Setting, slot: Slot, raw: &str) -> Result<()> {
    let configured = Configured::of(&setting.config()?);
    let Some(model) = configured.resolve(raw) else { bail!("Invalid model reference: {raw}") };
    let mut fallbacks = slot.fallbacks(&configured);
    let before = fallbacks.len();
    fallbacks.retain(|name| configured.resolve(name).as_ref() != Some(&model));
    if fallbacks.len() == before {
        bail!("{} not found: {model}", slot.one());
    }
    edit(setting, &[(slot.at("fallbacks")?, Edit::Set(json!(fallbacks)))])?;
    tell(setting, slot, &fallbacks)
}

fn clear(setting: &Setting, slot: Slot) -> Result<()> {
    edit(setting, &[(slot.at("fallbacks")?, Edit::Set(json!([])))])?;
    writeln!(anstream::stdout(), "{}\n{} list cleared.", told_update(setting), slot.one())?;
    Ok(())
}

fn tell(setting: &Setting, slot: Slot, fallbacks: &[String]) -> Result<()> {
    let all = terminal::harmless(&fallbacks.join(", "));
    writeln!(anstream::stdout(), "{}\n{}: {all}", told_update(setting), slot.heading())?;
    Ok(())
}
