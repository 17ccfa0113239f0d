//! `bm25-rank-to-score.json`, `build-fts-query.json`, `cosine.json`, `merge-hybrid.json`,
//! `parse-embedding.json`.

use serde_json::json;
use yabby_domain::json::{Value, number};
use yabby_memory::compat::files::Source;
use yabby_memory::compat::hybrid::{Found, Weights, merge};
use yabby_memory::compat::{Hit, fts_query, vectors};

use crate::vectors::Case;

pub fn text_score(case: &Case) -> Option<Value> {
    Some(number(fts_query::text_score(case.input.as_str()?.parse().ok()?)))
}

pub fn fts_query(case: &Case) -> Option<Value> {
    Some(json!(fts_query::fts_query(case.input.as_str()?)))
}

pub fn cosine(case: &Case) -> Option<Value> {
    let vector =
        |field| -> Option<Vec<f64>> { case.arg(field).as_array()?.iter().map(Value::as_f64).collect() };
    Some(number(vectors::cosine(&vector("a")?, &vector("b")?)))
}

pub fn parse_embedding(case: &Case) -> Option<Value> {
    Some(Value::Array(vectors::listed(case.input.as_str()?)))
}

pub fn merge_hybrid(case: &Case) -> Option<Value> {
    let weights =
        Weights { vector: case.arg("vectorWeight").as_f64()?, text: case.arg("textWeight").as_f64()? };
    let rows = |field, score: &str| -> Option<Vec<Found>> {
        case.arg(field).as_array()?.iter().map(|row| found(row, score)).collect()
    };
    let merged = merge(rows("vector", "vectorScore")?, rows("keyword", "textScore")?, weights);
    Some(merged.iter().map(Hit::to_json).collect())
}

fn found(row: &Value, score: &str) -> Option<Found> {
    let text = |field| row.get(field).and_then(Value::as_str).map(str::to_owned);
    Some(Found {
        id: text("id")?,
        path: text("path")?,
        source: Source::parse(row["source"].as_str()?)?,
        start_line: row["startLine"].as_u64()?,
        end_line: row["endLine"].as_u64()?,
        snippet: text("snippet")?,
        score: row[score].as_f64()?,
    })
}
