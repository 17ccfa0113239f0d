//! MISSING channels

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
    pub struct Channels {
        "defaults" => defaults: ChannelDefaults,
        "whatsapp" => whatsapp: Whatsapp,
        "telegram" => telegram: Telegram,
        "discord" => discord: Discord,
        "googlechat" => googlechat: GoogleChat,
        "slack" => slack: Slack,
        "signal" => signal: Signal,
        "imessage" => imessage: Imessage,
        "bluebubbles" => bluebubbles: BlueBubbles,
        "msteams" => msteams: MsTeams,
        ..others: Map<Value>
    }
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ChannelDefaults {
    pub group_policy: Option<GroupPolicy>,
    pub heartbeat: Option<HeartbeatVisibility>,
}
