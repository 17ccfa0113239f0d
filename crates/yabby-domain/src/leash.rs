//! The leash: where the agent may go, whatever it was talked into (issue 7).

pub mod web_address;
