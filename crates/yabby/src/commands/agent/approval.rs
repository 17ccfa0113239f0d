//! Asking whoever sits at the terminal whether a command may run.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use anyhow::Result;
use rustyline::DefaultEditor;
use yabby_domain::seam::office::{Decision, Question};
use yabby_engine::Engine;

use super::shown::harmless_lines;

const ASKED: Style = AnsiColor::Yellow.on_default();

/// Puts the question, waits for the answer, and hands it on.
pub(super) async fn ask(engine: &Engine, id: &str, question: &Question) -> Result<()> {
    let mut out = anstream::stdout();
    writeln!(out, "{ASKED}May this run in {}?{ASKED:#}", harmless_lines(&question.folder))?;
    for line in harmless_lines(&question.command).lines() {
        writeln!(out, "  {line}")?;
    }
    let decision = tokio::task::spawn_blocking(answered).await??;
    if !engine.decide(id, decision) {
        writeln!(out, "It was too late: the command did not run.")?;
    }
    Ok(())
}

/// Ctrl-C and the end of the input mean no.
fn answered() -> Result<Decision> {
    let mut editor = DefaultEditor::new()?;
    for _ in 0..3 {
        let Ok(line) = editor.readline("[o]nce, [a]lways or [n]o? ") else { return Ok(Decision::Deny) };
        match line.trim().to_lowercase().as_str() {
            "o" | "once" | "y" | "yes" => return Ok(Decision::Once),
            "a" | "always" => return Ok(Decision::Always),
            "n" | "no" | "d" | "deny" => return Ok(Decision::Deny),
            _ => {}
        }
    }
    Ok(Decision::Deny)
}
