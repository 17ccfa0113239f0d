//! yabby, a personal-assistant gateway in one binary.

mod book;
mod boxes;
mod cli;
mod client;
mod commands;
mod earlier;
mod failure;
mod logs;
mod pager;
mod progress;
mod setting;
mod terminal;
mod usage;
mod wire;

use std::process::ExitCode;

use clap::FromArgMatches as _;
use yabby_store::paths::Place;

use cli::Command;
use setting::Setting;

fn main() -> ExitCode {
    // Before anything else: a keeper of commands has to be small.
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(code) = yabby_tools::keep_command(&arguments) {
        return code;
    }
    yabby_tools::keep_files_private();
    let mut command = cli::command();
    let read = command.try_get_matches_from_mut(std::env::args_os());
    let cli = match read.and_then(|matches| cli::Cli::from_arg_matches(&matches)) {
        Ok(cli) => cli,
        Err(error) => return usage::answer(&error, &mut command, &arguments),
    };
    if cli.everywhere.no_color {
        anstream::ColorChoice::Never.write_global();
    }
    if let (Some(folder), true) = (cli.everywhere.missing_folder(), cli.command.only_reads()) {
        anstream::eprintln!("note: there is no folder {}", terminal::harmless(&folder.to_string_lossy()));
    }
    if !matches!(&cli.command, Command::Gateway(arguments) if arguments.is_run()) {
        logs::begin();
    }
    let setting = Setting {
        place: Place::find(&cli.everywhere.choice()),
        chosen_by: cli.everywhere.as_typed(),
        when_invalid: cli.command.when_invalid(),
    };
    let done = match &cli.command {
        Command::Agent(arguments) => commands::agent::run(&setting, arguments),
        Command::Sessions(arguments) => commands::sessions::run(&setting, arguments),
        Command::History(arguments) => commands::history::run(&setting, arguments),
        Command::Agents(arguments) => commands::agents::run(&setting, arguments),
        Command::Memory(arguments) => commands::memory::run(&setting, arguments),
        Command::Models(arguments) => commands::models::run(&setting, arguments),
        Command::Skills(arguments) => commands::skills::run(&setting, arguments),
        Command::Setup(arguments) => commands::setup::run(&setting, arguments),
        Command::Usage(arguments) => commands::usage::run(&setting, arguments),
        Command::Turns(arguments) => commands::turns::run(&setting, arguments),
        Command::Sync(arguments) => commands::sync::run(&setting, arguments),
        Command::Approvals(arguments) => commands::approvals::run(&setting, arguments),
        Command::Gateway(arguments) => commands::gateway::run(&setting, arguments),
        Command::Status(arguments) => commands::status::run(&setting, arguments),
        Command::Health(arguments) => commands::health::run(&setting, arguments),
        Command::Message(arguments) => commands::message::run(&setting, arguments),
        Command::Channels(arguments) => commands::channels::run(&setting, arguments),
        Command::Pairing(arguments) => commands::pairing::run(&setting, arguments),
        Command::Devices(arguments) => commands::devices::run(&setting, arguments),
        Command::Logs(arguments) => commands::logs::run(&setting, arguments),
        Command::System(arguments) => commands::system::run(&setting, arguments),
        Command::Plugins(arguments) => commands::plugins::run(&setting, arguments),
        Command::Hooks(arguments) => commands::hooks::run(&setting, arguments),
        Command::Config(arguments) => commands::config::run(&setting, arguments),
        Command::Doctor(arguments) => commands::doctor::run(&setting, arguments),
        Command::Move(arguments) => commands::move_folder::run(&setting, arguments),
        Command::Import(arguments) => commands::import::run(&setting, arguments),
        Command::Mcp(arguments) => commands::mcp::run(&setting, arguments),
        Command::Completion(arguments) => commands::completion::run(arguments),
        Command::Man(arguments) => commands::completion::man(arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads us has closed the pipe, as `head` does; that is no failure of ours.
        Err(error) if failure::is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let text = failure::text(&error);
            if !text.is_empty() {
                anstream::eprintln!("{text}");
            }
            ExitCode::from(failure::code(&error))
        }
    }
}
