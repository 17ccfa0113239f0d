//! What is wrong with the configuration (`config.md` §3, §4).

use yabby_config::issue::Issue;

use super::examination::Round;
use super::finding::{Code, Finding};
use crate::config_file::Snapshot;
use crate::config_file::edit::ConfigFile;

/// Examines the configuration; as far as it can be read it tells where the stores are.
pub(super) fn examine(round: &mut Round<'_>) -> Snapshot {
    let place = &round.doctor.place;
    let snapshot = Snapshot::read(place);
    let can_be_repaired = !snapshot.is_valid() && ConfigFile::of(place).can_be_repaired();
    for issue in &snapshot.issues {
        found(round, &snapshot, issue, code(&snapshot, issue, can_be_repaired));
    }
    if !snapshot.is_valid() && !can_be_repaired {
        // Old keys hide what else is wrong.
        let left = ConfigFile::of(place).left_by_repair();
        for issue in left.iter().filter(|issue| !snapshot.issues.contains(issue)) {
            found(round, &snapshot, issue, Code::ConfigInvalid);
        }
    }
    for issue in &snapshot.warnings {
        found(round, &snapshot, issue, Code::ConfigWarning);
    }
    if snapshot.is_valid() {
        for key in snapshot.unknown_keys() {
            found(
                round,
                &snapshot,
                &Issue::new(key.as_str(), "nobody reads this key"),
                Code::ConfigUnusedKey,
            );
        }
    }
    if can_be_repaired {
        round.plan.config = Some(snapshot.path.clone());
    }
    snapshot
}

fn code(snapshot: &Snapshot, issue: &Issue, can_be_repaired: bool) -> Code {
    let is_unknown_key = issue.message.starts_with("Unrecognized key");
    match can_be_repaired {
        true if snapshot.legacy.contains(issue) => Code::ConfigLegacyKey,
        true if is_unknown_key => Code::ConfigUnknownKey,
        _ if issue.path.is_empty() && !is_unknown_key => Code::ConfigUnreadable,
        _ => Code::ConfigInvalid,
    }
}

fn found(round: &mut Round<'_>, snapshot: &Snapshot, issue: &Issue, code: Code) {
    let allowed = issue.allowed.as_ref().map(|allowed| format!(" Allowed: {allowed}.")).unwrap_or_default();
    let end = if issue.message.ends_with('.') { "" } else { "." };
    let spot = snapshot.line_of(issue);
    let path = spot.as_ref().map_or(&snapshot.path, |spot| &spot.file);
    let mut finding = Finding::new(code, path, format!("{issue}{end}{allowed}"));
    finding.lines = spot.iter().map(|spot| spot.line).collect();
    round.found(finding);
}
