//! What the engine does for the tools of a run.

use std::sync::Weak;
use std::time::Duration;

use async_trait::async_trait;
use yabby_domain::seam::office::{Decision, Letter, Office, Question, Spawned, Task, Told};
use yabby_domain::session::key::SessionKey;

use crate::{Engine, Inner};

/// Where the tools of a session ask. It does not keep the engine alive.
pub(crate) struct SessionOffice {
    engine: Weak<Inner>,
}

impl SessionOffice {
    pub(crate) fn new(engine: &Engine) -> Self {
        Self { engine: std::sync::Arc::downgrade(&engine.0) }
    }
}

const NOBODY: &str = "this is not possible here";

#[async_trait]
impl Office for SessionOffice {
    async fn send(&self, _letter: Letter) -> Result<Option<String>, String> {
        Err(NOBODY.to_owned())
    }

    async fn tell(&self, _session: &SessionKey, _words: &str, _wait: Duration) -> Result<Told, String> {
        Err(NOBODY.to_owned())
    }

    async fn spawn(&self, _task: Task) -> Result<Spawned, String> {
        Err(NOBODY.to_owned())
    }

    fn notice(&self, session: &SessionKey, words: &str) {
        if let Some(engine) = self.engine.upgrade() {
            Engine(engine).notice(session, words);
        }
    }

    async fn ask(&self, _question: Question) -> Decision {
        Decision::Unanswered
    }
}
