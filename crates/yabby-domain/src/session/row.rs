//! What a list of sessions says about each one (`cli.md` §2).

use std::borrow::Cow;

use crate::json;
use crate::session::glance::{Field, Glance};
use crate::session::key::{SessionKey, SessionKind};
use crate::text;

/// What a row falls back to where its record says nothing.
#[derive(Clone, Debug)]
pub struct RowDefaults {
    pub model: String,
    pub context_tokens: f64,
}

/// One session of a list.
#[derive(Clone, Debug)]
pub struct Row {
    pub key: SessionKey,
    pub kind: SessionKind,
    pub glance: Glance,
    /// When it changed; `None` if its record does not say.
    updated_at: Option<f64>,
}

/// Which sessions a list is to hold. Every condition that is given must hold.
#[derive(Clone, Debug, Default)]
pub struct RowFilter {
    /// Changed within so many minutes.
    pub active_minutes: Option<f64>,
    pub kinds: Vec<SessionKind>,
    /// Carries this label, in any case.
    pub label: Option<String>,
    /// Has this text in its key, id, names or labels, in any case.
    pub search: Option<String>,
}

impl Row {
    pub fn new(key: SessionKey, glance: Glance) -> Self {
        let kind = key.kind(glance.text(Field::ChatType).as_deref());
        let updated_at = glance.number(Field::UpdatedAt).filter(|at| *at != 0.0);
        Self { key, kind, glance, updated_at }
    }

    /// How long ago the session changed.
    pub fn age(&self, now: f64) -> Option<f64> {
        self.updated_at.map(|at| now - at)
    }

    pub fn model<'r>(&'r self, defaults: &'r RowDefaults) -> Cow<'r, str> {
        self.glance.text(Field::Model).unwrap_or(Cow::Borrowed(&defaults.model))
    }

    /// The part of the context that is used, as `15k/200k (8%)`; `-` if none is.
    pub fn tokens_text(&self, defaults: &RowDefaults) -> String {
        let count = |field| self.glance.number(field);
        let apart = || count(Field::InputTokens).unwrap_or(0.0) + count(Field::OutputTokens).unwrap_or(0.0);
        let used = count(Field::TotalTokens).unwrap_or_else(apart);
        if used == 0.0 || used.is_nan() {
            return "-".to_owned();
        }
        let window = self.glance.number(Field::ContextTokens).unwrap_or(defaults.context_tokens);
        if window == 0.0 {
            return format!("{}/? (?%)", thousands(used));
        }
        format!("{}/{} ({}%)", thousands(used), thousands(window), percent(used, window))
    }

    /// How full the context is, in percent.
    pub fn fullness(&self, defaults: &RowDefaults) -> f64 {
        let window = self.glance.number(Field::ContextTokens).unwrap_or(defaults.context_tokens);
        if window == 0.0 {
            0.0
        } else {
            percent(self.glance.number(Field::TotalTokens).unwrap_or(0.0), window)
        }
    }

    /// What is set for the session, in a fixed order, ending with its id.
    pub fn flags(&self) -> Vec<String> {
        const NAMED: [(&str, Field); 6] = [
            ("think", Field::ThinkingLevel),
            ("verbose", Field::VerboseLevel),
            ("reasoning", Field::ReasoningLevel),
            ("elev", Field::ElevatedLevel),
            ("usage", Field::ResponseUsage),
            ("activation", Field::GroupActivation),
        ];
        let said =
            |field| Some(field).filter(|field| self.glance.is_truthy(*field)).map(|field| self.plain(field));
        let named = NAMED.iter().filter_map(|(name, field)| Some(format!("{name}:{}", said(*field)?)));
        let marks = [(Field::SystemSent, "system"), (Field::AbortedLastRun, "aborted")];
        let marks = marks.into_iter().filter_map(|(field, mark)| said(field).map(|_| mark.to_owned()));
        let id = said(Field::SessionId).map(|id| format!("id:{id}"));
        named.chain(marks).chain(id).collect()
    }

