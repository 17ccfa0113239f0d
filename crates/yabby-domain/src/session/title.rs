//! The title of a session in a listing (`sessions.md` §7).

use jiff::Timestamp;

use crate::text;

const MAX_UNITS: usize = 60;

/// What a title is made from.
#[derive(Clone, Copy, Debug, Default)]
pub struct TitleSource<'a> {
    pub display_name: Option<&'a str>,
    pub subject: Option<&'a str>,
    pub first_user_message: Option<&'a str>,
    pub session_id: Option<&'a str>,
    pub updated_at: Option<f64>,
}

/// The given name, else the subject, else the first words of the user, else the start of the id.
pub fn derive_title(source: &TitleSource<'_>) -> Option<String> {
    let named = source.display_name.and_then(text::non_blank).or(source.subject.and_then(text::non_blank));
    if let Some(name) = named {
        return Some(name.to_owned());
    }
    if let Some(message) = source.first_user_message.and_then(text::non_blank) {
        return Some(truncate(&text::collapse_spaces(message), MAX_UNITS));
    }
    let id = source.session_id.filter(|id| !id.is_empty())?;
    let prefix = text::head(id, 8);
    Some(match source.updated_at.and_then(utc_date) {
        Some(date) => format!("{prefix} ({date})"),
        None => prefix.into_owned(),
    })
}

/// At most `max` units, the last one an ellipsis; cut at a space if one is near the end.
pub fn truncate(title: &str, max: usize) -> String {
    if text::units(title) <= max {
        return title.to_owned();
    }
    let cut = text::head(title, max.saturating_sub(1));
    let near_the_end = |at: &usize| text::units(&cut[..*at]) * 10 > max * 6;
    match cut.rfind(' ').filter(near_the_end) {
        Some(at) => format!("{}…", &cut[..at]),
        None => format!("{cut}…"),
    }
}

fn utc_date(ms: f64) -> Option<String> {
    if ms <= 0.0 {
        return None;
    }
    #[expect(clippy::cast_possible_truncation, reason = "out of range is no time stamp")]
    let time = Timestamp::from_millisecond(ms as i64).ok()?;
    Some(time.strftime("%Y-%m-%d").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_comes_from_the_best_source_there_is() {
        let id = TitleSource {
            session_id: Some("0123456789"),
            updated_at: Some(1_738_312_080_000.0),
            ..TitleSource::default()
        };
        let message = TitleSource { first_user_message: Some(" hi\n there "), ..id };
        let subject = TitleSource { subject: Some(" Fam "), ..message };
        let table = [
            (subject, Some("Fam")),
            (message, Some("hi there")),
            (id, Some("01234567 (2025-01-31)")),
            (TitleSource::default(), None),
        ];
        for (source, title) in table {
            assert_eq!(derive_title(&source).as_deref(), title, "{source:?}");
        }
    }

    #[test]
    fn a_long_title_ends_at_a_word_if_one_ends_late() {
        assert_eq!(truncate("aaaa bbbb cccc", 12), "aaaa bbbb…");
        assert_eq!(truncate("aaaa bbbbbbbbbbbb", 12), "aaaa bbbbbb…");
    }
}
