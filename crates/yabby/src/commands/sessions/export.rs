//! `yabby sessions export`: a conversation to give away, as Markdown or HTML.

mod html;
mod markdown;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use yabby_domain::transcript::pieces::{Piece, Speaker, pieces};
use yabby_domain::transcript::tree::Transcript;

use super::Which;
use crate::book::{Book, Found};
use crate::setting::Setting;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  yabby sessions export main > conversation.md\n  yabby sessions export main --output conversation.html"
)]
pub struct Arguments {
    #[command(flatten)]
    which: Which,
    /// What to write [default: by the ending of the file, else Markdown]
    #[arg(long)]
    format: Option<Format>,
    /// Where to write it [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file if there is one
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Markdown,
    Html,
}

/// A conversation that is to be written.
struct Told {
    title: String,
    session_id: String,
    pieces: Vec<Piece>,
    zone: TimeZone,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let book = Book::open(setting)?;
    let found = arguments.which.find(&book)?;
    let loaded = found.conversation.as_ref().map(|talk| talk.folder.load_blocking(&talk.id)).transpose()?;
    let Some(transcript) = loaded.flatten() else { return Err(found.silence()) };
    let told = told(&found, &transcript);
    let format = arguments.format.unwrap_or_else(|| of_ending(arguments.output.as_deref()));
    let text = match format {
        Format::Markdown => markdown::document(&told),
        Format::Html => html::document(&told),
    };
    match arguments.output.as_deref().filter(|path| *path != Path::new("-")) {
        None => Ok(anstream::stdout().write_all(text.as_bytes())?),
        Some(path) => write(path, &text, arguments.force),
    }
}

fn of_ending(path: Option<&Path>) -> Format {
    let ending = path.and_then(Path::extension).map(|ending| ending.to_ascii_lowercase());
    match ending.and_then(|ending| ending.into_string().ok()).as_deref() {
        Some("html" | "htm") => Format::Html,
        _ => Format::Markdown,
    }
}

fn told(found: &Found, transcript: &Transcript) -> Told {
    let label = found.entry.label().map(str::to_owned);
    Told {
        title: label.or_else(|| transcript.name()).unwrap_or_else(|| found.key.as_str().to_owned()),
        session_id: transcript.session_id().to_owned(),
        pieces: pieces(transcript, &transcript.branch()),
        zone: TimeZone::system(),
    }
}

/// A private file: what people said is nobody else's business.
fn write(path: &Path, text: &str, force: bool) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).mode(0o600);
    if force {
        options.create(true).truncate(true)
    } else {
        options.create_new(true)
    };
    let mut file = options.open(path).with_context(|| match path.exists() && !force {
        true => format!("{} is there already; --force replaces it", path.display()),
        false => format!("cannot write {}", path.display()),
    })?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    anstream::eprintln!("Wrote {}.", path.display());
    Ok(())
}

fn speaker(speaker: Speaker) -> &'static str {
    match speaker {
        Speaker::User => "You",
        Speaker::Assistant => "Assistant",
        Speaker::Tool => "Tool",
        Speaker::Command => "Command",
        Speaker::Note => "Note",
    }
}

impl Told {
    fn moment(&self, piece: &Piece) -> Option<String> {
        #[expect(clippy::cast_possible_truncation, reason = "saturates, and is then out of range")]
        let time = Timestamp::from_millisecond(piece.time? as i64).ok()?.to_zoned(self.zone.clone());
        Some(time.strftime("%Y-%m-%d %H:%M %Z").to_string())
    }
}
