//! No message, however written, makes the rules of the way in panic, run away or contradict themselves.

use jiff::tz::TimeZone;
use proptest::prelude::*;
use yabby_domain::body::{self, EscapedNewlines};
use yabby_domain::channel::ChatType;
use yabby_domain::envelope::{Envelope, EnvelopeOptions};
use yabby_domain::history::{HistoryBook, HistoryEntry};
use yabby_domain::inbound::conversation_label::conversation_label;
use yabby_domain::inbound::{InboundMessage, Rederive};
use yabby_domain::mention::{ExplicitMention, Mentions, strip_mentions};
use yabby_domain::pattern::Pattern;
use yabby_domain::sender::{Sender, with_sender_line};
use yabby_domain::system_events::{self, SystemEvents};
use yabby_domain::text;
use yabby_domain::zone::{self, Precision, StampZone};

/// Text in which the marks of the rules meet everything else, lone surrogates included.
pub fn messy_text() -> impl Strategy<Value = String> {
    let marks = prop::sample::select(vec![
        "[",
        "]",
        "[[",
        "]]",
        "[from:",
        "Al",
        ":",
        ": ",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\r",
        "\\n",
        "\u{2028}",
        "\u{feff}",
        "\u{200b}",
        "@",
        "+1555",
        "<@!9>",
        "😀",
        "é",
        "İ",
        "ß",
        "_",
        "NO_REPLY",
        "HEARTBEAT_OK",
        "MEDIA:",
        "https://a/b",
        "./a",
        "..",
        "`",
        "```",
        "\n~~~\n",
        "\"",
        "<",
        ">",
        "[[reply_to:",
        "[[reply_to_current]]",
        "[[audio_as_voice]]",
        "[Current message - respond to this]",
        "Node: x · last input 5s",
    ]);
    let lone = (0xD800u16..0xE000).prop_map(|unit| text::stand_in(unit).to_string());
    let part = prop_oneof![6 => marks.prop_map(str::to_owned), 1 => lone, 2 => ".{0,8}"];
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

fn pattern_source() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "a", "b", "é", ".", "\\b", "\\w", "\\s+", "\\d{2,}", "[a-z]", "[^]", "[", "]", "(", "(?:", "(?=",
        "(?!", "(?<!", "(?<n>", ")", "|", "*", "+", "?", "{2}", "{", "}", "^", "$", "\\", "\\1", "\\k<n>",
        "\\u0041", "\u{8}", "&&", "--", "@",
    ]);
    prop::collection::vec(parts, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn newlines_are_normal_after_normalizing(text in messy_text()) {
        let normal = body::normalize_newlines(&text, EscapedNewlines::Unescape);
        prop_assert!(!normal.contains('\r') && !normal.contains("\\n"));
        prop_assert_eq!(body::normalize_newlines(&normal, EscapedNewlines::Unescape), normal);
    }

    #[test]
    fn stripped_text_is_on_one_tidy_line(text in messy_text()) {
        for stripped in [body::strip_structure(&text), strip_mentions(&text, &InboundMessage::default(), &[])] {
            let tidied = text::collapse_spaces(&stripped);
            prop_assert_eq!(text::trim(&tidied), &stripped);
        }
    }

    #[test]
    fn the_sender_is_named_once(text in messy_text(), name in "[A-Za-zé. ()+]{0,8}", id in "[0-9]{0,4}") {
        let sender = Sender { name: Some(&name), id: Some(&id), ..Sender::default() };
        let once = with_sender_line(&text, Some(ChatType::Group), &sender);
        prop_assert!(once.starts_with(&text));
        prop_assert_eq!(with_sender_line(&once, Some(ChatType::Group), &sender), once);
    }

    #[test]
    fn finalizing_twice_is_finalizing_once(
        body in messy_text(), raw in prop::option::of(messy_text()), from in messy_text(),
        chat_type in prop::sample::select(vec!["GROUP", "dm", "", "channel", "x"]), name in "[A-Za-z ]{0,5}",
    ) {
        let message = InboundMessage {
            body: Some(body),
            raw_body: raw.clone(),
            untrusted_context: raw.into_iter().collect(),
            from: Some(from.clone()),
            group_subject: Some(from),
            chat_type: Some(chat_type.to_owned()),
            sender_name: Some(name),
            ..InboundMessage::default()
        };
        conversation_label(&message);
        let once = message.finalize(Rederive::default(), EscapedNewlines::Unescape);
        prop_assert_eq!(once.clone().finalize(Rederive::default(), EscapedNewlines::Unescape), once);
    }

    #[test]
    fn any_moment_can_be_stamped(ms in any::<i64>(), before in any::<i64>(), zone in "[A-Za-z/+:0-9 −-]{0,12}") {
        let options = EnvelopeOptions { zone: Some(zone.clone()), ..EnvelopeOptions::default() };
        let message = Envelope {
            channel: &zone,
            timestamp: Some(ms),
            previous_timestamp: Some(before),
            ..Envelope::default()
        };
        prop_assert!(message.format(&options, &TimeZone::UTC).starts_with('['));
        let new_york = zone::find("America/New_York").map(StampZone::Local);
        for zone in new_york.into_iter().chain([StampZone::Utc]) {
            prop_assert_eq!(zone.stamp(ms, Precision::Seconds).is_some(), ms.unsigned_abs() <= 8_640_000_000_000_000);
        }
    }

    #[test]
    fn notices_and_histories_stay_bounded(texts in prop::collection::vec(messy_text(), 0..40), limit in 0usize..4) {
        let mut events = SystemEvents::default();
        let mut book = HistoryBook::default();
        for text in &texts {
            events.push(text, 0);
            let entry = HistoryEntry { sender: text.clone(), body: text.clone(), timestamp: None, message_id: None };
            prop_assert!(book.append(text, entry, limit).len() <= limit);
        }
        let drained = events.drain();
        prop_assert!(drained.len() <= 20);
        system_events::render(&[], &drained, &StampZone::Utc);
    }

    #[test]
    fn no_pattern_of_a_user_panics(source in pattern_source(), text in messy_text()) {
        if let Some(pattern) = Pattern::new(&source) {
            let found = pattern.is_match(&text);
            prop_assert!(found || pattern.replace_all(&text, " ") == text, "{}", source);
        }
        Mentions::new([source]).occur_in_or_told(&text, ExplicitMention::default());
    }
}

#[test]
fn long_and_nested_messages_are_read_at_once() {
    let names = Sender { name: Some("aaaaaaaaaa"), ..Sender::default() };
    let long = |part: &str| part.repeat(1_000_000 / part.len());
    for part in ["[", "]", "[a", "a:", " ", "] ", "\n", "\\n", "aaaaaaaaa\n", "@1", "😀"] {
        let text = long(part);
        body::strip_structure(&text);
        with_sender_line(&text, Some(ChatType::Group), &names);
        strip_mentions(&text, &InboundMessage::default(), &["(a+)+$".to_owned(), r"(?!x)a*b".to_owned()]);
        Mentions::new([r"(a|a)*c", r"(?<!x)(?:a+)b", "(a*)*c"])
            .occur_in_or_told(&text, ExplicitMention::default());
    }
}
