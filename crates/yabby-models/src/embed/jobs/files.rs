//! Jobs as OpenAI takes them, and Voyage in nearly the same words: a file of requests, a job about the
//! file, a file of results.

use std::time::Duration;

use reqwest::Method;
use reqwest::multipart::{Form, Part as Piece};
use serde_json::{Value, json};

use super::{PATIENCE, Part, Progress, Vectors, lines, wait};
use crate::embed::line::{Fault, Line};
use crate::embed::service::{Service, numbers};
use crate::embed::settings::{JobSettings, spread};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    OpenAi,
    Voyage,
}

pub(super) async fn run(
    way: Way,
    service: &Service,
    line: &Line,
    part: &Part<'_>,
    settings: JobSettings,
) -> Result<Vectors, Fault> {
    let Service { base_url, model, .. } = service;
    let requests = part.lines(|name, text| match way {
        Way::OpenAi => json!({
            "custom_id": name,
            "method": "POST",
            "url": "/v1/embeddings",
            "body": {"model": model, "input": text},
        }),
        Way::Voyage => json!({"custom_id": name, "body": {"input": [text]}}),
    });
    let upload = || upload(line, base_url, requests.clone());
    let file = text(line, &line.tries(PATIENCE, "batch", upload).await?, "id")?;
    let job = create(line, base_url, &about(way, service, part, &file)).await?;
    let id = text(line, &job, "id")?;
    let url = format!("{base_url}/batches/{id}");
    let results = match wait(line, &url, settings, progress).await {
        Ok(results) => results,
        Err(fault) => {
            if fault.late {
                // So that nobody pays for what nobody waits for. If it cannot be, it ends by itself.
                let _ = line.post("batch cancel", &format!("{url}/cancel"), &json!({})).await;
            }
            return Err(fault);
        }
    };
    let request =
        line.request("batch results", Method::GET, &format!("{base_url}/files/{results}/content"))?;
    let response = line.send("batch results", request).await?;
    let mut vectors = Vectors::new();
    lines(line, response, |result| {
        let name = result["custom_id"].as_str().ok_or("a result has no name")?;
        if let Some(why) = failure(result) {
            return Err(format!("{name}: {why}"));
        }
        let vector = numbers(&result["response"]["body"]["data"][0]["embedding"]);
        if vector.is_empty() {
            return Err(format!("{name} has no embedding"));
        }
        vectors.insert(name.to_owned(), vector);
        Ok(())
    })
    .await?;
    Ok(vectors)
}

async fn upload(line: &Line, base_url: &str, requests: String) -> Result<Value, Fault> {
    let unfit = |_| line.fault("batch file upload", None, "the file cannot be sent");
    let file = Piece::text(requests).file_name("memory-embeddings.jsonl");
    let file = file.mime_str("application/jsonl").map_err(unfit)?;
    let form = Form::new().text("purpose", "batch").part("file", file);
    let request = line.request("batch file upload", Method::POST, &format!("{base_url}/files"))?;
    line.json("batch file upload", request.multipart(form)).await
}

fn about(way: Way, service: &Service, part: &Part<'_>, file: &str) -> Value {
    let metadata = json!({"source": part.job.source, "agent": part.job.agent});
    match way {
        Way::OpenAi => json!({
            "input_file_id": file,
            "endpoint": "/v1/embeddings",
            "completion_window": "24h",
            "metadata": metadata,
        }),
        Way::Voyage => json!({
            "input_file_id": file,
            "endpoint": "/v1/embeddings",
            "completion_window": "12h",
            "request_params": {"model": service.model, "input_type": "document"},
            "metadata": metadata,
        }),
    }
}

/// Asks for the job, up to three times more if the service has no time.
async fn create(line: &Line, base_url: &str, about: &Value) -> Result<Value, Fault> {
    let (first, longest) = (Duration::from_millis(300), Duration::from_secs(2));
    let mut tried = 0;
    loop {
        match line.post("batch create", &format!("{base_url}/batches"), about).await {
            Err(fault) if tried < 3 && fault.status.is_some_and(|status| status == 429 || status >= 500) => {
                tokio::time::sleep(spread(first, longest, tried)).await;
                tried += 1;
            }
            done => return done,
        }
    }
}

fn progress(job: &Value) -> Progress {
    let status = job["status"].as_str().unwrap_or_default();
    match status {
        "completed" => match job["output_file_id"].as_str() {
            Some(file) => Progress::Done(file.to_owned()),
            None => Progress::Failed("it was completed without results".to_owned()),
        },
        "failed" | "expired" | "cancelled" | "cancelling" => {
            let why = job["errors"]["data"][0]["message"].as_str().unwrap_or("the provider does not say why");
            Progress::Failed(format!("it is {status}: {why}"))
        }
        _ => Progress::Running,
    }
}

/// What a result says is wrong.
fn failure(result: &Value) -> Option<String> {
    let (error, response) = (&result["error"], &result["response"]);
    let status = response["status_code"].as_u64().unwrap_or(200);
    let said = [&error["message"], &response["body"]["error"]["message"], error];
    let said = said.into_iter().find_map(Value::as_str);
    let failed = !error.is_null() || status >= 400;
    failed.then(|| said.map_or_else(|| format!("status {status}"), str::to_owned))
}

fn text(line: &Line, answer: &Value, field: &str) -> Result<String, Fault> {
    let found = answer[field].as_str().map(str::to_owned);
    found.ok_or_else(|| line.fault("batch", None, &format!("the provider gave no {field}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_say_what_is_wrong() {
        let table = [
            (json!({"response": {"status_code": 200, "body": {}}, "error": null}), None),
            (
                json!({"response": null, "error": {"code": "batch_expired", "message": "too late"}}),
                Some("too late"),
            ),
            (json!({"response": {"status_code": 400, "body": {"error": {"message": "bad"}}}}), Some("bad")),
            (json!({"response": {"status_code": 500}}), Some("status 500")),
        ];
        for (result, expected) in table {
            assert_eq!(failure(&result).as_deref(), expected, "{result}");
        }
    }
}
