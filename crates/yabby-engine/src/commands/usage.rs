//! `/usage`: whether each reply tells what it took.

use yabby_domain::directive::level::UsageDisplay;
use yabby_domain::reply::usage_line::display_of;
use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::status::tokens;

use super::CommandContext;
use crate::turn::TurnError;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    let CommandContext { opened, rest, recorded, .. } = context;
    let Some(wanted) = UsageDisplay::parse(rest) else {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and saturates"
        )]
        let count = |number: Option<f64>| tokens(number.unwrap_or(0.0).max(0.0) as u64);
        let (input, output) = (count(opened.entry.input_tokens()), count(opened.entry.output_tokens()));
        let display = display_of(&opened.entry).as_str();
        return Ok(format!(
            "Last call: {input} in, {output} out. Usage under replies: {display}. Say /usage off, tokens or full; `yabby usage` tells of all sessions."
        ));
    };
    let change = move |_: &SessionEntry| {
        let mut patch = Patch::default();
        patch.set_response_usage(Some(wanted.as_str()).filter(|_| wanted != UsageDisplay::Off));
        Some(patch)
    };
    opened.update(change, recorded).await?;
    Ok(format!("Usage under replies: {}.", wanted.as_str()))
}
