//! `connect`: what every connection begins with, and only begins with.

use super::{Access, Call, Listing, Method};
use crate::frames::{self, Answer, Refusal};
use crate::schema::Schema;

pub(super) const METHOD: Method = Method {
    name: frames::CONNECT,
    access: Access::Admin,
    listing: Listing::Known,
    params: Schema::Any,
    about: "What every connection begins with.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(_call: Call) -> Answer {
    Err(Refusal::invalid("connect is only valid as the first request"))
}
