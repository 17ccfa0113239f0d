//! A model named right after a reset: `/new opus summarize this` (`sessions.md` §15).

use crate::model::select::{Choices, Selection};
use crate::text;

/// Shorter words are too likely to be words of the message.
const MIN_UNITS_FOR_A_GUESS: usize = 6;

/// The model that the words after a reset begin with, and the words that are left.
pub fn reset_hint(body: &str, choices: &Choices<'_>) -> Option<(Selection, String)> {
    if choices.allowed.is_empty() {
        return None;
    }
    let words: Vec<&str> = body.split(text::is_space).filter(|word| !word.is_empty()).collect();
    let first = *words.first()?;
    let is_provider = choices.has_provider(first);
    let provider_and_model = || {
        let second = words.get(1).filter(|_| is_provider)?;
        let named = format!("{}/{second}", super::normalize_provider(first));
        choices.select(&named).ok().map(|selection| (selection, 2))
    };
    let exact = || choices.exact(first).map(|selection| (selection, 1));
    let guess = || {
        let may_guess = is_provider || text::units(first) >= MIN_UNITS_FOR_A_GUESS;
        let selection = may_guess.then(|| choices.select(first).ok()).flatten()?;
        Some((selection, 1))
    };
    let (selection, consumed) = provider_and_model().or_else(exact).or_else(guess)?;
    Some((selection, words[consumed..].join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelAliases, ModelRef};

    #[test]
    fn a_model_in_front_is_taken_out_of_the_message() {
        let default = ModelRef::new("anthropic", "claude-opus-4-5");
        let allowed = ["anthropic/claude-opus-4-5", "minimax/MiniMax-M2.1"].map(str::to_owned);
        let choices = Choices { default: &default, aliases: &ModelAliases::default(), allowed: &allowed };
        let hint = |body| reset_hint(body, &choices).map(|(selection, rest)| (selection.model.model, rest));
        let minimax = || "MiniMax-M2.1".to_owned();
        assert_eq!(hint("minimax summarize  this"), Some((minimax(), "summarize this".to_owned())));
        assert_eq!(hint("minimax M2.1 go"), Some((minimax(), "go".to_owned())));
        assert_eq!(hint("hello there"), None);
    }
}
