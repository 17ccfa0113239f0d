//! A model that answers at once, in the wire format of chat completions.

use std::net::SocketAddr;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Serves until the runtime ends.
pub async fn serve() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let address = listener.local_addr()?;
    let answer = answer();
    let app = Router::new().fallback(move |request: Request| {
        let answer = answer.clone();
        async move {
            // What is not read keeps the connection from being used again.
            let _ = to_bytes(request.into_body(), usize::MAX).await;
            ([(CONTENT_TYPE, "text/event-stream")], answer).into_response()
        }
    });
    tokio::spawn(async move {
        let _ = axum::serve(listener, app).await;
    });
    Ok(address)
}

fn answer() -> String {
    let chunk = |delta: Value, finish: Value, usage: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub",
            "choices": [choice], "usage": usage});
        format!("data: {chunk}\n\n")
    };
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15});
    chunk(json!({"role": "assistant", "content": "done;"}), Value::Null, Value::Null)
        + &chunk(json!({}), "stop".into(), usage)
        + "data: [DONE]\n\n"
}
