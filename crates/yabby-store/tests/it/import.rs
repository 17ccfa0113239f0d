//! Folders of OpenBot and OpenClaudeCode, as the seed documents describe them.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;
use yabby_domain::id::AgentId;
use yabby_domain::session::adopt::Program;
use yabby_domain::session::key::SessionKey;
use yabby_domain::transcript::file_name::TranscriptId;
use yabby_store::files::sessions::{SessionFile, Settings};
use yabby_store::files::transcripts::{Adopted, TranscriptFolder};
use yabby_store::import::{ImportError, Mode, Outcome, Target, adopt, read};

const USER: &str = r#"{"type":"message","timestamp":"2026-01-31T14:00:01.000Z","message":{"role":"user","content":[{"type":"text","text":"Hello!"}]}}"#;
const ASSISTANT: &str = r#"{"type":"message","timestamp":"2026-01-31T14:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Hi!"}]},"usage":{"inputTokens":100,"outputTokens":50}}"#;

struct Story {
    source: TempDir,
    target: TempDir,
}

impl Story {
    fn new() -> Self {
        Self { source: TempDir::new().unwrap(), target: TempDir::new().unwrap() }
    }

    fn write(&self, file: &str, text: &str) {
        let path = self.source.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn folder(&self, agent: &AgentId) -> PathBuf {
        self.target.path().join(format!("agents/{agent}/sessions"))
    }

    fn import(&self, program: Program, mode: Mode) -> Result<Vec<Outcome>, ImportError> {
        let source = read(program, self.source.path())?;
        let folder = |agent: &AgentId| {
            let folder = self.folder(agent);
            if mode == Mode::Real {
                fs::create_dir_all(&folder).unwrap();
            }
            folder.join("sessions.json")
        };
        let workspace = |_: &AgentId| "/w".to_owned();
        let target = Target { default_agent: AgentId::default(), store: &folder, workspace: &workspace };
        adopt(program, &source, &target, mode)
    }

    fn told(&self, program: Program, mode: Mode) -> Vec<(String, String, Adopted)> {
        let outcomes = self.import(program, mode).unwrap();
        let mut told: Vec<_> = outcomes
            .into_iter()
            .map(|outcome| (outcome.from, outcome.key.as_str().to_owned(), outcome.adopted))
            .collect();
        told.sort_by(|a, b| a.1.cmp(&b.1));
        told
    }

    /// What the model would be told in a session.
    fn context(&self, key: &str) -> Vec<String> {
        let key = SessionKey::new(key);
        let folder = self.folder(&key.agent_id());
        let store = SessionFile::open(folder.join("sessions.json"), Settings::default()).unwrap();
        let entry = store.get_blocking(&key).unwrap().expect("a record");
        let id = TranscriptId::new(entry.session_id().unwrap(), None).unwrap();
        let context = TranscriptFolder::open(folder).context_blocking(&id).unwrap().expect("a transcript");
        let text = |message: &yabby_domain::message::Message| match message.content() {
            yabby_domain::message::Content::Text(text) => text.to_owned(),
            _ => message.blocks().iter().filter_map(|block| block["text"].as_str()).collect(),
        };
        context.messages.iter().map(text).collect()
    }
}

/// Every file with its content and time.
fn everything(folder: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let modified = fs::metadata(&path).unwrap().modified().unwrap();
                all.push((path.clone(), fs::read(&path).unwrap(), modified));
            }
        }
    }
    all.sort();
    all
}

fn openbot() -> Story {
    let story = Story::new();
    let index = r#"{
        // as OpenBot writes it
        "agent:default:5054873275": {"sessionId": "s1", "updatedAt": 1769868002000,
            "deliveryContext": {"channel": "telegram", "target": "5054873275", "account": "default"}},
        "agent:default:telegram:group:-100": {"sessionId": "s2", "updatedAt": 1769868001000, "chatType": "group"},
    }"#;
    story.write("agents/default/sessions/sessions.json", index);
    let header =
        r#"{"type":"session","version":2,"id":"s1","timestamp":"2026-01-31T14:00:00.000Z","cwd":"/x"}"#;
    story.write("agents/default/sessions/s1.jsonl", &format!("{header}\n{USER}\n{ASSISTANT}\n"));
    story.write("agents/default/sessions/old.jsonl", &format!("{header}\n{USER}\n"));
    let database = Connection::open(story.source.path().join("openbot.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, session_key TEXT, updated_at INTEGER);
             CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, created_at TEXT);
             INSERT INTO sessions VALUES ('s1', 'agent:default:5054873275', 1769868002),
                 ('s2', 'agent:default:telegram:group:-100', 1769868001), ('s3', 'agent:default:77', 1769868000);
             INSERT INTO messages (session_id, role, content, created_at) VALUES
                 ('s1', 'user', 'not this one', '2026-01-31 14:00:00'),
                 ('s2', 'user', 'to the group', '2026-01-31 14:00:00'),
                 ('s2', 'assistant', 'from the group', '2026-01-31 14:00:01'),
                 ('s3', 'user', 'only in the database', '2026-01-31 14:00:00');",
        )
        .unwrap();
    story
}

