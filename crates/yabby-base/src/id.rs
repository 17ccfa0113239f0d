//! Agent ids, account ids and the main key (`sessions.md` §2).

use std::fmt;

use crate::text;

const DEFAULT_AGENT: &str = "main";
const DEFAULT_ACCOUNT: &str = "default";
const DEFAULT_MAIN_KEY: &str = "main";
const MAX_LENGTH: usize = 64;

/// The id of an agent: lower-case letters, digits, `_` and `-`, at most 64 of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(String);

/// The id of a channel account, in the same alphabet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountId(String);

/// The last part of the key of an agent's main session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MainKey(String);

impl AgentId {
    /// Any text becomes an id; nothing usable becomes `main`.
    pub fn normalize(raw: &str) -> Self {
        Self(normalize(raw, DEFAULT_AGENT))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for AgentId {
    fn default() -> Self {
        Self(DEFAULT_AGENT.to_owned())
    }
}

impl AccountId {
    /// Any text becomes an id; nothing usable becomes `default`.
    pub fn normalize(raw: &str) -> Self {
        Self(normalize(raw, DEFAULT_ACCOUNT))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for AccountId {
    fn default() -> Self {
        Self(DEFAULT_ACCOUNT.to_owned())
    }
}

impl MainKey {
    /// Trimmed and lower-cased, otherwise as the user wrote it; blank becomes `main`.
    pub fn normalize(raw: &str) -> Self {
        Self(text::lower_non_blank(raw).unwrap_or_else(|| DEFAULT_MAIN_KEY.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for MainKey {
    fn default() -> Self {
        Self(DEFAULT_MAIN_KEY.to_owned())
    }
}

fn normalize(raw: &str, fallback: &str) -> String {
    let Some(id) = text::lower_non_blank(raw) else {
        return fallback.to_owned();
    };
    // The Kelvin sign lowers to `k`, but it was no letter of an id before.
    if is_valid(&id) && text::trim(raw).is_ascii() {
        return id;
    }
    let mut dashed = String::with_capacity(id.len());
    let mut replaced = false;
    for c in id.chars() {
        if allowed(c) {
            dashed.push(c);
            replaced = false;
        } else if !replaced {
            dashed.push('-');
            replaced = true;
        }
    }
    // The cut comes last, so a dash may end up at the end again; the reference keeps it.
    let cut = text::head(dashed.trim_matches('-'), MAX_LENGTH).into_owned();
    if cut.is_empty() { fallback.to_owned() } else { cut }
}

fn allowed(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-')
}

fn is_valid(id: &str) -> bool {
    let first_is_fine = id.bytes().next().is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    first_is_fine && id.len() <= MAX_LENGTH && id.chars().all(allowed)
}

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for MainKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_becomes_an_id() {
        let long = "x".repeat(70);
        let table = [
            ("Ops", "ops"),
            ("  ", "main"),
            ("Ops Team!!", "ops-team"),
            ("-a-", "a"),
            ("_a", "_a"),
            ("ünï", "n"),
            ("***", "main"),
            (long.as_str(), &long[..64]),
        ];
        for (raw, id) in table {
            assert_eq!(AgentId::normalize(raw).as_str(), id, "{raw}");
        }
        assert_eq!(AccountId::normalize(" ").as_str(), "default");
        assert_eq!(MainKey::normalize(" My Home ").as_str(), "my home");
    }
}
