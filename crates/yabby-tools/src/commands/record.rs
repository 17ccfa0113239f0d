//! `record.json`: what is known about a command.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::processes;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Record {
    pub(crate) version: u32,
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) cwd: String,
    pub(crate) agent: String,
    pub(crate) session_key: String,
    /// The keeper's, and when it started in ticks since the machine did: a number is given to another
    /// process some day.
    pub(crate) pid: u32,
    pub(crate) pid_started: u64,
    pub(crate) background: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) confined_by: Option<String>,
    pub(crate) started_at: i64,
    pub(crate) timeout_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end: Option<End>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<i32>,
    /// Why it was not run at all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
    /// How many processes it left, which were ended.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) left_behind: usize,
    pub(crate) output_bytes: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// How it came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum End {
    Exited,
    /// Somebody wanted it.
    Killed,
    TimedOut,
    /// The program that waited for it went away.
    Abandoned,
    TooMuchOutput,
    TooManyProcesses,
    TooMuchMemory,
    DiskFull,
    /// It was not run.
    Refused,
    /// Its keeper was killed or stopped.
    Lost,
}

impl End {
    /// What the model is told.
    pub(crate) fn told(self) -> &'static str {
        match self {
            Self::Exited => "exited",
            Self::Killed => "was killed",
            Self::TimedOut => "took too long and was killed",
            Self::Abandoned => "was killed, since the program that waited for it went away",
            Self::TooMuchOutput => "wrote more than 256 MB and was killed",
            Self::TooManyProcesses => "started too many processes and was killed",
            Self::TooMuchMemory => "used too much memory and was killed",
            Self::DiskFull => "filled the disk and was killed",
            Self::Refused => "was not run",
            Self::Lost => "was lost: the process that looked after it was killed or stopped",
        }
    }
}

const NAME: &str = "record.json";

impl Record {
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(NAME)).ok()?).ok()
    }

    /// Whoever reads it sees the old one or the new one.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let draft = folder.join(".record.json.tmp");
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        let mut text = serde_json::to_string_pretty(self).map_err(io::Error::other)?;
        text.push('\n');
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(draft, folder.join(NAME))
    }

    /// Whether its keeper looks after it. One that was stopped does not.
    pub(crate) fn is_running(&self) -> bool {
        self.ended_at.is_none()
            && processes::started(self.pid) == Some(self.pid_started)
            && !processes::is_stopped(self.pid, self.pid_started)
    }

    /// As it stands: of a command without a keeper nobody will write the end.
    pub(crate) fn settled(mut self) -> Self {
        if self.ended_at.is_none() && !self.is_running() {
            self.end = Some(End::Lost);
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_in_the_docs_is_a_record() {
        let page = include_str!("../../../../docs/formats/command-record.md");
        let example = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
        let record: Record = serde_json::from_str(example).unwrap();
        assert_eq!((record.exit_code, record.end), (Some(0), Some(End::Exited)));
        let again = serde_json::to_value(&record).unwrap();
        assert_eq!(again, serde_json::from_str::<serde_json::Value>(example).unwrap());
    }

    #[test]
    fn a_command_whose_keeper_is_gone_is_lost() {
        let own = std::process::id();
        let started = processes::started(own).unwrap();
        let record = |pid_started| Record { pid: own, pid_started, ..Record::default() };
        assert_eq!(record(started).settled().end, None);
        assert_eq!(record(started + 1).settled().end, Some(End::Lost));
    }
}
