//! The reference's index: kept up to date, and searched.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::session::path::Folders;
use yabby_memory::compat::{CompatIndex, Embedders, Hit, Places, Progress, Reason, SearchOptions};
use yabby_memory::settings::Settings;
use yabby_testkit::hashed_embedder::{HashedEmbedder, alone};

/// A workspace with two notes, and whoever embeds them.
pub struct Home {
    folder: TempDir,
    pub embedder: Arc<HashedEmbedder>,
}

impl Home {
    pub fn new() -> Self {
        let home = Self {
            folder: tempfile::tempdir().expect("a folder"),
            embedder: Arc::new(HashedEmbedder::new("openai", "words")),
        };
        home.write("MEMORY.md", "The router is in the cellar.\n");
        home.write("memory/trip.md", "Flights to Lisbon are booked.\n");
        home
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn workspace(&self) -> PathBuf {
        self.path().join("ws")
    }

    pub fn sessions(&self) -> PathBuf {
        self.path().join("sessions")
    }

    pub fn store(&self) -> PathBuf {
        self.path().join("memory/main.sqlite")
    }

    pub fn write(&self, name: &str, text: &str) {
        put(&self.workspace().join(name), text);
    }

    pub fn transcript(&self, name: &str, said: &[&str]) -> PathBuf {
        let line = |text: &&str| json!({"type": "message", "message": {"role": "user", "content": text}});
        let lines: Vec<String> = said.iter().map(|text| format!("{}\n", line(text))).collect();
        let path = self.sessions().join(name);
        put(&path, &lines.concat());
        path
    }

    /// An index that waits to be told, configured like this besides.
    pub async fn open(&self, memory_search: Value) -> CompatIndex {
        self.open_with(memory_search, alone(self.embedder.clone())).await
    }

    pub async fn open_with(&self, memory_search: Value, embedders: Embedders) -> CompatIndex {
        let mut configured = json!({"sync": {"onSearch": false, "onSessionStart": false}});
        for (name, value) in memory_search.as_object().into_iter().flatten() {
            configured[name] = value.clone();
        }
        let config = Config::new(json!({"agents": {"defaults": {"memorySearch": configured}}}));
        let state = self.path().display().to_string();
        let folders = Folders { state: &state, home: &state, current: "/" };
        let settings = Settings::from_config(&config, &AgentId::normalize("main"), &folders)
            .expect("memory search is on");
        let agent = AgentId::default();
        let places = Places { agent, workspace: self.workspace(), sessions: self.sessions() };
        CompatIndex::open(places, settings, embedders).await.expect("the index opens")
    }

    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.path().join("memory")).expect("the folder of the index");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub fn asked(&self) -> Vec<String> {
        self.embedder.take_asked().into_iter().flatten().collect()
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
    fs::write(path, text).expect("the file is written");
}

pub async fn sync(index: &CompatIndex) {
    index.mark_dirty();
    index.sync(Reason::Manual, false, None).await.expect("the index is brought up to date");
}

pub async fn search(index: &CompatIndex, query: &str) -> Vec<Hit> {
    let options = SearchOptions { min_score: Some(0.0), ..SearchOptions::default() };
    index.search(query, &options).await.expect("the index is searched")
}

/// The path of the best hit.
pub async fn best(index: &CompatIndex, query: &str) -> Option<String> {
    search(index, query).await.into_iter().next().map(|hit| hit.path)
}

#[tokio::test]
async fn changes_are_found_after_a_sync_and_only_they_are_embedded() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    assert_eq!(home.asked().len(), 2);
    assert_eq!(best(&index, "router cellar").await.as_deref(), Some("MEMORY.md"));

    home.write("memory/trip.md", "Flights to Porto are booked.\n");
    fs::remove_file(home.workspace().join("MEMORY.md")).expect("it was there");
    home.write("memory/deep/er/x.md", "Tea at five.\n");
    sync(&index).await;
    let mut asked = home.asked();
    asked.sort();
    assert_eq!(asked, ["Flights to Porto are booked.\n", "Tea at five.\n"]);
    assert_eq!(best(&index, "porto flights").await.as_deref(), Some("memory/trip.md"));
    assert!(search(&index, "router").await.iter().all(|hit| hit.path != "MEMORY.md"));
    assert_eq!(index.status().await.expect("a status").files, 2);
}

#[tokio::test]
async fn nothing_is_looked_at_until_something_is_dirty() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    home.write("memory/new.md", "Unseen.\n");
    index.sync(Reason::Manual, false, None).await.expect("nothing to do");
    assert_eq!(index.status().await.expect("a status").files, 2);
    index.mark_dirty();
    assert!(index.status().await.expect("a status").dirty);
    sync(&index).await;
    let status = index.status().await.expect("a status");
    assert!(status.files == 3 && !status.dirty);
}

