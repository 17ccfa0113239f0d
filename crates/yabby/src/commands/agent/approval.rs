//! Asking whoever sits at the terminal whether a command may run.

use std::io::{Stdin, Write as _, stdin};

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcsetattr,
};
use yabby_domain::seam::office::{Decision, Question};
use yabby_engine::Engine;

use super::shown::harmless_lines;

const ASKED: Style = AnsiColor::Yellow.on_default();

/// How often somebody who does not answer is asked.
const TRIES: usize = 3;

/// How long it takes at most until it is noticed that a question is closed.
const LOOK_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

const CTRL_C: u8 = 3;

/// Puts the question, waits for the answer as long as the question is open, and hands it on.
pub(super) async fn ask(engine: &Engine, id: &str, question: &Question) -> Result<()> {
    let (asking, asked) = (engine.clone(), id.to_owned());
    let is_open = move || asking.open_questions().iter().any(|open| open.id == asked);
    let decision = put(&question.folder, &question.command, is_open).await?;
    if decision.is_some_and(|decision| !engine.decide(id, decision)) {
        too_late()?;
    }
    Ok(())
}

/// Puts the question, and waits for the answer as long as it is open; `None` if nobody answered in time.
pub(super) async fn put(
    folder: &str,
    command: &str,
    is_open: impl Fn() -> bool + Send + 'static,
) -> Result<Option<Decision>> {
    let mut out = anstream::stdout();
    writeln!(out, "{ASKED}May this run in {}?{ASKED:#}", harmless_lines(folder))?;
    for line in harmless_lines(command).lines() {
        writeln!(out, "  {line}")?;
    }
    let decision = tokio::task::spawn_blocking(move || answered(&is_open)).await??;
    if decision.is_none() {
        too_late()?;
    }
    Ok(decision)
}

fn too_late() -> Result<()> {
    Ok(writeln!(anstream::stdout(), "It was too late: the question is closed.")?)
}

/// What is answered, unless the question is closed before. Ctrl-C and the end of the input mean no.
fn answered(is_open: &dyn Fn() -> bool) -> Result<Option<Decision>> {
    let mut keyboard = Keyboard::open()?;
    let mut out = anstream::stdout();
    for _ in 0..TRIES {
        write!(out, "[o]nce, [a]lways or [n]o? ")?;
        out.flush()?;
        let Some(line) = keyboard.line(is_open)? else {
            writeln!(out)?;
            return Ok(None);
        };
        if line.is_empty() || line.last() == Some(&CTRL_C) {
            writeln!(out)?;
            return Ok(Some(Decision::Deny));
        }
        match String::from_utf8_lossy(&line).trim().to_lowercase().as_str() {
            "o" | "once" | "y" | "yes" => return Ok(Some(Decision::Once)),
            "a" | "always" => return Ok(Some(Decision::Always)),
            "n" | "no" | "d" | "deny" => return Ok(Some(Decision::Deny)),
            _ => {}
        }
    }
    Ok(Some(Decision::Deny))
}

/// The terminal, on which Ctrl-C ends a line: it answers this question, and does not stop the run. Everything
/// is as it was when this is dropped.
struct Keyboard {
    stdin: Stdin,
    before: Termios,
}

impl Keyboard {
    fn open() -> Result<Self> {
        let stdin = stdin();
        let before = tcgetattr(&stdin)?;
        let mut during = before.clone();
        during.local_modes.remove(LocalModes::ISIG);
        during.special_codes[SpecialCodeIndex::VEOL] = CTRL_C;
        tcsetattr(&stdin, OptionalActions::Now, &during)?;
        Ok(Self { stdin, before })
    }

    /// The next line with what ended it; nothing at the end of the input, and `None` once it is of no use.
    fn line(&mut self, is_open: &dyn Fn() -> bool) -> Result<Option<Vec<u8>>> {
        loop {
            match poll(&mut [PollFd::new(&self.stdin, PollFlags::IN)], Some(&LOOK_AGAIN)) {
                Ok(0) | Err(Errno::INTR) if is_open() => {}
                Ok(0) | Err(Errno::INTR) => {
                    // Half an answer is none to whatever is asked next.
                    tcflush(&self.stdin, QueueSelector::IFlush)?;
                    return Ok(None);
                }
                Ok(_) => {
                    // Not through the buffer of the standard library: what comes after the line is not ours.
                    let mut line = vec![0; 4096];
                    let length = match rustix::io::read(&self.stdin, &mut line[..]) {
                        Err(Errno::INTR) => continue,
                        length => length?,
                    };
                    line.truncate(length);
                    return Ok(Some(line));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing.
        let _ = tcsetattr(&self.stdin, OptionalActions::Now, &self.before);
    }
}
