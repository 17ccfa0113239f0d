//! `channels.status`: the channels that are set up (`gateway.md` §7). None of them runs yet.

use serde_json::json;
use yabby_domain::channel::status::{self, Account, ConfiguredChannel};
use yabby_domain::json::{Object, Value};

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::health::NO_CHANNELS;
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
    let (now, is_to_ask) = (call.gateway.now(), call.flag("probe") == Some(true));
    let asked = |mut told: Object, is_ready: bool| -> Value {
        if is_to_ask && is_ready {
            status::insert_probe(&mut told, NO_CHANNELS, now.into());
        }
        Value::Object(told)
    };
    let by_id = |tell: &dyn Fn(&ConfiguredChannel) -> Value| -> Object {
        channels.iter().map(|channel| (channel.about.id.to_owned(), tell(channel))).collect()
    };
    let meta = channels.iter().map(|channel| {
        let about = &channel.about;
        json!({"id": about.id, "label": about.label, "detailLabel": about.detail, "systemImage": about.image})
    });
    let accounts = |channel: &ConfiguredChannel| {
        let told = channel.accounts.iter().map(|account| asked(account.to_object(), account.is_ready()));
        told.collect::<Vec<_>>().into()
    };
    let default =
        |channel: &ConfiguredChannel| channel.default_account().map(|account| account.id.clone()).into();
    Ok(json!({
        "ts": now,
        "channelOrder": channels.iter().map(|channel| channel.about.id).collect::<Vec<_>>(),
        "channelLabels": by_id(&|channel| channel.about.label.into()),
        "channelDetailLabels": by_id(&|channel| channel.about.detail.into()),
        "channelSystemImages": by_id(&|channel| channel.about.image.into()),
        "channelMeta": meta.collect::<Vec<_>>(),
        "channels": by_id(&|channel| asked(channel.summary(), channel.default_account().is_some_and(Account::is_ready))),
        "channelAccounts": by_id(&accounts),
        "channelDefaultAccountId": by_id(&default),
    }))
}
