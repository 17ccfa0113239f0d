//! HTTP on the same port (`gateway.md` §9, §10.3).

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts as _, Request};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Version, header};
use axum::response::{IntoResponse as _, Response};
use yabby_domain::config::Config;

use crate::auth::Peer;
use crate::control_ui::ControlUi;
use crate::frames::MAX_PAYLOAD;
use crate::hub::WRITTEN_AT_ONCE;
use crate::{Gateway, connection, metrics};

/// How much room a connection has for what it reads; more is made when it is needed.
const READ_BUFFER: usize = 4 * 1024;

/// Where a request comes from, as far as the listener knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) address: std::net::SocketAddr,
    pub(crate) is_encrypted: bool,
}

/// Where a canvas would be.
const CANVAS: [&str; 3] = ["/__openclaw__/canvas", "/__openclaw__/a2ui", "/__openclaw__/ws"];

/// Answers whatever comes in over HTTP. A WebSocket may be opened anywhere.
pub(crate) async fn answer(gateway: Arc<Gateway>, source: Source, request: Request) -> Response {
    if is_lost(&request) {
        return plain(StatusCode::BAD_REQUEST, "Bad Request");
    }
    if wants_websocket(request.headers()) {
        return open_socket(gateway, source, request).await;
    }
    let (method, uri) = (request.method(), request.uri());
    let config = gateway.config();
    if let Some(answer) = about_us(&gateway, &config, source, &request) {
        return answer;
    }
    let is_below = |folder: &str| {
        let rest = uri.path().strip_prefix(folder);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if CANVAS.into_iter().any(is_below) {
        return not_found();
    }
    let page = match ControlUi::of(&gateway, &config) {
        Some(page) => page.answer(&gateway, method, uri).await,
        None => None,
    };
    let own = || status_page(&gateway, &config, source, &request);
    page.or_else(own).unwrap_or_else(not_found)
}

/// What watchers ask: whether we live, whether we are ready, and our figures.
fn about_us(gateway: &Gateway, config: &Config, source: Source, request: &Request) -> Option<Response> {
    let path = request.uri().path();
    if !["/healthz", "/readyz", "/metrics"].contains(&path) {
        return None;
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return Some(plain(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"));
    }
    Some(match path {
        "/healthz" => plain(StatusCode::OK, "ok\n"),
        "/readyz" if gateway.ending.is_cancelled() => plain(StatusCode::SERVICE_UNAVAILABLE, "stopping\n"),
        "/readyz" if gateway.folder.check().is_err() => {
            plain(StatusCode::SERVICE_UNAVAILABLE, "the state folder was moved away\n")
        }
        "/readyz" => plain(StatusCode::OK, "ready\n"),
        _ => {
            // Figures are for this machine, and for whoever knows the secret.
            let peer = peer(source, request.headers());
            if !peer.is_local(config)
                && let Some(refused) = refuse_stranger(gateway, config, &peer, request.headers())
            {
                return Some(refused);
            }
            let mut response = plain(StatusCode::OK, &metrics::told(gateway));
            let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
    })
}

/// What a request is answered that does not carry the secret that clients share; `None` if it does. From where wrong ones
/// came it is not judged before its turn.
fn refuse_stranger(gateway: &Gateway, config: &Config, peer: &Peer, headers: &HeaderMap) -> Option<Response> {
    let unauthorized = || Some(plain(StatusCode::UNAUTHORIZED, "Unauthorized"));
    let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let Some(given) = given.and_then(|value| value.strip_prefix("Bearer ")).map(str::trim) else {
        return unauthorized();
    };
    let address = peer.counted_address(config);
    if gateway.back_off.turn(address, Instant::now(), Duration::ZERO).is_err() {
        let mut response = plain(StatusCode::TOO_MANY_REQUESTS, "Too Many Requests");
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        return Some(response);
    }
    if !gateway.secret().knows_bearer(given) {
        gateway.back_off.note_wrong(address, Instant::now());
        return unauthorized();
    }
    None
}

/// A page of our own, where no other is served: there is none, or it is further down. It tells strangers nothing but that we are there.
fn status_page(gateway: &Gateway, config: &Config, source: Source, request: &Request) -> Option<Response> {
    if request.uri().path() != "/" {
        return None;
    }
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        return Some(plain(StatusCode::METHOD_NOT_ALLOWED, "Method Not Allowed"));
    }
    let scheme = if source.is_encrypted { "wss" } else { "ws" };
    let is_local = peer(source, request.headers()).is_local(config);
    let page = include_str!("status_page.html")
        .replace("{{figures}}", &if is_local { figures(gateway) } else { String::new() })
        .replace("{{address}}", &format!("{scheme}://127.0.0.1:{}", gateway.port()));
    let mut response = Response::new(Body::from(page));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-frame-options", HeaderValue::from_static("DENY"));
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
    );
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Some(response)
}

/// Our figures, for whoever is at this machine.
fn figures(gateway: &Gateway) -> String {
    let minutes = gateway.uptime_ms() / 60_000.0;
    let rows = [
        ("Version", gateway.version.clone()),
        ("Up for", format!("{} h {} min", (minutes / 60.0).floor(), (minutes % 60.0).floor())),
        ("Clients", gateway.hub.count().to_string()),
        ("Runs", gateway.runs.count().to_string()),
    ];
    let rows = rows.map(|(name, value)| format!("  <dt>{name}</dt><dd>{value}</dd>\n"));
    format!("<dl>\n{}</dl>", rows.concat())
}

pub(crate) fn not_found() -> Response {
    plain(StatusCode::NOT_FOUND, "Not Found")
}

pub(crate) fn plain(status: StatusCode, text: &str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text.to_owned()).into_response()
}

/// Whether a request does not say for whom it is.
fn is_lost(request: &Request) -> bool {
    request.version() == Version::HTTP_11 && !request.headers().contains_key(header::HOST)
}

fn wants_websocket(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket"))
}

/// What is wrong with a request for a WebSocket, as far as its headers show.
fn fault_of_upgrade(request: &Request) -> Option<Response> {
    let text = |name: header::HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok());
    let is_key = |key: &str| {
        let digits = key.strip_suffix("==").filter(|digits| digits.len() == 22);
        digits.is_some_and(|digits| {
            digits.bytes().all(|digit| digit.is_ascii_alphanumeric() || b"+/".contains(&digit))
        })
    };
    if request.method() != Method::GET {
        return Some(plain(StatusCode::METHOD_NOT_ALLOWED, "Invalid HTTP method"));
    }
    if !text(header::SEC_WEBSOCKET_KEY).is_some_and(is_key) {
        return Some(plain(StatusCode::BAD_REQUEST, "Missing or invalid Sec-WebSocket-Key header"));
    }
    if text(header::SEC_WEBSOCKET_VERSION) != Some("13") {
        return Some(plain(StatusCode::BAD_REQUEST, "Missing or invalid Sec-WebSocket-Version header"));
    }
    None
}

