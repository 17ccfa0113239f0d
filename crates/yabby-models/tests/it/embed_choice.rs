//! Who embeds, by what is configured and which keys there are.

use std::sync::Arc;

use secrecy::SecretString;
use yabby_domain::seam::embedder::Embedder;
use yabby_models::embed::{
    Account, Accounts, Choice, EmbedSettings, LocalSettings, Provider, RemoteSettings, Wanted, choose,
    fall_back, is_embedding_failure,
};
use yabby_models::{Http, Patience};

fn chosen(settings: &EmbedSettings, keys: &[&str]) -> Choice {
    let http = Http::new(Patience::default());
    let account = |name: &str| Account {
        key: keys.contains(&name).then(|| SecretString::from("key-of-the-store")),
        ..Account::default()
    };
    let variable = |name: &str| keys.contains(&name).then(|| SecretString::from("key-of-the-environment"));
    choose(settings, &Accounts { account: &account, variable: &variable }, &http)
}

fn provider(choice: &Choice) -> Result<String, String> {
    let name = |embedder: &Arc<dyn Embedder>| format!("{} {}", embedder.provider(), embedder.model());
    choice.embedder.as_ref().map(name).map_err(Clone::clone)
}

fn wanting(provider: &str) -> EmbedSettings {
    EmbedSettings { provider: Wanted::parse(provider).unwrap(), ..EmbedSettings::default() }
}

#[test]
fn whoever_there_is_a_key_for_embeds() {
    let table = [
        ("auto", &["openai", "google", "voyage"][..], "openai text-embedding-3-small"),
        ("auto", &["google", "voyage"], "gemini gemini-embedding-001"),
        ("auto", &["voyage"], "voyage voyage-4-large"),
        ("gemini", &["openai", "google"], "gemini gemini-embedding-001"),
        ("ollama", &[], "ollama nomic-embed-text"),
    ];
    for (wanted, keys, expected) in table {
        let choice = chosen(&wanting(wanted), keys);
        assert_eq!(provider(&choice).as_deref(), Ok(expected), "{wanted} {keys:?}");
        assert_eq!(choice.requested.as_str(), wanted);
        assert_eq!((choice.fallback_from, choice.fallback_reason), (None, None));
    }
}

#[test]
fn nobody_is_a_choice_with_a_reason() {
    let without = provider(&chosen(&wanting("auto"), &[])).unwrap_err();
    let reasons: Vec<&str> = without.split("\n\n").collect();
    assert_eq!(reasons.len(), 3, "{without}");
    for (reason, name) in reasons.iter().zip(["openai", "google", "voyage"]) {
        assert!(reason.starts_with(&format!("No API key found for provider \"{name}\"")), "{reason}");
    }
    let off = provider(&chosen(&wanting("none"), &["openai"])).unwrap_err();
    assert_eq!(off, "embeddings are turned off (`provider` is none)");
    // Who is named is not replaced by whoever is there.
    let named = provider(&chosen(&wanting("voyage"), &["openai"])).unwrap_err();
    assert!(named.starts_with("No API key found for provider \"voyage\""), "{named}");
    let local = provider(&chosen(&wanting("local"), &["openai"])).unwrap_err();
    assert_eq!(local, "Local embeddings need a model; `yabby memory model install` brings it.");
    let compatible = provider(&chosen(&wanting("openai-compatible"), &[])).unwrap_err();
    assert!(compatible.contains("`memorySearch.remote.baseUrl`"), "{compatible}");
}

#[test]
fn an_error_that_is_not_a_missing_key_is_final() {
    let mut settings = wanting("auto");
    settings.remote.headers = vec![("bad name".into(), SecretString::from("x"))];
    let error = provider(&chosen(&settings, &["openai", "google"])).unwrap_err();
    assert_eq!(error, "openai embeddings: the header bad name cannot be sent");
}

#[test]
fn the_fallback_takes_over_with_its_usual_model() {
    let mut settings = wanting("voyage");
    settings.model = Some("voyage-code-3".into());
    settings.fallback = Some(Provider::OpenAi);
    let choice = chosen(&settings, &["openai"]);
    assert_eq!(provider(&choice).as_deref(), Ok("openai text-embedding-3-small"));
    assert_eq!(choice.fallback_from, Some(Provider::Voyage));
    let reason = choice.fallback_reason.unwrap();
    assert!(reason.starts_with("No API key found for provider \"voyage\""), "{reason}");
    let both = provider(&chosen(&settings, &[])).unwrap_err();
    assert!(both.starts_with("No API key found for provider \"voyage\""), "{both}");
    assert!(
        both.contains("\n\nFallback to openai failed: No API key found for provider \"openai\""),
        "{both}"
    );
    settings.fallback = Some(Provider::Voyage);
    let same = provider(&chosen(&settings, &["openai"])).unwrap_err();
    assert!(!same.contains("Fallback"), "{same}");
}

#[test]
fn a_failure_on_the_way_may_change_the_provider() {
    let mut settings = wanting("openai");
    settings.fallback = Some(Provider::Ollama);
    let http = Http::new(Patience::default());
    let accounts = Accounts { account: &|_| Account::default(), variable: &|_| None };
    let why = "openai embeddings failed: 500 broken";
    assert!(
        is_embedding_failure(why) && is_embedding_failure("Batch gone") && !is_embedding_failure("disk full")
    );
    let choice = fall_back(&settings, &accounts, &http, Provider::OpenAi, why);
    assert_eq!(provider(&choice).as_deref(), Ok("ollama nomic-embed-text"));
    assert_eq!(choice.fallback_reason.as_deref(), Some(why));
}

#[test]
fn the_key_of_the_settings_comes_first() {
    let with = |provider: &str, key: &str| EmbedSettings {
        remote: RemoteSettings { api_key: Some(SecretString::from(key)), ..RemoteSettings::default() },
        ..wanting(provider)
    };
    assert!(chosen(&with("openai", "sk-1"), &[]).embedder.is_ok());
    assert!(chosen(&with("openai", "  "), &[]).embedder.is_err());
    // For Gemini it may name the variable.
    assert!(chosen(&with("gemini", "GOOGLE_API_KEY"), &["GOOGLE_API_KEY"]).embedder.is_ok());
    let missing = provider(&chosen(&with("gemini", "GEMINI_API_KEY"), &["GOOGLE_API_KEY"])).unwrap_err();
    assert_eq!(missing, "No API key found for provider \"google\": GEMINI_API_KEY is not set.");
    assert!(chosen(&with("openai", "GEMINI_API_KEY"), &[]).embedder.is_ok());
}

#[test]
fn a_model_of_another_kind_is_no_local_model() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("embeddinggemma-300M-Q8_0.gguf");
    std::fs::write(&file, "GGUF").unwrap();
    let local = LocalSettings {
        model_path: Some(file.to_str().unwrap().to_owned()),
        folder: folder.path().join("models/minilm"),
    };
    let settings = EmbedSettings { local, ..wanting("local") };
    let error = provider(&chosen(&settings, &[])).unwrap_err();
    assert!(error.contains("is not the model that local embeddings are made with"), "{error}");
    // Who has not asked for it by name is not stopped by it.
    let settings = EmbedSettings { provider: Wanted::Auto, ..settings };
    assert_eq!(provider(&chosen(&settings, &["openai"])).as_deref(), Ok("openai text-embedding-3-small"));
}
