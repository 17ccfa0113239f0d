//! `e2e-index.json`: a whole life of an index, told in five steps.
//!
//! Each step is a case that begins from nothing. Embeddings come from [`HashedEmbedder`], whose rule the
//! recording tells; how a provider is asked over HTTP is not looked at here.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Value, number};
use yabby_domain::session::path::{Folders, sessions_folder};
use yabby_domain::text;
use yabby_memory::compat::reading::Lines;
use yabby_memory::compat::{CompatIndex, Hit, Places, Reason, SearchOptions};
use yabby_memory::settings::Settings;

use crate::hashed_embedder::{HashedEmbedder, alone, remote_provider_key};
use crate::vectors::{Case, Suite};

pub const SUITE: Suite = Suite { file: "memory/e2e-index.json", cases, answer, differences: &[] };

/// What every step begins with.
const STAGE: [&str; 4] = ["workspaceFiles", "symlinks", "sessionFile", "memorySearchConfig"];

fn cases(document: &Value) -> Vec<Case> {
    let step = |rule: &str, given: &[&str], expected: Value| {
        let mut input = json!({});
        for field in STAGE.iter().chain(given) {
            input[*field] = document[*field].clone();
        }
        Case { rule: rule.to_owned(), name: "e2e".to_owned(), input, expected }
    };
    let requests = document["embeddingRequests"].as_array().into_iter().flatten();
    let synced = json!({
        "requests": requests.map(|request| request["body"].clone()).collect::<Value>(),
        "status": document["status"],
        "db": with_plain_schema(&document["db"]),
        "files": document["dirListing"],
    });
    let results = |field: &str, of: fn(&Value) -> Value| -> Value {
        document[field].as_array().into_iter().flatten().map(of).collect()
    };
    let incremental = json!({
        "embeddingInputs": document["incremental"]["embeddingInputs"],
        "db": document["incremental"]["db"],
    });
    vec![
        step("sync", &[], synced),
        step("search", &["searches"], results("searches", |row| row["results"].clone())),
        step("read", &["readFile"], results("readFile", result_of_reading)),
        step("incremental", &["incremental"], incremental),
        step("forced", &[], document["forcedReindexAfterCache"].clone()),
    ]
}

fn result_of_reading(row: &Value) -> Value {
    row.get("output").or(row.get("error")).cloned().unwrap_or_default()
}

fn answer(case: &Case) -> Option<Value> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    runtime.block_on(async {
        let stage = Stage::set(&case.input).await?;
        match case.rule.as_str() {
            "sync" => stage.synced().await,
            "search" => stage.searched(case).await,
            "read" => stage.read(case).await,
            "incremental" => stage.changed(case).await,
            "forced" => stage.forced().await,
            _ => None,
        }
    })
}

/// A workspace, a transcript and an index that was just brought up to date.
struct Stage {
    base: TempDir,
    workspace: PathBuf,
    store: PathBuf,
    embedder: Arc<HashedEmbedder>,
    index: CompatIndex,
}

impl Stage {
    async fn set(input: &Value) -> Option<Self> {
        let base = tempfile::tempdir().ok()?;
        let workspace = base.path().join("ws");
        for (path, content) in input["workspaceFiles"].as_object()? {
            write(&workspace.join(path), content.as_str()?)?;
        }
        for (path, target) in input["symlinks"].as_object()? {
            symlink(workspace.join(target.as_str()?), workspace.join(path)).ok()?;
        }
        let agent = AgentId::normalize("main");
        let state = base.path().join("state").display().to_string();
        let sessions = PathBuf::from(sessions_folder(&state, &agent));
        let transcript = sessions.join(input["sessionFile"]["name"].as_str()?);
        write(&transcript, input["sessionFile"]["body"].as_str()?)?;
        let configured = &input["memorySearchConfig"];
        let config = Config::new(json!({"agents": {"defaults": {"memorySearch": configured}}}));
        let folders = Folders { state: &state, home: &state, current: "/" };
        let settings = Settings::from_config(&config, &agent, &folders)?;
        let provider_key = remote_provider_key(
            settings.provider.as_str(),
            settings.remote.as_ref()?.base_url.as_ref()?,
            &settings.model,
            &[("Content-Type".to_owned(), "application/json".to_owned())],
        );
        let embedder =
            Arc::new(HashedEmbedder::with_key(settings.provider.as_str(), &settings.model, &provider_key));
        let store = PathBuf::from(&settings.store.path);
        let places = Places { agent: agent.clone(), workspace: workspace.clone(), sessions };
        let embedders = alone(embedder.clone());
        let index = CompatIndex::open(places, settings, embedders).await.ok()?;
        index.mark_session_dirty(&transcript);
        index.sync(Reason::Manual, false, None).await.ok()?;
        Some(Self { base, workspace, store, embedder, index })
    }

