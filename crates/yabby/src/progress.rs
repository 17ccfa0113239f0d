//! How far something long has come: a bar in one line of the terminal, and nothing in a pipe.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::terminal;

/// No eye follows more.
const PAUSE: Duration = Duration::from_millis(50);

const WIDTH: usize = 24;

pub struct Bar {
    what: String,
    is_shown: bool,
    /// When it was drawn last; whoever works on it may do so from several threads.
    drawn: Mutex<Option<Instant>>,
}

impl Bar {
    pub fn new(what: &str) -> Self {
        let stderr = std::io::stderr();
        // Where nothing may steer the terminal, a line cannot be drawn again.
        let may_steer = anstream::AutoStream::choice(&stderr) != anstream::ColorChoice::Never;
        let is_shown = stderr.is_terminal() && may_steer;
        Self { what: terminal::harmless(what), is_shown, drawn: Mutex::default() }
    }

    pub fn show(&self, done: u64, all: u64) {
        if !self.is_shown || all == 0 {
            return;
        }
        let mut drawn = self.drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if drawn.is_some_and(|at| at.elapsed() < PAUSE) && done < all {
            return;
        }
        *drawn = Some(Instant::now());
        let line = line(&self.what, done, all);
        anstream::eprint!("\r\u{1b}[K{}", terminal::short(&line, terminal::width().unwrap_or(80)));
        // A line that is not seen is only not seen.
        let _ = std::io::stderr().flush();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.drawn.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            anstream::eprint!("\r\u{1b}[K");
        }
    }
}

fn line(what: &str, done: u64, all: u64) -> String {
    let part = usize::try_from(done.min(all) * WIDTH as u64 / all).unwrap_or(WIDTH);
    let percent = done.min(all) * 100 / all;
    format!("{what} [{}{}] {percent:>3} %  {done}/{all}", "█".repeat(part), "░".repeat(WIDTH - part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_up() {
        assert_eq!(line("x", 0, 10), format!("x [{}]   0 %  0/10", "░".repeat(24)));
        assert_eq!(line("x", 5, 10), format!("x [{}{}]  50 %  5/10", "█".repeat(12), "░".repeat(12)));
        assert_eq!(line("x", 12, 10), format!("x [{}] 100 %  12/10", "█".repeat(24)));
    }
}
