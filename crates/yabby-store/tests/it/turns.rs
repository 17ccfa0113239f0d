//! Stories about the steps of turns in files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use yabby_domain::inbound::recent::LIFETIME_MS;
use yabby_domain::seam::journal::{Journal, Promise};
use yabby_domain::turn::{Outcome, Record, Step as TurnStep, TurnId, progress};
use yabby_store::files::turns::{Kind, Settings, TurnJournal, look};
use yabby_testkit::clock::FixedClock;
use yabby_testkit::store_contract::turns::{BEGIN, accepted, settled, tool_begun};

use crate::watched_disk::{Step, WatchedDisk};

fn open(folder: &Path, kind: Kind) -> TurnJournal {
    TurnJournal::open(folder, kind, Settings::default()).unwrap()
}

fn turns(records: Vec<Record>) -> Vec<String> {
    progress(records).into_keys().map(|turn| turn.to_string()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// A file as a process that is no more left it.
fn left_behind(folder: &Path, name: &str, text: &str) -> PathBuf {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

fn line(record: &Record) -> String {
    record.line() + "\n"
}

#[test]
fn nothing_is_made_before_there_is_something_to_write() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("turns");
    let journal = open(&folder, Kind::Agent);
    assert_eq!(journal.replay_blocking().unwrap(), []);
    drop(journal);
    assert!(!folder.exists());
}

#[test]
fn the_file_is_named_for_its_process_and_goes_when_all_is_settled() {
    let home = TempDir::new().unwrap();
    let journal = open(home.path(), Kind::Agent);
    journal.append_blocking(vec![accepted("a", now())], Promise::Durable).unwrap();
    let prefix = format!("agent-{}-", std::process::id());
    let name = journal.path().file_name().unwrap().to_str().unwrap().to_owned();
    assert!(name.starts_with(&prefix) && name.ends_with(".jsonl"), "{name}");
    assert_eq!(names(home.path()), [name]);
    assert_eq!(fs::read_to_string(journal.path()).unwrap().lines().count(), 1);
    let ended = now() - LIFETIME_MS;
    journal.append_blocking(vec![settled("a", ended)], Promise::Written).unwrap();
    drop(journal);
    assert_eq!(names(home.path()), [""; 0]);
}

#[test]
fn a_command_leaves_the_turns_of_the_gateway_to_the_gateway() {
    let home = TempDir::new().unwrap();
    for (kind, turn) in [(Kind::Agent, "of-agent"), (Kind::Gateway, "of-gateway")] {
        open(home.path(), kind).append_blocking(vec![accepted(turn, 1)], Promise::Durable).unwrap();
    }
    let command = open(home.path(), Kind::Agent);
    assert_eq!(turns(command.replay_blocking().unwrap()), ["of-agent"]);
    drop(command);
    let gateway = open(home.path(), Kind::Gateway);
    assert_eq!(turns(gateway.replay_blocking().unwrap()), ["of-agent", "of-gateway"]);
    // They are read where they are, under names of the gateway: no command takes them from now on.
    let names = names(home.path());
    assert!(names.len() == 2 && names.iter().all(|name| name.starts_with("gateway-")), "{names:?}");
}

#[test]
fn damaged_lines_are_skipped_told_and_kept() {
    let home = TempDir::new().unwrap();
    let text =
        format!("{}\0\0garbage\n{}{{\"turn\":\"b\",", line(&accepted("a", 1)), line(&accepted("b", 2)));
    let path = left_behind(home.path(), "gateway-1-0a1b2c3d.jsonl", &text);
    let journal = open(home.path(), Kind::Gateway);
    assert_eq!(turns(journal.replay_blocking().unwrap()), ["a", "b"]);
    let notices = journal.notices().unwrap();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].0.contains("gateway-1-0a1b2c3d.jsonl, line 2:"), "{notices:?}");
    assert!(!path.exists());
    journal.append_blocking(vec![settled("a", now()), settled("b", now())], Promise::Durable).unwrap();
    assert_eq!(journal.notices().unwrap(), []);
    let aside = names(home.path()).into_iter().find(|name| name.contains(".damaged-")).unwrap();
    assert_eq!(fs::read_to_string(home.path().join(&aside)).unwrap(), text);
    drop(journal);
    let known = progress(open(home.path(), Kind::Gateway).replay_blocking().unwrap());
    assert!(known.len() == 2 && known.values().all(|turn| turn.settled.is_some()), "{known:?}");
    assert_eq!(fs::read_to_string(home.path().join(aside)).unwrap(), text, "kept once and for all");
}

