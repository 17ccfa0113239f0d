//! The services, each with its wire format: where a request goes, what it says, and where in the answer
//! the vectors are.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use yabby_domain::collation;

use super::settings::{InputTypes, Provider};

/// A service to ask, and which model.
#[derive(Clone, Debug)]
pub(super) struct Service {
    pub(super) kind: Kind,
    /// Without a slash at its end.
    pub(super) base_url: String,
    /// Without the provider in front.
    pub(super) model: String,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    OpenAi,
    Gemini,
    Voyage,
    OpenAiCompatible(InputTypes),
    Ollama,
}

/// What a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Query,
    Document,
}

/// What is sent where.
pub(super) struct Request {
    pub(super) url: String,
    pub(super) body: Value,
}

impl Service {
    pub(super) fn new(kind: Kind, base_url: &str, model: &str) -> Self {
        let base_url = base_url.trim().trim_end_matches('/');
        let base_url = match kind {
            // Google also speaks as OpenAI does, at an address below its own.
            Kind::Gemini => base_url.split("/openai").next().unwrap_or(base_url),
            // Likewise Ollama.
            Kind::Ollama => base_url.strip_suffix("/v1").unwrap_or(base_url),
            Kind::OpenAi | Kind::Voyage | Kind::OpenAiCompatible(_) => base_url,
        };
        let prefixes: &[&str] = match kind {
            Kind::OpenAi => &["openai/"],
            Kind::Gemini => &["models/", "gemini/", "google/"],
            Kind::Voyage => &["voyage/"],
            Kind::Ollama => &["ollama/"],
            Kind::OpenAiCompatible(_) => &["openai-compatible/"],
        };
        let model = model.trim();
        let model = prefixes.iter().find_map(|prefix| model.strip_prefix(prefix)).unwrap_or(model);
        Self { kind, base_url: base_url.trim_end_matches('/').to_owned(), model: model.to_owned() }
    }

    pub(super) fn provider(&self) -> Provider {
        match self.kind {
            Kind::OpenAi => Provider::OpenAi,
            Kind::Gemini => Provider::Gemini,
            Kind::Voyage => Provider::Voyage,
            Kind::OpenAiCompatible(_) => Provider::OpenAiCompatible,
            Kind::Ollama => Provider::Ollama,
        }
    }

