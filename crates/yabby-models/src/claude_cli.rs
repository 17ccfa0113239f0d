//! The `claude` program as a provider (`sessions.md` §14, §15): it has tools and a memory of its own.
//!
//! It is run once for each question, as `claude --print`, and tells what it does as lines of JSON. With
//! [`Memory::Own`] it keeps the conversation itself, in the session that the record of ours names; where
//! the record names none, as at the beginning, after a reset and after a compaction, it begins one. What it
//! has not heard yet, because another model answered or its session is gone, it is told with the question.
//! With [`Memory::None`] it is told everything each time, by standard input.

mod failing;
mod lines;
mod program;
mod prompt;

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use secrecy::SecretString;
use yabby_domain::seam::model::{
    Answer, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelProvider, ModelRequest, Purpose,
};

use crate::settings::ModelSettings;
use crate::wire::Heard;
use failing::Trouble;

/// The name in front of the slash, unless another is chosen; also the wire format in transcripts.
pub const PROVIDER: &str = "claude-cli";

/// Systems take no argument that is much longer.
const LONGEST_ARGUMENT: usize = 100_000;

/// How the program is run.
#[derive(Clone, Debug)]
pub struct ClaudeCliSettings {
    /// The name in front of the slash.
    pub id: String,
    /// A path, or a name that is looked for where programs are.
    pub program: PathBuf,
    /// More arguments, such as which tools it may use.
    pub arguments: Vec<String>,
    /// Where it works, if not in the agent's folder. Its sessions belong to the folder they began in.
    pub folder: Option<PathBuf>,
    pub set_variables: Vec<(String, SecretString)>,
    /// It pays with the account that it is logged in with, not with a key that is there for others.
    pub clear_variables: Vec<String>,
    pub memory: Memory,
    /// Names or aliases, as it knows them.
    pub models: Vec<ModelSettings>,
    /// How long it may say nothing.
    pub silence: Duration,
}

/// Who remembers the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// The program.
    Own,
    /// Nobody but us: it is told everything each time.
    None,
}

impl Default for ClaudeCliSettings {
    fn default() -> Self {
        let model = |id: &str| ModelSettings {
            context_window: 200_000,
            max_output: 32_000,
            ..ModelSettings::named(id)
        };
        Self {
            id: PROVIDER.to_owned(),
            program: PathBuf::from("claude"),
            arguments: Vec::new(),
            folder: None,
            set_variables: Vec::new(),
            clear_variables: ["ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY_OLD"].map(str::to_owned).to_vec(),
            memory: Memory::Own,
            models: ["opus", "sonnet", "haiku"].map(model).to_vec(),
            silence: Duration::from_secs(600),
        }
    }
}

#[derive(Clone, Debug)]
pub struct ClaudeCli(ClaudeCliSettings);

impl ClaudeCli {
    pub fn new(settings: ClaudeCliSettings) -> Self {
        Self(settings)
    }

    fn find(&self, model: &str) -> Option<&ModelSettings> {
        self.0.models.iter().find(|known| known.id == model)
    }

    async fn ask(&self, request: &ModelRequest, heard: Heard<'_>) -> Result<Answer, Trouble> {
        // What is asked on the side, such as a summary, is no part of the conversation.
        if self.0.memory == Memory::None || request.purpose != Purpose::Turn {
            return self.run(request, Session::None, prompt::everything(request), heard).await;
        }
        let Some(kept) = &request.cli_session else {
            return self.begin(request, &prompt::fresh_session(request), heard).await;
        };
        let news = prompt::news(request, &self.0.id);
        let resumed = self.run(request, Session::Resume(kept), news, &mut *heard).await;
        match resumed {
            // It was moved, deleted, or begun on another machine.
            Err(Trouble::NoSession) => self.begin(request, &prompt::fresh_session(request), heard).await,
            other => other,
        }
    }

    /// Begins a session and tells it everything.
    async fn begin(&self, request: &ModelRequest, id: &str, heard: Heard<'_>) -> Result<Answer, Trouble> {
        let began = self.run(request, Session::Begin(id), prompt::everything(request), &mut *heard).await;
        match began {
            // Its first answer was aborted: it knows the question already, and everything before it.
            Err(Trouble::SessionExists) => {
                self.run(request, Session::Resume(id), prompt::last(request), heard).await
            }
            other => other,
        }
    }

    async fn run(
        &self,
        request: &ModelRequest,
        session: Session<'_>,
        prompt: String,
        heard: Heard<'_>,
    ) -> Result<Answer, Trouble> {
        let mut arguments: Vec<String> = [
            "--print",
            "--output-format",
            "stream-json",
            "--verbose",
            "--include-partial-messages",
            "--model",
            &request.model.model,
        ]
        .map(str::to_owned)
        .to_vec();
        let by_argument = self.0.memory == Memory::Own && request.system.len() <= LONGEST_ARGUMENT;
        let prompt = match request.system.as_str() {
            "" => prompt,
            system if by_argument => {
                arguments.extend(["--append-system-prompt".to_owned(), system.to_owned()]);
                prompt
            }
            system => prompt::instructed(system, &prompt),
        };
        if request.purpose == Purpose::Flush {
            // Nobody is there to allow it to write its memories down.
            arguments.extend(["--permission-mode", "acceptEdits"].map(str::to_owned));
        }
        match session {
            Session::None => {}
            Session::Begin(id) => arguments.extend(["--session-id".to_owned(), id.to_owned()]),
            Session::Resume(id) => arguments.extend(["--resume".to_owned(), id.to_owned()]),
        }
        arguments.extend(self.0.arguments.iter().cloned());
        let keeps = session != Session::None;
        let workspace = request.workspace.as_deref().filter(|folder| folder.is_dir());
        let folder = self.0.folder.as_deref().or(workspace);
        let mut answer = program::run(&self.0, folder, &arguments, prompt, heard).await?;
        if !keeps {
            answer.cli_session_id = None;
        }
        Ok(answer)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Session<'s> {
    None,
    Begin(&'s str),
    Resume(&'s str),
}

#[async_trait]
impl ModelProvider for ClaudeCli {
    fn id(&self) -> &str {
        &self.0.id
    }

    fn describe(&self, model: &str) -> Option<ModelInfo> {
        let model = self.find(model)?;
        Some(ModelInfo {
            api: PROVIDER.to_owned(),
            context_window: model.context_window,
            max_output: model.max_output,
            reasoning: model.reasoning,
            images: false,
            prices: model.prices,
        })
    }

    fn models(&self) -> Vec<String> {
        self.0.models.iter().map(|model| model.id.clone()).collect()
    }

    async fn stream(
        &self,
        request: &ModelRequest,
        heard: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<Answer, ModelError> {
        let request = &request.unsettled();
        let model = &request.model.model;
        if self.find(model).is_none() {
            let known = self.models().join(", ");
            let message = format!("{} has no model {model}: choose one of {known} with /model.", self.0.id);
            return Err(ModelError::new(ModelErrorKind::Unavailable, message));
        }
        self.ask(request, heard).await.map_err(|trouble| trouble.sentence(&self.0, model))
    }
}
