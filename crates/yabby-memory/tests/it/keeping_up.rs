//! The index follows the files, whatever happens to them or to it.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::config::Config;
use yabby_domain::seam::{Change, SessionStore, StoreError};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_memory::memory::{Meaning, Memory, Parts, Ranking};
use yabby_testkit::hashed_embedder::HashedEmbedder;
use yabby_testkit::memory_store::MemorySessions;
use yabby_testkit::remembering;

use crate::house::{House, places};

#[tokio::test]
async fn what_is_new_is_found_at_once() {
    let house = House::new();
    house.put("MEMORY.md", "- the boat is red\n");
    assert_eq!(house.found("boat").await, ["MEMORY.md:1"]);
    house.put("MEMORY.md", "# Boats\n\n- the boat is blue now\n- the car is red\n");
    assert_eq!(house.found("blue boat").await[0], "MEMORY.md:3");
    assert_eq!(house.found("red").await[0], "MEMORY.md:4");
    house.say("one", "user", "a zeppelin");
    house.say("one", "assistant", "indeed");
    assert_eq!(house.found("zeppelin").await[0], "sessions/one.jsonl:2");
    house.say("one", "user", "two balloons");
    assert_eq!(house.found("balloon").await[0], "sessions/one.jsonl:4");
    fs::remove_file(house.folder.path().join("workspace/MEMORY.md")).unwrap();
    fs::remove_file(house.transcript("one")).unwrap();
    assert_eq!(house.found("boat zeppelin balloon car").await, [""; 0]);
}

/// One message is one message's work: what was read is not read again, and nothing is twice in it.
#[tokio::test]
async fn a_transcript_is_read_on_and_not_anew() {
    let house = House::new();
    for at in 0..50 {
        house.say("long", "user", &format!("message {at} about apples"));
    }
    let synced = house.memory.sync(&|_| {}).await.unwrap();
    assert_eq!((synced.changed, synced.added), (1, 50));
    house.say("long", "user", "the last one about pears");
    let synced = house.memory.sync(&|_| {}).await.unwrap();
    assert_eq!((synced.changed, synced.added), (1, 1));
    let synced = house.memory.sync(&|_| {}).await.unwrap();
    assert_eq!((synced.changed, synced.added), (0, 0));
    // Rewritten from the start, it is read from the start.
    let text = fs::read_to_string(house.transcript("long")).unwrap().replace("apples", "plums");
    fs::write(house.transcript("long"), text).unwrap();
    let synced = house.memory.sync(&|_| {}).await.unwrap();
    assert_eq!(synced.added, 51);
    assert_eq!(house.found("apples").await, [""; 0]);
    assert_eq!(house.found("plums").await.len(), 10);
    assert_eq!(house.memory.recall().totals().unwrap().messages, 51);
}

#[tokio::test]
async fn half_a_line_waits_for_its_other_half() {
    let house = House::new();
    house.say("one", "user", "a whole line");
    let whole = fs::read_to_string(house.transcript("one")).unwrap();
    house.say("one", "user", "a kestrel");
    let both = fs::read_to_string(house.transcript("one")).unwrap();
    fs::write(house.transcript("one"), &both[..whole.len() + 40]).unwrap();
    assert_eq!(house.found("kestrel").await, [""; 0]);
    assert_eq!(house.found("whole").await.len(), 1);
    fs::write(house.transcript("one"), &both).unwrap();
    assert_eq!(house.found("kestrel").await[0], "sessions/one.jsonl:3");
}

#[tokio::test]
async fn an_index_that_is_gone_or_damaged_is_built_again() {
    let mut house = House::new();
    house.put("MEMORY.md", "- the boat is red\n");
    assert_eq!(house.found("boat").await, ["MEMORY.md:1"]);
    for damage in ["no database at all".repeat(1000), String::new()] {
        drop(std::mem::replace(&mut house.memory, House::new().memory));
        for ending in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{ending}", house.index().display()));
        }
        fs::write(house.index(), &damage).unwrap();
        house.restart();
        assert_eq!(house.found("boat").await, ["MEMORY.md:1"]);
    }
    let kept = fs::read_dir(house.index().parent().unwrap()).unwrap().filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().contains(".damaged-")
    });
    assert_eq!(kept.count(), 1, "what was damaged is kept");
    fs::remove_file(house.index()).unwrap();
    house.restart();
    assert_eq!(house.found("boat").await, ["MEMORY.md:1"]);
}