    /// The header that the key goes into, and what stands before it.
    pub(super) fn key_header(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::Gemini => ("x-goog-api-key", ""),
            Kind::OpenAi | Kind::Voyage | Kind::OpenAiCompatible(_) | Kind::Ollama => {
                ("Authorization", "Bearer ")
            }
        }
    }

    /// How many texts a request may hold.
    pub(super) fn most_texts(&self) -> usize {
        match self.kind {
            Kind::OpenAi => 2048,
            Kind::Gemini => 100,
            Kind::Voyage => 1000,
            Kind::OpenAiCompatible(_) | Kind::Ollama => 512,
        }
    }

    pub(super) fn request(&self, purpose: Purpose, texts: &[&str]) -> Request {
        let Self { base_url, model, .. } = self;
        match (&self.kind, purpose) {
            (Kind::Gemini, Purpose::Query) => {
                let mut body = self.gemini(texts.first().copied().unwrap_or_default(), "RETRIEVAL_QUERY");
                body.as_object_mut().map(|body| body.shift_remove("model"));
                Request { url: format!("{base_url}/models/{model}:embedContent"), body }
            }
            (Kind::Gemini, Purpose::Document) => {
                let texts: Vec<Value> =
                    texts.iter().map(|text| self.gemini(text, "RETRIEVAL_DOCUMENT")).collect();
                let url = format!("{base_url}/models/{model}:batchEmbedContents");
                Request { url, body: json!({"requests": texts}) }
            }
            (Kind::Ollama, _) => Request {
                url: format!("{base_url}/api/embed"),
                body: json!({"model": model, "input": texts}),
            },
            (Kind::OpenAi | Kind::Voyage | Kind::OpenAiCompatible(_), _) => {
                let mut body = json!({"model": model, "input": texts});
                if let Some(input_type) = self.input_type(purpose) {
                    body["input_type"] = input_type.into();
                }
                Request { url: format!("{base_url}/embeddings"), body }
            }
        }
    }

    pub(super) fn gemini(&self, text: &str, task: &str) -> Value {
        json!({
            "model": format!("models/{}", self.model),
            "content": {"parts": [{"text": text}]},
            "taskType": task,
        })
    }

    fn input_type(&self, purpose: Purpose) -> Option<&str> {
        match (&self.kind, purpose) {
            (Kind::Voyage, Purpose::Query) => Some("query"),
            (Kind::Voyage, Purpose::Document) => Some("document"),
            (Kind::OpenAiCompatible(types), Purpose::Query) => {
                types.query.as_deref().or(types.all.as_deref())
            }
            (Kind::OpenAiCompatible(types), Purpose::Document) => {
                types.document.as_deref().or(types.all.as_deref())
            }
            (Kind::OpenAi | Kind::Gemini | Kind::Ollama, _) => None,
        }
    }

    /// The vectors of an answer, in the order of its list: what it says about their places is not looked at.
    pub(super) fn vectors(&self, purpose: Purpose, answer: &Value) -> Vec<Vec<f64>> {
        let list = |list: &Value, field: &str| match list.as_array() {
            Some(list) => list.iter().map(|item| numbers(&item[field])).collect(),
            None => Vec::new(),
        };
        match (&self.kind, purpose) {
            (Kind::Gemini, Purpose::Query) => vec![numbers(&answer["embedding"]["values"])],
            (Kind::Gemini, Purpose::Document) => list(&answer["embeddings"], "values"),
            (Kind::Ollama, _) => answer["embeddings"].as_array().into_iter().flatten().map(numbers).collect(),
            (Kind::OpenAi | Kind::Voyage | Kind::OpenAiCompatible(_), _) => {
                list(&answer["data"], "embedding")
            }
        }
    }

    /// What decides about vectors beside the model, as a hash (`memory.md` §3).
    pub(super) fn key(&self, headers: &[(String, String)]) -> String {
        let (provider, model) = (self.provider().as_str(), &self.model);
        let about = match &self.kind {
            Kind::OpenAi | Kind::Gemini => {
                let secret = |name: &str| {
                    let name = name.to_lowercase();
                    name == "authorization" || (matches!(self.kind, Kind::Gemini) && name == "x-goog-api-key")
                };
                let mut headers: Vec<&(String, String)> =
                    headers.iter().filter(|(name, _)| !secret(name)).collect();
                headers.sort_by(|(one, _), (other, _)| collation::compare(one, other));
                json!({"provider": provider, "baseUrl": self.base_url, "model": model, "headers": headers})
            }
            Kind::OpenAiCompatible(_) => json!({
                "provider": provider,
                "baseUrl": self.base_url,
                "model": model,
                "queryInputType": self.input_type(Purpose::Query),
                "documentInputType": self.input_type(Purpose::Document),
            }),
            Kind::Voyage | Kind::Ollama => json!({"provider": provider, "model": model}),
        };
        hash(&about)
    }
}

