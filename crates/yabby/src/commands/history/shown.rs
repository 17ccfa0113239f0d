//! How a conversation looks in a terminal, or in a pipe.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use yabby_domain::json;
use yabby_domain::message::{Content, Message};
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::pieces::{Call, Piece, Said, Speaker, What, asked_in, is_message};
use yabby_domain::transcript::tree::Transcript;

use crate::terminal::{self, columns, counted, harmless, short};

/// How much of the work behind an answer is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// A line for each tool.
    Folded,
    /// Thinking, and all that tools were asked and answered.
    Full,
}

pub struct Shown {
    detail: Detail,
    zone: TimeZone,
    /// Text is broken to fit a terminal, and left alone in a pipe.
    width: Option<usize>,
    /// Settings that changed one after another stand together.
    after_change: bool,
}

const HEADING: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const WRONG: Style = AnsiColor::Red.on_default();
const WORK: Style = AnsiColor::Yellow.on_default();
const MARK: Style = AnsiColor::Magenta.on_default();

/// How long a line about a tool gets where nobody says how wide the paper is.
const WIDTH_OF_A_PIPE: usize = 110;

impl Shown {
    pub fn new(detail: Detail) -> Self {
        Self { detail, zone: TimeZone::system(), width: terminal::width(), after_change: false }
    }

    pub fn title(
        &mut self,
        out: &mut dyn Write,
        title: &str,
        transcript: &Transcript,
        branch: &[&Entry],
    ) -> Result<()> {
        let messages = counted(branch.iter().filter(|entry| is_message(entry)).count(), "message");
        writeln!(out, "{HEADING}{}{HEADING:#} {FAINT}{messages}{FAINT:#}", harmless(title))?;
        writeln!(out, "{FAINT}{}{FAINT:#}", harmless(transcript.session_id()))?;
        Ok(())
    }

    pub fn hidden(&mut self, out: &mut dyn Write, messages: usize) -> Result<()> {
        let earlier = counted(messages, "earlier message");
        writeln!(out, "\n{FAINT}… {earlier}{FAINT:#}")?;
        Ok(())
    }

    pub fn later(&mut self, out: &mut dyn Write, messages: usize) -> Result<()> {
        let later = counted(messages, "later message");
        writeln!(out, "\n{FAINT}… {later}{FAINT:#}")?;
        Ok(())
    }

    pub fn pieces(&mut self, out: &mut dyn Write, pieces: &[Piece]) -> Result<()> {
        for piece in pieces {
            self.piece(out, piece)?;
        }
        Ok(())
    }

    fn piece(&mut self, out: &mut dyn Write, piece: &Piece) -> Result<()> {
        match &piece.what {
            What::Said(said) => self.said(out, said, piece.time)?,
            What::Compaction { summary, tokens_before } => {
                let tokens = tokens_before.map(|tokens| format!(", {tokens} tokens")).unwrap_or_default();
                self.rule(out, &format!("compacted: what came before was summarised{tokens}"))?;
                self.indented(out, summary, FAINT)?;
            }
            What::BranchLeft { summary } => {
                self.rule(out, "another branch was left here")?;
                self.indented(out, summary, FAINT)?;
            }
            What::Changed { setting, value } => {
                let gap = if self.after_change { "" } else { "\n" };
                writeln!(out, "{gap}{FAINT}· {setting}: {}{FAINT:#}", harmless(value))?;
            }
        }
        self.after_change = matches!(piece.what, What::Changed { .. });
        if piece.other_branches > 0 {
            let others = match piece.other_branches {
                1 => "another branch leaves here".to_owned(),
                many => format!("{many} other branches leave here"),
            };
            writeln!(out, "\n{MARK}├╴ {others}{MARK:#} {FAINT}(see --tree){FAINT:#}")?;
        }
        Ok(())
    }

    fn said(&mut self, out: &mut dyn Write, said: &Said, time: Option<f64>) -> Result<()> {
        let (label, style) = label(said.speaker);
        match time.and_then(|time| self.moment(time)) {
            Some(time) => writeln!(out, "\n{style}{label}{style:#} {FAINT}{time}{FAINT:#}")?,
            None => writeln!(out, "\n{style}{label}{style:#}")?,
        }
        match self.detail {
            Detail::Full => self.indented(out, &said.thinking, FAINT)?,
            Detail::Folded if !said.thinking.is_empty() => writeln!(out, "  {FAINT}(thinking){FAINT:#}")?,
            Detail::Folded => {}
        }
        self.indented(out, &said.text, Style::new())?;
        for _ in 0..said.images {
            writeln!(out, "  {FAINT}[image]{FAINT:#}")?;
        }
        for call in &said.calls {
            self.call(out, call)?;
        }
        if let Some(error) = &said.error {
            self.indented(out, error, WRONG)?;
        }
        Ok(())
    }

