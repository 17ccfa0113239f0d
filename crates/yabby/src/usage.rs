//! What a command line that cannot be understood is answered (`cli.md` §0): one line, exit code 1.

use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Help and version go to standard output; everything else is a failure of the caller's.
pub fn answer(error: &clap::Error) -> ExitCode {
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
            anstream::eprintln!("{}", sentence(error));
            ExitCode::FAILURE
        }
    }
}

/// What is wrong, as the reference words it where it has words for it.
fn sentence(error: &clap::Error) -> String {
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
        (ErrorKind::InvalidSubcommand, _, Some(command)) => format!("error: unknown command '{command}'"),
        (ErrorKind::UnknownArgument, Some(option), _) if option.starts_with('-') => {
            format!("error: unknown option '{option}'")
        }
        (ErrorKind::UnknownArgument, Some(word), _) => format!("error: too many arguments: '{word}'"),
        (ErrorKind::MissingRequiredArgument, Some(argument), _) if argument.starts_with('-') => {
            format!("error: required option '{}' not specified", argument.to_lowercase())
        }
        (ErrorKind::MissingRequiredArgument, Some(argument), _) => {
            format!("error: missing required argument '{}'", bare(&argument))
        }
        (ErrorKind::InvalidValue | ErrorKind::ValueValidation, Some(argument), _) => {
            invalid_value(error, &argument, &named(ContextKind::InvalidValue).unwrap_or_default())
        }
        (ErrorKind::ArgumentConflict, Some(argument), _) if several(error).len() > 1 => {
            format!("error: the argument '{argument}' cannot be used with '{}'", several(error).join("', '"))
        }
        // clap's own first line says it well enough.
        _ => error.to_string().lines().next().unwrap_or("error: invalid command line").to_owned(),
    };
    told + &hint
}

/// What an argument was given together with, where that is more than one: clap puts each on a line of its own.
fn several(error: &clap::Error) -> &[String] {
    match error.get(ContextKind::PriorArg) {
        Some(ContextValue::Strings(others)) => others,
        _ => &[],
    }
}

/// A value that an option or an argument does not take, and what it would take.
fn invalid_value(error: &clap::Error, argument: &str, value: &str) -> String {
    let is_option = argument.starts_with('-');
    let name = argument.to_lowercase();
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
    argument.trim_matches(|c| matches!(c, '<' | '>' | '[' | ']' | '.')).to_lowercase()
}
