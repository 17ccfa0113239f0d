//! Files and jobs of Google.

use axum::body::Bytes;
use axum::http::Method;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::{JobEnd, Room, error, is_get, json_response, lines_of_form, vector};

pub(super) fn answer(room: &Room, method: &Method, path: &str, body: &Value, bytes: &Bytes) -> Response {
    if path == "/upload/v1beta/files" {
        let name = room.keep("files/f", lines_of_form(bytes));
        return json_response(
            200,
            &json!({"file": {"name": name, "mimeType": "application/jsonl", "state": "ACTIVE"}}),
        );
    }
    if path.ends_with(":asyncBatchEmbedContent") {
        return match room.next_end() {
            JobEnd::Unknown => error(path, 404, "asyncBatchEmbedContent is not supported"),
            end => {
                let file = body["batch"]["inputConfig"]["fileName"].as_str().unwrap_or_default();
                let name = room.begin("batches/b", file, end);
                json_response(200, &json!({"name": name, "metadata": {"state": "BATCH_STATE_PENDING"}}))
            }
        };
    }
    if let Some(name) = path.strip_prefix("/download/v1beta/").and_then(|rest| rest.strip_suffix(":download"))
    {
        return room
            .file(name)
            .map_or_else(|| error(path, 404, "no file"), |content| content.into_response());
    }
    let Some(name) = path.strip_prefix("/v1beta/").filter(|_| is_get(method)) else {
        return json_response(200, &json!({}));
    };
    match room.look(name) {
        None => error(path, 404, "no such batch"),
        Some((_, _, false)) => {
            json_response(200, &json!({"name": name, "metadata": {"state": "BATCH_STATE_RUNNING"}}))
        }
        Some((_, JobEnd::Failed, _)) => json_response(
            200,
            &json!({"name": name, "done": true, "metadata": {"state": "BATCH_STATE_FAILED"}, "error": {"code": 8, "message": "quota exceeded"}}),
        ),
        Some((file, end, _)) => {
            let results = results(&room.file(&file).unwrap_or_default(), &end);
            let file = room.keep("files/f", results);
            let metadata = json!({"state": "BATCH_STATE_SUCCEEDED"});
            json_response(
                200,
                &json!({"name": name, "done": true, "metadata": metadata, "response": {"responsesFile": file}}),
            )
        }
    }
}

fn results(requests: &str, end: &JobEnd) -> String {
    let requests: Vec<Value> = requests.lines().flat_map(serde_json::from_str).collect();
    let line = |(at, request): (usize, &Value)| {
        let text = request["request"]["content"]["parts"][0]["text"].as_str().unwrap_or_default();
        let result = match (end, at) {
            (JobEnd::OneMissing, 0) => {
                json!({"key": request["key"], "error": {"message": "this one failed"}})
            }
            _ => json!({"key": request["key"], "response": {"embedding": {"values": vector(text)}}}),
        };
        format!("{result}\n")
    };
    requests.iter().enumerate().rev().map(line).collect()
}
