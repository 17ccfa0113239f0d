//! `yabby gateway`: the process that people leave running (`cli.md` §7), and questions to it.

mod call;
pub mod listen;
pub mod probe;
pub mod run;
pub mod service;
pub mod status;
mod tunnel;

use anyhow::Result;
use clap::{Args, Subcommand};

use crate::setting::Setting;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    run: run::Options,
}

#[derive(Subcommand)]
enum Command {
    /// Run it, here
    #[command(after_help = "Examples:\n  yabby gateway run\n  yabby gateway run --port 18790 --verbose")]
    Run(run::Options),
    /// Show the service, and whether the gateway answers
    #[command(after_help = "Examples:\n  yabby gateway status\n  yabby gateway status --no-probe --json")]
    Status(status::Arguments),
    /// Ask the gateway for something
    #[command(
        after_help = "Examples:\n  yabby gateway call health\n  yabby gateway call sessions.list --params '{\"limit\": 5}' --json\n  yabby gateway call agent --params '{\"message\": \"hello\", \"agentId\": \"main\", \"idempotencyKey\": \"one\"}' --expect-final\n  yabby gateway call health --url ws://192.168.1.5:18789 --token \"$TOKEN\""
    )]
    Call(call::Call),
    /// Ask the gateway how it is
    #[command(after_help = "Examples:\n  yabby gateway health\n  yabby gateway health --json")]
    Health(call::Asking),
    /// Show which gateways can be reached, and how they are
    #[command(
        after_help = "Examples:\n  yabby gateway probe\n  yabby gateway probe --url ws://192.168.1.5:18789 --token \"$TOKEN\" --json\n  yabby gateway probe --ssh sam@den.local"
    )]
    Probe(probe::Arguments),
    /// Ask the gateway what models used and cost
    #[command(
        after_help = "Examples:\n  yabby gateway usage-cost\n  yabby gateway usage-cost --days 7 --json"
    )]
    UsageCost(call::UsageCost),
    /// Make the gateway a service of systemd, and start it
    #[command(
        after_help = "Examples:\n  yabby gateway install --dry-run\n  yabby gateway install\n  yabby gateway install --port 18790 --force"
    )]
    Install(service::Install),
    /// Stop the service, and take it away
    #[command(after_help = "Examples:\n  yabby gateway uninstall")]
    Uninstall(service::Way),
    /// Start the service
    #[command(after_help = "Examples:\n  yabby gateway start")]
    Start(service::Way),
    /// Stop the gateway, whether it is a service or was started by hand
    #[command(after_help = "Examples:\n  yabby gateway stop\n  yabby gateway stop --dry-run")]
    Stop(service::Way),
    /// Have the gateway begin anew
    #[command(after_help = "Examples:\n  yabby gateway restart")]
    Restart(service::Way),
}

impl Arguments {
    /// Whether the gateway itself is to run here, which has a log of its own.
    pub fn is_run(&self) -> bool {
        matches!(self.command, None | Some(Command::Run(_)))
    }
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Some(Command::Run(options)) => run::run(setting, options),
        None => {
            arguments.run.check_environment(setting)?;
            run::first::prepare_own_folder(setting)?;
            run::run(setting, &arguments.run)
        }
        Some(Command::Status(arguments)) => status::run(setting, arguments).map_err(status::failed),
        Some(Command::Call(arguments)) => call::call(setting, arguments),
        Some(Command::Health(asking)) => call::health(setting, asking),
        Some(Command::Probe(arguments)) => probe::run(setting, arguments),
        Some(Command::UsageCost(arguments)) => call::usage_cost(setting, arguments),
        Some(Command::Install(arguments)) => service::install(setting, arguments),
        Some(Command::Uninstall(way)) => service::uninstall(setting, way),
        Some(Command::Start(way)) => service::start(setting, way),
        Some(Command::Stop(way)) => service::stop(setting, way),
        Some(Command::Restart(way)) => service::restart(setting, way),
    }
}
