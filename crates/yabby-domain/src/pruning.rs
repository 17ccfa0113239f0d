//! Context pruning: trimming and clearing old tool results (`transcripts.md` §8.1).
//!
//! A rule about what is sent, not about what is stored: the transcript keeps every result.

use jiff::Timestamp;

use crate::config::Config;
use crate::config::agents::pruning::{ContextPruning, PruningMode};
use crate::duration;
use crate::json::{self, Value};
use crate::message::{Block, Content, Message, Role, text_block};
use crate::sanitize::CustomEntry;
use crate::text;
use crate::transcript::entry::{Entry, EntryKind};
use crate::transcript::seed;

/// The custom entry that remembers when the provider's cache was last touched.
pub const CACHE_TOUCH: &str = "openclaw.cache-ttl";

const CHARS_PER_TOKEN: f64 = 4.0;
const IMAGE_CHARS: usize = 8000;
/// What a message of a role without text of its own counts.
const OTHER_CHARS: usize = 256;

/// `agents.defaults.contextPruning` with its defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    pub ttl_ms: u64,
    pub keep_last_assistants: usize,
    pub soft_trim_ratio: f64,
    pub hard_clear_ratio: f64,
    pub min_prunable_tool_chars: usize,
    pub tools: ToolPatterns,
    pub soft_trim: SoftTrim,
    pub hard_clear: HardClear,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftTrim {
    /// Longer results are trimmed.
    pub max_chars: usize,
    pub head_chars: usize,
    pub tail_chars: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HardClear {
    pub enabled: bool,
    pub placeholder: String,
}

/// Which tools' results may be pruned; `*` stands for any text, deny wins, and no allow list allows all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPatterns {
    pub allow: Option<Vec<String>>,
    pub deny: Option<Vec<String>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            ttl_ms: 300_000,
            keep_last_assistants: 3,
            soft_trim_ratio: 0.3,
            hard_clear_ratio: 0.5,
            min_prunable_tool_chars: 50_000,
            tools: ToolPatterns::default(),
            soft_trim: SoftTrim { max_chars: 4000, head_chars: 1500, tail_chars: 1500 },
            hard_clear: HardClear {
                enabled: true,
                placeholder: "[Old tool result content cleared]".to_owned(),
            },
        }
    }
}

impl Settings {
    pub fn from_config(config: &Config) -> Option<Self> {
        Self::of(&config.agents.defaults.context_pruning)
    }

    /// The settings in a `contextPruning` section; `None` if pruning is off.
    pub fn of(section: &ContextPruning) -> Option<Self> {
        if section.mode != Some(PruningMode::CacheTtl) {
            return None;
        }
        let usual = Self::default();
        let ttl = |ttl: &String| duration::parse(ttl, duration::MINUTE);
        let placeholder = section.hard_clear.placeholder.as_deref().and_then(text::non_blank);
        Some(Self {
            ttl_ms: section.ttl.as_ref().and_then(ttl).unwrap_or(usual.ttl_ms),
            keep_last_assistants: count(section.keep_last_assistants()),
            soft_trim_ratio: section.soft_trim_ratio().clamp(0.0, 1.0),
            hard_clear_ratio: section.hard_clear_ratio().clamp(0.0, 1.0),
            min_prunable_tool_chars: count(section.min_prunable_tool_chars()),
            tools: ToolPatterns { allow: section.tools.allow.clone(), deny: section.tools.deny.clone() },
            soft_trim: SoftTrim {
                max_chars: count(section.soft_trim.max_chars()),
                head_chars: count(section.soft_trim.head_chars()),
                tail_chars: count(section.soft_trim.tail_chars()),
            },
            hard_clear: HardClear {
                enabled: section.hard_clear.enabled.unwrap_or(usual.hard_clear.enabled),
                placeholder: placeholder.map_or(usual.hard_clear.placeholder, str::to_owned),
            },
        })
    }
}

fn count(number: f64) -> usize {
    number.floor().max(0.0) as usize
}

