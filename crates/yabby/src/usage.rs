//! What a command line that cannot be understood is answered (`cli.md` §0): one line, exit code 1.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

/// Help and version go to standard output; everything else is a failure of the caller's, who typed these words.
pub fn answer(error: &clap::Error, command: &mut Command, words: &[OsString]) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            // Nobody reads it any more: no reason to complain.
            let _ = error.print();
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = error.print();
            ExitCode::FAILURE
        }
        _ => {
            command.build();
            anstream::eprintln!("{}", sentence(error, &Meant::by(command, words)));
            ExitCode::FAILURE
        }
    }
}

/// The command that somebody meant, and how many words they gave it that belong to no option.
struct Meant<'c> {
    command: &'c Command,
    operands: usize,
}

impl<'c> Meant<'c> {
    fn by(command: &'c Command, words: &[OsString]) -> Self {
        let mut meant = Self { command, operands: 0 };
        let mut words = words.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            if word == "--" {
                meant.operands += words.count();
                break;
            }
            if word.len() > 1 && word.starts_with('-') {
                if meant.named(&word).is_some_and(|option| option.get_action().takes_values()) {
                    words.next();
                }
                continue;
            }
            match meant.command.find_subcommand(&*word).filter(|_| meant.operands == 0) {
                Some(command) => meant.command = command,
                None => meant.operands += 1,
            }
        }
        meant
    }

    /// The option of the command that this word is, if its value is not in the same word.
    fn named(&self, word: &str) -> Option<&'c Arg> {
        let is_it = |argument: &&Arg| match word.strip_prefix("--") {
            Some(long) => argument.get_long() == Some(long),
            None => argument.get_short().is_some_and(|short| word[1..].chars().eq([short])),
        };
        self.command.get_arguments().find(is_it)
    }

    /// `-m, --message <text>` of `--message <TEXT>`
    fn option(&self, argument: &str) -> String {
        let name = in_small_letters(argument);
        let short = name.split(' ').next().and_then(|long| self.named(long)).and_then(Arg::get_short);
        short.map_or_else(|| name.clone(), |short| format!("-{short}, {name}"))
    }

    fn too_many(&self) -> String {
        let expected = self.command.get_positionals().count();
        let s = if expected == 1 { "" } else { "s" };
        let (name, got) = (self.command.get_name(), self.operands);
        format!("error: too many arguments for '{name}'. Expected {expected} argument{s} but got {got}.")
    }
}

/// What is wrong, as the reference words it where it has words for it.
fn sentence(error: &clap::Error, meant: &Meant) -> String {
    let named = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let hint = match named(ContextKind::SuggestedSubcommand).or_else(|| named(ContextKind::SuggestedArg)) {
        Some(better) => format!("\n(Did you mean {better}?)"),
        None => String::new(),
    };
    let invalid = named(ContextKind::InvalidArg);
    let told = match (error.kind(), invalid, named(ContextKind::InvalidSubcommand)) {
        (ErrorKind::InvalidSubcommand, _, Some(command)) => {
            if let Some(later) = not_yet(meant.command.get_name(), &command) {
                return later;
            }
            format!("error: unknown command '{command}'")
        }
        (ErrorKind::UnknownArgument, Some(option), _) if option.starts_with('-') => {
            format!("error: unknown option '{option}'")
        }
        (ErrorKind::UnknownArgument, Some(_), _) => meant.too_many(),
        (ErrorKind::MissingRequiredArgument, Some(argument), _) if argument.starts_with('-') => {
            format!("error: required option '{}' not specified", meant.option(&argument))
        }
        (ErrorKind::MissingRequiredArgument, Some(argument), _) => {
            format!("error: missing required argument '{}'", bare(&argument))
        }
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(argument), _) => {
            invalid_value(error, meant, &argument, &named(ContextKind::InvalidValue).unwrap_or_default())
        }
        (ErrorKind::ArgumentConflict, Some(argument), _) if several(error).len() > 1 => {
            format!("error: the argument '{argument}' cannot be used with '{}'", several(error).join("', '"))
        }
        // clap's own first line says it well enough.
        _ => error.to_string().lines().next().unwrap_or("error: invalid command line").to_owned(),
    };
    told + &hint
}

