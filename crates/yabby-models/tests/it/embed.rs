//! Embeddings, with stand-ins for the services.

use std::sync::Arc;
use std::time::{Duration, Instant};

use secrecy::SecretString;
use serde_json::{Value, json};
use yabby_domain::seam::embedder::Embedder;
use yabby_models::embed::{
    Account, Accounts, Choice, EmbedSettings, InputTypes, JobSettings, Limits, Provider, RemoteSettings,
    Wanted, choose,
};
use yabby_models::{Http, Patience};
use yabby_testkit::stand_in::embeddings::{EmbeddingStandIn, Trouble, vector};

pub const KEY: &str = "test-key-0123456789";

/// Where a service of this kind is at a stand-in.
pub fn base_url(provider: Provider, stand_in: &EmbeddingStandIn) -> String {
    let below = match provider {
        Provider::OpenAi => "/v1",
        Provider::Voyage | Provider::OpenAiCompatible => "/like/v1",
        Provider::Gemini => "/v1beta",
        Provider::Ollama | Provider::Local => "",
    };
    format!("{}{below}", stand_in.address())
}

/// Short waits: tests have no time.
pub fn settings(provider: Provider, base_url: &str) -> EmbedSettings {
    EmbedSettings {
        provider: Wanted::Named(provider),
        model: Some("m".into()),
        remote: RemoteSettings {
            base_url: Some(base_url.to_owned()),
            api_key: Some(SecretString::from(KEY)),
            jobs: JobSettings { poll_interval: Duration::from_millis(5), ..JobSettings::default() },
            ..RemoteSettings::default()
        },
        limits: Limits {
            first_wait: Duration::from_millis(2),
            longest_wait: Duration::from_millis(20),
            ..Limits::default()
        },
        ..EmbedSettings::default()
    }
}

pub fn choice(settings: &EmbedSettings, account: &dyn Fn(&str) -> Account) -> Choice {
    let http = Http::new(Patience { connect: Duration::from_secs(2), silence: Duration::from_secs(5) });
    choose(settings, &Accounts { account, variable: &|_| None }, &http)
}

pub fn embedder(settings: &EmbedSettings) -> Arc<dyn Embedder> {
    choice(settings, &|_| Account::default()).embedder.unwrap_or_else(|why| panic!("{why}"))
}

const REMOTE: [Provider; 5] =
    [Provider::OpenAi, Provider::Gemini, Provider::Voyage, Provider::OpenAiCompatible, Provider::Ollama];

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[tokio::test]
async fn every_service_is_asked_in_its_own_words() {
    for provider in REMOTE {
        let stand_in = EmbeddingStandIn::start().await;
        let embedder = embedder(&settings(provider, &base_url(provider, &stand_in)));
        assert_eq!((embedder.provider(), embedder.model()), (provider.as_str(), "m"));
        assert_eq!(embedder.query("the lake").await.unwrap(), vector("the lake"), "{provider:?}");
        let some = texts(&["one", " \n", "two", "", "three"]);
        let expected = vec![vector("one"), vec![], vector("two"), vec![], vector("three")];
        assert_eq!(embedder.documents(&some).await.unwrap(), expected, "{provider:?}");
        let asked = stand_in.asked();
        assert_eq!(asked.len(), 2, "{provider:?}");
        for asked in asked {
            let (name, value) = match provider {
                Provider::Gemini => ("x-goog-api-key", KEY.to_owned()),
                _ => ("authorization", format!("Bearer {KEY}")),
            };
            assert_eq!(asked.headers.get(name), Some(&value), "{provider:?}");
            assert_eq!(asked.headers["content-type"], "application/json");
        }
    }
}

#[tokio::test]
async fn nothing_to_embed_asks_nobody() {
    let stand_in = EmbeddingStandIn::start().await;
    for provider in REMOTE {
        let embedder = embedder(&settings(provider, &base_url(provider, &stand_in)));
        assert_eq!(embedder.query(" \n").await.unwrap(), Vec::<f64>::new());
        assert_eq!(embedder.documents(&[]).await.unwrap(), Vec::<Vec<f64>>::new());
        assert_eq!(embedder.documents(&texts(&["", "\t"])).await.unwrap(), vec![Vec::<f64>::new(); 2]);
    }
    assert!(stand_in.asked().is_empty());
}

#[tokio::test]
async fn many_texts_go_in_several_requests_and_keep_their_order() {
    let stand_in = EmbeddingStandIn::start().await;
    let embedder = embedder(&settings(Provider::Gemini, &base_url(Provider::Gemini, &stand_in)));
    let many: Vec<String> = (0..250).map(|number| format!("text {number}")).collect();
    let vectors = embedder.documents(&many).await.unwrap();
    for (text, got) in many.iter().zip(vectors) {
        assert_eq!(got, vector(text), "{text}");
    }
    let count = |asked: &Value| asked["requests"].as_array().map_or(0, Vec::len);
    let counts: Vec<usize> = stand_in.asked().iter().map(|asked| count(&asked.body)).collect();
    assert_eq!(counts, [100, 100, 50]);
    let long = texts(&[&"long ".repeat(1500), &"short ".repeat(200), &"more ".repeat(100)]);
    embedder.documents(&long).await.unwrap();
    let counts: Vec<usize> = stand_in.asked()[3..].iter().map(|asked| count(&asked.body)).collect();
    assert_eq!(counts, [1, 2]);
}

