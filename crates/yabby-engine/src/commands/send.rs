//! `/send`: whether replies are sent here.

use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::send_policy::SendDecision;
use yabby_domain::text;

use super::CommandContext;
use crate::turn::TurnError;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    let CommandContext { engine, opened, rest, recorded, .. } = context;
    let word = text::lower(rest);
    let wanted = match (word.as_str(), SendDecision::parse_override(rest)) {
        ("inherit" | "default" | "reset", _) => None,
        (_, Some(decision)) => Some(decision),
        _ => {
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
