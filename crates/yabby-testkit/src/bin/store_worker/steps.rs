//! The steps of a conversation, as the stories tell them: one member whose name is the kind.

use serde::Deserialize;
use yabby_domain::json::{Object, Value};
use yabby_domain::message::Message;
use yabby_domain::transcript::tree::{BranchSummary, NewCompaction, NewEntry};

use crate::Result;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    Message(Object),
    Thinking(String),
    Model {
        provider: String,
        id: String,
    },
    #[serde(rename_all = "camelCase")]
    Compaction {
        summary: String,
        first_kept: String,
        tokens_before: f64,
        details: Option<Value>,
        from_hook: Option<bool>,
    },
    Custom {
        r#type: String,
        data: Option<Value>,
    },
    CustomMessage {
        r#type: String,
        content: Value,
        display: bool,
        details: Option<Value>,
    },
    Label {
        target: String,
        label: Option<String>,
    },
    Name(String),
    Move(Option<String>),
    #[serde(rename_all = "camelCase")]
    Branch {
        to: Option<String>,
        summary: String,
        details: Option<Value>,
        from_hook: Option<bool>,
    },
    Fork(String),
    ForkWhole(String),
}

/// What a step wants done. Every entry has its own id by now.
pub enum Deed {
    Append(NewEntry),
    Move(Option<String>),
    Branch(Option<String>, BranchSummary),
    Fork(String),
    ForkWhole(String),
}

impl Step {
    /// `ids` are those of the steps before; `@2` is the third.
    pub fn deed(self, ids: &[Option<String>]) -> Result<Deed> {
        let named = |name: String| match name.strip_prefix('@') {
            None => Ok(name),
            Some(at) => {
                let id = ids.get(at.parse::<usize>()?).cloned().flatten();
                id.ok_or_else(|| format!("no step before this one made entry {name}"))
                    .map_err(Box::<dyn std::error::Error + Send + Sync>::from)
            }
        };
        Ok(match self {
            Self::Message(message) => Deed::Append(NewEntry::Message(Message::new(message))),
            Self::Thinking(level) => Deed::Append(NewEntry::ThinkingLevelChange(level)),
            Self::Model { provider, id } => Deed::Append(NewEntry::ModelChange { provider, model_id: id }),
            Self::Compaction { summary, first_kept, tokens_before, details, from_hook } => {
                let first_kept = named(first_kept)?;
                let compaction = NewCompaction { summary, first_kept, tokens_before, details, from_hook };
                Deed::Append(NewEntry::Compaction(compaction))
            }
            Self::Custom { r#type, data } => Deed::Append(NewEntry::Custom { custom_type: r#type, data }),
            Self::CustomMessage { r#type, content, display, details } => {
                Deed::Append(NewEntry::CustomMessage { custom_type: r#type, content, display, details })
            }
            Self::Label { target, label } => Deed::Append(NewEntry::Label { target: named(target)?, label }),
            Self::Name(name) => Deed::Append(NewEntry::SessionInfo { name }),
            Self::Move(to) => Deed::Move(to.map(named).transpose()?),
            Self::Branch { to, summary, details, from_hook } => {
                Deed::Branch(to.map(named).transpose()?, BranchSummary { summary, details, from_hook })
            }
            Self::Fork(at) => Deed::Fork(named(at)?),
            Self::ForkWhole(cwd) => Deed::ForkWhole(cwd),
        })
    }
}
