//! OpenClaw's page in the browser, served from a folder (`gateway.md` §10.3): `gateway.controlUi.root` names it.
//!
//! Whatever is no file of it is its first page, which finds out itself what to show. Nothing leads out of the
//! folder: not `..`, not a link.

use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use axum::body::Body;
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use yabby_domain::agent::agents;
use yabby_domain::config::Config;
use yabby_domain::id::AgentId;
use yabby_domain::json::{self, Value};
use yabby_domain::session::path::user_path;
use yabby_domain::text;
use yabby_store::files::workspace_file;

use crate::Gateway;
use crate::http::{not_found, plain};

/// The largest file that is served.
const LARGEST: u64 = 64 * 1024 * 1024;

/// What pages may do.
const PAGE_POLICY: &str = "frame-ancestors 'none'";
/// What pictures may do.
const PICTURE_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'";

/// The page, if it is to be served.
pub(crate) struct ControlUi {
    root: PathBuf,
    /// Below which path, without a slash at its end.
    base: String,
}

impl ControlUi {
    pub(crate) fn of(gateway: &Gateway, config: &Config) -> Option<Self> {
        if !config.gateway.control_ui.enabled() {
            return None;
        }
        let root = config.gateway.control_ui.root.as_deref().and_then(text::non_blank)?;
        let root = gateway.place.with_folders(|folders| user_path(root, folders.home, folders.current));
        Some(Self { root: root.into(), base: base_path(config) })
    }

