//! `yabby models`: which models there are, which one answers, and whether it does (`cli.md` §13).

mod aliases;
mod fallbacks;
mod list;
mod probe;
mod set;
mod status;

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};
use clap::{Args, Subcommand};
use yabby_config::key_path::KeyPath;
use yabby_domain::config::Config;
use yabby_domain::config::agents::model_choice::ModelReference;
use yabby_domain::json::{Object, Value};
use yabby_domain::model::{ModelAliases, ModelRef};
use yabby_domain::text;
use yabby_models::presets;
use yabby_store::config_file::edit::{ConfigFile, Edit};

use super::config;
use crate::setting::Setting;
use crate::terminal;
use crate::wire::models::Offered;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    status: status::Arguments,
}

#[derive(Subcommand)]
enum Command {
    /// List models: those that the configuration names, or all that are known
    #[command(
        after_help = "Examples:\n  yabby models list\n  yabby models list --all --provider anthropic\n  yabby models list --all --local --plain"
    )]
    List(list::Arguments),
    /// Show which model answers, and where its key is
    #[command(
        after_help = "Examples:\n  yabby models status\n  yabby models status --plain\n  yabby models status --check || echo \"a key is missing\""
    )]
    Status(status::Arguments),
    /// Choose the model that answers
    #[command(
        after_help = "Examples:\n  yabby models set anthropic/claude-opus-4-5\n  yabby models set ollama/llama3.3\n  yabby models set offline/rules"
    )]
    Set {
        /// `provider/model`, or an alias
        model: String,
    },
    /// Choose the model that looks at pictures
    #[command(
        name = "set-image",
        after_help = "Examples:\n  yabby models set-image openai/gpt-5.2\n  yabby models set-image google/gemini-3-flash-preview"
    )]
    SetImage {
        /// `provider/model`, or an alias
        model: String,
    },
    /// Short names for models
    Aliases(aliases::Arguments),
    /// The models that are asked if the first one cannot answer
    #[command(
        after_help = "Examples:\n  yabby models fallbacks\n  yabby models fallbacks add openai/gpt-5.2\n  yabby models fallbacks remove openai/gpt-5.2\n  yabby models fallbacks clear"
    )]
    Fallbacks(fallbacks::Arguments),
    /// The models that are asked if the one for pictures cannot answer
    #[command(
        name = "image-fallbacks",
        after_help = "Examples:\n  yabby models image-fallbacks\n  yabby models image-fallbacks add openai/gpt-5.2\n  yabby models image-fallbacks clear"
    )]
    ImageFallbacks(fallbacks::Arguments),
    /// Ask a model something tiny, to see whether it answers and how fast
    #[command(
        after_help = "Examples:\n  yabby models probe\n  yabby models probe openai/gpt-5.2 --json\n  yabby models probe ollama/llama3.3 --timeout 5"
    )]
    Probe(probe::Arguments),
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        None => status::run(setting, &arguments.status),
        Some(Command::Status(arguments)) => status::run(setting, arguments),
        Some(Command::List(arguments)) => list::run(setting, arguments),
        Some(Command::Set { model }) => set::run(setting, Slot::Model, model),
        Some(Command::SetImage { model }) => set::run(setting, Slot::Image, model),
        Some(Command::Fallbacks(arguments)) => fallbacks::run(setting, Slot::Model, arguments),
        Some(Command::ImageFallbacks(arguments)) => fallbacks::run(setting, Slot::Image, arguments),
        Some(Command::Aliases(arguments)) => aliases::run(setting, arguments),
        Some(Command::Probe(arguments)) => probe::run(setting, arguments),
    }
}

/// What is printed has one form at a time.
fn one_form(json: bool, plain: bool) -> Result<()> {
    if json && plain {
        bail!("Choose either --json or --plain, not both.");
    }
    Ok(())
}

/// How a list is printed.
#[derive(Args)]
struct Listing {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print one on each line, and nothing else
    #[arg(long)]
    plain: bool,
}

impl Listing {
    /// Prints lines for a person, below a heading that counts them, or for a script.
    fn print(&self, heading: &str, lines: Vec<String>) -> Result<()> {
        let mut out = anstream::stdout().lock();
        if !self.plain {
            writeln!(out, "{heading} ({}):", lines.len())?;
        }
        if !self.plain && lines.is_empty() {
            writeln!(out, "- none")?;
        }
        let mark = if self.plain { "" } else { "- " };
        for line in lines {
            writeln!(out, "{mark}{}", terminal::harmless(&line))?;
        }
        Ok(())
    }
}

/// What a model is chosen for.
#[derive(Clone, Copy)]
enum Slot {
    Model,
    Image,
}

impl Slot {
    /// Where the configuration says it.
    fn at(self, field: &str) -> Result<KeyPath> {
        let slot = match self {
            Self::Model => "model",
            Self::Image => "imageModel",
        };
        Ok(KeyPath::parse(&format!("agents.defaults.{slot}.{field}"))?)
    }
}

/// The provider of a name without one, as in the reference.
const DEFAULT_PROVIDER: &str = "anthropic";

/// What the configuration says about models.
struct Configured {
    /// As it was written; empty if nothing is.
    primary: String,
    fallbacks: Vec<String>,
    image: String,
    image_fallbacks: Vec<String>,
    /// The keys of `agents.defaults.models`.
    listed: Vec<String>,
    aliases: ModelAliases,
}

