//! Model references, aliases and the allowed set (`sessions.md` §15).

pub mod choice;
pub mod reset_hint;
pub mod select;

use crate::config::Config;
use crate::config::agents::defaults::CatalogEntry;
use crate::config::agents::model_choice::ModelReference;
use crate::text;
use crate::unique::unique;

pub use yabby_base::model_ref::{ModelRef, normalize_provider};

/// A model the catalogue knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogModel {
    pub model: ModelRef,
    pub reasoning: bool,
}

/// Short names for models: `agents.defaults.models[*].alias`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelAliases(Vec<Alias>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// As the user wrote it.
    pub name: String,
    pub model: ModelRef,
}

/// The models a user may switch to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowedModels {
    /// No list limits the choice.
    pub any: bool,
    /// Known models in order, without repetition.
    pub models: Vec<ModelRef>,
    /// Those of them that the catalogue knows.
    pub catalog: Vec<CatalogModel>,
}

impl ModelAliases {
    pub fn from_config(config: &Config, default_provider: &str) -> Self {
        let alias = |(key, entry): (&String, &CatalogEntry)| {
            let model = ModelRef::parse(key, default_provider)?;
            let name = text::non_blank(entry.alias.as_deref()?)?.to_owned();
            Some(Alias { name, model })
        };
        Self(config.agents.defaults.models.iter().flatten().filter_map(alias).collect())
    }

    /// The model behind a short name, in any case. Of two equal names the later wins.
    pub fn find(&self, name: &str) -> Option<&Alias> {
        let key = text::lower(text::trim(name));
        self.0.iter().rev().find(|alias| text::lower(&alias.name) == key)
    }

    /// The short names of a model, in the order of the file.
    pub fn names_of(&self, model: &ModelRef) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |alias| alias.model == *model).map(|alias| alias.name.as_str())
    }

    /// Every short name of the file, in its order.
    pub fn all(&self) -> &[Alias] {
        &self.0
    }

    /// Every short name that is in force, with the one that comes first deciding its place.
    pub fn in_force(&self) -> impl Iterator<Item = &Alias> {
        let first = |at: usize, alias: &Alias| {
            let same = |other: &Alias| text::lower(&other.name) == text::lower(&alias.name);
            !self.0[..at].iter().any(same)
        };
        self.0
            .iter()
            .enumerate()
            .filter(move |(at, alias)| first(*at, alias))
            .filter_map(|(_, alias)| self.find(&alias.name))
    }

    /// A short name or a reference.
    pub fn resolve(&self, raw: &str, default_provider: &str) -> Option<(ModelRef, Option<&Alias>)> {
        let raw = text::non_blank(raw)?;
        let alias = if raw.contains('/') { None } else { self.find(raw) };
        match alias {
            Some(alias) => Some((alias.model.clone(), Some(alias))),
            None => ModelRef::parse(raw, default_provider).map(|model| (model, None)),
        }
    }
}

/// The model that the configuration names for all agents, else the given default.
pub fn configured_model(config: &Config, default: &ModelRef) -> ModelRef {
    let raw = config.agents.defaults.model.as_ref().and_then(ModelReference::primary);
    let Some(raw) = raw.and_then(text::non_blank) else {
        return default.clone();
    };
    let aliases = ModelAliases::from_config(config, &default.provider);
    match aliases.find(raw).filter(|_| !raw.contains('/')) {
        Some(alias) => alias.model.clone(),
        // A bare name has always meant this provider, whatever the default is.
        None if !raw.contains('/') => ModelRef::new("anthropic", raw),
        None => ModelRef::parse(raw, &default.provider).unwrap_or_else(|| default.clone()),
    }
}

/// What the configuration calls a model, else its id.
pub fn name_of(config: &Config, model: &ModelRef) -> String {
    let providers = config.models.providers.iter().flatten();
    let models = providers
        .filter(|(name, _)| normalize_provider(name) == model.provider)
        .flat_map(|(_, provider)| &provider.models);
    let mut named = models.filter(|entry| *entry.id == *model.model && !entry.name.is_empty());
    named.next().map_or(model.model.as_str(), |entry| &entry.name).to_owned()
}

