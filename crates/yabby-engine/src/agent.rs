//! The agent: it asks a model, does what the model wants done, and asks again until there is an answer.

mod answer;
mod bounded_stream;
mod call;
pub(crate) mod compact;
pub(crate) mod context;
pub(crate) mod conversation;
mod failover;
mod look;
pub(crate) mod model;
pub(crate) mod prepared;
mod request;
mod resume;
pub(crate) mod run;
pub(crate) mod system_prompt;
mod toolbox;
mod tools;

pub(crate) mod said {
    pub(crate) use super::answer::{text_of, thinking_of};
}

pub(crate) use call::timed_out;
pub(crate) use request::{Opening, RunRequest, time_limit};
pub(crate) use run::{Run, is_asked, run};
