//! Jobs: many texts for a provider to embed when it has time, at a lower price (`memory.md` §5.3).
//!
//! A job that fails is no misfortune: the texts are asked for one request at a time then. After two
//! failures in a row no more jobs are tried.

mod files;
mod gemini;

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use reqwest::Response;
use serde_json::Value;
use tokio::time::Instant;
use yabby_domain::seam::embedder::{Job, JobsState};
use yabby_domain::text;

use super::line::{Fault, Line};
use super::service::{Kind, Service};
use super::settings::JobSettings;

/// The jobs of one provider, and how often they have failed.
pub(super) struct Jobs {
    settings: JobSettings,
    way: Way,
    /// Held for a few lines only.
    luck: Mutex<Luck>,
}

#[derive(Clone, Copy)]
enum Way {
    OpenAi,
    Voyage,
    Gemini,
}

#[derive(Clone, Copy, Default)]
struct Luck {
    failures: u32,
    /// There are no more jobs.
    off: bool,
}

/// So many failures in a row, and there are no more jobs.
const LIMIT: u32 = 2;

/// Texts in one job, as OpenAI has it.
const MOST_TEXTS: usize = 50_000;

/// Bytes of texts in one job: half of what OpenAI takes as a file, since there is more in it than texts.
const MOST_BYTES: usize = 100 << 20;

/// One request of a job may take as long as a large file does.
const PATIENCE: Duration = Duration::from_secs(600);

/// Part of a job: as many texts as a provider takes at once.
pub(super) struct Part<'j> {
    job: &'j Job,
    texts: Vec<&'j (String, String)>,
}

type Vectors = HashMap<String, Vec<f64>>;

impl Jobs {
    /// `None` if the service takes no jobs.
    pub(super) fn of(service: &Service, settings: JobSettings) -> Option<Self> {
        let way = match service.kind {
            Kind::OpenAi => Way::OpenAi,
            Kind::Voyage => Way::Voyage,
            Kind::Gemini => Way::Gemini,
            Kind::OpenAiCompatible(_) | Kind::Ollama => return None,
        };
        Some(Self { settings, way, luck: Mutex::default() })
    }

    pub(super) fn state(&self) -> JobsState {
        let luck = *self.luck();
        JobsState { enabled: self.settings.enabled && !luck.off, failures: luck.failures, limit: LIMIT }
    }

    /// The vectors of a job; `None` if they have to be asked for otherwise.
    pub(super) async fn run(&self, service: &Service, line: &Line, job: &Job) -> Option<Vectors> {
        let mut had_time = true;
        while self.state().enabled {
            let fault = match self.attempt(service, line, job).await {
                Ok(vectors) => {
                    self.luck().failures = 0;
                    return Some(vectors);
                }
                Err(fault) => fault,
            };
            self.count(&fault);
            tracing::warn!(provider = line.provider, "a job failed: {}", fault.words);
            // One that only took too long is tried once more.
            if !fault.late || !had_time {
                break;
            }
            had_time = false;
        }
        None
    }

    async fn attempt(&self, service: &Service, line: &Line, job: &Job) -> Result<Vectors, Fault> {
        let (said, blank): (Vec<_>, Vec<_>) =
            job.texts.iter().partition(|(_, text)| text::non_blank(text).is_some());
        let parts = parts(job, said);
        let running: Vec<_> = parts.iter().map(|part| self.one(service, line, part)).collect();
        let done = stream::iter(running).buffer_unordered(self.settings.concurrency.max(1));
        let done: Vec<Vectors> = done.try_collect().await?;
        let blank = blank.into_iter().map(|(name, _)| (name.clone(), Vec::new()));
        Ok(done.into_iter().flatten().chain(blank).collect())
    }

    async fn one(&self, service: &Service, line: &Line, part: &Part<'_>) -> Result<Vectors, Fault> {
        let vectors = match self.way {
            Way::OpenAi => files::run(files::Way::OpenAi, service, line, part, self.settings).await?,
            Way::Voyage => files::run(files::Way::Voyage, service, line, part, self.settings).await?,
            Way::Gemini => gemini::run(service, line, part, self.settings).await?,
        };
        let missing = part.texts.iter().filter(|(name, _)| !vectors.contains_key(name)).count();
        match missing {
            0 => Ok(vectors),
            missing => Err(line.fault("batch", None, &format!("{missing} texts have no embedding"))),
        }
    }

