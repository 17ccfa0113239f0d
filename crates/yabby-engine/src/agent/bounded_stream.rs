//! The size limit of one model answer: a stream that exceeds it is cancelled with an error.

use tokio_util::sync::CancellationToken;
use yabby_domain::seam::model::{
    Answer, ModelError, ModelErrorKind, ModelEvent, ModelProvider, ModelRequest,
};

/// As much as a model may write in one answer, thoughts and the arguments of tool calls included. No window is that
/// large.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// What a tool call counts for besides its name and arguments.
const TOOL_CALL_BYTES: usize = 256;

/// Asks a model, and stops it with an error if its answer is longer than any may be.
pub(crate) async fn stream_bounded(
    provider: &dyn ModelProvider,
    request: &ModelRequest,
    heard: &mut (dyn FnMut(ModelEvent) + Send),
) -> Result<Answer, ModelError> {
    let (mut bytes, overrun) = (0_usize, CancellationToken::new());
    let mut counted = |event: ModelEvent| {
        bytes = bytes.saturating_add(match &event {
            ModelEvent::Text(text) | ModelEvent::Thinking(text) => text.len(),
            ModelEvent::ToolCall { name } => TOOL_CALL_BYTES + name.len(),
            ModelEvent::ToolArguments { bytes } => *bytes,
        });
        if bytes > MAX_ANSWER_BYTES {
            overrun.cancel();
        } else {
            heard(event);
        }
    };
    let asking = provider.stream(request, &mut counted);
    tokio::select! {
        biased;
        () = overrun.cancelled() => Err(endless()),
        // All of it may come at once.
        answer = asking => if overrun.is_cancelled() { Err(endless()) } else { answer },
    }
}

fn endless() -> ModelError {
    ModelError::new(
        ModelErrorKind::Refused,
        "The model wrote more than 8 MB without coming to an end, and was stopped. Ask for less at once, or choose another \
         model with /model.",
    )
}
