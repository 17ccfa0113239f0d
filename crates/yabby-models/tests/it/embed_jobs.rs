//! Jobs for embeddings, with stand-ins for the services.

use std::collections::HashMap;
use std::time::Duration;
use yabby_testkit::hashed_embedder::alone;

use serde_json::{Value, json};
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::seam::embedder::{EmbedError, Embedder, Job, JobsState};
use yabby_domain::session::path::Folders;
use yabby_memory::compat::keys::hash_text;
use yabby_memory::compat::{CompatIndex, Places, Reason, SearchOptions};
use yabby_memory::settings::Settings;
use yabby_models::embed::Provider;
use yabby_testkit::stand_in::embeddings::{EmbeddingStandIn, JobEnd, vector};

use crate::embed::{base_url, embedder, settings};

const TAKE_JOBS: [Provider; 3] = [Provider::OpenAi, Provider::Gemini, Provider::Voyage];

fn job(texts: &[(&str, &str)]) -> Job {
    let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    Job { source: "memory".into(), agent: "main".into(), texts }
}

async fn run(embedder: &dyn Embedder, job: &Job) -> Result<HashMap<String, Vec<f64>>, EmbedError> {
    embedder.jobs().unwrap().run(job).await
}

fn state(embedder: &dyn Embedder) -> JobsState {
    embedder.jobs().unwrap().state()
}

fn some() -> Job {
    job(&[("a", "the lake"), ("b", "the hospital"), ("empty", " "), ("c", "monday")])
}

fn expected() -> HashMap<String, Vec<f64>> {
    let all = [
        ("a", vector("the lake")),
        ("b", vector("the hospital")),
        ("empty", vec![]),
        ("c", vector("monday")),
    ];
    all.into_iter().map(|(name, vector)| (name.to_owned(), vector)).collect()
}

#[tokio::test]
async fn jobs_answer_by_the_names_of_texts() {
    for provider in TAKE_JOBS {
        let stand_in = EmbeddingStandIn::start().await;
        let embedder = embedder(&settings(provider, &base_url(provider, &stand_in)));
        stand_in.jobs_end([JobEnd::Done(3)]);
        assert_eq!(run(&*embedder, &some()).await.unwrap(), expected(), "{provider:?}");
        let paths = stand_in.paths();
        assert!(
            !paths.iter().any(|path| path.contains("/embeddings") || path.contains("EmbedContents")),
            "{paths:?}"
        );
        assert_eq!(state(&*embedder), JobsState { enabled: true, failures: 0, limit: 2 });
    }
}

#[tokio::test]
async fn jobs_are_in_the_words_of_their_service() {
    let stand_in = EmbeddingStandIn::start().await;
    let embedder_of = |provider| embedder(&settings(provider, &base_url(provider, &stand_in)));
    let one = job(&[("a", "the lake")]);
    run(&*embedder_of(Provider::OpenAi), &one).await.unwrap();
    let request =
        |files: &[Vec<Value>]| files.iter().flatten().find(|line| line["response"].is_null()).cloned();
    assert_eq!(
        request(&stand_in.files()),
        Some(
            json!({"custom_id": "a", "method": "POST", "url": "/v1/embeddings", "body": {"model": "m", "input": "the lake"}})
        )
    );
    let asked = stand_in.asked();
    assert_eq!(
        stand_in.paths(),
        ["POST /v1/files", "POST /v1/batches", "GET /v1/batches/batch_1", "GET /v1/files/file-2/content"]
    );
    assert!(asked[0].headers["content-type"].starts_with("multipart/form-data"));
    let about = json!({
        "input_file_id": "file-1", "endpoint": "/v1/embeddings", "completion_window": "24h",
        "metadata": {"source": "memory", "agent": "main"},
    });
    assert_eq!(asked[1].body, about);
    run(&*embedder_of(Provider::Voyage), &one).await.unwrap();
    let asked = stand_in.asked().into_iter().rfind(|asked| asked.path == "/like/v1/batches").unwrap();
    assert_eq!(asked.body["completion_window"], "12h");
    assert_eq!(asked.body["request_params"], json!({"model": "m", "input_type": "document"}));

    let stand_in = EmbeddingStandIn::start().await;
    let embedder = embedder(&settings(Provider::Gemini, &base_url(Provider::Gemini, &stand_in)));
    run(&*embedder, &one).await.unwrap();
    assert_eq!(
        stand_in.paths(),
        [
            "POST /upload/v1beta/files?uploadType=multipart",
            "POST /v1beta/models/m:asyncBatchEmbedContent",
            "GET /v1beta/batches/b1",
            "GET /download/v1beta/files/f2:download?alt=media",
        ]
    );
    let asked = stand_in.asked();
    assert!(asked[0].headers["content-type"].starts_with("multipart/related; boundary="));
    assert_eq!(asked[1].body["batch"]["inputConfig"], json!({"fileName": "files/f1"}));
}

