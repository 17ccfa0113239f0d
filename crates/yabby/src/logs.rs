//! What goes on behind a command, for whoever wants to know: on standard error, warnings unless
//! `YABBY_LOG` asks for more (`info`, `debug`, `yabby_engine=trace`).

use tracing_subscriber::EnvFilter;

/// Tells about warnings from now on.
pub fn begin() {
    let wanted = EnvFilter::try_from_env("YABBY_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    let lines = tracing_subscriber::fmt().with_env_filter(wanted).with_writer(std::io::stderr);
    // A second attempt changes nothing.
    let _ = lines.without_time().with_target(false).try_init();
}
