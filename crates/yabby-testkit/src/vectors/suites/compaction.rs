//! `compaction.json`.

use yabby_domain::json::Value;

use super::rows;
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "compaction.json", cases: rows, answer, differences: &[] };

fn answer(_case: &Case) -> Option<Value> {
    None
}
