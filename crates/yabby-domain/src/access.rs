//! Who may talk to the agent and who may command it (`sessions.md` §17).

pub mod allow_list;
pub mod channel_entry;
pub mod command_auth;
pub mod group_policy;
pub mod mention_gate;
pub mod session_owner;
pub mod tool_policy;
