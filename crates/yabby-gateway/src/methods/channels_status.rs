//! `channels.status`: the channels that are set up (`gateway.md` §7). None of them runs yet.

use serde_json::json;
use yabby_domain::channel::status::ConfiguredChannel;
use yabby_domain::json::{Object, Value};

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{BOOLEAN, COUNT, Schema, optional};

pub(super) const METHOD: Method = Method {
    name: "channels.status",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[optional("probe", BOOLEAN), optional("timeoutMs", COUNT)]),
    about: "The channels that are set up, and their accounts.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let channels = call.gateway.channels();
    let by_id = |tell: &dyn Fn(&ConfiguredChannel) -> Value| -> Object {
        channels.iter().map(|channel| (channel.about.id.to_owned(), tell(channel))).collect()
    };
    let meta = channels.iter().map(|channel| {
        let about = &channel.about;
        json!({"id": about.id, "label": about.label, "detailLabel": about.detail, "systemImage": about.image})
    });
    let accounts = |channel: &ConfiguredChannel| {
        channel.accounts.iter().map(|account| Value::Object(account.to_object())).collect::<Vec<_>>().into()
    };
    let default =
        |channel: &ConfiguredChannel| channel.default_account().map(|account| account.id.clone()).into();
    Ok(json!({
        "ts": call.gateway.now(),
        "channelOrder": channels.iter().map(|channel| channel.about.id).collect::<Vec<_>>(),
        "channelLabels": by_id(&|channel| channel.about.label.into()),
        "channelDetailLabels": by_id(&|channel| channel.about.detail.into()),
        "channelSystemImages": by_id(&|channel| channel.about.image.into()),
        "channelMeta": meta.collect::<Vec<_>>(),
        "channels": by_id(&|channel| Value::Object(channel.summary())),
        "channelAccounts": by_id(&accounts),
        "channelDefaultAccountId": by_id(&default),
    }))
}
