//! `yabby sessions label`: what a person calls a session.

use std::io::Write as _;

use anyhow::{Result, anyhow};
use clap::Args;
use yabby_domain::json::{Object, Value};
use yabby_domain::session::entry::SessionEntry;
use yabby_engine::services::{Relabel, RelabelError, further_labels, relabel};

use super::Which;
use super::acting::Acting;
use crate::book::{Book, Found};
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  yabby sessions label main                        what it is called\n  yabby sessions label agent:main:main \"Holiday\"   call it something\n  yabby sessions label main --add family --add 2026\n  yabby sessions label main --remove family"
)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The new name, by which the session can be found
    label: Option<String>,
    /// Add a further label
    #[arg(long, value_name = "LABEL")]
    add: Vec<String>,
    /// Take one of the further labels away
    #[arg(long, value_name = "LABEL")]
    remove: Vec<String>,
    /// Take the name away
    #[arg(long, conflicts_with = "label")]
    clear: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let found = arguments.which.find(&book)?;
    let wanted = Relabel {
        name: match &arguments.label {
            Some(label) => Some(Some(label.clone())),
            None => arguments.clear.then_some(None),
        },
        add: arguments.add.clone(),
        remove: arguments.remove.clone(),
    };
    // A record is changed at once, whoever talks in its session: no gateway is asked.
    let acting = Acting::new(setting)?;
    let relabelled = acting.here(relabel(&acting.scope(&book, &found), &found.key, wanted));
    found.flush();
    let entry = relabelled.map_err(|error| match error {
        RelabelError::NotThere { label, labels } => {
            let all = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
            anyhow!("{} has no label {label:?}; it has: {all}", found.key)
        }
        error => error.into(),
    })?;
    if arguments.json { print_json(&found, &entry) } else { print_text(&found, &entry) }
}

fn print_json(found: &Found, entry: &SessionEntry) -> Result<()> {
    let mut out = Object::new();
    out.insert("key".to_owned(), found.key.as_str().into());
    out.insert("label".to_owned(), entry.label().map_or(Value::Null, Value::from));
    out.insert("labels".to_owned(), further_labels(entry).into_iter().map(Value::from).collect());
    terminal::print_json(&Value::Object(out))
}

fn print_text(found: &Found, entry: &SessionEntry) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let name = entry.label().unwrap_or("(no label)");
    let labels = further_labels(entry);
    let more = if labels.is_empty() { String::new() } else { format!(" [{}]", labels.join(", ")) };
    writeln!(out, "{}", terminal::harmless(&format!("{}: {name}{more}", found.key)))?;
    Ok(())
}