impl Configured {
    fn of(config: &Config) -> Self {
        let (primary, fallbacks) = choice(config.agents.defaults.model.as_ref());
        let (image, image_fallbacks) = choice(config.agents.defaults.image_model.as_ref());
        let listed = config.agents.defaults.models.iter().flatten();
        Self {
            primary,
            fallbacks,
            image,
            image_fallbacks,
            listed: listed.map(|(name, _)| name.clone()).collect(),
            aliases: ModelAliases::from_config(config, DEFAULT_PROVIDER),
        }
    }

    /// The model that a name means.
    fn resolve(&self, raw: &str) -> Option<ModelRef> {
        Some(self.aliases.resolve(raw, DEFAULT_PROVIDER)?.0)
    }
}

/// A model and what follows it, as they were written: a name, or `{ primary, fallbacks }`.
fn choice(model: Option<&ModelReference>) -> (String, Vec<String>) {
    let primary = model.and_then(ModelReference::primary).and_then(text::non_blank);
    let fallbacks = model.and_then(ModelReference::fallbacks).into_iter().flatten();
    let fallbacks = fallbacks.filter_map(|name| text::non_blank(name)).map(str::to_owned);
    (primary.unwrap_or_default().to_owned(), fallbacks.collect())
}

/// The model that is meant, if there could be one of that name.
fn known(raw: &str, config: &Config, offered: &[Offered]) -> Result<ModelRef> {
    let model =
        Configured::of(config).resolve(raw).ok_or_else(|| anyhow!("Invalid model reference: {raw}"))?;
    let beside: Vec<&str> = offered
        .iter()
        .filter(|known| known.model.provider == model.provider)
        .map(|known| known.model.model.as_str())
        .collect();
    if beside.contains(&model.model.as_str()) {
        return Ok(model);
    }
    let preset = presets::preset(&model.provider);
    if beside.is_empty() && preset.is_none() {
        let providers = offered.iter().map(|known| known.model.provider.as_str());
        let servers = presets::ALL.iter().map(|preset| preset.id);
        let providers: BTreeSet<&str> = providers.chain(servers).collect();
        let providers: Vec<&str> = providers.into_iter().collect();
        return Err(anyhow!(
            "There is no provider \"{}\". There are: {}. Another one is described in `models.providers.{}`.",
            model.provider,
            providers.join(", "),
            model.provider
        ));
    }
    // Nobody has a list of what runs on a server of one's own, or behind a service that passes on to many.
    let has_any =
        preset.is_some_and(|preset| !preset.needs_key || preset.id == "openrouter" || beside.is_empty());
    if has_any {
        return Ok(model);
    }
    if !raw.contains('/') {
        return Err(unknown_name(raw, offered));
    }
    Err(anyhow!(
        "{} is not known to have a model \"{}\". It has: {}. If it is newer than this program, `yabby config set agents.defaults.model.primary {model}` takes it all the same.",
        model.provider,
        model.model,
        nearest(&model.model, &beside).join(", "),
    ))
}

/// A name without a provider that no model has: those of other providers that have it, or nearly.
fn unknown_name(raw: &str, offered: &[Offered]) -> anyhow::Error {
    let named = text::lower(text::trim(raw));
    let is_alike = |known: &&Offered| text::lower(&known.model.model).contains(&named);
    let alike: Vec<String> =
        offered.iter().filter(is_alike).map(|known| known.model.to_string()).take(12).collect();
    match alike.is_empty() {
        true => anyhow!(
            "There is no model \"{raw}\". `yabby models list --all` shows those that are known; name one as provider/model."
        ),
        false => anyhow!("There is no model \"{raw}\". Did you mean {}?", alike.join(", ")),
    }
}

/// Those names that begin most like this one, if there are too many to tell them all.
fn nearest<'n>(name: &str, known: &[&'n str]) -> Vec<&'n str> {
    const MOST: usize = 12;
    let common =
        |other: &str| name.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let mut nearest = known.to_vec();
    nearest.sort_by_key(|other| std::cmp::Reverse(common(other)));
    nearest.truncate(MOST);
    nearest
}

/// The place of a model's settings in the configuration.
fn listed_at(model: &str, below: &str) -> Result<KeyPath> {
    let mut key = String::new();
    for c in model.chars() {
        if matches!(c, '.' | '[' | '\\') {
            key.push('\\');
        }
        key.push(c);
    }
    Ok(KeyPath::parse(&format!("agents.defaults.models.{key}{below}"))?)
}

/// A model becomes one of those that may be used, where there is a list of them. Where there is none, a
/// list of one would forbid all others.
fn listing(model: &ModelRef, configured: &Configured) -> Result<Option<(KeyPath, Edit)>> {
    let is_it = |name: &String| ModelRef::parse(name, DEFAULT_PROVIDER).as_ref() == Some(model);
    if configured.listed.is_empty() || configured.listed.iter().any(is_it) {
        return Ok(None);
    }
    Ok(Some((listed_at(&model.to_string(), "")?, Edit::Set(Value::Object(Object::new())))))
}

/// Changes the configuration, in one go.
fn edit(setting: &Setting, edits: &[(KeyPath, Edit)]) -> Result<()> {
    let last = edits.last().map(|(path, _)| path.segments().join(".")).unwrap_or_default();
    config::report(setting, ConfigFile::of(&setting.place).edit_all(edits), &last)
}

fn told_update(setting: &Setting) -> String {
    format!("Updated {}", setting.place.shortened(&setting.place.config))
}

/// The configuration to run with, to be shared.
fn shared_config(setting: &Setting) -> Result<Arc<Config>> {
    Ok(Arc::new(setting.config()?))
}