#[tokio::test]
async fn a_forced_reindex_embeds_nothing_again() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    home.asked();
    index.sync(Reason::Manual, true, None).await.expect("reindexed");
    assert!(home.asked().is_empty());
    assert_eq!(best(&index, "lisbon").await.as_deref(), Some("memory/trip.md"));
    assert_eq!(home.files(), ["main.sqlite"]);

    let without_cache = home.open(json!({"cache": {"enabled": false}})).await;
    without_cache.sync(Reason::Manual, true, None).await.expect("reindexed");
    assert_eq!(home.asked().len(), 2);
    assert_eq!(without_cache.status().await.expect("a status").cache_entries, None);
}

#[tokio::test]
async fn the_cache_forgets_the_oldest() {
    let home = Home::new();
    let index = home.open(json!({"cache": {"maxEntries": 1}})).await;
    sync(&index).await;
    assert_eq!(index.status().await.expect("a status").cache_entries, Some(1));
}

#[tokio::test]
async fn other_chunks_or_another_model_mean_a_new_index() {
    let mut home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    home.asked();
    // Nothing is dirty for this one, but it is cut otherwise.
    let finer = home.open(json!({"chunking": {"tokens": 100, "overlap": 0}})).await;
    sync(&finer).await;
    assert!(home.asked().is_empty(), "the same texts are cached");
    home.embedder = Arc::new(HashedEmbedder::new("openai", "other words"));
    let other = home.open(json!({})).await;
    assert!(search(&other, "router").await.is_empty(), "vectors of two models are never compared");
    sync(&other).await;
    assert_eq!(home.asked().len(), 2);
    assert_eq!(best(&other, "router").await.as_deref(), Some("MEMORY.md"));
}

#[tokio::test]
async fn who_comes_second_gets_the_result_of_the_first() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    let (one, two, three) = tokio::join!(
        index.sync(Reason::Manual, true, None),
        index.sync(Reason::Manual, true, None),
        index.sync(Reason::Watch, false, None),
    );
    assert!(one.is_ok() && two.is_ok() && three.is_ok());
    assert_eq!(home.asked().len(), 2, "everything once");
    home.embedder.fail_after(0, "no embedding today");
    home.write("MEMORY.md", "Changed.\n");
    index.mark_dirty();
    let (one, two) =
        tokio::join!(index.sync(Reason::Manual, false, None), index.sync(Reason::Manual, false, None));
    let told =
        |result: Result<(), _>| result.map_err(|error: yabby_memory::compat::IndexError| error.to_string());
    assert_eq!(told(one), Err("no embedding today".to_owned()));
    assert_eq!(told(two), Err("no embedding today".to_owned()));
}

#[tokio::test]
async fn progress_is_told_file_by_file() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listener = {
        let seen = Arc::clone(&seen);
        Arc::new(move |progress: Progress| {
            seen.lock().expect("nobody fails").push((progress.done, progress.total))
        })
    };
    index.sync(Reason::Manual, false, Some(listener)).await.expect("synced");
    assert_eq!(*seen.lock().expect("nobody fails"), [(1, 2), (2, 2)]);
}

#[tokio::test]
async fn transcripts_are_indexed_when_they_have_grown() {
    let home = Home::new();
    let said = home.transcript("one.jsonl", &["the espresso machine is broken"]);
    home.transcript("two.jsonl", &["my token: abcdefghijklmnopqrstuvwxyz"]);
    let sessions = json!({
        "sources": ["memory", "sessions"], "experimental": {"sessionMemory": true},
        "sync": {"onSearch": false, "onSessionStart": false, "sessions": {"deltaBytes": 0, "deltaMessages": 2}},
    });
    let index = home.open(sessions).await;
    // A new index has everything.
    sync(&index).await;
    assert_eq!(index.status().await.expect("a status").files, 4);
    assert_eq!(best(&index, "espresso").await.as_deref(), Some("sessions/one.jsonl"));
    assert!(home.asked().iter().all(|text| !text.contains("klmnop")), "secrets are not embedded");

    home.transcript("one.jsonl", &["the espresso machine is broken", "no, it works"]);
    // Nobody has seen it changing.
    sync(&index).await;
    assert!(home.asked().is_empty());
    assert!(index.session_grew(&said).await.expect("it can be read"));
    assert!(!index.session_grew(&home.workspace().join("MEMORY.md")).await.expect("it is no transcript"));
    index.sync(Reason::Watch, false, None).await.expect("synced");
    assert!(home.asked().is_empty(), "notes are more urgent");
    index.sync(Reason::SessionDelta, false, None).await.expect("synced");
    assert_eq!(home.asked().len(), 1);
    assert!(!index.session_grew(&said).await.expect("it can be read"), "it is indexed as it is");

    fs::remove_file(home.sessions().join("two.jsonl")).expect("it was there");
    index.mark_session_dirty(&said);
    index.sync(Reason::SessionDelta, false, None).await.expect("synced");
    assert_eq!(index.status().await.expect("a status").files, 3);
}

