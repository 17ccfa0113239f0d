//! Points at which others may look on, or change what happens.
//!
//! Hooks that only look on run side by side and never hold up or fail a turn. Hooks that change something
//! run one after the other, the most urgent first, and each sees what those before it made of the event.
//! `docs/hooks.md` has the payloads and how answers are merged.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use serde::Serialize;
use yabby_domain::json::{Object, Value};
use yabby_domain::message::Message;

/// Where a hook is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookPoint {
    BeforeAgentStart,
    AgentEnd,
    MessageReceived,
    MessageSending,
    MessageSent,
    BeforeToolCall,
    AfterToolCall,
    ToolResultPersist,
    SessionBeforeCompact,
    BeforeCompaction,
    AfterCompaction,
    SessionStart,
    SessionEnd,
}

impl HookPoint {
    pub const ALL: [Self; 13] = [
        Self::BeforeAgentStart,
        Self::AgentEnd,
        Self::MessageReceived,
        Self::MessageSending,
        Self::MessageSent,
        Self::BeforeToolCall,
        Self::AfterToolCall,
        Self::ToolResultPersist,
        Self::SessionBeforeCompact,
        Self::BeforeCompaction,
        Self::AfterCompaction,
        Self::SessionStart,
        Self::SessionEnd,
    ];

    /// The name by which plugins know it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BeforeAgentStart => "before_agent_start",
            Self::AgentEnd => "agent_end",
            Self::MessageReceived => "message_received",
            Self::MessageSending => "message_sending",
            Self::MessageSent => "message_sent",
            Self::BeforeToolCall => "before_tool_call",
            Self::AfterToolCall => "after_tool_call",
            Self::ToolResultPersist => "tool_result_persist",
            Self::SessionBeforeCompact => "session_before_compact",
            Self::BeforeCompaction => "before_compaction",
            Self::AfterCompaction => "after_compaction",
            Self::SessionStart => "session_start",
            Self::SessionEnd => "session_end",
        }
    }
}

/// What a hook is told.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "hook", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum HookEvent {
    BeforeAgentStart {
        session_key: String,
        prompt: String,
        #[serde(serialize_with = "as_values")]
        messages: Arc<Vec<Message>>,
    },
    AgentEnd {
        session_key: String,
        #[serde(serialize_with = "as_values")]
        messages: Arc<Vec<Message>>,
        success: bool,
        error: Option<String>,
        duration_ms: u64,
    },
    MessageReceived {
        session_key: String,
        from: String,
        content: String,
        timestamp: i64,
    },
    MessageSending {
        session_key: String,
        to: String,
        content: String,
    },
    MessageSent {
        session_key: String,
        to: String,
        content: String,
        success: bool,
        error: Option<String>,
    },
    BeforeToolCall {
        session_key: String,
        tool_name: String,
        params: Object,
    },
    AfterToolCall {
        session_key: String,
        tool_name: String,
        params: Object,
        /// What the tool gave back: `content`, and `details` if there are any.
        result: Object,
        /// What it said, if it failed.
        error: Option<String>,
        duration_ms: u64,
    },
    ToolResultPersist {
        session_key: String,
        tool_name: String,
        tool_call_id: String,
        #[serde(serialize_with = "as_value")]
        message: Message,
    },
    SessionBeforeCompact {
        session_key: String,
        session_id: String,
        message_count: usize,
        tokens_before: u64,
        previous_summary: Option<String>,
        #[serde(serialize_with = "as_values")]
        messages: Arc<Vec<Message>>,
    },
    BeforeCompaction {
        session_key: String,
        message_count: usize,
        token_count: u64,
    },
    AfterCompaction {
        session_key: String,
        message_count: usize,
        token_count: u64,
        compacted_count: usize,
    },
    SessionStart {
        session_key: String,
        session_id: String,
        resumed_from: Option<String>,
    },
    SessionEnd {
        session_key: String,
        session_id: String,
    },
}

fn as_value<S: serde::Serializer>(message: &Message, serializer: S) -> Result<S::Ok, S::Error> {
    message.as_object().serialize(serializer)
}

fn as_values<S: serde::Serializer>(messages: &Arc<Vec<Message>>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(messages.iter().map(Message::as_object))
}

impl HookEvent {
    pub fn point(&self) -> HookPoint {
        match self {
            Self::BeforeAgentStart { .. } => HookPoint::BeforeAgentStart,
            Self::AgentEnd { .. } => HookPoint::AgentEnd,
            Self::MessageReceived { .. } => HookPoint::MessageReceived,
            Self::MessageSending { .. } => HookPoint::MessageSending,
            Self::MessageSent { .. } => HookPoint::MessageSent,
            Self::BeforeToolCall { .. } => HookPoint::BeforeToolCall,
            Self::AfterToolCall { .. } => HookPoint::AfterToolCall,
            Self::ToolResultPersist { .. } => HookPoint::ToolResultPersist,
            Self::SessionBeforeCompact { .. } => HookPoint::SessionBeforeCompact,
            Self::BeforeCompaction { .. } => HookPoint::BeforeCompaction,
            Self::AfterCompaction { .. } => HookPoint::AfterCompaction,
            Self::SessionStart { .. } => HookPoint::SessionStart,
            Self::SessionEnd { .. } => HookPoint::SessionEnd,
        }
    }
}

/// What a hook wants. An answer to another question than the one that was asked says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum HookAnswer {
    #[default]
    Nothing,
    Start(StartChange),
    Sending(SendingChange),
    ToolCall(ToolCallChange),
    ToolResult(Message),
    Compaction(CompactionChange),
}

