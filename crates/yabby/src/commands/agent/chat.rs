//! A conversation in a terminal. Ctrl-C stops the answer, not the program; Ctrl-D leaves.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Result;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use yabby_domain::text;
use yabby_domain::turn::{Outcome, TurnOptions};
use yabby_engine::Engine;
use yabby_engine::events::Listener;

use super::{Destination, Left, ask, hint, shown};
use crate::failure::{self, is_closed_pipe};
use crate::setting::Setting;
use crate::terminal;

/// Talks until somebody has enough.
pub(super) async fn run(
    setting: &Setting,
    engine: &Engine,
    destination: &Destination,
    options: TurnOptions,
    meanwhile: &mut Listener,
) -> Result<()> {
    let key = terminal::harmless(destination.key.as_str());
    writeln!(anstream::stdout(), "yabby {} · {key}", env!("CARGO_PKG_VERSION"))?;
    writeln!(anstream::stdout(), "/help tells what can be said; Ctrl-C stops an answer, Ctrl-D leaves.")?;
    let options = TurnOptions { refuses_unknown_commands: true, ..options };
    let history = setting.place.folder.agent_history();
    let mut editor = Some(editor(&history)?);
    loop {
        shown::said_meanwhile(meanwhile, &destination.key)?;
        let Some(mut reading) = editor.take() else { return Ok(()) };
        let (back, line) = tokio::task::spawn_blocking(move || {
            let line = reading.readline("\nyou> ");
            (reading, line)
        })
        .await?;
        editor = Some(back);
        match line {
            Ok(line) => {
                let Some(said) = text::non_blank(&line) else { continue };
                if let Some(editor) = &mut editor {
                    editor.add_history_entry(line.as_str())?;
                    // A history that cannot be kept is no reason to stop talking.
                    let _ = save(editor, &history);
                }
                if matches!(said, "/quit" | "/exit") {
                    return Ok(());
                }
                match ask(engine, destination, options.clone(), said, true).await {
                    Ok(report) => {
                        let failed = report.error.as_deref().filter(|_| report.outcome == Outcome::Failed);
                        if let Some(hint) = failed.and_then(|error| hint(setting, error)) {
                            anstream::eprintln!("{hint}");
                        }
                    }
                    Err(error) if error.is::<Left>() || is_closed_pipe(&error) => return Err(error),
                    Err(error) => anstream::eprintln!("{}", failure::told(&error)),
                }
            }
            Err(ReadlineError::Interrupted) => writeln!(anstream::stdout(), "(Ctrl-D leaves)")?,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn editor(history: &PathBuf) -> Result<DefaultEditor> {
    let config = rustyline::Config::builder()
        .max_history_size(1000)?
        .auto_add_history(false)
        // As in a shell: what begins with a blank is not written down.
        .history_ignore_space(true)
        .build();
    let mut editor = DefaultEditor::with_config(config)?;
    // There is none the first time.
    let _ = editor.load_history(history);
    Ok(editor)
}

/// Keeps what was typed, for its owner only.
fn save(editor: &mut DefaultEditor, history: &PathBuf) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    if let Some(folder) = history.parent().filter(|folder| !folder.exists()) {
        yabby_store::disk::Disk::create_folder(&yabby_store::disk::LocalDisk, folder)?;
    }
    std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(history)?;
    // Not the whole: another terminal may have added to it.
    Ok(editor.append_history(history)?)
}
