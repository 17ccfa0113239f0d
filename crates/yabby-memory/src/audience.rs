//! Who may find what was said (promise 4: people stay apart).
//!
//! A conversation belongs to its audience: the owner, one other person, or a room. What nobody can place is
//! the owner's.

use yabby_domain::access::session_owner::person_in;
use yabby_domain::channel::ChatType;
use yabby_domain::config::Config;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{self, SessionKey};
use yabby_domain::text;

/// How far a task is followed to whoever it was given for.
pub(crate) const MOST_SPAWNERS: usize = 8;

/// Whose something is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Audience {
    Owner,
    /// One person, by the name or address that keys know them under.
    Person(String),
    /// Everybody in a group or channel, by its key.
    Room(String),
}

impl Audience {
    /// As it stands in the index.
    pub fn text(&self) -> String {
        match self {
            Self::Owner => "owner".to_owned(),
            Self::Person(name) => format!("person:{name}"),
            Self::Room(key) => format!("room:{key}"),
        }
    }

    /// What [`Self::text`] wrote; anything else is the owner's.
    pub fn of_text(text: &str) -> Self {
        match text.split_once(':') {
            Some(("person", name)) => Self::Person(name.to_owned()),
            Some(("room", key)) => Self::Room(key.to_owned()),
            _ => Self::Owner,
        }
    }

    /// Whose a conversation is. A task of the agent's own belongs to whoever it was given for; `record_of`
    /// finds the record of another key.
    pub fn of(
        key: &SessionKey,
        record: Option<&SessionEntry>,
        record_of: &dyn Fn(&SessionKey) -> Option<SessionEntry>,
    ) -> Self {
        let (mut key, mut record) = (key.clone(), record.cloned());
        // Tasks may have tasks, but not forever.
        for _ in 0..MOST_SPAWNERS {
            let Some(spawner) = record.as_ref().and_then(|record| record.spawned_by()).map(SessionKey::new)
            else {
                break;
            };
            record = record_of(&spawner);
            key = spawner;
        }
        let chat_type = record.as_ref().and_then(|record| record.chat_type()).map(ChatType::as_str);
        match key.audience(chat_type) {
            key::Audience::Group => Self::Room(room(&key)),
            key::Audience::Person => person_in(&key).map_or(Self::Owner, Self::Person),
        }
    }
}

/// A thread is a part of its room.
fn room(key: &SessionKey) -> String {
    key.thread_parent().unwrap_or_else(|| key.clone()).as_str().to_lowercase()
}

/// Who looks, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Viewer {
    /// The conversation that the answer is shown in.
    pub session_key: Option<SessionKey>,
    pub audience: Audience,
    /// The owner, with nobody listening.
    pub is_owner_alone: bool,
    /// What the owner lets others see, and sees of others.
    pub sharing: Sharing,
    /// Everything, whoever it was said to: only ever counted, and never shown.
    pub counts_everything: bool,
}

/// What the configuration shares beyond the rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// The owner's notes are found in this conversation, too.
    pub notes: bool,
    /// The owner finds what was said in groups.
    pub groups_with_owner: bool,
}

impl Sharing {
    /// `memory.share`: `notes` names the conversations that may find the owner's notes, `groups` lets the
    /// owner find what was said in groups.
    fn of(config: &Config, key: &SessionKey) -> Self {
        let share = &config.extras.memory.share;
        let is_meant = |pattern: &String| text::matches_star(pattern, key.as_str());
        Self { notes: share.notes.iter().flatten().any(is_meant), groups_with_owner: share.groups() }
    }
}

impl Viewer {
    /// Whoever reads along in a session; the configuration may share more with them.
    pub fn new(key: SessionKey, audience: Audience, is_owner_alone: bool, config: &Config) -> Self {
        let sharing = Sharing::of(config, &key);
        // In a room nobody is alone.
        let is_owner_alone = is_owner_alone && !matches!(audience, Audience::Room(_));
        Self { session_key: Some(key), audience, is_owner_alone, sharing, counts_everything: false }
    }

