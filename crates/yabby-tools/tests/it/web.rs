//! Pages of a web of our own.

use serde_json::json;

use crate::site::{Site, Step, Visitor, html, page, sends_to, words};

#[tokio::test]
async fn a_page_is_read_and_told_as_the_reference_tells_it() {
    let site = Site::start(vec![
        ("/", sends_to("/page?a=1#part")),
        ("/page?a=1", html("<title>The title</title><h1>Head</h1><p>Some <a href='/x'>words</a>.")),
    ])
    .await;
    let visitor = Visitor::new();
    let url = format!("http://site.example:{}/", site.port);
    let output = visitor.fetch(&url).await;
    assert!(!output.is_error, "{output:?}");
    let told = words(&output);
    let text = format!("# Head\n\nSome [words](http://site.example:{}/x).", site.port);
    assert!(told.starts_with("[[[ FENCED TEXT from the web page http://site.example"), "{told}");
    assert!(told.contains(&format!("\nTitle: The title\n\n{text}\n[[[ END OF FENCED TEXT ]]]")), "{told}");
    let details = output.details.unwrap();
    let keys: Vec<&str> = details.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "url",
        "finalUrl",
        "status",
        "contentType",
        "title",
        "extractMode",
        "extractor",
        "truncated",
        "length",
        "rawLength",
        "wrappedLength",
        "fetchedAt",
        "tookMs",
        "text",
    ];
    assert_eq!(keys, expected);
    assert_eq!(details["url"], json!(url));
    assert_eq!(details["finalUrl"], json!(format!("{url}page?a=1")));
    assert_eq!((&details["status"], &details["contentType"]), (&json!(200), &json!("text/html")));
    assert_eq!((&details["extractor"], &details["truncated"]), (&json!("readability"), &json!(false)));
    assert!(details["text"].as_str().unwrap().contains(&text));
    let asked = site.seen.lock().unwrap()[0].to_lowercase();
    assert!(
        asked.contains("accept-encoding: gzip\r\n") && asked.contains("user-agent: mozilla/5.0"),
        "{asked}"
    );
    assert!(!asked.contains("referer"), "{asked}");
}

#[tokio::test]
async fn pages_are_kept_for_a_while() {
    let site = Site::start(vec![("/", html("<p>once"))]).await;
    let mut visitor = Visitor::new();
    let url = format!("http://site.example:{}/", site.port);
    assert_eq!(visitor.fetch(&url).await.details.unwrap().get("cached"), None);
    assert_eq!(visitor.fetch(&url).await.details.unwrap()["cached"], json!(true));
    assert_eq!(site.visits(), 1);
    visitor.call(json!({"url": url, "extractMode": "text"})).await;
    assert_eq!(site.visits(), 2);
    visitor.later(16).await;
    visitor.fetch(&url).await;
    assert_eq!(site.visits(), 3);
}

#[tokio::test]
async fn no_more_than_asked_for_is_told() {
    let site =
        Site::start(vec![("/", vec![page("200 OK", "text/plain", &"0123456789".repeat(50_000))])]).await;
    let visitor = Visitor::with(json!({"maxChars": 300, "maxCharsCap": 1000}), &["site.example"]);
    let url = format!("http://site.example:{}/", site.port);
    //  asked for, told
    for (asked, told) in [(None, 300), (Some(500), 500), (Some(5000), 1000), (Some(1), 100)] {
        let output = visitor.call(json!({"url": url, "maxChars": asked})).await;
        let details = output.details.clone().unwrap();
        assert_eq!((&details["rawLength"], &details["truncated"]), (&json!(told), &json!(true)), "{asked:?}");
        assert!(words(&output).contains(&format!("Cut after {told} of 500000 characters")));
    }
}

#[tokio::test]
async fn a_site_that_refuses_is_told_with_its_words() {
    let site =
        Site::start(vec![("/", vec![page("503 Busy", "text/html", "<p>Come <b>back</b> later.")])]).await;
    let visitor = Visitor::new();
    let output = visitor.fetch(&format!("http://site.example:{}/", site.port)).await;
    assert!(output.is_error);
    assert!(words(&output).starts_with("Web fetch failed (503): [[[ FENCED TEXT"), "{}", words(&output));
    assert!(words(&output).contains("Come back later."));
    visitor.fetch(&format!("http://site.example:{}/", site.port)).await;
    assert_eq!(site.visits(), 2, "what failed is not kept");
}

#[tokio::test]
async fn json_is_laid_out() {
    let site = Site::start(vec![("/", vec![page("200 OK", "application/json", "{\"a\":1}")])]).await;
    let output = Visitor::new().fetch(&format!("http://site.example:{}/", site.port)).await;
    assert!(words(&output).contains("{\n  \"a\": 1\n}"), "{}", words(&output));
    assert_eq!(output.details.unwrap()["extractor"], json!("json"));
}

#[tokio::test]
async fn a_tool_that_is_turned_off_is_not_there() {
    let config = yabby_domain::config::Config::new(json!({"tools": {"web": {"fetch": {"enabled": false}}}}));
    let web = yabby_tools::web_client::Web::new(std::sync::Arc::new(yabby_tools::web_client::SystemLookup));
    assert!(yabby_tools::web_fetch(&config, std::sync::Arc::new(web)).is_none());
}

#[tokio::test]
async fn packed_pages_are_unpacked() {
    use std::io::Write as _;
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packed.write_all(b"<p>unpacked").unwrap();
    let packed = packed.finish().unwrap();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
        packed.len()
    );
    let site = Site::start(vec![("/", vec![Step::Send(head.into_bytes()), Step::Send(packed)])]).await;
    let output = Visitor::new().fetch(&format!("http://site.example:{}/", site.port)).await;
    assert!(words(&output).contains("\nunpacked\n"), "{}", words(&output));
}
