//! What the command line looks like.

use std::num::IntErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, CommandFactory as _, Parser, Subcommand};
use yabby_config::lookup::Profile;
use yabby_store::paths::Choice;

use crate::commands::{
    agent, agents, approvals, channels, completion, config, devices, doctor, gateway, health, history, hooks,
    import, logs, mcp, memory, message, models, move_folder, pairing, plugins, sessions, setup, skills,
    status, sync, system, turns, usage,
};
use crate::setting::WhenInvalid;

#[derive(Parser)]
#[command(
    name = "yabby",
    version,
    about = "A personal-assistant gateway in one binary",
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "Examples:\n  yabby agent                 talk to your assistant\n  yabby sessions              what there is\n  yabby history main          read a conversation\n  yabby sessions --help       more about a command"
)]
pub struct Cli {
    #[command(flatten)]
    pub everywhere: Everywhere,
    #[command(subcommand)]
    pub command: Command,
}

/// The command line as it is read: whatever follows an option that wants a value is its value, as in the reference. A
/// group of Telegram's is `-1001234567`, and a message may begin with a dash.
pub fn command() -> clap::Command {
    taking_what_follows(Cli::command())
}

fn taking_what_follows(command: clap::Command) -> clap::Command {
    let takes_one = |argument: &clap::Arg| {
        let values = argument.get_num_args().is_none_or(|count| count == 1.into());
        !argument.is_positional() && argument.get_action().takes_values() && values
    };
    command
        .mut_args(|argument| match takes_one(&argument) {
            true => argument.allow_hyphen_values(true),
            false => argument,
        })
        .mut_subcommands(taking_what_follows)
}

/// What every command understands.
#[derive(Args)]
pub struct Everywhere {
    /// The folder that holds everything [default: ~/.yabby, else ~/.openclaw if that is there]
    #[arg(long, global = true, value_name = "DIR", help_heading = "Everywhere")]
    state_dir: Option<PathBuf>,
    /// Work in a folder of its own: ~/.yabby-<NAME>
    #[arg(long, global = true, value_name = "NAME", help_heading = "Everywhere")]
    profile: Option<Profile>,
    /// The same as --profile dev
    #[arg(long, global = true, conflicts_with = "profile", help_heading = "Everywhere")]
    dev: bool,
    /// No colours
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub no_color: bool,
}

impl Everywhere {
    pub fn choice(&self) -> Choice {
        let dev = self.dev.then(Profile::dev);
        Choice { state: self.state_dir.clone(), profile: self.profile.clone().or(dev) }
    }

    /// The options that choose the folder, each with a blank in front, as a shell reads them.
    pub fn as_typed(&self) -> String {
        let mut typed = String::new();
        if let Some(folder) = &self.state_dir {
            typed.push_str(&format!(" --state-dir {}", quoted(&folder.to_string_lossy())));
        }
        if let Some(profile) = &self.profile {
            typed.push_str(&format!(" --profile {}", profile.as_str()));
        }
        if self.dev {
            typed.push_str(" --dev");
        }
        typed
    }

    /// The folder that the person named, if it is not there: most likely a slip.
    pub fn missing_folder(&self) -> Option<&Path> {
        self.state_dir.as_deref().filter(|folder| !folder.exists())
    }
}

/// A word that a shell takes as it is.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@%".contains(c);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// How many; too many to count is just as well all of them.
pub fn count(raw: &str) -> Result<usize, &'static str> {
    match raw.parse() {
        Ok(count) => Ok(count),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => Ok(usize::MAX),
        Err(_) => Err("It must be a whole number, such as 20."),
    }
}