    fn count(&self, fault: &Fault) {
        let mut luck = self.luck();
        luck.failures += 1;
        luck.off = luck.failures >= LIMIT || (matches!(self.way, Way::Gemini) && fault.status == Some(404));
    }

    fn luck(&self) -> MutexGuard<'_, Luck> {
        self.luck.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As many parts as the provider wants to have.
fn parts<'j>(job: &'j Job, texts: Vec<&'j (String, String)>) -> Vec<Part<'j>> {
    let mut parts: Vec<Part<'j>> = Vec::new();
    let mut bytes = 0;
    for named in texts {
        bytes += named.1.len();
        match parts.last_mut() {
            Some(part) if part.texts.len() < MOST_TEXTS && bytes <= MOST_BYTES => part.texts.push(named),
            _ => {
                bytes = named.1.len();
                parts.push(Part { job, texts: vec![named] });
            }
        }
    }
    parts
}

/// How a job that was asked for stands.
enum Progress {
    Running,
    /// Where its results are.
    Done(String),
    Failed(String),
}

/// Asks for a job until it is done or there is no more time.
async fn wait(
    line: &Line,
    url: &str,
    settings: JobSettings,
    progress: impl Fn(&Value) -> Progress,
) -> Result<String, Fault> {
    let until = Instant::now() + settings.timeout;
    loop {
        let answer = line.tries(PATIENCE, "batch", || line.get("batch status", url)).await?;
        match progress(&answer) {
            Progress::Done(results) => return Ok(results),
            Progress::Failed(why) => return Err(line.fault("batch", None, &why)),
            Progress::Running => {}
        }
        let next = Instant::now() + settings.poll_interval;
        if next >= until {
            return Err(Fault::late("batch", settings.timeout));
        }
        tokio::time::sleep_until(next).await;
    }
}

/// The lines of a file, each as soon as it is there: a whole file may be larger than memory.
async fn lines(
    line: &Line,
    mut response: Response,
    mut read: impl FnMut(&Value) -> Result<(), String>,
) -> Result<(), Fault> {
    let mut rest: Vec<u8> = Vec::new();
    let mut each = |bytes: &[u8]| {
        if bytes.trim_ascii().is_empty() {
            return Ok(());
        }
        let parsed = serde_json::from_slice(bytes).map_err(|_| "a line of the results is no JSON".to_owned());
        parsed.and_then(|value| read(&value)).map_err(|why| line.fault("batch", None, &why))
    };
    loop {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|_| line.fault("batch", None, "the results broke off"))?;
        let Some(chunk) = chunk else { break };
        rest.extend_from_slice(&chunk);
        let mut from = 0;
        while let Some(length) = rest[from..].iter().position(|byte| *byte == b'\n') {
            each(&rest[from..from + length])?;
            from += length + 1;
        }
        rest.drain(..from);
    }
    each(&rest)
}

impl Part<'_> {
    /// The texts as lines of JSON.
    fn lines(&self, line: impl Fn(&str, &str) -> Value) -> String {
        let lines = self.texts.iter().map(|(name, text)| format!("{}\n", line(name, text)));
        text::to_outside(&lines.collect::<String>()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_as_many_parts_as_the_provider_wants() {
        let job = |count: usize, length: usize| {
            let texts = (0..count).map(|at| (at.to_string(), "x".repeat(length))).collect();
            Job { source: "memory".into(), agent: "main".into(), texts }
        };
        for (count, length, expected) in
            [(0, 1, &[][..]), (1, 1, &[1]), (50_001, 1, &[50_000, 1]), (5, 40 << 20, &[2, 2, 1])]
        {
            let job = job(count, length);
            let got: Vec<usize> =
                parts(&job, job.texts.iter().collect()).iter().map(|part| part.texts.len()).collect();
            assert_eq!(got, expected, "{count} of {length}");
        }
    }
}
