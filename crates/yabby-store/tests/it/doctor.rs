//! Stories of the doctor in a torture folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::watched_disk::{Step, WatchedDisk};
use tempfile::TempDir;
use yabby_config::environment::Environment;
use yabby_domain::json::{self, Value};
use yabby_domain::transcript::Transcript;
use yabby_store::disk::Disk;
use yabby_store::doctor::{Code, Doctor, Examination, Severity, Treatment};
use yabby_store::paths::{Choice, Place};
use yabby_testkit::faulty_disk::{Fault, FaultyDisk, Kind};
use yabby_testkit::torture::{self, Damage, Planted};

fn doctor(state: &Path) -> Doctor {
    let choice = Choice { state: Some(state.to_owned()), profile: None };
    Doctor::new(&Place::find_around(&choice, Environment::default(), &state.join("home"), state))
}

fn with_disk(state: &Path, disk: &Arc<FaultyDisk>) -> Doctor {
    let disk: Arc<dyn Disk> = disk.clone();
    Doctor { disk, ..doctor(state) }
}

fn examine(state: &Path) -> Examination {
    doctor(state).examine(&mut |_| {})
}

fn repair(doctor: &Doctor) -> Treatment {
    doctor.repair(doctor.examine(&mut |_| {}), &mut |_| {}).unwrap()
}

fn tortured(damage: Damage) -> (TempDir, PathBuf, Vec<Planted>) {
    let home = TempDir::new().unwrap();
    let state = home.path().canonicalize().unwrap().join("state");
    let planted = torture::build(&state, damage, 3).unwrap();
    (home, state, planted)
}

/// Everything about the files of a folder: what a look must not change.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (u32, Option<Vec<u8>>)> {
    use std::os::unix::fs::MetadataExt as _;
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let about = path.symlink_metadata().unwrap();
        if about.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let bytes = about.is_file().then(|| fs::read(&path).unwrap());
        files.insert(path, (about.mode(), bytes));
    }
    files
}

fn told(found: &Examination) -> String {
    found.findings.iter().map(|f| format!("{} {} {}\n", f.code.as_str(), f.path.display(), f.what)).collect()
}

#[test]
fn every_damage_is_found_and_nothing_is_changed() {
    let (_home, state, planted) = tortured(Damage::Everything);
    let before = snapshot(&state);
    let found = examine(&state);
    assert!(snapshot(&state) == before, "something was changed");
    assert!(!found.is_ok());
    for Planted { code, path } in &planted {
        let is_found =
            found.findings.iter().any(|finding| finding.code.as_str() == *code && finding.path == *path);
        assert!(is_found, "{code} {} is not among\n{}", path.display(), told(&found));
    }
    // Nothing is damaged that was not planted.
    let codes: BTreeSet<&str> = planted.iter().map(|planted| planted.code).collect();
    for finding in found.findings.iter().filter(|finding| finding.code.severity() == Severity::Damage) {
        assert!(codes.contains(finding.code.as_str()), "{finding:?}");
    }
}

#[test]
fn a_sound_folder_is_whole() {
    let home = TempDir::new().unwrap();
    let found = examine(&home.path().join("none"));
    assert!(found.is_ok() && found.findings.iter().all(|finding| finding.code == Code::FolderMissing));
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let found = examine(home.path());
    assert!(found.findings.iter().all(|finding| finding.code == Code::SpaceLow), "{}", told(&found));
    assert!(!found.is_fixable());
    let treatment = repair(&doctor(home.path()));
    assert!(treatment.backup.is_none() && treatment.fixed.is_empty() && treatment.is_ok());
}

#[test]
fn all_that_can_be_recovered_is_recovered_once() {
    let (_home, state, _) = tortured(Damage::Repairable);
    let before = snapshot(&state);
    let treatment = repair(&doctor(&state));
    assert!(treatment.failed.is_empty(), "{:?}", treatment.failed);
    assert!(treatment.proof.holds(), "{:?}", treatment.proof);
    assert!(treatment.proof.records > 30 && treatment.proof.lines > 100, "{:?}", treatment.proof);
    assert!(treatment.is_ok(), "{}", told(&treatment.after));
    assert!(!treatment.after.is_fixable(), "{}", told(&treatment.after));
    assert_everything_is_somewhere(&before, &state);
    assert_recovered(&state);
    let after = snapshot(&state);
    let again = repair(&doctor(&state));
    assert!(again.backup.is_none() && again.fixed.is_empty() && again.is_ok(), "{:?}", again.fixed);
    assert!(snapshot(&state) == after, "the second time something was changed");
}

