//! The sections of the configuration as types (`config.md` §9). They say what may stand where: the
//! JSON Schema is generated from them, the check walks along that schema, and the doc comments are
//! its descriptions.

pub mod agents;
pub mod approvals;
pub mod audio;
pub mod auth;
pub mod bindings;
pub mod broadcast;
pub mod browser;
pub mod canvas_host;
pub mod channels;
pub mod commands;
pub mod cron;
pub mod diagnostics;
pub mod discovery;
pub mod env;
pub mod extras;
pub mod gateway;
pub mod hooks;
pub mod limit;
pub mod literal;
pub mod logging;
pub mod map;
pub mod media;
pub mod memory;
pub mod messages;
pub mod meta;
pub mod models;
pub mod node_host;
pub mod number;
pub mod or_null;
pub mod plugins;
pub mod session;
pub mod skills;
pub mod switch;
pub mod talk;
pub mod text;
pub mod tools;
pub mod ui;
pub mod update;
pub mod web;
pub mod wizard;
pub mod word;

use yabby_config_derive::section;

use crate::sections::agents::Agents;
use crate::sections::approvals::Approvals;
use crate::sections::audio::Audio;
use crate::sections::auth::Auth;
use crate::sections::bindings::Binding;
use crate::sections::broadcast::Broadcast;
use crate::sections::browser::Browser;
use crate::sections::canvas_host::CanvasHost;
use crate::sections::channels::Channels;
use crate::sections::commands::Commands;
use crate::sections::cron::Cron;
use crate::sections::diagnostics::Diagnostics;
use crate::sections::discovery::Discovery;
use crate::sections::env::Env;
use crate::sections::extras::Extras;
use crate::sections::gateway::Gateway;
use crate::sections::hooks::Hooks;
use crate::sections::logging::Logging;
use crate::sections::media::Media;
use crate::sections::memory::Memory;
use crate::sections::messages::Messages;
use crate::sections::meta::Meta;
use crate::sections::models::Models;
use crate::sections::node_host::NodeHost;
use crate::sections::plugins::Plugins;
use crate::sections::session::Session;
use crate::sections::skills::Skills;
use crate::sections::talk::Talk;
use crate::sections::tools::Tools;
use crate::sections::ui::Ui;
use crate::sections::update::Update;
use crate::sections::web::Web;
use crate::sections::wizard::Wizard;

/// The configuration of yabby; OpenClaw reads the same file.
#[section(parts)]
#[schemars(rename = "Config")]
pub struct Sections {
    /// Who wrote the file last; written by the program.
    #[config(live)]
    #[serde(default)]
    pub meta: Meta,
    /// Variables for the process. Every other key is a variable too.
    #[serde(default)]
    pub env: Env,
    /// The last run of the set-up; written by the program.
    #[config(live, group = "Wizard" @ 20)]
    #[serde(default)]
    pub wizard: Wizard,
    /// Traces for whoever looks for a fault.
    #[config(group = "Diagnostics" @ 27)]
    #[serde(default)]
    pub diagnostics: Diagnostics,
    /// Log file and console.
    #[config(live, group = "Logging" @ 900)]
    #[serde(default)]
    pub logging: Logging,
    /// New versions.
    #[config(group = "Update" @ 25)]
    #[serde(default)]
    pub update: Update,
    /// The browser that agents use.
    #[config(group = "Browser" @ 130)]
    #[serde(default)]
    pub browser: Browser,
    /// How the browser interface looks.
    #[config(live, group = "UI" @ 120)]
    #[serde(default)]
    pub ui: Ui,
    /// Which credentials are used in which order.
    #[serde(default)]
    pub auth: Auth,
    /// Providers and models beyond the built-in ones.
    #[config(group = "Models" @ 70)]
    #[serde(default)]
    pub models: Models,
    /// What this machine offers when it serves as a node.
    #[config(group = "Node Host" @ 35)]
    #[serde(default)]
    pub node_host: NodeHost,
    /// What holds for all agents, and each of them.
    #[config(closed, group = "Agents" @ 40)]
    #[serde(default)]
    pub agents: Agents,
    /// What agents may use, and how.
    #[config(group = "Tools" @ 50)]
    #[serde(default)]
    pub tools: Tools,
    /// Which agent answers where; the first that fits.
    #[config(live, group = "Bindings" @ 55)]
    #[serde(default)]
    pub bindings: Vec<Binding>,
    /// Several agents for one peer.
    #[serde(default)]
    pub broadcast: Broadcast,
    /// Transcription in its old place; use `tools.media.audio`.
    #[config(group = "Audio" @ 60)]
    #[serde(default)]
    pub audio: Audio,
    /// Files that come in.
    #[serde(default)]
    pub media: Media,
    /// What arrives and what is sent.
    #[config(live, group = "Messages" @ 80)]
    #[serde(default)]
    pub messages: Messages,
    /// What may be asked for with a slash.
    #[config(always, live, group = "Commands" @ 85)]
    #[schemars(extend("default" = {"native": "auto", "nativeSkills": "auto"}))]
    #[serde(default)]
    pub commands: Commands,
    /// Where questions for approval are sent.
    #[serde(default)]
    pub approvals: Approvals,
    /// Which messages share a conversation, and for how long.
    #[config(group = "Session" @ 90)]
    #[serde(default)]
    pub session: Session,
    /// Jobs at set times.
    #[config(group = "Cron" @ 100)]
    #[serde(default)]
    pub cron: Cron,
    /// Requests from outside that wake an agent.
    #[config(group = "Hooks" @ 110)]
    #[serde(default)]
    pub hooks: Hooks,
    /// The connection to WhatsApp Web.
    #[serde(default)]
    pub web: Web,
    /// The ways messages come and go.
    #[config(open, channel, group = "Messaging Channels" @ 150)]
    #[serde(default)]
    pub channels: Channels,
    /// How the gateway announces itself.
    #[config(group = "Discovery" @ 210)]
    #[serde(default)]
    pub discovery: Discovery,
    /// Pages that agents show on nodes.
    #[serde(default)]
    pub canvas_host: CanvasHost,
    /// Spoken conversation.
    #[config(group = "Talk" @ 140)]
    #[serde(default)]
    pub talk: Talk,
    /// The server and how to reach it.
    #[config(group = "Gateway" @ 30)]
    #[serde(default)]
    pub gateway: Gateway,
    /// Which program keeps the memory.
    #[config(group = "Memory" @ 240)]
    #[serde(default)]
    pub memory: Memory,
    /// Which skills there are and what they need.
    #[config(group = "Skills" @ 200)]
    #[serde(default)]
    pub skills: Skills,
    /// Settings that only yabby knows; they have a file of their own.
    #[config(whole)]
    pub extras: Extras,
    /// Which plugins of OpenClaw's are used.
    #[config(group = "Plugins" @ 205)]
    #[serde(default)]
    pub plugins: Plugins,
}
