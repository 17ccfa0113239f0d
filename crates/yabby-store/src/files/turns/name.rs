//! What the file of a process is called: `gateway-4711-0a1b2c3d.jsonl`.

use std::fmt;

use uuid::Uuid;

/// What a process takes turns for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One command, which takes over from others of its kind.
    Agent,
    /// The gateway, which takes over from everybody.
    Gateway,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Agent, Self::Gateway];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Gateway => "gateway",
        }
    }

    /// Whether it goes on with what one of that kind left behind.
    pub(super) fn adopts(self, other: Self) -> bool {
        match self {
            Self::Agent => other == Self::Agent,
            Self::Gateway => true,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whose file it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalName {
    pub kind: Kind,
    pub pid: i64,
    /// Process ids are used again, these are not.
    tag: String,
}

const TAG: usize = 8;

impl JournalName {
    /// A name for this process that nobody had before.
    pub(super) fn fresh(kind: Kind) -> Self {
        let mut tag = Uuid::new_v4().simple().to_string();
        tag.truncate(TAG);
        Self { kind, pid: i64::from(std::process::id()), tag }
    }

    /// `None` if it is not the name of a journal.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(".jsonl")?.split('-');
        let (kind, pid, tag) = (parts.next()?, parts.next()?, parts.next()?);
        let kind = Kind::ALL.into_iter().find(|known| known.as_str() == kind)?;
        let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let is_whole = parts.next().is_none() && tag.len() == TAG && tag.chars().all(is_hex);
        let is_number = pid.bytes().all(|digit| digit.is_ascii_digit());
        let pid = pid.parse().ok().filter(|_| is_number && is_whole)?;
        Some(Self { kind, pid, tag: tag.to_owned() })
    }

    pub fn file_name(&self) -> String {
        format!("{}-{}-{}.jsonl", self.kind, self.pid, self.tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_whose_journal_it_is() {
        let fresh = JournalName::fresh(Kind::Gateway);
        assert_eq!(JournalName::parse(&fresh.file_name()), Some(fresh));
        let table = [
            ("agent-42-0a1b2c3d.jsonl", Some((Kind::Agent, 42))),
            ("gateway-7-ffffffff.jsonl", Some((Kind::Gateway, 7))),
            ("gateway-7-ffffffff.jsonl.42.5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11.tmp", None),
            ("gateway-7-ffffffff.jsonl.damaged-0a1b", None),
            ("cron-7-ffffffff.jsonl", None),
            ("agent--7-ffffffff.jsonl", None),
            ("agent-+7-ffffffff.jsonl", None),
            ("agent-7-fffffff.jsonl", None),
            ("agent-7-FFFFFFFF.jsonl", None),
            ("agent-7-ffffffff-1.jsonl", None),
            ("notes.jsonl", None),
        ];
        for (name, told) in table {
            assert_eq!(JournalName::parse(name).map(|name| (name.kind, name.pid)), told, "{name}");
        }
    }
}
