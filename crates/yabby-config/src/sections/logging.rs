//! `logging`: log file and console.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;

/// Log file and console.
#[section]
pub struct Logging {
    /// What goes to the file.
    #[config(default = Info)]
    pub level: Option<LogLevel>,
    /// The log file. Default: one a day in the system's folder for temporary files.
    pub file: Option<String>,
    /// What goes to the console.
    #[config(default = Info)]
    pub console_level: Option<LogLevel>,
    /// How the console looks. Default: pretty on a terminal.
    pub console_style: Option<ConsoleStyle>,
    /// Whether secrets are masked in summaries of tools.
    #[config(default = Tools)]
    pub redact_sensitive: Option<Redaction>,
    /// What is masked, as regular expressions. Default: a built-in list.
    pub redact_patterns: Option<Vec<String>>,
}

/// How much is said.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum LogLevel {
    Silent,
    Fatal,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How the console looks.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ConsoleStyle {
    Pretty,
    Compact,
    Json,
}

/// Where secrets are masked.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Redaction {
    Off,
    Tools,
}