#[test]
fn damage_in_our_own_file_is_kept_before_it_is_written_anew() {
    let home = TempDir::new().unwrap();
    let journal =
        TurnJournal::open(home.path(), Kind::Agent, Settings { limit: 2000, ..Settings::default() }).unwrap();
    journal.append_blocking(vec![accepted("a", 1), tool_begun("a", "1", 1)], Promise::Durable).unwrap();
    let text = fs::read_to_string(journal.path()).unwrap();
    fs::write(journal.path(), text.replacen("\"at\"", "\"a!\"", 1).replacen("{", "!", 1)).unwrap();
    for at in 0..20 {
        let turn = format!("turn-{at}");
        journal.append_blocking(vec![accepted(&turn, 1), settled(&turn, 1)], Promise::Durable).unwrap();
    }
    let kept = names(home.path()).into_iter().find(|name| name.contains(".damaged-")).unwrap();
    assert!(fs::read_to_string(home.path().join(kept)).unwrap().starts_with('!'));
    assert!(journal.notices().unwrap()[0].0.contains("line 1:"));
}

#[test]
fn what_is_no_journal_is_left_alone_and_dead_drafts_are_swept_up() {
    let home = TempDir::new().unwrap();
    let draft = format!("agent-1-0a1b2c3d.jsonl.{}.5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11.tmp", i32::MAX);
    let live = draft.replace(&i32::MAX.to_string(), &std::process::id().to_string());
    for name in ["notes.txt", "cron-1-0a1b2c3d.jsonl", &draft, &live] {
        left_behind(home.path(), name, "x");
    }
    fs::create_dir(home.path().join("gateway-1-0a1b2c3d.jsonl")).unwrap();
    std::os::unix::fs::symlink("notes.txt", home.path().join("agent-2-0a1b2c3d.jsonl")).unwrap();
    let journal = open(home.path(), Kind::Gateway);
    assert_eq!(journal.replay_blocking().unwrap(), []);
    assert_eq!(journal.notices().unwrap().len(), 2);
    let mut left = vec![
        "agent-2-0a1b2c3d.jsonl".to_owned(),
        "cron-1-0a1b2c3d.jsonl".to_owned(),
        "gateway-1-0a1b2c3d.jsonl".to_owned(),
        live,
        "notes.txt".to_owned(),
    ];
    left.sort();
    assert_eq!(names(home.path()), left);
}

#[test]
fn a_file_that_is_written_anew_is_nobody_elses() {
    let home = TempDir::new().unwrap();
    let settings = Settings { limit: 1000, ..Settings::default() };
    let journal = TurnJournal::open(home.path(), Kind::Agent, settings).unwrap();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
    journal.append_blocking(vec![accepted("open", 1)], Promise::Durable).unwrap();
    let first = inode(journal.path());
    // As long as somebody has it open, its number is given to no other file.
    let _held = std::fs::File::open(journal.path()).unwrap();
    for at in 0..10 {
        let turn = format!("turn-{at}");
        journal.append_blocking(vec![accepted(&turn, 1), settled(&turn, 1)], Promise::Durable).unwrap();
        assert_eq!(open(home.path(), Kind::Gateway).replay_blocking().unwrap(), []);
    }
    assert_ne!(inode(journal.path()), first);
    assert_eq!(turns(journal.replay_blocking().unwrap()), ["open"]);
}

