//! `yabby completion` and `yabby man`: what a shell and a reader of manuals need to know.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, CommandFactory as _, ValueEnum};
use clap_complete::Shell;

use crate::cli::Cli;

#[derive(Args)]
pub struct Arguments {
    /// The shell to write the script for
    #[arg(value_name = "SHELL", conflicts_with = "shell")]
    named: Option<CompletionShell>,
    /// The shell to write the script for [default: that of $SHELL, else zsh]
    #[arg(short, long, value_name = "SHELL")]
    shell: Option<CompletionShell>,
}

#[derive(Clone, Copy, ValueEnum)]
enum CompletionShell {
    Zsh,
    Bash,
    Fish,
    Powershell,
    Elvish,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let named = arguments.named.or(arguments.shell).or_else(login_shell).unwrap_or(CompletionShell::Zsh);
    let shell = match named {
        CompletionShell::Zsh => Shell::Zsh,
        CompletionShell::Bash => Shell::Bash,
        CompletionShell::Fish => Shell::Fish,
        CompletionShell::Powershell => Shell::PowerShell,
        CompletionShell::Elvish => Shell::Elvish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "yabby", &mut script);
    Ok(std::io::stdout().write_all(&script)?)
}

/// The shell that `$SHELL` names, if there are completions for it.
fn login_shell() -> Option<CompletionShell> {
    let program = std::env::var("SHELL").ok()?;
    let name = Path::new(&program).file_name()?.to_str()?.to_owned();
    CompletionShell::from_str(&name, true).ok()
}

#[derive(Args)]
pub struct ManArguments {
    /// Write a page for every command into this folder, instead of the first page to standard output
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub fn man(arguments: &ManArguments) -> Result<()> {
    // `help` only repeats what these pages say.
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    match &arguments.out {
        None => Ok(std::io::stdout().write_all(&page(&command)?)?),
        Some(folder) => {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
            write_pages(&command, "yabby", folder)
        }
    }
}

fn write_pages(command: &clap::Command, name: &str, folder: &Path) -> Result<()> {
    let path = folder.join(format!("{name}.1"));
    // A page is called as a person would look it up: yabby-sessions-label.
    let named = command.clone().name(name.to_owned()).display_name(name.to_owned());
    std::fs::write(&path, page(&named)?).with_context(|| format!("cannot write {}", path.display()))?;
    for below in command.get_subcommands() {
        write_pages(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(())
}

fn page(command: &clap::Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    let source = concat!("yabby ", env!("CARGO_PKG_VERSION"));
    clap_mangen::Man::new(command.clone()).source(source).render(&mut page)?;
    Ok(page)
}
