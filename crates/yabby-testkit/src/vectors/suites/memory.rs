//! `memory/`: the reference's index and ranking (`vectors/memory/README.md`).

mod citations;
mod config;
mod files;
mod flush;
mod ranking;
mod texts;
mod whole;

use yabby_domain::json::Value;

use crate::vectors::{Case, Suite};

/// The suites of the folder.
pub const ALL: &[Suite] = &[
    suite("memory/bm25-rank-to-score.json", ranking::text_score),
    suite("memory/build-fts-query.json", ranking::fts_query),
    suite("memory/chunk-markdown.json", texts::chunk_markdown),
    suite("memory/citations.json", citations::answer),
    suite("memory/config-resolve.json", config::answer),
    suite("memory/cosine.json", ranking::cosine),
    whole::SUITE,
    suite("memory/extra-paths.json", files::extra_paths),
    suite("memory/hash-text.json", texts::hash_text),
    suite("memory/list-memory-files.json", files::list),
    suite("memory/memory-flush.json", flush::answer),
    suite("memory/merge-hybrid.json", ranking::merge_hybrid),
    suite("memory/parse-embedding.json", ranking::parse_embedding),
    suite("memory/paths.json", texts::paths),
    suite("memory/redact.json", texts::redact),
    Suite {
        file: "memory/session-entry.json",
        cases: files::transcript_cases,
        answer: files::transcript,
        differences: &[],
    },
    suite("memory/truncate-utf16.json", texts::truncate),
];

const fn suite(file: &'static str, answer: fn(&Case) -> Option<Value>) -> Suite {
    Suite { file, cases, answer, differences: &[] }
}

/// The cases of a file: `{function, cases: [{name, input, output}]}`. Names repeat, so the place in the
/// list is a part of them.
fn cases(document: &Value) -> Vec<Case> {
    let of_file = document["function"].as_str().unwrap_or_default();
    let case = |(index, row): (usize, &Value)| Case {
        rule: row["input"]["fn"].as_str().unwrap_or(of_file).to_owned(),
        name: format!("{index} {}", row["name"].as_str().unwrap_or_default()),
        input: row["input"].clone(),
        expected: row["output"].clone(),
    };
    document["cases"].as_array().into_iter().flatten().enumerate().map(case).collect()
}
