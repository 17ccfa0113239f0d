//! What OpenClaudeCode asks of its `MemoryManager` (seed 003), of ours. Where OpenClaw's own index answers by
//! other rules than ours, both are asked.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::Connection;
use serde_json::json;
use yabby_memory::audience::Viewer;
use yabby_memory::compat::SearchOptions;
use yabby_memory::compat::chunking::chunks;
use yabby_memory::compat::fts_query::{fts_query, text_score};
use yabby_memory::memory::{Found, Search};
use yabby_memory::recall::Filter;
use yabby_memory::settings::Chunking;
use yabby_memory::unit::Role;

use crate::compat::{Home, search, sync};
use crate::house::{House, places};

const PERSON: &str = "agent:main:telegram:dm:5054873275";

/// What the owner finds, with conditions.
async fn found(house: &House, text: &str, filter: Filter, most: usize) -> Found {
    let search = Search {
        text: text.to_owned(),
        viewer: Viewer::owner(),
        filter,
        most,
        least: 0.0,
        around: 0,
        now: Timestamp::now(),
        zone: TimeZone::UTC,
    };
    house.memory.search(search).await.unwrap()
}

fn tables(connection: &Connection) -> Vec<String> {
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
    let mut statement = connection.prepare(names).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

#[tokio::test]
async fn ensure_schema_creates_fts5_tables() {
    // The index that OpenClaw reads, too.
    let home = Home::new();
    for _ in 0..2 {
        let index = home.open(json!({})).await;
        sync(&index).await;
    }
    let connection = Connection::open(home.store()).unwrap();
    let known = tables(&connection);
    for table in ["meta", "files", "chunks", "chunks_fts", "embedding_cache"] {
        assert!(known.contains(&table.to_owned()), "{table} in {known:?}");
    }
    let made: String = connection
        .query_row("SELECT sql FROM sqlite_master WHERE name = 'chunks_fts'", [], |row| row.get(0))
        .unwrap();
    assert!(made.to_lowercase().contains("using fts5"), "{made}");
    // Our own.
    let mut house = House::new();
    house.restart();
    let connection = Connection::open(house.index()).unwrap();
    let known = tables(&connection);
    for table in ["yabby_sources", "yabby_units", "yabby_postings", "yabby_facts"] {
        assert!(known.contains(&table.to_owned()), "{table} in {known:?}");
    }
    let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn index_session_chunks_and_indexes_transcript() {
    let house = House::new();
    house.session("agent:main:main", "one", "The spare key is with Ann.").await;
    house.say("one", "user", "The boat is in the shed.");
    let synced = house.memory.sync(&|_| {}).await.unwrap();
    assert_eq!((synced.files, synced.added), (1, 3));
    let hit = found(&house, "spare key", Filter::default(), 10).await.hits.remove(0);
    assert_eq!((hit.path.as_str(), hit.unit.first_line), ("sessions/one.jsonl", 2));
    assert_eq!(hit.session_key.as_deref(), Some("agent:main:main"));
    assert_eq!(hit.unit.speaker, "user");
    assert_eq!(hit.unit.at, Some(1_770_120_000_000), "with the time at which it was said");
    let totals = house.memory.recall().totals().unwrap();
    assert_eq!((totals.conversations, totals.messages), (1, 3));
}

#[tokio::test]
async fn search_returns_relevant_results_with_bm25_scoring() {
    let house = House::new();
    house.session("agent:main:main", "one", "the ferry to Helsinki leaves at nine").await;
    house.session("agent:main:two", "two", "the train leaves at nine").await;
    for number in 0..20 {
        house.session(&format!("agent:main:x{number}"), &format!("x{number}"), "nothing of the kind").await;
    }
    let hits = found(&house, "ferry to Helsinki at nine", Filter::default(), 10).await.hits;
    assert_eq!(hits[0].path, "sessions/one.jsonl");
    let train = hits.iter().find(|hit| hit.path == "sessions/two.jsonl").unwrap();
    // A rare word says more than one that many use.
    assert!(hits[0].score > train.score, "{} {}", hits[0].score, train.score);
    assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score), "the best first");
    assert!(hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
    // OpenClaw's index: SQLite's own ranking.
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    assert_eq!(search(&index, "router cellar").await[0].path, "MEMORY.md");
}

#[tokio::test]
async fn search_handles_empty_query() {
    let house = House::new();
    house.session("agent:main:main", "one", "The spare key is with Ann.").await;
    house.put("MEMORY.md", "- the boat is red\n");
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    for query in ["", " \n\t", "?!", "\"", "\u{a0}"] {
        assert_eq!(house.found(query).await, [""; 0], "{query:?}");
        assert!(index.search(query, &SearchOptions::default()).await.is_ok(), "{query:?}");
    }
    assert!(search(&index, " ").await.is_empty());
}

#[tokio::test]
async fn search_filters_by_session_key() {
    let house = House::new();
    house.session("agent:main:main", "one", "the quince jam is in the cellar").await;
    house.session("agent:main:task", "two", "the quince jam is in the attic").await;
    let all = found(&house, "quince jam", Filter::default(), 10).await;
    let of = |key: &str| all.hits.iter().filter(|hit| hit.session_key.as_deref() == Some(key)).count();
    assert!(of("agent:main:main") > 0 && of("agent:main:task") > 0);
    let filter = Filter { session_key: Some("agent:main:task".to_owned()), ..Filter::default() };
    let filtered = places(&found(&house, "quince jam", filter, 10).await);
    assert_eq!(filtered[0], "sessions/two.jsonl:2");
    assert!(filtered.iter().all(|place| place.starts_with("sessions/two.jsonl:")), "{filtered:?}");
    let nobody = Filter { session_key: Some(PERSON.to_owned()), ..Filter::default() };
    assert_eq!(places(&found(&house, "quince jam", nobody, 10).await), [""; 0]);
}

#[tokio::test]
async fn search_respects_max_results() {
    let house = House::new();
    for number in 0..12 {
        house.say("one", "user", &format!("note {number} about apples"));
        house.say("one", "assistant", "Noted.");
    }
    for (most, expected) in [(0, 0), (1, 1), (5, 5), (12, 12)] {
        let hits = found(&house, "apples", Filter::default(), most).await.hits;
        assert_eq!(hits.len(), expected, "{most}");
    }
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    let options = SearchOptions { max_results: Some(1.0), min_score: Some(0.0), ..SearchOptions::default() };
    assert_eq!(index.search("router lisbon", &options).await.unwrap().len(), 1);
}

/// A chunk that is indexed by itself is a note here.
#[tokio::test]
async fn index_chunk_stores_and_indexes_single_chunk() {
    let house = House::new();
    house.put("memory/2026-02-03.md", "- the boat is red\n");
    house.memory.sync(&|_| {}).await.unwrap();
    house.put("memory/2026-02-03.md", "- the boat is red\n- the spare key is with Ann\n");
    let synced = house.memory.sync(&|_| {}).await.unwrap();
    assert_eq!(synced.changed, 1);
    let hits = found(&house, "spare key", Filter::default(), 10).await.hits;
    assert_eq!(hits[0].kind, "memory");
    assert_eq!((hits[0].unit.role, hits[0].unit.first_line), (Role::Note, 2));
    assert_eq!(hits[0].unit.text, "- the spare key is with Ann");
    let totals = house.memory.recall().totals().unwrap();
    assert_eq!((totals.notes, totals.note_units), (1, 2));
}

#[tokio::test]
async fn chunking_splits_long_transcripts_correctly() {
    let house = House::new();
    let long = (0..200).map(|at| format!("Sentence {at} goes on. ")).collect::<String>();
    house.say("one", "user", &format!("{long}The kestrel nests at the very end."));
    house.say("one", "assistant", "Indeed.");
    house.say("one", "user", "short");
    house.memory.sync(&|_| {}).await.unwrap();
    let hits = found(&house, "kestrel", Filter::default(), 1).await.hits;
    let text = &hits[0].unit.text;
    assert!(
        text.ends_with("at the very end.") && text.starts_with("Sentence "),
        "cut between sentences: {text}"
    );
    assert!(text.chars().count() <= 1500);
    let totals = house.memory.recall().totals().unwrap();
    assert!(totals.messages >= 5, "the long one is several, turns are never joined: {totals:?}");
    // By the rules of OpenClaw: about 400 tokens, with an overlap, no line lost.
    let lines: Vec<String> = (0..300).map(|at| format!("User: line {at} of a long conversation")).collect();
    let cut = chunks(&lines.join("\n"), Chunking { tokens: 400.0, overlap: 80.0 });
    assert!(cut.len() > 3 && cut.iter().all(|chunk| chunk.text.len() <= 1600));
    assert_eq!((cut[0].start_line, cut[cut.len() - 1].end_line), (1, 300));
    assert!(cut.windows(2).all(|pair| pair[1].start_line <= pair[0].end_line + 1), "nothing is lost");
    assert!(cut.windows(2).any(|pair| pair[1].start_line <= pair[0].end_line), "they overlap");
}

#[test]
fn fts_query_building_and_joined_quoted_tokens() {
    let table = [
        ("spare key", Some("\"spare\" AND \"key\"")),
        ("  the  key? ", Some("\"the\" AND \"key\"")),
        ("user_id 42", Some("\"user_id\" AND \"42\"")),
        ("\"x\" OR y*", Some("\"x\" AND \"OR\" AND \"y\"")),
        ("", None),
        ("?!", None),
    ];
    for (raw, expected) in table {
        assert_eq!(fts_query(raw).as_deref(), expected, "{raw:?}");
    }
}

#[test]
fn score_normalization_one_over_one_plus_rank() {
    // SQLite ranks hits below zero, which count as zero (as in OpenClaw).
    let table = [(0.0, 1.0), (1.0, 0.5), (3.0, 0.25), (-2.5, 1.0), (f64::NAN, 0.001), (f64::INFINITY, 0.001)];
    for (rank, expected) in table {
        assert!((text_score(rank) - expected).abs() < 1e-12, "{rank}");
    }
}
