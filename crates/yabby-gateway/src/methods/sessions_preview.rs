//! `sessions.preview`: what was said last in some sessions, in a few words each (`gateway.md` §6).

use std::borrow::Cow;

use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::seam::Part;
use yabby_domain::text;
use yabby_domain::transcript::preview::{
    MAX_SESSIONS, PreviewItem, PreviewLimits, WINDOWS, preview_items, tail,
};

use super::{Access, Call, Listing, Method};
use crate::Gateway;
use crate::frames::{Answer, Refusal};
use crate::schema::{NON_EMPTY, Schema, at_least, optional, required};

pub(super) const METHOD: Method = Method {
    name: "sessions.preview",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("keys", Schema::List { of: &NON_EMPTY, min: 1, max: usize::MAX }),
        optional("limit", at_least(1)),
        optional("maxChars", at_least(20)),
    ]),
    about: "What was said last in some sessions, in a few words each.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let keys = call.params.get("keys").and_then(Value::as_array).into_iter().flatten();
    let keys = keys.filter_map(|key| text::non_blank(key.as_str()?)).take(MAX_SESSIONS);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and saturates"
    )]
    let number = |name: &str, usual: usize| call.number(name).map_or(usual, |number| number as usize);
    let limits = PreviewLimits::new(number("limit", 12), number("maxChars", 240));
    let mut previews = Vec::new();
    for key in keys {
        let (status, items) = match preview(gateway, key, limits).await {
            Ok(None) => ("missing", Vec::new()),
            Ok(Some(items)) if items.is_empty() => ("empty", items),
            Ok(Some(items)) => ("ok", items),
            Err(error) => {
                tracing::warn!(key, %error, "a session cannot be looked into");
                ("error", Vec::new())
            }
        };
        let items = items.iter().map(|item| json!({"role": item.role.as_str(), "text": item.text}));
        previews.push(json!({"key": key, "status": status, "items": items.collect::<Vec<_>>()}));
    }
    Ok(json!({"ts": gateway.now(), "previews": previews}))
}

/// `None` if there is no such session.
async fn preview(
    gateway: &Gateway,
    key: &str,
    limits: PreviewLimits,
) -> Result<Option<Vec<PreviewItem>>, Refusal> {
    let Some(session) = gateway.look(key).await?.session else { return Ok(None) };
    let Some(transcript) = session.transcript() else { return Ok(None) };
    let transcripts = &session.home.transcripts;
    for bytes in WINDOWS {
        let Some(window) = transcripts.peek(&transcript, Part::Last(bytes)).await? else {
            return Ok(Some(Vec::new()));
        };
        let is_all = window.len() < bytes;
        let items = preview_items(|bytes| Cow::Borrowed(tail(&window, bytes)), limits);
        if is_all || !items.is_empty() {
            return Ok(Some(items));
        }
    }
    Ok(Some(Vec::new()))
}
