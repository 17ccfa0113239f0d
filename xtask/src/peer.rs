//! A program that does errands for us, one JSON object per line: the store worker, or the reference.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Far more than anything takes; what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(300);

pub struct Peer {
    name: &'static str,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    patience: Duration,
}

impl Peer {
    /// Starts the program, and waits until it is ready.
    pub fn start(name: &'static str, command: &mut Command) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {name}"))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().context("a pipe was asked for")?;
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        let mut peer = Self { name, child, stdin, lines, patience: PATIENCE };
        let first = peer.next()?;
        anyhow::ensure!(first["event"] == "ready", "{name} began with {first}");
        Ok(peer)
    }

    /// Some errands take longer than most.
    pub fn be_patient(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Has an errand done; what came of it. Events on the way are left out.
    pub fn ask(&mut self, errand: &Value) -> Result<Value> {
        self.send(errand)?;
        self.answer()
    }

    /// Asks without waiting for the answer.
    pub fn send(&mut self, errand: &Value) -> Result<()> {
        let stdin = self.stdin.as_mut().context("it was told to end")?;
        stdin.write_all(format!("{errand}\n").as_bytes()).with_context(|| format!("asking {}", self.name))
    }

    pub fn answer(&mut self) -> Result<Value> {
        loop {
            let reply = self.next()?;
            if reply.get("event").is_none() {
                return self.done(reply);
            }
        }
    }

    /// The answer, if it comes within that time.
    pub fn answer_within(&mut self, patience: Duration) -> Result<Option<Value>> {
        match self.lines.recv_timeout(patience) {
            Ok(line) => self.done(serde_json::from_str(&line)?).map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => bail!("{} ended", self.name),
        }
    }

    fn done(&self, mut reply: Value) -> Result<Value> {
        match reply.get_mut("ok") {
            Some(answer) => Ok(answer.take()),
            None => {
                bail!(
                    "{}: {}",
                    self.name,
                    reply["error"].as_str().unwrap_or("answered with neither ok nor error")
                )
            }
        }
    }

    /// The next line, an event or an answer.
    pub fn next(&mut self) -> Result<Value> {
        match self.lines.recv_timeout(self.patience) {
            Ok(line) => serde_json::from_str(&line).with_context(|| format!("{} said {line}", self.name)),
            Err(RecvTimeoutError::Timeout) => bail!("{} did not answer for {:?}", self.name, self.patience),
            Err(RecvTimeoutError::Disconnected) => bail!("{} ended ({:?})", self.name, self.child.wait()),
        }
    }

    /// SIGKILL; what it had still said.
    pub fn kill(mut self) -> Result<Vec<Value>> {
        self.child.kill()?;
        self.child.wait()?;
        self.lines.iter().map(|line| Ok(serde_json::from_str(&line)?)).collect()
    }

    /// Lets it end by itself.
    pub fn end(mut self) -> Result<()> {
        drop(self.stdin.take());
        let status = self.child.wait()?;
        anyhow::ensure!(status.success(), "{} ended with {status}", self.name);
        Ok(())
    }
}

/// Nothing that was started outlives us.
impl Drop for Peer {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
