//! The line about tokens and their price under a reply (`sessions.md` §16).

use crate::config::Config;
use crate::directive::level::UsageDisplay;
use crate::json;
use crate::session::entry::SessionEntry;
use crate::session::key::SessionKey;
use crate::usage::Usage;

/// Dollars for a million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

impl Prices {
    /// The prices that the configuration gives for a model, if it gives all of them.
    pub fn from_config(config: &Config, provider: &str, model: &str) -> Option<Self> {
        let models = &config.models.providers.as_ref()?.get(provider)?.models;
        let cost = &models.iter().find(|entry| &*entry.id == model)?.cost;
        Some(Self {
            input: cost.input?.into(),
            output: cost.output?.into(),
            cache_read: cost.cache_read?.into(),
            cache_write: cost.cache_write?.into(),
        })
    }

    /// What a call cost, in dollars: what was read, what was said, what was read and written in the cache. The order
    /// of the arithmetic is the reference's, so that the last digits are, too.
    pub fn parts_of(&self, usage: &Usage) -> [f64; 4] {
        let cost = |price: f64, tokens: Option<f64>| price / 1e6 * tokens.unwrap_or(0.0);
        [
            cost(self.input, usage.input),
            cost(self.output, usage.output),
            cost(self.cache_read, usage.cache_read),
            cost(self.cache_write, usage.cache_write),
        ]
    }

    /// What a run cost, in dollars.
    pub fn of(&self, usage: &Usage) -> f64 {
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        parts.into_iter().map(|(tokens, price)| tokens.unwrap_or(0.0) * price).sum::<f64>() / 1e6
    }
}

/// How much a session wants to be told; nothing unless it asked.
pub fn display_of(entry: &SessionEntry) -> UsageDisplay {
    entry.response_usage().and_then(UsageDisplay::parse).unwrap_or(UsageDisplay::Off)
}

/// `Usage: 1.2k in / 300 out · est $0.01 · session <key>`: the price where there are `prices`, the
/// session where everything is told.
pub fn usage_line(
    usage: &Usage,
    display: UsageDisplay,
    prices: Option<&Prices>,
    key: &SessionKey,
) -> Option<String> {
    if display == UsageDisplay::Off || !usage.is_nonzero() || (usage.input, usage.output) == (None, None) {
        return None;
    }
    let count = |tokens: Option<f64>| tokens.map_or_else(|| "?".to_owned(), token_count);
    let mut line = format!("Usage: {} in / {} out", count(usage.input), count(usage.output));
    let both_known = usage.input.is_some() && usage.output.is_some();
    let cost = prices.filter(|_| both_known).map(|prices| prices.of(usage)).filter(|cost| cost.is_finite());
    if let Some(cost) = cost {
        line.push_str(&format!(" · est {}", dollars(cost)));
    }
    if display == UsageDisplay::Full {
        line.push_str(&format!(" · session {key}"));
    }
    Some(line)
}

/// `512`, `1.5k`, `12k`, `1.5m`.
pub fn token_count(tokens: f64) -> String {
    match tokens.max(0.0) {
        millions if millions >= 1e6 => format!("{}m", json::fixed(millions / 1e6, 1)),
        thousands if thousands >= 1e4 => format!("{}k", json::fixed(thousands / 1e3, 0)),
        thousands if thousands >= 1e3 => format!("{}k", json::fixed(thousands / 1e3, 1)),
        few => json::fixed(few, 0),
    }
}

/// Cents, or where these say nothing, hundredths of them.
pub fn dollars(amount: f64) -> String {
    format!("${}", json::fixed(amount, if amount >= 0.01 { 2 } else { 4 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn costs_have_the_last_digits_of_the_reference() {
        let usage = Usage { input: Some(120.0), output: Some(12.0), ..Usage::default() };
        let prices = Prices { input: 1.0, output: 2.0, ..Prices::default() };
        let parts = prices.parts_of(&usage);
        assert_eq!(json!(parts), json!([0.000_119_999_999_999_999_99, 0.000_024, 0.0, 0.0]));
        assert_eq!(json!(parts.iter().sum::<f64>()), json!(0.000_143_999_999_999_999_98));
    }

    #[test]
    fn the_line_tells_as_much_as_was_asked_for() {
        let usage = Usage { input: Some(1250.0), output: Some(300.0), ..Usage::default() };
        let prices = Prices { input: 5.0, output: 25.0, ..Prices::default() };
        let key = SessionKey::new("agent:main:main");
        use UsageDisplay::{Full, Off, Tokens};
        let table = [
            (usage, Off, None, None),
            (usage, Tokens, None, Some("Usage: 1.3k in / 300 out")),
            (
                usage,
                Full,
                Some(&prices),
                Some("Usage: 1.3k in / 300 out · est $0.01 · session agent:main:main"),
            ),
            (Usage { output: None, ..usage }, Tokens, Some(&prices), Some("Usage: 1.3k in / ? out")),
            (Usage { input: None, output: None, total: Some(9.0), ..usage }, Tokens, None, None),
            (Usage::default(), Tokens, None, None),
        ];
        for (usage, display, prices, line) in table {
            assert_eq!(usage_line(&usage, display, prices, &key).as_deref(), line, "{usage:?} {display:?}");
        }
    }

    #[test]
    fn counts_and_amounts_are_short() {
        let table = [(0.0, "0"), (999.0, "999"), (1150.0, "1.1k"), (12_500.0, "13k"), (1_250_000.0, "1.3m")];
        for (tokens, count) in table {
            assert_eq!(token_count(tokens), count);
        }
        assert_eq!([dollars(1.005), dollars(0.5), dollars(0.00123)], ["$1.00", "$0.50", "$0.0012"]);
    }

    #[test]
    fn prices_are_configured_per_model() {
        let cost = json!({"input": 5, "output": 25, "cacheRead": 0.5, "cacheWrite": 6.25});
        let config =
            Config::new(json!({"models": {"providers": {"a": {"models": [{"id": "m", "cost": cost}]}}}}));
        assert_eq!(Prices::from_config(&config, "a", "m").map(|prices| prices.cache_write), Some(6.25));
        assert_eq!(Prices::from_config(&config, "a", "x"), None);
    }

    #[test]
    fn a_session_is_told_what_it_asked_for() {
        let of =
            |value: crate::json::Value| display_of(&SessionEntry::new(value.as_object().unwrap().clone()));
        assert_eq!(of(serde_json::json!({"responseUsage": "on"})), UsageDisplay::Tokens);
        assert_eq!(of(serde_json::json!({"responseUsage": "full"})), UsageDisplay::Full);
        assert_eq!(of(serde_json::json!({"responseUsage": 7})), UsageDisplay::Off);
    }
}
