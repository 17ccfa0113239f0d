//! The leash: where the agent may go, whatever it was talked into (`config.md` §9).

pub mod web_address;
