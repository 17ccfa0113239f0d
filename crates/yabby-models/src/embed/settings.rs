//! What has to be said about embeddings (`memory.md` §13, §16).

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

/// Everything that decides who embeds.
#[derive(Clone, Debug, Default)]
pub struct EmbedSettings {
    pub provider: Wanted,
    /// The provider's usual one if it is not said.
    pub model: Option<String>,
    /// Who else may do it.
    pub fallback: Option<Provider>,
    pub remote: RemoteSettings,
    pub local: LocalSettings,
    pub limits: Limits,
}

/// Who shall do it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wanted {
    /// Whoever can.
    #[default]
    Auto,
    /// Nobody: memory is found by its words.
    Nobody,
    Named(Provider),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provider {
    OpenAi,
    Gemini,
    Voyage,
    /// A server that speaks as OpenAI does.
    OpenAiCompatible,
    Ollama,
    /// This machine.
    Local,
}

/// `memorySearch.remote`.
#[derive(Clone, Debug, Default)]
pub struct RemoteSettings {
    pub base_url: Option<String>,
    pub api_key: Option<SecretString>,
    pub headers: Vec<(String, SecretString)>,
    pub input_types: InputTypes,
    pub jobs: JobSettings,
}

/// What a server of OpenAI's kind is told about texts (`input_type`), if it wants to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputTypes {
    /// `inputType`: of every text.
    pub all: Option<String>,
    /// `queryInputType`: of questions.
    pub query: Option<String>,
    /// `documentInputType`: of what may answer them.
    pub document: Option<String>,
}

/// `remote.batch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSettings {
    /// A job that nobody waits for (`wait`) is none that is wanted.
    pub enabled: bool,
    /// At the same time.
    pub concurrency: usize,
    /// How often a job is asked for.
    pub poll_interval: Duration,
    pub timeout: Duration,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            concurrency: 2,
            poll_interval: Duration::from_secs(2),
            timeout: Duration::from_secs(60 * 60),
        }
    }
}

/// `memorySearch.local`.
#[derive(Clone, Debug, Default)]
pub struct LocalSettings {
    /// As it is configured: a folder with the model, or a file of it.
    pub model_path: Option<String>,
    /// Where the model is installed, `<state>/models/minilm`.
    pub folder: PathBuf,
}

/// How long and how often is tried (`memory.md` §5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One question to a service.
    pub query: Duration,
    /// One request with texts to a service.
    pub documents: Duration,
    /// The same on this machine.
    pub local_query: Duration,
    pub local_documents: Duration,
    /// After the first attempt.
    pub retries: u32,
    /// It doubles from one attempt to the next.
    pub first_wait: Duration,
    pub longest_wait: Duration,
    /// After this time without a question the model leaves this machine's memory.
    pub local_idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            query: Duration::from_secs(60),
            documents: Duration::from_secs(120),
            local_query: Duration::from_secs(300),
            local_documents: Duration::from_secs(600),
            retries: 3,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_secs(8),
            local_idle: Duration::from_secs(300),
        }
    }
}

impl Limits {
    /// How long to wait before an attempt, the first after the failed one being 0: some chance keeps many
    /// from coming back at the same instant.
    pub(super) fn wait(&self, attempt: u32) -> Duration {
        spread(self.first_wait, self.longest_wait, attempt)
    }
}

/// Doubling waits, each times 1 to 1.2, up to the longest.
pub(super) fn spread(first: Duration, longest: Duration, attempt: u32) -> Duration {
    let doubled = first.saturating_mul(2_u32.saturating_pow(attempt));
    doubled.min(longest).mul_f64(1.0 + 0.2 * fastrand::f64()).min(longest)
}

impl Wanted {
    /// As the configuration spells it.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "none" => Some(Self::Nobody),
            name => Provider::parse(name).map(Self::Named),
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Nobody => "none",
            Self::Named(provider) => provider.as_str(),
        }
    }
}

impl Provider {
    pub const ALL: [Self; 6] =
        [Self::OpenAi, Self::Gemini, Self::Voyage, Self::OpenAiCompatible, Self::Ollama, Self::Local];

    /// As configurations and indexes spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Voyage => "voyage",
            Self::OpenAiCompatible => "openai-compatible",
            Self::Ollama => "ollama",
            Self::Local => "local",
        }
    }

    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.as_str() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_configuration() {
        for provider in Provider::ALL {
            assert_eq!(Wanted::parse(provider.as_str()), Some(Wanted::Named(provider)));
        }
        assert_eq!(Wanted::parse("auto"), Some(Wanted::Auto));
        assert_eq!(Wanted::parse("none").map(Wanted::as_str), Some("none"));
        assert_eq!(Wanted::parse("qmd"), None);
    }

    #[test]
    fn waits_double_with_some_chance_up_to_the_longest() {
        let limits = Limits::default();
        for (attempt, least) in [(0, 500.0), (1, 1000.0), (2, 2000.0), (3, 4000.0), (4, 8000.0), (40, 8000.0)]
        {
            let wait = limits.wait(attempt).as_secs_f64() * 1000.0;
            assert!((least..=(least * 1.2_f64).min(8000.0)).contains(&wait), "{attempt}: {wait}");
        }
    }
}