/// Whether a provider is a program on this machine rather than a service.
pub fn is_cli_provider(provider: &str, config: &Config) -> bool {
    let name = normalize_provider(provider);
    let backends = config.agents.defaults.cli_backends.as_ref();
    matches!(name.as_str(), "claude-cli" | "codex-cli")
        || backends.is_some_and(|backends| backends.keys().any(|key| normalize_provider(key) == name))
}

impl AllowedModels {
    /// The keys of `agents.defaults.models` are the list; without one, everything known is allowed.
    pub fn from_config(
        config: &Config,
        catalog: &[CatalogModel],
        default_provider: &str,
        default_model: &str,
    ) -> Self {
        let default = text::non_blank(default_model).filter(|_| !default_provider.is_empty());
        let default = default.map(|model| ModelRef::new(default_provider, model));
        let known: Vec<ModelRef> = catalog.iter().map(|entry| entry.model.clone()).collect();
        let everything = || {
            let models = unique(known.iter().cloned().chain(default.clone()));
            Self { any: true, models, catalog: catalog.to_vec() }
        };
        let Some(listed) = config.agents.defaults.models.as_ref().filter(|listed| !listed.is_empty()) else {
            return everything();
        };
        let has_provider = |model: &ModelRef| {
            let provider = normalize_provider(&model.provider);
            config.models.providers.as_ref().is_some_and(|providers| providers.contains_key(&provider))
        };
        let usable = |model: &ModelRef| {
            is_cli_provider(&model.provider, config) || known.contains(model) || has_provider(model)
        };
        let wanted = listed.keys().filter_map(|key| ModelRef::parse(key, default_provider)).filter(usable);
        let models = unique(wanted.chain(default.clone()));
        if models.is_empty() {
            return everything();
        }
        let catalog = catalog.iter().filter(|entry| models.contains(&entry.model)).cloned().collect();
        Self { any: false, models, catalog }
    }

    pub fn allows(&self, model: &ModelRef) -> bool {
        self.any || self.models.contains(model)
    }
}

/// Why a model cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("invalid model: empty")]
    Empty,
    #[error("invalid model: {0}")]
    Invalid(String),
    #[error("model not allowed: {0}")]
    NotAllowed(ModelRef),
}

/// The allowed model that `raw` names.
pub fn allowed_model(
    raw: &str,
    aliases: &ModelAliases,
    allowed: &AllowedModels,
    default_provider: &str,
) -> Result<ModelRef, ModelError> {
    let raw = text::non_blank(raw).ok_or(ModelError::Empty)?;
    let (model, _) =
        aliases.resolve(raw, default_provider).ok_or_else(|| ModelError::Invalid(raw.to_owned()))?;
    if allowed.allows(&model) { Ok(model) } else { Err(ModelError::NotAllowed(model)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_reference_has_a_provider_and_a_model() {
        let table = [
            ("openai/gpt-5.2", Some("openai/gpt-5.2")),
            (" Z.ai / glm ", Some("zai/glm")),
            ("Opus-4.5", Some("anthropic/claude-opus-4-5")),
            ("google/gemini-3-pro", Some("google/gemini-3-pro-preview")),
            ("a/b/c", Some("a/b/c")),
            ("/x", None),
            ("x/", None),
            (" ", None),
        ];
        for (raw, model) in table {
            let parsed = ModelRef::parse(raw, "anthropic").map(|model| model.to_string());
            assert_eq!(parsed.as_deref(), model, "{raw}");
        }
    }

    #[test]
    fn only_listed_models_that_can_be_reached_are_allowed() {
        let config = Config::new(json!({
            "agents": {"defaults": {"models": {"openai/gpt-5.2": {"alias": "GPT"}, "nope/x": {}, "claude-cli/opus": {}, "own/m": {}}}},
            "models": {"providers": {"own": {}}},
        }));
        let allowed = AllowedModels::from_config(&config, &[], "anthropic", "claude-opus-4-5");
        let models: Vec<String> = allowed.models.iter().map(ModelRef::to_string).collect();
        assert_eq!(models, ["claude-cli/opus", "own/m", "anthropic/claude-opus-4-5"]);
        let aliases = ModelAliases::from_config(&config, "anthropic");
        assert_eq!(
            aliases.find(" gpt ").map(|alias| alias.model.to_string()).as_deref(),
            Some("openai/gpt-5.2")
        );
    }
}
