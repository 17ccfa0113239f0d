//! OpenClaw's terminal, on a terminal.

use std::io::{Read as _, Write};
use std::num::NonZero;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};

use super::{House, PATIENCE};
use crate::interop::{Stage, Told};
use crate::peer::Peer;

/// It connects, shows what was said before, sends a message and shows what is answered.
pub fn terminal(stage: &Stage, _: &mut Peer) -> Told {
    let mut house = House::open(stage)?;
    house.said_before("Which crab is it?", "It is the blue one.")?;
    let mut terminal = Terminal::start(&house.openclaw(&["tui"]))?;
    terminal.wait_for("gateway connected")?;
    terminal.wait_for("Which crab is it?")?;
    terminal.wait_for("It is the blue one.")?;
    house.model_will_say("It likes **clams**, and mussels.")?;
    terminal.type_in("What does it eat?")?;
    terminal.wait_for("What does it eat?")?;
    terminal.type_in("\r")?;
    // As the terminal shows emphasis.
    terminal.wait_for("It likes clams, and mussels.")?;
    house.ensure_said(&[
        "Which crab is it?",
        "It is the blue one.",
        "What does it eat?",
        "It likes **clams**, and mussels.",
    ])?;
    // A command of its own, which asks the gateway.
    terminal.type_in("/status\r")?;
    terminal.wait_for("stub")?;
    terminal.leave()?;
    house.close()?;
    Ok("two turns".to_owned())
}

const SIZE: PtySize = PtySize { rows: 50, cols: 120, pixel_width: 0, pixel_height: 0 };

/// A program that runs in a terminal.
struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    /// The terminal is there as long as this is.
    _master: Box<dyn MasterPty + Send>,
    chunks: Receiver<Vec<u8>>,
    /// All that was printed so far.
    printed: Vec<u8>,
}

impl Terminal {
    fn start(command: &Command) -> Result<Self> {
        let failed = |error: anyhow::Error| anyhow!("opening a terminal: {error}");
        let pair = native_pty_system().openpty(SIZE).map_err(failed)?;
        let mut builder = CommandBuilder::new(command.get_program());
        builder.args(command.get_args());
        builder.env_clear();
        for (name, value) in command.get_envs() {
            builder.env(name, value.unwrap_or_default());
        }
        builder.env("TERM", "xterm-256color");
        let child = pair.slave.spawn_command(builder).map_err(failed)?;
        let mut reader = pair.master.try_clone_reader().map_err(failed)?;
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            // The end of a terminal is an error on some systems.
            while let Ok(length @ 1..) = reader.read(&mut chunk) {
                if sender.send(chunk[..length].to_vec()).is_err() {
                    return;
                }
            }
        });
        drop(pair.slave);
        let keyboard = pair.master.take_writer().map_err(failed)?;
        Ok(Self { child, keyboard, _master: pair.master, chunks, printed: Vec::new() })
    }

    /// Waits until a text is on the screen.
    fn wait_for(&mut self, text: &str) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !self.screen()?.contains(text) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.chunks.recv_timeout(left) {
                Ok(chunk) => self.printed.extend(chunk),
                Err(error) => bail!("{text:?} is not on the terminal ({error}):\n{}", self.screen()?),
            }
        }
        Ok(())
    }

    fn type_in(&mut self, keys: &str) -> Result<()> {
        Ok(self.keyboard.write_all(keys.as_bytes())?)
    }

    /// As a person leaves it: by pressing Ctrl and C, twice.
    fn leave(&mut self) -> Result<()> {
        self.type_in("\u{3}")?;
        self.wait_for("press ctrl+c again to exit")?;
        self.type_in("\u{3}")?;
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the terminal ended with {status:?}");
                return Ok(());
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        bail!("it is still there:\n{}", self.screen()?)
    }

    fn screen(&self) -> Result<String> {
        let [rows, columns] = [SIZE.rows, SIZE.cols].map(NonZero::new);
        let (rows, columns) = rows.zip(columns).context("a terminal has a size")?;
        let mut parser = vt100::Parser::new(rows, columns, 0);
        parser.process(&self.printed);
        Ok(parser.screen().contents())
    }
}

/// Nothing that was started outlives us.
impl Drop for Terminal {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
