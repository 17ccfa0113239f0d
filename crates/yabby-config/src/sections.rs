//! MISSING sections

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
    #[serde(deny_unknown_fields)]
    pub struct Config {
        "meta" => meta: Meta,
        "env" => env: Env,
        "wizard" => wizard: Wizard,
        "diagnostics" => diagnostics: Diagnostics,
        "logging" => logging: Logging,
        "update" => update: Update,
        "browser" => browser: Browser,
        "ui" => ui: Ui,
        "auth" => auth: Auth,
        "models" => models: Models,
        "nodeHost" => node_host: NodeHost,
        "agents" => agents: Agents,
        "tools" => tools: Tools,
        "bindings" => bindings: Vec<Binding>,
        "broadcast" => broadcast: Broadcast,
        "audio" => audio: Audio,
        "media" => media: Media,
        "messages" => messages: Messages,
        #[schemars(extend("default" = {"native": "auto", "nativeSkills": "auto"}))]
        always "commands" => commands: Commands,
        "approvals" => approvals: Approvals,
        "session" => session: Session,
        "cron" => cron: Cron,
        "hooks" => hooks: Hooks,
        "web" => web: Web,
        "channels" => channels: Channels,
        "discovery" => discovery: Discovery,
        "canvasHost" => canvas_host: CanvasHost,
        "talk" => talk: Talk,
        "gateway" => gateway: Gateway,
        "memory" => memory: Memory,
        "skills" => skills: Skills,
        "plugins" => plugins: Plugins,
    }
}
