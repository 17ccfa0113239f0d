//! Choosing a model by what somebody typed: exact names first, then the closest (`sessions.md` §15).

use std::cmp::Reverse;

use crate::collation;
use crate::model::{ModelAliases, ModelRef, normalize_provider};
use crate::text;

/// A model somebody chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub model: ModelRef,
    pub is_default: bool,
    pub alias: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    #[error(
        "Unrecognized model \"{0}\". Use /models to list providers, or /models <provider> to list models."
    )]
    Unrecognized(String),
    #[error(
        "Model \"{0}\" is not allowed. Use /models to list providers, or /models <provider> to list models."
    )]
    NotAllowed(ModelRef),
}

/// What there is to choose from.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a> {
    pub default: &'a ModelRef,
    pub aliases: &'a ModelAliases,
    /// `provider/model` texts; empty means that anything may be chosen.
    pub allowed: &'a [String],
}

/// How close a model is to what was typed; higher is closer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closeness {
    pub score: i32,
    pub is_default: bool,
    /// Words such as `mini` in the model's name, and how many of them were typed.
    pub variants: usize,
    pub variants_typed: usize,
    pub model_units: usize,
    pub key: String,
}

impl Choices<'_> {
    /// The model that `raw` names, or the one that it most likely means.
    pub fn select(&self, raw: &str) -> Result<Selection, SelectError> {
        let raw = text::trim(raw);
        let Some((model, alias)) = self.aliases.resolve(raw, &self.default.provider) else {
            return self.closest(None, raw).ok_or_else(|| SelectError::Unrecognized(raw.to_owned()));
        };
        if self.is_allowed(&model) {
            let alias = alias.map(|alias| alias.name.clone());
            return Ok(Selection { is_default: model == *self.default, model, alias });
        }
        let of_provider = || {
            let (provider, rest) = raw.split_once('/')?;
            let provider = Some(normalize_provider(provider)).filter(|name| !name.is_empty());
            self.closest(provider.as_deref(), rest)
        };
        of_provider().or_else(|| self.closest(None, raw)).ok_or(SelectError::NotAllowed(model))
    }

    /// The model that `raw` names exactly, if it may be chosen.
    pub fn exact(&self, raw: &str) -> Option<Selection> {
        let (model, alias) = self.aliases.resolve(raw, &self.default.provider)?;
        let alias = alias.map(|alias| alias.name.clone());
        self.is_allowed(&model).then(|| Selection { is_default: model == *self.default, model, alias })
    }

    /// Whether any allowed model is this provider's.
    pub fn has_provider(&self, raw: &str) -> bool {
        let wanted = normalize_provider(raw);
        self.allowed.iter().filter_map(|key| ModelRef::from_key(key)).any(|model| model.provider == wanted)
    }

    fn is_allowed(&self, model: &ModelRef) -> bool {
        self.allowed.is_empty() || self.allowed.contains(&model.to_string())
    }

    fn closest(&self, provider: Option<&str>, fragment: &str) -> Option<Selection> {
        let fragment = text::lower_non_blank(fragment)?;
        let mut candidates: Vec<ModelRef> =
            self.allowed.iter().filter_map(|key| ModelRef::from_key(key)).collect();
        match provider {
            Some(provider) => candidates.retain(|model| model.provider == provider),
            None => {
                let named =
                    self.aliases.in_force().filter(|alias| text::lower(&alias.name).contains(&fragment));
                for model in named
                    .map(|alias| alias.model.clone())
                    .filter(|model| self.allowed.contains(&model.to_string()))
                {
                    if !candidates.contains(&model) {
                        candidates.push(model);
                    }
                }
            }
        }
        let scored = candidates
            .into_iter()
            .map(|model| (closeness(&model, &fragment, self.aliases, self.default), model));
        let (best, model) = scored.min_by(|(left, _), (right, _)| {
            let order = |one: &Closeness| {
                (
                    Reverse(one.score),
                    !one.is_default,
                    Reverse(one.variants_typed),
                    one.variants,
                    one.model_units,
                )
            };
            order(left).cmp(&order(right)).then_with(|| collation::compare(&left.key, &right.key))
        })?;
        let minimum = if provider.is_some() { 90 } else { 120 };
        (best.score >= minimum).then(|| {
            let alias = self.aliases.names_of(&model).next().map(str::to_owned);
            Selection { is_default: model == *self.default, model, alias }
        })
    }
}

/// Weights for a fragment that is a text, begins it, or is somewhere in it.
struct Weights {
    whole: i32,
    start: i32,
    inside: i32,
}

