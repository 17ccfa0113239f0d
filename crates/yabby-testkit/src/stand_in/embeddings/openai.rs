//! Files and jobs of OpenAI; Voyage's are nearly the same.

use axum::body::Bytes;
use axum::http::Method;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::{JobEnd, Room, error, is_get, json_response, lines_of_form, vector};

pub(super) fn answer(room: &Room, method: &Method, path: &str, body: &Value, bytes: &Bytes) -> Response {
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    match segments.as_slice() {
        [.., "files"] => {
            let name = room.keep("file-", lines_of_form(bytes));
            json_response(
                200,
                &json!({"id": name, "object": "file", "bytes": bytes.len(), "purpose": "batch"}),
            )
        }
        [.., "files", name, "content"] if is_get(method) => match room.file(name) {
            Some(content) => content.into_response(),
            None => error(path, 404, "No such File object"),
        },
        [.., "batches"] => match room.next_end() {
            JobEnd::Unknown => error(path, 404, "Not Found"),
            end => {
                let name = room.begin("batch_", body["input_file_id"].as_str().unwrap_or_default(), end);
                json_response(200, &job(&name, "validating", body, Value::Null))
            }
        },
        [.., "batches", name, "cancel"] => json_response(200, &job(name, "cancelling", body, Value::Null)),
        [.., "batches", name] if is_get(method) => match room.look(name) {
            None => error(path, 404, "No batch found"),
            Some((_, _, false)) => json_response(200, &job(name, "in_progress", body, Value::Null)),
            Some((_, JobEnd::Failed, _)) => {
                let mut failed = job(name, "failed", body, Value::Null);
                failed["errors"] =
                    json!({"object": "list", "data": [{"code": "x", "message": "quota exceeded"}]});
                json_response(200, &failed)
            }
            Some((file, end, _)) => {
                let results = results(&room.file(&file).unwrap_or_default(), &end);
                let file = room.keep("file-", results);
                json_response(200, &job(name, "completed", body, file.into()))
            }
        },
        _ => error(path, 404, "unknown address"),
    }
}

fn job(name: &str, status: &str, body: &Value, output: Value) -> Value {
    json!({
        "id": name, "object": "batch", "endpoint": "/v1/embeddings", "status": status, "errors": null,
        "input_file_id": body["input_file_id"], "output_file_id": output, "error_file_id": null,
    })
}

/// Results come in another order than requests.
fn results(requests: &str, end: &JobEnd) -> String {
    let requests: Vec<Value> = requests.lines().flat_map(serde_json::from_str).collect();
    let mut lines: Vec<String> = Vec::new();
    for (at, request) in requests.iter().enumerate().rev() {
        let input = &request["body"]["input"];
        let text = input.as_str().or(input[0].as_str()).unwrap_or_default();
        let (response, error) = match (end, at) {
            (JobEnd::OneMissing, 0) => (Value::Null, json!({"code": "x", "message": "this one failed"})),
            _ => {
                let body = list_of(&[vector(text)], &request["body"]["model"]);
                (json!({"status_code": 200, "request_id": "r", "body": body}), Value::Null)
            }
        };
        let line =
            json!({"id": "r", "custom_id": request["custom_id"], "response": response, "error": error});
        lines.push(line.to_string());
    }
    // The last line has no end, as from some.
    lines.join("\n")
}

/// The answer with vectors; their places are told in a wrong order, which nobody may look at.
pub(super) fn list_of(vectors: &[Vec<f64>], model: &Value) -> Value {
    let item = |(at, vector): (usize, &Vec<f64>)| json!({"object": "embedding", "index": vectors.len() - 1 - at, "embedding": vector});
    let data: Vec<Value> = vectors.iter().enumerate().map(item).collect();
    json!({"object": "list", "data": data, "model": model, "usage": {"prompt_tokens": 1, "total_tokens": 1}})
}
