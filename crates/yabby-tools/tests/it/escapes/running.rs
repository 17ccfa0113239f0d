//! Commands that run, and want to stay, to be heard without end, or to know what is none of theirs.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::desk::{Desk, text_of};
use crate::exec::{living, odd_seconds, until};

fn open_desk() -> Desk {
    let mut desk = Desk::new();
    desk.let_anything_run();
    desk
}

#[tokio::test]
async fn no_secret_is_in_the_environment() {
    let desk = open_desk();
    for command in [
        "env",
        "export -p",
        "cat /proc/self/environ | tr '\\0' '\\n'",
        "cat /proc/$$/environ | tr '\\0' '\\n'",
        // The keeper, which is the parent of the shell.
        "tr '\\0' '\\n' < /proc/$PPID/environ",
        "tr '\\0' '\\n' < /proc/$PPID/cmdline",
    ] {
        let told = desk.told("exec", json!({"command": command})).await;
        assert!(!told.contains("very-secret") && !told.contains("CARGO_"), "{command} {told}");
        assert!(command.ends_with("cmdline") || told.contains("PATH="), "{command} {told}");
    }
}

#[tokio::test]
async fn output_without_end_is_contained() {
    let desk = open_desk();
    let table = [
        ("yes", "wrote more than 256 MB"),
        ("cat /dev/zero", "wrote more than 256 MB"),
        ("tr '\\0' a < /dev/zero", "wrote more than 256 MB"),
        ("yes >&2", "wrote more than 256 MB"),
    ];
    for (command, why) in table {
        let arguments = json!({"command": command, "yieldMs": 120_000, "timeout": 100});
        let told = desk.refused("exec", arguments).await;
        assert!(told.contains(why), "{command} {}", &told[told.len().saturating_sub(200)..]);
        assert!(told.len() < 50_000, "{command} {}", told.len());
    }
    let told = desk.told("exec", json!({"command": "seq 1 2000000"})).await;
    assert!(told.starts_with("1\n2\n3\n") && told.contains("bytes left out") && told.ends_with("2000000\n"));
    assert!(told.len() < 50_000);
}

#[tokio::test]
async fn what_a_background_command_writes_does_not_fill_the_disk() {
    let desk = open_desk();
    let output = desk.call("exec", json!({"command": "seq 1 5000000; sleep 30", "background": true})).await;
    let id = output.details.unwrap()["sessionId"].as_str().unwrap().to_owned();
    let folder = desk.state().join("commands").join(&id);
    let size = || -> u64 {
        let entries = std::fs::read_dir(&folder).unwrap().flatten();
        entries.filter_map(|entry| entry.metadata().ok()).map(|found| found.len()).sum()
    };
    let wrote_all = || text_all(&folder).contains("\n5000000\n");
    until("all is written", wrote_all).await;
    assert!(size() < 1024 * 1024, "{}", size());
    desk.told("process", json!({"action": "remove", "sessionId": id})).await;
    assert!(!folder.exists());
}

fn text_all(folder: &std::path::Path) -> String {
    let mut names: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path()).collect();
    names.sort();
    let output = names.into_iter().filter(|path| path.to_string_lossy().contains("output."));
    output.map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect()
}

/// Nothing that a command starts outlives it, however it hides.
#[tokio::test]
async fn whatever_is_left_behind_is_ended() {
    let desk = open_desk();
    let table = [
        "sleep {} &",
        "nohup sleep {} > /dev/null 2>&1 &",
        "setsid sleep {} > /dev/null 2>&1 < /dev/null &",
        "setsid setsid sh -c '(trap \"\" TERM HUP INT; sleep {} & sleep {}) & exit' > /dev/null 2>&1 &",
        "(setsid sh -c '(setsid nohup sleep {} &) &' > /dev/null 2>&1 &)",
        "env -i setsid sleep {} > /dev/null 2>&1 & disown",
    ];
    for command in table {
        let seconds = odd_seconds();
        let command = format!("{}\nsleep 0.3; echo done", command.replace("{}", &seconds));
        let told = desk.told("exec", json!({"command": command})).await;
        assert!(told.starts_with("done") && told.contains("left running"), "{command} {told}");
        assert_eq!(living(&seconds), [] as [u32; 0], "{command}");
    }
}

