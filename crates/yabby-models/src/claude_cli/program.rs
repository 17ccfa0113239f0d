//! One run of the program. Whoever stops waiting for it ends it, and everything it started.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

#[cfg(windows)]
use process_wrap::tokio::JobObject;
#[cfg(unix)]
use process_wrap::tokio::ProcessGroup;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use secrecy::ExposeSecret as _;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use yabby_domain::seam::model::Answer;
use yabby_domain::text;

use super::ClaudeCliSettings;
use super::failing::Trouble;
use super::lines::Lines;
use crate::wire::Heard;

/// How long it may take to end after it has answered.
const FAREWELL: Duration = Duration::from_secs(2);

/// A program with all of its children, which end with this.
struct Group(Box<dyn ChildWrapper>);

impl Drop for Group {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.start_kill();
    }
}

pub(super) async fn run(
    settings: &ClaudeCliSettings,
    folder: Option<&Path>,
    arguments: &[String],
    prompt: String,
    heard: Heard<'_>,
) -> Result<Answer, Trouble> {
    let mut group = start(settings, folder, arguments)?;
    let (stdin, stdout, stderr) = (group.0.stdin().take(), group.0.stdout().take(), group.0.stderr().take());
    let (Some(mut stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
        return Err(Trouble::Unstarted("it cannot be talked to".to_owned()));
    };
    let tell = async move {
        // One that does not want to hear it says why.
        let _ = stdin.write_all(text::to_outside(&prompt).as_bytes()).await;
        let _ = stdin.shutdown().await;
    };
    let mut lines = Lines::default();
    let listen = listen(stdout, &mut lines, settings.silence, heard);
    let mut errors = Vec::new();
    let complaints = last_words(stderr, &mut errors);
    let listened = {
        tokio::pin!(tell, listen, complaints);
        let (mut told, mut complained) = (false, false);
        loop {
            tokio::select! {
                () = &mut tell, if !told => told = true,
                () = &mut complaints, if !complained => complained = true,
                listened = &mut listen => {
                    // What it says last may be why it ended.
                    if !complained {
                        let _ = tokio::time::timeout(FAREWELL, &mut complaints).await;
                    }
                    break listened;
                }
            }
        }
    };
    listened?;
    // It writes its session down before it ends.
    let _ = tokio::time::timeout(FAREWELL, group.0.wait()).await;
    lines.answer(&text::lossy(&errors))
}

fn start(
    settings: &ClaudeCliSettings,
    folder: Option<&Path>,
    arguments: &[String],
) -> Result<Group, Trouble> {
    let mut command = CommandWrap::with_new(&settings.program, |command| {
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        for name in &settings.clear_variables {
            command.env_remove(name);
        }
        command.envs(settings.set_variables.iter().map(|(name, value)| (name, value.expose_secret())));
    });
    #[cfg(unix)]
    command.wrap(ProcessGroup::leader());
    #[cfg(windows)]
    command.wrap(JobObject);
    command.spawn().map(Group).map_err(|error| Trouble::of_start(&error))
}

/// As long as a line may be: it holds a whole message. A longer one is not waited for.
const MAX_LINE_BYTES: u64 = 32 * 1024 * 1024;

/// Reads until there is a result, or nothing more to read.
async fn listen(
    stdout: impl AsyncRead + Unpin,
    lines: &mut Lines,
    silence: Duration,
    heard: Heard<'_>,
) -> Result<(), Trouble> {
    let mut reader = BufReader::new(stdout);
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut bounded = (&mut reader).take(MAX_LINE_BYTES);
        let read = tokio::time::timeout(silence, bounded.read_until(b'\n', &mut line)).await;
        match read.map_err(|_| Trouble::Silent)? {
            Ok(0) | Err(_) => return Ok(()),
            Ok(_) if bounded.limit() == 0 => return Err(Trouble::EndlessLine),
            Ok(_) if lines.read(&text::lossy(&line), &mut *heard) => return Ok(()),
            Ok(_) => {}
        }
    }
}

/// The end of what it complains about.
async fn last_words(mut stderr: impl AsyncRead + Unpin, words: &mut Vec<u8>) {
    const MOST: usize = 4096;
    let mut piece = [0; 1024];
    while let Ok(read @ 1..) = stderr.read(&mut piece).await {
        words.extend_from_slice(&piece[..read]);
        words.drain(..words.len().saturating_sub(MOST));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_without_an_end_is_cut_off() {
        let mut lines = Lines::default();
        let endless = tokio::io::repeat(b'x');
        let heard = listen(endless, &mut lines, Duration::from_secs(60), &mut |_| {}).await;
        assert_eq!(heard, Err(Trouble::EndlessLine));
    }
}
