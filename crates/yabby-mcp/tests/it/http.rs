//! Servers that run already.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::TcpListener;

use crate::desk::{Desk, inside};
use crate::stand_in::StandIn;

#[tokio::test]
async fn a_server_somewhere_else_is_used_with_its_headers() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let service: StreamableHttpService<StandIn, LocalSessionManager> = StreamableHttpService::new(
        || Ok(StandIn::default()),
        Arc::default(),
        StreamableHttpServerConfig::default(),
    );
    let note = middleware::from_fn(move |request: Request, next: Next| {
        let key = request.headers().get("x-key").map(|key| key.to_str().unwrap().to_owned());
        noted.lock().unwrap().push(key);
        next.run(request)
    });
    let app = Router::new().nest_service("/mcp", service).layer(note);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move { axum::serve(listener, app).await });
    let desk =
        Desk::with(json!({"far": {"url": url, "headers": {"X-Key": "its-key"}, "tools": ["echo", "fail"]}}));
    assert_eq!(desk.names().await, ["mcp_far_echo", "mcp_far_fail"]);
    assert_eq!(inside(&desk.call("mcp_far_echo", json!({"text": "hello"})).await), "hello");
    assert!(desk.call("mcp_far_fail", json!({})).await.is_error);
    assert!(seen.lock().unwrap().iter().all(|key| key.as_deref() == Some("its-key")));
    serving.abort();
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told() {
    let desk = Desk::with(json!({"far": {"url": "http://127.0.0.1:1/mcp"}, "bad": {"url": "nonsense"}}));
    assert_eq!(desk.names().await.len(), 0);
    assert_eq!(desk.servers.troubles().await.len(), 2);
}
