//! Our own server over HTTP.

use reqwest::StatusCode;
use rmcp::ServiceExt as _;
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use serde_json::json;
use yabby_mcp::serve::{HttpServer, MemoryServer, PATH, ShownTo};

use crate::remembering::{Asking, Remembering};

async fn listening(here: &Remembering) -> String {
    let server = MemoryServer::new(here.opening(), ShownTo::Owner);
    let http = HttpServer::bind(server, 0, "right").await.unwrap();
    let address = http.address();
    assert!(address.ip().is_loopback());
    tokio::spawn(http.run());
    format!("http://{address}{PATH}")
}

async fn asking(url: &str, token: &str) -> Option<Asking> {
    let config = StreamableHttpClientTransportConfig::with_uri(url).auth_header(token);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    Some(Asking(().serve(StreamableHttpClientTransport::with_client(client, config)).await.ok()?))
}

#[tokio::test]
async fn whoever_has_the_token_is_served() {
    let here = Remembering::new().await;
    let url = listening(&here).await;
    let (one, other) = (asking(&url, "right").await.unwrap(), asking(&url, "right").await.unwrap());
    for asking in [&one, &other] {
        let found = asking.call("memory_search", json!({"query": "alarm code"})).await;
        assert_eq!(found["results"][0]["path"], "MEMORY.md");
        assert_eq!(asking.resources().await.len(), 3);
    }
    assert_eq!(one.refusal("memory_get", json!({})).await, "path is required");
    assert!(asking(&url, "wrong").await.is_none());
}

#[tokio::test]
async fn strangers_are_turned_away() {
    let here = Remembering::new().await;
    let url = listening(&here).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"},
    }});
    let right = ("authorization", "Bearer right");
    //  headers                                                      status
    let table: [(&[(&str, &str)], u16); 10] = [
        (&[right], 200),
        (&[], 401),
        (&[("authorization", "Bearer wrong")], 401),
        (&[("authorization", "right")], 401),
        (&[right, ("origin", "http://localhost:6274")], 200),
        (&[right, ("origin", "https://evil.example")], 403),
        (&[right, ("origin", "http://127.0.0.1.evil.example")], 403),
        (&[right, ("origin", "null")], 403),
        (&[right, ("host", "evil.example")], 403),
        (&[("host", "evil.example"), ("origin", "https://evil.example")], 401),
    ];
    for (headers, status) in table {
        let mut request =
            client.post(&url).header("accept", "application/json, text/event-stream").json(&hello);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::from_u16(status).unwrap(), "{headers:?}");
    }
    for elsewhere in ["/", "/.well-known/oauth-authorization-server", "/mcp/x"] {
        let address = url.replace(PATH, elsewhere);
        assert_eq!(
            client.get(address).send().await.unwrap().status(),
            StatusCode::UNAUTHORIZED,
            "{elsewhere}"
        );
    }
    assert_eq!(here.opened.load(std::sync::atomic::Ordering::Relaxed), 0);
}
