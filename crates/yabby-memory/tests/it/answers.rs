//! What a person expects of a search: what answers first, once, and nothing that has nothing to do with it.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::seam::embedder::{EmbedError, Embedder};
use yabby_memory::audience::Viewer;
use yabby_memory::memory::Meaning;

use crate::house::House;

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
    for asked in ["what did I note yesterday", "What did I note yesterday?", "yesterday"] {
        assert_eq!(house.found(asked).await, [format!("memory/{yesterday}.md:1")], "{asked}");
    }
}
