//! The levels that directives name: thinking, verbosity, elevation, reasoning (`sessions.md` §15).

use super::{collapsed, find_directive, skip_spaces};
use crate::model::CatalogModel;
use crate::text;

/// How much the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkLevel {
    Off,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
}

/// How much of a run is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerboseLevel {
    Off,
    On,
    Full,
}

/// Whether commands run outside the sandbox, and who is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElevatedLevel {
    Off,
    On,
    Ask,
    Full,
}

/// Whether the model's reasoning is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReasoningLevel {
    Off,
    On,
    Stream,
}

/// What is told about usage under each reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageDisplay {
    Off,
    Tokens,
    Full,
}

/// A level that can be written in a directive.
pub trait Level: Sized + Copy {
    /// The names of the directive, without the slash.
    const NAMES: &'static [&'static str];

    /// The level a word names, in any case.
    fn parse(word: &str) -> Option<Self>;

    fn as_str(self) -> &'static str;
}

impl Level for ThinkLevel {
    const NAMES: &'static [&'static str] = &["thinking", "think", "t"];

    fn parse(word: &str) -> Option<Self> {
        Some(match text::lower(word).as_str() {
            "off" => Self::Off,
            "min" | "minimal" | "think" => Self::Minimal,
            "on" | "enable" | "enabled" | "low" | "thinkhard" | "think-hard" | "think_hard" => Self::Low,
            "mid" | "med" | "medium" | "thinkharder" | "think-harder" | "harder" => Self::Medium,
            "high" | "ultra" | "ultrathink" | "thinkhardest" | "highest" | "max" => Self::High,
            "xhigh" | "x-high" | "x_high" => Self::Xhigh,
            _ => return None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }
}

impl Level for VerboseLevel {
    const NAMES: &'static [&'static str] = &["verbose", "v"];

    fn parse(word: &str) -> Option<Self> {
        Some(match text::lower(word).as_str() {
            "off" | "false" | "no" | "0" => Self::Off,
            "full" | "all" | "everything" => Self::Full,
            "on" | "minimal" | "true" | "yes" | "1" => Self::On,
            _ => return None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Full => "full",
        }
    }
}

impl Level for ElevatedLevel {
    const NAMES: &'static [&'static str] = &["elevated", "elev"];

    fn parse(word: &str) -> Option<Self> {
        Some(match text::lower(word).as_str() {
            "off" | "false" | "no" | "0" => Self::Off,
            "full" | "auto" | "auto-approve" | "autoapprove" => Self::Full,
            "ask" | "prompt" | "approval" | "approve" => Self::Ask,
            "on" | "true" | "yes" | "1" => Self::On,
            _ => return None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Ask => "ask",
            Self::Full => "full",
        }
    }
}

impl Level for ReasoningLevel {
    const NAMES: &'static [&'static str] = &["reasoning", "reason"];

    fn parse(word: &str) -> Option<Self> {
        Some(match text::lower(word).as_str() {
            "off" | "false" | "no" | "0" | "hide" | "hidden" | "disable" | "disabled" => Self::Off,
            "on" | "true" | "yes" | "1" | "show" | "visible" | "enable" | "enabled" => Self::On,
            "stream" | "streaming" | "draft" | "live" => Self::Stream,
            _ => return None,
        })
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Stream => "stream",
        }
    }
}

impl UsageDisplay {
    pub fn parse(word: &str) -> Option<Self> {
        Some(match text::lower(word).as_str() {
            "off" | "false" | "no" | "0" | "disable" | "disabled" => Self::Off,
            "on" | "true" | "yes" | "1" | "enable" | "enabled" => Self::Tokens,
            "tokens" | "token" | "tok" | "minimal" | "min" => Self::Tokens,
            "full" | "session" => Self::Full,
            _ => return None,
        })
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Tokens => "tokens",
            Self::Full => "full",
        }
    }
}

