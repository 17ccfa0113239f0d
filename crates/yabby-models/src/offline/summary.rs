//! A summary by extraction: sentences of the conversation, under the headings that were asked for.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;
use yabby_domain::compaction::summary::SummaryKind;
use yabby_domain::message::Role;
use yabby_domain::seam::model::ModelRequest;
use yabby_domain::text;

use super::facts::{Kind, facts, sentences};
use super::wish::{Wish, wishes};
use super::{pattern, prompt, quote};

/// How long one point may be, in units.
const LONGEST_POINT: usize = 280;
/// How many points of a kind are picked out of a conversation.
const MOST_POINTS: usize = 40;

/// How a step begins that is a request without an answer.
const ANSWER: &str = "Answer: ";
/// How a point begins that is a user's own words.
const SAID: &str = "The user said: ";

/// The summary that a request asks for, in at most so many tokens.
pub(super) fn of(request: &ModelRequest, tokens: u64) -> String {
    let asked: Vec<&str> = request
        .messages
        .iter()
        .filter(|message| message.role() == Role::User)
        .flat_map(prompt::texts)
        .collect();
    let asked = asked.join("\n\n");
    let (material, instructions) = asked
        .rfind("</previous-summary>")
        .max(asked.rfind("</conversation>"))
        .map_or((asked.as_str(), ""), |at| asked.split_at(at));
    let talk = Talk::read(between(material, "<conversation>\n", "\n</conversation>").unwrap_or(material));
    let earlier =
        material.rfind("<previous-summary>\n").map(|at| &material[at + "<previous-summary>\n".len()..]);
    let mut sections = Section::asked_for(instructions);
    if let Some(earlier) = earlier {
        carry_over(text::trim(earlier), &mut sections);
        if !talk.answers.is_empty() {
            tick_off(&mut sections);
        }
    }
    for section in &mut sections {
        section.add(&talk);
    }
    let most = usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    shorten(&mut sections, most);
    let whole = sections.iter().map(Section::text).collect::<Vec<_>>().join("\n\n");
    quote::cut(&whole, most).to_owned()
}

fn between<'t>(text: &'t str, start: &str, end: &str) -> Option<&'t str> {
    let from = text.find(start)? + start.len();
    let rest = &text[from..];
    Some(rest.rfind(end).map_or(rest, |to| &rest[..to]))
}

/// What happened in a conversation, in order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Talk {
    requests: Vec<String>,
    facts: Vec<(Kind, String)>,
    done: Vec<String>,
    failed: Vec<String>,
    answers: Vec<String>,
    /// The last word was the user's.
    is_open: bool,
}

impl Talk {
    /// Reads what [`yabby_domain::compaction::summary::conversation_text`] wrote.
    fn read(conversation: &str) -> Self {
        static LABEL: LazyLock<Regex> = LazyLock::new(|| {
            pattern(r"(?m)^\[(User|Assistant|Assistant thinking|Assistant tool calls|Tool result)\]: ")
        });
        let mut talk = Self::default();
        let labels: Vec<_> = LABEL.captures_iter(conversation).collect();
        for (at, label) in labels.iter().enumerate() {
            let Some(whole) = label.get(0) else { continue };
            let end = labels
                .get(at + 1)
                .and_then(|next| next.get(0))
                .map_or(conversation.len(), |next| next.start());
            talk.add(&label[1], text::trim(&conversation[whole.end()..end]));
        }
        talk
    }

    fn add(&mut self, label: &str, said: &str) {
        match label {
            "User" => {
                for part in prompt::parts_of_text(said) {
                    let told = facts(&part.text);
                    // Who only tells something asks for nothing.
                    let only_tells = told.len() >= sentences(&part.text).len();
                    self.facts.extend(told);
                    let is_small_talk = |wish: &Wish| {
                        matches!(
                            wish,
                            Wish::Greeting
                                | Wish::Thanks
                                | Wish::Agreement
                                | Wish::Help
                                | Wish::Heartbeat
                                | Wish::NewSession
                        )
                    };
                    if !only_tells && !wishes(&part.text).iter().all(is_small_talk) {
                        self.requests.push(point(&part.text));
                        self.is_open = true;
                    }
                }
            }
            "Assistant" => {
                self.answers.extend(sentences(said).first().map(|first| point(first)));
                self.is_open = false;
            }
            "Assistant tool calls" => self.done.extend(said.split("; ").map(point)),
            "Tool result" => {
                let lowered = text::lower(said);
                let signs = ["error", "failed", "cannot", "could not", "does not exist", "interrupted"];
                if said.len() < 400 && signs.iter().any(|sign| lowered.contains(sign)) {
                    self.failed.push(point(said));
                }
            }
            _ => {}
        }
    }

