//! A memory in a process that stays: it is told of every change, and looks at nothing else.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::seam::{Begin, TranscriptStore as _};
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::path::Folders;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_memory::audience::Viewer;
use yabby_memory::compat::{Places, Reason, Reference};
use yabby_memory::listening::Listening;
use yabby_memory::memory::Meaning;
use yabby_memory::settings::{Settings, SyncSettings};
use yabby_memory::upkeep::Upkeep;
use yabby_testkit::clock::FixedClock;
use yabby_testkit::hashed_embedder::{HashedEmbedder, alone};
use yabby_testkit::memory_store::MemoryTranscripts;
use yabby_testkit::remembering;

use crate::house::{House, places};

/// Nobody comes by for a long time.
const SELDOM: SyncSettings = SyncSettings {
    on_session_start: false,
    on_search: true,
    watch: true,
    watch_debounce_ms: 3_600_000.0,
    interval_minutes: 0.0,
    sessions: yabby_memory::settings::SessionDeltas { bytes: 0.0, messages: 0.0 },
};

impl House {
    /// What somebody who looks at every file finds.
    async fn found_by_looking(&self, text: &str) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let index = folder.path().join("index.sqlite");
        let places = yabby_memory::memory::Places { index, ..self.memory.places().clone() };
        let other = Self {
            folder,
            sessions: self.sessions.clone(),
            memory: remembering::memory(places, &self.sessions, json!({}), None).unwrap(),
        };
        other.found(text).await
    }

    fn workspace(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join("workspace").join(path)
    }
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_search_knows_every_change_without_looking_at_all_files() {
    let house = House::new();
    house.put("MEMORY.md", "- the boat is red\n");
    let upkeep = Upkeep::begin(&house.memory, SELDOM, None);
    assert!(upkeep.is_watching());
    assert_eq!(house.found("boat").await, ["MEMORY.md:1"], "what was there before");
    let looks = house.memory.looks();
    // None of this is told by whoever does it.
    house.put("MEMORY.md", "- the boat is blue\n");
    assert_eq!(house.found("blue").await, ["MEMORY.md:1"]);
    assert_eq!(house.found("red").await, [""; 0]);
    house.put("memory/new.md", "a zeppelin\n");
    assert_eq!(house.found("zeppelin").await, ["memory/new.md:1"]);
    fs::rename(house.workspace("memory/new.md"), house.workspace("memory/old.md")).unwrap();
    assert_eq!(house.found("zeppelin").await, ["memory/old.md:1"]);
    fs::remove_file(house.workspace("memory/old.md")).unwrap();
    assert_eq!(house.found("zeppelin").await, [""; 0]);
    house.say("one", "user", "a kestrel");
    assert_eq!(house.found("kestrel").await, ["sessions/one.jsonl:2"]);
    for at in 0..50 {
        house.say("one", "user", &format!("round {at} of heron{at}"));
        assert_eq!(house.found(&format!("heron{at}")).await[0], format!("sessions/one.jsonl:{}", at + 3));
    }
    fs::remove_file(house.transcript("one")).unwrap();
    assert_eq!(house.found("kestrel").await, [""; 0]);
    assert_eq!(house.memory.looks(), looks, "nobody looked at all files");
}

#[tokio::test]
async fn what_is_said_belongs_to_whoever_it_was_said_to_however_long_they_were_silent() {
    let house = House::new();
    let _upkeep = Upkeep::begin(&house.memory, SELDOM, None);
    let key = |number: usize| format!("agent:main:telegram:dm:{number}");
    for number in 0..150 {
        house.record(&key(number), &format!("s{number}"), json!({"updatedAt": 1000 + number})).await;
    }
    // The last one changed just now, the first one changed before all others.
    for number in [149, 0] {
        house.say(&format!("s{number}"), "user", "the kestrel is back");
    }
    for (viewer, expected) in
        [(149, vec!["sessions/s149.jsonl:2"]), (0, vec!["sessions/s0.jsonl:2"]), (7, vec![])]
    {
        let viewer = house.memory.viewer(&SessionKey::new(key(viewer)), false).await.unwrap();
        assert_eq!(places(&house.search("kestrel", viewer).await), expected);
    }
    assert_eq!(house.found("kestrel").await, [""; 0], "the owner does not read along");
}