/// Damage that shows only when a page is read.
#[tokio::test]
async fn damage_in_the_middle_is_noticed_and_mended() {
    let mut house = House::new();
    for at in 0..400 {
        house.say("long", "user", &format!("message {at} about {} apples and word{at}", at * 7));
    }
    assert!(!house.found("apples").await.is_empty());
    drop(std::mem::replace(&mut house.memory, House::new().memory));
    let mut bytes = fs::read(house.index()).unwrap();
    let length = bytes.len();
    bytes[8192..length / 2].fill(0x5a);
    fs::write(house.index(), &bytes).unwrap();
    house.restart();
    assert!(!house.found("word123").await.is_empty());
    assert!(!house.found("word123").await.is_empty());
}

#[tokio::test]
async fn two_programs_share_an_index() {
    let house = House::new();
    let other = remembering::memory(house.memory.places().clone(), &house.sessions, json!({}), None).unwrap();
    for round in 0..20 {
        house.say("one", "user", &format!("round {round} of heron{round}"));
        let (one, two) = tokio::join!(house.memory.sync(&|_| {}), other.sync(&|_| {}));
        one.unwrap();
        two.unwrap();
    }
    assert_eq!(house.memory.recall().totals().unwrap().messages, 20);
    assert_eq!(house.found("heron7").await[0], "sessions/one.jsonl:9");
}

