//! A reply's text, read once: words, media, the message it answers, and whether it says anything
//! (`sessions.md` §16).

use super::media::MediaSplit;
use super::tags::ReplyTags;
use super::tokens;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedReply {
    /// Empty if the reply is silent.
    pub text: String,
    pub sources: Vec<String>,
    pub tags: TagsFound,
    pub audio_as_voice: bool,
    pub is_silent: bool,
}

/// What the reply tags of a text asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagsFound {
    pub any: bool,
    pub current: bool,
    /// The id that this text named.
    pub explicit_id: Option<String>,
    /// The message to answer.
    pub reply_to_id: Option<String>,
}

impl ParsedReply {
    pub fn of(reply: &str, current_message: Option<&str>, silent_token: &str) -> Self {
        let split = MediaSplit::of(reply);
        let tags = ReplyTags::extract(&split.text);
        let reply_to_id = tags.reply_to_id(current_message);
        let text = if tags.found { tags.text } else { split.text };
        let is_silent = tokens::is_silent(&text, silent_token);
        Self {
            text: if is_silent { String::new() } else { text },
            sources: split.sources,
            tags: TagsFound {
                any: tags.found,
                current: tags.current,
                explicit_id: tags.explicit_id,
                reply_to_id,
            },
            audio_as_voice: split.audio_as_voice,
            is_silent,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_come_first_then_tags_then_silence() {
        let reply = "[[reply_to_current]] NO_REPLY\nMEDIA:./a.png";
        let parsed = ParsedReply::of(reply, Some("7"), tokens::SILENT_TOKEN);
        assert_eq!(parsed.text, "");
        assert!(parsed.is_silent);
        assert_eq!(parsed.sources, ["./a.png"]);
        assert_eq!(parsed.tags.reply_to_id.as_deref(), Some("7"));

        let plain = ParsedReply::of("a  b \n\n\nc ", Some("7"), tokens::SILENT_TOKEN);
        assert_eq!(plain, ParsedReply { text: "a  b \n\n\nc".to_owned(), ..ParsedReply::default() });
    }
}