/// What a person had is there, line by line, wherever it is now.
fn assert_everything_is_somewhere(before: &BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>, state: &Path) {
    let lines = |files: &BTreeMap<PathBuf, (u32, Option<Vec<u8>>)>| -> BTreeSet<Vec<u8>> {
        let texts = files.iter().filter(|(path, _)| path.extension().is_none_or(|e| e != "lock"));
        let texts = texts.filter_map(|(_, (_, bytes))| bytes.clone());
        texts
            .flat_map(|text| text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect::<Vec<_>>())
            .collect()
    };
    let now = lines(&snapshot(state));
    for line in lines(before) {
        assert!(now.contains(&line), "{}", String::from_utf8_lossy(&line));
    }
}

fn records_of(state: &Path, agent: &str) -> BTreeMap<String, Value> {
    let text = fs::read_to_string(state.join("agents").join(agent).join("sessions/sessions.json")).unwrap();
    let Value::Object(store) =
        json::parse(&text).unwrap_or_else(|_| json::parse_json5(&text).unwrap_or_default())
    else {
        // A record that is nested too deep for us is in the store of `main`.
        let survey = yabby_domain::session::salvage::Survey::of(&text);
        let fields =
            |found: &yabby_domain::session::salvage::Found| found.record.fields().cloned().map(Value::Object);
        return survey
            .records
            .iter()
            .map(|found| (found.key.clone(), fields(found).unwrap_or_default()))
            .collect();
    };
    store.into_iter().collect()
}

fn assert_recovered(state: &Path) {
    for agent in ["garbage", "glued", "binary", "comments", "marked", "older"] {
        let records = records_of(state, agent);
        assert_eq!(records[&format!("agent:{agent}:main")]["sessionId"], format!("{agent}-a"), "{records:?}");
        assert_eq!(records[&format!("agent:{agent}:discord:channel:7")]["label"], "second", "{agent}");
    }
    // Cut in the middle of the second record: its session was there, its label was not.
    let cut = records_of(state, "cut");
    assert_eq!(cut["agent:cut:discord:channel:7"]["sessionId"], "cut-b");
    for agent in ["page", "endless", "list", "blank", "none"] {
        let records = records_of(state, agent);
        for name in ["a", "b"] {
            let record = &records[&format!("agent:{agent}:recovered:{agent}-{name}")];
            assert_eq!(record["sessionId"], format!("{agent}-{name}"));
            assert_eq!(record["updatedAt"], 1_768_469_400_000_i64);
        }
    }
    let twice = records_of(state, "twice");
    assert_eq!(twice["agent:twice:main"]["sessionId"], "twice-b");
    assert_eq!(twice["agent:twice:recovered:twice-a"]["sessionId"], "twice-a", "{twice:?}");
    assert_eq!(records_of(state, "garbage")["agent:garbage:begun"]["sessionId"], "garbage-begun");
    let main = records_of(state, "main");
    assert_eq!(main["agent:main:slack:dm:u1"]["label"], "kept");
    assert_eq!(main["agent:main:recovered:orphan"]["sessionId"], "orphan");
    assert_eq!(
        (&main["agent:main:begun"]["sessionId"], &main["agent:main:later"]["sessionId"]),
        (&"main-begun".into(), &"main-later".into())
    );
    let folder = state.join("agents/main/sessions");
    let conversation = |name: &str| {
        let text = fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
        let transcript = Transcript::read(&text).unwrap();
        transcript.context().messages.len()
    };
    let table = [
        ("not-json", 3),
        ("cut-off", 3),
        ("no-entry", 3),
        ("unterminated", 3),
        ("no-header", 3),
        ("repeated-id", 4),
        ("unknown-parent", 3),
        ("parent-cycle", 4),
        ("repeated-line", 3),
    ];
    for (name, messages) in table {
        assert_eq!(conversation(name), messages, "{name}");
    }
    assert!(!folder.join("none.jsonl").exists());
}