async fn open_socket(gateway: Arc<Gateway>, source: Source, request: Request) -> Response {
    if let Some(fault) = fault_of_upgrade(&request) {
        return fault;
    }
    let peer = peer(source, request.headers());
    let (mut parts, _) = request.into_parts();
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade
            .max_message_size(MAX_PAYLOAD)
            .max_frame_size(MAX_PAYLOAD)
            .read_buffer_size(READ_BUFFER)
            // Room for it is made when it is needed.
            .write_buffer_size(WRITTEN_AT_ONCE)
            .on_upgrade(move |socket| connection::serve(gateway, socket, peer)),
        Err(rejection) => rejection.into_response(),
    }
}

/// Where a request comes from.
pub(crate) fn peer(source: Source, headers: &HeaderMap) -> Peer {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    // A header that comes several times is one list; what is no text names no address, and yet it is there.
    let list = |name: &str| {
        let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()));
        headers.contains_key(name).then(|| values.collect::<Vec<_>>().join(","))
    };
    Peer {
        address: Some(source.address.ip()),
        host: text("host"),
        origin: text("origin"),
        forwarded_for: list("x-forwarded-for"),
        real_ip: list("x-real-ip"),
        is_forwarded: ["x-forwarded-host", "forwarded"].iter().any(|name| headers.contains_key(*name)),
        forwarded_proto: text("x-forwarded-proto"),
        is_encrypted: source.is_encrypted,
    }
}