    fn call(&mut self, out: &mut dyn Write, call: &Call) -> Result<()> {
        let name = harmless(&call.name);
        if self.detail == Detail::Full {
            writeln!(out, "  {WORK}▾ {name}{WORK:#} {FAINT}{}{FAINT:#}", harmless(&call.arguments))?;
            if let Some(result) = &call.result {
                let style = if result.failed { WRONG } else { FAINT };
                for line in result.text.lines() {
                    writeln!(out, "    {style}{}{style:#}", harmless(line))?;
                }
            }
            return Ok(());
        }
        // One line: what does not fit is cut, the answer first.
        let room = self.width.unwrap_or(WIDTH_OF_A_PIPE).saturating_sub(columns(&name) + 8).max(20);
        let (answered, style) = match &call.result {
            None => ("no answer".to_owned(), FAINT),
            // Not everybody sees the colour.
            Some(result) if result.failed => {
                (format!("failed: {}", answered(&result.text, room * 2 / 5)), WRONG)
            }
            Some(result) => (answered(&result.text, room * 2 / 5), FAINT),
        };
        let asked = short(&asked_in(&call.arguments), room.saturating_sub(columns(&answered)));
        writeln!(out, "  {WORK}▸ {name}{WORK:#} {asked} {FAINT}→{FAINT:#} {style}{answered}{style:#}")?;
        Ok(())
    }

    /// Messages as the model would be told them.
    pub fn messages(&mut self, out: &mut dyn Write, messages: &[Message]) -> Result<()> {
        for message in messages {
            let role = message.text_field("role").unwrap_or_default();
            writeln!(out, "\n{HEADING}{}{HEADING:#}", harmless(role))?;
            match message.content() {
                Content::Text(text) => self.indented(out, text, Style::new())?,
                Content::Missing => {}
                Content::Blocks(blocks) => {
                    for block in blocks {
                        let text = block.get("text").and_then(|text| text.as_str()).map(str::to_owned);
                        let text = text.unwrap_or_else(|| json::stringify(block));
                        self.indented(out, &text, Style::new())?;
                    }
                }
            }
        }
        Ok(())
    }

    fn rule(&mut self, out: &mut dyn Write, text: &str) -> Result<()> {
        writeln!(out, "\n{MARK}── {text} ──{MARK:#}")?;
        Ok(())
    }

    fn indented(&self, out: &mut dyn Write, text: &str, style: Style) -> Result<()> {
        let mut in_code = false;
        for line in text.lines() {
            let is_fence = line.trim_start().starts_with("```");
            let line = harmless(line);
            let lines = match self.width {
                Some(width) if !in_code && !is_fence => wrapped(&line, width.saturating_sub(2).max(20)),
                _ => vec![line],
            };
            in_code ^= is_fence;
            for line in lines {
                if line.is_empty() {
                    writeln!(out)?;
                } else {
                    writeln!(out, "  {style}{line}{style:#}")?;
                }
            }
        }
        Ok(())
    }

    fn moment(&self, ms: f64) -> Option<String> {
        #[expect(clippy::cast_possible_truncation, reason = "saturates, and is then out of range")]
        let time = Timestamp::from_millisecond(ms as i64).ok()?.to_zoned(self.zone.clone());
        Some(time.strftime("%Y-%m-%d %H:%M %Z").to_string())
    }
}

pub fn label(speaker: Speaker) -> (&'static str, Style) {
    let bold = |colour: AnsiColor| colour.on_default().bold();
    match speaker {
        Speaker::User => ("you", bold(AnsiColor::Cyan)),
        Speaker::Assistant => ("assistant", bold(AnsiColor::Green)),
        Speaker::Tool => ("tool", bold(AnsiColor::Yellow)),
        Speaker::Command => ("command", bold(AnsiColor::Yellow)),
        Speaker::Note => ("note", bold(AnsiColor::Blue)),
    }
}

/// What a tool answered, in a few words: its first line, and how many more there are.
fn answered(text: &str, room: usize) -> String {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let more = match lines.clone().count() {
        0 | 1 => String::new(),
        2 => " (+1 line)".to_owned(),
        lines => format!(" (+{} lines)", lines - 1),
    };
    let first = lines.clone().next().unwrap_or("nothing");
    short(first, room.saturating_sub(more.len())) + &more
}

/// A line broken to fit. What goes on below a bullet or a quote stands as it does; code and tables, told
/// by their indent or their bars, are left alone.
fn wrapped(line: &str, room: usize) -> Vec<String> {
    let rest = line.trim_start_matches(' ');
    let (indent, mark) = (line.len() - rest.len(), mark(rest));
    if rest.starts_with(['\t', '|']) || (indent >= 4 && mark.is_empty()) {
        return vec![line.to_owned()];
    }
    let below = if mark.starts_with('>') { mark.to_owned() } else { " ".repeat(mark.len()) };
    let (first, below) = (" ".repeat(indent), " ".repeat(indent) + &below);
    let options = textwrap::Options::new(room).initial_indent(&first).subsequent_indent(&below);
    let options = options.wrap_algorithm(textwrap::WrapAlgorithm::FirstFit);
    textwrap::wrap(rest, options).into_iter().map(std::borrow::Cow::into_owned).collect()
}

