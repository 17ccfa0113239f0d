//! `system-presence`: who is there.

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::Schema;

pub(super) const METHOD: Method = Method {
    name: "system-presence",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Any,
    about: "Who is connected, and who was a moment ago.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    Ok(call.gateway.presence.list(call.gateway.now_ms()))
}
