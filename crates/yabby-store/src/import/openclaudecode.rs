//! OpenClaudeCode: an index of sessions in a database, `sessions/<id>.jsonl` (seed 003).

use std::path::Path;

use yabby_domain::json::{self, Object, Value};

use super::database::{self, Database};
use super::{Foreign, ImportError, Source, files, read_text};

pub fn read(folder: &Path) -> Result<Source, ImportError> {
    let mut source = Source::default();
    let sessions = folder.join("sessions");
    for path in database::files(folder) {
        let database = Database::open(&path)?;
        for session in database.sessions()? {
            let file = sessions.join(format!("{}.jsonl", session.id));
            let lines = if file.is_file() { read_text(&file)? } else { database.messages_of(&session)? };
            source.sessions.push(session.with_lines(lines));
        }
        let chunks = database.memory_chunks()?;
        if chunks > 0 {
            source.left.push(format!(
                "{chunks} memory chunks in {}: yabby makes its own index from the conversations",
                path.display()
            ));
        }
    }
    take_rest(&sessions, &mut source)?;
    Ok(source)
}

/// Conversations that the index does not know: the first message says with whom they were.
fn take_rest(sessions: &Path, source: &mut Source) -> Result<(), ImportError> {
    for file in files(sessions, &["jsonl"]) {
        let id = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if source.sessions.iter().any(|known| known.session_id == id) {
            continue;
        }
        let lines = read_text(&file)?;
        source.sessions.push(Foreign {
            key: partner(&lines).unwrap_or_else(|| format!("earlier:{id}")),
            updated_at: Foreign::last_time(&lines, &file),
            session_id: id,
            record: Object::new(),
            lines,
        });
    }
    Ok(())
}

/// `{channel}:{userId}` of the first message that names both.
fn partner(lines: &str) -> Option<String> {
    lines.lines().find_map(|line| {
        let line = json::parse(line).ok()?;
        let field = |name: &str| match line.get("message")?.get(name)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        Some(format!("{}:{}", field("channel")?, field("from")?))
    })
}
