//! Stories of `sessions.json`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

use super::conversations::{foreign_stores, records as sample};
use super::{Stage, Told, ensure_same, records};
use crate::peer::Peer;
use crate::snapshot::{Snapshot, names};

pub fn read_what_the_reference_saved(stage: &Stage, judge: &mut Peer) -> Told {
    let store = stage.folder()?.join("sessions.json");
    judge.ask(&json!({ "do": "save", "store": store, "text": sample_text() }))?;
    ensure_read_alike(stage, judge, &store)?;
    Ok(format!("{} records", sample().len()))
}

pub fn read_foreign_stores(stage: &Stage, judge: &mut Peer) -> Told {
    for (name, store) in planted(stage)? {
        ensure_read_alike(stage, judge, &store).context(name)?;
    }
    Ok(format!("{} stores", foreign_stores().len()))
}

fn ensure_read_alike(stage: &Stage, judge: &mut Peer, store: &Path) -> Result<()> {
    let folder = store.parent().context("a store is in a folder")?;
    let before = Snapshot::of(folder)?;
    let mut yabby = stage.yabby()?;
    let ours = records(&mut yabby, store)?;
    yabby.end()?;
    before.ensure_unchanged(folder)?;
    ensure_same_records(&ours, &records(judge, store)?)
}

fn ensure_same_records(ours: &[(String, String)], theirs: &[(String, String)]) -> Result<()> {
    let lines = |records: &[(String, String)]| {
        let mut records: Vec<_> = records.iter().collect();
        // JavaScript lists keys that are numbers first.
        records.sort_by_key(|(key, _)| key.parse::<u32>().unwrap_or(u32::MAX));
        records.iter().map(|(key, record)| format!("{key:?} {record}\n")).collect::<String>()
    };
    ensure_same("the list of records", &lines(ours), &lines(theirs))
}

pub fn written_by_yabby(stage: &Stage, judge: &mut Peer) -> Told {
    let store = stage.folder()?.join("sessions.json");
    let mut yabby = stage.yabby()?;
    write_sample(&mut yabby, &store)?;
    let ours = records(&mut yabby, &store)?;
    yabby.ask(&json!({ "do": "close", "store": store }))?;
    ensure!(names(&stage.folder()?)? == ["sessions.json"], "left behind: {:?}", names(&stage.folder()?)?);
    let before = Snapshot::of(&stage.folder()?)?;
    ensure_same_records(&ours, &records(judge, &store)?)?;
    before.ensure_unchanged(&stage.folder()?)?;
    // What was written, not only what was read back.
    for (key, record) in sample() {
        let (_, ours) =
            ours.iter().find(|(ours, _)| ours == key).with_context(|| format!("{key} is missing"))?;
        let (ours, meant): (Value, Value) = (serde_json::from_str(ours)?, serde_json::from_str(record)?);
        ensure!(ours["sessionId"] == meant["sessionId"], "{key} has another session");
    }
    Ok(format!("{} records", ours.len()))
}

pub fn shown_by_the_command_line(stage: &Stage, _: &mut Peer) -> Told {
    let store = stage.folder()?.join("sessions.json");
    let mut yabby = stage.yabby()?;
    write_sample(&mut yabby, &store)?;
    let mut ours = records(&mut yabby, &store)?;
    yabby.end()?;
    let shown = stage.openclaw(&["sessions", "--json"])?;
    ensure!(shown["path"] == json!(store), "it looked at {}", shown["path"]);
    let rows = shown["sessions"].as_array().context("it shows a list of sessions")?;
    ensure!(rows.len() == ours.len(), "it shows {} sessions of {}", rows.len(), ours.len());
    let updated = |record: &str| {
        serde_json::from_str::<Value>(record)
            .ok()
            .and_then(|record| record["updatedAt"].as_f64())
            .unwrap_or_default()
    };
    // It shows the latest first.
    ours.sort_by(|(_, a), (_, b)| updated(b).total_cmp(&updated(a)));
    for (row, (key, record)) in rows.iter().zip(&ours) {
        ensure_row(row, key, &serde_json::from_str(record)?)?;
    }
    Ok(format!("{} sessions", rows.len()))
}

