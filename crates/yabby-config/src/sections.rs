//! The sections of the configuration as types (`config.md` §9). They say what may stand where: the
//! JSON Schema is generated from them, the check walks along that schema, and the doc comments are
//! its descriptions.

#[macro_use]
mod list;

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

sections! {
    /// The configuration of yabby; OpenClaw reads the same file.
    #[serde(deny_unknown_fields)]
    pub struct Config {
        /// Who wrote the file last; written by the program.
        "meta" => meta: Meta,
        /// Variables for the process. Every other key is a variable too.
        "env" => env: Env,
        /// The last run of the set-up; written by the program.
        "wizard" => wizard: Wizard,
        /// Traces for whoever looks for a fault.
        "diagnostics" => diagnostics: Diagnostics,
        /// Log file and console.
        "logging" => logging: Logging,
        /// New versions.
        "update" => update: Update,
        /// The browser that agents use.
        "browser" => browser: Browser,
        /// How the browser interface looks.
        "ui" => ui: Ui,
        /// Which credentials are used in which order.
        "auth" => auth: Auth,
        /// Providers and models beyond the built-in ones.
        "models" => models: Models,
        /// What this machine offers when it serves as a node.
        "nodeHost" => node_host: NodeHost,
        /// What holds for all agents, and each of them.
        "agents" => agents: Agents {closed},
        /// What agents may use, and how.
        "tools" => tools: Tools,
        /// Which agent answers where; the first that fits.
        "bindings" => bindings: Vec<Binding>,
        /// Several agents for one peer.
        "broadcast" => broadcast: Broadcast,
        /// Transcription in its old place; use `tools.media.audio`.
        "audio" => audio: Audio,
        /// Files that come in.
        "media" => media: Media,
        /// What arrives and what is sent.
        "messages" => messages: Messages,
        /// What may be asked for with a slash.
        #[schemars(extend("default" = {"native": "auto", "nativeSkills": "auto"}))]
        always "commands" => commands: Commands,
        /// Where questions for approval are sent.
        "approvals" => approvals: Approvals,
        /// Which messages share a conversation, and for how long.
        "session" => session: Session,
        /// Jobs at set times.
        "cron" => cron: Cron,
        /// Requests from outside that wake an agent.
        "hooks" => hooks: Hooks,
        /// The connection to WhatsApp Web.
        "web" => web: Web,
        /// The ways messages come and go.
        "channels" => channels: Channels {open},
        /// How the gateway announces itself.
        "discovery" => discovery: Discovery,
        /// Pages that agents show on nodes.
        "canvasHost" => canvas_host: CanvasHost,
        /// Spoken conversation.
        "talk" => talk: Talk,
        /// The server and how to reach it.
        "gateway" => gateway: Gateway,
        /// Which program keeps the memory.
        "memory" => memory: Memory,
        /// Which skills there are and what they need.
        "skills" => skills: Skills,
        /// Which plugins of OpenClaw's are used.
        "plugins" => plugins: Plugins,
    }
}
