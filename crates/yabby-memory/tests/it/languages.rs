//! Questions in many languages, without a model.

use serde_json::Value;
use yabby_memory::audience::Viewer;

use crate::house::House;

/// What must be among the first five.
const SHARE: f64 = 0.9;

#[tokio::test]
async fn what_was_said_in_any_language_is_found() {
    let corpora: Value = serde_json::from_str(include_str!("../languages/corpora.json")).unwrap();
    let corpora = corpora.as_object().unwrap();
    assert!(corpora.len() >= 7);
    // All in one memory: languages must not get in each other's way.
    let house = House::new();
    for (language, corpus) in corpora {
        for said in corpus["said"].as_array().unwrap() {
            house.say(language, "user", said.as_str().unwrap());
        }
    }
    for (language, corpus) in corpora {
        let asked = corpus["asked"].as_array().unwrap();
        let mut found = 0;
        for question in asked {
            let (text, answer) = (question[0].as_str().unwrap(), question[1].as_u64().unwrap());
            let hits = house.search(text, Viewer::owner()).await.hits;
            // The first line is the header.
            let is_answer = |line: u32, path: &str| {
                u64::from(line) == answer + 2 && path == format!("sessions/{language}.jsonl")
            };
            found += usize::from(hits.iter().take(5).any(|hit| is_answer(hit.unit.first_line, &hit.path)));
        }
        assert!(found as f64 / asked.len() as f64 >= SHARE, "{language}: {found} of {}", asked.len());
    }
}

#[tokio::test]
async fn a_letter_or_two_and_parts_of_words_are_found() {
    let house = House::new();
    house.put("memory/animals.md", "- うちの猫の名前はタマ\n- ゴミの日は火曜日\n");
    house.put(
        "memory/appointments.md",
        "- Zahnarzttermin am Montag um zehn\n- Die Steuererklärung ist fertig\n",
    );
    house.put("memory/other.md", "- The bus leaves at nine\n");
    for (asked, place) in [
        ("猫", "memory/animals.md:1"),
        ("ゴミ", "memory/animals.md:2"),
        ("Zahnarzt", "memory/appointments.md:1"),
        ("Wann ist mein Zahnarzt?", "memory/appointments.md:1"),
        ("Zahnarzttermine", "memory/appointments.md:1"),
    ] {
        assert_eq!(house.found(asked).await, [place], "{asked}");
    }
    // Short ones, and those at the end.
    house.put(
        "memory/home.md",
        "- Die Mülltonne wird am Dienstag geleert\n- Mein Fahrradschloss hat die 4711\n",
    );
    for (asked, place) in [
        ("Müll", "memory/home.md:1"),
        ("Schloss", "memory/home.md:2"),
        ("Wo ist mein Schloss?", "memory/home.md:2"),
        ("Tonne", "memory/home.md:1"),
    ] {
        assert_eq!(house.found(asked).await, [place], "{asked}");
    }
    // The other way round: what is asked for is longer.
    house.put("memory/doctors.md", "- Der Zahnarzt heißt Weber\n");
    assert!(house.found("Zahnarztrechnung").await.contains(&"memory/doctors.md:1".to_owned()));
}
