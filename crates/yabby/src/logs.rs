//! What goes on behind a command, for whoever wants to know: on standard error, as much as `YABBY_LOG`
//! asks for (`warn`, `info`, `debug`, `yabby_engine=trace`). Commands say themselves what concerns their
//! callers, so that without it nothing but errors is told.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

/// Begins to tell.
pub fn begin() {
    let wanted = EnvFilter::try_from_env("YABBY_LOG").unwrap_or_else(|_| EnvFilter::new("error"));
    let lines = tracing_subscriber::fmt().with_env_filter(wanted).with_writer(std::io::stderr);
    let lines = lines.with_ansi(std::io::stderr().is_terminal());
    // A second attempt changes nothing.
    let _ = lines.without_time().with_target(false).try_init();
}
