//! What a person expects of a search: what answers first, once, and nothing that has nothing to do with it.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::seam::embedder::{EmbedError, Embedder};
use yabby_memory::audience::Viewer;
use yabby_memory::memory::Meaning;

use crate::house::{House, places};

/// A model to which everything is a little alike, and what shares a topic much.
struct Topics;

#[async_trait::async_trait]
impl Embedder for Topics {
    fn provider(&self) -> &str {
        "topics"
    }

    fn model(&self) -> &str {
        "topics"
    }

    fn provider_key(&self) -> String {
        "topics".to_owned()
    }

    async fn query(&self, text: &str) -> Result<Vec<f64>, EmbedError> {
        let has = |words: &[&str]| words.iter().any(|word| text.to_lowercase().contains(word));
        let topics = [has(&["dog", "puppy", "rex"]), has(&["car", "engine"]), has(&["tea", "drink"])];
        let mut vector: Vec<f64> = topics.iter().map(|has| f64::from(u8::from(*has))).collect();
        vector.push(0.2);
        Ok(vector)
    }

    async fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError> {
        let mut vectors = Vec::new();
        for text in texts {
            vectors.push(self.query(text).await?);
        }
        Ok(vectors)
    }

    fn least_likeness(&self) -> f32 {
        0.25
    }
}

#[tokio::test]
async fn with_a_model_nothing_unlike_is_found() {
    let meaning = Meaning { embedder: Arc::new(Topics), sees_sessions: true };
    let house = House::with(json!({}), Some(meaning));
    house.put("MEMORY.md", "# What stays true\n\nNothing yet.\n");
    house.put("memory/pets.md", "# Pets\n\n- Rex is a beagle\n");
    house.put("memory/tools.md", "- The MCP server runs on port 9000\n- The car is red\n- She drinks tea\n");
    house.memory.sync(&|_| {}).await.unwrap();
    house.memory.embed(&|_| {}).await.unwrap();
    // By meaning alone: no word is shared, and none is claimed to be.
    let found = house.search("the puppy", Viewer::owner()).await;
    let places: Vec<&str> = found.hits.iter().map(|hit| hit.path.as_str()).collect();
    assert_eq!(places, ["memory/pets.md"]);
    assert_eq!((found.hits[0].why.words, found.hits[0].why.meaning > 0.0), (0.0, true));
    assert_eq!(house.found("MCP").await, ["memory/tools.md:1"]);
}

#[tokio::test]
async fn what_shares_a_word_stands_far_above_what_is_only_alike() {
    let meaning = Meaning { embedder: Arc::new(Topics), sees_sessions: true };
    let house = House::with(json!({}), Some(meaning));
    house.put("memory/notes.md", "- The dog sleeps in the hall\n- Rex is a beagle\n- The car is red\n");
    house.memory.sync(&|_| {}).await.unwrap();
    house.memory.embed(&|_| {}).await.unwrap();
    for asked in ["dog", "where does the dog sleep?"] {
        let found = house.search(asked, Viewer::owner()).await;
        assert_eq!(places(&found), ["memory/notes.md:1", "memory/notes.md:2"], "{asked}");
        assert!(found.hits[1].score < found.hits[0].score * 0.9, "{asked}: {found:?}");
    }
}

#[tokio::test]
async fn a_little_likeness_is_no_hit_and_still_decides_between_two() {
    let meaning = Meaning { embedder: Arc::new(Topics), sees_sessions: true };
    let house = House::with(json!({}), Some(meaning));
    house.put("memory/notes.md", "- The lamp has a car\n- The lamp has a leg\n- A stone\n");
    house.memory.sync(&|_| {}).await.unwrap();
    house.memory.embed(&|_| {}).await.unwrap();
    assert_eq!(house.found("dog lamp").await, ["memory/notes.md:2", "memory/notes.md:1"]);
    assert_eq!(house.found("dog").await, [""; 0]);
}

#[tokio::test]
async fn repeated_words_are_one_hit_and_a_past_question_is_no_answer() {
    let house = House::new();
    for id in ["a", "fork"] {
        house.say(id, "user", "Where is the spare key of the shed?");
        house.say(id, "assistant", "I do not know.");
        house.say(id, "user", "The spare key of the shed hangs behind the door.");
    }
    let found = house.search("Where is the spare key of the shed?", Viewer::owner()).await;
    let texts: Vec<&str> = found.hits.iter().map(|hit| hit.unit.text.as_str()).collect();
    assert_eq!(texts[0], "The spare key of the shed hangs behind the door.");
    let mut unique = texts.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), texts.len(), "{texts:?}");
    // What is better has a better score, however good it is.
    let scores: Vec<f32> = found.hits.iter().map(|hit| hit.score).collect();
    assert!(scores.windows(2).all(|pair| pair[0] > pair[1]) && scores[0] < 1.0, "{scores:?}");
}

