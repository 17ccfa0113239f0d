//! Accepted messages as the journals of all releases have them (`sessions.md` §9, §18).

use serde::Deserialize;

use super::{Accepted, TurnOptions};
use crate::inbound::InboundMessage;
use crate::principal::{Announcement, OnBehalfOf, Principal, ReplyTo};

/// The present form, and what earlier releases wrote in its place.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct RecordedAccepted {
    session_key: String,
    principal: Option<Principal>,
    reply_to: Option<ReplyTo>,
    message: InboundMessage,
    options: RecordedOptions,
    dedupe: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RecordedOptions {
    #[serde(flatten)]
    options: TurnOptions,
    /// Earlier form: the reply goes to the caller, who is the owner unless `behalf` says otherwise.
    to_caller: bool,
    behalf: Option<RecordedBehalf>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RecordedBehalf {
    #[serde(flatten)]
    behalf: OnBehalfOf,
    announce: Option<Announcement>,
}

impl From<RecordedAccepted> for Accepted {
    fn from(recorded: RecordedAccepted) -> Self {
        let RecordedAccepted { session_key, principal, reply_to, message, options, dedupe } = recorded;
        let RecordedOptions { options, to_caller, behalf } = options;
        let (behalf, announce) = behalf.map_or((None, None), |asked| (Some(asked.behalf), asked.announce));
        let earlier = match (behalf, to_caller) {
            (Some(behalf), _) => Principal::Agent(behalf),
            (None, true) => Principal::LocalOwner,
            (None, false) => Principal::Peer,
        };
        let earlier_reply = match (announce, to_caller) {
            (Some(announcement), _) => ReplyTo::Announcement(announcement),
            (None, true) => ReplyTo::Caller,
            (None, false) => ReplyTo::Session,
        };
        Self {
            session_key,
            principal: principal.unwrap_or(earlier),
            reply_to: reply_to.unwrap_or(earlier_reply),
            message,
            options,
            dedupe,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::turn::{Record, Step};

    fn read(options: &str) -> (Principal, ReplyTo) {
        let line = format!(
            r#"{{"turn":"t","at":1,"step":"accepted","sessionKey":"k","message":{{"Body":"hi"}},"options":{options}}}"#
        );
        let Some(Step::Accepted(accepted)) = Record::parse(&line).map(|record| record.step) else {
            panic!("{line} cannot be read");
        };
        assert_eq!(accepted.message.body.as_deref(), Some("hi"));
        assert_eq!(accepted.options.run_id.as_deref(), Some("r"));
        (accepted.principal.clone(), accepted.reply_to.clone())
    }

    #[test]
    fn journals_of_earlier_releases_are_read() {
        let behalf = OnBehalfOf { session: "s".to_owned(), is_owner: true, among_others: false };
        let announcement = Announcement { label: "l".to_owned(), delete_after: true };
        assert_eq!(read(r#"{"runId":"r","toCaller":true}"#), (Principal::LocalOwner, ReplyTo::Caller));
        assert_eq!(read(r#"{"runId":"r","toCaller":false}"#), (Principal::Peer, ReplyTo::Session));
        assert_eq!(
            read(r#"{"runId":"r","toCaller":true,"behalf":{"session":"s","isOwner":true}}"#),
            (Principal::Agent(behalf.clone()), ReplyTo::Caller)
        );
        assert_eq!(
            read(
                r#"{"runId":"r","toCaller":true,"behalf":{"session":"s","isOwner":true,"announce":{"label":"l","deleteAfter":true}}}"#
            ),
            (Principal::Agent(behalf), ReplyTo::Announcement(announcement))
        );
    }
}