#[tokio::test]
async fn a_command_that_hears_no_signal_is_killed_all_the_same() {
    let desk = open_desk();
    let seconds = odd_seconds();
    let command = format!(
        "trap '' TERM INT HUP; (trap '' TERM; setsid sleep {seconds}) & while :; do sleep {seconds}; done"
    );
    let output = desk.call("exec", json!({"command": command, "background": true})).await;
    let id = output.details.unwrap()["sessionId"].as_str().unwrap().to_owned();
    until("it runs", || living(&seconds).len() >= 2).await;
    desk.told("process", json!({"action": "kill", "sessionId": id})).await;
    assert_eq!(living(&seconds), [] as [u32; 0]);
}

#[tokio::test]
async fn whoever_kills_its_keeper_dies_with_it() {
    let desk = open_desk();
    let seconds = odd_seconds();
    let command = format!("(setsid sleep {seconds} &); sleep {seconds} & kill -9 $PPID; sleep {seconds}");
    let told = desk.refused("exec", json!({"command": command})).await;
    assert!(told.contains("was lost"), "{told}");
    assert_eq!(living(&seconds), [] as [u32; 0]);
    // In the background, nobody notices before somebody looks.
    let command = format!("setsid sleep {seconds} & sleep 0.3; kill -9 $PPID; sleep {seconds}");
    let output = desk.call("exec", json!({"command": command, "background": true})).await;
    let id = output.details.unwrap()["sessionId"].as_str().unwrap().to_owned();
    until("it is lost", || desk.office.notices().iter().any(|(_, words)| words.contains("was lost"))).await;
    assert_eq!(living(&seconds), [] as [u32; 0]);
    let told = desk.told("process", json!({"action": "poll", "sessionId": id})).await;
    assert!(told.contains("was lost"), "{told}");
}

#[tokio::test]
async fn whoever_stops_its_keeper_is_ended_with_all_that_it_started() {
    let desk = open_desk();
    let seconds = odd_seconds();
    let start = format!(
        "(env -i setsid sleep {seconds} > /dev/null 2>&1 &); sleep {seconds} & kill -STOP $PPID; sleep {seconds}"
    );
    let told = desk.refused("exec", json!({"command": start, "yieldMs": 100_000})).await;
    assert!(told.contains("was lost"), "{told}");
    assert_eq!(living(&seconds), [] as [u32; 0]);
    // In the background, and after the call was given up.
    let output = desk.call("exec", json!({"command": start, "background": true})).await;
    let id = output.details.unwrap()["sessionId"].as_str().unwrap().to_owned();
    until("it is lost", || desk.office.notices().iter().any(|(_, words)| words.contains("was lost"))).await;
    assert_eq!(living(&seconds), [] as [u32; 0]);
    let told = desk.told("process", json!({"action": "poll", "sessionId": id})).await;
    assert!(told.contains("was lost"), "{told}");
    let call = desk.call("exec", json!({"command": start, "yieldMs": 100_000}));
    assert!(tokio::time::timeout(Duration::from_millis(500), call).await.is_err());
    until("it is gone", || living(&seconds).is_empty()).await;
}

/// Nobody looked after a command whose keeper was stopped, since the program was killed: the next command does.
#[tokio::test]
async fn a_stopped_keeper_does_not_outlive_its_program_for_long() {
    let seconds = odd_seconds();
    let command = format!(
        "(env -i setsid sleep {seconds} > /dev/null 2>&1 &); sleep 0.5; kill -STOP $PPID; sleep {seconds}"
    );
    let (mut program, folder) = another_program(&json!({"command": command, "background": true}));
    until("it runs", || !living(&seconds).is_empty()).await;
    program.kill().unwrap();
    program.wait().unwrap();
    let mut desk = Desk::at(folder.path());
    desk.let_anything_run();
    let record = || {
        let entry = std::fs::read_dir(desk.state().join("commands")).ok()?.flatten().next()?;
        let record = std::fs::read_to_string(entry.path().join("record.json")).ok()?;
        serde_json::from_str::<serde_json::Value>(&record).ok()?["pid"].as_u64()
    };
    let is_stopped = |pid: u64| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" T"))
    };
    until("its keeper is stopped", || record().is_some_and(is_stopped)).await;
    desk.told("exec", json!({"command": "true"})).await;
    assert_eq!(living(&seconds), [] as [u32; 0]);
}

