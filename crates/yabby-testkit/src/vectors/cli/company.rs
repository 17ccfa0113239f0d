//! Who is there while a command runs: a model, and a gateway if the command wants one.

use std::io;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use super::ENVIRONMENT;
use super::home::Home;
use crate::stand_in::embeddings::{EmbeddingStandIn, JobEnd};
use crate::stand_in::recorded_model::RecordedModel;
use crate::vectors::gateway::{Gateway, Launch, Ports};

/// How long a command may take; the reference takes ten seconds on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Company {
    ports: Ports,
    _model: Model,
    // After the others: they run in there.
    runtime: Runtime,
}

/// Whom commands ask.
enum Model {
    Speaks { _stand_in: RecordedModel },
    Embeds { _stand_in: EmbeddingStandIn },
}

impl Company {
    /// Nobody listens at the gateway's port yet.
    pub(super) fn gather(for_memory: bool) -> io::Result<Self> {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (mut ports, listener) = Ports::free()?;
        let inside = runtime.enter();
        let model = if for_memory {
            let stand_in = runtime.block_on(EmbeddingStandIn::start());
            // The recorded one knew no jobs, either.
            stand_in.jobs_end(vec![JobEnd::Unknown; 8]);
            let port = stand_in.address().rsplit_once(':').and_then(|(_, port)| port.parse().ok());
            ports.stub = port.unwrap_or(ports.stub);
            Model::Embeds { _stand_in: stand_in }
        } else {
            Model::Speaks { _stand_in: RecordedModel::on(listener)? }
        };
        drop(inside);
        Ok(Self { ports, _model: model, runtime })
    }

    pub(super) fn ports(&self) -> &Ports {
        &self.ports
    }

    /// Runs a command to its end, which must come.
    pub(super) fn run(&self, command: Command) -> io::Result<Output> {
        let mut command = tokio::process::Command::from(command);
        let ended = async { timeout(PATIENCE, command.kill_on_drop(true).output()).await };
        let late = |_| io::Error::other(format!("it did not end within {PATIENCE:?}"));
        self.runtime.block_on(ended).map_err(late)?
    }

    /// A gateway on a home; it is gone when this is dropped.
    pub(super) fn gateway(&self, program: &Path, home: &Home) -> io::Result<Gateway> {
        // Channels are configured, but not started.
        let environment = ENVIRONMENT.into_iter().chain([("OPENCLAW_SKIP_CHANNELS", "1")]);
        let log = home.beside("gateway.log");
        let launch = Launch::yabby(program);
        let start = Gateway::start(&launch, home.path(), self.ports.gateway, log, environment);
        self.runtime.block_on(start)
    }
}
