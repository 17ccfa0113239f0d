//! No text of a model makes the reply rules panic, run away, or send what must not be sent.

use proptest::prelude::*;
use yabby_domain::json::Value;
use yabby_domain::reply::build::{Streamed, TurnReply, build};
use yabby_domain::reply::deliverable::{DeliveryOptions, deliverable};
use yabby_domain::reply::duplicates::{ReplyOrigin, comparable, without_duplicates};
use yabby_domain::reply::media::MediaSplit;
use yabby_domain::reply::parse::ParsedReply;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::reply::stream::{DirectiveStream, Piece};
use yabby_domain::reply::target::comparable_target;
use yabby_domain::reply::threading::ReplyToMode;
use yabby_domain::reply::tokens::{
    HEARTBEAT_TOKEN, SILENT_TOKEN, TokenContext, heartbeat_file_is_empty, is_silent, strip_heartbeat,
};

use crate::inbound::messy_text;

fn turn() -> TurnReply<'static> {
    TurnReply {
        is_heartbeat: false,
        mode: ReplyToMode::First,
        channel: Some("slack"),
        current_message: Some("1"),
        streamed: Streamed::Some(&[]),
        origin: ReplyOrigin::default(),
        tool_texts: &[],
        tool_targets: &[],
    }
}

proptest! {
    #[test]
    fn media_never_leave_the_working_folder(text in messy_text(), line in messy_text()) {
        for reply in [text.clone(), format!("{text}\nMEDIA:{line}"), format!("MEDIA:\"{line}\"")] {
            for source in MediaSplit::of(&reply).sources {
                let on_the_web = source.to_ascii_lowercase().starts_with("http");
                prop_assert!(on_the_web || (source.starts_with("./") && !source.contains("..")), "{}", source);
            }
        }
    }

    #[test]
    fn a_silent_reply_has_no_text(text in messy_text(), token in ".{0,6}") {
        let parsed = ParsedReply::of(&text, Some("1"), SILENT_TOKEN);
        prop_assert!(!parsed.is_silent || parsed.text.is_empty());
        is_silent(&text, &token);
        heartbeat_file_is_empty(&text);
    }

    #[test]
    fn no_heartbeat_token_is_left_at_the_ends(text in messy_text(), limit in "[0-9a-fxe.+ -]{0,5}") {
        let stripped = strip_heartbeat(&text, TokenContext::of_heartbeat(Some(&Value::from(limit))));
        if let (Some(rest), true) = (stripped.text, stripped.found) {
            prop_assert!(!rest.starts_with(HEARTBEAT_TOKEN) && !rest.ends_with(HEARTBEAT_TOKEN), "{}", rest);
        }
    }

    #[test]
    fn what_is_sent_has_something_to_show(texts in prop::collection::vec(messy_text(), 0..4)) {
        let payloads: Vec<_> = texts.iter().map(ReplyPayload::from_text).collect();
        let built = build(payloads, &turn());
        prop_assert!(built.iter().all(ReplyPayload::is_renderable));
        prop_assert!(built.iter().filter(|payload| payload.reply_to_id.is_some()).count() <= texts.len());
        for payload in built {
            if let Ok(sent) = deliverable(payload, &DeliveryOptions::default()) {
                prop_assert!(sent.is_renderable());
            }
        }
    }

    #[test]
    fn pieces_of_a_stream_are_read_to_the_end(pieces in prop::collection::vec(messy_text(), 1..6)) {
        let mut stream = DirectiveStream::default();
        for piece in &pieces {
            stream.read(piece, Piece::More, SILENT_TOKEN);
        }
        stream.read("", Piece::Last, SILENT_TOKEN);
        prop_assert!(stream.read("", Piece::Last, SILENT_TOKEN).is_none(), "nothing is kept back");
    }

    #[test]
    fn a_text_is_its_own_duplicate(text in messy_text()) {
        let left = without_duplicates(vec![ReplyPayload::from_text(text.clone())], std::slice::from_ref(&text));
        prop_assert_eq!(left.is_empty(), yabby_domain::text::units(&comparable(&text)) >= 10);
    }

    #[test]
    fn an_address_has_a_spelling_unless_it_is_blank(
        channel in prop::sample::select(vec!["telegram", "whatsapp", "discord", "slack", "signal", "imessage", "gchat", "x"]),
        prefix in prop::sample::select(vec!["", "tg:", "user:", "<@", "SMS:", "imessage:sms:chat:", "u:", "space:", "#", "@"]),
        rest in messy_text(),
    ) {
        let raw = format!("{prefix}{rest}");
        let blank = yabby_domain::text::non_blank(&raw).is_none();
        prop_assert_eq!(comparable_target(channel, &raw).is_none(), blank);
    }
}

#[test]
fn long_and_nested_replies_are_read_at_once() {
    for part in [
        "[[",
        "]]",
        "[[reply_to:",
        "MEDIA:./a\n",
        "```\n",
        "<",
        "HEARTBEAT_OK",
        " \n",
        "*",
        "NO_REPLY ",
        "😀",
    ] {
        let text = part.repeat(1_000_000 / part.len());
        ParsedReply::of(&text, Some("1"), SILENT_TOKEN);
        strip_heartbeat(&text, TokenContext::Message);
        let _ = deliverable(ReplyPayload::from_text(text.clone()), &DeliveryOptions::default());
        without_duplicates(vec![ReplyPayload::from_text(text.clone())], &[format!("{text}x")]);
    }
}