impl ToolPatterns {
    /// Whether results of `tool` may be pruned.
    pub fn allows(&self, tool: &str) -> bool {
        let tool = text::lower(text::trim(tool));
        let cleaned = |list: &Option<Vec<String>>| {
            let patterns = list.iter().flatten().filter_map(|pattern| text::lower_non_blank(pattern));
            patterns.collect::<Vec<String>>()
        };
        let (allow, deny) = (cleaned(&self.allow), cleaned(&self.deny));
        let in_list = |list: &[String]| list.iter().any(|pattern| matches(pattern, &tool));
        !in_list(&deny) && (allow.is_empty() || in_list(&allow))
    }
}

/// Whether `name` is `pattern` with every `*` standing for some text within a line.
fn matches(pattern: &str, name: &str) -> bool {
    if pattern == "*" {
        return true;
    }
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let at =
            if is_last { name.ends_with(part).then(|| name.len() - part.len()) } else { name.find(part) };
        match at {
            Some(at) if !name[..at].contains(['\n', '\r', '\u{2028}', '\u{2029}']) => {
                name = &name[at + part.len()..];
            }
            _ => return false,
        }
    }
    true
}

/// Whether a provider's cache works in a way that makes pruning worthwhile.
pub fn is_eligible(provider: &str, model: &str) -> bool {
    match text::lower(provider).as_str() {
        "anthropic" => true,
        "openrouter" => text::lower(model).starts_with("anthropic/"),
        _ => false,
    }
}

/// When the cache was last touched, in epoch milliseconds, as the transcript remembers it.
pub fn last_cache_touch(entries: &[Entry]) -> Option<f64> {
    entries.iter().rev().filter(|entry| entry.kind() == EntryKind::Custom).find_map(|entry| {
        let (custom_type, data) = seed::custom_of(&entry.object())?;
        let at = data?.get("timestamp")?.as_f64()?;
        (custom_type == CACHE_TOUCH && at != 0.0).then_some(at)
    })
}

/// The entry that remembers the touch of a prompt; `None` where pruning is off or of no use.
pub fn cache_touch(
    settings: Option<&Settings>,
    provider: &str,
    model: &str,
    now: Timestamp,
) -> Option<CustomEntry> {
    settings.filter(|_| is_eligible(provider, model))?;
    let fields = [
        ("timestamp", Value::from(now.as_millisecond())),
        ("provider", provider.into()),
        ("modelId", model.into()),
    ];
    let data = fields.into_iter().map(|(field, value)| (field.to_owned(), value)).collect();
    Some(CustomEntry { custom_type: CACHE_TOUCH, data })
}

/// Whether the cache has gone cold, so that pruning costs no cache hit.
pub fn is_due(last_touch: Option<f64>, now_ms: f64, settings: &Settings) -> bool {
    last_touch.is_some_and(|at| settings.ttl_ms > 0 && now_ms - at >= settings.ttl_ms as f64)
}

/// The text that takes the place of a tool result's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    pub index: usize,
    pub text: String,
}

/// Which tool results to shorten or clear so that the context fits, in order of the messages.
///
/// First long results keep their two ends; if that is not enough, whole results go, oldest first. What
/// stands before the first user message or after the protected answers at the end is left alone.
pub fn prune(messages: &[Message], settings: &Settings, context_window: Option<u64>) -> Vec<Replacement> {
    let Some(window) = context_window.filter(|tokens| *tokens > 0) else {
        return Vec::new();
    };
    let Some(protected_from) = protected_tail(messages, settings.keep_last_assistants) else {
        return Vec::new();
    };
    let first_user = messages.iter().position(|message| message.role() == Role::User);
    let prunable_from = first_user.unwrap_or(messages.len());

    let window_chars = window as f64 * CHARS_PER_TOKEN;
    let mut context_chars: usize = messages.iter().map(message_chars).sum();
    if (context_chars as f64 / window_chars) < settings.soft_trim_ratio {
        return Vec::new();
    }

    let mut results: Vec<ToolOutput> = (prunable_from..protected_from)
        .filter(|at| is_prunable(&messages[*at], &settings.tools))
        .map(|at| ToolOutput::new(at, &messages[at]))
        .collect();
    for result in &mut results {
        if let Some(trimmed) = soft_trim(&messages[result.index], &settings.soft_trim) {
            context_chars = result.replace(trimmed, context_chars);
        }
    }
    let prunable_chars: usize = results.iter().map(|result| result.chars).sum();
    let may_clear = settings.hard_clear.enabled && prunable_chars >= settings.min_prunable_tool_chars;
    for result in results.iter_mut().filter(|_| may_clear) {
        if (context_chars as f64 / window_chars) < settings.hard_clear_ratio {
            break;
        }
        context_chars = result.replace(settings.hard_clear.placeholder.clone(), context_chars);
    }
    results
        .into_iter()
        .filter_map(|result| Some(Replacement { index: result.index, text: result.replacement? }))
        .collect()
}

