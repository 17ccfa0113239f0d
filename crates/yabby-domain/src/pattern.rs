//! Patterns that users write in JavaScript's language, matched without regard to case
//! (`sessions.md` §11).
//!
//! A pattern comes from the configuration, the text from anybody: a pattern that backtracks badly must
//! not let a stranger stop the gateway. Most patterns are carried over to an engine whose time is
//! linear in the text. Those that look around or refer back need an engine that backtracks; they see
//! only as much of the text as they could search in bounded time.
//!
//! One difference is known: to the linear engine the long `ſ` and the Kelvin sign are an `s` and a `k`.

use crate::text;

/// More steps than any honest mention needs, and a fraction of a second.
const MAX_STEPS: f64 = 1e7;
/// A longer pattern is a mistake.
const MAX_LENGTH: usize = 2000;
const MAX_DEPTH: usize = 50;

#[derive(Clone, Debug)]
pub struct Pattern {
    engine: Engine,
}

#[derive(Clone, Debug)]
enum Engine {
    Linear(regex::Regex),
    Backtracking { pattern: regress::Regex, longest_text: usize },
}

impl Pattern {
    /// `None` for a pattern that is not valid, or that nobody can afford to match.
    pub fn new(source: &str) -> Option<Self> {
        if source.len() > MAX_LENGTH || depth(source) > MAX_DEPTH {
            return None;
        }
        let pattern = regress::Regex::with_flags(source, "i").ok()?;
        let linear = linear::translate(source)
            .and_then(|translated| regex::RegexBuilder::new(&translated).case_insensitive(true).build().ok());
        let engine = match linear {
            Some(linear) => Engine::Linear(linear),
            None => Engine::Backtracking { pattern, longest_text: affordable_length(source)? },
        };
        Some(Self { engine })
    }

    pub fn is_match(&self, text: &str) -> bool {
        match &self.engine {
            Engine::Linear(pattern) => pattern.is_match(text),
            Engine::Backtracking { pattern, longest_text } => {
                pattern.find(searched(text, *longest_text).0).is_some()
            }
        }
    }

    /// Every match becomes `replacement`.
    pub fn replace_all(&self, text: &str, replacement: &str) -> String {
        match &self.engine {
            Engine::Linear(pattern) => pattern.replace_all(text, regex::NoExpand(replacement)).into_owned(),
            Engine::Backtracking { pattern, longest_text } => {
                let (seen, rest) = searched(text, *longest_text);
                format!("{}{rest}", pattern.replace_all_with(seen, |_| replacement.to_owned()))
            }
        }
    }
}

/// The part of a text that is searched, at most so many units of whole characters, and the rest.
fn searched(text: &str, most: usize) -> (&str, &str) {
    let mut units = 0;
    let end = text.char_indices().find(|(_, c)| {
        units += text::char_units(*c);
        units > most
    });
    text.split_at(end.map_or(text.len(), |(at, _)| at))
}

fn depth(source: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for c in source.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// How many units of text a backtracking engine may search. Each repetition multiplies the steps by
/// the length, each choice by the number of alternatives; a repetition around either has no bound.
fn affordable_length(source: &str) -> Option<usize> {
    let mut groups = vec![Group::default()];
    let mut repetitions = 0;
    let mut factor = 1.0;
    let mut closed: Option<Group> = None;
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        let before = closed.take();
        match c {
            '\\' => {
                rest.next();
            }
            '[' => linear::skip_class(&mut rest),
            '(' => {
                if rest.next_if_eq(&'?').is_some() {
                    // The mark of a group is no repetition.
                    rest.next();
                }
                groups.push(Group::default());
            }
            ')' => {
                let group = groups.pop()?;
                factor *= group.alternatives;
                let outer = groups.last_mut()?;
                outer.repeats |= group.repeats || group.alternatives > 1.0;
                closed = Some(group);
            }
            '|' => groups.last_mut()?.alternatives += 1.0,
            '*' | '+' | '{' | '?' => {
                if before.is_some_and(|group| group.repeats || group.alternatives > 1.0) && c != '?' {
                    return None;
                }
                if c == '{' && rest.find(|c| *c == '}').is_none() {
                    continue;
                }
                rest.next_if_eq(&'?');
                groups.last_mut()?.repeats = true;
                if c == '?' {
                    factor *= 2.0;
                } else {
                    repetitions += 1;
                }
            }
            _ => {}
        }
    }
    factor *= groups.first()?.alternatives;
    let longest = (MAX_STEPS / factor).powf(1.0 / f64::from(repetitions + 1));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive and below MAX_STEPS"
    )]
    (longest >= 16.0).then_some(longest as usize)
}

