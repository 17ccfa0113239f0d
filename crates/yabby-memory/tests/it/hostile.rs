//! Questions that nobody would ask.

use yabby_memory::audience::Viewer;
use yabby_memory::recall::{Filter, Wanted};
use yabby_memory::settings::SyncSettings;
use yabby_memory::upkeep::Upkeep;

use crate::house::House;

/// A small generator: the same questions every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

const PIECES: [&str; 36] = [
    "\"",
    "'",
    "*",
    "(",
    ")",
    "AND",
    "OR",
    "NOT",
    "NEAR(",
    "^",
    ":",
    "-",
    "+",
    "{",
    "}",
    "boat",
    "\0",
    "😀",
    "👨‍👩‍👧",
    "\u{202e}",
    "%",
    "_",
    ";",
    "--",
    "/*",
    "DROP TABLE yabby_units",
    "ＡＢＣ",
    "ﷺ",
    "e\u{301}\u{301}\u{301}",
    "\u{feff}",
    "小",
    "ก็",
    "\n",
    "\t",
    "9999999999999999999999",
    "99-99-9999",
];

#[tokio::test]
async fn ten_thousand_hostile_questions_are_answered() {
    let house = House::new();
    house.put("MEMORY.md", "- the boat is red 😀\n- 小船\n");
    house.say("one", "user", "a boat on 2026-02-03");
    let _upkeep = Upkeep::begin(&house.memory, SyncSettings::default(), None);
    let mut dice = Dice(7);
    for _ in 0..5_000 {
        let count = dice.roll(12);
        let question: String = (0..count)
            .map(|_| {
                let space = if dice.roll(2) == 0 { " " } else { "" };
                format!("{}{space}", PIECES[dice.roll(PIECES.len())])
            })
            .collect();
        let found = house.search(&question, Viewer::owner()).await;
        assert_eq!(found.unread, [""; 0], "{question:?}");
        let wanted = Wanted {
            words: question.clone(),
            viewer: Viewer::owner(),
            filter: Filter { session_key: Some(question), ..Filter::default() },
            role: None,
            since: None,
            until: None,
            most: 5,
            skip: 0,
        };
        house.memory.messages(wanted).await.unwrap();
    }
    // Nothing of it has done anything.
    assert_eq!(house.found("boat").await.len(), 2);
}

#[tokio::test]
async fn a_question_of_a_megabyte_is_a_question() {
    let house = House::new();
    house.put("MEMORY.md", "- the boat is red\n");
    for question in
        ["boat ".repeat(200_000), "\"".repeat(1_000_000), "x".repeat(1_000_000), "船".repeat(350_000)]
    {
        house.found(&question).await;
    }
    assert_eq!(house.found(&format!("boat {}", "y ".repeat(500_000))).await, ["MEMORY.md:1"]);
}