/// Puts the replacements in their places.
pub fn apply(messages: &mut [Message], replacements: &[Replacement]) {
    for Replacement { index, text } in replacements {
        if let Some(message) = messages.get_mut(*index) {
            message.set("content", vec![text_block(text)]);
        }
    }
}

struct ToolOutput {
    index: usize,
    chars: usize,
    replacement: Option<String>,
}

impl ToolOutput {
    fn new(index: usize, message: &Message) -> Self {
        Self { index, chars: message_chars(message), replacement: None }
    }

    /// Takes `text` for the content; returns the size of the context afterwards.
    fn replace(&mut self, text: String, context_chars: usize) -> usize {
        let others = context_chars - self.chars;
        self.chars = text::units(&text);
        self.replacement = Some(text);
        others + self.chars
    }
}

/// Where the protected answers begin; `None` if there are fewer than should be protected.
fn protected_tail(messages: &[Message], keep_last_assistants: usize) -> Option<usize> {
    let Some(before_last) = keep_last_assistants.checked_sub(1) else {
        return Some(messages.len());
    };
    let assistants =
        messages.iter().enumerate().rev().filter(|(_, message)| message.role() == Role::Assistant);
    assistants.map(|(at, _)| at).nth(before_last)
}

fn is_prunable(message: &Message, tools: &ToolPatterns) -> bool {
    let has_image = || message.blocks().iter().any(|block| Block::of(block) == Block::Image);
    message.role() == Role::ToolResult
        && tools.allows(message.text_field("toolName").unwrap_or_default())
        && !has_image()
}

fn soft_trim(message: &Message, trim: &SoftTrim) -> Option<String> {
    let parts = message.blocks().iter().filter_map(|block| match Block::of(block) {
        Block::Text(text) => Some(text),
        _ => None,
    });
    let whole = parts.collect::<Vec<_>>().join("\n");
    let length = text::units(&whole);
    let SoftTrim { max_chars, head_chars, tail_chars } = *trim;
    if length <= max_chars || head_chars.saturating_add(tail_chars) >= length {
        return None;
    }
    Some(format!(
        "{}\n...\n{}\n\n[Tool result trimmed: kept first {head_chars} chars and last {tail_chars} chars of {length} chars.]",
        text::head(&whole, head_chars),
        text::tail(&whole, tail_chars),
    ))
}

fn message_chars(message: &Message) -> usize {
    match (message.role(), message.content()) {
        (Role::User, Content::Text(text)) => text::units(text),
        (Role::User | Role::ToolResult | Role::Assistant, _) => {
            message.blocks().iter().map(|block| block_chars(block, message.role())).sum()
        }
        _ => OTHER_CHARS,
    }
}