#[test]
fn a_turn_whose_old_file_cannot_be_removed_is_not_forgotten() {
    let home = TempDir::new().unwrap();
    let clock = Arc::new(FixedClock::at(BEGIN));
    let lost = left_behind(home.path(), "agent-1-0a1b2c3d.jsonl", &line(&accepted("a", BEGIN)));
    let disk = WatchedDisk::new(|step| match step {
        Step::Remove(_) => Err(std::io::ErrorKind::PermissionDenied.into()),
        _ => Ok(()),
    });
    let settings = Settings { disk, clock: clock.clone(), limit: 1000 };
    let journal = TurnJournal::open(home.path(), Kind::Agent, settings).unwrap();
    assert_eq!(turns(journal.replay_blocking().unwrap()), ["a"]);
    journal.append_blocking(vec![settled("a", BEGIN)], Promise::Durable).unwrap();
    assert!(journal.notices().unwrap()[0].0.contains("tried again"));
    clock.advance(60 * 60_000);
    for at in 0..30 {
        let (turn, now) = (format!("turn-{at}"), BEGIN + at * 60 * 60_000);
        journal.append_blocking(vec![accepted(&turn, now), settled(&turn, now)], Promise::Durable).unwrap();
    }
    assert_eq!(
        open(home.path(), Kind::Agent).replay_blocking().unwrap(),
        [],
        "it is held as long as it is there"
    );
    drop(journal);
    assert!(!lost.exists());
    assert_eq!(names(home.path()).len(), 2);
    let heir = open(home.path(), Kind::Agent);
    let records = progress(heir.replay_blocking().unwrap());
    assert!(records.values().all(|turn| turn.settled.is_some()), "{records:?}");
    drop(heir);
    assert!(names(home.path()).len() < 2, "{:?}", names(home.path()));
}

#[test]
fn what_waits_is_read_and_not_written_again_by_those_who_go_on_with_it() {
    let home = TempDir::new().unwrap();
    let words = "many words ".repeat(10_000);
    let mut record = accepted("a", now());
    if let TurnStep::Accepted(accepted) = &mut record.step {
        let accepted = Arc::make_mut(accepted);
        accepted.message.body = Some(words.clone());
        accepted.message.raw_body = Some(words.clone());
        accepted.message.command_body = Some(words.clone());
        accepted.message.body_for_agent = Some(words.clone());
        accepted.message.body_for_commands = Some(words.clone());
    }
    open(home.path(), Kind::Gateway).append_blocking(vec![record.clone()], Promise::Durable).unwrap();
    let bytes = || {
        names(home.path()).iter().map(|name| home.path().join(name).metadata().unwrap().len()).sum::<u64>()
    };
    assert!(bytes() < words.len() as u64 + 2000, "the words are there once: {}", bytes());
    let written = Arc::new(AtomicUsize::new(0));
    let disk = WatchedDisk::new({
        let written = written.clone();
        move |step| {
            if matches!(step, Step::Write(_)) {
                written.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }
    });
    // Again and again: the beginning of the turn stays where it is, and its steps are found together.
    let begun = Record::new(&TurnId::new("a"), now(), TurnStep::Begun { run: TurnId::new("a") });
    let heir =
        TurnJournal::open(home.path(), Kind::Gateway, Settings { disk, ..Settings::default() }).unwrap();
    assert!(heir.replay_blocking().unwrap() == [record.clone()]);
    assert_eq!(written.load(Ordering::Relaxed), 0);
    heir.append_blocking(vec![begun.clone()], Promise::Durable).unwrap();
    drop(heir);
    for _ in 0..20 {
        let heir = open(home.path(), Kind::Gateway);
        let records = heir.replay_blocking().unwrap();
        assert!(records.len() >= 2 && records[..2] == [record.clone(), begun.clone()]);
        let tool = tool_begun("b", "1", now());
        heir.append_blocking(vec![accepted("b", now()), tool, settled("b", now())], Promise::Durable)
            .unwrap();
    }
    assert!(names(home.path()).len() < 12, "{:?}", names(home.path()));
    let heir = open(home.path(), Kind::Gateway);
    assert!(heir.replay_blocking().unwrap()[..2] == [record, begun]);
    heir.append_blocking(vec![settled("a", now())], Promise::Durable).unwrap();
    assert_eq!(heir.notices().unwrap(), []);
    assert_eq!(names(home.path()).len(), 1);
}

#[test]
fn a_turn_that_was_taken_over_is_known_from_its_beginning_to_its_end() {
    let home = TempDir::new().unwrap();
    let before = now();
    let first = accepted("a", before);
    let begun = tool_begun("a", "1", before);
    open(home.path(), Kind::Gateway)
        .append_blocking(vec![first.clone(), begun.clone()], Promise::Durable)
        .unwrap();
    let heir = open(home.path(), Kind::Gateway);
    heir.replay_blocking().unwrap();
    let turn = TurnId::new("a");
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let records_of = |heir: &TurnJournal| runtime.block_on(heir.records_of(&turn)).unwrap();
    assert_eq!(records_of(&heir), [first.clone(), begun.clone()]);
    let next = Record::new(&turn, now(), TurnStep::Begun { run: turn.clone() });
    heir.append_blocking(vec![next.clone()], Promise::Durable).unwrap();
    assert_eq!(records_of(&heir), [first, begun, next]);
    // Its first journal goes with its end; what is remembered of it does not look as if it waited.
    heir.append_blocking(vec![settled("a", now())], Promise::Durable).unwrap();
    heir.append_blocking(vec![accepted("b", now())], Promise::Durable).unwrap();
    let looks = look(home.path()).unwrap();
    let settled: Vec<_> = looks
        .iter()
        .flat_map(|look| &look.turns)
        .map(|turn| (turn.id.as_str(), turn.progress.settled))
        .collect();
    assert_eq!(settled, [("a", Some(Outcome::Answered)), ("b", None)]);
}

#[test]
fn a_folder_that_is_cleaned_up_meanwhile_costs_nothing() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("turns");
    let journal = open(&folder, Kind::Agent);
    journal.append_blocking(vec![accepted("a", 1)], Promise::Durable).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    journal.append_blocking(vec![accepted("b", 2)], Promise::Durable).unwrap();
    drop(journal);
    assert_eq!(turns(open(&folder, Kind::Agent).replay_blocking().unwrap()), ["a", "b"]);
}