#[tokio::test]
async fn a_new_index_for_changed_notes_keeps_transcripts_in_mind() {
    let home = Home::new();
    home.transcript("one.jsonl", &["the espresso machine is broken"]);
    let sessions = json!({"sources": ["memory", "sessions"], "experimental": {"sessionMemory": true}});
    let index = home.open(sessions).await;
    index.sync(Reason::Watch, false, None).await.expect("synced");
    let status = index.status().await.expect("a status");
    assert!(status.files == 2 && status.dirty);
    index.sync(Reason::Interval, false, None).await.expect("synced");
    let status = index.status().await.expect("a status");
    assert!(status.files == 3 && !status.dirty);
}

#[tokio::test]
async fn no_query_breaks_the_search() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    let long = "word ".repeat(20_000);
    for query in [
        "\"",
        "'",
        "*",
        "AND",
        "NEAR(a b)",
        "a OR b)",
        "text:router",
        "-router",
        "^router",
        "a\0b",
        "😀",
        "日本語",
        "router'; DROP TABLE chunks; --",
        "{}",
        "(",
        &long,
    ] {
        let options = SearchOptions::default();
        assert!(index.search(query, &options).await.is_ok(), "{query:.40}");
    }
    for (most, expected) in [(f64::NAN, 0), (-1.0, 0), (0.0, 0), (1.9, 1), (1e300, 2)] {
        let options =
            SearchOptions { max_results: Some(most), min_score: Some(-1.0), ..SearchOptions::default() };
        assert_eq!(
            index.search("router lisbon", &options).await.expect("searched").len(),
            expected,
            "{most}"
        );
    }
    assert!(search(&index, " \u{a0} ").await.is_empty());
    assert_eq!(best(&index, "router").await.as_deref(), Some("MEMORY.md"), "all is still there");
}

#[tokio::test]
async fn a_search_begins_the_sync_that_is_due() {
    let home = Home::new();
    let index = home.open(json!({"sync": {"onSearch": true, "onSessionStart": true}})).await;
    assert!(search(&index, "router").await.is_empty(), "the index is searched as it is");
    index.sync(Reason::Manual, false, None).await.expect("whoever asks now waits for it");
    assert_eq!(best(&index, "router").await.as_deref(), Some("MEMORY.md"));
}

#[tokio::test]
async fn vectors_without_the_extension_are_compared_one_by_one() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    let with = search(&index, "flights to the cellar").await;
    let plain = home.open(json!({"store": {"vector": {"enabled": false}}})).await;
    let without = search(&plain, "flights to the cellar").await;
    assert_eq!(with.len(), without.len());
    for (with, without) in with.iter().zip(&without) {
        assert_eq!(with.path, without.path);
        assert!((with.score - without.score).abs() < 1e-6);
    }
}

#[tokio::test]
async fn vectors_of_another_length_take_the_place_of_the_old() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    home.embedder.set_boxes(8);
    home.write("memory/trip.md", "Flights to Porto are booked.\n");
    sync(&index).await;
    let status = index.status().await.expect("a status");
    assert_eq!(status.vector.dims, Some(8));
    assert_eq!(best(&index, "porto").await.as_deref(), Some("memory/trip.md"));
    // And back, with the vectors that still are in the index.
    home.embedder.set_boxes(16);
    home.write("memory/trip.md", "Flights to Faro are booked.\n");
    sync(&index).await;
    assert_eq!(search(&index, "router").await.len(), 2);
}

#[tokio::test]
async fn another_provider_steps_in_once() {
    let home = Home::new();
    let other = Arc::new(HashedEmbedder::new("gemini", "other words"));
    let embedders = Embedders { fallback: Some(other.clone()), ..alone(home.embedder.clone()) };
    let index = home.open_with(json!({"provider": "openai"}), embedders).await;
    sync(&index).await;
    home.embedder.fail_after(0, "openai embeddings failed: 401 no");
    home.write("MEMORY.md", "The router is in the attic.\n");
    sync(&index).await;
    let status = index.status().await.expect("a status");
    assert_eq!((status.provider.as_str(), status.requested_provider.as_str()), ("gemini", "openai"));
    assert_eq!(status.fallback.expect("it says why").reason, "openai embeddings failed: 401 no");
    assert_eq!(best(&index, "attic").await.as_deref(), Some("MEMORY.md"));
    other.fail_after(0, "gemini embeddings failed: 401 no");
    index.sync(Reason::Manual, true, None).await.expect("everything is cached");
    home.write("MEMORY.md", "The router is on the roof.\n");
    index.mark_dirty();
    assert!(index.sync(Reason::Manual, false, None).await.is_err());
    assert_eq!(best(&index, "attic").await.as_deref(), Some("MEMORY.md"), "what was indexed stays");
}
