//! `config.patch`: changes some of the configuration, and starts anew.

use super::config_edit::{PARAMS, Way, write_and_restart};
use super::{Access, Call, Listing, Method};
use crate::frames::Answer;

pub(super) const METHOD: Method = Method {
    name: "config.patch",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: PARAMS,
    about: "Changes some of the configuration (RFC 7396), and starts anew.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    write_and_restart(&call, Way::Patch, "config.patch").await
}
