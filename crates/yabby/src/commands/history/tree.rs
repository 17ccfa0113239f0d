//! `history --tree`: every branch of a conversation, a line for each entry.

use std::collections::HashSet;
use std::io::Write;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use yabby_domain::json::{Object, Value};
use yabby_domain::message::Role;
use yabby_domain::transcript::entry::{Entry, EntryKind};
use yabby_domain::transcript::pieces::headline;
use yabby_domain::transcript::tree::{Node, Transcript};

use crate::terminal::{self, columns, harmless, short};

const FAINT: Style = Style::new().dimmed();
const ACTIVE: Style = AnsiColor::Green.on_default().bold();
const LABEL: Style = AnsiColor::Yellow.on_default();

/// A node that waits to be drawn.
struct Waiting<'t> {
    node: Node<'t>,
    /// How many branches run past it.
    depth: usize,
    joint: Joint,
}

enum Joint {
    /// Goes straight on from the entry above.
    On,
    /// Leaves the branch that it hangs from.
    Off,
    /// Hangs from nothing.
    Root,
}

/// Draws what leaves a branch before the branch goes on, so that the conversation itself stands in the
/// first column however often it was taken up anew.
pub fn print(out: &mut dyn Write, transcript: &Transcript) -> Result<()> {
    let tree = transcript.tree();
    let active: HashSet<&str> = transcript.branch().iter().filter_map(|entry| entry.id()).collect();
    let is_active = |node: &Node<'_>| node.entry().id().is_some_and(|id| active.contains(id));
    let leaf = transcript.leaf_id();
    // What is drawn last is pushed first.
    let mut waiting: Vec<Waiting<'_>> =
        tree.roots().map(|node| Waiting { node, depth: 0, joint: Joint::Root }).collect();
    waiting.sort_by_key(|root| !is_active(&root.node));
    while let Some(Waiting { node, depth, joint }) = waiting.pop() {
        let is_leaf = node.entry().id().is_some() && node.entry().id() == leaf;
        if let Joint::Root = joint {
            writeln!(out)?;
        }
        line(out, &lead(depth, &joint), &node, is_active(&node), is_leaf)?;
        let depth = if let Joint::Off = joint { depth + 1 } else { depth };
        let mut children: Vec<Node<'_>> = node.children().collect();
        let on = children.iter().position(is_active).or(children.len().checked_sub(1));
        if let Some(on) = on {
            waiting.push(Waiting { node: children.remove(on), depth, joint: Joint::On });
        }
        waiting.extend(children.into_iter().rev().map(|node| Waiting { node, depth, joint: Joint::Off }));
    }
    Ok(())
}

/// The lines that run past an entry; where there are too many to see through, not all of them.
fn lead(depth: usize, joint: &Joint) -> String {
    const MOST: usize = 24;
    let mut lead = "│ ".repeat(depth.min(MOST));
    if depth > MOST {
        lead.push_str("… ");
    }
    if let Joint::Off = joint {
        lead.push_str("├─");
    }
    lead
}

fn line(out: &mut dyn Write, lead: &str, node: &Node<'_>, is_active: bool, is_leaf: bool) -> Result<()> {
    let entry = node.entry();
    let (dot, style) = if is_active { ("●", ACTIVE) } else { ("○", FAINT) };
    let width = terminal::width().unwrap_or(100);
    let id = entry.id().unwrap_or("?");
    let kind = kind(entry);
    let label = node.label().map(|label| format!(" [{}]", short(label, 30))).unwrap_or_default();
    let leaf = if is_leaf { " ← here" } else { "" };
    let id = harmless(id);
    let taken = [lead, kind, &id, &label, leaf].map(columns).iter().sum::<usize>() + 4;
    let told = short(&headline(entry).unwrap_or_default(), width.saturating_sub(taken).max(20));
    let told = if told.is_empty() { told } else { format!(" {told}") };
    writeln!(
        out,
        "{FAINT}{lead}{FAINT:#}{style}{dot} {kind}{style:#}{told}{LABEL}{label}{LABEL:#} {FAINT}{id}{FAINT:#}{ACTIVE}{leaf}{ACTIVE:#}",
    )?;
    Ok(())
}

fn kind(entry: &Entry) -> &'static str {
    match (entry.kind(), entry.role()) {
        (EntryKind::Message, Some(Role::User)) => "you",
        (EntryKind::Message, Some(Role::Assistant)) => "assistant",
        (EntryKind::Message, Some(Role::ToolResult)) => "tool",
        (EntryKind::Message, Some(Role::BashExecution)) => "command",
        (EntryKind::Message, _) => "message",
        (EntryKind::Compaction, _) => "compaction",
        (EntryKind::BranchSummary, _) => "branch left",
        (EntryKind::ModelChange | EntryKind::ThinkingLevelChange | EntryKind::SessionInfo, _) => "setting",
        (EntryKind::Custom | EntryKind::CustomMessage, _) => "note",
        (EntryKind::Label, _) => "label",
        (EntryKind::Session | EntryKind::Unknown, _) => "entry",
    }
}

/// Every entry with the one that it hangs from: a tree may be deeper than JSON can be nested.
pub fn to_json(transcript: &Transcript) -> Value {
    let active: HashSet<&str> = transcript.branch().iter().filter_map(|entry| entry.id()).collect();
    let mut value = Object::new();
    value.insert("sessionId".to_owned(), transcript.session_id().into());
    value.insert("leafId".to_owned(), transcript.leaf_id().map_or(Value::Null, Value::from));
    let entry = |entry: &Entry| {
        let mut object = entry.object();
        let is_active = entry.id().is_some_and(|id| active.contains(id));
        object.insert("active".to_owned(), is_active.into());
        Value::Object(object)
    };
    value.insert("entries".to_owned(), transcript.entries().iter().map(entry).collect());
    Value::Object(value)
}
