//! `bindings`: which agent answers where.

use yabby_config_derive::section;

use crate::sections::literal::as_literals;
use crate::sections::word::Word;

/// Which agent answers in one place.
#[section]
pub struct Binding {
    /// The agent.
    #[config(or_default)]
    pub agent_id: String,
    /// Where.
    pub r#match: BindingMatch,
}

/// Where an agent answers.
#[section]
pub struct BindingMatch {
    /// On which channel.
    #[config(or_default)]
    pub channel: String,
    /// On which account; `*` is any. Default: the default one.
    pub account_id: Option<String>,
    /// With whom.
    pub peer: Option<BindingPeer>,
    /// In which Discord server.
    pub guild_id: Option<String>,
    /// In which Slack or Teams team.
    pub team_id: Option<String>,
}

/// One chat.
#[section]
pub struct BindingPeer {
    #[config(or_default)]
    pub kind: Word<PeerKind>,
    #[config(or_default)]
    pub id: String,
}

/// A kind of chat.
#[section]
#[serde(rename_all = "lowercase")]
#[schemars(transform = as_literals)]
pub enum PeerKind {
    Dm,
    Group,
    Channel,
}