#[tokio::test]
async fn a_failed_job_is_made_up_for_and_two_are_the_last() {
    for (provider, end) in [
        (Provider::OpenAi, JobEnd::Failed),
        (Provider::OpenAi, JobEnd::OneMissing),
        (Provider::OpenAi, JobEnd::Unknown),
        (Provider::Voyage, JobEnd::Failed),
        (Provider::Gemini, JobEnd::Failed),
        (Provider::Gemini, JobEnd::OneMissing),
    ] {
        let stand_in = EmbeddingStandIn::start().await;
        let embedder = embedder(&settings(provider, &base_url(provider, &stand_in)));
        let state = || state(&*embedder);
        // One that works in between makes good for one that does not.
        stand_in.jobs_end([end.clone(), JobEnd::Done(1), end.clone(), end.clone()]);
        for (enabled, failures) in [(true, 1), (true, 0), (true, 1), (false, 2), (false, 2)] {
            assert_eq!(run(&*embedder, &some()).await.unwrap(), expected(), "{provider:?} {end:?}");
            assert_eq!((state().enabled, state().failures), (enabled, failures), "{provider:?} {end:?}");
        }
        let begun =
            stand_in.paths().iter().filter(|path| path.starts_with("POST") && path.contains("atch")).count();
        let plain = stand_in.paths().iter().filter(|path| path.contains(":batchEmbedContents")).count();
        assert_eq!(begun - plain, 4, "{:?}", stand_in.paths());
    }
}

#[tokio::test]
async fn a_model_of_google_that_takes_no_jobs_is_not_asked_again() {
    let stand_in = EmbeddingStandIn::start().await;
    let embedder = embedder(&settings(Provider::Gemini, &base_url(Provider::Gemini, &stand_in)));
    stand_in.jobs_end([JobEnd::Unknown]);
    assert_eq!(run(&*embedder, &some()).await.unwrap(), expected());
    assert_eq!(state(&*embedder), JobsState { enabled: false, failures: 1, limit: 2 });
}

#[tokio::test]
async fn a_job_that_takes_too_long_is_tried_once_more() {
    for provider in TAKE_JOBS {
        let stand_in = EmbeddingStandIn::start().await;
        let mut settings = settings(provider, &base_url(provider, &stand_in));
        settings.remote.jobs.timeout = Duration::from_millis(60);
        let embedder = embedder(&settings);
        stand_in.jobs_end([JobEnd::Never, JobEnd::Done(1), JobEnd::Never, JobEnd::Never]);
        assert_eq!(run(&*embedder, &some()).await.unwrap(), expected(), "{provider:?}");
        assert_eq!(state(&*embedder).failures, 0);
        let cancelled = stand_in.paths().iter().filter(|path| path.contains("cancel")).count();
        assert_eq!(cancelled, 1, "{provider:?}");
        assert_eq!(run(&*embedder, &some()).await.unwrap(), expected(), "{provider:?}");
        assert!(!state(&*embedder).enabled, "{provider:?}");
    }
}

