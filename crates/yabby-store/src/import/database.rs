//! The SQLite index of another program. Its tables have had columns in several spellings; each is
//! looked up by what it means.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};
use yabby_domain::json::{self, Object, Value};
use yabby_domain::transcript::time;

use super::{Foreign, ImportError};

/// A database that may be read without leaving a trace beside it.
pub struct Database {
    connection: Connection,
    path: PathBuf,
    /// The copy that is read; gone when this is.
    _copy: tempfile::TempDir,
}

/// A row of its index.
pub struct Session {
    pub id: String,
    pub key: String,
    record: Object,
    updated_at: f64,
    /// What its messages call it, if that is another number.
    row_id: Option<String>,
}

/// The databases of a folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    const ENDINGS: [&str; 3] = ["db", "sqlite", "sqlite3"];
    let mut files = super::files(folder, &ENDINGS);
    files.extend(super::files(&folder.join("data"), &ENDINGS));
    files
}

impl Database {
    /// Reads a copy: even a reader writes beside a database that is in use.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let unreadable = |why: String| ImportError::Unreadable { path: path.display().to_string(), why };
        let copy = tempfile::tempdir().map_err(|error| unreadable(error.to_string()))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Whoever was writing may have left either of these.
        for part in [name.clone(), format!("{name}-wal"), format!("{name}-journal")] {
            let from = path.with_file_name(&part);
            if from.exists() {
                std::fs::copy(&from, copy.path().join(&part))
                    .map_err(|error| unreadable(error.to_string()))?;
            }
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(copy.path().join(&name), flags)
            .map_err(|error| unreadable(error.to_string()))?;
        Ok(Self { connection, path: path.to_owned(), _copy: copy })
    }

    /// The sessions of its index; none if it has no such table.
    pub fn sessions(&self) -> Result<Vec<Session>, ImportError> {
        let rows = self.rows("sessions")?;
        Ok(rows.iter().filter_map(Session::of).collect())
    }

    /// All messages, by the session that they belong to.
    pub fn messages(&self, sessions: &[Session]) -> Result<Messages, ImportError> {
        let columns = self.columns("messages")?;
        let names = ["session_id", "sessionId", "session_key", "sessionKey"];
        let mut messages = Messages { lines: HashMap::new(), named_by: NamedBy::Id };
        let Some(owner) = names.into_iter().find(|name| columns.iter().any(|column| column == name)) else {
            return Ok(messages);
        };
        for row in self.rows("messages")? {
            let Some(name) = text(&row, &[owner]) else { continue };
            let lines = messages.lines.entry(name).or_default();
            lines.push_str(&line(&row));
            lines.push('\n');
        }
        messages.named_by = messages.likeliest_names(sessions);
        Ok(messages)
    }

    /// How many pieces of memory it holds.
    pub fn memory_chunks(&self) -> Result<usize, ImportError> {
        if self.columns("memory_chunks")?.is_empty() {
            return Ok(0);
        }
        let count = "SELECT count(*) FROM memory_chunks";
        let count: i64 =
            self.connection.query_row(count, [], |row| row.get(0)).map_err(|e| self.broken(&e))?;
        Ok(usize::try_from(count).unwrap_or(0))
    }

    fn columns(&self, table: &str) -> Result<Vec<String>, ImportError> {
        let mut statement =
            self.connection.prepare("SELECT name FROM pragma_table_info(?1)").map_err(|e| self.broken(&e))?;
        let names = statement.query_map([table], |row| row.get(0)).map_err(|e| self.broken(&e))?;
        names.collect::<Result<_, _>>().map_err(|e| self.broken(&e))
    }

    /// The rows of a table in the order in which they were written, each as an object.
    fn rows(&self, table: &'static str) -> Result<Vec<Object>, ImportError> {
        let columns = self.columns(table)?;
        if columns.is_empty() {
            return Ok(Vec::new());
        }
        let query = format!("SELECT * FROM \"{table}\" ORDER BY rowid");
        let mut statement = self.connection.prepare(&query).map_err(|e| self.broken(&e))?;
        let rows = statement.query_map([], |row: &Row<'_>| object(row, &columns));
        rows.and_then(Iterator::collect).map_err(|e| self.broken(&e))
    }

    fn broken(&self, error: &rusqlite::Error) -> ImportError {
        ImportError::Unreadable { path: self.path.display().to_string(), why: error.to_string() }
    }
}

/// The messages of a database, as lines of transcripts.
pub struct Messages {
    /// By what they call their session.
    lines: HashMap<String, String>,
    named_by: NamedBy,
}

/// What messages call their session. One name for all of them: the number of one session's row may be
/// another one's id, and nobody may be given the words of somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamedBy {
    Id,
    Key,
    Row,
}

impl Messages {
    pub fn of(&self, session: &Session) -> String {
        let name = session.name(self.named_by);
        name.and_then(|name| self.lines.get(name)).cloned().unwrap_or_default()
    }

