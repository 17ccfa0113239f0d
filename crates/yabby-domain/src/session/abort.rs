//! A run that a user aborted: the session remembers it until the next turn tells the agent
//! (`sessions.md` §11, §17).

use crate::session::entry::Patch;

/// The record of a session whose run was aborted.
pub fn remembered(now: f64) -> Patch {
    patch(true, now)
}

/// The record once the agent was told, see [`with_session_hints`](crate::body::with_session_hints).
pub fn told(now: f64) -> Patch {
    patch(false, now)
}

fn patch(aborted: bool, now: f64) -> Patch {
    let mut patch = Patch::default();
    patch.set_aborted_last_run(Some(aborted));
    patch.set_updated_at(Some(now));
    patch
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::entry::SessionEntry;

    #[test]
    fn an_abort_is_remembered_until_it_is_told() {
        let mut entry = SessionEntry::default();
        entry.apply(&remembered(1.0));
        assert_eq!((entry.aborted_last_run(), entry.updated_at()), (Some(true), Some(1.0)));
        entry.apply(&told(2.0));
        assert_eq!((entry.aborted_last_run(), entry.updated_at()), (Some(false), Some(2.0)));
    }
}
