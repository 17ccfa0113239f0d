//! `cargo xtask interop`: the real OpenClaw judges what yabby reads and writes.
//!
//! Either side is a process that does errands: `store_worker serve` for yabby, `judge.mjs` for the
//! reference, with the reference's own code. Each story gets a folder of its own; that of a story that
//! fails is kept.

mod commands;
mod continued;
mod conversations;
mod doctor;
mod gateway;
mod leaving;
mod locks;
mod memory;
mod prompts;
mod sessions;
mod storm;
mod transcripts;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::peer::Peer;
use crate::program::Build;
use crate::reference::Reference;
use crate::worker::Worker;

/// What a story found worth telling, such as a number.
type Told = Result<String>;
type Story = fn(&Stage, &mut Peer) -> Told;

const STORIES: [(&str, Story); 31] = [
    ("yabby reads the reference's store, and changes no byte", sessions::read_what_the_reference_saved),
    ("yabby reads stores of other hands, and changes no byte", sessions::read_foreign_stores),
    ("the reference reads yabby's store", sessions::written_by_yabby),
    ("`openclaw sessions --json` shows yabby's sessions", sessions::shown_by_the_command_line),
    ("yabby saves the reference's exact text", sessions::same_text),
    (
        "yabby reads the reference's transcripts, and changes no byte",
        transcripts::read_what_the_reference_wrote,
    ),
    ("yabby reads transcripts of other hands, and changes no byte", transcripts::read_foreign_files),
    ("the reference reads yabby's transcripts, and changes no byte", transcripts::written_by_yabby),
    ("the two go on with each other's transcripts", transcripts::written_in_turns),
    ("a transcript is written with its first answer", transcripts::first_flush),
    ("a compacted transcript is one the reference goes on with", transcripts::compacted),
    ("both update one store at once", storm::both_at_once),
    ("both update one store, and yabby is killed on the way", storm::yabby_is_killed),
    ("a lock of a reference that died stops nobody", locks::of_the_dead),
    ("each waits for the other's lock on a store", locks::of_a_store),
    ("each waits for the other's lock on a transcript", locks::of_a_transcript),
    ("the reference reads a folder that `yabby doctor --fix` repaired", doctor::repaired),
    ("both list the same sessions after yabby worked on them", commands::sessions),
    ("both read the same configuration after yabby edited it", commands::configuration),
    ("the reference reads what `yabby import` adopted", commands::imports),
    (
        "the reference is told what `yabby sessions undo-compaction` brought back",
        commands::undone_compactions,
    ),
    ("the reference reads a conversation that `yabby agent` held", commands::held_by_yabby),
    ("OpenClaw goes on after the steps of README's “How to leave”", leaving::by_the_readme),
    (
        "a conversation of OpenClaw's, then yabby's, then OpenClaw's, in Anthropic's format",
        continued::in_anthropic_messages,
    ),
    (
        "a conversation of OpenClaw's, then yabby's, then OpenClaw's, in OpenAI's chat format",
        continued::in_openai_chat,
    ),
    (
        "yabby's prompt for a workspace is not longer than OpenClaw's, and lists its skill alike",
        prompts::side_by_side,
    ),
    ("both keep one index of memories, and neither embeds what the other has", memory::in_turns),
    ("OpenClaw's commands work with yabby's gateway", gateway::some_commands),
    ("OpenClaw's client is answered whatever it asks of yabby's gateway", gateway::every_method),
    ("OpenClaw's terminal chats through yabby's gateway", gateway::terminal),
    ("OpenClaw's page chats through yabby's gateway", gateway::page),
];

/// What takes long, and holds little that the others do not.
const LONG_STORIES: [(&str, Story); 2] = [
    ("every command of OpenClaw's that asks a gateway works with yabby's gateway", gateway::every_command),
    ("every tab of OpenClaw's page shows what yabby's gateway has", gateway::every_tab),
];

/// The stories whose names contain these words; without `--all` none of the long ones.
pub fn run(words: &[&str]) -> Result<()> {
    let (flags, words): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| word.starts_with("--"));
    let words = words.join(" ");
    let long = match flags[..] {
        [] => &[][..],
        ["--all"] => &LONG_STORIES,
        _ => bail!("interop knows no {}, only --all", flags.join(" ")),
    };
    let stories: Vec<_> = STORIES.iter().chain(long).filter(|(name, _)| name.contains(&words)).collect();
    ensure!(!stories.is_empty(), "no story has {words:?} in its name");
    let reference = Reference::installed()?;
    let worker = Worker::build(Build::Quick)?;
    let home = tempfile::tempdir()?;
    let mut judge = judge(&reference, home.path())?;
    let (mut told, mut failed) = (0, 0);
    for (name, story) in stories {
        told += 1;
        let folder = tempfile::Builder::new().prefix("yabby-interop-").tempdir()?;
        let stage = Stage { reference: &reference, worker: &worker, home: folder.path().canonicalize()? };
        match story(&stage, &mut judge) {
            Ok(told) if told.is_empty() => println!("ok    {name}"),
            Ok(told) => println!("ok    {name}: {told}"),
            Err(error) => {
                failed += 1;
                println!("FAIL  {name}: {error:#}\n      see {}", folder.keep().display());
                // It may still be waiting for something.
                judge = self::judge(&reference, home.path())?;
            }
        }
    }
    println!("{told} stories, {failed} failed");
    ensure!(failed == 0, "yabby and OpenClaw do not agree");
    Ok(())
}

/// Where a story plays.
struct Stage<'s> {
    reference: &'s Reference,
    worker: &'s Worker,
    home: PathBuf,
}

impl Stage<'_> {
    /// The folder of an agent's sessions, where the reference looks for it by itself.
    fn folder(&self) -> Result<PathBuf> {
        let folder = crate::reference::state_folder(&self.home).join("agents/main/sessions");
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A judge of this story's own, to be killed.
    fn mortal_judge(&self) -> Result<Peer> {
        judge(self.reference, &self.home)
    }

    fn yabby(&self) -> Result<Peer> {
        self.worker.serve()
    }

    /// What `openclaw …` prints, as JSON.
    fn openclaw(&self, words: &[&str]) -> Result<Value> {
        let output = self.reference.openclaw(&self.home).args(words).output().context("running openclaw")?;
        ensure!(output.status.success(), "openclaw: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout)?;
        serde_json::from_str(&text).with_context(|| format!("openclaw printed {text}"))
    }
}

fn judge(reference: &Reference, home: &Path) -> Result<Peer> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/interop/judge.mjs");
    Peer::start("OpenClaw", &mut reference.script(&script, home))
}

/// The records of a store that are objects, as text, in order.
pub fn records(peer: &mut Peer, store: &Path) -> Result<Vec<(String, String)>> {
    let answer = peer.ask(&json!({ "do": "list", "store": store }))?;
    let entries = answer["entries"].as_array().context("a list was asked for")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let records = entries.iter().map(|entry| (text(&entry[0]), text(&entry[1])));
    Ok(records.filter(|(_, record)| record.starts_with('{')).collect())
}

/// Fails with the first difference.
fn ensure_same(what: &str, yabby: &str, reference: &str) -> Result<()> {
    if yabby == reference {
        return Ok(());
    }
    let at = yabby.bytes().zip(reference.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| {
        let bytes = text.as_bytes();
        String::from_utf8_lossy(&bytes[at.saturating_sub(60)..bytes.len().min(at + 60)]).into_owned()
    };
    bail!("{what} differs at byte {at}: yabby …{}… OpenClaw …{}…", around(yabby), around(reference))
}