fn ensure_row(row: &Value, key: &str, record: &Map<String, Value>) -> Result<()> {
    const SHOWN: [&str; 14] = [
        "sessionId",
        "updatedAt",
        "systemSent",
        "abortedLastRun",
        "thinkingLevel",
        "verboseLevel",
        "reasoningLevel",
        "elevatedLevel",
        "responseUsage",
        "groupActivation",
        "inputTokens",
        "outputTokens",
        "totalTokens",
        "model",
    ];
    ensure!(row["key"] == key, "it shows {} where {key} should be", row["key"]);
    for field in SHOWN {
        let by_default = field == "model" && !record.contains_key(field);
        ensure!(by_default || row.get(field) == record.get(field), "{key}: it shows another {field}: {row}");
    }
    Ok(())
}

/// The same changes by either side to the same store leave the same bytes.
pub fn same_text(stage: &Stage, judge: &mut Peer) -> Told {
    let folder = stage.folder()?;
    let fresh = folder.join("fresh/sessions.json");
    let mut stores = vec![("a new one", fresh)];
    let saved = folder.join("saved/sessions.json");
    judge.ask(&json!({ "do": "save", "store": saved, "text": sample_text() }))?;
    stores.push(("one of the reference", saved));
    stores.extend(planted(stage)?);
    for (name, store) in &stores {
        ensure_same_text(stage, judge, store).context(*name)?;
    }
    Ok(format!("{} stores", stores.len()))
}

fn ensure_same_text(stage: &Stage, judge: &mut Peer, store: &Path) -> Result<()> {
    let copy = store.with_file_name("copy").join("sessions.json");
    std::fs::create_dir_all(copy.parent().context("a store is in a folder")?)?;
    if store.exists() {
        std::fs::copy(store, &copy)?;
    }
    let mut yabby = stage.yabby()?;
    for (peer, store) in [(&mut yabby, store), (&mut *judge, copy.as_path())] {
        write_sample(peer, store)?;
        for (key, set, remove) in [
            (
                "agent:main:main",
                json!({ "totalTokens": 99, "label": "Ünï \u{1}" }),
                json!(["inputTokens", "model"]),
            ),
            (
                "agent:main:telegram:dm:42",
                json!({ "lastTo": "telegram:43", "lastThreadId": " 12 " }),
                json!([]),
            ),
            (
                "agent:main:new",
                json!({ "sessionId": "new", "updatedAt": 7, "deliveryContext": { "channel": "slack", "to": "C1", "threadId": 1.5 } }),
                json!([]),
            ),
        ] {
            peer.ask(&json!({ "do": "update", "store": store, "key": key, "set": set, "remove": remove }))?;
        }
        peer.ask(&json!({ "do": "remove", "store": store, "key": "global" }))?;
    }
    yabby.end()?;
    let (ours, theirs) = (std::fs::read_to_string(store)?, std::fs::read_to_string(copy)?);
    ensure_same("the text", &ours, &theirs)
}

/// The stores of other hands, each in a folder of its own.
fn planted(stage: &Stage) -> Result<Vec<(&'static str, PathBuf)>> {
    let mut stores = Vec::new();
    for (name, text) in foreign_stores() {
        let store = stage.folder()?.join(name).join("sessions.json");
        std::fs::create_dir_all(store.parent().context("a store is in a folder")?)?;
        std::fs::write(&store, text)?;
        stores.push((name, store));
    }
    Ok(stores)
}

fn sample_text() -> String {
    let records = sample().into_iter().map(|(key, record)| format!("{}:{record}", json!(key)));
    format!("{{{}}}", records.collect::<Vec<_>>().join(","))
}

fn write_sample(peer: &mut Peer, store: &Path) -> Result<()> {
    for (key, record) in sample() {
        let set: Value = serde_json::from_str(record)?;
        peer.ask(&json!({ "do": "update", "store": store, "key": key, "set": set }))?;
    }
    Ok(())
}
