//! What services that search the web say, in their own formats.

use serde_json::{Value, json};

use super::Reply;

/// A page that is found: title, address, excerpt.
pub type Page<'p> = (&'p str, &'p str, &'p str);

/// Brave's `GET /res/v1/web/search`.
pub fn brave(query: &str, pages: &[Page<'_>]) -> Reply {
    let result = |(title, url, words): &Page<'_>| {
        json!({
            "title": title, "url": url, "is_source_local": false, "is_source_both": false, "description": words,
            "page_age": "2026-01-02T03:04:05", "age": "January 2, 2026", "language": "en", "family_friendly": true,
            "type": "search_result", "subtype": "generic", "meta_url": {"scheme": "https", "path": ""},
        })
    };
    let mut body = json!({
        "query": {"original": query, "show_strict_warning": false, "country": "us", "more_results_available": true},
        "mixed": {"type": "mixed", "main": []},
        "type": "search",
    });
    if !pages.is_empty() {
        let results: Vec<Value> = pages.iter().map(result).collect();
        body["web"] = json!({"type": "search", "results": results, "family_friendly": true});
    }
    Reply::json(200, &body)
}

/// An error of Brave's.
pub fn brave_error(status: u16, code: &str, detail: &str) -> Reply {
    let error =
        json!({"id": "e", "status": status, "code": code, "detail": detail, "meta": {"component": "auth"}});
    Reply::json(status, &json!({"type": "ErrorResponse", "error": error, "time": 1_770_120_000}))
}

/// Perplexity's `POST /chat/completions`.
pub fn perplexity(answer: &str, citations: &[&str]) -> Reply {
    Reply::json(
        200,
        &json!({
            "id": "x", "model": "sonar-pro", "created": 1_770_120_000, "object": "chat.completion",
            "usage": {"prompt_tokens": 5, "completion_tokens": 20, "total_tokens": 25, "search_context_size": "low"},
            "citations": citations,
            "search_results": citations.iter().map(|url| json!({"title": "t", "url": url, "date": null})).collect::<Vec<_>>(),
            "choices": [{
                "index": 0, "finish_reason": "stop", "delta": {"role": "assistant", "content": ""},
                "message": {"role": "assistant", "content": answer},
            }],
        }),
    )
}

/// SearXNG's `GET /search?format=json`.
pub fn searxng(query: &str, pages: &[Page<'_>]) -> Reply {
    let result = |(title, url, words): &Page<'_>| {
        json!({
            "url": url, "title": title, "content": words, "engine": "duckduckgo", "engines": ["duckduckgo", "brave"],
            "template": "default.html", "parsed_url": ["https", "x", "/", "", "", ""], "positions": [1], "score": 4.0,
            "category": "general", "publishedDate": null,
        })
    };
    let results: Vec<Value> = pages.iter().map(result).collect();
    Reply::json(
        200,
        &json!({
            "query": query, "number_of_results": 0, "results": results, "answers": [], "corrections": [],
            "infoboxes": [], "suggestions": [], "unresponsive_engines": [["qwant", "access denied"]],
        }),
    )
}
