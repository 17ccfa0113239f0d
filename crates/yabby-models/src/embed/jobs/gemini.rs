//! Jobs as Google takes them.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{PATIENCE, Part, Progress, Vectors, lines, wait};
use crate::embed::line::{Fault, Line};
use crate::embed::service::{Service, numbers};
use crate::embed::settings::JobSettings;

pub(super) async fn run(
    service: &Service,
    line: &Line,
    part: &Part<'_>,
    settings: JobSettings,
) -> Result<Vectors, Fault> {
    let Service { base_url, model, .. } = service;
    let requests =
        part.lines(|name, text| json!({"key": name, "request": service.gemini(text, "RETRIEVAL_DOCUMENT")}));
    // Files go in and out at addresses of their own.
    let root = base_url.strip_suffix("/v1beta").unwrap_or(base_url);
    let upload = || upload(line, root, &requests);
    let file = line.tries(PATIENCE, "batch", upload).await?;
    let file =
        file["file"]["name"].as_str().ok_or_else(|| line.fault("batch", None, "the file has no name"))?;
    let about = json!({"batch": {
        "displayName": format!("memory-embeddings-{}-{}", part.job.source, part.job.agent),
        "inputConfig": {"fileName": file},
    }});
    let url = format!("{base_url}/models/{model}:asyncBatchEmbedContent");
    let job = line.tries(PATIENCE, "batch", || line.post("batch create", &url, &about)).await?;
    let name = job["name"].as_str().ok_or_else(|| line.fault("batch", None, "the job has no name"))?;
    let url = format!("{base_url}/{name}");
    let results = match wait(line, &url, settings, progress).await {
        Ok(results) => results,
        Err(fault) => {
            if fault.late {
                // So that nobody pays for what nobody waits for. If it cannot be, it ends by itself.
                let _ = line.post("batch cancel", &format!("{url}:cancel"), &json!({})).await;
            }
            return Err(fault);
        }
    };
    let url = format!("{root}/download/v1beta/{results}:download?alt=media");
    let response = line.send("batch results", line.request("batch results", Method::GET, &url)?).await?;
    let mut vectors = Vectors::new();
    lines(line, response, |result| {
        let name = result["key"].as_str().ok_or("a result has no name")?;
        if let Some(why) = result["error"]["message"].as_str() {
            return Err(format!("{name}: {why}"));
        }
        let vector = numbers(&result["response"]["embedding"]["values"]);
        if vector.is_empty() {
            return Err(format!("{name} has no embedding"));
        }
        vectors.insert(name.to_owned(), vector);
        Ok(())
    })
    .await?;
    Ok(vectors)
}

/// What the file is, and the file, in one request.
async fn upload(line: &Line, root: &str, requests: &str) -> Result<Value, Fault> {
    let about = json!({"file": {"displayName": "memory-embeddings.jsonl", "mimeType": "application/jsonl"}});
    let boundary = Uuid::new_v4().simple().to_string();
    let body = format!(
        "--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{about}\r\n\
         --{boundary}\r\nContent-Type: application/jsonl\r\n\r\n{requests}\r\n--{boundary}--\r\n"
    );
    let url = format!("{root}/upload/v1beta/files?uploadType=multipart");
    let request = line.request("batch file upload", Method::POST, &url)?;
    let request = request.header(CONTENT_TYPE, format!("multipart/related; boundary={boundary}")).body(body);
    line.json("batch file upload", request).await
}

fn progress(job: &Value) -> Progress {
    let state = job["metadata"]["state"].as_str().or(job["state"].as_str()).unwrap_or_default();
    let state = state.rsplit("STATE_").next().unwrap_or_default();
    let why = job["error"]["message"].as_str();
    if matches!(state, "FAILED" | "CANCELLED" | "EXPIRED") || why.is_some() {
        let why = why.unwrap_or("the provider does not say why");
        return Progress::Failed(format!("it is {}: {why}", state.to_lowercase()));
    }
    if state != "SUCCEEDED" && job["done"] != true {
        return Progress::Running;
    }
    let files = [
        &job["response"]["responsesFile"],
        &job["metadata"]["output"]["responsesFile"],
        &job["output"]["responsesFile"],
    ];
    match files.into_iter().find_map(Value::as_str) {
        Some(file) => Progress::Done(file.to_owned()),
        None => Progress::Failed("it succeeded without results".to_owned()),
    }
}
