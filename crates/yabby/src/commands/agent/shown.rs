//! An answer on a terminal, as it comes.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::{Result, anyhow};
use yabby_domain::json::Value;
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::reply::tokens::{HEARTBEAT_TOKEN, SILENT_TOKEN};
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;
use yabby_engine::events::{EngineEvent, EventKind, Listener, Unheard};
use yabby_engine::{Engine, TurnHandle, TurnReport};

use super::approval;
use crate::terminal;

const DIM: Style = Style::new().dimmed();
const ERROR: Style = AnsiColor::Red.on_default();

/// Waits for the report of a turn, and shows what happens on the way. Where somebody can answer, questions
/// about commands are put to them.
pub(super) async fn until_done(
    ticket: TurnHandle,
    mut listener: Listener,
    live: bool,
    answers: Option<&Engine>,
) -> Result<TurnReport> {
    let mut screen = Screen::default();
    let mut done = ticket.done;
    loop {
        tokio::select! {
            biased;
            event = listener.recv() => match event {
                Ok(EngineEvent { turn, kind: EventKind::Suspended { why }, .. }) if turn.as_ref() == Some(&ticket.turn) => {
                    screen.pause()?;
                    anstream::eprintln!("{why}");
                    return Err(kept());
                }
                Ok(event) if live && event.turn.as_ref() == Some(&ticket.turn) => screen.show(&event.kind)?,
                Ok(EngineEvent { kind: EventKind::ApprovalRequested { id, question }, .. }) => {
                    if let Some(engine) = answers {
                        screen.pause()?;
                        approval::ask(engine, &id, &question).await?;
                    }
                }
                // Somebody who prints slowly misses deltas; the report has everything.
                Ok(_) | Err(Unheard::Missed(_) | Unheard::Nothing) => {}
                Err(Unheard::Over) => {
                    let report = done.await.map_err(|_| lost())?;
                    return Ok(report);
                }
            },
            report = &mut done => {
                let report = report.map_err(|_| lost())?;
                if live {
                    screen.end(&report.payloads)?;
                }
                return Ok(report);
            }
        }
    }
}

/// Shows what was said in a session while nobody waited for it.
pub(super) fn said_meanwhile(listener: &mut Listener, key: &SessionKey) -> Result<()> {
    loop {
        match listener.try_recv() {
            Ok(EngineEvent { session, kind: EventKind::Said(payload), .. }) if session == *key => {
                if let Some(text) = &payload.text {
                    writeln!(anstream::stdout(), "{}", harmless_lines(text))?;
                }
            }
            Ok(_) | Err(Unheard::Missed(_)) => {}
            Err(Unheard::Nothing | Unheard::Over) => return Ok(()),
        }
    }
}

fn kept() -> anyhow::Error {
    anyhow!(
        "the message is kept in the journal, and is answered by the next `yabby agent` when there is room"
    )
}

fn lost() -> anyhow::Error {
    anyhow!("the turn was interrupted; it is in the journal, and goes on with the next `yabby agent`")
}

/// Every line of a text, so that none of them steers the terminal.
pub(super) fn harmless_lines(text: &str) -> String {
    text.split('\n').map(terminal::harmless).collect::<Vec<_>>().join("\n")
}

#[derive(Default)]
pub(super) struct Screen {
    /// What was said and is not shown yet: it may still turn out to be for the program alone.
    held: String,
    /// Everything that was shown of the answer.
    shown: String,
    /// The cursor stands behind words.
    in_line: bool,
}

impl Screen {
    fn show(&mut self, kind: &EventKind) -> Result<()> {
        match kind {
            EventKind::Text(text) => self.say(text),
            EventKind::ToolStarted { tool, arguments, .. } => self.tool(tool, arguments),
            EventKind::CompactionStarted { .. } => self.summarising(),
            _ => Ok(()),
        }
    }

    pub(super) fn say(&mut self, text: &str) -> Result<()> {
        self.held.push_str(text);
        let ready = ready(&mut self.held);
        self.print(&ready)
    }

    pub(super) fn tool(&mut self, tool: &str, arguments: &Value) -> Result<()> {
        self.pause()?;
        let arguments = terminal::short(&yabby_domain::json::stringify(arguments), 60);
        note(&format!("▸ {} {arguments}", terminal::harmless(tool)))
    }

