//! A network of its own with nothing in it but a loopback, on which the programs that are started in it find each
//! other and nobody else.

use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

use crate::reference::isolated_with_loopback;

pub struct Room {
    holder: Child,
}

impl Room {
    pub fn open() -> Result<Self> {
        // It ends when its input does, and so with us, whatever becomes of us.
        let mut holder = isolated_with_loopback("cat".as_ref())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("opening a network")?;
        // It is heard once the loopback is up.
        holder.stdin.as_mut().context("a pipe was asked for")?.write_all(b"up\n")?;
        let mut heard = String::new();
        BufReader::new(holder.stdout.take().context("a pipe was asked for")?).read_line(&mut heard)?;
        anyhow::ensure!(heard == "up\n", "there is no loopback in a network of its own; install iproute2");
        Ok(Self { holder })
    }

    /// A program in this network.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args([
                "--preserve-credentials",
                "--user",
                "--net",
                "--target",
                &self.holder.id().to_string(),
                "--",
            ])
            .arg(program);
        command
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