#[tokio::test]
async fn a_message_is_found_as_soon_as_it_was_told() {
    let house = House::new();
    house.record("agent:main:main", "one", json!({})).await;
    house.say("one", "user", "first");
    house.memory.sync(&|_| {}).await.unwrap();
    house.say("one", "user", "a cormorant");
    house.memory.grew(&TranscriptId::new("one", None).unwrap());
    let begun = Instant::now();
    while house.memory.recall().totals().unwrap().messages < 2 {
        assert!(begun.elapsed() < Duration::from_secs(10), "nobody read it");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(house.found("cormorant").await[0], "sessions/one.jsonl:3");
}

#[tokio::test]
async fn a_model_sees_what_it_is_shown_and_each_text_once() {
    let embedder = Arc::new(HashedEmbedder::new("openai", "boxes"));
    let meaning = Meaning { embedder: embedder.clone(), sees_sessions: false };
    let house = House::with(json!({}), Some(meaning));
    house.put("MEMORY.md", "- the boat is red\n- the car is blue\n");
    house.say("one", "user", "nobody else is to hear this");
    house.memory.sync(&|_| {}).await.unwrap();
    let embedded = house.memory.embed(&|_| {}).await.unwrap();
    assert_eq!((embedded.done, embedded.all), (2, 2), "notes only");
    let mut seen: Vec<String> = embedder.take_asked().concat();
    assert!(!seen.iter().any(|text| text.contains("nobody else")), "{seen:?}");
    house.put("MEMORY.md", "- the boat is red\n- the car is blue\n- the bike is green\n");
    house.memory.sync(&|_| {}).await.unwrap();
    house.memory.embed(&|_| {}).await.unwrap();
    seen.extend(embedder.take_asked().concat());
    assert_eq!(seen.iter().filter(|text| text.contains("boat")).count(), 1, "{seen:?}");
    assert!(house.search("boat", yabby_memory::audience::Viewer::owner()).await.model.is_some());
}

/// The vectors of a new index come from the old one, however many there are.
#[tokio::test]
async fn an_index_that_is_built_anew_asks_no_model_again() {
    let embedder = Arc::new(HashedEmbedder::new("local", "boxes"));
    let house = House::with(json!({}), Some(Meaning { embedder: embedder.clone(), sees_sessions: true }));
    for at in 0..600 {
        house.say("long", "user", &format!("message {at} about apple{at}"));
    }
    house.memory.sync(&|_| {}).await.unwrap();
    let embedded = house.memory.embed(&|_| {}).await.unwrap();
    assert_eq!((embedded.done, embedded.all), (600, 600));
    assert_eq!(embedder.take_asked().concat().len(), 600);
    house.memory.rebuild(&|_| {}).await.unwrap();
    house.say("long", "user", "one more");
    house.memory.sync(&|_| {}).await.unwrap();
    let shown = std::sync::Mutex::new(Vec::new());
    let embedded = house
        .memory
        .embed(&|progress| shown.lock().unwrap().push((progress.done, progress.all)))
        .await
        .unwrap();
    assert_eq!((embedded.done, embedded.all), (601, 601));
    assert_eq!(embedder.take_asked().concat().len(), 1);
    let shown = shown.into_inner().unwrap();
    assert_eq!((shown[0], shown.last()), ((0, 601), Some(&(601, 601))), "{shown:?}");
    let again = house.memory.embed(&|_| {}).await.unwrap();
    assert_eq!((again.done, again.all), (601, 601), "how far it is, though nothing was to be done");
}

/// A message costs the same however many sessions there are.
#[tokio::test]
async fn nobody_lists_all_sessions_for_a_message_of_a_known_one() {
    let (mut house, lists) = (House::new(), Arc::new(AtomicUsize::new(0)));
    house.memory = Memory::open(Parts {
        places: house.memory.places().clone(),
        config: Arc::new(Config::new(json!({}))),
        sessions: Arc::new(Counted { sessions: house.sessions.clone(), lists: lists.clone() }),
        secrets: Arc::default(),
        meaning: None,
        ranking: Ranking::Own,
    })
    .unwrap();
    house.session("agent:main:telegram:group:7", "room", "the picnic is on Friday").await;
    house.memory.sync(&|_| {}).await.unwrap();
    assert_eq!(lists.load(Ordering::Relaxed), 1, "whose a new transcript is has to be looked for");
    house.say("room", "user", "bring a kestrel");
    house.memory.sync(&|_| {}).await.unwrap();
    assert_eq!(lists.load(Ordering::Relaxed), 1);
    let room = house.memory.viewer(&SessionKey::new("agent:main:telegram:group:7"), false).await.unwrap();
    assert_eq!(places(&house.search("kestrel", room).await)[0], "sessions/room.jsonl:4");
    assert_eq!(house.found("kestrel").await, [""; 0], "it is still the room's");
    // The room has begun anew; somebody else has the transcript now.
    house.record("agent:main:telegram:group:7", "another", json!({})).await;
    house.record("agent:main:main", "room", json!({})).await;
    house.say("room", "user", "a buzzard");
    house.memory.sync(&|_| {}).await.unwrap();
    assert_eq!(lists.load(Ordering::Relaxed), 2);
    assert_eq!(house.found("buzzard").await[0], "sessions/room.jsonl:5");
}

/// Records that count how often somebody wants all of them.
struct Counted {
    sessions: MemorySessions,
    lists: Arc<AtomicUsize>,
}

#[async_trait]
impl SessionStore for Counted {
    async fn newest(
        &self,
        choice: yabby_domain::seam::Choice,
    ) -> Result<yabby_domain::seam::Newest, StoreError> {
        Ok(yabby_domain::seam::Newest::of(self.list().await?, choice))
    }

    async fn select(
        &self,
        choice: yabby_domain::seam::Choice,
    ) -> Result<yabby_domain::seam::Selection, StoreError> {
        Ok(self.newest(choice).await?.into())
    }

    async fn get(&self, key: &SessionKey) -> Result<Option<SessionEntry>, StoreError> {
        self.sessions.get(key).await
    }

    async fn list(&self) -> Result<Vec<(SessionKey, SessionEntry)>, StoreError> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        self.sessions.list().await
    }

    async fn update(&self, key: &SessionKey, change: Change) -> Result<Option<SessionEntry>, StoreError> {
        self.sessions.update(key, change).await
    }

    async fn note(&self, key: &SessionKey, change: Change) -> Result<Option<SessionEntry>, StoreError> {
        self.update(key, change).await
    }
}

#[tokio::test]
async fn an_index_that_is_deleted_under_a_running_program_is_built_again() {
    let house = House::new();
    house.put("MEMORY.md", "- the boat is red\n");
    assert_eq!(house.found("boat").await, ["MEMORY.md:1"]);
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{ending}", house.index().display()));
    }
    assert_eq!(house.found("boat").await, ["MEMORY.md:1"]);
    let other = remembering::memory(house.memory.places().clone(), &house.sessions, json!({}), None).unwrap();
    assert_eq!(other.recall().totals().unwrap().notes, 1, "others see the new one, too");
}