    pub(super) fn summarising(&mut self) -> Result<()> {
        self.break_line()?;
        note("… summarising the conversation so far")
    }

    /// Room for something else.
    pub(super) fn pause(&mut self) -> Result<()> {
        self.flush()?;
        self.break_line()
    }

    fn flush(&mut self) -> Result<()> {
        let rest = std::mem::take(&mut self.held);
        if is_token(&rest) { Ok(()) } else { self.print(&rest) }
    }

    fn print(&mut self, text: &str) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        let mut out = anstream::stdout().lock();
        write!(out, "{}", harmless_lines(text))?;
        out.flush()?;
        self.shown.push_str(text);
        self.in_line = !text.ends_with('\n');
        Ok(())
    }

    fn break_line(&mut self) -> Result<()> {
        if std::mem::take(&mut self.in_line) {
            writeln!(anstream::stdout())?;
        }
        Ok(())
    }

    /// Shows what the answer has and the stream had not.
    pub(super) fn end(&mut self, payloads: &[ReplyPayload]) -> Result<()> {
        self.held.clear();
        let shown = text::collapse_spaces(&self.shown);
        for payload in payloads {
            let Some(said) = payload.text.as_deref() else { continue };
            let known = text::collapse_spaces(said);
            if !known.is_empty() && shown.contains(text::trim(&known)) {
                continue;
            }
            // Part of it may stand there already.
            let rest = said.strip_prefix(self.shown.as_str()).filter(|_| !self.shown.is_empty());
            match rest {
                Some(rest) => self.print(rest)?,
                None => {
                    self.break_line()?;
                    let style = if payload.is_error == Some(true) { ERROR } else { Style::new() };
                    writeln!(anstream::stdout(), "{style}{}{style:#}", harmless_lines(said))?;
                }
            }
        }
        self.break_line()?;
        if payloads.is_empty() && self.shown.is_empty() {
            note("(no reply)")?;
        }
        Ok(())
    }
}

fn note(text: &str) -> Result<()> {
    Ok(writeln!(anstream::stdout(), "{DIM}{text}{DIM:#}")?)
}

fn is_token(text: &str) -> bool {
    [SILENT_TOKEN, HEARTBEAT_TOKEN].contains(&text::trim(text))
}

/// Takes what can be shown of what was said: not what may become a token, nor a tag for the program.
fn ready(held: &mut String) -> String {
    let start = text::trim_start(held);
    let may_be_token = [SILENT_TOKEN, HEARTBEAT_TOKEN]
        .iter()
        .any(|token| token.starts_with(start) || start.starts_with(token));
    if may_be_token {
        return String::new();
    }
    let mut out = String::new();
    loop {
        match held.find("[[") {
            None => {
                // The first half of a tag may be the last character.
                let end = held.len() - usize::from(held.ends_with('['));
                out.push_str(&held[..end]);
                held.drain(..end);
                return out;
            }
            Some(open) => {
                out.push_str(&held[..open]);
                held.drain(..open);
                let Some(close) = held.find("]]") else { return out };
                let tag = text::lower(&held[2..close]);
                let is_ours = ["reply_to", "audio_as_voice"].iter().any(|name| tag.trim().starts_with(name));
                if !is_ours {
                    out.push_str(&held[..close + 2]);
                }
                held.drain(..close + 2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_tags_are_not_shown() {
        let table: [(&[&str], &str, &str); 6] = [
            (&["He", "llo"], "Hello", ""),
            (&["NO_", "REPLY"], "", "NO_REPLY"),
            (&["NO", "PE"], "NOPE", ""),
            (&["a [[reply_to", "_current]] b"], "a  b", ""),
            (&["see [", "[1]] ok"], "see [[1]] ok", ""),
            (&["list["], "list", "["),
        ];
        for (pieces, shown, left) in table {
            let mut held = String::new();
            let mut out = String::new();
            for piece in pieces {
                held.push_str(piece);
                out.push_str(&ready(&mut held));
            }
            assert_eq!((out.as_str(), held.as_str()), (shown, left), "{pieces:?}");
        }
    }
}
