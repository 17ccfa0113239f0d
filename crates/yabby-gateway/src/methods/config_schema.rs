//! `config.schema`: what may stand in the configuration, and how pages show it (`gateway.md` §7).

use serde_json::json;
use yabby_config::{hints, schema};
use yabby_domain::transcript::time::iso;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::on_disk;
use crate::schema::NOTHING;

pub(super) const METHOD: Method = Method {
    name: "config.schema",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: NOTHING,
    about: "What may stand in the configuration, and how pages show it.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let (version, now) = (call.gateway.version.clone(), call.gateway.timestamp());
    on_disk(move || {
        let schema = schema::schema();
        let hints = hints::of(&schema);
        let schema = schema::written_out(&schema);
        Ok(json!({"schema": schema, "uiHints": hints, "version": version, "generatedAt": iso(now)}))
    })
    .await?
}
