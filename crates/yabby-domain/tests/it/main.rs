//! What holds for any input.

mod inbound;
mod provider_rules;
mod queue;
mod reply;