    /// The row as `sessions --json` prints it.
    ///
    /// Every value is JSON text.
    pub fn members(&self, defaults: &RowDefaults, now: f64) -> Vec<(&'static str, Cow<'_, str>)> {
        const COPIED: [Field; 12] = [
            Field::SessionId,
            Field::SystemSent,
            Field::AbortedLastRun,
            Field::ThinkingLevel,
            Field::VerboseLevel,
            Field::ReasoningLevel,
            Field::ElevatedLevel,
            Field::ResponseUsage,
            Field::GroupActivation,
            Field::InputTokens,
            Field::OutputTokens,
            Field::TotalTokens,
        ];
        let quoted = |text: &str| {
            let mut out = String::with_capacity(text.len() + 2);
            json::push_string(&mut out, text);
            Cow::Owned(out)
        };
        let stated = |field| self.written(field).filter(|value| value != "null");
        let mut row = Vec::with_capacity(24);
        row.push(("key", quoted(self.key.as_str())));
        row.push(("kind", quoted(self.kind.as_str())));
        row.push(("updatedAt", stated(Field::UpdatedAt).unwrap_or(Cow::Borrowed("null"))));
        let age = self.age(now).map(|age| Cow::Owned(json::number_text(age)));
        row.push(("ageMs", age.unwrap_or(Cow::Borrowed("null"))));
        row.extend(COPIED.iter().filter_map(|field| Some((field.name(), self.written(*field)?))));
        row.push(("model", stated(Field::Model).unwrap_or_else(|| quoted(&defaults.model))));
        let tokens = stated(Field::ContextTokens);
        row.push((
            "contextTokens",
            tokens.unwrap_or_else(|| Cow::Owned(json::number_text(defaults.context_tokens))),
        ));
        // Ours, where there are any: the reference lists no labels.
        row.extend(
            [Field::Label, Field::Labels].iter().filter_map(|field| Some((field.name(), stated(*field)?))),
        );
        row
    }

    /// A field as JavaScript would write it. Most are written that way already.
    fn written(&self, field: Field) -> Option<Cow<'_, str>> {
        let raw = self.glance.raw(field)?;
        let is_plain = match raw.as_bytes() {
            [b'"', inner @ .., b'"'] => {
                inner.iter().all(|byte| (0x20..0x7F).contains(byte) && *byte != b'\\')
            }
            b"0" | b"true" | b"false" | b"null" => true,
            [b'1'..=b'9', digits @ ..] => digits.len() < 15 && digits.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        if is_plain {
            return Some(Cow::Borrowed(raw));
        }
        Some(Cow::Owned(json::stringify(&self.glance.value(field)?)))
    }

    /// A field for people: a text without its quotes.
    fn plain(&self, field: Field) -> String {
        self.glance.text(field).or_else(|| self.written(field)).unwrap_or_default().into_owned()
    }
}

impl RowFilter {
    pub fn keeps(&self, row: &Row, now: f64) -> bool {
        let is_active = self
            .active_minutes
            .is_none_or(|minutes| row.age(now).is_some_and(|age| age <= minutes * 60_000.0));
        let is_kind = self.kinds.is_empty() || self.kinds.contains(&row.kind);
        let labels = || row.glance.labels().into_iter().map(Cow::Owned);
        let is_labelled = self.label.as_ref().is_none_or(|label| labels().any(|own| same(&own, label)));
        let is_found = self.search.as_ref().is_none_or(|search| {
            let names =
                [Field::DisplayName, Field::Subject, Field::SessionId].map(|name| row.glance.text(name));
            let search = text::lower(text::trim(search));
            let mut texts =
                names.into_iter().flatten().chain(labels()).chain([Cow::Borrowed(row.key.as_str())]);
            texts.any(|text| text::lower(&text).contains(&search))
        });
        is_active && is_kind && is_labelled && is_found
    }
}

fn same(a: &str, b: &str) -> bool {
    text::lower(text::trim(a)) == text::lower(text::trim(b))
}

/// Puts the session that changed last first; those of one moment keep their order.
pub fn newest_first(rows: &mut [Row]) {
    let at = |row: &Row| row.updated_at.unwrap_or(0.0);
    rows.sort_by(|a, b| at(b).total_cmp(&at(a)));
}

/// `3m ago`
pub fn age_text(ms: Option<f64>) -> String {
    let Some(ms) = ms.filter(|ms| *ms > 0.0) else { return "unknown".to_owned() };
    let minutes = rounded(ms / 60_000.0);
    let hours = rounded(minutes / 60.0);
    if minutes < 1.0 {
        "just now".to_owned()
    } else if minutes < 60.0 {
        format!("{minutes}m ago")
    } else if hours < 48.0 {
        format!("{hours}h ago")
    } else {
        format!("{}d ago", rounded(hours / 24.0))
    }
}

/// How many UTF-16 units of a key a column has room for.
pub const KEY_WIDTH: usize = 26;