#[test]
fn what_somebody_works_on_is_left_alone() {
    let (_home, state, _) = tortured(Damage::Repairable);
    let folder = state.join("agents");
    let mut worker = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let now = jiff_millis();
    fs::write(
        folder.join("cut/sessions/sessions.json.lock"),
        format!("{{\"pid\":{},\"startedAt\":{now}}}", worker.id()),
    )
    .unwrap();
    let iso = jiff_iso();
    fs::write(
        folder.join("main/sessions/not-json.jsonl.lock"),
        format!("{{\"pid\":{},\"createdAt\":\"{iso}\"}}", worker.id()),
    )
    .unwrap();
    let held = [folder.join("cut/sessions/sessions.json"), folder.join("main/sessions/not-json.jsonl")];
    let before = held.clone().map(|file| fs::read(file).unwrap());
    let treatment = repair(&doctor(&state));
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert_eq!(held.clone().map(|file| fs::read(file).unwrap()), before);
    assert!(!treatment.is_ok());
    for file in &held {
        let pid = Some(i64::from(worker.id()));
        let is_told =
            treatment.after.findings.iter().any(|finding| finding.path == *file && finding.held_by == pid);
        assert!(is_told, "{}\n{}", file.display(), told(&treatment.after));
    }
    assert!(treatment.proof.holds());
    // Once it is gone, so is the damage.
    assert!(repair(&doctor(&state)).is_ok());
}

fn jiff_millis() -> i64 {
    use yabby_domain::seam::Clock as _;
    yabby_store::clock::SystemClock.now().as_millisecond()
}

fn jiff_iso() -> String {
    use yabby_domain::seam::Clock as _;
    yabby_domain::transcript::time::iso(yabby_store::clock::SystemClock.now())
}

#[test]
fn ten_thousand_sessions_are_examined_and_repaired() {
    const SESSIONS: usize = 10_000;
    let home = TempDir::new().unwrap();
    let state = home.path().canonicalize().unwrap().join("state");
    torture::build(&state, Damage::Few, SESSIONS).unwrap();
    let disk = Arc::new(FaultyDisk::sound());
    let treatment = repair(&with_disk(&state, &disk));
    assert!(treatment.is_ok(), "{:?}", treatment.failed);
    assert!(treatment.after.checked.transcripts > SESSIONS && treatment.proof.records > SESSIONS);
    // All records are gone: they are made again from the transcripts, and written at once.
    fs::remove_dir_all(state.join("backups")).unwrap();
    let folder = state.join("agents/main/sessions");
    fs::write(folder.join("sessions.json"), "").unwrap();
    let treatment = repair(&with_disk(&state, &disk));
    assert!(treatment.is_ok(), "{:?}", treatment.failed);
    assert!(treatment.after.checked.records > SESSIONS, "{:?}", treatment.after.checked);
    let main = records_of(&state, "main");
    assert!(main.keys().filter(|key| key.starts_with("agent:main:recovered:")).count() > SESSIONS);
}

