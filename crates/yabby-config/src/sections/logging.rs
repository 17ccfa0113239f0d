//! MISSING logging

use schemars::JsonSchema;

use crate::sections::literal::as_literals;

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Logging {
    pub level: Option<LogLevel>,
    pub file: Option<String>,
    pub console_level: Option<LogLevel>,
    pub console_style: Option<ConsoleStyle>,
    pub redact_sensitive: Option<Redaction>,
    pub redact_patterns: Option<Vec<String>>,
}

#[derive(JsonSchema)]
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

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum ConsoleStyle {
    Pretty,
    Compact,
    Json,
}

#[derive(JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Redaction {
    Off,
    Tools,
}
