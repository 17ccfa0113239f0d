//! What is measured. Times are in seconds.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use serde_json::json;
use yabby_domain::json::{Object, Value};
use yabby_domain::message::Message;
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_domain::text;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_domain::transcript::preview::PreviewLimits;
use yabby_domain::transcript::tree::NewEntry;
use yabby_store::files::sessions::SessionFile;
use yabby_store::files::transcripts::{TranscriptFolder, Writer};

use crate::serve::{begin, conversations, transcript};
use crate::{Result, say};

/// Opens a transcript, builds the context, and looks at every message of it.
pub fn context(file: &Path) -> Result<()> {
    let (folder, id) = transcript(file)?;
    let plan = folder.context_plan(&id)?.ok_or("there is no such transcript")?;
    let (mut messages, mut characters) = (0_usize, 0_usize);
    for message in plan.messages() {
        messages += 1;
        characters += text_length(&message?);
    }
    say(&json!({ "messages": messages, "characters": characters, "peakMemory": peak_memory()? }))
}

fn text_length(message: &Message) -> usize {
    if let Some(summary) = message.text_field("summary") {
        return text::units(summary);
    }
    let of_block = |block: &Value| block.get("text").and_then(Value::as_str).map_or(0, text::units);
    message.text_field("content").map_or_else(|| message.blocks().iter().map(of_block).sum(), text::units)
}

/// The most memory this process ever had, in bytes.
fn peak_memory() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("the kernel does not tell")?;
    Ok(peak.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

/// As after a turn: a few fields of one record. `count` updates by each of `writers`.
pub fn updates(store: &SessionFile, keys: &[String], writers: usize, count: usize) -> Result<Value> {
    // What it costs to open the store is no part of an update.
    store.list_blocking()?;
    all_at_once(0..writers, |writer| {
        (0..count)
            .map(|number| {
                let key = SessionKey::new(keys[(writer * count + number) % keys.len()].as_str());
                let started = Instant::now();
                store.update_blocking(&key, after_a_turn(number))?;
                Ok(started.elapsed().as_secs_f64())
            })
            .collect()
    })
}

/// Lets every writer do its work on a thread of its own; how long each piece of it took, and all of it.
fn all_at_once<W: Send>(
    writers: impl IntoIterator<Item = W>,
    work: impl Fn(W) -> Result<Vec<f64>> + Sync,
) -> Result<Value> {
    let begin = Instant::now();
    let times = std::thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = writers.into_iter().map(|writer| scope.spawn(move || work(writer))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a writer panicked")?)
            .collect::<Result<Vec<_>>>()
    })?;
    let wall = begin.elapsed().as_secs_f64();
    Ok(json!({ "wall": wall, "times": times.concat(), "refused": 0 }))
}

/// Never the same twice: an update that changes nothing writes nothing.
fn after_a_turn(number: usize) -> yabby_domain::seam::Change {
    static TURNS: AtomicU32 = AtomicU32::new(1);
    let turn = f64::from(TURNS.fetch_add(1, Ordering::Relaxed));
    Box::new(move |record: &mut Option<SessionEntry>| {
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let number = number as f64;
        let mut patch = Patch::default();
        patch.set_updated_at(Some(1_800_000_000_000.0 + turn));
        patch.set_input_tokens(Some(turn));
        patch.set_output_tokens(Some(number));
        patch.set_total_tokens(Some(turn + number));
        record.get_or_insert_default().apply(&patch);
    })
}

/// Appends to files of their own, `count` by each of `writers`.
pub fn appends(folder: &Path, writers: usize, count: usize, message: &Object) -> Result<Value> {
    let message = Message::new(message.clone());
    let folder = conversations(folder)?;
    let open: Vec<Writer> = (0..writers)
        .map(|writer| begun(&folder, &format!("yabby-{writers}-{writer}"), &message))
        .collect::<Result<_>>()?;
    all_at_once(open, |writer| append_often(writer, count, &message))
}

fn append_often(mut writer: Writer, count: usize, message: &Message) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let started = Instant::now();
        writer.append(vec![NewEntry::Message(message.clone())])?;
        times.push(started.elapsed().as_secs_f64());
    }
    Ok(times)
}

/// A transcript with its first answer, so that it is written.
fn begun(folder: &TranscriptFolder, session: &str, message: &Message) -> Result<Writer> {
    let id = TranscriptId::new(session, None)?;
    let mut writer = folder.open_blocking(&id, &begin(&id, None, None))?;
    writer.append(vec![NewEntry::Message(message.clone())])?;
    Ok(writer)
}

/// One after the other, so that all meet the same disk: its own append and sync, an append to a
/// transcript, an update of the store.
pub fn beside_the_disk(
    folder: &Path,
    store: &SessionFile,
    keys: &[String],
    count: usize,
    message: &Object,
) -> Result<Value> {
    let message = Message::new(message.clone());
    let mut writer = begun(&conversations(folder)?, "beside-the-disk", &message)?;
    store.list_blocking()?;
    let line = vec![b'x'; std::fs::metadata(folder.join("beside-the-disk.jsonl"))?.len() as usize];
    let mut plain = std::fs::File::options().create(true).append(true).open(folder.join("plain"))?;
    let (mut disk, mut appends, mut updates) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..count {
        let started = Instant::now();
        plain.write_all(&line)?;
        plain.sync_data()?;
        disk.push(started.elapsed().as_secs_f64());

        let started = Instant::now();
        writer.append(vec![NewEntry::Message(message.clone())])?;
        appends.push(started.elapsed().as_secs_f64());

        let started = Instant::now();
        let key = SessionKey::new(keys[number % keys.len()].as_str());
        store.update_blocking(&key, after_a_turn(number))?;
        updates.push(started.elapsed().as_secs_f64());
    }
    Ok(json!({ "disk": disk, "appends": appends, "updates": updates }))
}

/// What a list of sessions shows of a transcript: the last messages, and a title.
pub fn preview(file: &Path, rounds: usize) -> Result<Value> {
    let mut times = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let started = Instant::now();
        let (folder, id) = transcript(file)?;
        let items = folder.preview(&id, PreviewLimits::new(12, 240))?;
        let title = folder.title_source(&id)?;
        times.push(started.elapsed().as_secs_f64());
        if items.is_empty() || title.is_none() {
            return Err("the preview is empty".into());
        }
    }
    Ok(json!({ "times": times }))
}