/// What begins a bullet, a numbered point or a quote, with the blank behind it.
fn mark(line: &str) -> &str {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let bullet = match line.as_bytes().get(digits) {
        Some(b'-' | b'*' | b'+' | b'>') if digits == 0 => 1,
        Some(b'.' | b')') if (1..=9).contains(&digits) => digits + 1,
        _ => return "",
    };
    let blanks = line[bullet..].len() - line[bullet..].trim_start_matches(' ').len();
    if blanks == 0 { "" } else { &line[..bullet + blanks.min(3)] }
}

#[cfg(test)]
mod tests {
    use yabby_domain::json::Value;

    use super::*;
    use proptest::prelude::*;
    use yabby_domain::transcript::context::for_model;
    use yabby_domain::transcript::pieces::{Window, pieces};

    /// Some JSON, with the names and words that mean something in a transcript.
    fn value() -> impl Strategy<Value = Value> {
        let word = prop_oneof![
            "(message|compaction|branch_summary|label|custom|custom_message|model_change|session_info)",
            "(user|assistant|toolResult|bashExecution|text|thinking|toolCall|image|a|b|c|d)",
            "\\PC{0,12}",
            "[\\x00-\\x9f]{0,8}",
        ];
        let leaf = prop_oneof![
            3 => word.prop_map(Value::from),
            1 => any::<f64>().prop_map(json::number),
            1 => any::<bool>().prop_map(Value::from),
            1 => Just(Value::Null),
        ];
        let name = "(type|id|parentId|targetId|message|role|content|text|name|label|arguments|toolCallId|summary|\
            timestamp|isError|command|output|errorMessage|customType|tokensBefore|firstKeptEntryId|display)";
        leaf.prop_recursive(4, 40, 6, move |inner| {
            let object = prop::collection::vec((name, inner.clone()), 0..6);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(Value::from),
                object.prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    fn line() -> impl Strategy<Value = Vec<u8>> {
        let entry = (value(), "[abcd]", prop_oneof![Just(Value::Null), "[abcd]".prop_map(Value::from)]);
        let entry = entry.prop_map(|(mut value, id, parent)| {
            if let Value::Object(entry) = &mut value {
                entry.entry("type").or_insert("message".into());
                entry.insert("id".to_owned(), id.into());
                entry.insert("parentId".to_owned(), parent);
            }
            json::stringify(&value).into_bytes()
        });
        prop_oneof![4 => entry, 1 => prop::collection::vec(any::<u8>(), 0..60)]
    }

    proptest! {
        #[test]
        fn whatever_a_file_holds_can_be_shown(
            lines in prop::collection::vec(line(), 0..12),
            width in prop_oneof![Just(None), (0_usize..120).prop_map(Some)],
            full in any::<bool>(),
            (limit, offset) in (prop::option::of(0_usize..9), 0_usize..9),
        ) {
            let file = [b"{\"type\":\"session\",\"version\":3,\"id\":\"s\"}".to_vec(), lines.join(&b'\n')].join(&b'\n');
            let text = yabby_domain::text::lossy(&file).into_owned();
            let transcript = Transcript::read(&text).unwrap();
            let branch = transcript.branch();
            let detail = if full { Detail::Full } else { Detail::Folded };
            let mut shown = Shown { width, ..Shown::new(detail) };
            let mut out = Vec::new();
            shown.title(&mut out, "title", &transcript, &branch).unwrap();
            shown.pieces(&mut out, &pieces(&transcript, Window { limit, offset }.of(&branch))).unwrap();
            shown.messages(&mut out, &for_model(transcript.context().messages)).unwrap();
            super::super::tree::print(&mut out, &transcript).unwrap();
            super::super::tree::to_json(&transcript);
            let printed = String::from_utf8(out).unwrap();
            prop_assert!(terminal::only_styles(&printed), "{printed:?}");
        }
    }

    #[test]
    fn a_line_is_broken_as_it_is_meant() {
        let table = [
            ("", vec![""]),
            ("one two three", vec!["one two", "three"]),
            ("- one two three", vec!["- one two", "  three"]),
            ("  * one two three", vec!["  * one", "    two", "    three"]),
            ("12. one two three", vec!["12. one", "    two", "    three"]),
            ("> one two three", vec!["> one two", "> three"]),
            ("| one | two | three |", vec!["| one | two | three |"]),
            ("    let a_long = line;", vec!["    let a_long = line;"]),
            ("漢字漢字漢字", vec!["漢字漢字漢", "字"]),
            ("a-verylongword", vec!["a-", "verylongwo", "rd"]),
        ];
        for (line, lines) in table {
            assert_eq!(wrapped(line, 10), lines, "{line}");
        }
    }

    #[test]
    fn an_answer_is_told_by_its_first_line() {
        let table = [
            ("", "nothing"),
            ("\n ok \n\n", " ok "),
            ("one\ntwo", "one (+1 line)"),
            ("one\ntwo\nthree", "one (+2 lines)"),
            ("a rather long answer\nb", "a rather… (+1 line)"),
        ];
        for (text, told) in table {
            assert_eq!(answered(text, 20), told, "{text:?}");
        }
    }
}
