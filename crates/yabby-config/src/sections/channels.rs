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
pub mod settings;
pub mod signal;
pub mod slack;
pub mod telegram;
pub mod whatsapp;

use serde_json::Value;
use yabby_config_derive::section;

use crate::sections::channels::access::GroupPolicy;
use crate::sections::channels::bluebubbles::BlueBubbles;
use crate::sections::channels::discord::Discord;
use crate::sections::channels::googlechat::GoogleChat;
use crate::sections::channels::heartbeat_visibility::HeartbeatVisibility;
use crate::sections::channels::imessage::Imessage;
use crate::sections::channels::msteams::MsTeams;
use crate::sections::channels::settings::ChannelSettings;
use crate::sections::channels::signal::Signal;
use crate::sections::channels::slack::Slack;
use crate::sections::channels::telegram::Telegram;
use crate::sections::channels::whatsapp::Whatsapp;
use crate::sections::map::Map;

/// The ways messages come and go, by name.
#[section(parts, open)]
pub struct Channels {
    /// What holds for all channels.
    pub defaults: Option<ChannelDefaults>,
    /// WhatsApp.
    pub whatsapp: Option<Whatsapp>,
    /// Telegram.
    pub telegram: Option<Telegram>,
    /// Discord.
    pub discord: Option<Discord>,
    /// Google Chat.
    pub googlechat: Option<GoogleChat>,
    /// Slack.
    pub slack: Option<Slack>,
    /// Signal.
    pub signal: Option<Signal>,
    /// iMessage.
    pub imessage: Option<Imessage>,
    /// iMessage through BlueBubbles.
    pub bluebubbles: Option<BlueBubbles>,
    /// Microsoft Teams.
    pub msteams: Option<MsTeams>,
    #[serde(flatten)]
    pub others: Map<Value>,
    /// What all channels share, of each.
    #[config(whole)]
    shared: Map<ChannelSettings>,
}

impl Channels {
    /// What is said of a channel that all channels share.
    pub fn settings(&self, channel: &str) -> Option<&ChannelSettings> {
        self.shared.get(channel).filter(|_| channel != "defaults")
    }

    /// The channels that anything is said of.
    pub fn all(&self) -> impl Iterator<Item = (&str, &ChannelSettings)> {
        let all = self.shared.iter().map(|(channel, settings)| (channel.as_str(), settings));
        all.filter(|(channel, _)| *channel != "defaults")
    }
}

/// What holds for all channels.
#[section]
pub struct ChannelDefaults {
    /// Which groups are listened to.
    pub group_policy: Option<GroupPolicy>,
    /// What people see of heartbeats.
    pub heartbeat: Option<HeartbeatVisibility>,
}
