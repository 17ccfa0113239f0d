//! `yabby history`: a conversation as a person wants to read it.

mod follow;
pub mod shown;
mod tree;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value};
use yabby_domain::message::Message;
use yabby_domain::seam::Part;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::context::{compaction_summary, for_model, message_of};
use yabby_domain::transcript::entry::{Entry, EntryKind};
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::pieces::{Window, is_message, pieces};
use yabby_domain::transcript::tree::Transcript;
use yabby_store::files::transcripts::TranscriptFolder;

use crate::book::{Book, Conversation, Found};
use crate::cli;
use crate::earlier::EarlierConversation;
use crate::pager::Output;
use crate::setting::Setting;
use crate::terminal;
use shown::{Detail, Shown};

#[derive(Args)]
pub struct Arguments {
    /// A session's key, its id (or how that begins), its label, or a transcript file
    /// [default: the session that changed last]
    session: Option<String>,
    /// Look only in the sessions of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Show the conversation before this one, or the COUNT-th before it: what was said before a reset
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "1", value_parser = cli::count, conflicts_with = "follow")]
    previous: Option<usize>,
    /// Draw every branch, a line for each entry
    #[arg(long, conflicts_with_all = ["follow", "limit", "offset", "context"])]
    tree: bool,
    /// Only the last so many messages
    #[arg(long, value_name = "COUNT", value_parser = cli::count, allow_negative_numbers = true)]
    limit: Option<usize>,
    /// Leave out so many messages at the end
    #[arg(long, value_name = "COUNT", default_value_t = 0, value_parser = cli::count, allow_negative_numbers = true)]
    offset: usize,
    /// Show thinking, and all that tools were asked and answered
    #[arg(long)]
    full: bool,
    /// Show what the model would be told next, instead of the whole conversation
    #[arg(long, conflicts_with = "follow")]
    context: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Go on printing what is said from now on
    #[arg(short, long, conflicts_with = "json")]
    follow: bool,
    /// Print without a pager
    #[arg(long)]
    no_pager: bool,
}

/// A conversation, and how to read it again.
struct Source {
    /// The session that it belongs to, if a store knows.
    found: Option<Found>,
    /// The session that it was the conversation of, if it is an earlier one.
    earlier_key: Option<SessionKey>,
    file: PathBuf,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let Some(source) = source(setting, arguments)? else { return print_nothing(arguments) };
    let text = match source.read()? {
        Some(text) => text,
        None if arguments.follow => return wait_for_the_first(setting, source, arguments),
        None => return Err(source.silence()),
    };
    let Some(transcript) = Transcript::read(&text) else {
        bail!(
            "{} is no transcript: it does not begin with a session header; `yabby doctor` says what can be done",
            source.file.display()
        );
    };
    report_unread(&text);
    if arguments.json && arguments.tree {
        return terminal::print_json(&tree::to_json(&transcript));
    }
    let window = Window { limit: arguments.limit, offset: arguments.offset };
    if arguments.json {
        return terminal::print_json(&to_json(&source, &transcript, window, arguments.context));
    }
    let straight = arguments.no_pager || arguments.follow;
    let mut out = if straight { Output::straight() } else { Output::paged() };
    print(&mut out, &source, &transcript, arguments, window)?;
    out.flush()?;
    if arguments.follow {
        let lines = follow::lines(&transcript.branch());
        follow::follow(setting, source, lines, arguments.detail(), &mut out)?;
    }
    Ok(out.finish()?)
}

/// There is no session at all.
fn print_nothing(arguments: &Arguments) -> Result<()> {
    if !arguments.json {
        return Ok(writeln!(anstream::stdout(), "No sessions found.")?);
    }
    let list = if arguments.tree { "entries" } else { "messages" };
    let mut value = Object::new();
    value.insert("sessionId".to_owned(), Value::Null);
    value.insert(list.to_owned(), Value::Array(Vec::new()));
    terminal::print_json(&Value::Object(value))
}

