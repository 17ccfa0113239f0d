//! `/model`: which model answers in a session; `/models`: which there are.

use yabby_domain::directive::model::ModelDirective;
use yabby_domain::model::choice::{ChosenProfile, choice_patch};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::text;

use super::CommandContext;
use crate::Engine;
use crate::agent::model::Models;
use crate::durability::Recorded;
use crate::inbound::Inbound;
use crate::turn::TurnError;
use crate::turn::open::Opened;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    Ok(current(context.engine, context.inbound, context.opened))
}

pub(crate) async fn list(context: CommandContext<'_>) -> Result<String, TurnError> {
    let CommandContext { engine, inbound, opened, rest, .. } = context;
    let models = Models::of(engine, &opened.config, &inbound.target().agent);
    let wanted = text::lower(rest);
    let lines: Vec<String> =
        models
            .allowed()
            .iter()
            .filter(|model| wanted.is_empty() || model.starts_with(&format!("{wanted}/")))
            .map(|model| {
                if *model == models.default.to_string() {
                    format!("{model} (default)")
                } else {
                    model.clone()
                }
            })
            .collect();
    Ok(match lines.is_empty() {
        true => format!("There are no models of {rest:?} here. /models lists all."),
        false => lines.join("\n"),
    })
}

/// Chooses a model; without a name, tells which one it is.
pub(crate) async fn choose(
    engine: &Engine,
    inbound: &Inbound,
    opened: &mut Opened,
    wanted: &ModelDirective,
    recorded: &Recorded,
) -> Result<String, TurnError> {
    let Some(name) = wanted.model.as_deref().and_then(text::non_blank) else {
        return Ok(current(engine, inbound, opened));
    };
    let models = Models::of(engine, &opened.config, &inbound.target().agent);
    let selection = match models.choices().select(name) {
        Ok(selection) => selection,
        Err(error) => return Ok(error.to_string()),
    };
    if let Err(error) = engine.find_model(&selection.model) {
        return Ok(error.message);
    }
    #[expect(clippy::cast_precision_loss, reason = "times are exact for 285,000 years")]
    let now = engine.now_ms() as f64;
    let (chosen, profile) = (selection.clone(), wanted.profile.clone());
    let change = move |entry: &SessionEntry| {
        let profile = profile.as_deref().map(|id| ChosenProfile { id, source: "user" });
        Some(choice_patch(entry, &chosen, profile, now))
    };
    opened.update(change, recorded).await?;
    opened.model = engine.find_model(&selection.model);
    engine.notice(inbound.key(), &format!("Model switched to {}.", selection.model));
    let default = if selection.is_default { " (the default)" } else { "" };
    Ok(format!("Model: {}{default}.", selection.model))
}

fn current(engine: &Engine, inbound: &Inbound, opened: &Opened) -> String {
    let models = Models::of(engine, &opened.config, &inbound.target().agent);
    let now = match &opened.model {
        Ok(choice) => format!("Model: {}", choice.model),
        Err(error) => error.message.clone(),
    };
    format!(
        "{now}\nDefault: {}\nSay /model and a name to choose another; /models lists them.",
        models.default
    )
}