#[tokio::test]
async fn what_passes_is_waited_for() {
    let stand_in = EmbeddingStandIn::start().await;
    let embedder = embedder(&settings(Provider::OpenAi, &base_url(Provider::OpenAi, &stand_in)));
    stand_in.will([
        Trouble::Status(429, "slow down".into()),
        Trouble::Status(503, "busy".into()),
        Trouble::Status(403, "blocked by Cloudflare".into()),
    ]);
    assert_eq!(embedder.documents(&texts(&["a"])).await.unwrap(), [vector("a")]);
    assert_eq!(stand_in.asked().len(), 4);
    // A fourth failure is the last.
    stand_in.will(vec![Trouble::Status(500, "broken".into()); 4]);
    let error = embedder.query("a").await.unwrap_err().to_string();
    assert!(error.starts_with("openai embeddings failed: 500 {\"error\""), "{error}");
    assert_eq!(stand_in.asked().len(), 8);
}

#[tokio::test]
async fn what_does_not_pass_is_told_at_once_and_without_secrets() {
    for provider in REMOTE {
        let stand_in = EmbeddingStandIn::start().await;
        let mut settings = settings(provider, &base_url(provider, &stand_in));
        settings.remote.headers = vec![("X-Tenant".into(), SecretString::from("tenant-secret"))];
        let embedder = embedder(&settings);
        stand_in.will([Trouble::Status(401, format!("Incorrect key {KEY} of tenant-secret"))]);
        let error = embedder.query("a").await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("{} embeddings failed: 401 ", provider.as_str())), "{error}");
        assert!(error.contains("Incorrect key … of …"), "{error}");
        assert_eq!(stand_in.asked().len(), 1);
        assert_eq!(stand_in.asked()[0].headers["x-tenant"], "tenant-secret");
    }
}

#[tokio::test]
async fn silence_has_an_end() {
    let stand_in = EmbeddingStandIn::start().await;
    let mut settings = settings(Provider::OpenAi, &base_url(Provider::OpenAi, &stand_in));
    settings.limits.query = Duration::from_millis(1100);
    settings.limits.documents = Duration::from_millis(1100);
    let embedder = embedder(&settings);
    stand_in.will([Trouble::Slow(Duration::from_secs(20)), Trouble::Slow(Duration::from_secs(20))]);
    let started = Instant::now();
    let error = embedder.query("a").await.unwrap_err().to_string();
    assert_eq!(error, "memory embeddings query timed out after 1s");
    let error = embedder.documents(&texts(&["a"])).await.unwrap_err().to_string();
    assert_eq!(error, "memory embeddings batch timed out after 1s");
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn short_answers_leave_texts_without_vectors() {
    let stand_in = EmbeddingStandIn::start().await;
    let embedder = embedder(&settings(Provider::Voyage, &base_url(Provider::Voyage, &stand_in)));
    stand_in.will([Trouble::Short(1), Trouble::OtherLength(4), Trouble::Nonsense]);
    let two = texts(&["a", "b"]);
    assert_eq!(embedder.documents(&two).await.unwrap(), [vector("a"), vec![]]);
    assert_eq!(embedder.documents(&two).await.unwrap()[0].len(), 4);
    let error = embedder.documents(&two).await.unwrap_err().to_string();
    assert_eq!(error, "voyage embeddings failed: the answer is no JSON");
}

#[tokio::test]
async fn whoever_is_not_there_is_named() {
    let settings = settings(Provider::Ollama, "http://user:password1@127.0.0.1:9");
    let error = embedder(&settings).query("a").await.unwrap_err().to_string();
    assert!(error.starts_with("ollama embeddings failed: cannot reach 127.0.0.1:9: "), "{error}");
    assert!(!error.contains("password1"), "{error}");
}

#[tokio::test]
async fn later_headers_replace_earlier_ones() {
    let stand_in = EmbeddingStandIn::start().await;
    let mut settings = settings(Provider::OpenAi, &base_url(Provider::OpenAi, &stand_in));
    let header = |name: &str, value: &str| (name.to_owned(), SecretString::from(value));
    settings.remote.headers = vec![header("Authorization", "Token other"), header("X-B", "of memory")];
    let account = |name: &str| {
        assert_eq!(name, "openai");
        Account {
            headers: vec![header("X-A", "of the provider"), header("X-B", "lost")],
            ..Account::default()
        }
    };
    let embedder = choice(&settings, &account).embedder.unwrap_or_else(|why| panic!("{why}"));
    embedder.query("a").await.unwrap();
    let headers = stand_in.asked()[0].headers.clone();
    assert_eq!(headers["authorization"], "Token other");
    assert_eq!((headers["x-a"].as_str(), headers["x-b"].as_str()), ("of the provider", "of memory"));
}

#[tokio::test]
async fn a_server_of_openais_kind_is_told_what_texts_are_for() {
    let stand_in = EmbeddingStandIn::start().await;
    let provider = Provider::OpenAiCompatible;
    let mut settings = settings(provider, &base_url(provider, &stand_in));
    settings.remote.api_key = None;
    settings.remote.input_types =
        InputTypes { all: Some("text".into()), query: Some("search_query".into()), document: None };
    let embedder = embedder(&settings);
    embedder.query("a").await.unwrap();
    embedder.documents(&texts(&["b"])).await.unwrap();
    let asked = stand_in.asked();
    assert_eq!(asked[0].body, json!({"model": "m", "input": ["a"], "input_type": "search_query"}));
    assert_eq!(asked[1].body, json!({"model": "m", "input": ["b"], "input_type": "text"}));
    assert!(!asked[0].headers.contains_key("authorization"));
}
