//! What a keeper is told, through a pipe in the folder of its command: lines that are written in one piece.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Kill,
    /// Something for the command to read.
    Input(Vec<u8>),
    /// Nothing more will come.
    EndOfInput,
}

impl Order {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        match line.split_once(' ') {
            None if line == "kill" => Some(Self::Kill),
            None if line == "end" => Some(Self::EndOfInput),
            Some(("input", data)) => STANDARD.decode(data).ok().map(Self::Input),
            _ => None,
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Kill => "kill\n".to_owned(),
            Self::EndOfInput => "end\n".to_owned(),
            Self::Input(data) => format!("input {}\n", STANDARD.encode(data)),
        }
    }
}

/// So much is written in one piece, and no more.
pub(crate) const MOST_INPUT: usize = 2048;

fn pipe(folder: &Path) -> PathBuf {
    folder.join("control")
}

/// The keeper's end. It never sees an end of the file, since it could write itself.
pub(crate) fn open(folder: &Path) -> io::Result<File> {
    mknodat(CWD, pipe(folder), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
    OpenOptions::new().read(true).write(true).open(pipe(folder))
}

/// Tells the keeper something. Without a keeper that is an error.
pub(crate) fn send(folder: &Path, order: &Order) -> io::Result<()> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOFOLLOW).bits()).map_err(io::Error::other)?;
    let mut end = OpenOptions::new().write(true).custom_flags(flags).open(pipe(folder))?;
    end.write_all(order.line().as_bytes())
}