/// What a run begins with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StartChange {
    /// Takes the place of the system prompt; the last one counts.
    pub system_prompt: Option<String>,
    /// Stands before the prompt; several stand below each other.
    pub prepend_context: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SendingChange {
    pub content: Option<String>,
    pub cancel: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolCallChange {
    pub params: Option<Object>,
    /// Why the call must not be made; nobody is asked after that.
    pub block: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum CompactionChange {
    Cancel,
    /// Takes the place of the model's summary.
    Summary {
        summary: String,
        details: Option<Value>,
    },
}

/// Somebody who is asked.
#[async_trait]
pub trait Hook: Send + Sync {
    /// Who it is, for the log.
    fn name(&self) -> &str;

    fn points(&self) -> &[HookPoint];

    /// Higher ones are asked first.
    fn priority(&self) -> i32;

    async fn handle(&self, event: &HookEvent) -> HookAnswer;
}

/// How long a hook is waited for.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Everybody who is asked.
#[derive(Clone, Default)]
pub struct Hooks {
    hooks: Vec<Arc<dyn Hook>>,
}

impl Hooks {
    pub fn new(mut hooks: Vec<Arc<dyn Hook>>) -> Self {
        hooks.sort_by_key(|hook| std::cmp::Reverse(hook.priority()));
        Self { hooks }
    }

    /// Whether anybody is asked here: events are not even made up otherwise.
    pub(crate) fn has(&self, point: HookPoint) -> bool {
        self.at(point).next().is_some()
    }

    fn at(&self, point: HookPoint) -> impl Iterator<Item = &Arc<dyn Hook>> {
        self.hooks.iter().filter(move |hook| hook.points().contains(&point))
    }

    /// Tells those who only look on, side by side, and does not wait for them.
    pub(crate) fn tell(&self, event: HookEvent) {
        let hooks: Vec<Arc<dyn Hook>> = self.at(event.point()).cloned().collect();
        if hooks.is_empty() {
            return;
        }
        tokio::spawn(async move {
            join_all(hooks.iter().map(|hook| ask(hook, &event))).await;
        });
    }

    pub(crate) async fn start(&self, event: HookEvent) -> StartChange {
        let mut merged = StartChange::default();
        for hook in self.at(event.point()) {
            if let HookAnswer::Start(change) = ask(hook, &event).await {
                merged.system_prompt = change.system_prompt.or(merged.system_prompt);
                merged.prepend_context = match (merged.prepend_context, change.prepend_context) {
                    (Some(before), Some(more)) => Some(format!("{before}\n\n{more}")),
                    (before, more) => more.or(before),
                };
            }
        }
        merged
    }

    /// The content as it is to be sent; `None` if it is not to be sent.
    pub(crate) async fn sending(&self, session_key: &str, to: &str, mut content: String) -> Option<String> {
        for hook in self.at(HookPoint::MessageSending) {
            let event = HookEvent::MessageSending {
                session_key: session_key.to_owned(),
                to: to.to_owned(),
                content: content.clone(),
            };
            if let HookAnswer::Sending(change) = ask(hook, &event).await {
                if change.cancel {
                    return None;
                }
                content = change.content.unwrap_or(content);
            }
        }
        Some(content)
    }

    /// The arguments to call a tool with, or why it must not be called.
    pub(crate) async fn tool_call(
        &self,
        session_key: &str,
        tool_name: &str,
        mut params: Object,
    ) -> Result<Object, String> {
        for hook in self.at(HookPoint::BeforeToolCall) {
            let event = HookEvent::BeforeToolCall {
                session_key: session_key.to_owned(),
                tool_name: tool_name.to_owned(),
                params: params.clone(),
            };
            if let HookAnswer::ToolCall(change) = ask(hook, &event).await {
                if let Some(why) = change.block {
                    return Err(why);
                }
                params = change.params.unwrap_or(params);
            }
        }
        Ok(params)
    }

    /// The result as it is to stand in the transcript.
    pub(crate) async fn tool_result(
        &self,
        session_key: &str,
        tool_name: &str,
        call: &str,
        mut message: Message,
    ) -> Message {
        for hook in self.at(HookPoint::ToolResultPersist) {
            let event = HookEvent::ToolResultPersist {
                session_key: session_key.to_owned(),
                tool_name: tool_name.to_owned(),
                tool_call_id: call.to_owned(),
                message: message.clone(),
            };
            if let HookAnswer::ToolResult(changed) = ask(hook, &event).await {
                message = changed;
            }
        }
        message
    }

    /// What becomes of a compaction; a refusal counts more than any summary.
    pub(crate) async fn compaction(&self, event: HookEvent) -> Option<CompactionChange> {
        let mut last = None;
        for hook in self.at(event.point()) {
            match ask(hook, &event).await {
                HookAnswer::Compaction(CompactionChange::Cancel) => return Some(CompactionChange::Cancel),
                HookAnswer::Compaction(summary) => last = Some(summary),
                _ => {}
            }
        }
        last
    }
}

/// Asks one hook. One that takes too long or panics has nothing to say.
async fn ask(hook: &Arc<dyn Hook>, event: &HookEvent) -> HookAnswer {
    let asked = std::panic::AssertUnwindSafe(hook.handle(event));
    let answered = tokio::time::timeout(TIME_LIMIT, futures_util::FutureExt::catch_unwind(asked)).await;
    match answered {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => {
            tracing::warn!(hook = hook.name(), point = event.point().as_str(), "a hook failed");
            HookAnswer::Nothing
        }
        Err(_) => {
            tracing::warn!(hook = hook.name(), point = event.point().as_str(), "a hook took too long");
            HookAnswer::Nothing
        }
    }
}