fn block_chars(block: &Value, role: Role) -> usize {
    let is_answer = role == Role::Assistant;
    match Block::of(block) {
        Block::Text(text) => text::units(text),
        Block::Image if !is_answer => IMAGE_CHARS,
        Block::Thinking { text, .. } if is_answer => text::units(text),
        Block::ToolCall(call) if is_answer => {
            let arguments = call.arguments.filter(|arguments| !arguments.is_null());
            arguments.map_or("{}".len(), |arguments| text::units(&json::stringify(arguments)))
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(section: &Value) -> Option<Settings> {
        Settings::from_config(&Config::new(json!({"agents": {"defaults": {"contextPruning": section}}})))
    }
    use serde_json::json;

    #[test]
    fn only_cache_ttl_switches_pruning_on() {
        for off in [json!(null), json!({}), json!({"mode": "off"}), json!("cache-ttl")] {
            assert_eq!(settings(&off), None, "{off}");
        }
        let odd = json!({"mode": "cache-ttl", "ttl": "bogus", "keepLastAssistants": -2.5, "softTrimRatio": 7,
            "hardClear": {"placeholder": "  "}, "softTrim": true});
        let settings = settings(&odd).unwrap();
        assert_eq!(
            settings,
            Settings { keep_last_assistants: 0, soft_trim_ratio: 1.0, ..Settings::default() }
        );
    }

    #[test]
    fn patterns_match_whole_names_in_any_case() {
        let table = [
            ("read*", "Read_File", true),
            ("*shot", "screenshot", true),
            ("*shot", "shots", false),
            ("web_*_x", "web_x", false),
            ("web_*_x", "WEB_a_X", true),
            ("a*b*a", "aba", true),
            ("a*b*a", "ab", false),
            ("a.b", "axb", false),
            ("x*", "x\ny", false),
            ("*", "x\ny", true),
        ];
        for (pattern, tool, denied) in table {
            let tools = ToolPatterns { allow: None, deny: Some(vec![pattern.to_owned()]) };
            assert_eq!(!tools.allows(tool), denied, "{pattern} {tool}");
        }
    }

    #[test]
    fn old_results_are_trimmed_first_and_cleared_if_that_is_not_enough() {
        let call = json!({"role": "assistant", "content": []});
        let result = json!({"role": "toolResult", "toolName": "exec", "content": [{"type": "text", "text": "0123456789".repeat(20)}]});
        let list = [
            json!({"role": "user", "content": "go"}),
            call.clone(),
            result.clone(),
            call.clone(),
            result,
            call,
        ];
        let mut messages: Vec<Message> = list.into_iter().filter_map(Message::from_value).collect();
        let settings = Settings {
            keep_last_assistants: 2,
            min_prunable_tool_chars: 0,
            soft_trim: SoftTrim { max_chars: 40, head_chars: 3, tail_chars: 2 },
            ..Settings::default()
        };
        let trimmed = prune(&messages, &settings, Some(200));
        assert_eq!(
            trimmed[0].text,
            "012\n...\n89\n\n[Tool result trimmed: kept first 3 chars and last 2 chars of 200 chars.]"
        );
        assert_eq!(prune(&messages, &settings, Some(10_000)), []);
        let cleared = prune(&messages, &settings, Some(50));
        assert_eq!(cleared, [Replacement { index: 2, text: "[Old tool result content cleared]".into() }]);
        apply(&mut messages, &cleared);
        assert_eq!(messages[2].blocks()[0]["text"], "[Old tool result content cleared]");
    }

    #[test]
    fn a_prompt_touches_the_cache_of_a_provider_that_has_one() {
        let settings = Settings::default();
        let touch = cache_touch(Some(&settings), "anthropic", "claude", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(json!(touch.data), json!({"timestamp": 0, "provider": "anthropic", "modelId": "claude"}));
        assert_eq!(cache_touch(Some(&settings), "openai", "gpt-5", Timestamp::UNIX_EPOCH), None);
        assert_eq!(cache_touch(None, "anthropic", "claude", Timestamp::UNIX_EPOCH), None);
    }

    #[test]
    fn pruning_waits_until_the_cache_is_cold() {
        let settings = Settings::default();
        let table = [(None, false), (Some(1.0), true), (Some(800_000.0), false), (Some(700_000.0), true)];
        for (touch, due) in table {
            assert_eq!(is_due(touch, 1_000_000.0, &settings), due, "{touch:?}");
        }
    }
}
