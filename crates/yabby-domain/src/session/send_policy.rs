//! Whether a session's replies are sent (`sessions.md` §17).

use std::sync::Arc;

use crate::channel::ChatType;
use crate::command::single_word_argument;
use crate::config::Config;
use crate::config::session::send_policy::SendRule;
use crate::session::entry::SessionEntry;
use crate::session::key::SessionKey;
use crate::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendDecision {
    Allow,
    Deny,
}

/// The rules of `session.sendPolicy`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SendPolicy {
    rules: Vec<Rule>,
    default: Option<SendDecision>,
}

#[derive(Clone, Debug, PartialEq)]
struct Rule {
    action: SendDecision,
    channel: Option<String>,
    chat_type: Option<ChatType>,
    key_prefix: Option<String>,
}

/// The conversation that a decision is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendQuery<'a> {
    pub entry: Option<&'a SessionEntry>,
    pub key: Option<&'a str>,
    pub channel: Option<&'a str>,
    pub chat_type: Option<&'a str>,
}

impl SendDecision {
    /// `allow` or `deny`, in any case.
    pub fn parse(raw: &str) -> Option<Self> {
        match text::lower(text::trim(raw)).as_str() {
            "allow" => Some(Self::Allow),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }

    /// As [`parse`](Self::parse), and the `on` and `off` of the chat command.
    pub fn parse_override(raw: &str) -> Option<Self> {
        match text::lower(text::trim(raw)).as_str() {
            "allow" | "on" => Some(Self::Allow),
            "deny" | "off" => Some(Self::Deny),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
        }
    }
}

impl SendPolicy {
    /// The policy of a configuration, which is made once for each state of it.
    pub fn from_config(config: &Config) -> Arc<Self> {
        config.derived(Self::derive)
    }

    fn derive(config: &Config) -> Self {
        let policy = &config.session.send_policy;
        Self {
            rules: policy.rules.iter().map(Rule::of).collect(),
            default: policy.default.as_ref().and_then(|word| SendDecision::parse(word.as_str())),
        }
    }

    /// The session's own setting, else the rules (one denial is enough), else the default.
    pub fn decide(&self, query: &SendQuery<'_>) -> SendDecision {
        if let Some(own) = query.entry.and_then(SessionEntry::send_policy).and_then(SendDecision::parse) {
            return own;
        }
        let channel = channel_of(query);
        let chat_type = chat_type_of(query);
        let key = query.key.unwrap_or("");
        let matching = || self.rules.iter().filter(|rule| rule.matches(channel.as_deref(), chat_type, key));
        if matching().any(|rule| rule.action == SendDecision::Deny) {
            return SendDecision::Deny;
        }
        let allowed = matching().next().map(|_| SendDecision::Allow);
        allowed.or(self.default).unwrap_or(SendDecision::Allow)
    }
}

impl Rule {
    fn of(rule: &SendRule) -> Self {
        let place = &rule.r#match;
        Self {
            action: SendDecision::parse(rule.action.as_str()).unwrap_or(SendDecision::Allow),
            channel: place.channel.as_deref().and_then(text::lower_non_blank),
            chat_type: place.chat_type.as_ref().and_then(|word| ChatType::parse(word.as_str())),
            key_prefix: place.key_prefix.as_deref().and_then(text::lower_non_blank),
        }
    }

    /// A part that the rule does not name matches everything.
    fn matches(&self, channel: Option<&str>, chat_type: Option<ChatType>, key: &str) -> bool {
        self.channel.as_deref().is_none_or(|wanted| Some(wanted) == channel)
            && self.chat_type.is_none_or(|wanted| Some(wanted) == chat_type)
            && self.key_prefix.as_deref().is_none_or(|prefix| key.starts_with(prefix))
    }
}

fn channel_of(query: &SendQuery<'_>) -> Option<String> {
    let recorded = || query.entry?.channel().and_then(text::lower_non_blank);
    let last = || query.entry?.last_channel().and_then(text::lower_non_blank);
    let in_key = || {
        // Only a bare `<channel>:group:<id>` names its channel; agent keys do not.
        let parts: Vec<&str> = query.key?.split(':').filter(|part| !part.is_empty()).collect();
        match parts.as_slice() {
            [channel, "group" | "channel", _, ..] => text::lower_non_blank(channel),
            _ => None,
        }
    };
    query.channel.and_then(text::lower_non_blank).or_else(recorded).or_else(last).or_else(in_key)
}

fn chat_type_of(query: &SendQuery<'_>) -> Option<ChatType> {
    let named = query.chat_type.or_else(|| query.entry?.chat_type_text());
    let in_key = || {
        let key = query.key?;
        match () {
            () if key.contains(":group:") => Some(ChatType::Group),
            () if key.contains(":channel:") => Some(ChatType::Channel),
            () => SessionKey::new(key).group().and_then(|group| ChatType::parse(group.kind.as_str())),
        }
    };
    named.and_then(ChatType::parse).or_else(in_key)
}

/// What `/send` was asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendCommand {
    Set(SendDecision),
    Inherit,
    /// `/send` alone, or with a word that means nothing.
    Show,
}

/// Reads a `/send` command from a normalised command body.
pub fn parse_command(body: &str) -> Option<SendCommand> {
    let word = single_word_argument(text::trim(body), "/send")?;
    Some(match text::lower(word).as_str() {
        "inherit" | "default" | "reset" => SendCommand::Inherit,
        word => SendDecision::parse_override(word).map_or(SendCommand::Show, SendCommand::Set),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn one_denial_is_enough() {
        let policy = SendPolicy::from_config(&Config::new(json!({"session": {"sendPolicy": {
            "rules": [
                {"match": {"keyPrefix": "agent:main:whatsapp"}, "action": "allow"},
                {"match": {"channel": "whatsapp", "chatType": "group"}, "action": "deny"},
            ],
            "default": "deny",
        }}})));
        let decide = |key, channel| {
            policy.decide(&SendQuery { key: Some(key), channel: Some(channel), ..SendQuery::default() })
        };
        assert_eq!(decide("agent:main:whatsapp:group:1", "whatsapp"), SendDecision::Deny);
        assert_eq!(decide("agent:main:whatsapp:dm:1", "whatsapp"), SendDecision::Allow);
        assert_eq!(decide("agent:main:telegram:dm:1", "telegram"), SendDecision::Deny);
        assert_eq!(decide("agent:main:whatsapp-group-1", "whatsapp"), SendDecision::Deny);
    }
}