    async fn synced(&self) -> Option<Value> {
        let mut requests: Vec<Value> =
            self.embedder.take_asked().iter().map(|texts| request(texts)).collect();
        requests.sort_by_key(|request| request["firstInput"].as_str().map(str::to_owned));
        let mut status = self.index.status().await.ok()?.to_json();
        for field in ["workspaceDir", "dbPath"] {
            let path = status[field].as_str()?.replace(&self.base.path().display().to_string(), "<BASE>");
            status[field] = path.replace("<BASE>/state", "<STATE>").into();
        }
        // Theirs is a file beside the program, ours a part of it.
        status["vector"]["extensionPath"] = "<sqlite-vec>".into();
        let folder = self.store.parent()?;
        let entries = fs::read_dir(folder).ok()?.flatten();
        let files: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let db = self.tables(true)?;
        Some(json!({"requests": requests, "status": status, "db": db, "files": files}))
    }

    async fn searched(&self, case: &Case) -> Option<Value> {
        let mut all = Vec::new();
        for (at, search) in case.arg("searches").as_array()?.iter().enumerate() {
            let options = SearchOptions {
                max_results: search["opts"]["maxResults"].as_f64(),
                min_score: search["opts"]["minScore"].as_f64(),
                ..SearchOptions::default()
            };
            let hits = self.index.search(search["query"].as_str()?, &options).await.ok()?;
            let recorded = &case.expected[at];
            all.push(hits.iter().enumerate().map(|(at, hit)| shown(hit, &recorded[at]["score"])).collect());
        }
        Some(Value::Array(all))
    }

    async fn read(&self, case: &Case) -> Option<Value> {
        let base = self.base.path().display().to_string();
        let mut all = Vec::new();
        for row in case.arg("readFile").as_array()? {
            let input = &row["input"];
            let path = input["relPath"].as_str()?.replace("<ABS>", &self.workspace.display().to_string());
            let lines = Lines { from: input["from"].as_f64(), count: input["lines"].as_f64() };
            all.push(match self.index.read(&path, lines).await {
                Ok(reading) => json!({"text": reading.text, "path": reading.path}),
                Err(error) => json!(error.to_string().replace(&base, "<BASE>")),
            });
        }
        Some(Value::Array(all))
    }

    async fn changed(&self, case: &Case) -> Option<Value> {
        self.embedder.take_asked();
        for (path, edit) in case.arg("incremental")["edit"].as_object()? {
            let (path, edit) = (self.workspace.join(path), edit.as_str()?);
            match edit.strip_prefix("append ") {
                Some(quoted) => {
                    let added = json::parse(quoted).ok()?;
                    let before = fs::read_to_string(&path).ok()?;
                    write(&path, &format!("{before}{}", added.as_str()?))?;
                }
                None => fs::remove_file(&path).ok()?,
            }
        }
        self.index.mark_dirty();
        self.index.sync(Reason::Manual, false, None).await.ok()?;
        let asked: Vec<String> = self.embedder.take_asked().into_iter().flatten().collect();
        Some(json!({"embeddingInputs": asked, "db": self.tables(false)?}))
    }

    async fn forced(&self) -> Option<Value> {
        self.embedder.take_asked();
        self.index.sync(Reason::Manual, true, None).await.ok()?;
        let asked: Vec<String> = self.embedder.take_asked().into_iter().flatten().collect();
        Some(json!({"embeddingInputs": asked}))
    }

