//! OpenBot: OpenClaw's layout under `agents/<agent>/`, and a database with the same messages
//! (seed 001 §3, seed 002).

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use yabby_domain::json::Value;
use yabby_domain::session::store_text::parse_store;
use yabby_domain::text;

use super::database::{self, Database};
use super::{Foreign, ImportError, Source, files, read_text, transcript_of};

pub fn read(folder: &Path) -> Result<Source, ImportError> {
    let mut source = Source::default();
    let agents = std::fs::read_dir(folder.join("agents")).into_iter().flatten().flatten();
    let mut agents: Vec<PathBuf> = agents.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    agents.sort();
    for agent in agents {
        read_agent(&agent, &mut source)?;
    }
    for path in database::files(folder) {
        read_database(&path, &mut source)?;
    }
    Ok(source)
}

fn read_agent(agent: &Path, source: &mut Source) -> Result<(), ImportError> {
    let sessions = agent.join("sessions");
    let mut taken = HashSet::new();
    // Some versions keep the index one level up.
    let index = [sessions.join("sessions.json"), agent.join("sessions.json")];
    if let Some(index) = index.into_iter().find(|index| index.is_file()) {
        let Some(store) = parse_store(&read_text(&index)?) else {
            return Err(ImportError::Unreadable {
                path: index.display().to_string(),
                why: "it is not JSON5; repair it first".to_owned(),
            });
        };
        for (key, record) in store {
            taken.extend(take_record(&key, &record, &sessions, source)?);
        }
    }
    take_rest(agent, &sessions, &taken, source)
}

/// Takes a session by its record; its transcript, if it has one.
fn take_record(
    key: &str,
    record: &Value,
    sessions: &Path,
    source: &mut Source,
) -> Result<Option<PathBuf>, ImportError> {
    let id = record.get("sessionId").and_then(Value::as_str).and_then(text::non_blank);
    let (Value::Object(record), Some(id)) = (record, id) else {
        source.left.push(format!("{key}: its record names no session"));
        return Ok(None);
    };
    // Wherever the file was, its copy is here.
    let named =
        record.get("sessionFile").and_then(Value::as_str).and_then(|file| Path::new(file).file_name());
    let file = named.map(|name| sessions.join(name)).filter(|file| file.is_file());
    let file = file.or_else(|| transcript_of(sessions, id));
    let lines = file.as_deref().map(read_text).transpose()?.unwrap_or_default();
    let stated = record.get("updatedAt").and_then(Value::as_f64);
    let last_time = || file.as_deref().map_or(0.0, |file| Foreign::last_time(&lines, file));
    source.sessions.push(Foreign {
        key: key.to_owned(),
        session_id: id.to_owned(),
        updated_at: stated.unwrap_or_else(last_time),
        record: record.clone(),
        lines,
    });
    Ok(file)
}

/// Conversations that no record names: earlier ones.
fn take_rest(
    agent: &Path,
    sessions: &Path,
    taken: &HashSet<PathBuf>,
    source: &mut Source,
) -> Result<(), ImportError> {
    let agent = agent.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for file in files(sessions, &["jsonl"]) {
        if taken.contains(&file) {
            continue;
        }
        source.sessions.push(Foreign::of_file(&file, |id, _| format!("agent:{agent}:earlier:{id}"))?);
    }
    Ok(())
}

/// The database holds the same once more; what only it has is taken.
fn read_database(path: &Path, source: &mut Source) -> Result<(), ImportError> {
    let database = Database::open(path)?;
    let indexed = database.sessions()?;
    let messages = database.messages(&indexed)?;
    // Sessions of several agents may have one id, such as `main`; their keys tell them apart.
    let mut by_key = HashMap::new();
    let mut by_id = HashMap::new();
    for (at, known) in source.sessions.iter().enumerate() {
        by_key.insert((known.session_id.clone(), known.key.clone()), at);
        by_id.entry(known.session_id.clone()).or_insert(at);
    }
    for session in indexed {
        let known = by_key.get(&(session.id.clone(), session.key.clone())).or_else(|| by_id.get(&session.id));
        match known.and_then(|at| source.sessions.get_mut(*at)) {
            Some(known) if !known.lines.trim().is_empty() => {}
            Some(known) => known.lines = messages.of(&session),
            None => {
                let lines = messages.of(&session);
                source.sessions.push(session.with_lines(lines));
            }
        }
    }
    Ok(())
}
