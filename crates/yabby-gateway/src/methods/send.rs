//! `send`: sends a message without an agent having said it (`gateway.md` §7). Those who talk to us directly are a
//! channel, too: there `to` is a session, and the message is put into its conversation.

use serde_json::json;
use yabby_domain::text;
use yabby_domain::transcript::mirror::injected_message;

use super::{Access, Call, Listing, Method};
use crate::asking::{self, WEBCHAT};
use crate::frames::{Answer, Refusal};
use crate::hub::Weight;
use crate::schema::{BOOLEAN, NON_EMPTY, Schema, TEXT, optional, required};

pub(super) const METHOD: Method = Method {
    name: "send",
    access: Access::Write,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("to", NON_EMPTY),
        required("message", NON_EMPTY),
        optional("mediaUrl", TEXT),
        optional("mediaUrls", Schema::List { of: &TEXT, min: 0, max: usize::MAX }),
        optional("gifPlayback", BOOLEAN),
        optional("channel", TEXT),
        optional("accountId", TEXT),
        optional("sessionKey", TEXT),
        required("idempotencyKey", NON_EMPTY),
    ]),
    about: "Sends a message to a channel; to `webchat` it goes into the conversation of a session.",
    answer: |call| Box::pin(answer(call)),
};

/// Where messages go unless somebody says otherwise.
const USUAL: &str = "whatsapp";

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let run_id = call.text("idempotencyKey").unwrap_or_default();
    let remembered = format!("send:{run_id}");
    let _alone = gateway.dedupe.alone(&remembered).await;
    if let Some(answer) = gateway.dedupe.find(&remembered) {
        return answer;
    }
    let channel = call.text("channel").filter(|channel| !channel.is_empty()).unwrap_or(USUAL);
    if text::lower(text::trim(channel)) != WEBCHAT {
        return Err(Refusal::invalid(format!("unsupported channel: {channel}")));
    }
    let answer = into_conversation(&call, run_id).await;
    gateway.dedupe.remember(&remembered, &answer);
    answer
}

async fn into_conversation(call: &Call, run_id: &str) -> Answer {
    let gateway = &call.gateway;
    let told_key = call.text("sessionKey").or(call.text("to")).unwrap_or_default();
    let named = gateway.kept(told_key).await?;
    gateway.check_send_policy(&named, &gateway.config())?;
    let media = call.params.get("mediaUrls").and_then(|urls| urls.as_array()).into_iter().flatten();
    let media: Vec<&str> = media.filter_map(|url| url.as_str()).chain(call.text("mediaUrl")).collect();
    let said: Vec<String> = call
        .text("message")
        // Media alone may come with a blank, since there has to be some text.
        .filter(|said| media.is_empty() || text::non_blank(said).is_some())
        .map(str::to_owned)
        .into_iter()
        .chain(media.iter().map(|url| format!("MEDIA:{url}")))
        .collect();
    let message = injected_message(&said.join("\n"), None, gateway.timestamp());
    let id = asking::say(gateway, &named, &message).await?;
    let payload = json!({
        "runId": run_id,
        "sessionKey": told_key,
        "seq": 0,
        "state": "final",
        "message": asking::value_of(&message),
    });
    gateway.tell_talk("chat", &payload, Weight::Needed);
    Ok(json!({"runId": run_id, "messageId": id, "channel": WEBCHAT, "conversationId": named.key.as_str()}))
}