    fn of_kind(&self, wanted: Kind) -> impl Iterator<Item = String> {
        self.facts.iter().filter(move |(kind, _)| *kind == wanted).map(|(_, fact)| point(fact))
    }
}

fn point(said: &str) -> String {
    quote::shortened(text::trim(&text::collapse_spaces(said)), LONGEST_POINT)
}

/// A heading and its points.
#[derive(Debug)]
struct Section {
    /// With its marks: `## Goal`.
    heading: String,
    points: Vec<Point>,
    has_parts: bool,
}

#[derive(Debug, PartialEq, Eq)]
struct Point {
    /// Without the mark in front.
    text: String,
    is_earlier: bool,
}

impl Section {
    /// The headings in the instructions; ours if there are none.
    fn asked_for(instructions: &str) -> Vec<Self> {
        let headings = |text: &str| -> Vec<Self> {
            let lines: Vec<&str> =
                text.lines().filter(|line| line.starts_with("## ") || line.starts_with("### ")).collect();
            let has_parts = |at: usize| {
                lines[at].starts_with("## ") && lines.get(at + 1).is_some_and(|next| next.starts_with("### "))
            };
            let section = |(at, line): (usize, &&str)| Self {
                heading: text::trim(line).to_owned(),
                points: Vec::new(),
                has_parts: has_parts(at),
            };
            lines.iter().enumerate().map(section).collect()
        };
        let asked = headings(instructions);
        if asked.is_empty() { headings(SummaryKind::Initial.instructions()) } else { asked }
    }

    fn title(&self) -> &str {
        self.heading.trim_start_matches(['#', ' '])
    }

    /// Picks what belongs under the heading.
    fn add(&mut self, talk: &Talk) {
        let last_request = || talk.requests.last().cloned();
        let found: Vec<String> = match self.title() {
            "Goal" | "Original Request" => {
                let first = talk.requests.first().cloned();
                first.into_iter().chain(last_request()).collect()
            }
            "Constraints & Preferences" => talk.of_kind(Kind::Preference).collect(),
            "Done" | "Early Progress" => talk.done.iter().chain(&talk.answers).cloned().collect(),
            "In Progress" => last_request().filter(|_| talk.is_open).into_iter().collect(),
            "Blocked" => talk.failed.clone(),
            "Key Decisions" => talk.of_kind(Kind::Decision).collect(),
            "Next Steps" => last_request()
                .filter(|_| talk.is_open)
                .map(|request| format!("{ANSWER}{request}"))
                .into_iter()
                .collect(),
            "Critical Context" | "Context for Suffix" => {
                let latest =
                    talk.requests.iter().rev().take(5).rev().map(|request| format!("{SAID}{request}"));
                talk.of_kind(Kind::Fact).chain(latest).collect()
            }
            _ => Vec::new(),
        };
        let mut seen: HashSet<String> = self.points.iter().map(|point| point.text.clone()).collect();
        let mut fresh: Vec<String> = found.into_iter().filter(|text| seen.insert(text.clone())).collect();
        fresh.drain(..fresh.len().saturating_sub(MOST_POINTS));
        self.points.extend(fresh.into_iter().map(|text| Point { text, is_earlier: false }));
    }

    fn text(&self) -> String {
        let mut lines = vec![self.heading.clone()];
        if self.points.is_empty() && !self.has_parts {
            lines.push("- (none)".to_owned());
        }
        let title = self.title();
        for (at, point) in self.points.iter().enumerate() {
            lines.push(match title {
                "Done" => format!("- [x] {}", point.text),
                "In Progress" => format!("- [ ] {}", point.text),
                "Next Steps" => format!("{}. {}", at + 1, point.text),
                _ => format!("- {}", point.text),
            });
        }
        lines.join("\n")
    }

    fn length(&self) -> usize {
        text::units(&self.text()) + 2
    }
}

/// Takes the points of an earlier summary along, each under its heading; those of headings that are no
/// longer there, under the last one.
fn carry_over(earlier: &str, sections: &mut [Section]) {
    let mut at = None;
    let mut in_files = false;
    for line in earlier.lines().map(text::trim) {
        if line.starts_with("<read-files>") || line.starts_with("<modified-files>") {
            in_files = true;
        }
        if line.starts_with("</") {
            in_files = false;
            continue;
        }
        if line.starts_with('#') {
            let title = line.trim_start_matches(['#', ' ']);
            at = sections.iter().position(|section| section.title() == title);
            continue;
        }
        let words = without_mark(line);
        let says_nothing =
            ["", "(none)", "---", "**Turn Context (split turn):**", "No prior history."].contains(&words);
        let place = at.unwrap_or(sections.len().saturating_sub(1));
        if let Some(section) = sections.get_mut(place).filter(|_| !in_files && !says_nothing) {
            // What a user said last time is worth less than what was made of it.
            let is_earlier = !words.starts_with(SAID);
            section.points.push(Point { text: words.to_owned(), is_earlier });
        }
    }
}

