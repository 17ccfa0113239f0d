//! Servers of the Model Context Protocol, good and bad, and our own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod desk;
mod http;
mod other_language;
mod program;
mod remembering;
mod serve;
mod serve_http;
#[path = "../../src/bin/mcp_stand_in.rs"]
mod stand_in;