#[test]
fn a_folder_of_openbot_is_adopted_and_left_untouched() {
    let story = openbot();
    let before = everything(story.source.path());
    let all_new = [
        ("agent:default:earlier:old", "agent:main:earlier:old"),
        ("agent:default:5054873275", "agent:main:telegram:dm:5054873275"),
        ("agent:default:77", "agent:main:telegram:dm:77"),
        ("agent:default:telegram:group:-100", "agent:main:telegram:group:-100"),
    ]
    .map(|(from, key)| (from.to_owned(), key.to_owned(), Adopted::New));
    assert_eq!(story.told(Program::OpenBot, Mode::DryRun), all_new);
    assert_eq!(fs::read_dir(story.target.path()).unwrap().count(), 0, "a dry run writes nothing");
    assert_eq!(story.told(Program::OpenBot, Mode::Real), all_new);
    assert_eq!(story.context("agent:main:telegram:dm:5054873275"), ["Hello!", "Hi!"]);
    assert_eq!(story.context("agent:main:telegram:group:-100"), ["to the group", "from the group"]);
    assert_eq!(story.context("agent:main:telegram:dm:77"), ["only in the database"]);
    assert_eq!(everything(story.source.path()), before, "the source is untouched");
}

#[test]
fn importing_again_adds_only_what_is_new() {
    let story = openbot();
    story.import(Program::OpenBot, Mode::Real).unwrap();
    let after_first = everything(story.target.path());
    let again = story.told(Program::OpenBot, Mode::Real);
    assert!(again.iter().all(|(_, _, adopted)| *adopted == Adopted::Known), "{again:?}");
    assert_eq!(everything(story.target.path()), after_first);

    let path = story.source.path().join("agents/default/sessions/s1.jsonl");
    let more = USER.replace("Hello!", "More!").replace("14:00:01", "15:00:00");
    fs::write(&path, fs::read_to_string(&path).unwrap() + &more + "\n").unwrap();
    let grown = story.told(Program::OpenBot, Mode::Real);
    assert_eq!(grown[1].2, Adopted::Grown);
    assert_eq!(story.context("agent:main:telegram:dm:5054873275"), ["Hello!", "Hi!", "More!"]);
}

#[test]
fn what_was_gone_on_with_here_stays() {
    let story = openbot();
    story.import(Program::OpenBot, Mode::Real).unwrap();
    let here = story.folder(&AgentId::default()).join("s1.jsonl");
    let gone_on = fs::read_to_string(&here).unwrap() + &USER.replace("Hello!", "Here!") + "\n";
    fs::write(&here, &gone_on).unwrap();
    let there = story.source.path().join("agents/default/sessions/s1.jsonl");
    fs::write(&there, fs::read_to_string(&there).unwrap() + &USER.replace("Hello!", "There!") + "\n")
        .unwrap();
    assert_eq!(story.told(Program::OpenBot, Mode::Real)[1].2, Adopted::GoneOnHere);
    assert_eq!(fs::read_to_string(&here).unwrap(), gone_on);
}

#[test]
fn a_key_that_is_taken_here_is_not_taken_over() {
    let story = openbot();
    let folder = story.folder(&AgentId::default());
    fs::create_dir_all(&folder).unwrap();
    let own = r#"{"agent:main:telegram:dm:5054873275":{"sessionId":"mine","updatedAt":1}}"#;
    fs::write(folder.join("sessions.json"), own).unwrap();
    let told = story.told(Program::OpenBot, Mode::Real);
    assert_eq!(told[1].1, "agent:main:telegram:dm:5054873275:imported:s1");
    let store = SessionFile::open(folder.join("sessions.json"), Settings::default()).unwrap();
    let mine = store.get_blocking(&SessionKey::new("agent:main:telegram:dm:5054873275")).unwrap().unwrap();
    assert_eq!(mine.session_id(), Some("mine"));
}

