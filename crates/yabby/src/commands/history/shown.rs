//! How a conversation looks in a terminal, or in a pipe.

use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use yabby_domain::json::{self, Value};
use yabby_domain::message::{Content, Message};
use yabby_domain::transcript::entry::Entry;
use yabby_domain::transcript::pieces::{Call, Piece, Said, Speaker, What, is_message};
use yabby_domain::transcript::tree::Transcript;

use crate::terminal::{self, counted, harmless};

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
            let others = counted(piece.other_branches, "other branch").replace("branchs", "branches");
            writeln!(out, "\n{MARK}├╴ {others} from here{MARK:#} {FAINT}(--tree shows them){FAINT:#}")?;
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
        let asked = short(&asked(&call.arguments), 60);
        let answered = match &call.result {
            None => format!("{FAINT}no answer{FAINT:#}"),
            Some(result) => {
                let lines = result.text.lines().filter(|line| !line.trim().is_empty());
                let first = short(lines.clone().next().unwrap_or_default(), 40);
                let more = match lines.count() {
                    0 | 1 => String::new(),
                    lines => format!(" (+{} lines)", lines - 1),
                };
                let style = if result.failed { WRONG } else { FAINT };
                format!("{style}{first}{more}{style:#}")
            }
        };
        writeln!(out, "  {WORK}▸ {name}{WORK:#} {asked} {FAINT}→{FAINT:#} {answered}")?;
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
        for line in text.lines() {
            let line = harmless(line);
            let room = self.width.map(|width| width.saturating_sub(2).max(20));
            // Code and tables are told by their indent; they are not to be broken.
            let lines = match room {
                Some(room) if !line.starts_with([' ', '\t', '|']) => textwrap::wrap(&line, room),
                _ => vec![line.as_str().into()],
            };
            for line in lines {
                writeln!(out, "  {style}{line}{style:#}")?;
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

/// What a tool was asked, in a few words: the value alone if there is just one.
fn asked(arguments: &str) -> String {
    let Ok(Value::Object(arguments)) = json::parse(arguments) else { return arguments.to_owned() };
    let plain = |value: &Value| value.as_str().map_or_else(|| json::stringify(value), str::to_owned);
    match arguments.values().next() {
        Some(value) if arguments.len() == 1 => plain(value),
        _ => {
            let named = arguments.iter().map(|(name, value)| format!("{name}={}", plain(value)));
            named.collect::<Vec<_>>().join(" ")
        }
    }
}

/// At most so many characters.
pub fn short(text: &str, most: usize) -> String {
    let text = harmless(text);
    match text.char_indices().nth(most) {
        Some((cut, _)) => format!("{}…", text[..cut].trim_end()),
        None => text,
    }
}