#[test]
fn a_journal_can_be_looked_at_without_taking_it() {
    let home = TempDir::new().unwrap();
    assert!(look(&home.path().join("none")).unwrap().is_empty());
    let text = [accepted("lost", 5), tool_begun("lost", "1", 6)].iter().map(line).collect::<String>();
    left_behind(home.path(), "gateway-4711-0a1b2c3d.jsonl", &format!("{text}garbage\n{{\"tu"));
    let journal = open(home.path(), Kind::Agent);
    journal.append_blocking(vec![accepted("a", 1), settled("a", 2)], Promise::Written).unwrap();
    let looks = look(home.path()).unwrap();
    let [own, lost] = looks.as_slice() else { panic!("{looks:?}") };
    assert_eq!((own.owner.kind, own.owner.pid, own.is_alive), (Kind::Agent, std::process::id().into(), true));
    assert_eq!(own.turns[0].progress.settled, Some(Outcome::Answered));
    assert_eq!((lost.owner.kind, lost.owner.pid, lost.is_alive), (Kind::Gateway, 4711, false));
    assert_eq!((lost.damaged.as_slice(), lost.is_cut_off), (&[3][..], true));
    assert_eq!((lost.turns[0].id.as_str(), lost.turns[0].last_at), ("lost", 6));
    assert!(lost.turns[0].progress.was_interrupted("1"));
    assert_eq!(look(home.path()).unwrap().len(), 2, "nothing was taken");
}

/// A disk that counts writes and syncs, and waits before the steps that it is told to.
struct Gate {
    writes: Arc<AtomicUsize>,
    syncs: Arc<AtomicUsize>,
    /// Told when somebody waits.
    waits: Receiver<()>,
    go: Sender<()>,
}