#[tokio::test]
async fn folders_may_come_go_and_move() {
    let house = House::new();
    fs::remove_dir_all(house.folder.path().join("workspace")).unwrap();
    fs::remove_dir_all(house.folder.path().join("sessions")).unwrap();
    let _upkeep = Upkeep::begin(&house.memory, SELDOM, None);
    assert_eq!(house.found("anything").await, [""; 0]);
    let words = ["heron", "egret", "bittern", "stork", "spoonbill", "ibis"];
    for (round, word) in words.into_iter().enumerate() {
        house.put("MEMORY.md", &format!("the first {word}"));
        house.put(&format!("memory/deep/{round}/x.md"), &format!("another {word} {round}"));
        let both = ["MEMORY.md:1".to_owned(), format!("memory/deep/{round}/x.md:1")];
        let mut found = house.found(word).await;
        found.sort();
        assert_eq!(found, both, "{round}");
        // Written into a folder that has just been made.
        house.put(&format!("memory/deep/{round}/more/y.md"), &format!("third {word}"));
        assert_eq!(house.found(word).await.len(), 3, "{round}");
        fs::create_dir_all(house.folder.path().join("sessions")).unwrap();
        house.say(word, "user", &format!("said about a {word}"));
        assert_eq!(house.found(word).await.len(), 4, "{round}");
        match round % 3 {
            0 => fs::remove_dir_all(house.workspace("memory")).unwrap(),
            1 => fs::rename(house.workspace("memory"), house.folder.path().join(format!("away{round}")))
                .unwrap(),
            _ => fs::remove_dir_all(house.workspace("")).unwrap(),
        }
        assert_eq!(house.found(word).await, house.found_by_looking(word).await, "{round}");
        fs::remove_dir_all(house.folder.path().join("sessions")).unwrap();
        assert_eq!(house.found(word).await, house.found_by_looking(word).await, "{round}");
    }
    // A folder that comes with notes in it.
    let away = house.folder.path().join("away");
    fs::create_dir_all(away.join("a/b")).unwrap();
    fs::write(away.join("a/b/c.md"), "a pelican").unwrap();
    fs::create_dir_all(house.workspace("memory")).unwrap();
    fs::rename(&away, house.workspace("memory/away")).unwrap();
    assert_eq!(house.found("pelican").await, ["memory/away/a/b/c.md:1"]);
    fs::write(house.workspace("memory/away/a/b/d.md"), "a cormorant").unwrap();
    assert_eq!(house.found("cormorant").await, ["memory/away/a/b/d.md:1"]);
}

#[tokio::test]
async fn whatever_is_done_a_search_finds_what_a_look_finds() {
    let house = House::new();
    let _upkeep = Upkeep::begin(&house.memory, SELDOM, None);
    let mut dice = 7_u64;
    let mut roll = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    for round in 0..120 {
        let (folder, file) = (format!("memory/f{}", roll(3)), roll(3));
        let path = house.workspace(&format!("{folder}/n{file}.md"));
        for step in 0..=roll(2) {
            match roll(7) {
                // Each text is another one: what is found twice is shown once.
                0 | 1 => house.put(&format!("{folder}/n{file}.md"), &format!("grebe {round} {step}")),
                2 => drop(fs::remove_file(&path)),
                3 => drop(fs::rename(&path, house.workspace(&format!("memory/moved{}.md", roll(2))))),
                4 => drop(fs::rename(house.workspace(&folder), house.workspace("memory/g"))),
                5 => drop(fs::remove_dir_all(house.workspace("memory/g"))),
                _ => house.say(&format!("s{}", roll(3)), "user", &format!("grebe {round} {step}")),
            }
        }
        let (mut found, mut expected) = (house.found("grebe").await, house.found_by_looking("grebe").await);
        found.sort();
        expected.sort();
        assert_eq!(found.len(), expected.len(), "{round}");
        if expected.len() < 10 {
            assert_eq!(found, expected, "{round}");
        }
    }
}

