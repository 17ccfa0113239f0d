//! `/context`: exactly what the model will see, and what each part costs.

use std::sync::Arc;

use yabby_domain::compaction::tokens::{estimate, estimate_all};
use yabby_domain::json;
use yabby_domain::message::{Message, Role};
use yabby_domain::seam::model::Purpose;
use yabby_domain::status::tokens;
use yabby_domain::text;

use super::CommandContext;
use crate::agent::context::{Extent, Telling, told_at_once};
use crate::agent::said::text_of;
use crate::agent::system_prompt;
use crate::agent::{Opening, RunRequest};
use crate::home::Known;
use crate::turn::TurnError;
use crate::turn::prompt::{Prompt, user_message};

/// How many messages are listed one by one.
const LISTED: usize = 12;

/// Stands for the question that is not asked yet: a conversation without one is told in another way.
const NEXT: &str = "\u{1}the next question\u{1}";

fn without_next(mut messages: Vec<Message>) -> Vec<Message> {
    if let Some(last) = messages.last_mut() {
        let mut blocks = last.to_blocks();
        blocks.retain(|block| block.get("text").and_then(json::Value::as_str) != Some(NEXT));
        if blocks.is_empty() {
            messages.pop();
        } else {
            last.set("content", blocks);
        }
    }
    messages
}

pub(crate) async fn answer(context: CommandContext<'_>) -> Result<String, TurnError> {
    let CommandContext { engine, inbound, opened, control, rest, .. } = context;
    let prompt = Prompt::nothing(inbound.accepted_at);
    let request =
        RunRequest::new(engine, inbound, Arc::new(opened.clone()), prompt, control, Purpose::Turn).await?;
    let Opening { system, tools: known, .. } = request.opening();
    let messages = match opened.home.transcripts.load(&opened.transcript).await? {
        Some(transcript) => {
            let telling = Telling {
                choice: &request.choice,
                config: &opened.config,
                session_key: opened.key.as_str(),
                now: engine.now(),
                extent: Extent::Whole,
            };
            let told = told_at_once(&transcript, vec![user_message(NEXT, 0)], &telling);
            without_next(told.messages)
        }
        None => Vec::new(),
    };
    if text::lower(rest) == "json" {
        let messages: Vec<json::Value> = messages.into_iter().map(|message| message.into_value()).collect();
        let tools: Vec<json::Value> = known
            .iter()
            .map(|Known { spec: tool, .. }| serde_json::json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters}))
            .collect();
        let all = serde_json::json!({"model": request.choice.model.to_string(), "system": system, "tools": tools, "messages": messages});
        return Ok(json::stringify_pretty(&all));
    }
    let window = request.choice.window(&opened.config);
    let system_tokens = system_prompt::overhead(system, &[]);
    let tool_tokens = system_prompt::overhead("", known);
    let message_tokens = estimate_all(&messages);
    let total = system_tokens + tool_tokens + message_tokens;
    let mut lines = vec![
        format!("{} sees about {} of {} tokens:", request.choice.model, tokens(total), tokens(window)),
        format!("System prompt: {}", tokens(system_tokens)),
        format!("Tools ({}): {}", known.len(), tokens(tool_tokens)),
    ];
    lines.extend(known.iter().map(|tool| {
        let tokens = system_prompt::overhead("", std::slice::from_ref(tool));
        format!("  {}: {tokens}", tool.spec.name)
    }));
    lines.push(format!("Messages ({}): {}", messages.len(), tokens(message_tokens)));
    let skipped = messages.len().saturating_sub(LISTED);
    if skipped > 0 {
        lines.push(format!("  … {skipped} earlier: {}", tokens(estimate_all(&messages[..skipped]))));
    }
    lines.extend(messages[skipped..].iter().map(|message| {
        let who = match message.role() {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::ToolResult => message.text_field("toolName").unwrap_or("tool"),
            _ => "other",
        };
        let said = text::collapse_spaces(&text_of(message));
        let said =
            if said.is_empty() { "(calls tools)".to_owned() } else { text::head(&said, 60).into_owned() };
        format!("  {who} {}: {said}", estimate(message))
    }));
    lines.push("/context json shows every word of it.".to_owned());
    Ok(lines.join("\n"))
}
