//! The index survives failures, the end of the program, and damage.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use yabby_testkit::hashed_embedder::alone;

use async_trait::async_trait;
use rusqlite::Connection;
use serde_json::json;
use tokio::sync::Notify;
use yabby_domain::seam::embedder::{EmbedError, Embedder};
use yabby_memory::compat::Reason;

use crate::compat::{Home, best, search, sync};

#[tokio::test]
async fn a_reindex_that_fails_leaves_the_old_index() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    for number in 0..9 {
        home.write(&format!("memory/{number}.md"), &format!("Note number {number}.\n"));
    }
    home.asked();
    home.embedder.fail_after(5, "embeddings are out of reach");
    let failed = index.sync(Reason::Manual, true, None).await;
    assert_eq!(failed.expect_err("it fails").to_string(), "embeddings are out of reach");
    assert_eq!(home.files(), ["main.sqlite"], "no draft is left");
    assert_eq!(index.status().await.expect("a status").files, 2);
    assert_eq!(best(&index, "router").await.as_deref(), Some("MEMORY.md"));
    // What was paid for is not asked for again.
    assert_eq!(home.asked().len(), 5);
    home.embedder.recover();
    index.sync(Reason::Manual, true, None).await.expect("reindexed");
    assert_eq!(home.asked().len(), 4);
    assert_eq!(index.status().await.expect("a status").files, 11);
}

/// Answers nobody, and says when it was asked.
struct Silent(Arc<Notify>);

#[async_trait]
impl Embedder for Silent {
    fn provider(&self) -> &str {
        "openai"
    }

    fn model(&self) -> &str {
        "silence"
    }

    fn provider_key(&self) -> String {
        String::new()
    }

    async fn query(&self, _text: &str) -> Result<Vec<f64>, EmbedError> {
        std::future::pending().await
    }

    async fn documents(&self, _texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError> {
        self.0.notify_one();
        std::future::pending().await
    }
}

#[test]
fn a_program_that_ends_leaves_the_old_index() {
    let home = Home::new();
    let runtime = || tokio::runtime::Runtime::new().expect("a runtime");
    runtime().block_on(async { sync(&home.open(json!({})).await).await });
    let before = fs::read(home.store()).expect("an index");
    let ending = runtime();
    ending.block_on(async {
        let asked = Arc::new(Notify::new());
        let silent = alone(Arc::new(Silent(Arc::clone(&asked))));
        let index = home.open_with(json!({}), silent).await;
        tokio::spawn(async move { index.sync(Reason::Manual, true, None).await });
        asked.notified().await;
    });
    ending.shutdown_timeout(Duration::from_secs(5));
    assert_eq!(home.files(), ["main.sqlite"]);
    assert_eq!(fs::read(home.store()).expect("an index"), before);
    // One that was killed leaves its draft behind, which is nobody's index.
    fs::write(home.path().join("memory/main.sqlite.tmp-1"), "half").expect("written");
    runtime().block_on(async {
        let index = home.open(json!({})).await;
        assert_eq!(best(&index, "router").await.as_deref(), Some("MEMORY.md"));
    });
}

#[tokio::test]
async fn drafts_of_programs_that_were_killed_go_away_in_the_end() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    for (name, hours) in [("main.sqlite.tmp-old", 30), ("main.sqlite.tmp-new", 1), ("other.tmp-old", 30)] {
        let path = home.path().join("memory").join(name);
        let file = fs::File::create(path).expect("written");
        file.set_modified(SystemTime::now() - Duration::from_secs(hours * 3600)).expect("set back");
    }
    sync(&index).await;
    assert_eq!(home.files(), ["main.sqlite", "main.sqlite.tmp-new", "other.tmp-old"]);
}

#[tokio::test]
async fn an_index_that_is_removed_is_built_again() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    fs::remove_file(home.store()).expect("it was there");
    assert!(search(&index, "router").await.is_empty());
    assert!(index.status().await.expect("a status").dirty);
    index.sync(Reason::Manual, false, None).await.expect("synced");
    assert_eq!(best(&index, "router").await.as_deref(), Some("MEMORY.md"));
}

#[tokio::test]
async fn a_file_that_is_no_index_is_set_aside() {
    let home = Home::new();
    fs::create_dir_all(home.path().join("memory")).expect("made");
    fs::write(home.store(), "this was important to somebody ".repeat(100)).expect("written");
    let index = home.open(json!({})).await;
    sync(&index).await;
    assert_eq!(best(&index, "router").await.as_deref(), Some("MEMORY.md"));
    let files = home.files();
    assert!(files.len() == 2 && files[1].starts_with("main.sqlite.corrupt-"), "{files:?}");
    let aside = fs::read_to_string(home.path().join("memory").join(&files[1])).expect("it is kept");
    assert!(aside.starts_with("this was important"));
}

#[tokio::test]
async fn damage_that_shows_later_is_set_aside_too() {
    let home = Home::new();
    for number in 0..60 {
        home.write(&format!("memory/{number}.md"), &format!("Note number {number}. ").repeat(60));
    }
    let index = home.open(json!({})).await;
    sync(&index).await;
    drop(index);
    // Everything but the first pages, where the tables are named.
    let mut bytes = fs::read(home.store()).expect("an index");
    let from = 4096 * 20;
    for byte in &mut bytes[from..] {
        *byte = 0x5a;
    }
    fs::write(home.store(), &bytes).expect("written");
    let index = home.open(json!({})).await;
    sync(&index).await;
    let status = index.status().await.expect("a status");
    assert_eq!(status.files, 62);
    assert_eq!(best(&index, "router").await.as_deref(), Some("MEMORY.md"));
    let aside = home.files().into_iter().find(|name| name.contains(".corrupt-")).expect("it is kept");
    assert_eq!(fs::read(home.path().join("memory").join(aside)).expect("readable"), bytes);
}

#[tokio::test]
async fn vectors_whose_own_tables_are_gone_are_built_again() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    drop(index);
    home.asked();
    let plain = Connection::open(home.store()).expect("it opens");
    plain.execute_batch("DROP TABLE chunks_vec_rowids; DROP TABLE chunks_vec_chunks").expect("dropped");
    drop(plain);
    let index = home.open(json!({})).await;
    sync(&index).await;
    assert!(home.asked().is_empty());
    assert_eq!(search(&index, "router").await.len(), 2);
}

#[tokio::test]
async fn an_index_that_another_program_keeps_to_itself_is_waited_for_and_then_left_alone() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    let other = Connection::open(home.store()).expect("it opens");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    index.mark_dirty();
    let failed = index.sync(Reason::Manual, false, None).await.expect_err("it is in use");
    assert!(failed.to_string().contains("in use by another program"), "{failed}");
    other.execute_batch("ROLLBACK").expect("free again");
    assert!(index.status().await.expect("a status").dirty, "what was to be done is not forgotten");
    sync(&index).await;
}
