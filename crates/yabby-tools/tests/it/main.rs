//! Tools at work in a folder.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod desk;
mod escapes;
mod exec;
mod files;
mod memory;
mod message;
mod people;
mod sessions;
mod site;
mod web;
mod web_escapes;
mod web_search;
