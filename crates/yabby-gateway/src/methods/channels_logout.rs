//! `channels.logout`: forgets the account of a channel. No channel runs yet, so that none can be left.

use yabby_domain::channel::normalize_channel;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, TEXT, optional, required};

pub(super) const METHOD: Method = Method {
    name: "channels.logout",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("channel", NON_EMPTY), optional("accountId", TEXT)]),
    about: "Forgets the account of a channel.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let named = normalize_channel(call.text("channel").unwrap_or_default());
    let channels = call.gateway.channels();
    match channels.iter().find(|channel| Some(channel.about.id) == named.as_deref()) {
        None => Err(Refusal::invalid("invalid channels.logout channel")),
        Some(channel) => {
            Err(Refusal::invalid(format!("channel {} does not support logout", channel.about.id)))
        }
    }
}
