//! Which message a reply answers on its platform (`sessions.md` §16).

use super::payload::ReplyPayload;
use super::tags::ReplyTags;
use crate::channel::{self, ChatType};
use crate::config::Config;
use crate::id::AccountId;
use crate::text;

/// Which replies of a turn are shown as answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyToMode {
    Off,
    First,
    All,
}

impl ReplyToMode {
    /// A word that is no mode is as good as `first`.
    pub fn parse(word: &str) -> Self {
        match word {
            "off" => Self::Off,
            "all" => Self::All,
            _ => Self::First,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::First => "first",
            Self::All => "all",
        }
    }

    /// What is configured for the channel, or what is usual there.
    pub fn from_config(
        config: &Config,
        channel: &str,
        account: Option<&AccountId>,
        chat_type: Option<ChatType>,
    ) -> Self {
        let name = text::lower_non_blank(channel);
        let usual = match name.as_deref().and_then(channel::core_channel) {
            Some("slack") => return slack_mode(config, account, chat_type),
            Some("telegram") => Self::First,
            Some("discord" | "googlechat") => Self::Off,
            _ => return Self::All,
        };
        let channel = name.as_deref().and_then(channel::core_channel).unwrap_or_default();
        let said = config.channels.settings(channel).and_then(|settings| settings.reply_to_mode.as_ref());
        said.map_or(usual, |word| Self::parse(word.as_str()))
    }
}

/// Slack knows modes per kind of conversation, and an account overrides what its channel says.
fn slack_mode(config: &Config, account: Option<&AccountId>, chat_type: Option<ChatType>) -> ReplyToMode {
    let Some(slack) = &config.channels.slack else { return ReplyToMode::Off };
    let default = AccountId::default();
    let own = slack.accounts.as_ref().and_then(|own| own.get(account.unwrap_or(&default).as_str()));
    let by_type = || {
        let modes = own.and_then(|own| own.reply_to_mode_by_chat_type.as_ref());
        let modes = modes.or(slack.account.reply_to_mode_by_chat_type.as_ref())?;
        match chat_type? {
            ChatType::Direct => modes.direct.as_ref(),
            ChatType::Group => modes.group.as_ref(),
            ChatType::Channel => modes.channel.as_ref(),
        }
    };
    let direct = || {
        let dm = own.and_then(|own| own.dm.as_ref()).or(slack.account.dm.as_ref());
        dm?.reply_to_mode.as_ref().filter(|_| chat_type == Some(ChatType::Direct))
    };
    let common = || own.and_then(|own| own.reply_to_mode.as_ref()).or(slack.account.reply_to_mode.as_ref());
    let mode = by_type().or_else(direct).or_else(common);
    mode.map_or(ReplyToMode::Off, |word| ReplyToMode::parse(word.as_str()))
}

/// The payload with its tags read and taken out. A text of nothing but tags is no text.
pub fn apply_tags(payload: ReplyPayload, current_message: Option<&str>) -> ReplyPayload {
    let asks_for_current =
        payload.reply_to_current == Some(true) && payload.reply_to_id.as_ref().is_none_or(String::is_empty);
    let current = || current_message.and_then(text::non_blank).map(str::to_owned);
    match payload.text.as_deref() {
        Some(text) if text.contains("[[") => {
            let tags = ReplyTags::extract(text);
            ReplyPayload {
                reply_to_id: tags.reply_to_id(current_message).or(payload.reply_to_id),
                reply_to_tag: if tags.found { Some(true) } else { payload.reply_to_tag },
                reply_to_current: if tags.current { Some(true) } else { payload.reply_to_current },
                text: Some(tags.text).filter(|text| !text.is_empty()),
                ..payload
            }
        }
        Some(_) if asks_for_current => ReplyPayload {
            reply_to_id: current(),
            reply_to_tag: payload.reply_to_tag.or(Some(true)),
            ..payload
        },
        None if asks_for_current => ReplyPayload { reply_to_id: current(), ..payload },
        _ => payload,
    }
}