#[tokio::test]
async fn what_others_write_is_read_and_embedded_with_nobody_asking() {
    let embedder = Arc::new(HashedEmbedder::new("local", "boxes"));
    let house = House::with(json!({}), Some(Meaning { embedder: embedder.clone(), sees_sessions: true }));
    let soon = SyncSettings { watch_debounce_ms: 20.0, ..SELDOM };
    let upkeep = Upkeep::begin(&house.memory, soon, None);
    house.put("memory/trip.md", "flights to Lisbon\n");
    until("the note is embedded", async || {
        house.memory.embedded().await.is_ok_and(|embedded| (embedded.done, embedded.all) == (1, 1))
    })
    .await;
    assert_eq!(embedder.take_asked().concat(), ["flights to Lisbon"]);
    drop(upkeep);
    let looks = house.memory.looks();
    house.put("memory/trip.md", "flights to Porto\n");
    assert_eq!(house.found("porto").await, ["memory/trip.md:1"]);
    assert_eq!(house.memory.looks(), looks + 1, "with nobody to tell, one looks");
}

#[tokio::test]
async fn without_a_watcher_each_search_looks_and_at_intervals_somebody_does() {
    let house = House::new();
    let unwatched = SyncSettings { watch: false, ..SELDOM };
    {
        let upkeep = Upkeep::begin(&house.memory, unwatched, None);
        assert!(!upkeep.is_watching());
        house.put("MEMORY.md", "- the boat is red\n");
        assert_eq!(house.found("boat").await, ["MEMORY.md:1"]);
    }
    let _upkeep = Upkeep::begin(&house.memory, SyncSettings { interval_minutes: 0.001, ..unwatched }, None);
    house.put("MEMORY.md", "- the boat is red\n- the car is green\n");
    until("somebody has looked", async || house.memory.recall().totals().unwrap().note_units == 2).await;
}

