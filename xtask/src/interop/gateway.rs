//! OpenClaw's own clients at a gateway of yabby's: its command line, its client, its terminal and its page.
//!
//! Both are in one network that has nothing but a loopback, each with a home of its own, and with them a stand-in for
//! a model. Only the address and the token of the gateway are in the configuration of OpenClaw.

mod browser;
mod client;
mod commands;
mod terminal;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

pub use browser::{every_tab, page};
pub use client::every_method;
pub use commands::{every_command, some_commands};
pub use terminal::terminal;

use super::Stage;
use super::continued::{Format, config};
use crate::peer::Peer;
use crate::program::{Build, built, yabby};
use crate::reference::{Reference, state_folder};
use crate::room::Room;

const PORT: u16 = 19_123;
const TOKEN: &str = "held-by-both";
/// Programs take their time on a machine that has much to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// A gateway with everything that it needs, and a guest who knows its address.
struct House<'s> {
    reference: &'s Reference,
    room: Room,
    model: Peer,
    gateway: Running,
    /// Of the gateway.
    home: PathBuf,
    /// The home of OpenClaw.
    guest: PathBuf,
}

impl<'s> House<'s> {
    fn open(stage: &'s Stage) -> Result<Self> {
        let (home, guest) = (stage.home.join("host"), stage.home.join("guest"));
        for folder in [&home, &guest] {
            fs::create_dir_all(state_folder(folder))?;
        }
        let room = Room::open()?;
        let stand_in = built("yabby-testkit", "model_stand_in", Build::Quick)?;
        let reference = stage.reference;
        let mut model = Peer::start("the stand-in", &mut reference.in_room(&room, &stand_in, &home))?;
        let address = model.ask(&json!({"do": "address"}))?;
        let workspace = home.join("workspace");
        let mut ours = config(Format::OpenAiChat, address.as_str().context("it is somewhere")?, &workspace);
        let theirs = json!({"gateway": {"mode": "local", "port": PORT, "auth": {"token": TOKEN}}});
        ours["gateway"] = theirs["gateway"].clone();
        ours["gateway"]["controlUi"] = json!({"root": reference.package().join("dist/control-ui")});
        for (home, config) in [(&home, ours), (&guest, theirs)] {
            fs::write(state_folder(home).join("openclaw.json"), config.to_string())?;
        }
        let mut gateway = reference.in_room(&room, &yabby(Build::Quick)?, &home);
        let gateway = Running::start(gateway.arg("gateway"), &home.join("gateway.out"))?;
        gateway.wait_for("listening on ws://")?;
        Ok(Self { reference, room, model, gateway, home, guest })
    }

    /// What the model says when it is asked next.
    fn model_will_say(&mut self, text: &str) -> Result<()> {
        let answers = json!([{"text": text}]);
        self.model.ask(&json!({"do": "will", "format": Format::OpenAiChat.name(), "answers": answers}))?;
        Ok(())
    }

    /// OpenClaw's command line, as a guest.
    fn openclaw(&self, words: &[&str]) -> Command {
        self.openclaw_in(&self.guest, words)
    }

    fn openclaw_in(&self, home: &Path, words: &[&str]) -> Command {
        let mut command = self.reference.in_room(&self.room, &self.reference.node(), home);
        command.arg(self.reference.package().join("openclaw.mjs")).args(words);
        command
    }

    /// A program of ours that has the reference's code, as a guest.
    fn script(&self, name: &'static str, file: &str) -> Result<Peer> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/interop/gateway").join(file);
        let mut command = self.reference.in_room(&self.room, &self.reference.node(), &self.guest);
        Peer::start(name, command.arg(script).env("REFERENCE", self.reference.package()))
    }

    /// Says something through OpenClaw's command line; what is answered is in the history afterwards.
    fn said_before(&mut self, words: &str, answer: &str) -> Result<()> {
        self.model_will_say(answer)?;
        let output = self.openclaw(&["agent", "--agent", "main", "-m", words]).output()?;
        ensure!(output.status.success(), "openclaw agent: {}", String::from_utf8_lossy(&output.stderr));
        Ok(())
    }

    /// Holds the main conversation, from the gateway's own files. Around what a person said are the
    /// time and the name of the message.
    fn ensure_said(&self, words: &[&str]) -> Result<()> {
        let folder = state_folder(&self.home).join("agents/main/sessions");
        let store: Value = serde_json::from_str(&fs::read_to_string(folder.join("sessions.json"))?)?;
        let id = store["agent:main:main"]["sessionId"].as_str().context("the session is on record")?;
        let lines = fs::read_to_string(folder.join(format!("{id}.jsonl")))?;
        let entries = lines.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        let messages = entries.iter().filter(|entry| entry["type"] == "message");
        let said: Vec<&str> =
            messages.filter_map(|entry| entry["message"]["content"][0]["text"].as_str()).collect();
        let same =
            said.len() == words.len() && said.iter().zip(words).all(|(said, words)| said.contains(words));
        ensure!(same, "the conversation is {said:#?}");
        Ok(())
    }

    /// Ends the gateway as a service manager does, and holds what is left.
    fn close(self) -> Result<()> {
        self.gateway.end()
    }
}

/// A program that goes on until it is told to end, with what it prints in a file.
struct Running {
    child: Child,
    printed: PathBuf,
}

impl Running {
    fn start(command: &mut Command, printed: &Path) -> Result<Self> {
        let file = File::create(printed)?;
        let child = command
            .stdin(std::process::Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file)
            .spawn()
            .with_context(|| format!("starting {command:?}"))?;
        Ok(Self { child, printed: printed.to_owned() })
    }

    fn wait_for(&self, text: &str) -> Result<String> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let printed = fs::read_to_string(&self.printed).unwrap_or_default();
            if printed.contains(text) {
                return Ok(printed);
            }
            if Instant::now() > deadline {
                bail!("it did not print {text:?}, but: {printed}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// SIGTERM; it has to end well, and soon.
    fn end(mut self) -> Result<()> {
        let asked = Command::new("kill").arg(self.child.id().to_string()).status()?;
        ensure!(asked.success(), "the gateway was gone before it was told to end");
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the gateway ended with {status}; see {}", self.printed.display());
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("the gateway did not end within {PATIENCE:?} of SIGTERM")
    }
}

/// Nothing that was started outlives us.
impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