    /// The names that most sessions with messages go by.
    fn likeliest_names(&self, sessions: &[Session]) -> NamedBy {
        let known = |by: NamedBy| {
            let names = sessions.iter().filter_map(|session| session.name(by));
            names.filter(|name| self.lines.contains_key(*name)).count()
        };
        // Of equal ones the first.
        let mut likeliest = NamedBy::Id;
        for by in [NamedBy::Key, NamedBy::Row] {
            if known(by) > known(likeliest) {
                likeliest = by;
            }
        }
        likeliest
    }
}

fn object(row: &Row<'_>, columns: &[String]) -> rusqlite::Result<Object> {
    let mut object = Object::new();
    for (at, column) in columns.iter().enumerate() {
        let value = match row.get_ref(at)? {
            ValueRef::Null => continue,
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => json::number(number),
            ValueRef::Text(text) | ValueRef::Blob(text) => {
                yabby_domain::text::lossy(text).into_owned().into()
            }
        };
        object.insert(column.clone(), value);
    }
    Ok(object)
}

/// The first of these columns that says something.
fn field<'r>(row: &'r Object, names: &[&str]) -> Option<&'r Value> {
    names.iter().find_map(|name| row.get(*name)).filter(|value| value.as_str() != Some(""))
}

fn text(row: &Object, names: &[&str]) -> Option<String> {
    match field(row, names)? {
        Value::String(text) => Some(text.clone()),
        other => Some(json::stringify(other)),
    }
}

/// Milliseconds since 1970, of a number in seconds or milliseconds, or of a date.
fn moment(row: &Object, names: &[&str]) -> Option<f64> {
    const FIRST_MS: f64 = 100_000_000_000.0;
    match field(row, names)? {
        Value::Number(number) => number.as_f64().map(|n| if n < FIRST_MS { n * 1000.0 } else { n }),
        // SQLite writes a date with a blank and no zone; it is UTC.
        Value::String(text) => time::parse(text).or_else(|| text.parse().ok()),
        _ => None,
    }
}

impl Session {
    fn name(&self, by: NamedBy) -> Option<&str> {
        match by {
            NamedBy::Id => Some(&self.id),
            NamedBy::Key => Some(&self.key),
            NamedBy::Row => self.row_id.as_deref(),
        }
    }

    fn of(row: &Object) -> Option<Self> {
        let row_id = text(row, &["id"]);
        let id = text(row, &["session_id", "sessionId", "uuid"]).or_else(|| row_id.clone())?;
        let channel = text(row, &["channel", "platform", "provider"]);
        let person = text(row, &["user_id", "userId", "peer_id", "chat_id"]);
        let pair = channel.zip(person).map(|(channel, person)| format!("{channel}:{person}"));
        let key = text(row, &["session_key", "sessionKey", "key"]).or(pair).unwrap_or_else(|| id.clone());
        let mut record = Object::new();
        let carried = [
            ("compactionCount", ["compaction_count", "compactionCount"]),
            ("model", ["model", "model_id"]),
            ("modelProvider", ["model_provider", "modelProvider"]),
            ("label", ["label", "title"]),
            ("inputTokens", ["input_tokens", "inputTokens"]),
            ("outputTokens", ["output_tokens", "outputTokens"]),
            ("totalTokens", ["total_tokens", "totalTokens"]),
        ];
        for (name, columns) in carried {
            if let Some(value) = field(row, &columns) {
                record.insert(name.to_owned(), value.clone());
            }
        }
        let updated = moment(row, &["updated_at", "updatedAt", "last_active", "created_at", "createdAt"]);
        Some(Self { id, key, record, updated_at: updated.unwrap_or(0.0), row_id })
    }

    pub fn with_lines(self, lines: String) -> Foreign {
        Foreign {
            key: self.key,
            session_id: self.id,
            record: self.record,
            lines,
            updated_at: self.updated_at,
        }
    }
}

/// A row of the messages as a line of a transcript.
fn line(row: &Object) -> String {
    let role = text(row, &["role", "sender", "direction"]).unwrap_or_default();
    let role = match role.as_str() {
        "bot" | "ai" | "model" | "outgoing" | "out" => "assistant",
        "incoming" | "in" | "human" => "user",
        role => role,
    };
    let content = text(row, &["content", "text", "body", "message"]).unwrap_or_default();
    // Blocks were stored as JSON text.
    let content = match json::parse(&content) {
        Ok(blocks @ Value::Array(_)) => blocks,
        _ => content.into(),
    };
    let mut message = Object::new();
    message.insert("role".to_owned(), role.into());
    message.insert("content".to_owned(), content);
    let mut line = Object::new();
    line.insert("type".to_owned(), "message".into());
    if let Some(at) = moment(row, &["created_at", "createdAt", "timestamp", "time"]) {
        line.insert("timestamp".to_owned(), json::number(at));
    }
    line.insert("message".to_owned(), Value::Object(message));
    json::stringify_object(&line)
}