fn wait_for_the_first(setting: &Setting, source: Source, arguments: &Arguments) -> Result<()> {
    anstream::eprintln!("note: nothing has been said yet; this waits for the first message");
    follow::follow(setting, source, Vec::new(), arguments.detail(), &mut Output::straight())
}

impl Arguments {
    fn detail(&self) -> Detail {
        if self.full { Detail::Full } else { Detail::Folded }
    }
}

fn print(
    out: &mut Output,
    source: &Source,
    transcript: &Transcript,
    arguments: &Arguments,
    window: Window,
) -> Result<()> {
    let branch = transcript.branch();
    let mut shown = Shown::new(arguments.detail());
    shown.title(out, &source.title(transcript), transcript, &branch)?;
    if arguments.tree {
        return tree::print(out, transcript);
    }
    if arguments.context {
        let messages = for_model(transcript.context().messages);
        return shown.messages(out, &messages);
    }
    let chosen = window.of(&branch);
    let messages = |entries: &[&Entry]| entries.iter().filter(|entry| is_message(entry)).count();
    let later = window.offset.min(messages(&branch));
    let hidden = messages(&branch) - later - messages(chosen);
    if hidden > 0 {
        shown.hidden(out, hidden)?;
    }
    shown.pieces(out, &pieces(transcript, chosen))?;
    if later > 0 {
        shown.later(out, later)?;
    }
    Ok(())
}

/// The conversation that the person means; `None` if there is none at all.
fn source(setting: &Setting, arguments: &Arguments) -> Result<Option<Source>> {
    if let Some(file) = arguments.session.as_deref().filter(|session| is_file_name(session)) {
        if arguments.previous.is_some() {
            bail!("--previous needs a session; a file has none before it");
        }
        return Ok(Some(Source { found: None, earlier_key: None, file: PathBuf::from(file) }));
    }
    let book = Book::open(setting)?;
    let agent = arguments.agent.as_deref().map(|agent| book.agent(agent)).transpose()?;
    if let Some(count) = arguments.previous {
        return previous(&book, arguments.session.as_deref(), agent.as_ref(), count);
    }
    let found = match arguments.session.as_deref() {
        Some(session) => match book.find(session, agent.as_ref()) {
            Ok(found) => Some(found),
            Err(error) => {
                let earlier = book.earlier_by_id(session, agent.as_ref())?.ok_or(error)?;
                return Ok(Some(Source::of_earlier(earlier)));
            }
        },
        None => book.newest(agent.as_ref())?,
    };
    Ok(found.map(|found| Source { file: found.file.clone(), earlier_key: None, found: Some(found) }))
}

/// The conversation that a session had `count` conversations before the current one.
fn previous(
    book: &Book<'_>,
    session: Option<&str>,
    agent: Option<&AgentId>,
    count: usize,
) -> Result<Option<Source>> {
    let newest = match session {
        Some(_) => None,
        None => book.newest(agent)?.map(|found| found.key.as_str().to_owned()),
    };
    let Some(session) = session.map(str::to_owned).or(newest) else { return Ok(None) };
    let (key, earlier) = book.earlier_of(&session, agent)?;
    let known = earlier.len();
    match count.checked_sub(1).and_then(|at| earlier.into_iter().nth(at)) {
        Some(earlier) => Ok(Some(Source::of_earlier(earlier))),
        None if count == 0 => bail!("--previous counts from 1, the conversation before the current one"),
        None => bail!(
            "{} of {key} {} known; `yabby sessions --all` lists all there are",
            match known {
                0 => "no earlier conversation".to_owned(),
                known => format!("only {}", terminal::counted(known, "earlier conversation")),
            },
            if known < 2 { "is" } else { "are" }
        ),
    }
}

/// Keys and ids have no slash and no ending; whoever names a file that is not there should hear so.
fn is_file_name(session: &str) -> bool {
    session.contains('/') || session.contains(".jsonl") || Path::new(session).is_file()
}

impl Source {
    fn of_earlier(earlier: EarlierConversation) -> Self {
        Self { found: None, earlier_key: earlier.key, file: earlier.file }
    }