    /// Answers a request for the page; `None` if it is not about it.
    pub(crate) async fn answer(&self, gateway: &Gateway, method: &Method, uri: &Uri) -> Option<Response> {
        if ![Method::GET, Method::HEAD].contains(method) {
            return Some(plain(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"));
        }
        let path = uri.path();
        if !self.base.is_empty() && path == self.base {
            let query = uri.query().map(|query| format!("?{query}")).unwrap_or_default();
            let to = HeaderValue::from_str(&format!("{}/{query}", self.base)).ok()?;
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::FOUND;
            response.headers_mut().insert(header::LOCATION, to);
            guard(&mut response, PAGE_POLICY);
            return Some(response);
        }
        let below = path.strip_prefix(&self.base).filter(|below| below.starts_with('/'))?;
        let is_reserved = self.base.is_empty() && (below == "/ui" || below.starts_with("/ui/"));
        let mut response = match below.strip_prefix("/avatar/") {
            Some(agent) => self.avatar(gateway, agent, uri.query()).await,
            None if is_reserved => not_found(),
            None => self.file(gateway, below).await,
        };
        // A picture of an agent may be a page with a script in it, which anybody who gets the agent to draw wrote.
        let kind = response.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_picture = kind.is_some_and(|kind| kind.starts_with("image/"));
        let is_drawn = is_picture && below.starts_with("/avatar/");
        guard(&mut response, if is_drawn { PICTURE_POLICY } else { PAGE_POLICY });
        if method == Method::HEAD {
            *response.body_mut() = Body::empty();
        }
        Some(response)
    }

    /// A file of the folder, else the first page.
    async fn file(&self, gateway: &Gateway, below: &str) -> Response {
        // The page asks for its parts relative to wherever it is shown.
        let wanted = match below.find("/assets/") {
            Some(at) => below.get(at + 1..).unwrap_or_default(),
            None => below.trim_start_matches('/'),
        };
        let is_page = wanted.is_empty() || wanted.ends_with('/') || wanted == "index.html";
        let found = if is_page { None } else { read(&self.root, wanted).await };
        match found {
            Some(bytes) => served(content_type(wanted), bytes),
            None => match read(&self.root, "index.html").await {
                Some(page) => {
                    let page = self.with_globals(gateway, &text::lossy(&page)).await;
                    served("text/html; charset=utf-8", page.into_bytes())
                }
                None => {
                    let folder = self.root.display();
                    let missing = format!(
                        "There is no index.html in {folder}; set gateway.controlUi.root to the folder of the page."
                    );
                    plain(StatusCode::SERVICE_UNAVAILABLE, &missing)
                }
            },
        }
    }

    /// The first page with what it cannot know by itself.
    async fn with_globals(&self, gateway: &Gateway, page: &str) -> String {
        if page.contains("__OPENCLAW_ASSISTANT_NAME__") {
            return page.to_owned();
        }
        let (name, avatar) = match gateway.assistant(None).await {
            Ok((agent, shown)) => (shown.name.clone(), gateway.avatar_address(&agent, &shown)),
            Err(_) => ("Assistant".to_owned(), "A".to_owned()),
        };
        // Nothing in a text ends the script that it stands in.
        let quoted = |text: &str| json::stringify(&Value::from(text)).replace('<', "\\u003c");
        let script = format!(
            "<script>window.__OPENCLAW_CONTROL_UI_BASE_PATH__={};window.__OPENCLAW_ASSISTANT_NAME__={};window.__OPENCLAW_ASSISTANT_AVATAR__={};</script>",
            quoted(&self.base),
            quoted(&name),
            quoted(&avatar)
        );
        match page.find("</head>") {
            Some(at) => format!("{}{script}{}", &page[..at], &page[at..]),
            None => format!("{script}{page}"),
        }
    }

    /// The picture of an agent, or where it is.
    async fn avatar(&self, gateway: &Gateway, agent: &str, query: Option<&str>) -> Response {
        let config = gateway.config();
        let id = AgentId::normalize(agent);
        if id.as_str() != text::lower(agent) {
            return not_found();
        }
        let is_meta = query.is_some_and(|query| query.split('&').any(|part| part == "meta=1"));
        let known = gateway.place.with_folders(|folders| agents(&config, folders));
        let Some(known) = known.into_iter().find(|known| known.id == id) else {
            // It could be an agent, and has no picture.
            return if is_meta { address_of_picture(None) } else { not_found() };
        };
        let shown = gateway.assistant(Some(&id)).await.ok().map(|(_, shown)| shown);
        let file = shown.as_ref().filter(|shown| shown.has_file()).map(|shown| shown.avatar.clone());
        if is_meta {
            let is_address = |avatar: &String| avatar.contains("://") || avatar.starts_with("data:");
            let address = match (&file, &shown) {
                (Some(_), Some(shown)) => Some(gateway.avatar_address(&id, shown)),
                (None, Some(shown)) => Some(shown.avatar.clone()).filter(is_address),
                _ => None,
            };
            return address_of_picture(address);
        }
        let Some(file) = file.filter(|file| content_type(file).starts_with("image/")) else {
            return not_found();
        };
        match read(Path::new(&known.workspace), &file).await {
            Some(bytes) => served(content_type(&file), bytes),
            None => not_found(),
        }
    }
}

/// Says in the headers of a response what a browser may do with it.
fn guard(response: &mut Response, policy: &'static str) {
    let headers = response.headers_mut();
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
}

/// Tells where the picture of an agent is.
fn address_of_picture(address: Option<String>) -> Response {
    let told = json::stringify(&serde_json::json!({"avatarUrl": address}));
    served("application/json; charset=utf-8", told.into_bytes())
}

/// Below which path the page is: none, or one with a slash at its beginning alone.
pub fn base_path(config: &Config) -> String {
    let base = config.gateway.control_ui.base_path.as_deref().unwrap_or_default();
    let base = base.trim().trim_matches('/');
    if base.is_empty() { String::new() } else { format!("/{base}") }
}

/// A picture in the workspace of an agent, as an address that holds all of it.
pub(crate) async fn picture_as_address(workspace: &Path, file: &str) -> Option<String> {
    const LARGEST: usize = 2 * 1024 * 1024;
    let kind = Some(content_type(file)).filter(|kind| kind.starts_with("image/"))?;
    let bytes = read(workspace, file).await.filter(|bytes| bytes.len() <= LARGEST)?;
    Some(format!("data:{kind};base64,{}", STANDARD.encode(bytes)))
}

/// A file below a folder; `None` if there is none, or if it is somewhere else.
async fn read(root: &Path, wanted: &str) -> Option<Vec<u8>> {
    let wanted = percent_decode_str(wanted).decode_utf8().ok()?.into_owned();
    let is_plain = Path::new(&wanted).components().all(|part| matches!(part, Component::Normal(_)));
    if !is_plain || wanted.contains(['\\', '\0']) {
        return None;
    }
    let (root, wanted) = (root.to_owned(), wanted);
    let reading = tokio::task::spawn_blocking(move || {
        let file = workspace_file::open(&root, Path::new(&wanted)).ok()?;
        let mut bytes = Vec::new();
        let is_small = file.metadata().ok()?.len() <= LARGEST;
        is_small.then(|| file.take(LARGEST).read_to_end(&mut bytes).ok())??;
        Some(bytes)
    });
    reading.await.ok()?
}

fn served(content_type: &'static str, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn content_type(name: &str) -> &'static str {
    match text::lower(name.rsplit('.').next().unwrap_or_default()).as_str() {
        "html" => "text/html; charset=utf-8",
        "js" => "application/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "json" | "map" => "application/json; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "bmp" => "image/bmp",
        "tif" | "tiff" => "image/tiff",
        "ico" => "image/x-icon",
        "txt" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("ui");
        std::fs::create_dir_all(root.join("assets")).unwrap();
        std::fs::write(root.join("assets/a b.js"), "inside").unwrap();
        std::fs::write(folder.path().join("secret"), "outside").unwrap();
        std::os::unix::fs::symlink(folder.path().join("secret"), root.join("link")).unwrap();
        assert_eq!(read(&root, "assets/a%20b.js").await.as_deref(), Some(&b"inside"[..]));
        for outside in [
            "../secret",
            "%2e%2e/secret",
            "assets/../../secret",
            "link",
            "/etc/passwd",
            "..%2fsecret",
            "assets%00",
            "..\\secret",
            "assets",
            "%",
            "%zz",
        ] {
            assert_eq!(read(&root, outside).await, None, "{outside}");
        }
    }

    #[test]
    fn a_base_path_has_one_slash() {
        for (configured, base) in [("", ""), ("/", ""), ("ctl", "/ctl"), ("/ctl/", "/ctl"), ("/a/b/", "/a/b")]
        {
            let config = Config::new(serde_json::json!({"gateway": {"controlUi": {"basePath": configured}}}));
            assert_eq!(base_path(&config), base);
        }
    }
}
