//! How a command says that it failed (`cli.md` §0): on standard error, with exit code 1.

use std::fmt;

use crate::terminal;

/// A failure whose text is printed as it stands. Any other error is printed behind `Error: `.
#[derive(Debug)]
pub struct Failure {
    text: String,
    code: u8,
}

impl Failure {
    pub fn bare(text: impl Into<String>) -> Self {
        Self { text: text.into(), code: 1 }
    }

    /// All there is to say was said: only the exit code is left.
    pub fn silent() -> Self {
        Self::bare("")
    }

    /// The same with another exit code, where the reference has one.
    pub fn with_code(self, code: u8) -> Self {
        Self { code, ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// What the person reads. It may name keys and files that somebody else chose the name of.
pub fn text(error: &anyhow::Error) -> String {
    let lines = whole_text(error);
    lines.lines().map(terminal::harmless).collect::<Vec<_>>().join("\n")
}

fn whole_text(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Failure>() {
        Some(failure) => failure.to_string(),
        None => format!("Error: {}", causes(error)),
    }
}

/// An error in the middle of a command that goes on.
pub fn told(error: &anyhow::Error) -> String {
    terminal::harmless(&causes(error))
}

/// An error and its causes, each told once: most errors tell their cause themselves.
fn causes(error: &anyhow::Error) -> String {
    let mut all = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if all.is_empty() {
            all = cause;
        } else if !all.contains(&cause) {
            all.push_str(": ");
            all.push_str(&cause);
        }
    }
    all
}

/// The exit code.
pub fn code(error: &anyhow::Error) -> u8 {
    error.downcast_ref::<Failure>().map_or(1, |failure| failure.code)
}

/// Whether an error is only that nobody reads our output any more.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn a_cause_is_told_once() {
        let cause = || std::io::Error::other("no room");
        let table = [
            (anyhow::Error::new(cause()), "Error: no room"),
            (Err::<(), _>(cause()).context("cannot write x").unwrap_err(), "Error: cannot write x: no room"),
            (
                Err::<(), _>(cause()).context("cannot write x: no room").unwrap_err(),
                "Error: cannot write x: no room",
            ),
            (Failure::bare("one\nt\u{1b}wo").into(), "one\nt\u{fffd}wo"),
        ];
        for (error, told) in table {
            assert_eq!(text(&error), told);
        }
    }
}
