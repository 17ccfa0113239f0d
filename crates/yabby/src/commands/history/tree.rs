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

use super::shown::short;
use crate::terminal::{self, harmless};

const FAINT: Style = Style::new().dimmed();
const ACTIVE: Style = AnsiColor::Green.on_default().bold();
const LABEL: Style = AnsiColor::Yellow.on_default();

/// A node that waits to be drawn, with the lines that run past it.
struct Waiting<'t> {
    node: Node<'t>,
    /// What stands before the entries of its branch.
    lead: String,
    /// How the first of them is joined on; empty if it goes straight on.
    joint: &'static str,
}

pub fn print(out: &mut dyn Write, transcript: &Transcript) -> Result<()> {
    let tree = transcript.tree();
    let active: HashSet<&str> = transcript.branch().iter().filter_map(|entry| entry.id()).collect();
    let leaf = transcript.leaf_id();
    writeln!(out)?;
    // The last root is drawn last, so it is pushed first.
    let roots: Vec<Node<'_>> = tree.roots().collect();
    let mut waiting: Vec<Waiting<'_>> = joined(roots, "", true).collect();
    while let Some(Waiting { node, lead, joint }) = waiting.pop() {
        let entry = node.entry();
        let is_active = entry.id().is_some_and(|id| active.contains(id));
        let is_leaf = entry.id().is_some() && entry.id() == leaf;
        line(out, &format!("{lead}{joint}"), &node, is_active, is_leaf)?;
        let below = match joint {
            "├─" => format!("{lead}│ "),
            "└─" => format!("{lead}  "),
            _ => lead,
        };
        let children: Vec<Node<'_>> = node.children().collect();
        let goes_on = children.len() == 1;
        waiting.extend(joined(children, &below, goes_on));
    }
    Ok(())
}

/// Nodes in the order in which they are taken from a stack.
fn joined<'t>(nodes: Vec<Node<'t>>, lead: &str, goes_on: bool) -> impl Iterator<Item = Waiting<'t>> {
    let last = nodes.len().saturating_sub(1);
    let lead = lead.to_owned();
    nodes.into_iter().enumerate().rev().map(move |(at, node)| {
        let joint = match (goes_on && last == 0, at == last) {
            (true, _) => "",
            (false, true) => "└─",
            (false, false) => "├─",
        };
        Waiting { node, lead: lead.clone(), joint }
    })
}

fn line(out: &mut dyn Write, lead: &str, node: &Node<'_>, is_active: bool, is_leaf: bool) -> Result<()> {
    let entry = node.entry();
    let (dot, style) = if is_active { ("●", ACTIVE) } else { ("○", FAINT) };
    let width = terminal::width().unwrap_or(100);
    let id = entry.id().unwrap_or("?");
    let kind = kind(entry);
    let room = width.saturating_sub(lead.chars().count() + kind.len() + id.len() + 6).max(20);
    let told = short(&headline(entry).unwrap_or_default(), room);
    let label =
        node.label().map(|label| format!(" {LABEL}[{}]{LABEL:#}", harmless(label))).unwrap_or_default();
    let leaf = if is_leaf { format!(" {ACTIVE}← here{ACTIVE:#}") } else { String::new() };
    writeln!(
        out,
        "{FAINT}{lead}{FAINT:#}{style}{dot} {kind}{style:#} {told}{label} {FAINT}{}{FAINT:#}{leaf}",
        harmless(id)
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
        (EntryKind::ModelChange | EntryKind::ThinkingLevelChange, _) => "setting",
        (EntryKind::Custom | EntryKind::CustomMessage, _) => "note",
        (EntryKind::Label, _) => "label",
        (EntryKind::SessionInfo, _) => "name",
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
