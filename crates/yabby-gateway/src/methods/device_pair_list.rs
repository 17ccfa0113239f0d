//! `device.pair.list`: the devices that may connect, and those that ask to (`gateway.md` §7).

use serde_json::json;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::NOTHING;

pub(super) const METHOD: Method = Method {
    name: "device.pair.list",
    access: Access::Pairing,
    listing: Listing::Advertised,
    params: NOTHING,
    about: "The devices that may connect, and those that ask to.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let (pending, paired) = call.gateway.change_devices(|devices, _| devices.told()).await?;
    Ok(json!({"pending": pending, "paired": paired}))
}
