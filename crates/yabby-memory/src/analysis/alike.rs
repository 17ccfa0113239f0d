//! Words that people use for the same thing: who asks for one may mean another.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::Language;

/// How much a word counts that means the same, and one of a kind that was asked for.
const SAME: f32 = 0.4;
const OF_THE_KIND: f32 = 0.35;

static ENGLISH: LazyLock<HashMap<String, Vec<(String, f32)>>> =
    LazyLock::new(|| table(include_str!("english_alike.txt")));

/// The stems that may stand for one, and how much each counts.
pub fn alike(stem: &str) -> &'static [(String, f32)] {
    ENGLISH.get(stem).map_or(&[], Vec::as_slice)
}

/// One group a line; behind `>` stands what may be meant by the words before it, but not the other way.
fn table(text: &str) -> HashMap<String, Vec<(String, f32)>> {
    let mut table: HashMap<String, Vec<(String, f32)>> = HashMap::new();
    let stems = |words: &str| -> Vec<String> {
        words.split_whitespace().map(|word| Language::English.stem(word)).collect()
    };
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (asked, meant) = line.split_once('>').unwrap_or((line, ""));
        let (group, kinds) = (stems(asked), stems(meant));
        let weight = if kinds.is_empty() { SAME } else { 0.0 };
        for one in &group {
            let others =
                group.iter().map(|other| (other, weight)).chain(kinds.iter().map(|kind| (kind, OF_THE_KIND)));
            for (other, weight) in others.filter(|(other, weight)| *other != one && *weight > 0.0) {
                let known = table.entry(one.clone()).or_default();
                match known.iter_mut().find(|(stem, _)| stem == other) {
                    Some((_, least)) => *least = least.max(weight),
                    None => known.push((other.clone(), weight)),
                }
            }
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_means_its_members_but_not_the_other_way() {
        let has = |one: &str, other: &str| alike(one).iter().any(|(stem, _)| stem == other);
        assert!(has("pet", "turtl") && !has("turtl", "pet"));
        assert!(has("movi", "film") && has("film", "movi"));
        assert!(alike("umbrella").is_empty());
    }
}
