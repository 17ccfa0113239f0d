//! `logs.tail`: the last lines of the log, or what was written since (`gateway.md` §7).

use serde_json::json;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::logs::{log_file, slice};
use crate::on_disk;
use crate::schema::{COUNT, Schema, between, optional};

pub(super) const METHOD: Method = Method {
    name: "logs.tail",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        optional("cursor", COUNT),
        optional("limit", between(1, 5000)),
        optional("maxBytes", between(1, 1_000_000)),
    ]),
    about: "The last lines of the log, or what was written since.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "not negative, and saturates"
    )]
    let number = |name: &str| call.number(name).map(|number| number as u64);
    let cursor = number("cursor");
    let limit = usize::try_from(number("limit").unwrap_or(500)).unwrap_or(usize::MAX);
    let max_bytes = number("maxBytes").unwrap_or(250_000);
    let file = log_file(&call.gateway.config(), &call.gateway.place);
    let name = file.to_string_lossy().into_owned();
    let read = on_disk(move || slice(&file, cursor, limit, max_bytes)).await?;
    let read = read.map_err(|error| Refusal::unavailable(format!("log read failed: {error}")))?;
    Ok(json!({
        "file": name,
        "cursor": read.size,
        "size": read.size,
        "lines": read.lines,
        "truncated": read.truncated,
        "reset": read.reset,
    }))
}
