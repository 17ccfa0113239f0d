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

async fn answer(call: Call) -> Answer {
    Ok(call.gateway.look_at_health().await)
}
