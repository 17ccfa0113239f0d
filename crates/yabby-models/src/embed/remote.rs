//! Embeddings by a service.

use std::collections::HashMap;

use async_trait::async_trait;
use secrecy::{ExposeSecret as _, SecretString};
use yabby_domain::seam::embedder::{EmbedError, Embedder, EmbeddingJobs, Job, JobsState};
use yabby_domain::text;

use super::jobs::Jobs;
use super::line::{Fault, Line};
use super::service::{Purpose, Service};
use super::settings::{JobSettings, Limits};
use crate::http::Http;

/// A service that is asked for vectors.
pub struct RemoteEmbedder {
    service: Service,
    line: Line,
    key: String,
    jobs: Option<Jobs>,
}

/// Characters in one request; a text that is longer goes alone.
const TOGETHER: usize = 8000;

/// What everything that is asked of a service carries.
pub(super) struct Access {
    pub(super) key: Option<SecretString>,
    /// Of the provider, then of the settings: a later one replaces an earlier one.
    pub(super) headers: Vec<(String, SecretString)>,
    pub(super) jobs: JobSettings,
    pub(super) limits: Limits,
}

impl RemoteEmbedder {
    pub(super) fn new(service: Service, access: Access, http: Http) -> Result<Self, String> {
        let mut headers = vec![("Content-Type".to_owned(), SecretString::from("application/json"))];
        if let Some(key) = access.key {
            let (name, before) = service.key_header();
            let value = format!("{before}{}", key.expose_secret().trim());
            headers.push((name.to_owned(), SecretString::from(value)));
        }
        for (name, value) in access.headers {
            headers.retain(|(known, _)| *known != name);
            headers.push((name, value));
        }
        let plain: Vec<(String, String)> =
            headers.iter().map(|(name, value)| (name.clone(), value.expose_secret().to_owned())).collect();
        let key = service.key(&plain);
        let line = Line::new(http, service.provider().as_str(), &headers, access.limits)?;
        let jobs = Jobs::of(&service, access.jobs);
        Ok(Self { service, line, key, jobs })
    }

    async fn ask(&self, purpose: Purpose, texts: &[&str]) -> Result<Vec<Vec<f64>>, Fault> {
        let (limit, doing) = match purpose {
            Purpose::Query => (self.line.limits.query, "query"),
            Purpose::Document => (self.line.limits.documents, "batch"),
        };
        let request = self.service.request(purpose, texts);
        let attempt = || self.line.post("embeddings", &request.url, &request.body);
        let answer = self.line.tries(limit, doing, attempt).await?;
        Ok(self.service.vectors(purpose, &answer))
    }
}

#[async_trait]
impl Embedder for RemoteEmbedder {
    fn provider(&self) -> &str {
        self.service.provider().as_str()
    }

    fn model(&self) -> &str {
        &self.service.model
    }

    fn provider_key(&self) -> String {
        self.key.clone()
    }

    async fn query(&self, text: &str) -> Result<Vec<f64>, EmbedError> {
        let Some(text) = text::non_blank(text) else { return Ok(Vec::new()) };
        let mut vectors = self.ask(Purpose::Query, &[text]).await?;
        Ok(if vectors.is_empty() { Vec::new() } else { vectors.swap_remove(0) })
    }

    async fn documents(&self, texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError> {
        let mut vectors = vec![Vec::new(); texts.len()];
        // Services refuse a whole request for one text without words.
        let said = texts.iter().enumerate().filter(|(_, text)| text::non_blank(text).is_some());
        let said: Vec<(usize, &str)> = said.map(|(at, text)| (at, text.as_str())).collect();
        for group in groups(&said, self.service.most_texts()) {
            let texts: Vec<&str> = group.iter().map(|(_, text)| *text).collect();
            let got = self.ask(Purpose::Document, &texts).await?;
            for ((at, _), vector) in group.iter().zip(got) {
                vectors[*at] = vector;
            }
        }
        Ok(vectors)
    }

    fn jobs(&self) -> Option<&dyn EmbeddingJobs> {
        self.jobs.as_ref().map(|_| self as &dyn EmbeddingJobs)
    }
}

#[async_trait]
impl EmbeddingJobs for RemoteEmbedder {
    async fn run(&self, job: &Job) -> Result<HashMap<String, Vec<f64>>, EmbedError> {
        if let Some(jobs) = &self.jobs
            && let Some(vectors) = jobs.run(&self.service, &self.line, job).await
        {
            return Ok(vectors);
        }
        let (names, texts): (Vec<String>, Vec<String>) = job.texts.iter().cloned().unzip();
        Ok(names.into_iter().zip(self.documents(&texts).await?).collect())
    }

    fn state(&self) -> JobsState {
        let none = JobsState { enabled: false, failures: 0, limit: 0 };
        self.jobs.as_ref().map_or(none, Jobs::state)
    }
}

/// Neighbours that go together, as JavaScript counts characters.
fn groups<'t>(texts: &'t [(usize, &'t str)], most: usize) -> Vec<&'t [(usize, &'t str)]> {
    let mut groups = Vec::new();
    let (mut from, mut length) = (0, 0);
    for (at, (_, text)) in texts.iter().enumerate() {
        let more = text::units(text);
        if at > from && (length + more > TOGETHER || at - from == most) {
            groups.push(&texts[from..at]);
            (from, length) = (at, 0);
        }
        length += more;
    }
    if from < texts.len() {
        groups.push(&texts[from..]);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_hold_at_most_8000_characters() {
        let table: &[(&[usize], usize, &[usize])] = &[
            (&[], 9, &[]),
            (&[8000], 9, &[1]),
            (&[4000, 4000, 1], 9, &[2, 1]),
            (&[10, 9000, 10], 9, &[1, 1, 1]),
            (&[9000, 10, 10], 9, &[1, 2]),
            (&[1, 1, 1, 1, 1], 2, &[2, 2, 1]),
        ];
        for (lengths, most, expected) in table {
            let texts: Vec<String> = lengths.iter().map(|length| "x".repeat(*length)).collect();
            let texts: Vec<(usize, &str)> = texts.iter().map(String::as_str).enumerate().collect();
            let got: Vec<usize> = groups(&texts, *most).into_iter().map(<[_]>::len).collect();
            assert_eq!(got, *expected, "{lengths:?}");
        }
        // A character outside of the basic plane counts twice.
        let crabs = "🦀".repeat(4000);
        let texts = [(0, crabs.as_str()), (1, "x")];
        assert_eq!(groups(&texts, 9).len(), 2);
    }
}
