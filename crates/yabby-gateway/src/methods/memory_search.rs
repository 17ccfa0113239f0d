//! `memory.search` (ours): what answers a question, in notes and conversations. Whoever is connected is the
//! owner.

use serde_json::json;
use yabby_memory::audience::Viewer;
use yabby_memory::recall::{Filter, Hit};
use yabby_memory::request::SearchRequest;
use yabby_memory::shown;

use super::remembering;
use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{BOOLEAN, NON_EMPTY, Schema, between, optional, required};

pub(super) const METHOD: Method = Method {
    name: "memory.search",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("query", NON_EMPTY),
        optional("agentId", NON_EMPTY),
        optional("sessionKey", NON_EMPTY),
        optional("channel", NON_EMPTY),
        optional("maxResults", between(1, 100)),
        optional("minScore", Schema::Number { min: 0.0, max: 1.0 }),
        optional("around", between(0, 20)),
        optional("explain", BOOLEAN),
    ]),
    about: "What answers a question, in notes and conversations.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let (agent, memory) = remembering::needed(&call)?;
    let gateway = &call.gateway;
    let session = match call.text("sessionKey") {
        Some(key) => Some(gateway.look(key).await?.key),
        None => None,
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within limits")]
    let around = call.number("around").unwrap_or(0.0) as u32;
    let request = SearchRequest {
        query: call.text("query").unwrap_or_default().to_owned(),
        viewer: Viewer::owner_in(session.clone(), &gateway.config()),
        filter: Filter {
            session_key: session.as_ref().map(|key| key.as_str().to_owned()),
            channel: call.text("channel").map(str::to_lowercase),
            ..Filter::default()
        },
        max_results: call.number("maxResults"),
        min_score: call.number("minScore"),
        around,
        now: gateway.timestamp(),
    };
    let found = memory.search(request.in_memory(&memory)).await.map_err(remembering::failed)?;
    let explains = call.flag("explain") == Some(true);
    let told = |hit: &Hit| {
        let mut told = shown::hit(hit);
        if explains {
            told["why"] = shown::why(hit);
        }
        told
    };
    Ok(json!({
        "agentId": agent.as_str(),
        "results": found.hits.iter().map(told).collect::<Vec<_>>(),
        "model": found.model,
        "unread": found.unread,
    }))
}
