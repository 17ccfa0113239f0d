//! `channels`: the ways messages come and go. A channel that is not known here may hold anything;
//! whether it exists is asked later.

pub mod access;
pub mod bluebubbles;
pub mod delivery;
pub mod discord;
pub mod googlechat;
pub mod heartbeat_visibility;
pub mod imessage;
pub mod msteams;
pub mod reactions;
pub mod retry;
pub mod signal;
pub mod slack;
pub mod telegram;
pub mod whatsapp;

use schemars::JsonSchema;
use serde_json::Value;

use crate::sections::channels::access::GroupPolicy;
use crate::sections::channels::bluebubbles::BlueBubbles;
use crate::sections::channels::discord::Discord;
use crate::sections::channels::googlechat::GoogleChat;
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::channels::imessage::Imessage;
use crate::sections::channels::msteams::MsTeams;
use crate::sections::channels::signal::Signal;
use crate::sections::channels::slack::Slack;
use crate::sections::channels::telegram::Telegram;
use crate::sections::channels::whatsapp::Whatsapp;
use crate::sections::map::Map;

sections! {
    /// The ways messages come and go, by name.
    pub struct Channels {
        /// What holds for all channels.
        "defaults" => defaults: ChannelDefaults,
        /// WhatsApp.
        "whatsapp" => whatsapp: Whatsapp,
        /// Telegram.
        "telegram" => telegram: Telegram,
        /// Discord.
        "discord" => discord: Discord,
        /// Google Chat.
        "googlechat" => googlechat: GoogleChat,
        /// Slack.
        "slack" => slack: Slack,
        /// Signal.
        "signal" => signal: Signal,
        /// iMessage.
        "imessage" => imessage: Imessage,
        /// iMessage through BlueBubbles.
        "bluebubbles" => bluebubbles: BlueBubbles,
        /// Microsoft Teams.
        "msteams" => msteams: MsTeams,
        ..others: Map<Value>
    }
}

/// What holds for all channels.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChannelDefaults {
    /// Which groups are listened to.
    pub group_policy: Option<GroupPolicy>,
    /// What people see of heartbeats.
    pub heartbeat: Option<HeartbeatVisibility>,
}
