//! Brave's search: `GET /res/v1/web/search`.

use reqwest::header::{ACCEPT, HeaderValue};
use url::Url;
use yabby_domain::json::{self, Value};

use super::{Found, Hit, Question, Trouble, answer, below, client, seen};
use crate::web_page::{Mode, readable};

pub(super) async fn ask(base: &str, key: &str, question: &Question<'_>) -> Result<Found, Trouble> {
    let mut url = below(base, "/res/v1/web/search")?;
    let count = question.count.to_string();
    let wanted = [
        ("q", Some(question.query)),
        ("count", Some(count.as_str())),
        ("country", question.country),
        ("search_lang", question.search_lang),
        ("ui_lang", question.ui_lang),
        ("freshness", question.freshness.as_deref()),
    ];
    for (name, value) in wanted {
        if let Some(value) = value {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    let mut key = HeaderValue::from_str(key).map_err(|_| Trouble::Status(401, None))?;
    key.set_sensitive(true);
    let request =
        client(&url)?.get(url).header(ACCEPT, "application/json").header("X-Subscription-Token", key);
    let found = answer(request).await?;
    let hits = match json::at(&found, &["web", "results"]) {
        Some(Value::Array(hits)) => hits.iter().map(hit).collect(),
        Some(_) => return Err(Trouble::Unreadable),
        // Where nothing is found there is no such section.
        None if found.get("type").is_some() || found.get("query").is_some() => Vec::new(),
        None => return Err(Trouble::Unreadable),
    };
    Ok(Found { answer: None, hits })
}

fn hit(hit: &Value) -> Hit {
    let url = seen(hit.get("url"));
    // Words that fit are marked up.
    let plain = |key: &str| {
        let page = Url::parse(&url).ok();
        let text = seen(hit.get(key));
        page.map_or_else(|| text.clone(), |page| readable(&text, &page, Mode::Text).text.replace('\n', " "))
    };
    let published = seen(hit.get("age"));
    let (title, words) = (plain("title"), plain("description"));
    Hit { title, words, url, published: Some(published).filter(|published| !published.is_empty()) }
}
