//! `yabby sessions label`: what a person calls a session.

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use yabby_domain::json::{Object, Value};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::glance::Field;
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::label::parse_label;
use yabby_domain::session::row::Row;
use yabby_domain::text;

use super::Which;
use crate::book::{self, Book, Found};
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

/// What becomes of the labels of a session.
struct Relabel {
    /// `Some(None)` takes the name away.
    name: Option<Option<String>>,
    add: Vec<String>,
    remove: Vec<String>,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let found = arguments.which.find(&book)?;
    let relabel = Relabel {
        name: match &arguments.label {
            Some(label) => Some(Some(parse_label(Some(label))?.to_owned())),
            None => arguments.clear.then_some(None),
        },
        add: arguments
            .add
            .iter()
            .map(|label| Ok(parse_label(Some(label))?.to_owned()))
            .collect::<Result<_>>()?,
        remove: arguments.remove.clone(),
    };
    let entry = if relabel.changes_nothing() {
        found.entry.clone()
    } else {
        relabel.check(&found)?;
        let change = move |entry: &mut Option<SessionEntry>| {
            if let Some(entry) = entry {
                *entry = relabel.applied(entry);
            }
        };
        found.update(&found.key, Box::new(change))?.unwrap_or_default()
    };
    if arguments.json { print_json(&found, &entry) } else { print_text(&found, &entry) }
}

impl Relabel {
    fn changes_nothing(&self) -> bool {
        self.name.is_none() && self.add.is_empty() && self.remove.is_empty()
    }

    /// A name is of use only while it names one session; a label that is to go must be there.
    fn check(&self, found: &Found) -> Result<()> {
        if let Some(Some(name)) = &self.name {
            check_free(found, name, Some(&found.key))?;
        }
        let labels = further(&found.entry);
        if let Some(unknown) = self.remove.iter().find(|label| !labels.iter().any(|own| same(own, label))) {
            let all = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
            bail!("{} has no label {unknown:?}; it has: {all}", found.key);
        }
        Ok(())
    }

    fn applied(&self, entry: &SessionEntry) -> SessionEntry {
        let mut labels: Vec<String> = further(entry).into_iter().map(str::to_owned).collect();
        labels.retain(|label| !self.remove.iter().any(|gone| same(gone, label)));
        for label in &self.add {
            if !labels.iter().any(|own| same(own, label)) {
                labels.push(label.clone());
            }
        }
        let mut record = entry.clone().into_object();
        match &self.name {
            Some(Some(name)) => drop(record.insert("label".to_owned(), name.as_str().into())),
            Some(None) => drop(record.shift_remove("label")),
            None => {}
        }
        if labels.is_empty() {
            record.shift_remove("labels");
        } else {
            record.insert("labels".to_owned(), labels.into_iter().map(Value::String).collect());
        }
        SessionEntry::new(record)
    }
}

/// Refuses a name that another session of the store has.
pub fn check_free(found: &Found, name: &str, own: Option<&SessionKey>) -> Result<()> {
    let is_taken =
        |row: &Row| Some(&row.key) != own && row.glance.text(Field::Label).as_deref() == Some(name);
    if book::rows(&found.store)?.iter().any(is_taken) {
        bail!("label already in use: {name}");
    }
    Ok(())
}

/// The labels besides the name.
fn further(entry: &SessionEntry) -> Vec<&str> {
    let labels = entry.get("labels").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    labels.iter().filter_map(Value::as_str).collect()
}

fn same(a: &str, b: &str) -> bool {
    text::lower(text::trim(a)) == text::lower(text::trim(b))
}

fn print_json(found: &Found, entry: &SessionEntry) -> Result<()> {
    let mut out = Object::new();
    out.insert("key".to_owned(), found.key.as_str().into());
    out.insert("label".to_owned(), entry.label().map_or(Value::Null, Value::from));
    out.insert("labels".to_owned(), further(entry).into_iter().map(Value::from).collect());
    terminal::print_json(&Value::Object(out))
}

fn print_text(found: &Found, entry: &SessionEntry) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let name = entry.label().unwrap_or("(no label)");
    let labels = further(entry);
    let more = if labels.is_empty() { String::new() } else { format!(" [{}]", labels.join(", ")) };
    writeln!(out, "{}", terminal::harmless(&format!("{}: {name}{more}", found.key)))?;
    Ok(())
}
