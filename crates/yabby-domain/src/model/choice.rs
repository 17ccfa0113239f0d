//! The model a session was switched to, as its record keeps it (`sessions.md` §15).

use crate::json;
use crate::model::select::Selection;
use crate::session::entry::{Patch, SessionEntry};
use crate::session::key::SessionKey;
use crate::text;

/// The credentials that a model was chosen with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChosenProfile<'a> {
    pub id: &'a str,
    /// `user`, or `auto` where the program chose it.
    pub source: &'a str,
}

/// The changes that a choice makes to a record; empty if it makes none.
///
/// Choosing the default clears the override. Unless a profile is chosen along with the model, the
/// session's profile is cleared, too: it belonged to the model before.
pub fn choice_patch(
    entry: &SessionEntry,
    selection: &Selection,
    profile: Option<ChosenProfile<'_>>,
    now: f64,
) -> Patch {
    let mut patch = Patch::default();
    let filled = |field: &str| entry.get(field).is_some_and(json::truthy);
    let (provider, model) = (selection.model.provider.as_str(), selection.model.model.as_str());
    for (field, wanted) in [("providerOverride", provider), ("modelOverride", model)] {
        if selection.is_default && filled(field) {
            patch.put(field, None);
        } else if !selection.is_default && entry.get(field).and_then(json::Value::as_str) != Some(wanted) {
            patch.put(field, Some(wanted.into()));
        }
    }
    let profile = profile.filter(|profile| !profile.id.is_empty());
    let wanted = [
        ("authProfileOverride", profile.map(|profile| profile.id)),
        ("authProfileOverrideSource", profile.map(|profile| profile.source)),
    ];
    for (field, wanted) in wanted {
        match wanted {
            Some(value) if entry.get(field).and_then(json::Value::as_str) != Some(value) => {
                patch.put(field, Some(value.into()))
            }
            None if filled(field) => patch.put(field, None),
            _ => {}
        }
    }
    if entry.get("authProfileOverrideCompactionCount").is_some() {
        patch.set_auth_profile_override_compaction_count(None);
    }
    if !patch.is_empty() {
        patch.set_updated_at(Some(now));
    }
    patch
}

/// A model that a session, or the one it hangs from, was switched to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredChoice {
    pub provider: Option<String>,
    pub model: String,
    pub inherited: bool,
}

/// The session's own choice, else its parent's.
pub fn stored_choice<'e>(
    entry: Option<&SessionEntry>,
    key: &str,
    parent: Option<&str>,
    lookup: impl Fn(&str) -> Option<&'e SessionEntry>,
) -> Option<StoredChoice> {
    if let Some(own) = entry.and_then(|entry| choice_of(entry, false)) {
        return Some(own);
    }
    let explicit = parent.and_then(text::non_blank).filter(|parent| *parent != key).map(str::to_owned);
    let derived = || SessionKey::new(key).thread_parent().map(|parent| parent.as_str().to_owned());
    let parent = explicit.or_else(derived).filter(|parent| parent != key)?;
    choice_of(lookup(&parent)?, true)
}

fn choice_of(entry: &SessionEntry, inherited: bool) -> Option<StoredChoice> {
    let model = entry.model_override().and_then(text::non_blank)?.to_owned();
    let provider = entry.provider_override().and_then(text::non_blank).map(str::to_owned);
    Some(StoredChoice { provider, model, inherited })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelRef;
    use serde_json::json;

    fn entry(value: json::Value) -> SessionEntry {
        SessionEntry::new(value.as_object().unwrap().clone())
    }

    #[test]
    fn choosing_the_default_clears_the_override() {
        let selection = Selection { model: ModelRef::new("a", "b"), is_default: true, alias: None };
        let mut switched = entry(json!({"updatedAt": 1, "providerOverride": "x", "modelOverride": "y"}));
        switched.apply(&choice_patch(&switched, &selection, None, 9.0));
        assert_eq!(switched, entry(json!({"updatedAt": 9})));
        assert!(choice_patch(&switched, &selection, None, 10.0).is_empty());
    }

    #[test]
    fn a_thread_inherits_its_parents_choice() {
        let parent = entry(json!({"modelOverride": "m"}));
        let find = |key: &str| (key == "k").then_some(&parent);
        assert!(stored_choice(None, "k:thread:1", None, find).is_some_and(|choice| choice.inherited));
        assert_eq!(stored_choice(None, "k", None, find), None);
    }
}
