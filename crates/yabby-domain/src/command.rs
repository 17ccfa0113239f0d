//! Recognising chat commands, abort words and activation (`sessions.md` §17).

use crate::config::Config;
use crate::text;

/// A chat command and the ways to write it; the first is the canonical one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChatCommand {
    pub key: &'static str,
    pub aliases: &'static [&'static str],
    pub takes_arguments: bool,
}

const fn plain(key: &'static str, aliases: &'static [&'static str]) -> ChatCommand {
    ChatCommand { key, aliases, takes_arguments: false }
}

const fn with_arguments(key: &'static str, aliases: &'static [&'static str]) -> ChatCommand {
    ChatCommand { key, aliases, takes_arguments: true }
}

/// Every command that is recognised in text.
pub const COMMANDS: &[ChatCommand] = &[
    plain("help", &["/help"]),
    plain("commands", &["/commands"]),
    with_arguments("skill", &["/skill"]),
    plain("status", &["/status"]),
    with_arguments("allowlist", &["/allowlist"]),
    with_arguments("approve", &["/approve"]),
    with_arguments("context", &["/context"]),
    with_arguments("tts", &["/tts"]),
    plain("whoami", &["/whoami", "/id"]),
    with_arguments("subagents", &["/subagents"]),
    with_arguments("config", &["/config"]),
    with_arguments("debug", &["/debug"]),
    with_arguments("usage", &["/usage"]),
    plain("stop", &["/stop"]),
    plain("restart", &["/restart"]),
    with_arguments("activation", &["/activation"]),
    with_arguments("send", &["/send"]),
    with_arguments("reset", &["/reset"]),
    with_arguments("new", &["/new"]),
    with_arguments("compact", &["/compact"]),
    with_arguments("think", &["/think", "/thinking", "/t"]),
    with_arguments("verbose", &["/verbose", "/v"]),
    with_arguments("reasoning", &["/reasoning", "/reason"]),
    with_arguments("elevated", &["/elevated", "/elev"]),
    with_arguments("exec", &["/exec"]),
    with_arguments("model", &["/model"]),
    with_arguments("models", &["/models"]),
    with_arguments("queue", &["/queue"]),
    with_arguments("bash", &["/bash"]),
    plain("dock:telegram", &["/dock-telegram", "/dock_telegram"]),
    plain("dock:discord", &["/dock-discord", "/dock_discord"]),
    plain("dock:slack", &["/dock-slack", "/dock_slack"]),
];

/// A command body in its canonical spelling: one line, `/cmd:arg` as `/cmd arg`, without `@bot` where
/// that is this bot, aliases replaced. Text that is no command is only trimmed.
pub fn normalize_body(body: &str, bot: Option<&str>) -> String {
    let body = text::trim(body);
    if !body.starts_with('/') {
        return body.to_owned();
    }
    let line = body.split_once('\n').map_or(body, |(line, _)| text::trim(line));
    let line = without_bot_name(without_colon(line), bot.and_then(text::lower_non_blank).as_deref());
    let (word, rest) = match line.find(text::is_space) {
        Some(at) => (&line[..at], text::trim_start(&line[at..])),
        None => (line.as_str(), ""),
    };
    let Some(command) = find(&text::lower(word)) else {
        return line;
    };
    let canonical = command.aliases.first().copied().unwrap_or(word);
    match (rest, command.takes_arguments) {
        ("", _) => canonical.to_owned(),
        (rest, true) => format!("{canonical} {rest}"),
        (_, false) => line,
    }
}

/// `/cmd: rest` as `/cmd rest`.
fn without_colon(line: &str) -> String {
    let end = line.find(|c: char| text::is_space(c) || c == ':').unwrap_or(line.len());
    let Some(rest) = text::trim_start(&line[end..]).strip_prefix(':').filter(|_| end > 1) else {
        return line.to_owned();
    };
    match text::trim_start(rest) {
        "" => line[..end].to_owned(),
        rest => format!("{} {rest}", &line[..end]),
    }
}

/// `/cmd@bot rest` as `/cmd rest`, if `bot` is this bot.
fn without_bot_name(line: String, bot: Option<&str>) -> String {
    let end = line.find(text::is_space).unwrap_or(line.len());
    match (line[..end].split_once('@'), bot) {
        (Some((command, name)), Some(bot)) if command.len() > 1 && text::lower(name) == bot => {
            format!("{command}{}", &line[end..])
        }
        _ => line,
    }
}

fn find(alias: &str) -> Option<&'static ChatCommand> {
    COMMANDS.iter().find(|command| command.aliases.contains(&alias))
}

/// Whether the text is a command that is switched on.
pub fn is_command(body: &str, config: &Config, bot: Option<&str>) -> bool {
    let normalized = normalize_body(body, bot);
    // Some work only where the configuration switches them on.
    let enabled = |command: &&ChatCommand| match command.key {
        "config" => config.commands.config(),
        "debug" => config.commands.debug(),
        "bash" => config.commands.bash(),
        _ => true,
    };
    COMMANDS
        .iter()
        .filter(enabled)
        .any(|command| command.aliases.iter().any(|alias| names(&normalized, alias, command)))
}

fn names(body: &str, alias: &str, command: &ChatCommand) -> bool {
    let lowered = text::lower(body);
    lowered == alias
        || (command.takes_arguments
            && lowered.strip_prefix(alias).is_some_and(|rest| rest.starts_with(text::is_space)))
}

/// Whether the message is a command or an abort word, and nothing else.
pub fn is_control_message(body: &str, config: &Config, bot: Option<&str>) -> bool {
    is_command(body, config, bot) || is_abort_word(&normalize_body(body, bot))
}

/// Words that stop a run when they are the whole message.
pub fn is_abort_word(body: &str) -> bool {
    matches!(text::lower(text::trim(body)).as_str(), "stop" | "esc" | "abort" | "wait" | "exit" | "interrupt")
}

/// When the agent answers in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    Mention,
    Always,
}

