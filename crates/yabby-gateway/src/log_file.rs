//! Where the log is.

use std::path::PathBuf;

use yabby_domain::config::Config;
use yabby_domain::text;
use yabby_store::paths::Place;

/// The file that the configuration names, else one in the state folder.
pub fn log_file(config: &Config, place: &Place) -> PathBuf {
    match config.text(&["logging", "file"]).and_then(text::non_blank) {
        Some(file) => {
            let [home, current] = [&place.home, &place.current].map(|path| path.to_string_lossy());
            yabby_domain::session::path::user_path(file, &home, &current).into()
        }
        None => place.folder.path().join("logs").join("gateway.log"),
    }
}
