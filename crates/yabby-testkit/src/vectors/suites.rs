//! One suite a vector file. To add one: a file here and a line in `ALL`.

mod allowlist;
mod compaction;
mod context;
mod dashed_keys;
mod delivery_context;
mod freshness;
mod history;
mod history_limits;
mod inbound;
mod labels;
mod lifecycle;
pub mod memory;
mod memory_flush;
mod model_selection;
mod pruning;
mod queue;
mod repair;
mod reply;
mod reset_model;
mod routing;
mod send_policy;
mod session_keys;
mod skills;
mod store;
mod system_events;
mod titles;
mod transcript_ops;
pub mod transcripts;
mod usage;

use yabby_domain::json::Value;

use super::{Case, Suite};

pub const ALL: &[Suite] = &[
    allowlist::SUITE,
    compaction::SUITE,
    delivery_context::SUITE,
    freshness::SUITE,
    history::SUITE,
    history_limits::SUITE,
    inbound::SUITE,
    labels::SUITE,
    lifecycle::SUITE,
    memory_flush::SUITE,
    model_selection::SUITE,
    pruning::SUITE,
    queue::SUITE,
    repair::SUITE,
    reply::SUITE,
    reset_model::SUITE,
    routing::SUITE,
    send_policy::SUITE,
    session_keys::SUITE,
    skills::SUITE,
    store::SUITE,
    system_events::SUITE,
    titles::SUITE,
    transcript_ops::SUITE,
    usage::SUITE,
];

/// The cases of a session-side file: a list of `{fn, name, input, expected}`.
fn rows(document: &Value) -> Vec<Case> {
    let row = |row: &Value| Case {
        rule: row["fn"].as_str().unwrap_or_default().to_owned(),
        name: row["name"].as_str().unwrap_or_default().to_owned(),
        input: row["input"].clone(),
        expected: row["expected"].clone(),
    };
    document.as_array().map(|rows| rows.iter().map(row).collect()).unwrap_or_default()
}

/// The cases of a transcript-side file: one for each row of every list, `expected` taken from the row
/// by `expected`. Fields that name a shared conversation, set, … are replaced by what they name.
fn list_rows(document: &Value, shared: &[(&str, &str)], expected: fn(&str, &Value) -> Value) -> Vec<Case> {
    let mut cases = Vec::new();
    for (rule, list) in document.as_object().into_iter().flatten() {
        let rows = list.as_array().into_iter().flatten().filter(|row| row.is_object());
        for (index, row) in rows.enumerate() {
            let name = row["name"].as_str().map_or_else(|| index.to_string(), str::to_owned);
            let mut input = row.clone();
            for (field, store) in shared {
                if let Some(key) = row[*field].as_str() {
                    input[*field] = document[*store][key].clone();
                }
            }
            cases.push(Case { rule: rule.clone(), name, expected: expected(rule, row), input });
        }
    }
    cases
}
