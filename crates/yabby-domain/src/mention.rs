//! Whether a message mentions the agent, and the message without the mention (`sessions.md` §11).

use std::sync::LazyLock;

use regex::Regex;

use crate::channel;
use crate::config::Config;
use crate::id::AgentId;
use crate::inbound::InboundMessage;
use crate::pattern::Pattern;
use crate::text;

/// The patterns by which an agent is called: its own, everybody's, or its name and emoji.
///
/// An agent with an empty list answers to nothing; that is not the same as no list.
pub fn mention_patterns(config: &Config, agent: Option<&AgentId>) -> Vec<String> {
    let entry = agent.and_then(|agent| config.agent(agent));
    let of_agent = entry.and_then(|entry| entry.group_chat.mention_patterns.as_ref());
    match of_agent.or(config.messages.group_chat.mention_patterns.as_ref()) {
        Some(listed) => listed.value().cloned().unwrap_or_default(),
        None => {
            let identity = entry.and_then(|entry| entry.identity.as_ref());
            let name = identity.and_then(|identity| identity.name.as_deref());
            derived_patterns(name, identity.and_then(|identity| identity.emoji.as_deref()))
        }
    }
}

/// Patterns for a name, its words apart by any white space, and for an emoji.
pub fn derived_patterns(name: Option<&str>, emoji: Option<&str>) -> Vec<String> {
    let name = name.and_then(text::non_blank).map(|name| {
        let words: Vec<String> =
            name.split(text::is_space).filter(|word| !word.is_empty()).map(escaped).collect();
        format!(r"\b@?{}\b", words.join(r"\s+"))
    });
    name.into_iter().chain(emoji.and_then(text::non_blank).map(escaped)).collect()
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if r".*+?^${}()|[]\".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Patterns ready to be matched; those that cannot be are left out.
#[derive(Clone, Debug, Default)]
pub struct Mentions(Vec<Pattern>);

impl Mentions {
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Self {
        // `"\b"` in a JSON file is a backspace, and nobody means that.
        let compile = |pattern: S| Pattern::new(&pattern.as_ref().replace('\u{8}', r"\b"));
        Self(patterns.into_iter().filter_map(compile).collect())
    }

    /// Whether the text mentions the agent, or the platform says so, which may tell who was mentioned.
    pub fn occur_in_or_told(&self, text: &str, told: ExplicitMention) -> bool {
        let cleaned = visible_lower_case(text);
        let by_name = || self.0.iter().any(|pattern| pattern.is_match(&cleaned));
        // Somebody was mentioned for certain, so even an empty text may match.
        let somebody = told.of_anyone && told.reliable;
        told.of_agent || ((somebody || !cleaned.is_empty()) && by_name())
    }
}

/// What the platform says about mentions in a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExplicitMention {
    pub of_agent: bool,
    pub of_anyone: bool,
    /// The platform knows whom a mention means.
    pub reliable: bool,
}

fn visible_lower_case(text: &str) -> String {
    let hidden =
        |c: &char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
    text::lower(&text.chars().filter(|c| !hidden(c)).collect::<String>())
}

/// The message without mentions of the agent, for reading commands.
pub fn strip_mentions(text: &str, message: &InboundMessage, patterns: &[String]) -> String {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| text::pattern("@[0-9+]{5,}"));
    let all = patterns.iter().cloned().chain(channel_patterns(message));
    let mut stripped = text.to_owned();
    for pattern in Mentions::new(all).0 {
        stripped = pattern.replace_all(&stripped, " ");
    }
    text::trim(&text::collapse_spaces(&NUMBER.replace_all(&stripped, " "))).to_owned()
}

/// How the platform itself writes mentions.
fn channel_patterns(message: &InboundMessage) -> Vec<String> {
    let name = message.provider.as_deref().and_then(text::lower_non_blank);
    match name.as_deref().and_then(channel::core_channel) {
        Some("discord") => vec![r"<@!?\d+>".to_owned()],
        Some("whatsapp") => {
            let to = message.to.as_deref().unwrap_or_default();
            let own_number = escaped(to.strip_prefix("whatsapp:").unwrap_or(to));
            if own_number.is_empty() {
                Vec::new()
            } else {
                vec![own_number.clone(), format!("@{own_number}")]
            }
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn the_nearest_list_of_patterns_counts() {
        let config = |text: &str| Config::new(json::parse(text).unwrap());
        let own = r#"{"messages":{"groupChat":{"mentionPatterns":["all"]}},
            "agents":{"list":[{"id":"Ops Team","groupChat":{"mentionPatterns":["own"]}},
                              {"id":"quiet","groupChat":{"mentionPatterns":null}},
                              {"id":"named","identity":{"name":"A.B  c","emoji":"🦞"}}]}}"#;
        let derived = own.replace(r#""mentionPatterns":["all"]"#, "");
        let table = [
            (own, Some("ops-team"), vec!["own"]),
            (own, Some("quiet"), vec![]),
            (own, Some("named"), vec!["all"]),
            (own, None, vec!["all"]),
            (&derived, Some("named"), vec![r"\b@?A\.B\s+c\b", "🦞"]),
            (&derived, Some("nobody"), vec![]),
        ];
        for (text, agent, expected) in table {
            let agent = agent.map(AgentId::normalize);
            assert_eq!(mention_patterns(&config(text), agent.as_ref()), expected, "{agent:?}");
        }
    }

    #[test]
    fn a_mention_is_found_behind_invisible_characters() {
        let mentions = Mentions::new(["@bot", "(", "\u{8}ann\u{8}"]);
        let table = [("@b\u{200b}OT", true), ("Ann!", true), ("anna", false), ("", false)];
        for (text, found) in table {
            assert_eq!(mentions.occur_in_or_told(text, ExplicitMention::default()), found, "{text}");
        }
        let of_agent = ExplicitMention { of_agent: true, ..ExplicitMention::default() };
        let of_others = ExplicitMention { of_anyone: true, reliable: true, of_agent: false };
        assert!(mentions.occur_in_or_told("", of_agent));
        assert!(!mentions.occur_in_or_told("hi", of_others));
        assert!(mentions.occur_in_or_told("@bot", of_others));
    }

    #[test]
    fn mentions_are_stripped_for_commands() {
        let message = |provider: &str, to: &str| InboundMessage {
            provider: Some(provider.to_owned()),
            to: Some(to.to_owned()),
            ..InboundMessage::default()
        };
        let table = [
            ("<@!12> /new", message("Discord", ""), "/new"),
            ("+1555 do", message("whatsapp", "whatsapp:+1555"), "do"),
            ("hey  @bot, @+491701 go", message("slack", ""), "hey , go"),
        ];
        for (text, message, expected) in table {
            assert_eq!(strip_mentions(text, &message, &["@bot".to_owned()]), expected, "{text}");
        }
    }
}
