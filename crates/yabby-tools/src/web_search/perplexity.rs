//! Perplexity's models, which search before they answer: `POST /chat/completions`, there or at OpenRouter.

use reqwest::header::{AUTHORIZATION, HeaderValue};
use serde_json::json;
use yabby_domain::json::{self, Value};
use yabby_domain::text;

use super::{Found, Hit, Question, Trouble, answer, below, client, seen};

pub(super) async fn ask(
    base: &str,
    model: &str,
    key: &str,
    question: &Question<'_>,
) -> Result<Found, Trouble> {
    let url = below(base, "/chat/completions")?;
    // The maker's name goes before a model only where there are others.
    let is_direct = url.host_str().is_some_and(|host| host.ends_with("perplexity.ai"));
    let model = if is_direct { model.strip_prefix("perplexity/").unwrap_or(model) } else { model };
    let mut key = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| Trouble::Status(401, None))?;
    key.set_sensitive(true);
    let body = json!({"model": model, "messages": [{"role": "user", "content": question.query}]});
    let request = client(&url)?.post(url).header(AUTHORIZATION, key).header("X-Title", "yabby").json(&body);
    let found = answer(request).await?;
    let said = found.get("choices").and_then(|choices| choices.get(0));
    let said = said.and_then(|choice| json::at(choice, &["message", "content"])).and_then(Value::as_str);
    let said = said.and_then(text::non_blank).ok_or(Trouble::Unreadable)?;
    let cited = |citation: &Value| Hit {
        title: String::new(),
        url: seen(Some(citation)),
        words: String::new(),
        published: None,
    };
    let citations = found.get("citations").and_then(Value::as_array);
    Ok(Found {
        answer: Some(said.to_owned()),
        hits: citations.map(|citations| citations.iter().map(cited).collect()).unwrap_or_default(),
    })
}
