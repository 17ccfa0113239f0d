//! Sweeping up what killed processes left behind in the state folder: their drafts, which may hold words, and their
//! locks.

use std::time::Duration;

use yabby_store::doctor::{Doctor, Sweep};
use yabby_store::paths::Place;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Sweeps now, and then once a day.
pub(super) async fn at_start_and_daily(place: Place) {
    let mut days = tokio::time::interval(DAY);
    loop {
        days.tick().await;
        let doctor = Doctor::new(&place);
        if let Ok(swept) = tokio::task::spawn_blocking(move || doctor.sweep()).await {
            tell(&swept);
        }
    }
}

fn tell(swept: &Sweep) {
    for done in &swept.removed {
        tracing::info!(path = %done.path.display(), kept = ?done.kept, "swept up after a process that is gone: {}", done.what);
    }
    for failed in &swept.failed {
        tracing::warn!(path = %failed.path.display(), "left by a process that is gone, and not swept up: {}", failed.what);
    }
}
