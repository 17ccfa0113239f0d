//! `agents.defaults.cliBackends`: models that are command lines of others.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::map::Map;
use crate::sections::number::PositiveInteger;

/// A command line that serves as a model.
#[section]
pub struct CliBackend {
    /// The program.
    #[config(or_default)]
    pub command: String,
    /// Its arguments.
    pub args: Option<Vec<String>>,
    /// What it prints.
    pub output: Option<CliOutput>,
    pub resume_output: Option<CliOutput>,
    pub input: Option<CliInput>,
    pub max_prompt_arg_chars: Option<PositiveInteger>,
    pub env: Option<Map<String>>,
    pub clear_env: Option<Vec<String>>,
    /// The argument that takes the model.
    pub model_arg: Option<String>,
    pub model_aliases: Option<Map<String>>,
    /// The argument that takes the session.
    pub session_arg: Option<String>,
    pub session_args: Option<Vec<String>>,
    pub resume_args: Option<Vec<String>>,
    pub session_mode: Option<CliSessionMode>,
    pub session_id_fields: Option<Vec<String>>,
    pub system_prompt_arg: Option<String>,
    pub system_prompt_mode: Option<CliSystemPromptMode>,
    pub system_prompt_when: Option<CliSystemPromptWhen>,
    pub image_arg: Option<String>,
    pub image_mode: Option<CliImageMode>,
    pub serialize: Option<bool>,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CliOutput {
    Json,
    Text,
    Jsonl,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CliInput {
    Arg,
    Stdin,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CliSessionMode {
    Always,
    Existing,
    None,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CliSystemPromptMode {
    Append,
    Replace,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CliSystemPromptWhen {
    First,
    Always,
    Never,
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum CliImageMode {
    Repeat,
    List,
}
