//! How embeddings are asked for: in batches, again after a while, and not forever (`memory.md` §5.1, §5.2).

use std::ops::Range;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use regex::Regex;
use yabby_domain::seam::embedder::{EmbedError, Embedder, EmbeddingJobs, Job};

/// What fits in one request; a character counts as a token.
const BATCH: usize = 8000;

/// How often a request is repeated.
const RETRIES: u32 = 3;

/// Who turns texts into vectors.
#[derive(Clone)]
pub struct Embedders {
    pub chosen: Arc<dyn Embedder>,
    /// Whom to ask if the chosen one fails while the index is brought up to date.
    pub fallback: Option<Arc<dyn Embedder>>,
    /// Whom the chosen one stands in for already, and why.
    pub stands_in_for: Option<(String, String)>,
}

/// Texts of these lengths in requests: as many in a row as fit. One that is too long goes alone.
pub fn batches(lengths: &[usize]) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut filled = 0;
    for (at, length) in lengths.iter().enumerate() {
        match batches.last_mut() {
            Some(batch) if filled + length <= BATCH => {
                batch.end = at + 1;
                filled += length;
            }
            _ => {
                batches.push(at..at + 1);
                filled = *length;
            }
        }
    }
    batches
}

static RETRYABLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)(rate[_ ]limit|too many requests|429|resource has been exhausted|5[0-9][0-9]|cloudflare)",
    )
    .expect("a constant pattern compiles")
});

/// Whether asking again may help.
pub fn is_retryable(message: &str) -> bool {
    RETRYABLE.is_match(message)
}

/// How long to wait before asking again; `chance` is between 0 and 1.
pub fn delay(retry: u32, chance: f64) -> Duration {
    let wait = 500.0 * 2_f64.powi(retry.min(16).cast_signed()) * (1.0 + 0.2 * chance);
    Duration::from_secs_f64(wait.round().min(8000.0) / 1000.0)
}

/// Whether an error of the index is one of the provider's, so that another one may do better.
pub fn calls_for_fallback(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    message.contains("embedding") || message.contains("batch")
}

/// How long an answer may take. A model of our own machine is slower than others' machines.
fn limit(embedder: &dyn Embedder, remote: u64, local: u64) -> Duration {
    Duration::from_secs(if embedder.provider() == "local" { local } else { remote })
}

/// The vector of a question.
pub(super) async fn query(embedder: &dyn Embedder, text: &str) -> Result<Vec<f64>, EmbedError> {
    let limit = limit(embedder, 60, 300);
    let late = |_| EmbedError(format!("memory embeddings query timed out after {}s", limit.as_secs()));
    tokio::time::timeout(limit, embedder.query(text)).await.map_err(late)?
}

/// The vectors of one batch, one for each text; an empty one where there is none.
pub(super) async fn batch(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Vec<f64>>, EmbedError> {
    let limit = limit(embedder, 120, 600);
    let mut retry = 0;
    loop {
        let answer = match tokio::time::timeout(limit, embedder.documents(texts)).await {
            Ok(answer) => answer,
            Err(_) => {
                Err(EmbedError(format!("memory embeddings batch timed out after {}s", limit.as_secs())))
            }
        };
        match answer {
            Err(EmbedError(message)) if retry < RETRIES && is_retryable(&message) => {
                tracing::debug!("embeddings failed and are asked for again: {message}");
                tokio::time::sleep(delay(retry, chance())).await;
                retry += 1;
            }
            Err(error) => return Err(error),
            Ok(mut vectors) => {
                vectors.resize(texts.len(), Vec::new());
                return Ok(vectors);
            }
        }
    }
}

/// Who takes whole jobs, as long as these are wanted and have not failed too often.
pub(super) fn jobs(embedder: &dyn Embedder) -> Option<&dyn EmbeddingJobs> {
    embedder.jobs().filter(|jobs| jobs.state().enabled)
}

/// The vectors of one job, one for each text; an empty one where there is none. It takes as long as the
/// provider's settings let it, and a job that fails is made up for by plain requests.
pub(super) async fn as_job(jobs: &dyn EmbeddingJobs, job: &Job) -> Result<Vec<Vec<f64>>, EmbedError> {
    let mut vectors = jobs.run(job).await?;
    Ok(job.texts.iter().map(|(name, _)| vectors.remove(name).unwrap_or_default()).collect())
}

/// Clients that were turned away together should not come back together.
fn chance() -> f64 {
    f64::from(uuid::Uuid::new_v4().as_bytes()[0]) / 255.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_filled_in_order() {
        //  lengths, batches
        type Batches = &'static [(usize, usize)];
        let table: [(&[usize], Batches); 5] = [
            (&[], &[]),
            (&[8000], &[(0, 1)]),
            (&[4000, 4000, 1], &[(0, 2), (2, 3)]),
            (&[10, 9000, 10], &[(0, 1), (1, 2), (2, 3)]),
            (&[3000, 3000, 3000, 3000], &[(0, 2), (2, 4)]),
        ];
        for (lengths, expected) in table {
            let got: Vec<_> = batches(lengths).into_iter().map(|batch| (batch.start, batch.end)).collect();
            assert_eq!(got, expected, "{lengths:?}");
        }
    }

    #[test]
    fn what_may_pass_is_tried_again() {
        let table = [
            ("openai embeddings failed: 429 slow down", true),
            ("openai embeddings failed: 503 ", true),
            ("Rate Limit", true),
            ("rate_limit", true),
            ("RESOURCE HAS BEEN EXHAUSTED", true),
            ("openai embeddings failed: 401 no", false),
            ("memory embeddings batch timed out after 120s", false),
        ];
        for (message, expected) in table {
            assert_eq!(is_retryable(message), expected, "{message}");
        }
        let delays: Vec<u128> = (0..6).map(|retry| delay(retry, 0.0).as_millis()).collect();
        assert_eq!(delays, [500, 1000, 2000, 4000, 8000, 8000]);
        assert_eq!(delay(0, 1.0).as_millis(), 600);
    }

    #[test]
    fn only_the_providers_errors_call_for_another_one() {
        assert!(calls_for_fallback("openai Embeddings failed: 500"));
        assert!(calls_for_fallback("batch was refused"));
        assert!(!calls_for_fallback("the disk is full"));
    }
}