/// Somebody has answered since: what waited for an answer is done.
fn tick_off(sections: &mut [Section]) {
    let mut answered = Vec::new();
    let mut done = Vec::new();
    for section in sections.iter_mut().filter(|section| section.title() == "Next Steps") {
        answered.extend(section.points.extract_if(.., |point| point.text.starts_with(ANSWER)));
    }
    for section in sections.iter_mut().filter(|section| section.title() == "In Progress") {
        let is_answered =
            |point: &Point| answered.iter().any(|step| step.text.strip_prefix(ANSWER) == Some(&point.text));
        done.extend(section.points.extract_if(.., |point| is_answered(point)));
    }
    if let Some(section) = sections.iter_mut().find(|section| section.title() == "Done") {
        section.points.extend(done);
    }
}

/// A point without bullet, box or number.
fn without_mark(line: &str) -> &str {
    static MARK: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^(?:[-*+]\s+(?:\[[ xX]\]\s+)?|[0-9]{1,3}[.)]\s+)"));
    MARK.find(line).map_or(line, |mark| &line[mark.end()..])
}

/// Drops points until the summary is short enough: of the longest section the oldest new one, as long as
/// there are several; what an earlier summary found worth keeping goes last.
fn shorten(sections: &mut [Section], most: usize) {
    let mut lengths: Vec<usize> = sections.iter().map(Section::length).collect();
    while lengths.iter().sum::<usize>() > most.saturating_add(2) {
        let droppable = (0..sections.len()).filter(|at| !sections[*at].points.is_empty());
        let Some(longest) = droppable.max_by_key(|at| lengths[*at]) else { return };
        let points = &mut sections[longest].points;
        let fresh = points.iter().filter(|point| !point.is_earlier).count();
        let oldest =
            if fresh > 1 { points.iter().position(|point| !point.is_earlier).unwrap_or(0) } else { 0 };
        points.remove(oldest);
        lengths[longest] = sections[longest].length();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_talk_is_read_by_its_labels() {
        let talk = Talk::read(
            "[User]: My cat is Mia.\n\nlist files please\n\n[Assistant tool calls]: list_files(path=\"a\"); read(path=\"b\")\n\n\
             [Tool result]: a does not exist\n\n[Assistant]: I could not. Sorry.\n\n[User]: hi\n\n[User]: We decided to wait.",
        );
        assert_eq!(talk.requests.len(), 1);
        assert_eq!(
            talk.facts.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
            [Kind::Fact, Kind::Decision]
        );
        assert_eq!(talk.done, ["list_files(path=\"a\")", "read(path=\"b\")"]);
        assert_eq!((talk.failed.len(), talk.answers.as_slice()), (1, &["I could not.".to_owned()][..]));
        assert!(!talk.is_open);
        assert!(Talk::read("[User]: Which hotel?").is_open);
    }

    #[test]
    fn earlier_points_are_kept_under_their_headings() {
        let mut sections = Section::asked_for("## Goal\n### Done\n## Critical Context");
        let earlier = "## Goal\nShip it\n\n### Done\n- [x] built\n2. tested\n\n## Gone\n- odd\n- (none)\n<read-files>\na.md\n</read-files>";
        carry_over(earlier, &mut sections);
        let points: Vec<Vec<&str>> = sections
            .iter()
            .map(|section| section.points.iter().map(|point| point.text.as_str()).collect())
            .collect();
        assert_eq!(points, [vec!["Ship it"], vec!["built", "tested"], vec!["odd"]]);
    }

    #[test]
    fn new_points_give_way_before_earlier_ones() {
        let mut sections = Section::asked_for("## Critical Context");
        let point = |text: &str, is_earlier| Point { text: text.repeat(20), is_earlier };
        sections[0].points = vec![point("a", true), point("b", false), point("c", false), point("d", false)];
        shorten(&mut sections, 70);
        let kept: Vec<&str> = sections[0].points.iter().map(|point| &point.text[..1]).collect();
        assert_eq!(kept, ["a", "d"]);
        shorten(&mut sections, 0);
        assert!(sections[0].points.is_empty());
    }
}
