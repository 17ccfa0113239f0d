//! How a command acts on a session: by the gateway that runs on the folder, since turns may run there, else by the same
//! service in this process.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use tokio::runtime::{Builder, Runtime};
use yabby_domain::json::{Object, Value};
use yabby_domain::seam::recollection::Recollection;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_engine::services::SessionScope;
use yabby_store::files::gateway_lock::GatewayLock;
use yabby_store::files::transcripts::TranscriptFolder;

use crate::book::{Book, Found};
use crate::client::{CallError, Client, Mode, Target, TargetOptions};
use crate::setting::Setting;
use crate::terminal::harmless;
use crate::wire::memory::AgentMemory;

/// How long connecting may take.
const CONNECTING: Duration = Duration::from_secs(10);
/// How long a gateway may take to stop a turn and to act.
const ACTING: Duration = Duration::from_secs(60);

/// What a command acts with.
pub struct Acting<'s> {
    setting: &'s Setting,
    runtime: Runtime,
}

impl<'s> Acting<'s> {
    pub fn new(setting: &'s Setting) -> Result<Self> {
        Ok(Self { setting, runtime: Builder::new_multi_thread().worker_threads(2).enable_all().build()? })
    }

    /// Has the gateway act, if one runs on this folder: what it answers. What it refuses is refused.
    pub fn by_gateway(&self, method: &str, params: Value) -> Result<Option<Object>> {
        if GatewayLock::holder(&self.setting.place).is_none() {
            return Ok(None);
        }
        match self.runtime.block_on(self.ask(method, params)) {
            Ok(Value::Object(answer)) => Ok(Some(answer)),
            Ok(_) => Ok(None),
            Err(Unasked::Here(why)) => {
                anstream::eprintln!(
                    "note: the gateway was not asked ({}); this is done beside it",
                    harmless(&why)
                );
                Ok(None)
            }
            Err(Unasked::Refused(error)) => Err(error),
        }
    }

    async fn ask(&self, method: &str, params: Value) -> Result<Value, Unasked> {
        let config = self.setting.config().map_err(Unasked::Refused)?;
        let target = Target::local(self.setting, &config, &TargetOptions::default());
        let mut client =
            Client::open(&target, Mode::Cli, CONNECTING).await.map_err(|error| unasked(&error))?;
        if let Some(folder) = client.other_folder(self.setting) {
            return Err(Unasked::Here(format!("it works on another folder, {folder}")));
        }
        let answer = client.call(method, params, ACTING).await;
        client.close().await;
        answer.map_err(|error| match error {
            CallError::Refused { message, .. } if message.starts_with("unknown method: ") => {
                Unasked::Here(message)
            }
            CallError::Refused { message, .. } => Unasked::Refused(anyhow!(
                "{}",
                message.strip_prefix("Error: ").unwrap_or(&message).to_owned()
            )),
            error => Unasked::Refused(anyhow!(
                "the connection to the gateway was lost before it answered ({}); look before trying again",
                error.brief()
            )),
        })
    }

    /// Acts in this process.
    pub fn here<T>(&self, service: impl Future<Output = T>) -> T {
        self.runtime.block_on(service)
    }

    /// The sessions beside one that was found, as services change them.
    pub fn scope(&self, book: &Book<'_>, found: &Found) -> SessionScope {
        // Where the conversation is in no folder of ours, nothing but ours is touched all the same.
        let folder = match (&found.conversation, found.file.parent()) {
            (Some(_), Some(folder)) => folder.to_owned(),
            _ => book.conversations(&found.agent),
        };
        SessionScope {
            sessions: Arc::new(found.store.clone()),
            conversations: folder.display().to_string(),
            transcripts: Arc::new(TranscriptFolder::open(folder)),
            memory: None,
        }
    }

    /// The same for a service after which nobody knows any more whose the conversation was: it is remembered first.
    pub fn scope_that_remembers(&self, book: &Book<'_>, found: &Found) -> SessionScope {
        SessionScope { memory: self.memory(book, found), ..self.scope(book, found) }
    }

    fn memory(&self, book: &Book<'_>, found: &Found) -> Option<Arc<dyn Recollection>> {
        let _runtime = self.runtime.enter();
        let transcript = TranscriptId::of_record(&found.entry).ok()?;
        let config = Arc::new(book.config().clone());
        let kept = AgentMemory::open(&self.setting.place, &config, &found.agent)
            .inspect_err(|error| tracing::warn!(agent = %found.agent, %error, "the agent has no memory"))
            .ok()??;
        kept.memory.grew(&transcript);
        Some(Arc::new(kept.memory))
    }
}

/// Why the gateway did not act.
enum Unasked {
    /// It cannot be asked, and was not: the service acts here.
    Here(String),
    /// It was asked, and says no.
    Refused(anyhow::Error),
}

fn unasked(error: &CallError) -> Unasked {
    Unasked::Here(error.brief())
}

/// A text in an answer of the gateway.
pub fn text<'a>(answer: &'a Object, name: &str) -> Option<&'a str> {
    answer.get(name)?.as_str()
}

/// A count in an answer of the gateway.
pub fn count(answer: &Object, name: &str) -> Result<usize> {
    let count = answer.get(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
    count.with_context(|| format!("the gateway answers without {name}"))
}
