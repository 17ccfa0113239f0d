//! Messages as they are stored, in the order and the pieces that wire formats want.

use yabby_domain::json::Value;
use yabby_domain::message::{Content, Message, Role};

/// What is said in front of pictures that tools took, where results hold text only.
pub(crate) const PICTURES: &str = "The pictures that belong to the tool results above:";

/// What stands in for an image that the model cannot see.
const NO_IMAGE: &str = "[image left out: the model does not see pictures]";

/// One turn of a conversation.
pub(crate) enum Turn<'m> {
    User(Vec<Piece<'m>>),
    Answer(&'m Message),
    /// Everything that the tools of an answer said.
    Results(Vec<ToolResult<'m>>),
}

#[derive(Clone, Copy)]
pub(crate) enum Piece<'m> {
    Text(&'m str),
    Image { mime_type: &'m str, data: &'m str },
}

pub(crate) struct ToolResult<'m> {
    pub(crate) call: &'m str,
    pub(crate) tool: &'m str,
    pub(crate) pieces: Vec<Piece<'m>>,
    pub(crate) is_error: bool,
}

impl<'m> ToolResult<'m> {
    /// What it says in words.
    pub(crate) fn text(&self) -> String {
        let texts: Vec<&str> = self.pieces.iter().filter_map(Piece::text).collect();
        match texts.is_empty() {
            true => "(see the attached image)".to_owned(),
            false => texts.join("\n"),
        }
    }

    pub(crate) fn images(&self) -> impl Iterator<Item = Piece<'m>> + '_ {
        self.pieces.iter().copied().filter(|piece| matches!(piece, Piece::Image { .. }))
    }
}

impl<'m> Piece<'m> {
    fn text(&self) -> Option<&'m str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { .. } => None,
        }
    }
}

/// The turns of a request; `images` if the model sees pictures.
pub(crate) fn turns(messages: &[Message], images: bool) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::with_capacity(messages.len());
    for message in messages {
        match message.role() {
            Role::User => turns.push(Turn::User(pieces(message, images))),
            Role::Assistant => turns.push(Turn::Answer(message)),
            Role::ToolResult => {
                let result = ToolResult {
                    call: message.text_field("toolCallId").unwrap_or_default(),
                    tool: message.text_field("toolName").unwrap_or_default(),
                    pieces: pieces(message, images),
                    is_error: message.get("isError") == Some(&Value::Bool(true)),
                };
                match turns.last_mut() {
                    Some(Turn::Results(results)) => results.push(result),
                    _ => turns.push(Turn::Results(vec![result])),
                }
            }
            // Nothing else reaches a provider.
            Role::BashExecution
            | Role::Custom
            | Role::BranchSummary
            | Role::CompactionSummary
            | Role::Other => {}
        }
    }
    turns
}

fn pieces(message: &Message, images: bool) -> Vec<Piece<'_>> {
    match message.content() {
        Content::Text(text) => vec![Piece::Text(text)],
        Content::Missing => Vec::new(),
        Content::Blocks(blocks) => blocks.iter().filter_map(|block| shown(block, images)).collect(),
    }
}

fn shown(block: &Value, images: bool) -> Option<Piece<'_>> {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    match field("type")? {
        "text" => Some(Piece::Text(field("text")?)),
        "image" if images => Some(Piece::Image { mime_type: field("mimeType")?, data: field("data")? }),
        "image" => Some(Piece::Text(NO_IMAGE)),
        _ => None,
    }
}

/// A picture as an address that holds it.
pub(crate) fn data_url(mime_type: &str, data: &str) -> String {
    format!("data:{mime_type};base64,{data}")
}