    /// The rows of the index, without what differs from run to run. After a change fewer columns were
    /// recorded.
    fn tables(&self, all: bool) -> Option<Value> {
        let database = Connection::open(&self.store).ok()?;
        let chunk_columns = match all {
            true => {
                "id, path, source, start_line, end_line, hash, model, text, embedding, \
                     typeof(updated_at) AS updated_at_type"
            }
            false => "id, path, start_line, end_line, hash",
        };
        let mut tables = json!({
            "user_version": rows(&database, "PRAGMA user_version")?[0]["user_version"],
            "journal_mode": rows(&database, "PRAGMA journal_mode")?[0]["journal_mode"],
            "meta": rows(&database, "SELECT key, value FROM meta")?,
            "files": rows(
                &database,
                "SELECT path, source, hash, typeof(mtime) AS mtime_type, size FROM files ORDER BY path",
            )?,
            "chunks": rows(
                &database,
                &format!("SELECT {chunk_columns} FROM chunks ORDER BY path, start_line"),
            )?,
            "fts": rows(
                &database,
                "SELECT id, path, source, model, start_line, end_line FROM chunks_fts \
                 ORDER BY path, start_line",
            )?,
            "vec": vectors(&database)?,
        });
        if all {
            tables["schema"] = rows(
                &database,
                "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL \
                   AND name NOT LIKE 'chunks\\_fts\\_%' ESCAPE '\\' \
                   AND name NOT LIKE 'chunks\\_vec\\_%' ESCAPE '\\' \
                   AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
                   AND name NOT LIKE 'yabby\\_%' ESCAPE '\\' ORDER BY type, name",
            )?;
            tables["embedding_cache"] = rows(
                &database,
                "SELECT provider, model, provider_key, hash, embedding, dims FROM embedding_cache ORDER BY hash",
            )?;
        }
        Some(with_plain_schema(&tables))
    }
}

/// A file whose time of change has a fraction of a millisecond, as nearly every file's has.
fn write(path: &Path, content: &str) -> Option<()> {
    fs::create_dir_all(path.parent()?).ok()?;
    fs::write(path, content).ok()?;
    let changed = UNIX_EPOCH + Duration::new(1_770_000_000, 123_456_789);
    File::options().write(true).open(path).ok()?.set_modified(changed).ok()
}

fn request(texts: &[String]) -> Value {
    let first = texts.first().map(|text| text::head(text, 60));
    json!({"model": "fake-embed", "inputs": texts.len(), "firstInput": first})
}

/// A hit; a score that is the recorded one but for the precision of sqlite-vec, which counts in single
/// precision, is the recorded one.
fn shown(hit: &Hit, recorded: &Value) -> Value {
    let mut row = hit.to_json();
    if recorded.as_f64().is_some_and(|recorded| (recorded - hit.score).abs() <= 1e-6) {
        row["score"] = recorded.clone();
    }
    row
}

/// The same tables with the white space of their definitions made equal.
fn with_plain_schema(tables: &Value) -> Value {
    let mut tables = tables.clone();
    for row in tables["schema"].as_array_mut().into_iter().flatten() {
        let sql = row["sql"].as_str().map(|sql| text::collapse_spaces(sql).trim().to_owned());
        row["sql"] = json!(sql);
    }
    if tables["schema"].is_null()
        && let Some(tables) = tables.as_object_mut()
    {
        tables.remove("schema");
    }
    tables
}

fn rows(database: &Connection, sql: &str) -> Option<Value> {
    use rusqlite::types::ValueRef;
    let mut statement = database.prepare(sql).ok()?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut rows = statement.query([]).ok()?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().ok()? {
        let mut shown = json!({});
        for (at, name) in names.iter().enumerate() {
            shown[name] = match row.get_ref(at).ok()? {
                ValueRef::Integer(whole) => whole.into(),
                ValueRef::Real(real) => number(real),
                ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
                ValueRef::Null | ValueRef::Blob(_) => Value::Null,
            };
        }
        all.push(shown);
    }
    Some(Value::Array(all))
}

/// The vectors of `chunks_vec` as they lie in its own tables: without the extension the table itself
/// cannot be read.
fn vectors(database: &Connection) -> Option<Value> {
    let mut statement = database
        .prepare(
            "SELECT r.id, r.chunk_offset, v.vectors, c.size FROM chunks_vec_rowids r \
             JOIN chunks_vec_vector_chunks00 v ON v.rowid = r.chunk_id \
             JOIN chunks_vec_chunks c ON c.chunk_id = r.chunk_id ORDER BY r.id",
        )
        .ok()?;
    let mut rows = statement.query([]).ok()?;
    let mut all = Vec::new();
    while let Some(row) = rows.next().ok()? {
        let id: String = row.get(0).ok()?;
        let offset = usize::try_from(row.get::<_, i64>(1).ok()?).ok()?;
        let blob: Vec<u8> = row.get(2).ok()?;
        let slots = usize::try_from(row.get::<_, i64>(3).ok()?).ok()?;
        let length = blob.len() / slots;
        let vector = blob.get(offset * length..(offset + 1) * length)?;
        let numbers = vector.chunks_exact(4).map(|bytes| {
            let number = bytes.try_into().map_or(f32::NAN, f32::from_le_bytes);
            format!("{number:.6}")
        });
        all.push(json!({"id": id, "embedding": format!("[{}]", numbers.collect::<Vec<_>>().join(","))}));
    }
    Some(Value::Array(all))
}
