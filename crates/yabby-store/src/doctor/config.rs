//! What is wrong with the configuration (`config.md` §3).

use yabby_domain::config::Config;

use super::examination::Round;
use super::finding::{Code, Finding};
use crate::config_file::Snapshot;

/// Examines the configuration; as far as it can be read it tells where the stores are.
pub(super) fn examine(round: &mut Round<'_>) -> Config {
    let snapshot = Snapshot::read(&round.doctor.config);
    // The one place where what is known about the configuration becomes findings.
    for issue in &snapshot.issues {
        let code = if issue.path.is_empty() { Code::ConfigUnreadable } else { Code::ConfigInvalid };
        let allowed =
            issue.allowed.as_ref().map(|allowed| format!(" Allowed: {allowed}.")).unwrap_or_default();
        round.found(Finding::new(code, &snapshot.path, format!("{issue}.{allowed}")));
    }
    snapshot.config
}
