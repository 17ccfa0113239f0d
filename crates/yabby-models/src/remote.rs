//! A provider that is asked over HTTP, in any of the wire formats.

use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use yabby_domain::json;
use yabby_domain::seam::model::{
    Answer, ModelError, ModelErrorKind, ModelEvent, ModelInfo, ModelProvider, ModelRequest,
};
use yabby_domain::thinking_tags::{self, Piece, ThinkingTags};

use crate::failure::Failure;
use crate::http::Http;
use crate::retry::Retries;
use crate::settings::ProviderSettings;
use crate::sse::events;
use crate::wire::{self, Asked, Heard, Outgoing};

/// A service, or a server on this machine.
#[derive(Clone, Debug)]
pub struct RemoteProvider {
    settings: ProviderSettings,
    http: Http,
    retries: Retries,
}

impl RemoteProvider {
    pub fn new(settings: ProviderSettings, http: Http, retries: Retries) -> Self {
        Self { settings, http, retries }
    }

    /// Asks once. Thinking that is written between tags is told as such.
    async fn attempt(&self, outgoing: &Outgoing, heard: Heard<'_>) -> Result<Answer, Failure> {
        let mut tags = ThinkingTags::default();
        let answer = self.listen(outgoing, &mut |event| tell_apart(&mut tags, event, heard)).await;
        tags.finish().map(told).into_iter().for_each(&mut *heard);
        let answer = answer?;
        Ok(Answer { blocks: thinking_tags::apart(answer.blocks), ..answer })
    }

    async fn listen(&self, outgoing: &Outgoing, heard: Heard<'_>) -> Result<Answer, Failure> {
        let settings = &self.settings;
        let response = self.http.post(outgoing, settings.api_key.as_ref(), &settings.headers).await?;
        let mut reader = wire::reader(settings.api);
        let mut events = events(response);
        while !reader.is_complete() {
            match events.next().await {
                None => break,
                // If everything was said, it does not matter how the line ended.
                Some(Err(failure)) => return reader.finish().map_err(|_| failure),
                Some(Ok(data)) => match data.trim() {
                    "" => {}
                    "[DONE]" => reader.done(),
                    data => {
                        let event = json::parse(data)
                            .map_err(|error| Failure::unreadable(format!("an event is not JSON: {error}")))?;
                        reader.read(&event, &mut *heard)?;
                    }
                },
            }
        }
        if reader.is_complete() {
            // A connection whose end was read can be used again; nobody has to wait for it.
            tokio::spawn(tokio::time::timeout(Duration::from_secs(1), async move {
                while events.next().await.is_some() {}
            }));
        }
        reader.finish()
    }
}

/// Passes on what was heard, as what it is.
fn tell_apart(tags: &mut ThinkingTags, event: ModelEvent, heard: Heard<'_>) {
    match event {
        ModelEvent::Text(text) => tags.push(&text).into_iter().map(told).for_each(heard),
        ModelEvent::Thinking(_) => {
            tags.none();
            heard(event);
        }
        // What follows is another text.
        ModelEvent::ToolCall { .. } => {
            std::mem::take(tags).finish().map(told).into_iter().for_each(&mut *heard);
            heard(event);
        }
        ModelEvent::ToolArguments { .. } => heard(event),
    }
}

fn told(piece: Piece) -> ModelEvent {
    match piece {
        Piece::Text(text) => ModelEvent::Text(text),
        Piece::Thinking(text) => ModelEvent::Thinking(text),
    }
}

#[async_trait]
impl ModelProvider for RemoteProvider {
    fn id(&self) -> &str {
        &self.settings.id
    }

    fn describe(&self, model: &str) -> Option<ModelInfo> {
        self.settings.describe(model)
    }

    fn models(&self) -> Vec<String> {
        self.settings.models.iter().map(|model| model.id.clone()).collect()
    }

    async fn stream(
        &self,
        request: &ModelRequest,
        heard: &mut (dyn FnMut(ModelEvent) + Send),
    ) -> Result<Answer, ModelError> {
        let name = request.model.model.as_str();
        let headers = self.settings.headers.iter().map(|(_, value)| value);
        let secrets: Vec<_> = self.settings.api_key.iter().chain(headers).collect();
        let told = |failure: &Failure| failure.sentence(&self.settings.id, name, secrets.iter().copied());
        let Some(model) = self.settings.find(name) else {
            return Err(told(&Failure::new(ModelErrorKind::Unavailable, "")));
        };
        let outgoing = wire::outgoing(Asked { settings: &self.settings, model, request });
        let mut waits = self.retries.waits();
        loop {
            let mut said = false;
            let mut listen = |event: ModelEvent| {
                said = true;
                heard(event);
            };
            let failure = match self.attempt(&outgoing, &mut listen).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            // What was heard cannot be unheard: a second answer would be told behind the first.
            let wait = if said { None } else { waits.after(failure.kind) };
            let Some(wait) = wait else { return Err(told(&failure)) };
            tracing::debug!(provider = %self.settings.id, model = name, kind = ?failure.kind, ?wait, "asking again");
            tokio::time::sleep(wait).await;
        }
    }
}