/// A text and the level directive that was in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelDirective<L> {
    /// The text without the directive, white space collapsed.
    pub rest: String,
    /// The word after the directive; `None` where there is none.
    pub word: Option<String>,
    /// `None` if the word means nothing.
    pub level: Option<L>,
}

/// Takes the first directive of a kind out of `body`; `None` if there is none.
pub fn take_level<L: Level>(body: &str) -> Option<LevelDirective<L>> {
    let (start, after_name) = find_directive(body, L::NAMES)?;
    let mut at = skip_spaces(body, after_name);
    if body[at..].starts_with(':') {
        at = skip_spaces(body, at + 1);
    }
    let letters = body[at..].bytes().take_while(|b| b.is_ascii_alphabetic() || *b == b'-').count();
    let word = (letters > 0).then(|| body[at..at + letters].to_owned());
    let rest = format!("{} {}", &body[..start], &body[at + letters..]);
    Some(LevelDirective { rest: collapsed(&rest), level: word.as_deref().and_then(L::parse), word })
}

const XHIGH_MODELS: [(&str, &str); 3] =
    [("openai", "gpt-5.2"), ("openai-codex", "gpt-5.2-codex"), ("openai-codex", "gpt-5.1-codex")];

/// Whether a model knows the highest level of thinking.
pub fn supports_xhigh(provider: Option<&str>, model: &str) -> bool {
    let model = text::lower(text::trim(model));
    let provider = provider.and_then(text::lower_non_blank);
    XHIGH_MODELS
        .iter()
        .any(|(of, name)| *name == model && provider.as_deref().is_none_or(|provider| provider == *of))
}

/// The level of thinking when nobody named one; a configured word is taken as it is.
pub fn default_think_level<'c>(
    configured: Option<&'c str>,
    catalog: &[CatalogModel],
    provider: &str,
    model: &str,
) -> &'c str {
    let is_model = |entry: &&CatalogModel| entry.model.provider == provider && entry.model.model == model;
    match configured.filter(|level| !level.is_empty()) {
        Some(level) => level,
        None if catalog.iter().find(is_model).is_some_and(|entry| entry.reasoning) => {
            ThinkLevel::Low.as_str()
        }
        None => ThinkLevel::Off.as_str(),
    }
}

/// A message that begins with a level and has not set one: the word is the level, not part of it.
pub fn take_leading_level(body: &str, supports_xhigh: bool) -> Option<(ThinkLevel, String)> {
    let mut words = body.split(text::is_space).filter(|word| !word.is_empty());
    let level = ThinkLevel::parse(words.next().filter(|_| !body.starts_with(text::is_space))?)?;
    let known = level != ThinkLevel::Xhigh || supports_xhigh;
    known.then(|| (level, words.collect::<Vec<_>>().join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_taken_out_of_the_text() {
        //  body                          rest            word           level
        let table = [
            ("/think high", "", Some("high"), Some(ThinkLevel::High)),
            ("go /T: max  now", "go now", Some("max"), Some(ThinkLevel::High)),
            ("/think do it", "it", Some("do"), None),
            ("/thinking", "", None, None),
        ];
        for (body, rest, word, level) in table {
            let found = take_level::<ThinkLevel>(body).unwrap();
            assert_eq!(
                (found.rest.as_str(), found.word.as_deref(), found.level),
                (rest, word, level),
                "{body}"
            );
        }
        assert_eq!(take_level::<ThinkLevel>("a/think high"), None);
        assert_eq!(take_level::<ThinkLevel>("/thinker"), None);
    }

    #[test]
    fn the_first_word_may_be_the_level() {
        assert_eq!(
            take_leading_level("high solve  this", false),
            Some((ThinkLevel::High, "solve this".to_owned()))
        );
        assert_eq!(take_leading_level("highly unlikely", false), None);
        assert_eq!(take_leading_level("xhigh go", false), None);
    }
}
