//! HTTP on the same port (`gateway.md` §9, §10.3).

use std::sync::Arc;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts as _, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use crate::Gateway;
use crate::auth::Peer;
use crate::connection;
use crate::frames::MAX_PAYLOAD;

/// How much room a connection has for what it reads and writes; more is made when it is needed.
const BUFFER: usize = 4 * 1024;

/// Where a request comes from, as far as the listener knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) address: std::net::SocketAddr,
    pub(crate) is_encrypted: bool,
}

/// Answers whatever comes in over HTTP. A WebSocket may be opened anywhere.
pub(crate) async fn answer(gateway: Arc<Gateway>, source: Source, request: Request) -> Response {
    if wants_websocket(request.headers()) {
        return open_socket(gateway, source, request).await;
    }
    (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], "Not Found")
        .into_response()
}

fn wants_websocket(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|upgrade| upgrade.eq_ignore_ascii_case("websocket"))
}

async fn open_socket(gateway: Arc<Gateway>, source: Source, request: Request) -> Response {
    let peer = peer(source, request.headers());
    let (mut parts, _) = request.into_parts();
    match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade
            .max_message_size(MAX_PAYLOAD)
            .max_frame_size(MAX_PAYLOAD)
            .read_buffer_size(BUFFER)
            .write_buffer_size(BUFFER)
            .on_upgrade(move |socket| connection::serve(gateway, socket, peer)),
        Err(rejection) => rejection.into_response(),
    }
}

/// Where a request comes from.
pub(crate) fn peer(source: Source, headers: &HeaderMap) -> Peer {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Peer {
        address: Some(source.address.ip()),
        host: text("host"),
        origin: text("origin"),
        forwarded_for: text("x-forwarded-for"),
        real_ip: text("x-real-ip"),
        forwarded_host: headers.contains_key("x-forwarded-host"),
        forwarded_proto: text("x-forwarded-proto"),
        is_encrypted: source.is_encrypted,
    }
}
