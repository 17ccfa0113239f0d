//! Taking turns with another program on the same file.

use std::fs;
use yabby_testkit::hashed_embedder::plain_provider_key;

use rusqlite::Connection;
use serde_json::{Value, json};
use yabby_memory::compat::files::Source;
use yabby_memory::compat::keys::{chunk_id, hash_text};

use crate::compat::{Home, best, search, sync};

fn meta(home: &Home) -> Value {
    let plain = Connection::open(home.store()).expect("it opens");
    let text: String = plain
        .query_row("SELECT value FROM meta WHERE key = 'memory_index_meta_v1'", [], |row| row.get(0))
        .expect("it says what it is made with");
    serde_json::from_str(&text).expect("JSON")
}

/// As a program writes that knows no sqlite-vec.
fn write_chunk(home: &Home, path: &str, text: &str, embedding: &str) {
    let plain = Connection::open(home.store()).expect("it opens");
    let hash = hash_text(text);
    let id = chunk_id(Source::Memory, path, 1, 2, &hash, "words");
    plain
        .execute(
            "INSERT INTO chunks VALUES (?1, ?2, 'memory', 1, 2, ?3, 'words', ?4, ?5, 1770000000000)",
            [&id, path, &hash, text, embedding],
        )
        .expect("inserted");
    plain
        .execute("INSERT INTO chunks_fts VALUES (?1, ?2, ?3, 'memory', 'words', 1.0, 2.0)", [text, &id, path])
        .expect("inserted");
    plain
        .execute(
            "INSERT INTO files VALUES (?1, 'memory', ?2, 1770000000000.5, ?3)",
            (path, &hash, text.len() as i64),
        )
        .expect("inserted");
}

#[tokio::test]
async fn what_another_program_has_indexed_is_kept_and_found() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    home.asked();
    let text = "Espresso at noon.\n";
    home.write("memory/coffee.md", text);
    let vector = yabby_testkit::hashed_embedder::hashed(text, 16);
    write_chunk(&home, "memory/coffee.md", text, &format!("{vector:?}"));
    assert!(search(&index, "espresso").await.iter().any(|hit| hit.path == "memory/coffee.md"));
    sync(&index).await;
    assert!(home.asked().is_empty(), "it has the hash of the file");
    let best = search(&index, "espresso at noon").await.into_iter().next().expect("a hit");
    assert_eq!(best.path, "memory/coffee.md");
    assert!(best.score > 0.99, "its vector was added: {}", best.score);
}

#[tokio::test]
async fn vectors_of_chunks_that_another_program_removed_go_with_them() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    let plain = Connection::open(home.store()).expect("it opens");
    plain.execute_batch("DELETE FROM chunks WHERE path = 'MEMORY.md'").expect("deleted");
    plain.execute_batch("DELETE FROM files WHERE path = 'MEMORY.md'").expect("deleted");
    fs::remove_file(home.workspace().join("MEMORY.md")).expect("it was there");
    sync(&index).await;
    let left: Vec<i64> = ["chunks", "chunks_vec_rowids"]
        .map(|table| {
            let count = format!("SELECT count(*) FROM {table}");
            plain.query_row(&count, [], |row| row.get(0)).expect("a count")
        })
        .to_vec();
    assert_eq!(left, [1, 1]);
}

#[tokio::test]
async fn a_file_that_another_program_put_in_place_is_the_index() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    let theirs = home.path().join("memory/theirs");
    fs::copy(home.store(), &theirs).expect("copied");
    let plain = Connection::open(&theirs).expect("it opens");
    plain
        .execute_batch("UPDATE chunks SET text = 'Told by them.' WHERE path = 'MEMORY.md'")
        .expect("updated");
    drop(plain);
    fs::rename(&theirs, home.store()).expect("in place");
    let hit = search(&index, "router cellar").await.into_iter().find(|hit| hit.path == "MEMORY.md");
    // What words were found in is their copy of the text, so that is asked for by meaning only.
    assert!(hit.is_some());
    let by_meaning = search(&index, "the is in").await.into_iter().find(|hit| hit.path == "MEMORY.md");
    assert!(by_meaning.is_some());
    home.write("MEMORY.md", "Changed again.\n");
    sync(&index).await;
    let plain = Connection::open(home.store()).expect("it opens");
    let text: String = plain
        .query_row("SELECT text FROM chunks WHERE path = 'MEMORY.md'", [], |row| row.get(0))
        .expect("a row");
    assert_eq!(text, "Changed again.\n", "it was written to the file that everybody sees");
}

#[tokio::test]
async fn without_vectors_the_index_says_so() {
    let home = Home::new();
    sync(&home.open(json!({})).await).await;
    assert_eq!(meta(&home)["vectorDims"], 16);
    let keys: Vec<String> = meta(&home).as_object().expect("an object").keys().cloned().collect();
    assert_eq!(keys, ["model", "provider", "providerKey", "chunkTokens", "chunkOverlap", "vectorDims"]);
    assert_eq!(meta(&home)["providerKey"], plain_provider_key("openai", "words"));

    home.write("MEMORY.md", "Changed without vectors.\n");
    let plain = home.open(json!({"store": {"vector": {"enabled": false}}})).await;
    sync(&plain).await;
    assert_eq!(meta(&home).get("vectorDims"), None, "those that are there are out of date");
    assert_eq!(best(&plain, "changed").await.as_deref(), Some("MEMORY.md"));

    home.asked();
    let index = home.open(json!({})).await;
    sync(&index).await;
    assert_eq!(meta(&home)["vectorDims"], 16);
    assert!(home.asked().is_empty());
    assert_eq!(best(&index, "changed without vectors").await.as_deref(), Some("MEMORY.md"));
}

#[tokio::test]
async fn an_index_of_before_there_were_sources_is_completed() {
    let home = Home::new();
    fs::create_dir_all(home.path().join("memory")).expect("made");
    let plain = Connection::open(home.store()).expect("it opens");
    plain
        .execute_batch(
            "CREATE TABLE files (path TEXT PRIMARY KEY, hash TEXT NOT NULL, mtime INTEGER NOT NULL,
               size INTEGER NOT NULL);
             CREATE TABLE chunks (id TEXT PRIMARY KEY, path TEXT NOT NULL, start_line INTEGER NOT NULL,
               end_line INTEGER NOT NULL, hash TEXT NOT NULL, model TEXT NOT NULL, text TEXT NOT NULL,
               embedding TEXT NOT NULL, updated_at INTEGER NOT NULL);
             INSERT INTO files VALUES ('old.md', 'x', 1, 1);",
        )
        .expect("created");
    let index = home.open(json!({})).await;
    assert_eq!(index.status().await.expect("a status").files, 1);
    sync(&index).await;
    assert_eq!(index.status().await.expect("a status").files, 2);
}

#[tokio::test]
async fn the_journal_is_left_as_it_was() {
    let home = Home::new();
    let index = home.open(json!({})).await;
    sync(&index).await;
    let plain = Connection::open(home.store()).expect("it opens");
    let mode: String = plain.query_row("PRAGMA journal_mode", [], |row| row.get(0)).expect("a mode");
    let version: i64 = plain.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a version");
    assert_eq!((mode.as_str(), version), ("delete", 0));
}