#[test]
fn a_folder_of_openclaudecode_is_adopted() {
    let story = Story::new();
    let database = Connection::open(story.source.path().join("gateway.db")).unwrap();
    // As the program does while it runs: what was written last is beside the database.
    database
        .execute_batch(
            "PRAGMA journal_mode = WAL;
             CREATE TABLE sessions (sessionId TEXT PRIMARY KEY, sessionKey TEXT, createdAt INTEGER,
                 updatedAt INTEGER, messageCount INTEGER, compactionCount INTEGER, transcriptPath TEXT);
             INSERT INTO sessions VALUES ('new', 'telegram:42', 1, 1769868009000, 2, 3, '/gone/new.jsonl'),
                 ('older', 'telegram:42', 1, 1769868000000, 1, 0, '/gone/older.jsonl');
             CREATE TABLE memory_chunks (id TEXT, session_key TEXT, text TEXT, source TEXT, timestamp INTEGER, created_at INTEGER);
             INSERT INTO memory_chunks VALUES ('c', 'telegram:42', 'x', 'session', 1, 1);",
        )
        .unwrap();
    let header = r#"{"type":"session","version":1,"id":"new","timestamp":"2026-01-31T14:00:00.000Z"}"#;
    let plain = |role: &str, text: &str| {
        format!(
            r#"{{"type":"message","timestamp":"2026-01-31T14:00:01.000Z","message":{{"role":"{role}","content":"{text}","channel":"telegram","from":"7"}}}}"#
        )
    };
    let compaction = r#"{"type":"compaction","timestamp":"2026-01-31T14:00:01.000Z","summary":"They met.","removedCount":9}"#;
    let lines = [header.to_owned(), compaction.to_owned(), plain("user", "a"), plain("assistant", "b")];
    story.write("sessions/new.jsonl", &(lines.join("\n") + "\n"));
    story.write("sessions/older.jsonl", &(plain("user", "before") + "\n"));
    story.write("sessions/unknown.jsonl", &(plain("user", "no index") + "\n"));
    story.write("config.yaml", "gateway:\n  autoResponder:\n    sessionMaxAgeMs: 14400000\n    other: no\n");
    let before = everything(story.source.path());
    let told = story.told(Program::OpenClaudeCode, Mode::Real);
    let keys: Vec<&str> = told.iter().map(|(_, key, _)| key.as_str()).collect();
    let expected =
        ["agent:main:telegram:dm:42", "agent:main:telegram:dm:42:imported:older", "agent:main:telegram:dm:7"];
    assert_eq!(keys, expected);
    let context = story.context("agent:main:telegram:dm:42");
    assert_eq!(context.len(), 3, "{context:?}");
    assert_eq!(context[1..], ["a", "b"]);
    assert_eq!(story.context("agent:main:telegram:dm:42:imported:older"), ["before"]);
    let source = read(Program::OpenClaudeCode, story.source.path()).unwrap();
    let settings: Vec<&str> = source.settings.iter().map(|setting| setting.path).collect();
    assert_eq!(settings, ["session.reset"]);
    assert_eq!(source.left.len(), 2, "the chunks, and a setting: {:?}", source.left);
    assert_eq!(everything(story.source.path()), before, "the source is untouched");
}

#[test]
fn a_folder_of_something_else_is_refused() {
    let story = Story::new();
    story.write("notes.txt", "x");
    for program in [Program::OpenBot, Program::OpenClaudeCode] {
        let error = story.import(program, Mode::Real).unwrap_err().to_string();
        assert!(error.contains("holds nothing of"), "{error}");
    }
    let error = read(Program::OpenBot, &story.source.path().join("nope")).unwrap_err().to_string();
    assert!(error.contains("is no folder"), "{error}");
    story.write("broken.db", "this is no database, but longer than its header would be ................");
    let error = story.import(Program::OpenBot, Mode::Real).unwrap_err().to_string();
    assert!(error.contains("broken.db"), "{error}");
}

