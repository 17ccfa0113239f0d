//! SearXNG, which asks others: `GET /search?format=json`.

use reqwest::header::ACCEPT;
use yabby_domain::json::Value;

use super::{Found, Hit, Question, Trouble, answer, below, client, seen};

pub(super) async fn ask(base: &str, question: &Question<'_>) -> Result<Found, Trouble> {
    let mut url = below(base, "/search")?;
    let language = match (question.search_lang, question.country.filter(|country| *country != "ALL")) {
        (Some(language), Some(country)) => Some(format!("{language}-{country}")),
        (Some(language), None) => Some(language.to_owned()),
        (None, _) => None,
    };
    let age = question.freshness.as_deref().map(|freshness| match freshness {
        "pd" => "day",
        "pw" => "week",
        "pm" => "month",
        _ => "year",
    });
    url.query_pairs_mut().append_pair("q", question.query).append_pair("format", "json");
    for (name, value) in [("language", language.as_deref()), ("time_range", age)] {
        if let Some(value) = value {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    let found = answer(client(&url)?.get(url).header(ACCEPT, "application/json")).await?;
    let hits = found.get("results").and_then(Value::as_array).ok_or(Trouble::Unreadable)?;
    // It knows no count.
    Ok(Found { answer: None, hits: hits.iter().take(question.count).map(hit).collect() })
}

fn hit(hit: &Value) -> Hit {
    let published = seen(hit.get("publishedDate"));
    Hit {
        title: seen(hit.get("title")),
        url: seen(hit.get("url")),
        words: seen(hit.get("content")),
        published: Some(published).filter(|published| !published.is_empty()),
    }
}
