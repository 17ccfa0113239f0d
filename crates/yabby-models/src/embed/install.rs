//! Bringing the local model, from a place on this machine or from an address.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use reqwest::header::LOCATION;
use reqwest::{Response, Url};
use yabby_minilm::{InstallError, Installed, Progress, TOKENIZER};

use crate::failure::innermost;
use crate::http::Http;

/// Where the model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// A folder, the package, or the file of the weights.
    Path(PathBuf),
    /// The package, or the file of the weights with `tokenizer.json` beside it.
    Url(String),
}

/// Why there is no model. What was there before is still there.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error("{url} was not fetched: {why}; fetch it by other means, and install the file")]
    Fetch { url: String, why: String },
    #[error("the model was not put into {}: {why}", into.display())]
    Disk { into: PathBuf, why: String },
}

/// More than any file of the model has.
const LARGEST: u64 = 200 << 20;

/// Puts the model into a folder (`<state>/models/minilm`), all of it or nothing. Told are the bytes that
/// have come over the line, and then those that are put into place.
pub async fn install(
    from: &ModelSource,
    into: &Path,
    http: &Http,
    mut progress: impl FnMut(Progress) + Send + 'static,
) -> Result<Installed, FetchError> {
    let disk = |why: String| FetchError::Disk { into: into.to_owned(), why };
    let (fetched, path) = match from {
        ModelSource::Path(path) => (None, path.clone()),
        ModelSource::Url(url) => {
            let parent = into.parent().unwrap_or(Path::new("."));
            std::fs::create_dir_all(parent).map_err(|error| disk(error.to_string()))?;
            let folder = tempfile::Builder::new().prefix(".minilm-").tempdir_in(parent);
            let folder = folder.map_err(|error| disk(error.to_string()))?;
            let path = fetch_model(url, folder.path(), http, &mut progress).await?;
            (Some(folder), path)
        }
    };
    let to = into.to_owned();
    let installing = tokio::task::spawn_blocking(move || {
        let installed = yabby_minilm::install(&path, &to, &mut progress);
        drop(fetched);
        installed
    });
    Ok(installing.await.map_err(|_| disk("it broke off".to_owned()))??)
}

/// Fetches what an address has, and what belongs to it; where it is then.
async fn fetch_model(
    url: &str,
    folder: &Path,
    http: &Http,
    progress: &mut (impl FnMut(Progress) + Send),
) -> Result<PathBuf, FetchError> {
    let bad = |why: &dyn ToString| FetchError::Fetch { url: url.to_owned(), why: why.to_string() };
    let address = Url::parse(url).map_err(|error| bad(&error))?;
    let name = address.path_segments().and_then(|mut segments| segments.next_back()).unwrap_or_default();
    let path = match name {
        "" | "." | ".." => folder.join("model.safetensors"),
        name => folder.join(name),
    };
    let mut done = 0;
    fetch(&address, &path, http, &mut done, progress).await?;
    if name.ends_with(".safetensors") {
        let pieces = address.join(TOKENIZER).map_err(|error| bad(&error))?;
        fetch(&pieces, &folder.join(TOKENIZER), http, &mut done, progress).await?;
    }
    Ok(path)
}

async fn fetch(
    url: &Url,
    to: &Path,
    http: &Http,
    done: &mut u64,
    progress: &mut (impl FnMut(Progress) + Send),
) -> Result<(), FetchError> {
    let failed = |why: String| FetchError::Fetch { url: url.to_string(), why };
    let mut response = follow(url, http).await.map_err(failed)?;
    let of = response.content_length().map(|length| *done + length);
    let mut file = std::fs::File::create(to).map_err(|error| failed(error.to_string()))?;
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(innermost(&error)))? {
        file.write_all(&chunk).map_err(|error| failed(error.to_string()))?;
        *done += chunk.len() as u64;
        if *done > LARGEST {
            return Err(failed("it is much larger than the model".to_owned()));
        }
        progress(Progress { done: *done, of });
    }
    Ok(())
}

/// Asks an address, and the ones that it sends on to: those who publish models keep them elsewhere.
async fn follow(url: &Url, http: &Http) -> Result<Response, String> {
    let mut url = url.clone();
    for _ in 0..10 {
        let client = http.client(&url).map_err(|error| error.to_string())?;
        let response = client.get(url.clone()).send().await.map_err(|error| innermost(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let place = response.headers().get(LOCATION).and_then(|place| place.to_str().ok());
        let next = place.filter(|_| status.is_redirection()).and_then(|place| url.join(place).ok());
        match next {
            Some(next) if next.scheme() == url.scheme() || next.scheme() == "https" => url = next,
            _ => return Err(format!("status {}", status.as_u16())),
        }
    }
    Err("it is sent on and on".to_owned())
}