#[test]
fn a_store_elsewhere_is_repaired_and_what_lies_beside_it_is_nobody_s_business() {
    let home = TempDir::new().unwrap();
    let (state, stores) = (home.path().join("state"), home.path().join("stores"));
    fs::create_dir_all(&stores).unwrap();
    fs::create_dir_all(&state).unwrap();
    fs::write(
        state.join("openclaw.json"),
        format!("{{session: {{store: '{}/{{agentId}}.json'}}}}", stores.display()),
    )
    .unwrap();
    let line = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi","timestamp":5}}"#;
    let header =
        r#"{"type":"session","version":3,"id":"known","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}"#;
    fs::write(stores.join("main.json"), r#"{"agent:main:main":{"sessionId":"known","updatedAt":1},"#)
        .unwrap();
    fs::write(stores.join("known.jsonl"), format!("{header}\n{line}\n{{torn")).unwrap();
    fs::write(stores.join("metrics.jsonl"), format!("{line}\n{{torn")).unwrap();
    fs::write(stores.join("diary.txt"), "private").unwrap();
    let found = examine(&state);
    let about = |name: &str| found.findings.iter().any(|finding| finding.path == stores.join(name));
    assert!(about("main.json") && about("known.jsonl"), "{}", told(&found));
    assert!(!about("metrics.jsonl") && !about("diary.txt"), "{}", told(&found));
    let before = ["metrics.jsonl", "diary.txt"].map(|name| fs::read(stores.join(name)).unwrap());
    let treatment = repair(&doctor(&state));
    assert!(treatment.is_ok(), "{:?} {}", treatment.failed, told(&treatment.after));
    assert_eq!(["metrics.jsonl", "diary.txt"].map(|name| fs::read(stores.join(name)).unwrap()), before);
    let store = json::parse(&fs::read_to_string(stores.join("main.json")).unwrap()).unwrap();
    assert_eq!(store, json::parse(r#"{"agent:main:main":{"sessionId":"known","updatedAt":1}}"#).unwrap());
    let copies = treatment.backup.unwrap().join("elsewhere");
    assert!(copies.join(stores.strip_prefix("/").unwrap()).join("main.json").is_file());
}

#[test]
fn a_line_that_comes_in_the_last_moment_is_not_lost() {
    let (_home, state, _) = tortured(Damage::Few);
    let file = state.join("agents/main/sessions/not-json.jsonl");
    let late = r#"{"type":"message","id":"late","parentId":"c","message":{"role":"assistant","content":"mirrored"}}"#;
    let is_late = file.clone();
    let disk = WatchedDisk::new(move |step| {
        if let Step::Rename(_, to) = step
            && to == is_late
        {
            let mut open = fs::File::options().append(true).open(&is_late).unwrap();
            std::io::Write::write_all(&mut open, format!("{late}\n").as_bytes()).unwrap();
        }
        Ok(())
    });
    assert!(repair(&Doctor { disk, ..doctor(&state) }).is_ok());
    assert!(fs::read_to_string(file).unwrap().ends_with(&format!("{late}\n")));
}

#[test]
fn a_lost_store_comes_back_from_an_earlier_backup() {
    let (_home, state, _) = tortured(Damage::Few);
    assert!(repair(&doctor(&state)).is_ok());
    fs::remove_file(state.join("agents/main/sessions/sessions.json")).unwrap();
    assert!(repair(&doctor(&state)).is_ok());
    let main = records_of(&state, "main");
    assert_eq!(main["agent:main:telegram:dm:0"]["updatedAt"], 1_768_469_400_000_i64, "{main:?}");
    assert_eq!(main["agent:main:slack:dm:u1"]["label"], "kept");
}

/// The locks of a repair that was interrupted belong to this very process, which lives.
fn forget_own_locks(folder: &Path) {
    let own = format!("\"pid\":{}", std::process::id());
    for (path, (_, bytes)) in snapshot(folder) {
        let is_lock = path.extension().is_some_and(|ending| ending == "lock");
        let is_own =
            bytes.is_some_and(|bytes| String::from_utf8_lossy(&bytes).replace(' ', "").contains(&own));
        if is_lock && is_own {
            fs::remove_file(path).unwrap();
        }
    }
}

#[test]
fn a_repair_that_is_interrupted_anywhere_loses_nothing() {
    let sound = Arc::new(FaultyDisk::sound());
    let (_home, state, _) = tortured(Damage::Few);
    let treatment = repair(&with_disk(&state, &sound));
    assert!(treatment.is_ok(), "{:?} {}", treatment.failed, told(&treatment.after));
    let operations = sound.operations();
    assert!(operations > 200, "{operations}");
    at_each((0..operations).collect(), interrupted_at);
}

/// Tells a story for each operation, some at a time: most of the time it waits for threads of its own.
fn at_each(operations: Vec<usize>, story: fn(usize)) {
    const WORKERS: usize = 8;
    std::thread::scope(|scope| {
        for worker in 0..WORKERS {
            let operations = &operations;
            scope.spawn(move || operations.iter().skip(worker).step_by(WORKERS).for_each(|at| story(*at)));
        }
    });
}

fn interrupted_at(operation: usize) {
    let (_home, state, _) = tortured(Damage::Few);
    let before = snapshot(&state);
    let disk = Arc::new(FaultyDisk::new(Fault::DeadFrom(operation)));
    let interrupted = with_disk(&state, &disk);
    let first = interrupted.repair(interrupted.examine(&mut |_| {}), &mut |_| {});
    if let Ok(treatment) = &first {
        assert!(treatment.proof.holds(), "{operation}: {:?}", treatment.proof);
    }
    assert_everything_is_somewhere(&before, &state);
    forget_own_locks(&state);
    let treatment = repair(&with_disk(&state, &Arc::new(FaultyDisk::sound())));
    assert!(treatment.is_ok(), "{operation}: {:?} {}", treatment.failed, told(&treatment.after));
    assert_everything_is_somewhere(&before, &state);
    let garbage = records_of(&state, "garbage");
    assert_eq!(garbage["agent:garbage:discord:channel:7"]["label"], "second", "{operation}");
    assert_eq!(garbage["agent:garbage:begun"]["sessionId"], "garbage-begun", "{operation}");
    let main = records_of(&state, "main");
    for key in
        ["agent:main:begun", "agent:main:later", "agent:main:slack:dm:u1", "agent:main:recovered:orphan"]
    {
        assert!(main[key].is_object(), "{operation}: {key}");
    }
}

#[test]
fn a_fault_is_told_and_the_rest_is_repaired() {
    let sound = Arc::new(FaultyDisk::sound());
    let (_home, state, _) = tortured(Damage::Few);
    repair(&with_disk(&state, &sound));
    at_each((0..sound.operations()).step_by(3).collect(), without_space_at);
}

fn without_space_at(operation: usize) {
    let (_home, state, _) = tortured(Damage::Few);
    let before = snapshot(&state);
    let disk = Arc::new(FaultyDisk::new(Fault::At { operation, kind: Kind::NoSpace }));
    let faulty = with_disk(&state, &disk);
    match faulty.repair(faulty.examine(&mut |_| {}), &mut |_| {}) {
        // No backup, no repair.
        Err(error) => assert!(error.to_string().contains("free some space"), "{error}"),
        Ok(treatment) => assert!(treatment.proof.holds(), "{operation}: {:?}", treatment.proof),
    }
    assert_everything_is_somewhere(&before, &state);
    forget_own_locks(&state);
    assert!(repair(&with_disk(&state, &Arc::new(FaultyDisk::sound()))).is_ok(), "{operation}");
}

/// A folder with one agent and these files of its sessions.
fn folder_with(files: &[(&str, &str)]) -> (TempDir, PathBuf, PathBuf) {
    let home = TempDir::new().unwrap();
    let state = home.path().canonicalize().unwrap().join("state");
    let sessions = state.join("agents/main/sessions");
    fs::create_dir_all(&sessions).unwrap();
    for (name, text) in files {
        fs::write(sessions.join(name), text).unwrap();
    }
    (home, state, sessions)
}

fn conversation(session: &str) -> String {
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{session}","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}}"#
    );
    let line = r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"hi","timestamp":5}}"#;
    format!("{header}\n{line}\n")
}

