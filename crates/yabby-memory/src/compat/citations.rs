//! Where a snippet is from, told with it (`memory.md` §10).

use yabby_domain::config::Config;
use yabby_domain::config::memory::Citations;
use yabby_domain::session::key::parse_agent_key;
use yabby_domain::text;

use super::search::Hit;

/// `memory.citations`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CitationMode {
    /// Only where the user is alone with the assistant.
    #[default]
    Auto,
    On,
    Off,
}

impl CitationMode {
    pub fn from_config(config: &Config) -> Self {
        match config.memory.citations() {
            Citations::Auto => Self::Auto,
            Citations::On => Self::On,
            Citations::Off => Self::Off,
        }
    }

    pub fn parse(configured: Option<&str>) -> Self {
        match configured {
            Some("on") => Self::On,
            Some("off") => Self::Off,
            _ => Self::Auto,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::On => "on",
            Self::Off => "off",
        }
    }

    /// Whether sources are told in the conversation with this key.
    pub fn is_on_in(self, session_key: Option<&str>) -> bool {
        match self {
            Self::On => true,
            Self::Off => false,
            Self::Auto => session_key.is_none_or(is_direct),
        }
    }
}

fn is_direct(session_key: &str) -> bool {
    let Some(key) = parse_agent_key(session_key) else { return true };
    !text::lower(&key.rest).split(':').any(|part| part == "channel" || part == "group")
}

/// `<path>#L<a>`, or `<path>#L<a>-L<b>`.
pub fn citation(hit: &Hit) -> String {
    let Hit { path, start_line, end_line, .. } = hit;
    if start_line == end_line {
        format!("{path}#L{start_line}")
    } else {
        format!("{path}#L{start_line}-L{end_line}")
    }
}

/// The snippet with its source below it.
pub fn cited_snippet(snippet: &str, citation: &str) -> String {
    format!("{}\n\nSource: {citation}", text::trim(snippet))
}