/// The program is killed while it waits for a command: the command goes, too.
#[tokio::test]
async fn a_program_that_is_killed_leaves_no_orphans() {
    let seconds = odd_seconds();
    let command = format!("(setsid sleep {seconds} &); sleep {seconds}");
    let (mut program, _folder) = another_program(&json!({"command": command, "yieldMs": 120_000}));
    until("it runs", || living(&seconds).len() >= 2).await;
    program.kill().unwrap();
    program.wait().unwrap();
    until("the command is gone", || living(&seconds).is_empty()).await;
    until("its keeper is gone", || keepers_of(&seconds).is_empty()).await;
}

/// The program is killed while a command runs in the background: the next one finds it.
#[tokio::test]
async fn a_background_command_outlives_a_program_that_is_killed() {
    let seconds = odd_seconds();
    let command = format!("echo still here; sleep {seconds}");
    let (mut program, folder) = another_program(&json!({"command": command, "background": true}));
    until("it runs", || !living(&seconds).is_empty()).await;
    let desk = Desk::at(folder.path());
    let commands = desk.state().join("commands");
    let record = || {
        let entry = std::fs::read_dir(&commands).ok()?.flatten().next()?;
        let record = std::fs::read_to_string(entry.path().join("record.json")).ok()?;
        serde_json::from_str::<serde_json::Value>(&record).ok()
    };
    until("it wrote", || {
        let entry = std::fs::read_dir(&commands).unwrap().flatten().next().unwrap();
        text_all(&entry.path()).contains("still here")
    })
    .await;
    until("it is in the background", || record().is_some_and(|record| record["background"] == true)).await;
    program.kill().unwrap();
    program.wait().unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(!living(&seconds).is_empty());
    let listed = desk.told("process", json!({"action": "list"})).await;
    assert!(listed.contains(" running ") && listed.contains("still here"), "{listed}");
    let id = listed.split(' ').next().unwrap().to_owned();
    let polled = desk.told("process", json!({"action": "poll", "sessionId": id})).await;
    assert_eq!(polled, "still here\n\nProcess still running.");
    desk.told("process", json!({"action": "kill", "sessionId": id})).await;
    assert_eq!(living(&seconds), [] as [u32; 0]);
}

/// This test program once more, which makes one call.
fn another_program(arguments: &serde_json::Value) -> (std::process::Child, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let program = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "escapes::running::makes_a_call_for_another_test", "--ignored", "--nocapture"])
        .env("DESK", folder.path())
        .env("CALL", arguments.to_string())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    (program, folder)
}

#[tokio::test]
#[ignore = "another test runs it, and kills it"]
async fn makes_a_call_for_another_test() {
    let folder = std::env::var("DESK").unwrap();
    let mut desk = Desk::at(std::path::Path::new(&folder));
    desk.let_anything_run();
    let arguments = serde_json::from_str(&std::env::var("CALL").unwrap()).unwrap();
    let output = desk.call("exec", arguments).await;
    assert!(!output.is_error, "{}", text_of(&output));
    // Somebody will end this.
    tokio::time::sleep(Duration::from_secs(60)).await;
}

fn keepers_of(seconds: &str) -> Vec<u32> {
    let mark = |pid: &u32| {
        let called = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&called).contains(seconds)
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(mark).collect()
}

#[tokio::test]
async fn a_keeper_whose_number_is_anothers_is_not_taken_for_it() {
    let desk = open_desk();
    let output = desk.call("exec", json!({"command": "sleep 0.2", "background": true})).await;
    let id = output.details.unwrap()["sessionId"].as_str().unwrap().to_owned();
    until("it ends", || !desk.office.notices().is_empty()).await;
    // As if it had been killed, and its number were ours by now.
    let path = desk.state().join("commands").join(&id).join("record.json");
    let mut record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let object = record.as_object_mut().unwrap();
    for field in ["endedAt", "end", "exitCode"] {
        object.remove(field);
    }
    object.insert("pid".to_owned(), std::process::id().into());
    std::fs::write(&path, record.to_string()).unwrap();
    let told = desk.told("process", json!({"action": "poll", "sessionId": id})).await;
    assert!(told.contains("was lost"), "{told}");
    let began = Instant::now();
    desk.told("process", json!({"action": "kill", "sessionId": id})).await;
    assert!(began.elapsed() < Duration::from_secs(5));
}
