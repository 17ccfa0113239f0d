//! The leash: what the agent may do, whatever it was talked into.
//!
//! Rules only. For commands (`config.md` §9, `state-files.md` §4): what a command line consists of
//! ([`command_line`]), which programs are allowed ([`approvals`],
//! [`safe_bins`]) and what they can do ([`program`]), whether somebody is asked
//! ([`exec_policy`]), what a command is given of the environment ([`environment`]) and what it sees of the
//! machine ([`confinement`]). For the web: where a request may go ([`web_address`]).

pub mod approvals;
pub mod command_line;
pub mod confinement;
pub mod environment;
pub mod exec_policy;
pub mod program;
pub mod safe_bins;
pub mod web_address;
