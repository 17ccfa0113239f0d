//! What is shown of a chunk (`memory.md` §6).

use yabby_domain::text;

/// So many UTF-16 units are shown.
pub const LENGTH: usize = 700;

/// The beginning of a text; a pair is not cut.
pub fn truncated(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let units = text::to_units(text);
    let Some(next) = units.get(most) else { return text.to_owned() };
    let is_pair = most > 0 && (0xD800..0xDC00).contains(&units[most - 1]) && (0xDC00..0xE000).contains(next);
    text::from_units(&units[..if is_pair { most - 1 } else { most }])
}
