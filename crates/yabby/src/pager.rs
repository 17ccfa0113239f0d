//! Long output in the reader's own pager, where somebody sits at a terminal.

use std::io::{self, IsTerminal as _, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

/// Where output goes: to a pager, or straight to standard output.
pub enum Output {
    Paged(anstream::AutoStream<Box<dyn Write>>, Child),
    Straight(Box<io::BufWriter<anstream::Stdout>>),
}

impl Output {
    /// A pager if standard output is a terminal and one can be started. `YABBY_PAGER` and `PAGER` name
    /// it; an empty one, or `cat`, means none.
    pub fn paged() -> Self {
        if !io::stdout().is_terminal() {
            return Self::straight();
        }
        let named = ["YABBY_PAGER", "PAGER"].iter().find_map(|name| std::env::var(name).ok());
        let named = named.unwrap_or_else(|| "less".to_owned());
        let mut words = named.split_whitespace();
        let Some(program) = words.next().filter(|program| *program != "cat") else {
            return Self::straight();
        };
        let mut pager = Command::new(program);
        // Colours as they are, short texts without a pager, and the screen left as it was.
        pager.args(words).env("LESS", std::env::var("LESS").unwrap_or_else(|_| "FRX".to_owned()));
        let Ok(mut child) = pager.stdin(Stdio::piped()).spawn() else { return Self::straight() };
        let colours = anstream::AutoStream::choice(&io::stdout());
        // Ctrl-C is meant for the pager, which must not be left behind without us.
        let _ = signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::default());
        match child.stdin.take() {
            Some(input) => Self::Paged(anstream::AutoStream::new(Box::new(input), colours), child),
            None => Self::straight(),
        }
    }

    pub fn straight() -> Self {
        Self::Straight(Box::new(io::BufWriter::new(anstream::stdout())))
    }

    /// Sends what is left and waits until the reader has seen enough.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Straight(mut out) => out.flush(),
            Self::Paged(input, mut child) => {
                drop(input);
                child.wait().map(|_| ())
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Paged(input, _) => input.write(bytes),
            Self::Straight(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Paged(input, _) => input.flush(),
            Self::Straight(out) => out.flush(),
        }
    }
}
