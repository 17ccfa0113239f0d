//! `sessions.patch`: changes the settings of a session (`gateway.md` §6). The rule is
//! `yabby_domain::session::change`.

use serde_json::json;
use yabby_domain::session::label;
use yabby_engine::services::PatchRequest;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{NON_EMPTY, Schema, optional, required};

/// A word, or none any more.
const WORD: Schema = Schema::OneOf(&[NON_EMPTY, Schema::Null]);

pub(super) const METHOD: Method = Method {
    name: "sessions.patch",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("key", NON_EMPTY),
        optional("label", Schema::OneOf(&[Schema::Text { min: 1, max: label::MAX_UNITS }, Schema::Null])),
        optional("thinkingLevel", WORD),
        optional("verboseLevel", WORD),
        optional("reasoningLevel", WORD),
        optional(
            "responseUsage",
            Schema::OneOf(&[
                Schema::Constant("off"),
                Schema::Constant("tokens"),
                Schema::Constant("full"),
                Schema::Constant("on"),
                Schema::Null,
            ]),
        ),
        optional("elevatedLevel", WORD),
        optional("execHost", WORD),
        optional("execSecurity", WORD),
        optional("execAsk", WORD),
        optional("execNode", WORD),
        optional("model", WORD),
        optional("spawnedBy", WORD),
        optional(
            "sendPolicy",
            Schema::OneOf(&[Schema::Constant("allow"), Schema::Constant("deny"), Schema::Null]),
        ),
        optional(
            "groupActivation",
            Schema::OneOf(&[Schema::Constant("mention"), Schema::Constant("always"), Schema::Null]),
        ),
    ]),
    about: "Changes the settings of a session: label, levels, model and the like.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let gateway = &call.gateway;
    let session = gateway.session(call.text("key").unwrap_or_default()).await?;
    let request = PatchRequest {
        agent: session.agent.clone(),
        key: session.key.clone(),
        fields: call.params.as_object().cloned().unwrap_or_default(),
    };
    let patched = gateway.engine.patch_session(request).await?;
    Ok(json!({
        "ok": true,
        "path": gateway.store_path(&session.agent),
        "key": session.key.as_str(),
        "entry": patched.entry.into_object(),
        "resolved": {"modelProvider": patched.model.provider, "model": patched.model.model},
    }))
}
