//! `config.set`: puts another text in the place of the configuration.

use yabby_domain::json::Value;

use super::config_edit::{Way, told, write};
use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::schema::{NON_EMPTY, Schema, optional, required};

pub(super) const METHOD: Method = Method {
    name: "config.set",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("raw", NON_EMPTY), optional("baseHash", NON_EMPTY)]),
    about: "Writes the configuration; what changed applies at once where it can.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let config = write(&call, Way::Whole).await?;
    Ok(Value::Object(told(&call, config)))
}
