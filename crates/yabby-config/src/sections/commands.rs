//! `commands`: what may be asked for with a slash.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::number::NonNegativeInteger;
use crate::sections::text::TextOrNumber;

/// What may be asked for with a slash.
#[section]
pub struct Commands {
    /// Whether platforms show commands in their menus. Default: auto.
    #[schemars(extend("default" = "auto"))]
    pub native: Option<NativeCommands>,
    /// Whether they show skills. Default: auto.
    #[schemars(extend("default" = "auto"))]
    pub native_skills: Option<NativeCommands>,
    /// Whether commands in messages count.
    #[config(default = true)]
    pub text: Option<bool>,
    /// Whether `!command` runs one.
    #[config(default = false)]
    pub bash: Option<bool>,
    /// How long it is waited for.
    #[config(default = 2000)]
    #[schemars(range(min = 0, max = 30000))]
    pub bash_foreground_ms: Option<NonNegativeInteger>,
    /// Whether `/config` works.
    #[config(default = false)]
    pub config: Option<bool>,
    /// Whether `/debug` works.
    #[config(default = false)]
    pub debug: Option<bool>,
    /// Whether `/restart` works.
    #[config(default = false)]
    pub restart: Option<bool>,
    /// Whether only those on the lists may use commands.
    #[config(default = true)]
    pub use_access_groups: Option<bool>,
    /// Who the owners are.
    pub owner_allow_from: Option<Vec<TextOrNumber>>,
}

/// Commands in the menus of one channel.
#[section]
pub struct ChannelCommands {
    pub native: Option<NativeCommands>,
    pub native_skills: Option<NativeCommands>,
}

/// Whether a platform's command menu is filled: yes, no, or where the platform has one.
#[section]
#[serde(untagged)]
pub enum NativeCommands {
    Switch(bool),
    Auto(Auto),
}

#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum Auto {
    Auto,
}
