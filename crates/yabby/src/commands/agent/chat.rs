//! A conversation in a terminal. Ctrl-C stops the answer, not the program; Ctrl-D leaves.

use std::path::PathBuf;

use anyhow::Result;
use rustyline::DefaultEditor;
use rustyline::error::ReadlineError;
use yabby_domain::directive::level::{Level as _, VerboseLevel};
use yabby_domain::session::entry::Patch;
use yabby_domain::text;
use yabby_domain::turn::TurnOptions;
use yabby_engine::Engine;

use super::{Destination, ask};
use crate::book::Book;
use crate::setting::Setting;
use crate::terminal;

/// Talks until somebody has enough.
pub(super) async fn run(
    setting: &Setting,
    engine: &Engine,
    destination: &Destination,
    options: TurnOptions,
) -> Result<()> {
    let key = terminal::harmless(destination.key.as_str());
    anstream::println!("yabby {} · {key}", env!("CARGO_PKG_VERSION"));
    anstream::println!("/help tells what can be said; Ctrl-C stops an answer, Ctrl-D leaves.");
    let history = setting.place.folder.path().join("agent-history.txt");
    let mut editor = Some(editor(&history)?);
    loop {
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
                    editor.add_history_entry(said)?;
                    // A history that cannot be kept is no reason to stop talking.
                    let _ = save(editor, &history);
                }
                if matches!(said, "/quit" | "/exit") {
                    return Ok(());
                }
                if let Err(error) = ask(engine, destination, options.clone(), said, true).await {
                    anstream::eprintln!("{}", crate::failure::told(&error));
                }
            }
            Err(ReadlineError::Interrupted) => anstream::println!("(Ctrl-D leaves)"),
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

fn editor(history: &PathBuf) -> Result<DefaultEditor> {
    let config = rustyline::Config::builder().max_history_size(1000)?.auto_add_history(false).build();
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
    Ok(editor.save_history(history)?)
}

/// Sets how much a session tells of its runs, from now on.
pub(super) fn set_verbose(setting: &Setting, destination: &Destination, level: VerboseLevel) -> Result<()> {
    let book = Book::open(setting)?;
    let store = book.store_path(&destination.key.agent_id());
    let store = yabby_store::files::sessions::SessionFile::open(store, Default::default())?;
    store.update_blocking(
        &destination.key,
        Box::new(move |entry| {
            if let Some(entry) = entry {
                let mut patch = Patch::default();
                patch.set_verbose_level(Some(level.as_str()));
                entry.apply(&patch);
            }
        }),
    )?;
    Ok(())
}