    /// The session that it is or was the conversation of.
    fn key(&self) -> Option<&SessionKey> {
        self.found.as_ref().map(|found| &found.key).or(self.earlier_key.as_ref())
    }

    /// What was said; `None` if nothing was yet.
    fn read(&self) -> Result<Option<String>> {
        let bytes = match &self.found {
            Some(Found { conversation: Some(Conversation { folder, id }), .. }) => {
                folder.peek_blocking(id, Part::First(usize::MAX))?
            }
            Some(_) => None,
            None => Some(conversation_at(&self.file).with_context(|| {
                format!(
                    "{} cannot be read; give a session's key, or a transcript (.jsonl)",
                    self.file.display()
                )
            })?),
        };
        Ok(bytes.map(|bytes| yabby_domain::text::lossy(&bytes).into_owned()))
    }

    fn silence(&self) -> anyhow::Error {
        match &self.found {
            Some(found) => found.silence(),
            None => anyhow!("nothing has been said yet: there is no {}", self.file.display()),
        }
    }

    fn title(&self, transcript: &Transcript) -> String {
        let label = self.found.as_ref().and_then(|found| found.entry.label().map(str::to_owned));
        let key = self.key().map(|key| key.as_str().to_owned());
        let name = label.or_else(|| transcript.name());
        match (name, key) {
            (Some(name), Some(key)) => format!("{name} ({key})"),
            (Some(name), None) => name,
            (None, Some(key)) => key,
            (None, None) => transcript.session_id().to_owned(),
        }
    }
}

/// A conversation as it is kept: with the questions that wait beside its file for an answer. Anything
/// that is not called like a transcript, such as one that was put away, is read as it is.
fn conversation_at(path: &Path) -> Result<Vec<u8>> {
    // The person named this file; where a link leads is theirs to say.
    let real = path.canonicalize().or_else(|_| std::path::absolute(path))?;
    let id = real.file_name().and_then(|name| TranscriptId::of_file(&name.to_string_lossy()).ok());
    if let (Some(folder), Some(id)) = (real.parent(), id)
        && let Some(bytes) = TranscriptFolder::open(folder).peek_blocking(&id, Part::First(usize::MAX))?
    {
        return Ok(bytes);
    }
    Ok(std::fs::read(path)?)
}

/// Lines that cannot be read are left alone, but not passed over in silence.
fn report_unread(text: &str) {
    let unread = text.lines().filter(|line| !line.trim().is_empty() && Entry::parse(line).is_none()).count();
    if unread > 0 {
        anstream::eprintln!(
            "note: {} cannot be read and {} skipped",
            terminal::counted(unread, "line"),
            if unread == 1 { "is" } else { "are" }
        );
    }
}

/// Messages as they stand in the file, each with the id of its entry; or what the model would be told.
fn to_json(source: &Source, transcript: &Transcript, window: Window, context: bool) -> Value {
    let branch = transcript.branch();
    let mut value = Object::new();
    if let Some(key) = source.key() {
        value.insert("sessionKey".to_owned(), key.as_str().into());
    }
    value.insert("sessionId".to_owned(), transcript.session_id().into());
    value.insert("file".to_owned(), source.file.display().to_string().into());
    value.insert("total".to_owned(), branch.iter().filter(|entry| is_message(entry)).count().into());
    let messages: Vec<Value> = if context {
        for_model(transcript.context().messages).into_iter().map(Message::into_value).collect()
    } else {
        value.insert("offset".to_owned(), window.offset.into());
        window.of(&branch).iter().filter_map(|entry| message_json(entry)).collect()
    };
    value.insert("messages".to_owned(), messages.into());
    Value::Object(value)
}

fn message_json(entry: &Entry) -> Option<Value> {
    let mut message = match entry.kind() {
        EntryKind::Compaction => compaction_summary(&entry.object(), entry.time()),
        _ => message_of(entry)?,
    };
    if let Some(id) = entry.id() {
        message.set("entryId", id);
    }
    Some(message.into_value())
}
