//! The header in front of a message: channel, sender, elapsed time, time stamp (`sessions.md` §12).

use jiff::tz::TimeZone;

use crate::channel::ChatType;
use crate::config::Config;
use crate::config::agents::defaults::EnvelopePart;
use crate::sender::Sender;
use crate::text;
use crate::zone::{Precision, StampZone};

/// How headers are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvelopeOptions {
    /// See [`StampZone::from_setting`].
    pub zone: Option<String>,
    pub user_zone: Option<String>,
    pub with_timestamp: bool,
    pub with_elapsed: bool,
}

impl Default for EnvelopeOptions {
    fn default() -> Self {
        Self { zone: None, user_zone: None, with_timestamp: true, with_elapsed: true }
    }
}

impl EnvelopeOptions {
    /// Time stamp and elapsed time are there unless they are exactly `off`.
    pub fn from_config(config: &Config) -> Self {
        let defaults = &config.agents.defaults;
        Self {
            zone: defaults.envelope_timezone.clone(),
            user_zone: defaults.user_timezone.clone(),
            with_timestamp: defaults.envelope_timestamp() == EnvelopePart::On,
            with_elapsed: defaults.envelope_elapsed() == EnvelopePart::On,
        }
    }

    /// An unknown zone is written in UTC.
    fn stamp_zone(&self, host: &TimeZone) -> StampZone {
        let setting = self.zone.as_deref().unwrap_or_default();
        StampZone::from_setting(setting, self.user_zone.as_deref(), host).unwrap_or(StampZone::Utc)
    }
}

/// A message and what its header says. Times are milliseconds since 1970; 0 is not known.
#[derive(Clone, Copy, Debug, Default)]
pub struct Envelope<'m> {
    pub channel: &'m str,
    pub from: Option<&'m str>,
    pub host: Option<&'m str>,
    pub ip: Option<&'m str>,
    pub timestamp: Option<i64>,
    /// When the message before this one came.
    pub previous_timestamp: Option<i64>,
    pub body: &'m str,
}

impl Envelope<'_> {
    /// `[channel from +elapsed host ip timestamp] body`.
    pub fn format(&self, options: &EnvelopeOptions, host_zone: &TimeZone) -> String {
        let known = |part: Option<&str>| part.and_then(text::non_blank).map(str::to_owned);
        let elapsed = self.elapsed().filter(|_| options.with_elapsed).map(|elapsed| format!("+{elapsed}"));
        let stamp = self
            .timestamp
            .filter(|ms| *ms != 0 && options.with_timestamp)
            .and_then(|ms| options.stamp_zone(host_zone).stamp(ms, Precision::Minutes));
        let parts = [
            Some(text::non_blank(self.channel).unwrap_or("Channel").to_owned()),
            known(self.from),
            elapsed,
            known(self.host),
            known(self.ip),
            stamp,
        ];
        format!("[{}] {}", parts.into_iter().flatten().collect::<Vec<_>>().join(" "), self.body)
    }

    fn elapsed(&self) -> Option<String> {
        let now = self.timestamp.filter(|ms| *ms != 0)?;
        let then = self.previous_timestamp.filter(|ms| *ms != 0)?;
        let seconds = now.checked_sub(then).filter(|ms| *ms >= 0)? / 1000;
        Some(match seconds {
            0..60 => format!("{seconds}s"),
            60..3600 => format!("{}m", seconds / 60),
            3600..86_400 => format!("{}h", seconds / 3600),
            _ => format!("{}d", seconds / 86_400),
        })
    }
}

/// The body of a group message with its author in front; in a direct chat the header names them.
pub fn body_with_author(
    body: &str,
    chat_type: Option<ChatType>,
    label: Option<&str>,
    sender: &Sender<'_>,
) -> String {
    let author = label.and_then(text::non_blank).map(str::to_owned).or_else(|| sender.label());
    match (chat_type, author) {
        (Some(ChatType::Group | ChatType::Channel), Some(author)) => format!("{author}: {body}"),
        _ => body.to_owned(),
    }
}

/// Where a message came from, for the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'m> {
    Group { label: Option<&'m str>, id: Option<&'m str>, fallback: Option<&'m str> },
    Direct { label: &'m str, id: Option<&'m str> },
}

impl Origin<'_> {
    /// `label id:<id>`, without the id where it says nothing new.
    pub fn label(&self) -> String {
        let (label, id) = match *self {
            Self::Group { label, id, fallback } => {
                let fallback = fallback.filter(|fallback| !fallback.is_empty()).unwrap_or("Group");
                (label.and_then(text::non_blank).unwrap_or(fallback), id.and_then(text::non_blank))
            }
            Self::Direct { label, id } => {
                let label = text::trim(label);
                (label, id.and_then(text::non_blank).filter(|id| *id != label))
            }
        };
        match id {
            Some(id) => format!("{label} id:{id}"),
            None => label.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn a_header_says_what_is_known() {
        let now = 1_770_120_000_000;
        let utc = EnvelopeOptions { zone: Some("utc".to_owned()), ..EnvelopeOptions::default() };
        let quiet = EnvelopeOptions { with_timestamp: false, with_elapsed: false, ..utc.clone() };
        let message = Envelope {
            channel: "T",
            from: Some(" Al "),
            timestamp: Some(now),
            previous_timestamp: Some(now - 61_000),
            body: "x",
            ..Envelope::default()
        };
        let table = [
            (message, &utc, "[T Al +1m 2026-02-03T12:00Z] x"),
            (message, &quiet, "[T Al] x"),
            (Envelope { from: None, ..message }, &utc, "[T +1m 2026-02-03T12:00Z] x"),
            (Envelope { previous_timestamp: Some(now + 1), ..message }, &utc, "[T Al 2026-02-03T12:00Z] x"),
            (Envelope { previous_timestamp: Some(i64::MIN), ..message }, &utc, "[T Al 2026-02-03T12:00Z] x"),
            (
                Envelope { timestamp: Some(0), host: Some("h"), ip: Some("1"), ..message },
                &utc,
                "[T Al h 1] x",
            ),
            (Envelope { channel: " ", body: "y", ..Envelope::default() }, &utc, "[Channel] y"),
        ];
        for (envelope, options, expected) in table {
            assert_eq!(envelope.format(options, &TimeZone::UTC), expected, "{envelope:?}");
        }
    }

    #[test]
    fn an_unknown_zone_is_written_in_utc() {
        let config = Config::new(
            json::parse(r#"{"agents":{"defaults":{"envelopeTimezone":"No/Where","envelopeElapsed":"OFF"}}}"#)
                .unwrap(),
        );
        let options = EnvelopeOptions::from_config(&config);
        assert!(options.with_elapsed);
        let message = Envelope { channel: "T", timestamp: Some(60_000), ..Envelope::default() };
        assert_eq!(message.format(&options, &TimeZone::UTC), "[T 1970-01-01T00:01Z] ");
    }

    #[test]
    fn groups_name_the_author_and_everybody_has_a_label() {
        let sender = Sender { name: Some("Al"), ..Sender::default() };
        assert_eq!(body_with_author("x", Some(ChatType::Group), Some(" "), &sender), "Al: x");
        assert_eq!(body_with_author("x", Some(ChatType::Direct), Some("Al"), &sender), "x");
        let table = [
            (Origin::Group { label: Some("Fam"), id: Some("1"), fallback: None }, "Fam id:1"),
            (Origin::Group { label: None, id: None, fallback: Some("") }, "Group"),
            (Origin::Direct { label: " 9 ", id: Some("9") }, "9"),
        ];
        for (origin, label) in table {
            assert_eq!(origin.label(), label);
        }
    }
}
