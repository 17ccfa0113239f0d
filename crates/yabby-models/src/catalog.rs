//! Models that are known without being asked for: how much they read and write, what they can, what they
//! cost. The configuration adds to this and overrides it (`models.providers`).

use yabby_domain::reply::usage_line::Prices;

/// A row for each model: tokens, then `r` for reasoning and `i` for images, then dollars for a million
/// tokens.
const TABLE: &str = include_str!("catalog.txt");

/// What is known about a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known<'t> {
    pub provider: &'t str,
    pub model: &'t str,
    pub context_window: u64,
    pub max_output: u64,
    pub reasoning: bool,
    pub images: bool,
    pub prices: Prices,
}

/// Every model of the table.
pub fn known() -> impl Iterator<Item = Known<'static>> {
    TABLE.lines().filter_map(row)
}

/// A model of the table.
pub fn find(provider: &str, model: &str) -> Option<Known<'static>> {
    known().find(|known| known.provider == provider && known.model == model)
}

fn row(line: &str) -> Option<Known<'_>> {
    let mut cells = line.split_whitespace();
    let (provider, model) = cells.next()?.split_once('/')?;
    let mut tokens = || cells.next()?.parse().ok();
    let (context_window, max_output) = (tokens()?, tokens()?);
    let flags = cells.next()?;
    let mut dollars = || cells.next()?.parse().ok();
    let prices =
        Prices { input: dollars()?, output: dollars()?, cache_read: dollars()?, cache_write: dollars()? };
    let (reasoning, images) = (flags.contains('r'), flags.contains('i'));
    Some(Known { provider, model, context_window, max_output, reasoning, images, prices })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_table_is_read() {
        let rows = TABLE.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
        assert_eq!(known().count(), rows);
        assert!(rows > 100, "{rows}");
        for model in known() {
            assert!(model.context_window > 0 && model.max_output > 0, "{model:?}");
        }
    }

    #[test]
    fn a_model_is_found_with_its_prices() {
        let opus = find("anthropic", "claude-opus-4-5").unwrap();
        assert_eq!((opus.context_window, opus.reasoning, opus.images), (200_000, true, true));
        assert_eq!((opus.prices.input, opus.prices.output), (5.0, 25.0));
        assert_eq!(find("anthropic", "gpt-5"), None);
    }
}
