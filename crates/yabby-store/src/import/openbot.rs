//! OpenBot: OpenClaw's layout under `agents/<agent>/`, and a database with the same messages
//! (seed 001 §3, seed 002).

use std::path::{Path, PathBuf};

use yabby_domain::json::Value;
use yabby_domain::session::store_text::parse_store;
use yabby_domain::text;

use super::database::{self, Database};
use super::{Foreign, ImportError, Source, files, read_text};

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
            take_record(&key, &record, &sessions, source)?;
        }
    }
    take_rest(agent, &sessions, source)
}

fn take_record(key: &str, record: &Value, sessions: &Path, source: &mut Source) -> Result<(), ImportError> {
    let id = record.get("sessionId").and_then(Value::as_str).and_then(text::non_blank);
    let (Value::Object(record), Some(id)) = (record, id) else {
        source.left.push(format!("{key}: its record names no session"));
        return Ok(());
    };
    // Wherever the file was, its copy is here.
    let named =
        record.get("sessionFile").and_then(Value::as_str).and_then(|file| Path::new(file).file_name());
    let file = named.map(|name| sessions.join(name)).filter(|file| file.is_file());
    let file = file.unwrap_or_else(|| sessions.join(format!("{id}.jsonl")));
    let lines = if file.is_file() { read_text(&file)? } else { String::new() };
    let stated = record.get("updatedAt").and_then(Value::as_f64);
    source.sessions.push(Foreign {
        key: key.to_owned(),
        session_id: id.to_owned(),
        updated_at: stated.unwrap_or_else(|| Foreign::last_time(&lines, &file)),
        record: record.clone(),
        lines,
    });
    Ok(())
}

/// Conversations that no record names: earlier ones.
fn take_rest(agent: &Path, sessions: &Path, source: &mut Source) -> Result<(), ImportError> {
    let agent = agent.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for file in files(sessions, &["jsonl"]) {
        let id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if source.sessions.iter().any(|known| known.session_id == id) {
            continue;
        }
        let lines = read_text(&file)?;
        source.sessions.push(Foreign {
            key: format!("agent:{agent}:earlier:{id}"),
            updated_at: Foreign::last_time(&lines, &file),
            session_id: id,
            record: yabby_domain::json::Object::new(),
            lines,
        });
    }
    Ok(())
}

/// The database holds the same once more; what only it has is taken.
fn read_database(path: &Path, source: &mut Source) -> Result<(), ImportError> {
    let database = Database::open(path)?;
    for session in database.sessions()? {
        let known = source.sessions.iter_mut().find(|known| known.session_id == session.id);
        let lines = match &known {
            Some(known) if !known.lines.trim().is_empty() => continue,
            _ => database.messages_of(&session)?,
        };
        match known {
            Some(known) => known.lines = lines,
            None => source.sessions.push(session.with_lines(lines)),
        }
    }
    Ok(())
}
