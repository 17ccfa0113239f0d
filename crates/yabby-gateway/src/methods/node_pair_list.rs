//! `node.pair.list`: the nodes that were let in, and those that ask to be.

use serde_json::json;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::NOTHING;

pub(super) const METHOD: Method = Method {
    name: "node.pair.list",
    access: Access::Pairing,
    listing: Listing::Advertised,
    params: NOTHING,
    about: "The nodes that were let in, and those that ask to be.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let (pending, paired) = call.gateway.change_nodes(|nodes, _| nodes.told()).await?;
    Ok(json!({"pending": pending, "paired": paired}))
}
