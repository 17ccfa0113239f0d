//! `yabby history [FILE]`: a transcript as a person wants to read it.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anstyle::{AnsiColor, Style};
use anyhow::{Context as _, Result, bail};
use clap::Args;
use jiff::Timestamp;
use yabby_domain::json::{self, Object, Value};
use yabby_domain::message::{Block, Content, Message, Role};
use yabby_domain::seam::Part;
use yabby_domain::transcript::context::for_model;
use yabby_domain::transcript::entry::{Entry, EntryKind};
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::tree::Transcript;
use yabby_store::files::transcripts::TranscriptFolder;

/// The conversation that is shown when no file is named.
const SAMPLE: &str = include_str!(
    "../../../../fixtures/home-sample/agents/main/sessions/5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11.jsonl"
);

#[derive(Args)]
pub struct Arguments {
    /// The transcript to read; a sample conversation without it
    file: Option<PathBuf>,
    /// Print what the model would see, as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let text = match &arguments.file {
        None => SAMPLE.to_owned(),
        Some(path) => {
            let bytes = conversation_at(path).with_context(|| {
                format!("{} cannot be read; give the path of a transcript (.jsonl)", path.display())
            })?;
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    let Some(transcript) = Transcript::read(&text) else {
        let name = arguments
            .file
            .as_ref()
            .map_or_else(|| "the sample".to_owned(), |path| path.display().to_string());
        bail!(
            "{name} is no transcript: it does not begin with a session header; give the path of a session's .jsonl file"
        );
    };
    report_unread(&text);
    if arguments.json { print_json(&transcript) } else { print_text(&transcript) }
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
            counted(unread, "line"),
            if unread == 1 { "is" } else { "are" }
        );
    }
}

fn counted(count: usize, thing: &str) -> String {
    if count == 1 { format!("1 {thing}") } else { format!("{count} {thing}s") }
}

/// The context that the next turn would begin with.
fn print_json(transcript: &Transcript) -> Result<()> {
    let context = transcript.context();
    let mut value = Object::new();
    value.insert("sessionId".to_owned(), transcript.session_id().into());
    let messages = for_model(context.messages).into_iter().map(Message::into_value);
    value.insert("messages".to_owned(), messages.collect());
    writeln!(anstream::stdout(), "{}", json::stringify_pretty(&Value::Object(value)))?;
    Ok(())
}

const HEADING: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();

fn print_text(transcript: &Transcript) -> Result<()> {
    let mut out = anstream::stdout().lock();
    let messages = transcript.context().messages;
    let name = transcript.name();
    let title = harmless(name.as_deref().unwrap_or_else(|| transcript.session_id()));
    writeln!(out, "{HEADING}{title}{HEADING:#} {FAINT}{}{FAINT:#}", counted(messages.len(), "message"))?;
    let told = transcript.branch().iter().filter(|entry| entry.kind() == EntryKind::Message).count();
    let shown = messages.iter().filter(|message| !is_summary(message)).count();
    if told > shown {
        let earlier = counted(told - shown, "earlier message");
        writeln!(out, "{FAINT}{earlier} summarised below{FAINT:#}")?;
    }
    for message in &messages {
        let (label, style) = label(message.role());
        match message.get("timestamp").and_then(Value::as_f64).and_then(minute) {
            Some(time) => writeln!(out, "\n{style}{label}{style:#} {FAINT}{time}{FAINT:#}")?,
            None => writeln!(out, "\n{style}{label}{style:#}")?,
        }
        for line in body(message).lines() {
            writeln!(out, "  {}", harmless(line))?;
        }
    }
    Ok(())
}

fn is_summary(message: &Message) -> bool {
    matches!(message.role(), Role::CompactionSummary | Role::BranchSummary)
}

/// What somebody wrote must not steer the reader's terminal.
fn harmless(line: &str) -> String {
    line.chars().map(|c| if c.is_control() && c != '\t' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

fn label(role: Role) -> (&'static str, Style) {
    let colour = |colour: AnsiColor| Style::new().bold().fg_color(Some(colour.into()));
    match role {
        Role::User => ("you", colour(AnsiColor::Cyan)),
        Role::Assistant => ("assistant", colour(AnsiColor::Green)),
        Role::ToolResult => ("tool", colour(AnsiColor::Yellow)),
        Role::BashExecution => ("command", colour(AnsiColor::Yellow)),
        Role::CompactionSummary | Role::BranchSummary => ("summary", colour(AnsiColor::Magenta)),
        Role::Custom | Role::Other => ("note", colour(AnsiColor::Blue)),
    }
}

/// The text of a message; calls of tools in one line each, their results shortened.
fn body(message: &Message) -> String {
    if let Some(summary) = message.text_field("summary").or_else(|| message.text_field("command")) {
        return summary.to_owned();
    }
    let blocks = match message.content() {
        Content::Text(text) => return text.to_owned(),
        Content::Missing => return String::new(),
        Content::Blocks(blocks) => blocks,
    };
    let parts: Vec<String> = blocks
        .iter()
        .map(|block| match Block::of(block) {
            Block::Text(text) if message.role() == Role::ToolResult => first_lines(text),
            Block::Text(text) => text.to_owned(),
            Block::Thinking { .. } => "[thinking]".to_owned(),
            Block::ToolCall(call) => {
                let arguments = call.arguments.map(json::stringify).unwrap_or_default();
                format!("[{} {arguments}]", call.name.unwrap_or("tool"))
            }
            Block::Image => "[image]".to_owned(),
            Block::Other => "[unknown content]".to_owned(),
        })
        .collect();
    parts.join("\n")
}

fn first_lines(text: &str) -> String {
    const SHOWN: usize = 4;
    let lines: Vec<&str> = text.lines().collect();
    match lines.len().checked_sub(SHOWN) {
        None | Some(0) => lines.join("\n"),
        Some(more) => format!("{}\n[{more} more lines]", lines[..SHOWN].join("\n")),
    }
}

fn minute(ms: f64) -> Option<String> {
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and is then out of range")]
    let time = Timestamp::from_millisecond(ms as i64).ok()?;
    Some(time.strftime("%Y-%m-%d %H:%M UTC").to_string())
}
