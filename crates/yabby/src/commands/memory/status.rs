//! `yabby memory status`: what is indexed, in the words of the reference, and what our own index has.

mod scan;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use yabby_domain::id::AgentId;
use yabby_domain::json::{Object, Value};
use yabby_memory::compat::files::Source;
use yabby_memory::compat::store::Part;
use yabby_memory::compat::{FallbackStatus, SourceCount, Status, VectorStatus, jobs_of};
use yabby_memory::recall::{Embedded, Totals};

use super::{BAD, DISABLED, Desk, GOOD, LABEL, PLAIN, Sheet, VALUE, index};
use crate::failure::{self, Failure};
use crate::setting::Setting;
use crate::terminal::{self, counted};
use crate::wire::memory::AgentMemory;
use scan::Scan;

#[derive(Args)]
pub struct Arguments {
    /// The agent whose memory it is [default: all that are configured]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// Ask the provider of embeddings whether it answers
    #[arg(long)]
    deep: bool,
    /// Bring the index up to date first (as --deep)
    #[arg(long)]
    index: bool,
    /// Say more
    #[arg(long)]
    verbose: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What there is to tell about the memory of an agent.
struct Report {
    agent: AgentId,
    status: Status,
    /// Why it does not answer, if it was asked.
    probe: Option<Result<(), String>>,
    index_error: Option<String>,
    scan: Scan,
    own: Own,
}

/// Our own index.
struct Own {
    path: String,
    totals: Totals,
    embedded: Embedded,
    model: Option<String>,
    /// Why there is nobody to embed.
    without: Option<String>,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let desk = Desk::open(setting)?;
    let mut reports = Vec::new();
    for agent in desk.agents(arguments.agent.as_deref()) {
        match desk.with_memory(&agent, |kept| desk.runtime.block_on(report(&desk, kept, arguments)))? {
            Some(report) => reports.push(report),
            None if arguments.json => anstream::eprintln!("{DISABLED} ({agent})"),
            None => anstream::println!("{DISABLED}"),
        }
    }
    if arguments.json {
        terminal::print_json(&reports.iter().map(Report::json).collect())?;
    } else {
        for report in &reports {
            report.sheet(&desk, arguments.verbose).print()?;
        }
    }
    let has_failed = reports.iter().any(|report| report.index_error.is_some());
    if has_failed { Err(Failure::silent().into()) } else { Ok(()) }
}

/// What the status of everything tells.
pub(super) fn glance(desk: &Desk<'_>, kept: &AgentMemory) -> Result<Value> {
    let quiet = Arguments { agent: None, deep: false, index: false, verbose: false, json: true };
    let report = desk.runtime.block_on(report(desk, kept, &quiet))?;
    let mut told = Object::from_iter([
        ("agentId".to_owned(), Value::from(report.agent.as_str())),
        ("backend".to_owned(), "builtin".into()),
    ]);
    if let Value::Object(status) = report.status.to_json() {
        told.extend(status);
    }
    Ok(Value::Object(told))
}

async fn report(desk: &Desk<'_>, kept: &AgentMemory, arguments: &Arguments) -> Result<Report> {
    let index_error = match arguments.index {
        true => index::index(kept, false).await.err().map(|error| failure::told(&error)),
        false => None,
    };
    let own = own(kept).await?;
    let reference = kept.reference().await?;
    let probe = match (arguments.deep || arguments.index, &kept.choice.embedder) {
        (false, _) => None,
        (true, Err(reason)) => Some(Err(reason.clone())),
        (true, Ok(embedder)) => {
            let answered = embedder.documents(&["ping".to_owned()]).await;
            Some(answered.map(drop).map_err(|error| error.to_string()))
        }
    };
    let status = match &reference {
        Some(index) => {
            index.probe_vectors().await?;
            let status = index.status().await?;
            // Here it is known whether anything has changed; the reference takes it for granted.
            Status { dirty: status.dirty && !(arguments.index && index_error.is_none()), ..status }
        }
        None => of_own(kept, &own).await?,
    };
    let scan = Scan::of(kept, &status.sources, &|path| desk.setting.place.shortened(path));
    Ok(Report { agent: kept.agent.clone(), status, probe, index_error, scan, own })
}

async fn own(kept: &AgentMemory) -> Result<Own> {
    let memory = &kept.memory;
    let totals = memory.blocking(|memory| memory.recall().totals()).await?;
    Ok(Own {
        path: memory.recall().path().display().to_string(),
        totals,
        embedded: memory.embedded().await?,
        model: memory
            .meaning()
            .map(|meaning| format!("{}/{}", meaning.embedder.provider(), meaning.embedder.model())),
        without: kept.choice.embedder.as_ref().err().cloned(),
    })
}

/// The reference's words about our own index, where there is none of its own.
async fn of_own(kept: &AgentMemory, own: &Own) -> Result<Status> {
    let Totals { notes, note_units, conversations, messages, .. } = own.totals;
    let (memory, settings) = (&kept.memory, &kept.settings);
    let places = memory.places();
    let counts = [
        (places.has_notes, Source::Memory, notes, note_units),
        (places.has_sessions, Source::Sessions, conversations, messages),
    ];
    let source_counts: Vec<SourceCount> = counts
        .into_iter()
        .filter(|(is_there, ..)| *is_there)
        .map(|(_, source, files, chunks)| SourceCount { source, files: files.into(), chunks: chunks.into() })
        .collect();
    let embedder = kept.choice.embedder.as_ref().ok();
    let kept_vectors = memory.blocking(|memory| memory.recall().kept_vectors()).await?;
    let fallback = kept.choice.fallback_from.map(|from| FallbackStatus {
        from: from.as_str().to_owned(),
        reason: kept.choice.fallback_reason.clone().unwrap_or_default(),
    });
    Ok(Status {
        files: source_counts.iter().map(|count| count.files).sum(),
        chunks: source_counts.iter().map(|count| count.chunks).sum(),
        dirty: memory.unread_files().await? > 0,
        workspace_dir: kept.workspace.display().to_string(),
        db_path: own.path.clone(),
        provider: embedder.map_or("none", |embedder| embedder.provider()).to_owned(),
        model: embedder.map_or("words", |embedder| embedder.model()).to_owned(),
        requested_provider: settings.provider.as_str().to_owned(),
        sources: source_counts.iter().map(|count| count.source).collect(),
        extra_paths: settings.extra_paths.clone(),
        source_counts,
        cache_entries: Some(kept_vectors),
        cache_max_entries: None,
        words: Part::Ready,
        fallback,
        vector: VectorStatus {
            enabled: embedder.is_some(),
            available: Some(embedder.is_some()),
            error: None,
            dims: None,
        },
        batch: settings.batch(),
        jobs: jobs_of(kept.choice.embedder.as_deref().ok(), settings.batch()),
    })
}

impl Report {
    fn json(&self) -> Value {
        let mut status = Object::from_iter([("backend".to_owned(), Value::from("builtin"))]);
        if let Value::Object(told) = self.status.to_json() {
            status.extend(told);
        }
        let mut shown = json!({"agentId": self.agent.as_str(), "status": status});
        match &self.probe {
            Some(Ok(())) => shown["embeddingProbe"] = json!({"ok": true}),
            Some(Err(error)) => shown["embeddingProbe"] = json!({"ok": false, "error": error}),
            None => {}
        }
        if let Some(error) = &self.index_error {
            shown["indexError"] = error.as_str().into();
        }
        shown["scan"] = self.scan.json();
        shown["recall"] = self.own.json();
        shown
    }