const IN_KEY: Weights = Weights { whole: 220, start: 140, inside: 110 };
const IN_PROVIDER: Weights = Weights { whole: 180, start: 120, inside: 90 };
const IN_MODEL: Weights = Weights { whole: 160, start: 110, inside: 80 };
const IN_ALIAS: Weights = Weights { whole: 140, start: 90, inside: 60 };
const VARIANTS: [&str; 9] =
    ["lightning", "preview", "mini", "fast", "turbo", "lite", "beta", "small", "nano"];
const MAX_TYPOS: usize = 3;

/// Scores `model` for a typed `fragment`.
pub fn closeness(model: &ModelRef, fragment: &str, aliases: &ModelAliases, default: &ModelRef) -> Closeness {
    let fragment = text::lower(text::trim(fragment));
    let model = ModelRef::new(normalize_provider(&model.provider), model.model.clone());
    let name = text::lower(&model.model);
    let found = |value: &str, weights: &Weights| match value {
        _ if fragment.is_empty() => 0,
        value if value == fragment => weights.whole,
        value if value.starts_with(&fragment) => weights.start,
        value if value.contains(&fragment) => weights.inside,
        _ => 0,
    };
    let mut score = found(&format!("{}/{name}", model.provider), &IN_KEY);
    score += found(&model.provider, &IN_PROVIDER);
    score += found(&name, &IN_MODEL);
    score += match typos(&fragment, &name) {
        Some(0) => 210,
        Some(1) => 140,
        Some(2) => 70,
        _ => 0,
    };
    score += aliases.names_of(&model).map(|alias| found(&text::lower(alias), &IN_ALIAS)).sum::<i32>();
    if name.starts_with(&model.provider) {
        score += 30;
    }
    let of_name = VARIANTS.iter().filter(|word| name.contains(*word)).count();
    let typed = VARIANTS.iter().filter(|word| fragment.contains(*word)).count();
    let both = VARIANTS.iter().filter(|word| fragment.contains(*word) && name.contains(*word)).count();
    score += match (typed, both) {
        (0, _) => -30 * small(of_name),
        (_, 0) => -20,
        (_, both) => 40 * small(both),
    };
    let is_default = model.provider == normalize_provider(&default.provider) && model.model == default.model;
    if is_default {
        score += 20;
    }
    Closeness {
        score,
        is_default,
        variants: of_name,
        variants_typed: both,
        model_units: text::units(&name),
        key: model.to_string(),
    }
}

fn small(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// How many letters must change to get from one text to the other; `None` for more than three.
fn typos(left: &str, right: &str) -> Option<usize> {
    if left == right {
        return Some(0);
    }
    let (left, right) = (text::to_units(left), text::to_units(right));
    if left.is_empty() || right.is_empty() || left.len().abs_diff(right.len()) > MAX_TYPOS {
        return None;
    }
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for (row, letter) in left.iter().enumerate() {
        let mut line = Vec::with_capacity(above.len());
        line.push(row + 1);
        for (column, other) in right.iter().enumerate() {
            let replace = above[column] + usize::from(letter != other);
            line.push(replace.min(above[column + 1] + 1).min(line[column] + 1));
        }
        if line.iter().min().is_some_and(|least| *least > MAX_TYPOS) {
            return None;
        }
        above = line;
    }
    above.last().copied().filter(|distance| *distance <= MAX_TYPOS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use serde_json::json;

    #[test]
    fn the_closest_model_is_chosen() {
        let config = Config::new(json!({"agents": {"defaults": {"models": {
            "anthropic/claude-opus-4-5": {"alias": "opus"}, "openai/gpt-5.2": {}, "openai/gpt-5-mini": {},
        }}}}));
        let default = ModelRef::new("anthropic", "claude-opus-4-5");
        let aliases = ModelAliases::from_config(&config, "anthropic");
        let allowed = ["anthropic/claude-opus-4-5", "openai/gpt-5.2", "openai/gpt-5-mini"].map(str::to_owned);
        let choices = Choices { default: &default, aliases: &aliases, allowed: &allowed };
        let chosen = |raw: &str| choices.select(raw).map(|selection| selection.model.to_string());
        assert_eq!(chosen("OPUS").as_deref(), Ok("anthropic/claude-opus-4-5"));
        assert_eq!(chosen("openai/gpt-5").as_deref(), Ok("openai/gpt-5.2"));
        assert_eq!(chosen("mini").as_deref(), Ok("openai/gpt-5-mini"));
        assert!(matches!(chosen("zzz"), Err(SelectError::NotAllowed(_))));
    }
}
