//! `sessions.search` (ours): the messages that hold certain words, in all conversations of an agent. Whoever is
//! connected is the owner.

use jiff::Timestamp;
use serde_json::json;
use yabby_memory::audience::Viewer;
use yabby_memory::recall::{Filter, Wanted};
use yabby_memory::shown;
use yabby_memory::unit::Role;

use super::remembering;
use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{COUNT, NON_EMPTY, Schema, TEXT, between, optional, required};

pub(super) const METHOD: Method = Method {
    name: "sessions.search",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("query", TEXT),
        optional("agentId", NON_EMPTY),
        optional("sessionKey", NON_EMPTY),
        optional("channel", NON_EMPTY),
        optional("role", Schema::OneOf(&[Schema::Constant("user"), Schema::Constant("assistant")])),
        optional("since", NON_EMPTY),
        optional("until", NON_EMPTY),
        optional("limit", between(1, 500)),
        optional("skip", COUNT),
    ]),
    about: "The messages that hold certain words, the latest first.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let (agent, memory) = remembering::needed(&call)?;
    let gateway = &call.gateway;
    let session = match call.text("sessionKey") {
        Some(key) => Some(gateway.look(key).await?.key),
        None => None,
    };
    let time = |name: &str| match call.text(name) {
        None => Ok(None),
        Some(said) => said.parse::<Timestamp>().map(|at| Some(at.as_millisecond())).map_err(|_| {
            Refusal::invalid(format!(
                "invalid sessions.search params: at /{name}: must be a time such as 2026-02-03T10:00:00Z"
            ))
        }),
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and saturates"
    )]
    let number = |name: &str, usual: usize| call.number(name).map_or(usual, |number| number as usize);
    let wanted = Wanted {
        words: call.text("query").unwrap_or_default().to_owned(),
        // A session that they name is one that they may look into.
        viewer: Viewer::owner_in(session.clone(), &gateway.config()),
        filter: Filter {
            session_key: session.as_ref().map(|key| key.as_str().to_owned()),
            channel: call.text("channel").map(str::to_lowercase),
            ..Filter::default()
        },
        role: call.text("role").map(|role| if role == "user" { Role::User } else { Role::Assistant }),
        since: time("since")?,
        until: time("until")?,
        most: number("limit", 50),
        skip: number("skip", 0),
    };
    let (found, unread) = memory.messages(wanted).await.map_err(remembering::failed)?;
    Ok(json!({
        "agentId": agent.as_str(),
        "count": found.len(),
        "messages": found.iter().map(shown::message).collect::<Vec<_>>(),
        "unread": unread,
    }))
}
