//! The order of a dictionary, for the places where the reference sorts for a reader
//! (`sessions.md` §4, §15).

use std::cmp::Ordering;

/// Compares as `localeCompare` does within ASCII: punctuation, digits, letters; case decides last.
pub fn compare(left: &str, right: &str) -> Ordering {
    let primary = left.chars().map(rank).cmp(right.chars().map(rank));
    // Lower case comes before upper case.
    primary.then_with(|| right.cmp(left))
}

/// Punctuation in the order of the Unicode root collation.
const PUNCTUATION: &str = "_-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

fn rank(c: char) -> (u8, u32) {
    match PUNCTUATION.chars().position(|mark| mark == c) {
        _ if crate::text::is_space(c) => (0, 0),
        #[expect(clippy::cast_possible_truncation, reason = "a position in a short table")]
        Some(at) => (1, at as u32),
        None if c.is_ascii_digit() => (2, u32::from(c)),
        None => (3, c.to_lowercase().next().map_or(0, u32::from)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_come_before_digits_before_letters() {
        let mut names = vec!["b", "a1", "a-b", "a_b", "A", "a", "1"];
        names.sort_by(|left, right| compare(left, right));
        assert_eq!(names, ["1", "a", "A", "a_b", "a-b", "a1", "b"]);
    }
}
