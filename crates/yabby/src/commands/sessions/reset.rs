//! `yabby sessions reset`: an empty conversation under the same key (`gateway.md` §6).

use std::io::Write as _;

use anyhow::Result;
use clap::Args;
use jiff::Timestamp;
use uuid::Uuid;
use yabby_domain::json::{Object, Value};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::renew::renewed;

use super::Which;
use crate::book::Book;
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  yabby sessions reset main\n  yabby sessions reset agent:main:telegram:group:-100123 --json"
)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let found = arguments.which.find(&book)?;
    let id = Uuid::new_v4().to_string();
    let now = Timestamp::now().as_millisecond() as f64;
    let new = id.clone();
    let change = move |entry: &mut Option<SessionEntry>| *entry = Some(renewed(entry.as_ref(), &new, now));
    let entry = found.update(&found.key, Box::new(change))?;
    if arguments.json {
        let mut out = Object::new();
        out.insert("ok".to_owned(), true.into());
        out.insert("key".to_owned(), found.key.as_str().into());
        out.insert("entry".to_owned(), entry.map_or(Value::Null, |entry| Value::Object(entry.into_object())));
        return terminal::print_json(&Value::Object(out));
    }
    let key = terminal::harmless(found.key.as_str());
    let mut out = anstream::stdout().lock();
    writeln!(out, "{key} begins anew as {id}.")?;
    if found.file.exists() {
        writeln!(out, "What was said before stays in {}.", setting.place.shortened(&found.file))?;
    }
    Ok(())
}