/// A transcript that began on a day of January, with one question and one answer.
fn conversation(day: u32, question: &str) -> String {
    let line = |role: &str, text: &str| {
        format!(r#"{{"type":"message","message":{{"role":"{role}","content":"{text}"}}}}"#)
    };
    let header = format!(r#"{{"type":"session","id":"x","timestamp":"2026-01-{day:02}T10:00:00.000Z"}}"#);
    [header, line("user", question), line("assistant", "yes")].join("\n") + "\n"
}

#[test]
fn sessions_of_one_name_are_kept_apart() {
    // OpenBot calls a session `main`, whosever it is.
    let (mut story, other) = (Story::new(), Story::new());
    story.write("agents/main/sessions/sessions.json", r#"{"agent:main:5": {"sessionId": "main"}}"#);
    story.write("agents/main/sessions/main.jsonl", &conversation(1, "five"));
    story.write("agents/ops/sessions/main.jsonl", &conversation(2, "ops"));
    other.write("agents/main/sessions/sessions.json", r#"{"agent:main:7": {"sessionId": "main"}}"#);
    other.write("agents/main/sessions/main.jsonl", &conversation(3, "seven"));
    for expected in [Adopted::New, Adopted::Known] {
        let told = story.told(Program::OpenBot, Mode::Real);
        assert_eq!(told.iter().map(|told| told.2).collect::<Vec<_>>(), [expected; 2], "{told:?}");
        let first = std::mem::replace(&mut story.source, TempDir::new().unwrap());
        for (path, text, _) in everything(other.source.path()) {
            let name = path.strip_prefix(other.source.path()).unwrap();
            story.write(name.to_str().unwrap(), std::str::from_utf8(&text).unwrap());
        }
        let told = story.told(Program::OpenBot, Mode::Real);
        assert_eq!(told.iter().map(|told| told.2).collect::<Vec<_>>(), [expected], "{told:?}");
        story.source = first;
    }
    assert_eq!(story.context("agent:main:telegram:dm:5"), ["five", "yes"]);
    assert_eq!(story.context("agent:main:telegram:dm:7"), ["seven", "yes"]);
    assert_eq!(story.context("agent:ops:earlier:main"), ["ops", "yes"]);
}

#[test]
fn every_session_of_a_person_gets_a_key() {
    let story = Story::new();
    let database = Connection::open(story.source.path().join("gateway.db")).unwrap();
    database
        .execute_batch("CREATE TABLE sessions (session_id TEXT, session_key TEXT, updated_at INTEGER)")
        .unwrap();
    for number in 1..=3 {
        story.write(
            &format!("sessions/session-{number}.jsonl"),
            &conversation(number, &format!("no. {number}")),
        );
        database
            .execute(
                "INSERT INTO sessions VALUES (?1, 'telegram:5', ?2)",
                (format!("session-{number}"), number),
            )
            .unwrap();
    }
    drop(database);
    for _ in 0..2 {
        story.told(Program::OpenClaudeCode, Mode::Real);
        let keys = ["", ":imported:session-", ":imported:session-1"];
        for (key, said) in keys.iter().zip(["no. 3", "no. 2", "no. 1"]) {
            assert_eq!(story.context(&format!("agent:main:telegram:dm:5{key}")), [said, "yes"]);
        }
    }
}

#[test]
fn a_session_with_an_unsafe_id_does_not_keep_the_others_back() {
    let story = Story::new();
    let long = "x".repeat(300);
    let index = format!(
        r#"{{"agent:main:1": {{"sessionId": "../evil"}}, "agent:main:2": {{"sessionId": "/evil"}},
            "agent:main:3": {{"sessionId": "{long}"}}, "agent:main:4": {{"sessionId": "good"}}}}"#
    );
    story.write("agents/main/sessions/sessions.json", &index);
    story.write("agents/main/evil.jsonl", &conversation(1, "outside"));
    story.write("agents/main/sessions/good.jsonl", &conversation(1, "inside"));
    let told = story.told(Program::OpenBot, Mode::Real);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(story.context("agent:main:telegram:dm:4"), ["inside", "yes"]);
    let left = read(Program::OpenBot, story.source.path()).unwrap().left;
    assert_eq!(left.len(), 3, "{left:?}");
}

#[test]
fn the_number_of_a_row_is_not_taken_for_the_id_of_another_session() {
    let story = Story::new();
    let database = Connection::open(story.source.path().join("bot.db")).unwrap();
    database
        .execute_batch(
            "CREATE TABLE sessions (id INTEGER PRIMARY KEY, session_id TEXT, session_key TEXT);
             CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id INTEGER, role TEXT, content TEXT);
             INSERT INTO sessions VALUES (1, '2', 'telegram:5'), (2, '9', 'telegram:7');
             INSERT INTO messages VALUES (1, 1, 'user', 'five speaks'), (2, 2, 'user', 'seven speaks');",
        )
        .unwrap();
    drop(database);
    story.told(Program::OpenClaudeCode, Mode::Real);
    assert_eq!(story.context("agent:main:telegram:dm:5"), ["five speaks"]);
    assert_eq!(story.context("agent:main:telegram:dm:7"), ["seven speaks"]);
}

#[test]
fn a_transcript_that_a_record_names_is_taken_once() {
    let story = Story::new();
    let index = r#"{"agent:main:5": {"sessionId": "s", "sessionFile": "/x/2026_s.jsonl"}}"#;
    story.write("agents/main/sessions/sessions.json", index);
    story.write("agents/main/sessions/2026_s.jsonl", &conversation(1, "five"));
    let told = story.told(Program::OpenBot, Mode::Real);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(story.context("agent:main:telegram:dm:5"), ["five", "yes"]);
}
