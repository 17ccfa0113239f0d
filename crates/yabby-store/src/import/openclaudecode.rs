//! OpenClaudeCode: an index of sessions in a database, `sessions/<id>.jsonl` (seed 003).

use std::collections::HashSet;
use std::path::Path;

use yabby_domain::json::{self, Value};

use super::database::{self, Database};
use super::{Foreign, ImportError, Source, files, read_text, transcript_of};

pub fn read(folder: &Path) -> Result<Source, ImportError> {
    let mut source = Source::default();
    let sessions = folder.join("sessions");
    for path in database::files(folder) {
        let database = Database::open(&path)?;
        let indexed = database.sessions()?;
        let messages = database.messages(&indexed)?;
        for session in indexed {
            let lines = match transcript_of(&sessions, &session.id) {
                Some(file) => read_text(&file)?,
                None => messages.of(&session),
            };
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
    let known: HashSet<String> = source.sessions.iter().map(|known| known.session_id.clone()).collect();
    for file in files(sessions, &["jsonl"]) {
        let key = |id: &str, lines: &str| partner(lines).unwrap_or_else(|| format!("earlier:{id}"));
        let session = Foreign::of_file(&file, key)?;
        if !known.contains(&session.session_id) {
            source.sessions.push(session);
        }
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