    fn sheet(&self, desk: &Desk<'_>, verbose: bool) -> Sheet {
        let status = &self.status;
        let mut sheet = Sheet::default();
        sheet.heading("Memory Search", &self.agent);
        let requested = &status.requested_provider;
        sheet.line("Provider", VALUE, &format!("{} (requested: {requested})", status.provider));
        sheet.line("Model", VALUE, &status.model);
        let sources: Vec<&str> = status.sources.iter().map(|source| source.as_str()).collect();
        sheet.line("Sources", VALUE, &sources.join(", "));
        if !status.extra_paths.is_empty() {
            sheet.line("Extra paths", VALUE, &status.extra_paths.join(", "));
        }
        sheet.line("Indexed", GOOD, &indexed(status.files, self.scan.total(), status.chunks));
        let (dirty, style) = if status.dirty { ("yes", BAD) } else { ("no", LABEL) };
        sheet.line("Dirty", style, dirty);
        sheet.line("Store", VALUE, &desk.shortened(&status.db_path));
        sheet.line("Workspace", VALUE, &desk.shortened(&status.workspace_dir));
        match &self.probe {
            Some(Ok(())) => sheet.line("Embeddings", GOOD, "ready"),
            Some(Err(error)) => {
                sheet.line("Embeddings", BAD, "unavailable");
                sheet.line("Embeddings error", BAD, &error.replace('\n', " "));
            }
            None => {}
        }
        sheet.label("By source");
        for count in &status.source_counts {
            let name = count.source.as_str();
            let total = self.scan.total_of(count.source);
            sheet.item(PLAIN, &format!("{name} · {}", indexed(count.files, total, count.chunks)));
        }
        if let Some(fallback) = &status.fallback {
            sheet.line("Fallback", BAD, &fallback.from);
        }
        self.add_parts(&mut sheet);
        if let Some(fallback) = &status.fallback {
            sheet.0.push_str(&format!("{LABEL}{}{LABEL:#}\n", terminal::harmless(&fallback.reason)));
        }
        if let Some(error) = &self.index_error {
            sheet.line("Index error", BAD, error);
        }
        if !self.scan.issues().is_empty() {
            sheet.label("Issues");
            self.scan.issues().iter().for_each(|issue| sheet.item(BAD, issue));
        }
        self.own.add_to(&mut sheet, desk, verbose);
        sheet
    }