/// Lets through as many answers as the mode allows, over the replies of one turn.
#[derive(Clone, Debug)]
pub struct ReplyToFilter {
    mode: ReplyToMode,
    /// A tag is the agent's own wish, and some channels grant it even when the mode is off.
    tags_count_when_off: bool,
    answered: bool,
}

impl ReplyToFilter {
    pub fn new(mode: ReplyToMode, tags_count_when_off: bool) -> Self {
        Self { mode, tags_count_when_off, answered: false }
    }

    pub fn for_channel(mode: ReplyToMode, channel: Option<&str>) -> Self {
        let name = channel.and_then(text::lower_non_blank);
        Self::new(mode, name.as_deref().and_then(channel::core_channel) == Some("slack"))
    }

    pub fn apply(&mut self, payload: ReplyPayload) -> ReplyPayload {
        if payload.reply_to_id.as_ref().is_none_or(String::is_empty) {
            return payload;
        }
        let is_answer = match self.mode {
            ReplyToMode::Off => self.tags_count_when_off && payload.reply_to_tag == Some(true),
            ReplyToMode::First => !std::mem::replace(&mut self.answered, true),
            ReplyToMode::All => true,
        };
        if is_answer { payload } else { ReplyPayload { reply_to_id: None, ..payload } }
    }
}

/// Tags read, empty payloads dropped, answers as the mode allows.
pub fn thread(
    payloads: Vec<ReplyPayload>,
    mut filter: ReplyToFilter,
    current_message: Option<&str>,
) -> Vec<ReplyPayload> {
    payloads
        .into_iter()
        .map(|payload| apply_tags(payload, current_message))
        .filter(ReplyPayload::is_renderable)
        .map(|payload| filter.apply(payload))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn every_channel_has_its_own_custom() {
        let config = Config::new(
            json::parse(
                r#"{"channels":{"discord":{"replyToMode":"first"},
                    "slack":{"replyToMode":"all","dm":{"replyToMode":"first"},
                             "replyToModeByChatType":{"channel":"off"},
                             "accounts":{"work":{"dm":{}}}}}}"#,
            )
            .unwrap(),
        );
        use ReplyToMode::{All, First, Off};
        let table = [
            ("Telegram", None, None, First),
            ("gchat", None, None, Off),
            ("discord", None, None, First),
            ("matrix", None, None, All),
            ("slack", None, None, All),
            ("slack", None, Some(ChatType::Channel), Off),
            ("slack", None, Some(ChatType::Direct), First),
            ("slack", Some("work"), Some(ChatType::Direct), All),
        ];
        for (channel, account, chat_type, mode) in table {
            let account = account.map(AccountId::normalize);
            let actual = ReplyToMode::from_config(&config, channel, account.as_ref(), chat_type);
            assert_eq!(actual, mode, "{channel} {account:?} {chat_type:?}");
        }
    }

    #[test]
    fn only_the_first_answer_of_a_turn_is_threaded() {
        let payloads = vec![
            ReplyPayload::from_text("[[reply_to_current]] a"),
            ReplyPayload::from_text("[[reply_to:9]]"),
            ReplyPayload::from_text("[[reply_to:9]] b"),
        ];
        let ids = |mode, channel| {
            let threaded = thread(payloads.clone(), ReplyToFilter::for_channel(mode, channel), Some("1"));
            threaded.into_iter().map(|p| p.reply_to_id.unwrap_or_default()).collect::<Vec<_>>()
        };
        assert_eq!(ids(ReplyToMode::First, None), ["1", ""]);
        assert_eq!(ids(ReplyToMode::All, None), ["1", "9"]);
        assert_eq!(ids(ReplyToMode::Off, Some("telegram")), ["", ""]);
        assert_eq!(ids(ReplyToMode::Off, Some("Slack")), ["1", "9"]);
    }
}