/// SHA-256 of a value's JSON, as indexes note it.
pub(super) fn hash(about: &Value) -> String {
    Sha256::digest(about.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A vector; none if it is not all numbers.
pub(super) fn numbers(list: &Value) -> Vec<f64> {
    let numbers = list.as_array().into_iter().flatten().map(Value::as_f64);
    numbers.collect::<Option<Vec<f64>>>().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    /// The first is from the recorded run of the original (`e2e-index.json`).
    #[test]
    fn provider_keys_are_those_of_the_original() {
        let openai = Service::new(Kind::OpenAi, "http://127.0.0.1:18977/v1", "fake-embed");
        let usual = headers(&[("Content-Type", "application/json"), ("Authorization", "Bearer test-key")]);
        assert_eq!(openai.key(&usual), "061557bd0a393afb8db32dd33b2d27e3ded7c5324073e9d591fd40f2125810df");
        let more = headers(&[
            ("x-b", "2"),
            ("Content-Type", "application/json"),
            ("authorization", "Bearer other"),
            ("X-a", "1"),
        ]);
        let expected = hash(&json!({
            "provider": "openai", "baseUrl": "http://127.0.0.1:18977/v1", "model": "fake-embed",
            "headers": [["Content-Type", "application/json"], ["X-a", "1"], ["x-b", "2"]],
        }));
        assert_eq!(openai.key(&more), expected);
        let gemini =
            Service::new(Kind::Gemini, "https://g.example/v1beta/openai/", "google/gemini-embedding-001");
        let usual = headers(&[("Content-Type", "application/json"), ("x-goog-api-key", "secret")]);
        let expected = hash(&json!({
            "provider": "gemini", "baseUrl": "https://g.example/v1beta", "model": "gemini-embedding-001",
            "headers": [["Content-Type", "application/json"]],
        }));
        assert_eq!(gemini.key(&usual), expected);
        let voyage = Service::new(Kind::Voyage, "https://v.example/v1", "voyage/voyage-4-large");
        assert_eq!(voyage.key(&usual), hash(&json!({"provider": "voyage", "model": "voyage-4-large"})));
    }

    #[test]
    fn requests_are_in_the_words_of_their_service() {
        let types =
            InputTypes { all: Some("any".into()), query: Some("search_query".into()), document: None };
        let service = |kind, base| Service::new(kind, base, "m");
        let gemini =
            |text: &str, task: &str| json!({"content": {"parts": [{"text": text}]}, "taskType": task});
        let in_list = |text: &str| json!({"model": "models/m", "content": {"parts": [{"text": text}]}, "taskType": "RETRIEVAL_DOCUMENT"});
        use Purpose::{Document, Query};
        let table = [
            (
                service(Kind::OpenAi, "http://o/v1/"),
                Query,
                "http://o/v1/embeddings",
                json!({"model": "m", "input": ["a"]}),
            ),
            (
                service(Kind::Voyage, "http://v/v1"),
                Query,
                "http://v/v1/embeddings",
                json!({"model": "m", "input": ["a"], "input_type": "query"}),
            ),
            (
                service(Kind::Voyage, "http://v/v1"),
                Document,
                "http://v/v1/embeddings",
                json!({"model": "m", "input": ["a"], "input_type": "document"}),
            ),
            (
                service(Kind::OpenAiCompatible(types.clone()), "http://c"),
                Query,
                "http://c/embeddings",
                json!({"model": "m", "input": ["a"], "input_type": "search_query"}),
            ),
            (
                service(Kind::OpenAiCompatible(types), "http://c"),
                Document,
                "http://c/embeddings",
                json!({"model": "m", "input": ["a"], "input_type": "any"}),
            ),
            (
                service(Kind::Ollama, "http://l:11434/v1/"),
                Query,
                "http://l:11434/api/embed",
                json!({"model": "m", "input": ["a"]}),
            ),
            (
                service(Kind::Gemini, "http://g/v1beta"),
                Query,
                "http://g/v1beta/models/m:embedContent",
                gemini("a", "RETRIEVAL_QUERY"),
            ),
            (
                service(Kind::Gemini, "http://g/v1beta"),
                Document,
                "http://g/v1beta/models/m:batchEmbedContents",
                json!({"requests": [in_list("a")]}),
            ),
        ];
        for (service, purpose, url, body) in table {
            let request = service.request(purpose, &["a"]);
            assert_eq!((request.url.as_str(), &request.body), (url, &body), "{service:?}");
        }
    }
}
