//! How a command says that it failed (`cli.md` §0): on standard error, with exit code 1.

use std::fmt;

/// A failure whose text is printed as it stands. Any other error is printed behind `Error: `.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub fn bare(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// What the command printed says it all; only the exit code is missing.
    pub fn told() -> Self {
        Self(String::new())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// What the person reads.
pub fn text(error: &anyhow::Error) -> String {
    match error.downcast_ref::<Failure>() {
        Some(failure) => failure.to_string(),
        None => format!("Error: {error:#}"),
    }
}

/// Whether an error is only that nobody reads our output any more.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
