//! Finding the configuration entry of a channel, its parent's, or the wildcard's (`sessions.md` §17).

use crate::json::{self, Object, Value};

/// Which entry was found, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct EntryMatch<'e> {
    pub found: Option<FoundEntry<'e>>,
    /// The wildcard entry, whether or not it was the one found.
    pub wildcard: Option<(&'e str, &'e Value)>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct FoundEntry<'e> {
    pub key: &'e str,
    pub entry: &'e Value,
    pub by: EntryMatchedBy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryMatchedBy {
    Direct,
    Parent,
    Wildcard,
}

/// Looks for the own keys, then the parent's, then the wildcard. Each is tried exactly first, then
/// as `normalize` spells it.
pub fn find_entry<'e>(
    entries: &'e Object,
    keys: &[String],
    parent_keys: &[String],
    wildcard_key: Option<&str>,
    normalize: Option<&dyn Fn(&str) -> String>,
) -> EntryMatch<'e> {
    let wildcard =
        wildcard_key.and_then(|key| entries.get_key_value(key)).map(|(key, entry)| (key.as_str(), entry));
    let own = lookup(entries, keys, normalize, EntryMatchedBy::Direct);
    let parent = || lookup(entries, parent_keys, normalize, EntryMatchedBy::Parent);
    let any = || wildcard.map(|(key, entry)| FoundEntry { key, entry, by: EntryMatchedBy::Wildcard });
    EntryMatch { found: own.or_else(parent).or_else(any), wildcard }
}

fn lookup<'e>(
    entries: &'e Object,
    keys: &[String],
    normalize: Option<&dyn Fn(&str) -> String>,
    by: EntryMatchedBy,
) -> Option<FoundEntry<'e>> {
    let exact = keys.iter().find_map(|key| entries.get_key_value(key));
    let respelt = || {
        let normalize = normalize?;
        let wanted: Vec<String> =
            keys.iter().map(|key| normalize(key)).filter(|key| !key.is_empty()).collect();
        json::in_js_order(entries).into_iter().find(|(key, _)| wanted.contains(&normalize(key)))
    };
    exact.or_else(respelt).map(|(key, entry)| FoundEntry { key, entry, by })
}

impl EntryMatchedBy {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Parent => "parent",
            Self::Wildcard => "wildcard",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_nearest_entry_wins() {
        let entries = json!({"My-Chan": 1, "p": 2, "*": 3});
        let entries = entries.as_object().unwrap();
        let lower = |key: &str| key.to_lowercase();
        let find = |key: &str, parent: &str| {
            let found = find_entry(entries, &[key.to_owned()], &[parent.to_owned()], Some("*"), Some(&lower));
            found.found.map(|found| (found.key, found.by))
        };
        assert_eq!(find("my-chan", "p"), Some(("My-Chan", EntryMatchedBy::Direct)));
        assert_eq!(find("x", "P"), Some(("p", EntryMatchedBy::Parent)));
        assert_eq!(find("x", "y"), Some(("*", EntryMatchedBy::Wildcard)));
    }
}