    /// The parts of an index, and how they are.
    fn add_parts(&self, sheet: &mut Sheet) {
        let Status { vector, words, jobs, .. } = &self.status;
        let (state, style) = match (vector.enabled, vector.available) {
            (false, _) => ("disabled", LABEL),
            (true, None) => ("unknown", BAD),
            (true, Some(true)) => ("ready", GOOD),
            (true, Some(false)) => ("unavailable", BAD),
        };
        sheet.line("Vector", style, state);
        if let Some(dims) = vector.dims {
            sheet.line("Vector dims", VALUE, &dims.to_string());
        }
        if vector.enabled {
            sheet.line("Vector path", VALUE, "built in");
        }
        if let Some(error) = &vector.error {
            sheet.line("Vector error", BAD, error);
        }
        match words {
            Part::Ready => sheet.line("FTS", GOOD, "ready"),
            Part::Off => sheet.line("FTS", LABEL, "disabled"),
            Part::Unavailable(error) => {
                sheet.line("FTS", BAD, "unavailable");
                sheet.line("FTS error", BAD, error);
            }
        }
        match self.status.cache_entries {
            Some(entries) => sheet.line("Embedding cache", GOOD, &format!("enabled ({entries} entries)")),
            None => sheet.line("Embedding cache", LABEL, "disabled"),
        }
        if let Some(most) = self.status.cache_max_entries.filter(|_| self.status.cache_entries.is_some()) {
            sheet.line("Cache cap", VALUE, &yabby_domain::json::number_text(most));
        }
        let (state, style) = match jobs.enabled {
            true if jobs.failures > 0 => ("enabled", BAD),
            true => ("enabled", GOOD),
            false => ("disabled", LABEL),
        };
        sheet.line("Batch", style, &format!("{state} (failures {}/{})", jobs.failures, jobs.limit));
    }
}

impl Own {
    fn json(&self) -> Value {
        let Totals { notes, note_units, conversations, messages, sessions } = self.totals;
        json!({
            "path": self.path,
            "notes": notes,
            "noteParts": note_units,
            "conversations": conversations,
            "messages": messages,
            "sessions": sessions,
            "embedded": {"done": self.embedded.done, "all": self.embedded.all},
            "model": self.model,
        })
    }

    fn add_to(&self, sheet: &mut Sheet, desk: &Desk<'_>, verbose: bool) {
        let Totals { notes, conversations, messages, sessions, .. } = self.totals;
        sheet.line("Recall index", VALUE, &desk.shortened(&self.path));
        let parts = [
            counted(notes as usize, "note"),
            counted(conversations as usize, "conversation"),
            counted(messages as usize, "message"),
            counted(sessions as usize, "session"),
        ];
        sheet.line("Recall", GOOD, &parts.join(" · "));
        match (&self.model, &self.without) {
            (Some(model), _) => {
                let Embedded { done, all } = self.embedded;
                sheet.line("Recall embedded", GOOD, &format!("{done}/{all} ({model})"));
            }
            (None, Some(reason)) if verbose => {
                sheet.line("Recall embedded", LABEL, &format!("no: {}", reason.replace('\n', " ")));
            }
            (None, _) => sheet.line("Recall embedded", LABEL, "no, found by words"),
        }
    }
}

fn indexed(files: u64, total: Option<usize>, chunks: u64) -> String {
    let total = total.map_or_else(|| "?".to_owned(), |total| total.to_string());
    format!("{files}/{total} files · {chunks} chunks")
}