    /// The owner at their own machine.
    pub fn owner() -> Self {
        Self {
            session_key: None,
            audience: Audience::Owner,
            is_owner_alone: true,
            sharing: Sharing::default(),
            counts_everything: false,
        }
    }

    /// The owner at their own machine, with what the configuration lets them see of others.
    pub fn owner_with(config: &Config) -> Self {
        let sharing =
            Sharing { groups_with_owner: config.extras.memory.share.groups(), ..Sharing::default() };
        Self { sharing, ..Self::owner() }
    }

    /// The same, where a session that they name is one that they may look into.
    pub fn owner_in(session_key: Option<SessionKey>, config: &Config) -> Self {
        Self { session_key, ..Self::owner_with(config) }
    }

    /// Whether the owner's notes are found here.
    pub fn sees_notes(&self) -> bool {
        self.is_owner_alone || self.sharing.notes
    }

    /// A condition on `yabby_sources` and its parameters: what they may see, and nothing else.
    pub(crate) fn condition(&self) -> (String, Vec<String>) {
        if self.counts_everything {
            return ("1".to_owned(), Vec::new());
        }
        let mut any = Vec::new();
        let mut parameters = Vec::new();
        if let Some(key) = &self.session_key {
            any.push("session_key = ?");
            parameters.push(key.as_str().to_owned());
        }
        match &self.audience {
            Audience::Owner if self.is_owner_alone => any.push("audience = 'owner'"),
            Audience::Owner => {}
            Audience::Person(_) | Audience::Room(_) => {
                any.push("audience = ?");
                parameters.push(self.audience.text());
            }
        }
        // An owner may talk to the agent under an address, too.
        if self.is_owner_alone && self.audience != Audience::Owner {
            any.push("audience = 'owner'");
        }
        if self.is_owner_alone && self.sharing.groups_with_owner {
            any.push("audience LIKE 'room:%'");
        }
        if self.sharing.notes {
            any.push("kind = 'memory'");
        }
        match any.is_empty() {
            true => ("0".to_owned(), parameters),
            false => (format!("({})", any.join(" OR ")), parameters),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(key: &str, record: Option<serde_json::Value>) -> Audience {
        let record = record.and_then(|record| Some(SessionEntry::new(record.as_object()?.clone())));
        let group = |_: &SessionKey| None;
        Audience::of(&SessionKey::new(key), record.as_ref(), &group)
    }

    #[test]
    fn a_key_says_whose_a_conversation_is() {
        let (person, room) =
            (|name: &str| Audience::Person(name.to_owned()), |key: &str| Audience::Room(key.to_owned()));
        let table = [
            ("agent:main:main", Audience::Owner),
            ("agent:main:dm:anna", person("anna")),
            ("agent:main:telegram:dm:42", person("telegram:42")),
            ("agent:main:telegram:work:dm:42", person("telegram:42")),
            ("agent:main:telegram:dm:42:thread:7", person("telegram:42")),
            ("agent:main:telegram:group:-100", room("agent:main:telegram:group:-100")),
            ("agent:main:telegram:group:-100:topic:5", room("agent:main:telegram:group:-100")),
            ("agent:main:discord-chan-5", room("agent:main:discord-chan-5")),
            ("global", room("global")),
            ("agent:main:notes", Audience::Owner),
        ];
        for (key, expected) in table {
            assert_eq!(of(key, None), expected, "{key}");
        }
    }

    #[test]
    fn a_task_belongs_to_whoever_it_was_given_for() {
        let task = json!({"spawnedBy": "agent:main:telegram:group:-100"});
        assert_eq!(
            of("agent:main:subagent:1", Some(task)),
            Audience::Room("agent:main:telegram:group:-100".to_owned())
        );
        assert_eq!(of("agent:main:subagent:1", None), Audience::Owner);
        let grouped = json!({"chatType": "group"});
        assert_eq!(of("agent:main:main", Some(grouped)), Audience::Room("agent:main:main".to_owned()));
    }
}