#[tokio::test]
async fn a_question_about_a_day_alone_finds_that_day() {
    let house = House::new();
    let today = TimeZone::UTC.to_datetime(Timestamp::now()).date();
    let yesterday = today.yesterday().unwrap();
    house.put(&format!("memory/{yesterday}.md"), "- The plumber comes at nine\n");
    let before = yesterday.yesterday().unwrap().yesterday().unwrap();
    house.put(&format!("memory/{before}.md"), "- Bread is out\n");
    for asked in [
        "what did I note yesterday",
        "What did I note yesterday?",
        "yesterday",
        "Was habe ich gestern notiert?",
        "qu'est-ce que j'ai noté hier ?",
        "¿qué anoté ayer?",
        "昨日",
        "昨日何を書いた？",
        "어제 뭐 적었지?",
        "昨天我记了什么？",
    ] {
        assert_eq!(house.found(asked).await, [format!("memory/{yesterday}.md:1")], "{asked}");
    }
}

#[tokio::test]
async fn a_model_has_no_say_in_what_a_day_is() {
    let meaning = Meaning { embedder: Arc::new(Topics), sees_sessions: true };
    let house = House::with(json!({}), Some(meaning));
    let yesterday = TimeZone::UTC.to_datetime(Timestamp::now()).date().yesterday().unwrap();
    house.put(&format!("memory/{yesterday}.md"), "- The plumber comes at nine\n");
    house.put("memory/pets.md", "- Rex is a beagle\n- She drinks tea\n");
    house.memory.sync(&|_| {}).await.unwrap();
    house.memory.embed(&|_| {}).await.unwrap();
    let found = house.search("gestern", Viewer::owner()).await;
    assert_eq!(places(&found), [format!("memory/{yesterday}.md:1")]);
    assert!(found.hits[0].score > 0.8, "{}", found.hits[0].score);
}

#[tokio::test]
async fn a_note_is_of_the_day_it_is_named_after_everywhere() {
    let house = House::new();
    for (day, text) in [("2026-02-01", "early"), ("2026-02-02", "middle"), ("2026-02-03", "late")] {
        house.put(&format!("memory/{day}.md"), &format!("- {text}\n"));
    }
    for zone in ["Pacific/Auckland", "Pacific/Kiritimati", "Etc/GMT+12", "Europe/Berlin"] {
        let zone = TimeZone::get(zone).unwrap();
        let noon = jiff::civil::date(2026, 2, 3).at(12, 0, 0, 0).to_zoned(zone.clone()).unwrap().timestamp();
        let found = house.search_at("what did I note yesterday", Viewer::owner(), noon, zone.clone()).await;
        assert_eq!(places(&found), ["memory/2026-02-02.md:1"], "{zone:?}");
    }
}

#[tokio::test]
async fn the_built_in_helper_stands_behind_those_it_quotes() {
    let house = House::new();
    house.put("memory/2026-02-03.md", "- the bike is in the shed\n");
    house.say("a", "user", "Where is the bike?");
    house.help("a", "About “Where is the bike” I found:\n> - the bike is in the shed.");
    house.say("a", "user", "What did you tell me about the bike?");
    house.help(
        "a",
        "I understood “What did you tell me about the bike?”, but do not know what to do about it.",
    );
    let found = house.search("where is the bike?", Viewer::owner()).await;
    assert_eq!(found.hits[0].path, "memory/2026-02-03.md", "{:?}", places(&found));
    // What was said beside a quotation is not about what it quotes.
    house.say("a", "user", "Tea or coffee?");
    house.help("a", "About “Where is the bike” I found:\n> - the bike is in the shed.");
    house.say("a", "user", "The meeting is on Monday.");
    let found = house.search("bike shed church", Viewer::owner()).await;
    assert_eq!(found.hits[0].path, "memory/2026-02-03.md", "{:?}", places(&found));
    let found = house.search("what do you know about the bike and the shed?", Viewer::owner()).await;
    let beside =
        |hit: &yabby_memory::recall::Hit| hit.unit.text.contains("Tea") || hit.unit.text.contains("meeting");
    assert!(!found.hits.iter().any(|hit| beside(hit) && hit.why.around > 0.5), "{:?}", places(&found));
    // Another model's answer may be the only place where something is said.
    house.say("b", "assistant", "The bike is behind the church.");
    let found = house.search("is the bike behind the church?", Viewer::owner()).await;
    assert_eq!(found.hits[0].unit.text, "The bike is behind the church.");
}