/// Commands of the reference that yabby does not have: below which command, their name, and what does the same here.
const NOT_YET: [(&str, &str, Option<&str>); 55] = [
    ("yabby", "acp", None),
    ("yabby", "browser", None),
    ("yabby", "configure", Some("setup")),
    ("yabby", "cron", None),
    ("yabby", "daemon", Some("gateway")),
    ("yabby", "dashboard", Some("status")),
    ("yabby", "directory", None),
    ("yabby", "dns", None),
    ("yabby", "docs", None),
    ("yabby", "node", None),
    ("yabby", "nodes", None),
    ("yabby", "onboard", Some("setup")),
    ("yabby", "reset", None),
    ("yabby", "sandbox", None),
    ("yabby", "security", Some("status")),
    ("yabby", "tui", Some("agent")),
    ("yabby", "uninstall", None),
    ("yabby", "update", None),
    ("yabby", "webhooks", None),
    ("agents", "set-identity", None),
    ("channels", "add", None),
    ("channels", "capabilities", None),
    ("channels", "login", None),
    ("channels", "logout", None),
    ("channels", "logs", Some("logs")),
    ("channels", "remove", None),
    ("channels", "resolve", None),
    ("gateway", "discover", None),
    ("hooks", "check", None),
    ("hooks", "disable", None),
    ("hooks", "enable", None),
    ("hooks", "info", None),
    ("hooks", "install", None),
    ("hooks", "update", None),
    ("message", "broadcast", None),
    ("message", "delete", None),
    ("message", "edit", None),
    ("message", "pin", None),
    ("message", "pins", None),
    ("message", "poll", None),
    ("message", "react", None),
    ("message", "reactions", None),
    ("message", "read", None),
    ("message", "search", None),
    ("message", "thread", None),
    ("message", "unpin", None),
    ("models", "auth", None),
    ("models", "scan", None),
    ("plugins", "disable", None),
    ("plugins", "doctor", None),
    ("plugins", "enable", None),
    ("plugins", "info", None),
    ("plugins", "install", None),
    ("plugins", "uninstall", None),
    ("plugins", "update", None),
];

/// What is said of a command that only the reference has.
fn not_yet(parent: &str, command: &str) -> Option<String> {
    let (_, _, instead) = NOT_YET.iter().find(|(below, name, _)| *below == parent && *name == command)?;
    let words = if parent == "yabby" { command.to_owned() } else { format!("{parent} {command}") };
    Some(match instead {
        Some(instead) => format!("error: '{words}' is not in yabby yet; see `yabby {instead}`"),
        None => format!("error: '{words}' is not in yabby yet"),
    })
}

/// What an argument was given together with, where that is more than one: clap puts each on a line of its own.
fn several(error: &clap::Error) -> &[String] {
    match error.get(ContextKind::PriorArg) {
        Some(ContextValue::Strings(others)) => others,
        _ => &[],
    }
}

/// A value that an option or an argument does not take, and what it would take.
fn invalid_value(error: &clap::Error, meant: &Meant, argument: &str, value: &str) -> String {
    let is_option = argument.starts_with('-');
    let name = meant.option(argument);
    if value.is_empty() && is_option {
        return format!("error: option '{name}' argument missing");
    }
    let reason = match (error.get(ContextKind::ValidValue), std::error::Error::source(error)) {
        (Some(ContextValue::Strings(allowed)), _) => format!(" Allowed choices are {}.", allowed.join(", ")),
        (_, Some(reason)) => format!(" {reason}"),
        _ => String::new(),
    };
    if is_option {
        return format!("error: option '{name}' argument '{value}' is invalid.{reason}");
    }
    let name = bare(&name);
    format!("error: command-argument value '{value}' is invalid for argument '{name}'.{reason}")
}

/// `session` of `<SESSION>`
fn bare(argument: &str) -> String {
    in_small_letters(argument.trim_matches(|c| matches!(c, '<' | '>' | '[' | ']' | '.')))
}

/// Our names of values are in capitals; one that is not has letters of both kinds on purpose, as `requestId`.
fn in_small_letters(name: &str) -> String {
    let value = name.split('<').next_back().unwrap_or(name);
    if value.chars().any(char::is_lowercase) { name.to_owned() } else { name.to_lowercase() }
}
