//! `/compact`: summarise the conversation so far.

use std::sync::Arc;

use yabby_domain::seam::model::Purpose;
use yabby_domain::status::tokens;
use yabby_domain::text;

use super::CommandContext;
use crate::agent::RunRequest;
use crate::agent::compact::{Why, compact};
use crate::agent::conversation::Conversation;
use crate::turn::TurnError;
use crate::turn::prompt::Prompt;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    let CommandContext { engine, inbound, opened, control, recorded, rest, .. } = context;
    let mut conversation = Conversation::open(opened).await?;
    let prompt = Prompt::nothing(inbound.accepted_at);
    let request =
        RunRequest::new(engine, inbound, Arc::new(opened.clone()), prompt, control, Purpose::Summary).await?;
    let focus = text::non_blank(rest).map(str::to_owned);
    Ok(match compact(&request, &mut conversation, Why::Asked { focus }, recorded).await {
        Ok(compacted) => format!(
            "⚙️ Compacted: {} tokens became {}. `yabby sessions undo-compaction` goes back.",
            tokens(compacted.tokens_before),
            tokens(compacted.tokens_after)
        ),
        Err(error) => format!("⚙️ Not compacted: {error}."),
    })
}
