//! Properties that hold for any input.

mod inbound;
mod reply;
