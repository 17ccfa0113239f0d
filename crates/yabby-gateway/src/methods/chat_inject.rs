//! `chat.inject`: puts a message of the agent's into a conversation that no model made (`gateway.md` §5.4).

use serde_json::json;
use yabby_domain::transcript::mirror::injected_message;

use super::{Access, Call, Listing, Method};
use crate::asking;
use crate::frames::Answer;
use crate::hub::Weight;
use crate::schema::{NON_EMPTY, Schema, optional, required};

pub(super) const METHOD: Method = Method {
    name: "chat.inject",
    access: Access::Admin,
    listing: Listing::Known,
    params: Schema::Object(&[
        required("sessionKey", NON_EMPTY),
        required("message", NON_EMPTY),
        optional("label", Schema::Text { min: 0, max: 100 }),
    ]),
    about: "Puts a message into a conversation, as if the agent had said it.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let told_key = call.text("sessionKey").unwrap_or_default();
    let said = call.text("message").unwrap_or_default();
    let named = gateway.kept(told_key).await?;
    let message = injected_message(said, call.text("label"), gateway.timestamp());
    let id = asking::inject(gateway, &named, &message).await?;
    let payload = json!({
        "runId": format!("inject-{id}"),
        "sessionKey": told_key,
        "seq": 0,
        "state": "final",
        "message": asking::value_of(&message),
    });
    gateway.tell_talk("chat", &payload, Weight::Needed);
    Ok(json!({"ok": true, "messageId": id}))
}
