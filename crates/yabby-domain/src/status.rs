//! What is said about a session when somebody asks how it is: `/status` and the tool of that name
//! (`sessions.md` §15, §17).

use crate::json;
use crate::model::ModelRef;

/// The facts, as they are now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionStatus {
    pub version: String,
    pub agent: String,
    pub session_key: String,
    pub session_id: String,
    pub model: ModelRef,
    /// What the model can read at once, in tokens.
    pub context_window: u64,
    /// How much of it the last question filled.
    pub context_tokens: u64,
    pub compactions: u64,
    pub thinking: String,
    pub verbose: String,
    pub reasoning: String,
    pub queue_mode: String,
    pub waiting: usize,
    pub sends_replies: bool,
    pub workspace: String,
    /// What time it is, where the user is.
    pub time: String,
    /// Milliseconds since the session was last used.
    pub idle_ms: Option<i64>,
}

impl SessionStatus {
    /// A line for each thing, for people and models alike.
    pub fn text(&self) -> String {
        let percent = match self.context_window {
            0 => 0,
            window => self.context_tokens.saturating_mul(100) / window,
        };
        let waiting = match self.waiting {
            0 => String::new(),
            waiting => format!(" ({waiting} waiting)"),
        };
        let idle = match self.idle_ms {
            Some(ms) => format!(" · used {}", ago(ms)),
            None => String::new(),
        };
        let sends = if self.sends_replies { "" } else { "\nReplies: not sent (/send on)" };
        format!(
            "yabby {}\nAgent: {}\nSession: {}{idle}\nId: {}\nModel: {}/{}\nContext: {} of {} tokens ({percent} %) · {} compactions\nThinking: {} · Verbose: {} · Reasoning: {}\nQueue: {}{waiting}\nWorkspace: {}\nTime: {}{sends}",
            self.version,
            self.agent,
            self.session_key,
            self.session_id,
            self.model.provider,
            self.model.model,
            tokens(self.context_tokens),
            tokens(self.context_window),
            self.compactions,
            self.thinking,
            self.verbose,
            self.reasoning,
            self.queue_mode,
            self.workspace,
            self.time,
        )
    }
}

/// `950`, `1.5k`, `200k`.
pub fn tokens(count: u64) -> String {
    match count {
        0..1000 => count.to_string(),
        1000..10_000 => format!("{}k", json::fixed(count as f64 / 1000.0, 1)),
        _ => format!("{}k", count / 1000),
    }
}

fn ago(ms: i64) -> String {
    match ms.max(0) / 60_000 {
        0 => "just now".to_owned(),
        minutes @ 1..60 => format!("{minutes}m ago"),
        minutes @ 60..2880 => format!("{}h ago", minutes / 60),
        minutes => format!("{}d ago", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_how_full_the_context_is() {
        let status = SessionStatus {
            model: ModelRef::new("offline", "rules"),
            context_window: 32_000,
            context_tokens: 8_000,
            idle_ms: Some(61_000),
            sends_replies: true,
            ..SessionStatus::default()
        };
        let text = status.text();
        assert!(text.contains("Model: offline/rules\nContext: 8.0k of 32k tokens (25 %)"), "{text}");
        assert!(text.contains("used 1m ago") && !text.contains("not sent"), "{text}");
        assert!(SessionStatus::default().text().contains("0 of 0 tokens (0 %)"));
    }
}
