//! One HTTP request on a connection of its own, sent to the letter: the path is not normalised, and a connection
//! that is reset is told as such.

use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use yabby_domain::json;

/// How much of a text is recorded.
const SHOWN: usize = 3000;
const PATIENCE: Duration = Duration::from_secs(30);

/// What came back, as it is recorded.
pub(super) async fn ask(port: u16, request: &Value) -> Value {
    let method = request["method"].as_str().unwrap_or("GET");
    match timeout(PATIENCE, exchange(port, &written(port, method, request))).await {
        Ok(Ok(bytes)) => read(&bytes, method == "HEAD").unwrap_or_else(|| json!({"error": "reset"})),
        Ok(Err(_)) => json!({"error": "reset"}),
        Err(_) => json!({"error": "no answer"}),
    }
}

fn written(port: u16, method: &str, request: &Value) -> Vec<u8> {
    let body = match (request.get("body"), request["raw"].as_str(), request.get("repeat")) {
        (Some(body), ..) => Some(body.to_string()),
        (_, Some(raw), _) => Some(raw.to_owned()),
        (_, _, Some(repeat)) => {
            let times = usize::try_from(repeat["times"].as_u64().unwrap_or(1)).unwrap_or_default();
            Some(repeat["text"].as_str().unwrap_or_default().repeat(times))
        }
        _ => None,
    };
    let headers: Vec<(&str, &str)> = request["headers"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.as_str(), value.as_str()?)))
        .collect();
    let has = |name: &str| headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
    let mut text = format!("{method} {} HTTP/1.1\r\n", request["path"].as_str().unwrap_or("/"));
    if !has("host") {
        text.push_str(&format!("Host: 127.0.0.1:{port}\r\n"));
    }
    if !has("connection") {
        text.push_str("Connection: close\r\n");
    }
    if let Some(body) = body.as_ref().filter(|_| !has("content-length") && !has("transfer-encoding")) {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(&body.unwrap_or_default());
    text.into_bytes()
}

/// Everything that came until the other side closed. It may do so before it has read everything.
async fn exchange(port: u16, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let stream = TcpStream::connect(("127.0.0.1", port)).await?;
    let (mut from, mut to) = stream.into_split();
    let mut bytes = Vec::new();
    let reading = async {
        // What came before a reset counts, if it is a whole answer.
        let _ = from.read_to_end(&mut bytes).await;
    };
    let writing = async {
        let _ = to.write_all(request).await;
    };
    tokio::join!(reading, writing);
    Ok(bytes)
}

/// `None` if that is not a whole answer.
fn read(bytes: &[u8], is_head: bool) -> Option<Value> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let rest = &bytes[end + 4..];
    let mut lines = head.split("\r\n");
    let status: u16 = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let mut headers = Map::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        // Those that differ from run to run by nature.
        let name = name.trim().to_ascii_lowercase();
        if name != "date" {
            headers.insert(name, value.trim().into());
        }
    }
    let header = |name: &str| headers.get(name).and_then(Value::as_str);
    let body = if is_head {
        Vec::new()
    } else if header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        unchunked(rest)?
    } else if let Some(length) = header("content-length").and_then(|length| length.parse::<usize>().ok()) {
        rest.get(..length)?.to_vec()
    } else {
        rest.to_vec()
    };
    let text = String::from_utf8_lossy(&body).into_owned();
    let body = json::parse(&text).unwrap_or_else(|_| cut(&text).into());
    Some(json!({"status": status, "headers": headers, "body": body}))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…<cut>", &text[..at]),
        None => text.to_owned(),
    }
}

/// `None` if the last chunk is missing.
fn unchunked(mut bytes: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = bytes.windows(2).position(|window| window == b"\r\n")?;
        let size = std::str::from_utf8(&bytes[..end]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        bytes = &bytes[end + 2..];
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(bytes.get(..size)?);
        bytes = bytes.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_answer_is_told_and_a_broken_one_is_not() {
        let plain = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nDate: today\r\nContent-Length: 7\r\n\r\n{\"a\":1}";
        let told = json!({"status": 200, "headers": {"content-type": "application/json", "content-length": "7"}, "body": {"a": 1}});
        assert_eq!(read(plain, false), Some(told));
        assert_eq!(read(&plain[..plain.len() - 1], false), None);
        let chunked = b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nNot \r\n5\r\nFound\r\n0\r\n\r\n";
        assert_eq!(read(chunked, false).map(|told| told["body"].clone()), Some(json!("Not Found")));
        assert_eq!(
            read(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", true).map(|told| told["body"].clone()),
            Some(json!(""))
        );
        assert_eq!(read(b"", false), None);
    }

    #[test]
    fn paths_and_bodies_are_sent_to_the_letter() {
        let request = json!({"method": "POST", "path": "/../x", "headers": {"A": "b"}, "repeat": {"text": "xy", "times": 2}});
        let text = String::from_utf8(written(7, "POST", &request)).expect("it is text");
        assert_eq!(
            text,
            "POST /../x HTTP/1.1\r\nHost: 127.0.0.1:7\r\nConnection: close\r\nContent-Length: 4\r\nA: b\r\n\r\nxyxy"
        );
    }
}
