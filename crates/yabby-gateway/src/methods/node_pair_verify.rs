//! `node.pair.verify`: whether a token is that of a node.

use serde_json::json;

use super::{Access, Call, Listing, Method};
use crate::auth::same_secret;
use crate::frames::Answer;
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "node.pair.verify",
    access: Access::Pairing,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("nodeId", NON_EMPTY), required("token", NON_EMPTY)]),
    about: "Whether a token is that of a node.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let said = |name: &str| call.text(name).unwrap_or_default().to_owned();
    let (node, token) = (said("nodeId"), said("token"));
    let known =
        call.gateway.change_nodes(move |nodes, _| nodes.verify(&node, |known| same_secret(known, &token)));
    Ok(match known.await? {
        Some(node) => json!({"ok": true, "node": node}),
        None => json!({"ok": false}),
    })
}
