//! Inline directives and the levels they name (`sessions.md` §15).

use std::sync::LazyLock;

use regex::Regex;

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

/// Takes the first `/status` out of `body`; `None` if there is none.
pub fn take_status(body: &str) -> Option<String> {
    let (start, after_name) = find_directive(body, &["status"])?;
    let colon = skip_spaces(body, after_name);
    let end = if body[colon..].starts_with(':') { skip_spaces(body, colon + 1) } else { after_name };
    Some(without(body, &body[start..end]))
}

/// A `/model` directive and what was in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelDirective {
    pub rest: String,
    pub model: Option<String>,
    /// The part after the first `@`.
    pub profile: Option<String>,
}

/// Takes the first `/model …`, or else the first `/<alias>`, out of `body`.
pub fn take_model(body: &str, aliases: &[String]) -> Option<ModelDirective> {
    let (taken, named) = model_command(body).or_else(|| model_alias(body, aliases))?;
    let (model, profile) = match named.as_deref().and_then(|named| named.split_once('@')) {
        Some((model, profile)) => {
            (Some(text::trim(model).to_owned()), text::non_blank(profile).map(str::to_owned))
        }
        None => (named, None),
    };
    Some(ModelDirective { rest: without(body, taken), model, profile })
}

static MODEL: LazyLock<Regex> = LazyLock::new(|| {
    let space = format!("[{}]", text::SPACE_CLASS);
    let name = r"[A-Za-z0-9_.:@-]+(?:/[A-Za-z0-9_.:@-]+)*";
    #[expect(clippy::expect_used, reason = "a constant pattern")]
    Regex::new(&format!("^{space}*:?{space}*({name})?")).expect("the pattern is valid")
});

fn model_command(body: &str) -> Option<(&str, Option<String>)> {
    let (start, after_name) = find_directive(body, &["model"])?;
    let found = MODEL.captures(&body[after_name..])?;
    let end = after_name + found.get(0).map_or(0, |whole| whole.end());
    Some((&body[start..end], found.get(1).map(|name| name.as_str().to_owned())))
}

fn model_alias<'b>(body: &'b str, aliases: &[String]) -> Option<(&'b str, Option<String>)> {
    let names: Vec<&str> = aliases.iter().filter_map(|alias| text::non_blank(alias)).collect();
    let (start, after_name) = find_directive(body, &names)?;
    let name = text::trim_start(&body[start..after_name]).trim_start_matches('/').to_owned();
    let colon = skip_spaces(body, after_name);
    let end = if body[colon..].starts_with(':') { skip_spaces(body, colon + 1) } else { after_name };
    Some((&body[start..end], Some(name)))
}

/// Finds `/name` at the start or after white space, and before the end, white space or `:`. Gives
/// where it begins (with that white space) and where the name ends.
fn find_directive(body: &str, names: &[&str]) -> Option<(usize, usize)> {
    for (slash, _) in body.match_indices('/') {
        let before = body[..slash].chars().next_back();
        if before.is_some_and(|c| !text::is_space(c)) {
            continue;
        }
        let rest = &body[slash + 1..];
        let ends = |name: &&&str| {
            let after = rest.get(name.len()..).unwrap_or("");
            starts_with_ignoring_case(rest, name)
                && after.chars().next().is_none_or(|c| c == ':' || text::is_space(c))
        };
        if let Some(name) = names.iter().find(ends) {
            let start = slash - before.map_or(0, char::len_utf8);
            return Some((start, slash + 1 + name.len()));
        }
    }
    None
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|head| head == prefix || text::lower(head) == text::lower(prefix))
}

fn skip_spaces(body: &str, from: usize) -> usize {
    body.len() - text::trim_start(&body[from..]).len()
}

/// The body without the first occurrence of `taken`. The reference searches for the text it matched,
/// so an earlier `/statusx` loses its `/status`; we do the same.
fn without(body: &str, taken: &str) -> String {
    collapsed(&body.replacen(taken, " ", 1))
}

fn collapsed(text: &str) -> String {
    text::trim(&text::collapse_spaces(text)).to_owned()
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
    fn a_model_may_be_named_by_its_alias() {
        let aliases = ["opus".to_owned()];
        let taken = |body| take_model(body, &aliases).map(|found| (found.rest, found.model, found.profile));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(taken("hi /model x/y@a@b"), Some(("hi".to_owned(), some("x/y"), some("a@b"))));
        assert_eq!(taken("/Opus: hello"), Some(("hello".to_owned(), some("Opus"), None)));
        assert_eq!(taken("/opusx"), None);
    }

    #[test]
    fn status_is_taken_out() {
        assert_eq!(take_status("hey /status: now").as_deref(), Some("hey now"));
        assert_eq!(take_status("/statusx"), None);
    }
}
