//! `health`: how we are.

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::Schema;

pub(super) const METHOD: Method = Method {
    name: "health",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Any,
    about: "How the gateway, its agents and its channels are.",
    answer: |call| Box::pin(answer(call)),
};

/// What was seen a moment ago is good enough for whoever does not insist; then somebody looks again.
async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    match gateway.lately_seen().filter(|_| call.flag("probe") != Some(true)) {
        Some(seen) => {
            gateway.refresh_health();
            Ok(seen)
        }
        None => Ok(gateway.look_at_health().await),
    }
}
