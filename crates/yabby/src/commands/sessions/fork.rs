//! `yabby sessions fork`: go on from a conversation in a new session.

use std::io::Write as _;

use anyhow::{Result, bail};
use clap::Args;
use jiff::Timestamp;
use yabby_domain::json::{Object, Value};
use yabby_domain::seam::Fork;
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::key::{KeyPolicy, SessionKey};
use yabby_domain::session::label::parse_label;
use yabby_domain::session::renew::forked;
use yabby_domain::text;

use super::Which;
use super::label::check_free;
use crate::book::{Book, Conversation, Found};
use crate::setting::Setting;
use crate::terminal;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  yabby sessions fork main\n  yabby sessions fork main --at 3f2a91bc --key agent:main:what-if\n  yabby history main --tree      shows the ids of the entries"
)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The entry to go on from [default: the last one]
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// The key of the new session [default: agent:<agent>:fork:<id>]
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// What to call the new session
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let found = arguments.which.find(&book)?;
    let label = arguments.label.as_deref().map(|label| parse_label(Some(label))).transpose()?;
    if let Some(label) = label {
        check_free(&found, label, None)?;
    }
    let wanted = arguments.key.as_deref().map(|key| wanted_key(&book, &found, key)).transpose()?;
    let how = match &arguments.at {
        Some(entry) => Fork::At(entry.clone()),
        None => Fork::Leaf,
    };
    let Some(Conversation { folder, id }) = &found.conversation else { return Err(found.silence()) };
    let transcript = folder.fork_blocking(id, &how)?;
    let Some(loaded) = folder.load_blocking(&transcript)? else {
        bail!("{} is gone already; try again", transcript.file_name());
    };
    let id = loaded.session_id().to_owned();
    let beginning: String = id.chars().take(8).collect();
    let key = wanted.unwrap_or_else(|| SessionKey::new(format!("agent:{}:fork:{beginning}", found.agent)));
    let file = found.file.with_file_name(transcript.file_name());
    record(&found, &key, &id, &file.display().to_string(), label)?;
    if arguments.json {
        let mut out = Object::new();
        out.insert("ok".to_owned(), true.into());
        out.insert("key".to_owned(), key.as_str().into());
        out.insert("sessionId".to_owned(), id.into());
        out.insert("sessionFile".to_owned(), file.display().to_string().into());
        out.insert("forkedFrom".to_owned(), found.key.as_str().into());
        return terminal::print_json(&Value::Object(out));
    }
    let mut out = anstream::stdout().lock();
    let [from, key] = [&found.key, &key].map(|key| terminal::harmless(key.as_str()));
    writeln!(out, "{key} goes on from {from} ({}).", setting.place.shortened(&file))?;
    Ok(())
}

/// A key that nobody has, in the store that the fork will be in.
fn wanted_key(book: &Book<'_>, found: &Found, key: &str) -> Result<SessionKey> {
    let policy = KeyPolicy::from_config(book.config());
    let key = match text::trim(key) {
        "" => bail!("a session needs a key, such as agent:{}:what-if", found.agent),
        bare if !bare.contains(':') && found.key.agent_key().is_some() => {
            policy.resolve_main_alias(&found.agent, &format!("agent:{}:{}", found.agent, text::lower(bare)))
        }
        key => policy.store_key(key),
    };
    if key.agent_key().is_some() && key.agent_id() != found.agent {
        bail!("{key} belongs to another agent; a fork stays with {}", found.agent);
    }
    if found.store.get_blocking(&key)?.is_some() {
        bail!("there is a session {key} already; choose another --key");
    }
    Ok(key)
}

fn record(found: &Found, key: &SessionKey, id: &str, file: &str, label: Option<&str>) -> Result<()> {
    let now = Timestamp::now().as_millisecond() as f64;
    let mut record = forked(Some(&found.entry), id, now).into_object();
    record.insert("sessionFile".to_owned(), file.into());
    if let Some(label) = label {
        record.insert("label".to_owned(), label.into());
    }
    let record = SessionEntry::new(record);
    let expected = record.clone();
    // Between the look and this, somebody may have taken the key: theirs stays.
    let change = move |entry: &mut Option<SessionEntry>| {
        entry.get_or_insert(record);
    };
    let kept = found.update(key, Box::new(change))?;
    if kept.as_ref() != Some(&expected) {
        bail!("there is a session {key} already; the fork is in {file}");
    }
    Ok(())
}