#[tokio::test]
async fn a_rebuild_loses_nothing_that_is_said_meanwhile() {
    let house = House::new();
    for at in 0..300 {
        house.say("long", "user", &format!("message {at} about apples"));
    }
    let _upkeep = Upkeep::begin(&house.memory, SELDOM, None);
    let id = TranscriptId::new("long", None).unwrap();
    let memory = house.memory.clone();
    let rebuilding = tokio::spawn(async move { memory.rebuild(&|_| {}).await.map(|_| ()) });
    for at in 0..40 {
        house.say("long", "user", &format!("a wagtail{at}"));
        house.memory.grew(&id);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    rebuilding.await.unwrap().unwrap();
    for at in 0..40 {
        assert_eq!(
            house.found(&format!("wagtail{at}")).await[0],
            format!("sessions/long.jsonl:{}", at + 302)
        );
    }
    assert_eq!(house.memory.recall().totals().unwrap().messages, 340);
}

/// The reference's index of a house, with the embedder that it asks.
fn reference(house: &House, memory_search: serde_json::Value) -> (Reference, Settings, Arc<HashedEmbedder>) {
    let config = Config::new(json!({"agents": {"defaults": {"memorySearch": memory_search}}}));
    let state = house.folder.path().display().to_string();
    let folders = Folders { state: &state, home: &state, current: "/" };
    let settings = Settings::from_config(&config, &AgentId::default(), &folders).unwrap();
    let embedder = Arc::new(HashedEmbedder::new("openai", "words"));
    let places = Places {
        agent: AgentId::default(),
        workspace: house.memory.places().workspace.clone(),
        sessions: house.memory.places().transcripts.clone(),
    };
    let reference = Reference::new(places, settings.clone(), alone(embedder.clone()));
    (reference, settings, embedder)
}

#[tokio::test]
async fn the_reference_is_brought_up_some_time_after_a_note_was_written() {
    let house = House::new();
    let (reference, settings, embedder) = reference(&house, json!({"sync": {"watchDebounceMs": 300}}));
    let _upkeep = Upkeep::begin(&house.memory, settings.sync, Some(reference.clone()));
    house.found("anything").await;
    for at in 0..10 {
        house.put("MEMORY.md", &format!("draft {at} of the boat\n"));
    }
    let written = Instant::now();
    let index = reference.index().await.unwrap();
    until("it is in the reference's index", async || index.status().await.unwrap().files == 1).await;
    assert!(written.elapsed() >= Duration::from_millis(300), "not before it was left alone");
    assert_eq!(embedder.take_asked().concat(), ["draft 9 of the boat\n"], "and not on every draft");
}

#[tokio::test(start_paused = true)]
async fn the_reference_reads_transcripts_that_have_grown_enough() {
    let house = House::new();
    let (reference, settings, embedder) = reference(
        &house,
        json!({
            "sources": ["memory", "sessions"], "experimental": {"sessionMemory": true},
            "sync": {"watch": false, "onSessionStart": false, "sessions": {"deltaBytes": 100_000, "deltaMessages": 4}},
        }),
    );
    house.put("MEMORY.md", "the boat is red\n");
    let index = reference.index().await.unwrap().clone();
    index.sync(Reason::Manual, false, None).await.unwrap();
    embedder.take_asked();
    let _upkeep = Upkeep::begin(&house.memory, settings.sync, Some(reference));
    let id = TranscriptId::new("one", None).unwrap();
    //  what is said, and what has to be embedded a while after: a file has a first line of its own
    let table: [(&[&str], &[&str]); 4] = [
        (&["one", "two"], &[]),
        (&["three"], &["User: one\nUser: two\nUser: three"]),
        (&["four", "five", "six"], &[]),
        (&["seven"], &["User: one\nUser: two\nUser: three\nUser: four\nUser: five\nUser: six\nUser: seven"]),
    ];
    for (said, expected) in table {
        for text in said {
            house.say("one", "user", text);
            house.memory.grew(&id);
        }
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(embedder.take_asked(), [[""; 0]; 0], "they are collected first");
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(embedder.take_asked().concat(), expected, "{said:?}");
    }
    let long = "x".repeat(100_000);
    house.say("two", "user", &long);
    house.memory.grew(&TranscriptId::new("two", None).unwrap());
    tokio::time::sleep(Duration::from_secs(8)).await;
    assert!(!embedder.take_asked().is_empty(), "one long message is enough, too");
}

#[tokio::test(start_paused = true)]
async fn a_conversation_that_begins_is_a_reason_to_look_and_once_is_enough() {
    let house = House::new();
    let (reference, settings, embedder) = reference(&house, json!({"sync": {"watch": false}}));
    let _upkeep = Upkeep::begin(&house.memory, settings.sync, Some(reference.clone()));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let transcripts = Listening {
        store: Arc::new(MemoryTranscripts::new(Arc::new(FixedClock::at(0)))),
        memory: house.memory.clone(),
    };
    let id = TranscriptId::new("one", None).unwrap();
    for expected in [1, 0] {
        house.put("MEMORY.md", &format!("the boat is red {expected}\n"));
        reference.index().await.unwrap().mark_dirty();
        drop(
            transcripts
                .open(&id, Begin { session_id: "one".to_owned(), cwd: String::new(), parent: None })
                .await
                .unwrap(),
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(embedder.take_asked().len(), expected);
    }
}

#[tokio::test]
async fn a_search_that_cannot_wait_says_so() {
    let house = House::new();
    for at in 0..3000 {
        house.say(&format!("s{}", at % 40), "user", &format!("message {at} about {} apples", at * 7));
    }
    let unread = house.memory.freshen(Duration::from_micros(1)).await;
    assert_eq!(unread, ["what is new: it is still being read; ask again in a moment"]);
    let found = house.search("apples", Viewer::owner()).await;
    assert_eq!((places(&found).len(), found.unread.len()), (10, 0), "and later it knows");
}