#[derive(Subcommand)]
pub enum Command {
    /// Talk to an agent
    #[command(
        after_help = "Examples:\n  yabby agent                                   a conversation, on a terminal\n  yabby agent --agent main -m \"What is on today?\"\n  git diff | yabby agent --agent main\n  yabby agent --session-id 5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11 -m \"And tomorrow?\" --json"
    )]
    Agent(agent::Arguments),
    /// List the sessions, and work on one
    #[command(
        after_help = "Examples:\n  yabby sessions\n  yabby sessions --active 60 --kind group\n  yabby sessions --agent all --search holiday --json\n  yabby sessions label main \"Holiday\"\n  yabby sessions export main --output holiday.html"
    )]
    Sessions(Box<sessions::Arguments>),
    /// Read a conversation
    #[command(
        after_help = "Examples:\n  yabby history                       the conversation that changed last\n  yabby history main --limit 20\n  yabby history 5d1c7a10 --tree\n  yabby history main --follow\n  yabby history main --previous       what was said before the last reset\n  yabby history ~/.openclaw/agents/main/sessions/<id>.jsonl --json"
    )]
    History(history::Arguments),
    /// List the agents, add one, or let one go
    #[command(
        after_help = "Examples:\n  yabby agents\n  yabby agents list --bindings --json\n  yabby agents add ops --workspace ~/ops\n  yabby agents delete ops"
    )]
    Agents(agents::Arguments),
    /// Search what was noted and said, and look after the index of it
    #[command(
        after_help = "Examples:\n  yabby memory search \"when is Anna's birthday?\"\n  yabby memory status\n  yabby memory index --force\n  yabby memory add \"The spare key is with Ann\"\n  yabby memory forget memory/2026-02-03.md:3"
    )]
    Memory(Box<memory::Arguments>),
    /// Show which models there are, and choose the one that answers
    #[command(
        after_help = "Examples:\n  yabby models                         which model answers, and where its key is\n  yabby models list --all --provider anthropic\n  yabby models set anthropic/claude-opus-4-5\n  yabby models probe                   whether it answers"
    )]
    Models(models::Arguments),
    /// Show what the agent has been taught, and what is missing for the rest
    #[command(
        after_help = "Examples:\n  yabby skills                         what there is, and what is ready\n  yabby skills info weather\n  yabby skills check"
    )]
    Skills(skills::Arguments),
    /// Make a configuration and a workspace to begin with
    #[command(
        after_help = "What is there already stays as it is.\n\nExamples:\n  yabby setup\n  yabby setup --workspace ~/assistant"
    )]
    Setup(setup::Arguments),
    /// Show what models used and cost
    #[command(
        after_help = "Examples:\n  yabby usage                          the last 30 days, day by day\n  yabby usage --by model --days 7\n  yabby usage --by session --agent main\n  yabby usage --session main --since 2026-02-01 --json\n  yabby usage budget set day 5         no more than $5 a day"
    )]
    Usage(usage::Arguments),
    /// Show the messages that were accepted and are not settled yet
    #[command(after_help = "Examples:\n  yabby turns\n  yabby turns --all\n  yabby turns --json")]
    Turns(turns::Arguments),
    /// Bring sessions.json up to date, so that OpenClaw sees everything while a gateway runs
    #[command(after_help = "Examples:\n  yabby sync\n  yabby sync --agent work\n  yabby sync --json")]
    Sync(sync::Arguments),
    /// Show which programs agents may run, and allow others
    #[command(visible_alias = "exec-approvals")]
    Approvals(approvals::Arguments),
    /// Run the gateway, which people leave running, or talk to it
    #[command(
        after_help = "Examples:\n  yabby gateway                        run it, here\n  yabby gateway --port 18790 --bind lan\n  yabby gateway install                run it as a service\n  yabby gateway status                 whether it answers\n  yabby gateway call health            ask it for something"
    )]
    Gateway(Box<gateway::Arguments>),
    /// Show everything at a glance, whether or not a gateway runs
    #[command(
        after_help = "Examples:\n  yabby status\n  yabby status --deep                  ask the channels, too\n  yabby status --all                   a report for somebody who helps\n  yabby status --json"
    )]
    Status(status::Arguments),
    /// Ask the gateway how it is
    #[command(
        after_help = "Examples:\n  yabby health\n  yabby health --verbose\n  yabby health --json --timeout 3000"
    )]
    Health(health::Arguments),
    /// Send a message without an agent
    #[command(
        after_help = "Examples:\n  yabby message send --channel webchat -t agent:main:main -m \"The backup is done\""
    )]
    Message(message::Arguments),
    /// Show the channels that are set up
    #[command(after_help = "Examples:\n  yabby channels list\n  yabby channels status --probe")]
    Channels(channels::Arguments),
    /// Show who asks to talk to the agent in a channel, and let them in
    #[command(
        after_help = "Examples:\n  yabby pairing list telegram\n  yabby pairing approve telegram ABCD2345"
    )]
    Pairing(pairing::Arguments),
    /// Show which devices may connect to the gateway, and let others in
    #[command(
        after_help = "Examples:\n  yabby devices list\n  yabby devices approve 5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11"
    )]
    Devices(devices::Arguments),
    /// Show what the gateway writes down
    #[command(
        after_help = "Examples:\n  yabby logs\n  yabby logs --follow\n  yabby logs --limit 1000 --json"
    )]
    Logs(logs::Arguments),
    /// Tell a running gateway of events; show who is there
    #[command(
        after_help = "Examples:\n  yabby system event --text \"The backup is done\"\n  yabby system presence"
    )]
    System(system::Arguments),
    /// Show the plugins; there are none
    #[command(after_help = "Examples:\n  yabby plugins list --json")]
    Plugins(plugins::Arguments),
    /// Show the hooks; there are none
    #[command(after_help = "Examples:\n  yabby hooks list --json")]
    Hooks(hooks::Arguments),
    /// Read and change the configuration
    Config(config::Arguments),
    /// Check the folder, and repair what is damaged
    Doctor(doctor::Arguments),
    /// Move the folder that holds everything, and write down where it is now
    #[command(
        after_help = "Paths in sessions and in the configuration that point into the folder are written anew, and a folder that is called like OpenClaw's gets OpenClaw's name for the configuration. If you have moved it by hand, `yabby --state-dir DIR doctor --fix` does the rest.\n\nExamples:\n  yabby move ~/.openclaw               go on with OpenClaw\n  yabby --profile work move /srv/assistant --json"
    )]
    Move(move_folder::Arguments),
    /// Adopt the folder of another program: OpenBot or OpenClaudeCode
    #[command(
        after_help = "The source is only read, and may be imported again: what has grown there grows here.\n\nExamples:\n  yabby import openbot ~/.openbot --dry-run\n  yabby import openclaudecode ~/.openclaudecode"
    )]
    Import(import::Arguments),
    /// Show other programs what an agent remembers: a server of the Model Context Protocol
    #[command(
        after_help = "It only reads, and ends when its standard input does.\n\nExamples:\n  yabby mcp\n  claude mcp add yabby -- yabby mcp    let claude search your memory\n  yabby mcp --as agent:main:telegram:group:-1001234567\n  yabby mcp --http --port 18797        over HTTP, on this machine, with a token"
    )]
    Mcp(mcp::Arguments),
    /// Write a script that completes commands in a shell
    #[command(
        after_help = "Examples:\n  yabby completion bash > ~/.local/share/bash-completion/completions/yabby\n  yabby completion --shell zsh > ~/.zfunc/_yabby"
    )]
    Completion(completion::Arguments),
    /// Write the manual pages
    #[command(after_help = "Examples:\n  yabby man | man -l -\n  yabby man --out ~/.local/share/man/man1")]
    Man(completion::ManArguments),
}

impl Command {
    /// Whether there is nothing to see in a folder that does not exist.
    pub fn only_reads(&self) -> bool {
        match self {
            Self::Agents(arguments) => arguments.only_lists(),
            Self::Sessions(_)
            | Self::History(_)
            | Self::Usage(_)
            | Self::Turns(_)
            | Self::Mcp(_)
            | Self::Status(_)
            | Self::Channels(_) => true,
            _ => false,
        }
    }

    /// Whether an invalid configuration stops it (`config.md` §3).
    pub fn when_invalid(&self) -> WhenInvalid {
        match self {
            Self::Logs(_) | Self::Health(_) | Self::Status(_) => WhenInvalid::go_on(),
            Self::Gateway(arguments) if !arguments.is_run() => WhenInvalid::go_on(),
            _ => WhenInvalid::Stop,
        }
    }
}
