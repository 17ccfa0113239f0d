//! `usage.status`: what services say about how much may still be used. Nobody here asks them.

use serde_json::json;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::Schema;

pub(super) const METHOD: Method = Method {
    name: "usage.status",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Any,
    about: "What services say is left to use; none of them is asked yet.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    Ok(json!({"updatedAt": call.gateway.now(), "providers": []}))
}
