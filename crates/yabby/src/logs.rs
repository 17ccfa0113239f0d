//! What goes on behind a command, for whoever wants to know: on standard error, as much as `YABBY_LOG`
//! asks for (`warn`, `info`, `debug`, `yabby_engine=trace`). Commands say themselves what concerns their
//! callers, so that without it nothing but errors is told. Secrets are never told.

pub mod gateway;

use std::io::{self, IsTerminal as _, Stderr, Write};
use std::sync::{PoisonError, RwLock};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use yabby_domain::secrets::Secrets;

/// What is hidden. Lines come from every thread; the lock is held while one of them is looked through.
static SECRETS: RwLock<Option<Secrets>> = RwLock::new(None);

/// Begins to tell.
pub fn begin() {
    let wanted = EnvFilter::try_from_env("YABBY_LOG").unwrap_or_else(|_| EnvFilter::new("error"));
    let lines = tracing_subscriber::fmt().with_env_filter(wanted).with_writer(Discreet(io::stderr));
    let lines = lines.with_ansi(io::stderr().is_terminal());
    // A second attempt changes nothing.
    let _ = lines.without_time().with_target(false).try_init();
}

/// Hides these from now on, besides whatever looks like a secret.
pub fn hide(secrets: Secrets) {
    *SECRETS.write().unwrap_or_else(PoisonError::into_inner) = Some(secrets);
}

/// A text without its secrets.
fn redacted(text: &str) -> String {
    let secrets = SECRETS.read().unwrap_or_else(PoisonError::into_inner);
    match secrets.as_ref() {
        Some(secrets) => secrets.redact(text).into_owned(),
        None => Secrets::default().redact(text).into_owned(),
    }
}

/// Writes lines without their secrets.
struct Discreet<F>(F);

impl<'w, F: Fn() -> W + 'w, W: Write> MakeWriter<'w> for Discreet<F> {
    type Writer = Line<W>;

    fn make_writer(&'w self) -> Self::Writer {
        Line { text: Vec::new(), out: (self.0)() }
    }
}

/// A line, which is written when it is whole: a secret may come in pieces.
struct Line<W: Write = Stderr> {
    text: Vec<u8>,
    out: W,
}

impl<W: Write> Write for Line<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<W: Write> Drop for Line<W> {
    fn drop(&mut self) {
        let shown = redacted(&String::from_utf8_lossy(&self.text));
        // Nobody is left to tell that nobody can be told.
        let _ = self.out.write_all(shown.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_secret_reaches_a_log() {
        let page = Page::default();
        let out = page.clone();
        let lines = tracing_subscriber::fmt()
            .with_writer(Discreet(move || out.clone()))
            .without_time()
            .with_ansi(false);
        hide(Secrets::new(["known-secret-77".to_owned()]));
        tracing::subscriber::with_default(lines.finish(), || {
            tracing::error!(key = "known-secret-77", "asked with sk-abcdefghijklmnopqrstuv");
        });
        let told = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
        assert!(told.contains("asked with *** key=\"***\""), "{told}");
    }
}
