//! What is sent back after a run (`sessions.md` §16).

use yabby_domain::channel::ChatType;
use yabby_domain::directive::level::{ReasoningLevel, VerboseLevel};
use yabby_domain::id::AccountId;
use yabby_domain::reply::build::{BlockKey, Streamed, TurnReply, build};
use yabby_domain::reply::duplicates::{ReplyOrigin, SentTarget};
use yabby_domain::reply::notices;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::reply::threading::ReplyToMode;
use yabby_domain::reply::usage_line::{display_of, usage_line};
use yabby_domain::text;

use super::open::Opened;
use crate::agent::Run;
use crate::agent::said::{text_of, thinking_of};
use crate::inbound::Inbound;

/// The payloads of a run, without what was sent already.
pub(crate) fn build_payloads(inbound: &Inbound, opened: &Opened, run: Run) -> Vec<ReplyPayload> {
    let message = &inbound.message;
    let channel = inbound.channel();
    let account = message.account_id.as_deref().map(AccountId::normalize);
    let chat_type = message.chat_type.as_deref().and_then(ChatType::parse);
    let mode = match channel {
        Some(channel) => ReplyToMode::from_config(&opened.config, channel, account.as_ref(), chat_type),
        None => ReplyToMode::All,
    };
    let tool_texts: Vec<String> = run.sent.iter().map(|sent| sent.text.clone()).collect();
    let tool_targets: Vec<SentTarget> = run.sent.iter().map(|sent| sent.target.clone()).collect();
    let blocks: Vec<BlockKey> = run.blocks.iter().map(BlockKey::of).collect();
    let reply = TurnReply {
        // Whoever asks for a run of its own is told what was said, and as it was said.
        is_heartbeat: inbound.principal.is_heartbeat() || inbound.options.alone,
        mode,
        channel,
        current_message: message.message_id.as_deref(),
        streamed: Streamed::Some(&blocks),
        origin: ReplyOrigin {
            provider: channel,
            to: message.originating_to.as_deref().or(message.to.as_deref()),
            account: message.account_id.as_deref(),
        },
        tool_texts: &tool_texts,
        tool_targets: &tool_targets,
    };
    let reasoning = if inbound.options.alone { ReasoningLevel::Off } else { opened.reasoning() };
    let mut said = said(reasoning, &run);
    if run.said_nothing() && !inbound.principal.is_heartbeat() {
        said.retain(|payload| payload.text.as_deref().is_none_or(text::is_visible));
        said.push(ReplyPayload::from_text(notices::EMPTY_ANSWER.to_owned()));
    }
    let mut payloads = build(said, &reply);
    if inbound.options.alone {
        return payloads;
    }
    let usage = run.last_usage.zip(opened.model.as_ref().ok());
    let line = usage.and_then(|(usage, choice)| {
        usage_line(&usage, display_of(&opened.entry), choice.prices(&opened.config).as_ref(), &opened.key)
    });
    if let Some(line) = line {
        notices::append_line(&mut payloads, &line);
    }
    before(opened, &run).into_iter().chain(payloads).collect()
}

/// What the agent said, message by message, without what was sent in pieces.
fn said(shown: ReasoningLevel, run: &Run) -> Vec<ReplyPayload> {
    let mut sent: Vec<&str> = run.blocks.iter().filter_map(|block| block.text.as_deref()).collect();
    let mut payloads = Vec::new();
    for answer in run.answers.iter().filter(|answer| answer.stop_reason() != Some("error")) {
        let reasoning = thinking_of(answer);
        if shown != ReasoningLevel::Off && text::non_blank(&reasoning).is_some() {
            payloads.push(ReplyPayload::from_text(format!("Reasoning:\n_{}_", text::trim(&reasoning))));
        }
        if let Some(unsent) = unsent(&text_of(answer), &mut sent) {
            payloads.push(ReplyPayload::from_text(unsent));
        }
    }
    if let Some(error) = &run.error {
        payloads
            .push(ReplyPayload {
                is_error: Some(true), ..ReplyPayload::from_text(format!("⚠️ {error}"))
            });
    }
    payloads
}

/// What is left of a text when the pieces that begin it are taken off.
pub(crate) fn unsent(said: &str, sent: &mut Vec<&str>) -> Option<String> {
    let mut rest = text::trim(said);
    while let Some(piece) = sent.first() {
        match rest.strip_prefix(text::trim(piece)) {
            Some(after) => {
                rest = text::trim_start(after);
                sent.remove(0);
            }
            None => break,
        }
    }
    text::non_blank(rest).map(str::to_owned)
}

/// What is told before the reply.
fn before(opened: &Opened, run: &Run) -> Vec<ReplyPayload> {
    let mut told = opened.notices.clone();
    if opened.verbose() != VerboseLevel::Off && !run.compactions.is_empty() {
        let earlier = opened.entry.compaction_count().filter(|count| *count >= 1.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least one")]
        told.push(notices::compacted(earlier.map(|count| count as u64)));
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_were_sent_are_not_sent_again() {
        let table: [(&str, &[&str], Option<&str>); 4] = [
            ("one\n\ntwo", &["one"], Some("two")),
            ("one\n\ntwo", &["one", "two"], None),
            ("one", &[], Some("one")),
            ("another", &["one"], Some("another")),
        ];
        for (said, sent, rest) in table {
            assert_eq!(unsent(said, &mut sent.to_vec()).as_deref(), rest, "{said}");
        }
    }
}
