//! `config.apply`: puts another text in the place of the configuration, and starts anew.

use super::config_edit::{PARAMS, Way, write_and_restart};
use super::{Access, Call, Listing, Method};
use crate::frames::Answer;

pub(super) const METHOD: Method = Method {
    name: "config.apply",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: PARAMS,
    about: "Writes the configuration, and starts anew.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    write_and_restart(&call, Way::Whole, "config.apply").await
}