fn gated(is_gate: impl Fn(Step<'_>, usize) -> bool + Send + Sync + 'static) -> (Arc<WatchedDisk>, Gate) {
    let (writes, syncs) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (waiting, waits) = mpsc::channel();
    let (go, gone) = mpsc::channel();
    let gone = Mutex::new(gone);
    let counted = (writes.clone(), syncs.clone());
    let disk = WatchedDisk::new(move |step| {
        let syncs = match step {
            Step::Sync => counted.1.fetch_add(1, Ordering::SeqCst),
            _ => counted.1.load(Ordering::SeqCst),
        };
        counted.0.fetch_add(usize::from(matches!(step, Step::Write(_))), Ordering::SeqCst);
        if is_gate(step, syncs) {
            waiting.send(()).unwrap();
            gone.lock().unwrap().recv().unwrap();
        }
        Ok(())
    });
    (disk, Gate { writes, syncs, waits, go })
}

#[tokio::test(flavor = "current_thread")]
async fn what_waits_for_the_disk_is_written_together() {
    let home = TempDir::new().unwrap();
    let (disk, gate) = gated(|step, syncs| step == Step::Sync && syncs == 0);
    let settings = Settings { disk, ..Settings::default() };
    let journal = TurnJournal::open(home.path(), Kind::Gateway, settings).unwrap();
    let append = |turn: String| {
        let journal = journal.clone();
        let promise = if turn.ends_with('3') { Promise::Written } else { Promise::Durable };
        tokio::spawn(async move { journal.append(vec![accepted(&turn, 1)], promise).await })
    };
    let mut tasks = vec![append("first".to_owned())];
    tokio::task::yield_now().await;
    gate.waits.recv().unwrap();
    tasks.extend((0..50).map(|at| append(format!("turn-{at}"))));
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    gate.go.send(()).unwrap();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let counted = (gate.writes.load(Ordering::SeqCst), gate.syncs.load(Ordering::SeqCst));
    assert_eq!(counted, (2, 2), "one for the first, one for all others");
    assert_eq!(journal.replay().await.unwrap().len(), 51);
    journal.close().await;
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_only_to_be_written_does_not_wait_for_a_sync() {
    let home = TempDir::new().unwrap();
    let (disk, gate) =
        gated(|step, syncs| matches!(step, Step::CreateNew(_)) || (step == Step::Sync && syncs == 1));
    let settings = Settings { disk, ..Settings::default() };
    let journal = TurnJournal::open(home.path(), Kind::Gateway, settings).unwrap();
    let append = |turn: &'static str, promise| {
        let journal = journal.clone();
        tokio::spawn(async move { journal.append(vec![accepted(turn, 1)], promise).await })
    };
    let first = append("first", Promise::Durable);
    tokio::task::yield_now().await;
    gate.waits.recv().unwrap();
    let durable = append("durable", Promise::Durable);
    let written = append("written", Promise::Written);
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    gate.go.send(()).unwrap();
    first.await.unwrap().unwrap();
    written.await.unwrap().unwrap();
    gate.waits.recv().unwrap();
    assert!(!durable.is_finished());
    gate.go.send(()).unwrap();
    durable.await.unwrap().unwrap();
    journal.close().await;
}

#[test]
fn the_name_is_durable_before_anything_is_acknowledged() {
    let home = TempDir::new().unwrap();
    let steps = Arc::new(Mutex::new(Vec::new()));
    let told = steps.clone();
    let disk = WatchedDisk::new(move |step| {
        let name = match step {
            Step::CreateNew(_) => "create",
            Step::Rename(..) => "rename",
            Step::Write(_) => "write",
            Step::Sync => "sync",
            Step::SyncFolder(_) => "sync folder",
            _ => "other",
        };
        told.lock().unwrap().push(name);
        Ok(())
    });
    let settings = Settings { disk, ..Settings::default() };
    let journal = TurnJournal::open(home.path(), Kind::Agent, settings).unwrap();
    journal.append_blocking(vec![accepted("a", 1)], Promise::Durable).unwrap();
    assert_eq!(*steps.lock().unwrap(), ["create", "rename", "write", "sync", "sync folder"]);
    journal.append_blocking(vec![settled("a", 1)], Promise::Durable).unwrap();
    assert_eq!(steps.lock().unwrap()[5..], ["write", "sync"]);
}