#[tokio::test]
async fn who_takes_no_jobs_or_shall_not_is_asked_plainly() {
    let stand_in = EmbeddingStandIn::start().await;
    let ollama = embedder(&settings(Provider::Ollama, &base_url(Provider::Ollama, &stand_in)));
    assert!(ollama.jobs().is_none());
    let mut off = settings(Provider::OpenAi, &base_url(Provider::OpenAi, &stand_in));
    off.remote.jobs.enabled = false;
    let openai = embedder(&off);
    assert_eq!(state(&*openai), JobsState { enabled: false, failures: 0, limit: 2 });
    assert_eq!(run(&*openai, &some()).await.unwrap(), expected());
    assert_eq!(stand_in.paths(), ["POST /v1/embeddings"]);
}

/// OpenClaw's index has whole files embedded as jobs, and tells how these went.
#[tokio::test]
async fn the_references_index_gives_whole_files_to_jobs() {
    let stand_in = EmbeddingStandIn::start().await;
    let embedder = embedder(&settings(Provider::OpenAi, &base_url(Provider::OpenAi, &stand_in)));
    let folder = tempfile::tempdir().unwrap();
    let workspace = folder.path().join("workspace");
    std::fs::create_dir_all(workspace.join("memory")).unwrap();
    let state = folder.path().display().to_string();
    let folders = Folders { state: &state, home: &state, current: "/" };
    let chunking = json!({"tokens": 8, "overlap": 0});
    let config =
        json!({"agents": {"defaults": {"memorySearch": {"provider": "openai", "chunking": chunking}}}});
    let index_settings = Settings::from_config(&Config::new(config), &AgentId::default(), &folders).unwrap();
    let places = Places {
        agent: AgentId::default(),
        workspace: workspace.clone(),
        sessions: folder.path().join("sessions"),
    };
    let index = CompatIndex::open(places, index_settings, alone(embedder)).await.unwrap();
    let lake = "the lake is deep and cold and wide\nthe boat is red and small and old\n";
    std::fs::write(workspace.join("memory/lake.md"), lake).unwrap();
    let begun = || stand_in.paths().iter().filter(|path| *path == "POST /v1/batches").count();
    let plain = || stand_in.paths().iter().filter(|path| *path == "POST /v1/embeddings").count();
    let batch = async || index.status().await.unwrap().to_json()["batch"].clone();

    index.sync(Reason::Manual, false, None).await.unwrap();
    assert_eq!((begun(), plain()), (1, 0));
    let lines: Vec<Value> =
        stand_in.files().concat().into_iter().filter(|line| line["response"].is_null()).collect();
    let named = |line: usize, text: &str, at: usize| {
        let hash = hash_text(text);
        let name = hash_text(&format!("memory:memory/lake.md:{line}:{line}:{hash}:{at}"));
        json!({"custom_id": name, "method": "POST", "url": "/v1/embeddings", "body": {"model": "m", "input": text}})
    };
    let [first, rest, second] =
        ["the lake is deep and cold and wi", "de", "the boat is red and small and ol"];
    assert_eq!(lines[0], named(1, first, 0));
    assert!(lines.len() > 2 && lines.contains(&named(2, second, 2)), "{rest} {lines:?}");
    let metadata =
        &stand_in.asked().into_iter().find(|asked| asked.path == "/v1/batches").unwrap().body["metadata"];
    assert_eq!(*metadata, json!({"source": "memory", "agent": "main"}));
    assert_eq!((&batch().await["enabled"], &batch().await["failures"]), (&json!(true), &json!(0)));

    // Both times the texts are asked for plainly, and then there are no more jobs.
    for (round, expected) in [(1, (true, 1)), (2, (false, 2)), (3, (false, 2))] {
        stand_in.jobs_end([JobEnd::Failed]);
        std::fs::write(workspace.join(format!("memory/{round}.md")), format!("note {round}")).unwrap();
        index.mark_dirty();
        index.sync(Reason::Manual, false, None).await.unwrap();
        let told = batch().await;
        assert_eq!(
            (told["enabled"].as_bool(), told["failures"].as_u64()),
            (Some(expected.0), Some(expected.1))
        );
        // Each question is a plain request, too.
        assert_eq!((begun(), plain()), (1 + round.min(2), 2 * round - 1), "{round}");
        let found = index.search(&format!("note {round}"), &SearchOptions::default()).await.unwrap();
        assert!(found.iter().any(|hit| hit.path == format!("memory/{round}.md")), "{found:?}");
    }
}
