//! The sessions that programs keep themselves, as the record remembers them (`sessions.md` §7, §14).

use crate::json::Value;
use crate::model::normalize_provider;
use crate::session::entry::{Patch, SessionEntry};
use crate::text;

/// Has a field of its own, which is older than the map.
const CLAUDE: &str = "claude-cli";

/// The session that a provider's program is to go on with.
pub fn stored<'e>(entry: &'e SessionEntry, provider: &str) -> Option<&'e str> {
    let provider = normalize_provider(provider);
    let listed = entry.cli_session_ids().and_then(|ids| ids.get(&provider)?.as_str());
    let older = || entry.claude_cli_session_id().filter(|_| provider == CLAUDE);
    listed.and_then(text::non_blank).or_else(|| text::non_blank(older()?))
}

/// Remembers the session of a provider's program.
pub fn remember(patch: &mut Patch, entry: &SessionEntry, provider: &str, id: &str) {
    let Some(id) = text::non_blank(id) else { return };
    let provider = normalize_provider(provider);
    let mut ids = entry.cli_session_ids().cloned().unwrap_or_default();
    ids.insert(provider.clone(), Value::from(id));
    patch.set_cli_session_ids(Some(ids));
    if provider == CLAUDE {
        patch.set_claude_cli_session_id(Some(id));
    }
}

/// Forgets them all: what the programs remember is no longer what was said.
pub fn forget(patch: &mut Patch) {
    patch.set_cli_session_ids(None);
    patch.set_claude_cli_session_id(None);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn the_map_counts_before_the_older_field() {
        let table = [
            (r#"{"cliSessionIds":{"claude-cli":" a "},"claudeCliSessionId":"b"}"#, "Claude-CLI", Some("a")),
            (r#"{"cliSessionIds":{"claude-cli":" "},"claudeCliSessionId":"b"}"#, "claude-cli", Some("b")),
            (r#"{"claudeCliSessionId":"b"}"#, "claude-cli", Some("b")),
            (r#"{"claudeCliSessionId":"b"}"#, "other-cli", None),
            (r#"{"cliSessionIds":{"other-cli":7}}"#, "other-cli", None),
        ];
        for (text, provider, expected) in table {
            let entry = SessionEntry::new(json::parse(text).unwrap().as_object().unwrap().clone());
            assert_eq!(stored(&entry, provider), expected, "{text} {provider}");
        }
    }

    #[test]
    fn what_is_forgotten_is_in_neither_field() {
        let mut entry = SessionEntry::default();
        let mut patch = Patch::default();
        remember(&mut patch, &entry, "claude-cli", " a ");
        entry.apply(&patch);
        assert_eq!(stored(&entry, "claude-cli"), Some("a"));
        let mut patch = Patch::default();
        forget(&mut patch);
        entry.apply(&patch);
        assert_eq!(entry, SessionEntry::default());
    }
}