/// A key that fits its column: the beginning and the end of a long one.
pub fn short_key(key: &str) -> String {
    if text::units(key) <= KEY_WIDTH {
        return key.to_owned();
    }
    format!("{}...{}", text::head(key, KEY_WIDTH - 10), text::tail(key, 6))
}

/// A count of tokens as lists show it: `8.0k`, `200k`.
pub fn thousands(tokens: f64) -> String {
    let places = if tokens >= 10_000.0 { 0 } else { 1 };
    format!("{}k", json::fixed(tokens / 1000.0, places))
}

fn percent(used: f64, window: f64) -> f64 {
    rounded(used / window * 100.0).min(999.0)
}

fn rounded(value: f64) -> f64 {
    (value + 0.5).floor()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn row(key: &str, record: &str) -> Row {
        Row::new(SessionKey::new(key), Glance::at(&Arc::new(record.to_owned()), 0..record.len()).unwrap())
    }

    #[test]
    fn an_age_is_told_in_its_largest_unit() {
        let (minute, hour) = (60_000.0, 3_600_000.0);
        let table = [
            (None, "unknown"),
            (Some(0.0), "unknown"),
            (Some(-5.0), "unknown"),
            (Some(29_999.0), "just now"),
            (Some(30_000.0), "1m ago"),
            (Some(59.4 * minute), "59m ago"),
            (Some(59.5 * minute), "1h ago"),
            (Some(47.4 * hour), "47h ago"),
            (Some(48.0 * hour), "2d ago"),
        ];
        for (age, told) in table {
            assert_eq!(age_text(age), told, "{age:?}");
        }
    }

    #[test]
    fn tokens_are_told_in_thousands() {
        let defaults = RowDefaults { model: "m".to_owned(), context_tokens: 200_000.0 };
        let table = [
            ("{}", "-"),
            (r#"{"totalTokens":0}"#, "-"),
            (r#"{"totalTokens":120}"#, "0.1k/200k (0%)"),
            (r#"{"inputTokens":9000,"outputTokens":950}"#, "9.9k/200k (5%)"),
            (r#"{"totalTokens":15400}"#, "15k/200k (8%)"),
            (r#"{"totalTokens":15400,"contextTokens":8000}"#, "15k/8.0k (193%)"),
            (r#"{"totalTokens":15400,"contextTokens":0}"#, "15k/? (?%)"),
        ];
        for (record, told) in table {
            assert_eq!(row("k", record).tokens_text(&defaults), told, "{record}");
        }
    }

    #[test]
    fn a_long_key_shows_both_ends() {
        assert_eq!(short_key("agent:main:subagent:s1"), "agent:main:subagent:s1");
        assert_eq!(short_key("agent:main:telegram:group:-100123"), "agent:main:teleg...100123");
    }

    #[test]
    fn flags_stand_in_a_fixed_order() {
        let record = r#"{"sessionId":"s","systemSent":true,"verboseLevel":"off","thinkingLevel":"high",
            "abortedLastRun":false}"#;
        assert_eq!(row("k", record).flags().join(" "), "think:high verbose:off system id:s");
    }

    #[test]
    fn every_condition_of_a_filter_must_hold() {
        let now = 1_000_000.0;
        let row = row("agent:main:x:group:1", r#"{"updatedAt":940000,"label":"Crab Club","labels":["sea"]}"#);
        let text = |text: &str| Some(text.to_owned());
        let table = [
            (RowFilter::default(), true),
            (RowFilter { active_minutes: Some(1.0), ..RowFilter::default() }, true),
            (RowFilter { active_minutes: Some(0.5), ..RowFilter::default() }, false),
            (RowFilter { kinds: vec![SessionKind::Group], ..RowFilter::default() }, true),
            (RowFilter { kinds: vec![SessionKind::Direct], ..RowFilter::default() }, false),
            (RowFilter { label: text("crab club"), ..RowFilter::default() }, true),
            (RowFilter { label: text("SEA"), ..RowFilter::default() }, true),
            (RowFilter { label: text("crab"), ..RowFilter::default() }, false),
            (RowFilter { search: text("CRAB"), ..RowFilter::default() }, true),
            (RowFilter { search: text("lobster"), ..RowFilter::default() }, false),
            (RowFilter { search: text("crab"), label: text("x"), ..RowFilter::default() }, false),
        ];
        for (filter, kept) in table {
            assert_eq!(filter.keeps(&row, now), kept, "{filter:?}");
        }
    }
}
