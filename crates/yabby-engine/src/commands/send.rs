//! `/send`: whether replies are sent here.

use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::send_policy::{SendCommand, SendDecision, parse_command};

use super::CommandContext;
use crate::turn::TurnError;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    let CommandContext { engine, opened, words, recorded, .. } = context;
    let wanted = match parse_command(words) {
        Some(SendCommand::Inherit) => None,
        Some(SendCommand::Set(decision)) => Some(decision),
        Some(SendCommand::Show) | None => {
            let now = opened.entry.send_policy().unwrap_or("as configured");
            return Ok(format!("Replies: {now}. Say /send on, /send off or /send inherit."));
        }
    };
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    let now = engine.now_ms() as f64;
    let change = move |_: &SessionEntry| {
        let mut patch = Patch::default();
        patch.set_send_policy(wanted.map(SendDecision::as_str));
        patch.set_updated_at(Some(now));
        Some(patch)
    };
    opened.update(change, recorded).await?;
    Ok(match wanted {
        Some(SendDecision::Allow) => "Replies are sent here.",
        Some(SendDecision::Deny) => "Replies are no longer sent here, until /send on.",
        None => "Replies are sent as configured.",
    }
    .to_owned())
}