#[test]
fn nobody_is_given_the_transcript_of_another_session() {
    let store = r#"{"agent:main:telegram:dm:ann":{"sessionId":"anns","updatedAt":1},
        "agent:main:telegram:dm:bob":{"sessionId":"bobs","updatedAt":1,"sessionFile":"/gone/anns.jsonl"},
        "agent:main:telegram:dm:kim":{"sessionId":"kims","updatedAt":1,"sessionFile":"/gone/chat.jsonl"}}"#;
    let files = [
        ("sessions.json", store),
        ("anns.jsonl", &conversation("anns")),
        // Its header tells whose it is.
        ("chat.jsonl", &conversation("kims")),
    ];
    let (_home, state, sessions) = folder_with(&files);
    assert!(repair(&doctor(&state)).is_ok());
    let main = records_of(&state, "main");
    assert_eq!(main["agent:main:telegram:dm:bob"]["sessionFile"], "/gone/anns.jsonl");
    let kims = main["agent:main:telegram:dm:kim"]["sessionFile"].as_str();
    assert_eq!(kims, sessions.join("chat.jsonl").to_str());
}

#[test]
fn a_session_that_began_during_the_examination_gets_no_second_record() {
    let files =
        [("sessions.json", "{}"), ("new.jsonl", &conversation("new")), ("old.jsonl", &conversation("old"))];
    let (_home, state, sessions) = folder_with(&files);
    let examined = examine(&state);
    fs::write(sessions.join("sessions.json"), r#"{"agent:main:main":{"sessionId":"new","updatedAt":1}}"#)
        .unwrap();
    doctor(&state).repair(examined, &mut |_| {}).unwrap();
    let keys: Vec<String> = records_of(&state, "main").into_keys().collect();
    assert_eq!(keys, ["agent:main:main", "agent:main:recovered:old"]);
}

#[test]
fn an_agent_that_is_a_link_to_elsewhere_is_left_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let (home, state, _) = folder_with(&[]);
    let elsewhere = home.path().join("elsewhere");
    for (file, text) in
        [("agent/auth.json", "{}"), ("sessions/a.jsonl", "{torn"), ("sessions/sessions.json", "{torn")]
    {
        let file = elsewhere.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    std::os::unix::fs::symlink(&elsewhere, state.join("agents/linked")).unwrap();
    let before = snapshot(&elsewhere);
    let treatment = repair(&doctor(&state));
    assert!(told(&treatment.after).contains("folder-outside"), "{}", told(&treatment.after));
    assert_eq!(snapshot(&elsewhere), before);
}

#[test]
fn what_others_change_before_the_backup_is_not_called_missing() {
    let store =
        |updated: u32| format!(r#"{{"agent:main:main":{{"sessionId":"known","updatedAt":{updated}}}}}"#);
    let files = [
        ("sessions.json", store(1)),
        ("known.jsonl", conversation("known")),
        ("orphan.jsonl", conversation("orphan")),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let (_home, state, sessions) = folder_with(&files);
    let (file, changed) = (sessions.join("sessions.json"), store(2));
    let disk = WatchedDisk::new(move |step| {
        if let Step::CreateFolder(folder) = step
            && folder.to_string_lossy().ends_with(".unfinished")
        {
            fs::write(&file, &changed).unwrap();
        }
        Ok(())
    });
    let treatment = repair(&Doctor { disk, ..doctor(&state) });
    assert!(treatment.is_ok(), "{:?}", treatment.proof);
    assert_eq!(records_of(&state, "main")["agent:main:main"]["updatedAt"], 2);
}

#[test]
fn what_is_gone_after_the_repair_began_is_called_missing() {
    let store = r#"{"agent:main:main":{"sessionId":"known","updatedAt":1}}"#;
    let (known, orphan) = (conversation("known"), conversation("orphan"));
    let (_home, state, sessions) =
        folder_with(&[("sessions.json", store), ("known.jsonl", &known), ("orphan.jsonl", &orphan)]);
    let (file, victim) = (sessions.join("sessions.json"), sessions.join("known.jsonl"));
    let disk = WatchedDisk::new(move |step| {
        if let Step::Rename(_, to) = step
            && to == file
        {
            let _ = fs::remove_file(&victim);
        }
        Ok(())
    });
    let treatment = repair(&Doctor { disk, ..doctor(&state) });
    let missing = sessions.join("known.jsonl").display().to_string();
    assert_eq!(treatment.proof.missing, [missing]);
    assert!(!treatment.is_ok());
}

/// In a home that others can look into, every file is told of and closed, whoever wrote it.
#[test]
fn every_file_of_an_open_home_is_closed() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = TempDir::new().unwrap();
    let state = home.path().canonicalize().unwrap().join("state");
    let files = [
        "recall/main.sqlite",
        "media/inbound/a.jpg",
        "cron/jobs.json",
        "workspace/MEMORY.md",
        "x.json",
        "agents/main/agent/models.json",
        "agents/main/sessions/one.jsonl",
        "backups/doctor-1/agents/main/sessions/one.jsonl",
        "trash/agent-a/one/two/three/four.txt",
    ];
    for name in files {
        fs::create_dir_all(state.join(name).parent().unwrap()).unwrap();
        fs::write(state.join(name), "").unwrap();
        fs::set_permissions(state.join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
    let found = examine(&state);
    for entry in
        ["recall", "recall/main.sqlite", "media", "cron", "workspace", "x.json", "agents", "backups", "trash"]
    {
        let is_told = |finding: &&yabby_store::doctor::Finding| {
            finding.code == Code::OpenToOthers && finding.path == state.join(entry)
        };
        assert!(found.findings.iter().any(|finding| is_told(&finding)), "{entry}: {}", told(&found));
    }
    repair(&doctor(&state));
    for name in files {
        let mode = fs::metadata(state.join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600, "{name}");
        let folder = fs::metadata(state.join(name).parent().unwrap()).unwrap().permissions().mode() & 0o777;
        assert_eq!(folder, 0o700, "{name}");
    }
    // Where the home is closed, what other programs write in it is their business, and ours is still looked at.
    fs::set_permissions(state.join("media/inbound/a.jpg"), fs::Permissions::from_mode(0o644)).unwrap();
    fs::set_permissions(state.join("recall/main.sqlite"), fs::Permissions::from_mode(0o644)).unwrap();
    let found = examine(&state);
    let open: Vec<_> = found.findings.iter().filter(|finding| finding.code == Code::OpenToOthers).collect();
    assert_eq!(open.len(), 1, "{}", told(&found));
}

#[test]
fn a_folder_that_was_moved_names_itself_again() {
    let store = r#"{"agent:main:main":{"sessionId":"mine","updatedAt":1,
        "sessionFile":"/home/sam/.yabby/agents/main/sessions/mine.jsonl"}}"#;
    let (_home, state, sessions) =
        folder_with(&[("sessions.json", store), ("mine.jsonl", &conversation("mine"))]);
    fs::create_dir(state.join("workspace")).unwrap();
    let outside = state.parent().unwrap().join("ops");
    fs::create_dir(&outside).unwrap();
    let config = format!(
        r#"{{"agents": {{"defaults": {{"workspace": "/home/sam/.yabby/workspace"}},
            "list": [{{"id": "main"}},
                {{"id": "ops", "workspace": {outside:?}, "agentDir": "/home/sam/.yabby/agents/ops/agent"}}]}},
            "skills": {{"load": {{"extraDirs": ["/srv/skills", "/home/sam/.yabby/my skills"]}}}}}}"#
    );
    fs::write(state.join("openclaw.json"), config).unwrap();
    let found = examine(&state);
    let names: Vec<&str> = found.findings.iter().map(|finding| finding.code.as_str()).collect();
    for code in ["config-path-moved", "config-path-outside", "session-file-moved"] {
        assert!(names.contains(&code), "{names:?}");
    }
    let treatment = repair(&doctor(&state));
    assert!(treatment.is_ok() && treatment.failed.is_empty(), "{treatment:?}");
    let config: Value = serde_json::from_slice(&fs::read(state.join("openclaw.json")).unwrap()).unwrap();
    let agents = &config["agents"];
    assert_eq!(agents["defaults"]["workspace"].as_str(), state.join("workspace").to_str());
    assert_eq!(agents["list"][1]["workspace"].as_str(), outside.to_str());
    // What is not there yet was in the same folder.
    assert_eq!(agents["list"][1]["agentDir"].as_str(), state.join("agents/ops/agent").to_str());
    let skills = &config["skills"]["load"]["extraDirs"];
    assert_eq!(skills[0].as_str(), Some("/srv/skills"));
    assert_eq!(skills[1].as_str(), state.join("my skills").to_str());
    let file = &records_of(&state, "main")["agent:main:main"]["sessionFile"];
    assert_eq!(file.as_str(), sessions.join("mine.jsonl").to_str());
    let again: Vec<&str> = treatment.after.findings.iter().map(|finding| finding.code.as_str()).collect();
    assert!(!again.contains(&"config-path-moved") && !again.contains(&"session-file-moved"), "{again:?}");
}
