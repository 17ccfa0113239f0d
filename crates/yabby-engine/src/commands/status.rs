//! `/status`: the session, its model, how full its context is.

use jiff::tz::TimeZone;
use yabby_domain::config::Config;
use yabby_domain::directive::level::Level;
use yabby_domain::queue::{QueueSettings, QueueWishes};
use yabby_domain::session::send_policy::{SendDecision, SendPolicy, SendQuery};
use yabby_domain::status::SessionStatus;
use yabby_domain::text;

use super::CommandContext;
use crate::Engine;
use crate::inbound::Inbound;
use crate::turn::TurnError;
use crate::turn::open::Opened;

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    Ok(text(context.engine, context.inbound, context.opened))
}

pub(crate) fn text(engine: &Engine, inbound: &Inbound, opened: &Opened) -> String {
    let status = engine.status_of(inbound, opened).text();
    match &opened.model {
        Ok(_) => status,
        Err(error) => format!("{status}\n⚠️ {error}"),
    }
}

/// Weekday, date, time and zone of the user, or of the host.
fn stamp(config: &Config, engine: &Engine) -> String {
    let now = engine.now().to_zoned(user_zone(config, engine));
    now.strftime("%A, %Y-%m-%d %H:%M (%Z, %Q)").to_string()
}

/// Where the user is.
pub(crate) fn user_zone(config: &Config, engine: &Engine) -> TimeZone {
    let named = config.agents.defaults.user_timezone.as_deref().and_then(text::non_blank);
    named.and_then(|name| TimeZone::get(name).ok()).unwrap_or_else(|| engine.0.zone.clone())
}

impl Engine {
    pub(crate) fn status_of(&self, inbound: &Inbound, opened: &Opened) -> SessionStatus {
        let entry = &opened.entry;
        let session = QueueWishes::from_session(entry);
        let queue =
            QueueSettings::resolve(&QueueWishes::default(), &session, &opened.config, inbound.channel());
        let query = SendQuery {
            entry: Some(entry),
            key: Some(opened.key.as_str()),
            channel: inbound.channel(),
            chat_type: inbound.message.chat_type.as_deref(),
        };
        let (model, window) = match &opened.model {
            Ok(choice) => (choice.model.clone(), choice.window(&opened.config)),
            Err(_) => Default::default(),
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and saturates"
        )]
        let count = |number: Option<f64>| number.unwrap_or(0.0).max(0.0) as u64;
        SessionStatus {
            version: self.0.version.clone(),
            agent: inbound.target().agent.as_str().to_owned(),
            session_key: opened.key.as_str().to_owned(),
            session_id: opened.session_id.clone(),
            model,
            context_window: window,
            // What an earlier session left in the record says nothing about this one.
            context_tokens: match opened.is_new || entry.system_sent() != Some(true) {
                true => 0,
                false => count(entry.total_tokens()),
            },
            compactions: count(entry.compaction_count()),
            thinking: opened.thinking().as_str().to_owned(),
            verbose: opened.verbose().as_str().to_owned(),
            reasoning: opened.reasoning().as_str().to_owned(),
            queue_mode: queue.mode.as_str().to_owned(),
            // Neither the run nor who asks.
            waiting: self.0.lanes.messages(&opened.key).saturating_sub(1 + usize::from(inbound.concurrent)),
            sends_replies: SendPolicy::from_config(&opened.config).decide(&query) == SendDecision::Allow,
            time: stamp(&opened.config, self),
            workspace: opened.home.workspace.to_string_lossy().into_owned(),
            idle_ms: None,
        }
    }
}
