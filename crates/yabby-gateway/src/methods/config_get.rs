//! `config.get`: the configuration as it is, without its secrets (`gateway.md` §7).

use serde_json::json;
use yabby_config::issue::Issue;
use yabby_config::redaction::redacted;
use yabby_domain::json::Value;
use yabby_store::config_file::Snapshot;

use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::on_disk;
use crate::schema::NOTHING;

pub(super) const METHOD: Method = Method {
    name: "config.get",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: NOTHING,
    about: "The configuration as it is, with marks in the places of its secrets.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let place = call.gateway.place.clone();
    on_disk(move || Ok(told(&Snapshot::read(&place)))).await?
}

fn told(snapshot: &Snapshot) -> Value {
    json!({
        "path": snapshot.path.to_string_lossy(),
        "exists": snapshot.exists,
        "raw": snapshot.redacted_text(),
        "parsed": redacted(&snapshot.parsed),
        "valid": snapshot.is_valid(),
        "config": redacted(snapshot.config.raw()),
        "hash": snapshot.hash,
        "issues": issues(&snapshot.issues),
        "warnings": issues(&snapshot.warnings),
        "legacyIssues": issues(&snapshot.legacy),
    })
}

/// What is wrong, and where.
pub(super) fn issues(issues: &[Issue]) -> Vec<Value> {
    issues.iter().map(|issue| json!({"path": issue.path, "message": issue.message})).collect()
}
