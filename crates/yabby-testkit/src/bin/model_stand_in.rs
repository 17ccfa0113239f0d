//! A model in a room of its own: it says what it is told to say, remembers what it was asked, and starts
//! programs that ask it, since nobody outside of its network reaches it. An errand is a line of JSON.
//!
//! | errand | answer |
//! |---|---|
//! | `{"do": "will", "format": "anthropic", "answers": [{"text": "…"}, {"call": ["id", "name", "{…}"]}]}` | |
//! | `{"do": "run", "program": "…", "arguments": ["…"]}` | `status`, `stdout`, `stderr` |
//! | `{"do": "address"}` | where it is asked |
//! | `{"do": "seen"}` | the bodies of all requests, in order |

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "what it has to say goes to its pipe")]

use std::io::{BufRead as _, Write as _};
use std::process::ExitCode;

use serde_json::{Value, json};
use tokio::process::Command;
use yabby_testkit::stand_in::{Format, Reply, Script, StandIn};

/// Whatever went wrong; whoever asked only wants its text.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<()> {
    let stand_in = StandIn::start().await;
    say(&json!({"event": "ready", "address": stand_in.address()}))?;
    for line in std::io::stdin().lock().lines() {
        let errand: Value = serde_json::from_str(&line?)?;
        let done = match errand["do"].as_str() {
            Some("will") => will(&stand_in, &errand),
            Some("run") => run(&errand).await,
            Some("seen") => Ok(stand_in.seen().into_iter().map(|seen| seen.body).collect()),
            Some("address") => Ok(stand_in.address().into()),
            _ => Err(format!("unknown errand {errand}").into()),
        };
        say(&match done {
            Ok(answer) => json!({"ok": answer}),
            Err(error) => json!({"error": error.to_string()}),
        })?;
    }
    Ok(())
}

fn will(stand_in: &StandIn, errand: &Value) -> Result<Value> {
    let format = match errand["format"].as_str() {
        Some("anthropic") => Format::Anthropic,
        Some("openai-chat") => Format::OpenAiChat,
        _ => return Err(format!("no such format: {}", errand["format"]).into()),
    };
    let answers = errand["answers"].as_array().ok_or("answers are a list")?;
    let replies = answers.iter().map(|answer| Ok(format.answer(&script(answer)?)));
    stand_in.will(replies.collect::<Result<Vec<Reply>>>()?);
    Ok(Value::Null)
}

fn script(answer: &Value) -> Result<Script> {
    if let Some(text) = answer["text"].as_str() {
        return Ok(Script::text(&[kept(text)]));
    }
    let word = |at: usize| answer["call"][at].as_str().map(kept).ok_or("a call has three words");
    Ok(Script::calls(&[(word(0)?, word(1)?, &[word(2)?])]))
}

/// Scripts are written down in tests and live as long as they; so do those that are told.
fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

async fn run(errand: &Value) -> Result<Value> {
    let arguments = errand["arguments"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let program = errand["program"].as_str().ok_or("a program has a name")?;
    // Our standard input is for errands.
    let output =
        Command::new(program).args(arguments).stdin(std::process::Stdio::null()).kill_on_drop(true).output();
    let output = output.await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(
        json!({"status": output.status.code(), "stdout": text(&output.stdout), "stderr": text(&output.stderr)}),
    )
}

/// One line to whoever started us, in one write.
fn say(reply: &Value) -> Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{reply}\n").as_bytes())?;
    Ok(out.flush()?)
}