impl Activation {
    pub fn parse(raw: &str) -> Option<Self> {
        match text::lower(text::trim(raw)).as_str() {
            "mention" => Some(Self::Mention),
            "always" => Some(Self::Always),
            _ => None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Mention => "mention",
            Self::Always => "always",
        }
    }
}

/// `/activation [mode]`: `None` if this is no such command, `Some(None)` without a known mode.
pub fn parse_activation(body: &str) -> Option<Option<Activation>> {
    let body = normalize_body(body, None);
    let word = single_word_argument(&body, "/activation")?;
    Some(Activation::parse(word))
}

/// The one word of letters that follows `command`, or nothing; `None` if this is another text.
pub(crate) fn single_word_argument<'b>(body: &'b str, command: &str) -> Option<&'b str> {
    let rest = text::strip_prefix_ignoring_ascii_case(body, command)?;
    let word = text::trim(rest);
    let apart = rest.is_empty() || rest.starts_with(text::is_space);
    (apart && word.bytes().all(|b| b.is_ascii_alphabetic())).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_one_spelling() {
        let table = [
            ("/t high", "/think high"),
            ("/Think:high", "/think high"),
            ("/think :", "/think"),
            ("/NEW@MyBot x", "/new x"),
            ("/help@other", "/help@other"),
            ("/status now", "/status now"),
            ("/x\nmore", "/x"),
            (" hello ", "hello"),
        ];
        for (raw, canonical) in table {
            assert_eq!(normalize_body(raw, Some("mybot")), canonical, "{raw}");
        }
    }

    #[test]
    fn some_commands_must_be_switched_on() {
        let on = Config::new(serde_json::json!({"commands": {"bash": true}}));
        assert!(!is_command("/bash ls", &Config::default(), None));
        assert!(is_command("/bash ls", &on, None));
        assert!(is_control_message(" STOP ", &on, None) && !is_command("stop", &on, None));
    }

    #[test]
    fn activation_takes_one_word() {
        assert_eq!(parse_activation("/activation: always"), Some(Some(Activation::Always)));
        assert_eq!(parse_activation("/activation"), Some(None));
        assert_eq!(parse_activation("/activation a b"), None);
    }
}