struct Group {
    repeats: bool,
    alternatives: f64,
}

impl Default for Group {
    fn default() -> Self {
        Self { repeats: false, alternatives: 1.0 }
    }
}

/// From JavaScript's language to that of the linear engine.
mod linear {
    use std::iter::Peekable;
    use std::str::Chars;

    use crate::text::SPACE_CLASS;

    /// The same pattern, unless it needs what the linear engine does not have. Only called with
    /// patterns that are valid in JavaScript.
    pub fn translate(source: &str) -> Option<String> {
        let mut out = String::with_capacity(source.len() + 16);
        let mut rest = source.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\\' => escape(&mut out, &mut rest)?,
                '[' => class(&mut out, &mut rest)?,
                '.' => out.push_str(r"[^\n\r\u{2028}\u{2029}]"),
                '(' if rest.next_if_eq(&'?').is_some() => match rest.next()? {
                    ':' => out.push_str("(?:"),
                    '<' if !matches!(rest.peek(), Some('=' | '!')) => {
                        // Names do not matter to those who only ask whether there is a match.
                        rest.find(|c| *c == '>')?;
                        out.push('(');
                    }
                    _ => return None,
                },
                '{' => quantifier(&mut out, &mut rest),
                // Alone they are letters to JavaScript.
                ']' | '}' => literal(&mut out, c),
                '^' | '$' | '(' | ')' | '|' | '*' | '+' | '?' => out.push(c),
                _ => literal(&mut out, c),
            }
        }
        Some(out)
    }

    /// `{2}`, `{2,}` and `{2,5}` count; any other brace is a letter.
    fn quantifier(out: &mut String, rest: &mut Peekable<Chars<'_>>) {
        let ahead: String = rest.clone().take_while(|c| *c != '}').collect();
        let closed = rest.clone().nth(ahead.chars().count()) == Some('}');
        let mut bounds = ahead.split(',');
        let is_number = |bound: &str| !bound.is_empty() && bound.bytes().all(|b| b.is_ascii_digit());
        let counts = closed
            && bounds.next().is_some_and(is_number)
            && bounds.next().is_none_or(|most| most.is_empty() || is_number(most))
            && bounds.next().is_none();
        out.push_str(if counts { "{" } else { r"\{" });
        if counts {
            out.push_str(&ahead);
            out.push('}');
            for _ in 0..=ahead.chars().count() {
                rest.next();
            }
        }
    }

    fn escape(out: &mut String, rest: &mut Peekable<Chars<'_>>) -> Option<()> {
        match rest.next()? {
            'b' => out.push_str(r"(?-u:\b)"),
            'B' => out.push_str(r"(?-u:\B)"),
            '1'..='9' | 'k' => return None,
            c => match shorthand(c) {
                Some(members) => out.push_str(&format!("[{members}]")),
                None => literal(out, character(c, rest)?),
            },
        }
        Some(())
    }

    /// The members of `\d` and its like.
    fn shorthand(c: char) -> Option<String> {
        Some(match c {
            'd' => "0-9".to_owned(),
            'w' => "0-9A-Za-z_".to_owned(),
            's' => SPACE_CLASS.to_owned(),
            'D' => "[^0-9]".to_owned(),
            'W' => "[^0-9A-Za-z_]".to_owned(),
            'S' => format!("[^{SPACE_CLASS}]"),
            _ => return None,
        })
    }

    /// The character that an escape stands for.
    fn character(c: char, rest: &mut Peekable<Chars<'_>>) -> Option<char> {
        let hex = |rest: &mut Peekable<Chars<'_>>, count: usize| {
            let digits: String = rest.clone().take(count).collect();
            let code = u32::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == count)?;
            rest.nth(count - 1);
            char::from_u32(code)
        };
        Some(match c {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'f' => '\u{c}',
            '0' if !rest.peek().is_some_and(char::is_ascii_digit) => '\0',
            'x' => hex(rest, 2)?,
            'u' => hex(rest, 4)?,
            'c' | '0'..='9' => return None,
            c => c,
        })
    }

    fn class(out: &mut String, rest: &mut Peekable<Chars<'_>>) -> Option<()> {
        let negated = rest.next_if_eq(&'^').is_some();
        if rest.next_if_eq(&']').is_some() {
            // `[^]` is any character at all, `[]` is none.
            out.push_str(if negated { r"[\s\S]" } else { r"[^\s\S]" });
            return Some(());
        }
        out.push_str(if negated { "[^" } else { "[" });
        loop {
            match rest.next()? {
                ']' => break,
                '-' => out.push('-'),
                '\\' => match rest.next()? {
                    'b' => out.push_str(r"\x08"),
                    'B' | 'k' => return None,
                    c => match shorthand(c) {
                        Some(members) => out.push_str(&members),
                        None => literal(out, character(c, rest)?),
                    },
                },
                c => literal(out, c),
            }
        }
        out.push(']');
        Some(())
    }

    fn literal(out: &mut String, c: char) {
        out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }

    /// Moves past a class whose bracket was just read.
    pub fn skip_class(rest: &mut Peekable<Chars<'_>>) {
        while let Some(c) = rest.next() {
            match c {
                '\\' => {
                    rest.next();
                }
                ']' => return,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_a_match_stays_as_it_is() {
        let text = "  \u{2}\0 aa a..𐀀\u{0}0\u{2028}:HEARTBEAT_OK\u{10d800}\u{10d800}\\n..https://a/b./a[[𐀀𐀀𐀀";
        let pattern = Pattern::new(r"a*\s+\1\s+").unwrap();
        assert!(pattern.is_match(text) || pattern.replace_all(text, " ") == text);
    }

    #[test]
    fn a_search_ends_between_two_characters() {
        assert_eq!(searched("a😀b", 2), ("a", "😀b"));
        assert_eq!(searched("a😀b", 3), ("a😀", "b"));
        assert_eq!(searched("a😀b", 9), ("a😀b", ""));
    }

    #[test]
    fn patterns_mean_what_they_mean_in_javascript() {
        //  pattern          matches      does not match
        let table = [
            (r"\bbot\b", "a BOT!", "robot"),
            (r"@?ann[ae]\s+lee", "@ANNA\u{a0}lee", "annalee"),
            (r"[\w.-]+@x", "a-b@x", "é@x"),
            (r"[[a]", "[", "b"),
            (r"a{,2}", "a{,2}", "aa"),
            (r"^a.c$", "a\u{85}c", "a\nc"),
            (r"\x41\u0042\/", "ab/", "ab"),
            (r"(?<name>x)y", "xy", "x"),
            (r"(?<!\w)bot(?!\w)", "the bot", "robot"),
            (r"(a)\1", "aa", "ab"),
            (r"[^]", "\n", ""),
            (r"]}", "]}", "]"),
            ("🦞", "🦞", "🦀"),
        ];
        for (pattern, yes, no) in table {
            let compiled = Pattern::new(pattern).expect(pattern);
            assert!(compiled.is_match(yes), "{pattern} {yes}");
            assert!(!compiled.is_match(no), "{pattern} {no}");
        }
        for invalid in ["(", "[", "*a", "a{2,1}"] {
            assert!(Pattern::new(invalid).is_none(), "{invalid}");
        }
    }

    #[test]
    fn a_pattern_that_backtracks_badly_costs_no_time() {
        let text = "a".repeat(50_000);
        for pattern in ["(a+)+$", "(a|a)*b", "(?:a?){50}b", "(?=x)?(a*)*b"] {
            if let Some(compiled) = Pattern::new(pattern) {
                compiled.is_match(&format!("{text}!"));
            }
        }
        for refused in [
            r"(?!x)(a+)+$",
            r"(?!x)(a|a)*b",
            &"(?!x)a?".repeat(60),
            &"(".repeat(100),
            r"((a{1000}){1000}){1000}",
        ] {
            assert!(Pattern::new(refused).is_none(), "{refused}");
        }
        let compiled = Pattern::new(r"(?!x)a*a*b").unwrap();
        assert!(!compiled.is_match(&text));
        assert!(compiled.is_match(&format!("aab{text}")));
    }
}
