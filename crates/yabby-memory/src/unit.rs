//! The smallest thing that is found: something that somebody said, or a part of a note.

/// Something that can be found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unit {
    /// The entry of the transcript that says it.
    pub entry: Option<String>,
    /// Lines of the file, from 1.
    pub first_line: u32,
    pub last_line: u32,
    pub role: Role,
    /// Who said it, as far as that is known.
    pub speaker: String,
    /// Milliseconds since 1970.
    pub at: Option<i64>,
    /// The headings above it.
    pub heading: String,
    pub text: String,
    /// The agent goes on after it: it has called tools.
    pub is_unfinished: bool,
    /// The built-in helper said it, who has no words but those of others.
    pub is_echo: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
    #[default]
    Note,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Note => "note",
        }
    }

    pub(crate) fn of_str(text: &str) -> Self {
        match text {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            _ => Self::Note,
        }
    }
}
