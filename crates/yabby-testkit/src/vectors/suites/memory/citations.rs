//! `citations.json`.

use serde_json::json;
use yabby_domain::json::Value;
use yabby_memory::compat::Hit;
use yabby_memory::compat::citations::{CitationMode, citation, cited_snippet};
use yabby_memory::compat::files::Source;

use crate::vectors::Case;

pub fn answer(case: &Case) -> Option<Value> {
    Some(match case.rule.as_str() {
        "formatCitation" => json!(citation(&hit(case.arg("entry"))?)),
        "decorateCitations" => {
            let hits: Vec<Hit> = case.arg("results").as_array()?.iter().map(hit).collect::<Option<_>>()?;
            let is_cited = case.arg("include").as_bool()?;
            hits.iter().map(|hit| if is_cited { cited(hit) } else { hit.to_json() }).collect()
        }
        "resolveMemoryCitationsMode" => json!(CitationMode::parse(case.text("citations")).as_str()),
        "shouldIncludeCitations" => {
            json!(CitationMode::parse(case.text("mode")).is_on_in(case.text("sessionKey")))
        }
        _ => return None,
    })
}

fn cited(hit: &Hit) -> Value {
    let mut shown = hit.to_json();
    shown["snippet"] = cited_snippet(&hit.snippet, &citation(hit)).into();
    shown["citation"] = citation(hit).into();
    shown
}

fn hit(row: &Value) -> Option<Hit> {
    Some(Hit {
        path: row["path"].as_str()?.to_owned(),
        start_line: row["startLine"].as_u64()?,
        end_line: row["endLine"].as_u64()?,
        score: row["score"].as_f64()?,
        snippet: row["snippet"].as_str()?.to_owned(),
        source: Source::parse(row["source"].as_str()?)?,
    })
}
