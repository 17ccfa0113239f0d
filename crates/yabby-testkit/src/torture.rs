//! A state folder in which everything is damaged that can be: what `yabby doctor` is held against.
//!
//! Every damage is planted with the code under which it must be found. With [`Damage::Repairable`] a repair
//! leaves a folder without damage; [`Damage::Everything`] also has what only a person can put right.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// What was planted, and the code under which it must be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planted {
    pub code: &'static str,
    pub path: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// One or two of each kind: quick to make and to mend.
    Few,
    Repairable,
    Everything,
}

/// Makes the folder, with so many sound sessions of the agent `main` among the others.
pub fn build(state: &Path, damage: Damage, sessions: usize) -> io::Result<Vec<Planted>> {
    let mut torture = Torture { state: state.to_owned(), damage, planted: Vec::new() };
    fs::create_dir_all(state)?;
    torture.config()?;
    torture.main_agent(sessions)?;
    torture.damaged_stores()?;
    torture.transcripts()?;
    torture.locks_and_drafts()?;
    torture.journals()?;
    if damage == Damage::Everything {
        torture.beyond_repair()?;
    }
    torture.permissions()?;
    Ok(torture.planted)
}

/// A process that there never is.
pub const NOBODY: i32 = i32::MAX;
const DRAFT_ID: &str = "5d1c7a10-6f0e-4c52-9a35-2b1f0c6f8e11";
const TIME: i64 = 1_768_469_400_000;

struct Torture {
    state: PathBuf,
    damage: Damage,
    planted: Vec<Planted>,
}

impl Torture {
    fn plant(&mut self, code: &'static str, path: PathBuf) {
        self.planted.push(Planted { code, path });
    }

    fn sessions(&self, agent: &str) -> io::Result<PathBuf> {
        let folder = self.state.join("agents").join(agent).join("sessions");
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A file of an agent's sessions.
    fn write(&self, agent: &str, name: &str, text: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.sessions(agent)?.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }

    fn config(&mut self) -> io::Result<()> {
        fs::write(self.state.join("openclaw.json"), "{\n  // mine\n  \"agents\": {}\n}\n")?;
        fs::create_dir_all(self.state.join("credentials"))?;
        fs::write(
            self.state.join("credentials/telegram-allowFrom.json"),
            "{\"version\":1,\"allowFrom\":[]}\n",
        )?;
        fs::create_dir_all(self.state.join("cron"))?;
        fs::write(self.state.join("cron/jobs.json"), "{\"version\":1,\"jobs\":[]}")
    }

    /// A store with sound sessions, and with records that are strange but no damage.
    fn main_agent(&mut self, sessions: usize) -> io::Result<()> {
        let folder = self.sessions("main")?;
        let mut records = Vec::new();
        for number in 0..sessions {
            let id = session_id(number);
            records.push((format!("agent:main:telegram:dm:{number}"), record(&id, "")));
            fs::write(folder.join(format!("{id}.jsonl")), conversation(&id))?;
        }
        for name in TRANSCRIPTS {
            records.push((format!("agent:main:{name}"), record(name, "")));
        }
        let elsewhere = self.state.join("elsewhere.jsonl");
        fs::write(&elsewhere, conversation("elsewhere"))?;
        fs::write(folder.join("moved.jsonl"), conversation("moved"))?;
        fs::write(folder.join("shared.jsonl"), conversation("shared"))?;
        fs::write(folder.join("topical-topic-7.jsonl"), conversation("topical"))?;
        let deep = format!("{}{}", "[".repeat(600), "]".repeat(600));
        let named =
            |id: &str, path: &Path| record(id, &format!(",\"sessionFile\":{:?}", path.display().to_string()));
        for (key, record) in [
            ("agent:main:null", "null".to_owned()),
            ("agent:main:wrong", "{\"sessionId\":7,\"updatedAt\":\"yesterday\"}".to_owned()),
            ("agent:main:deep", format!("{{\"sessionId\":\"deep\",\"updatedAt\":1,\"x\":{deep}}}")),
            ("agent:main:silent", record("never-said-anything", "")),
            ("agent:main:lost", record("lost", ",\"systemSent\":true")),
            ("agent:main:outside", named("elsewhere", &elsewhere)),
            ("agent:main:moved", named("moved", Path::new("/home/somebody/else/moved.jsonl"))),
            ("agent:main:one", record("shared", "")),
            ("agent:main:other", record("shared", "")),
            ("agent:main:topical", record("topical", "")),
        ] {
            records.push((key.to_owned(), record));
        }
        let store = self.write("main", "sessions.json", store(&records))?;
        for code in [
            "record-no-object",
            "record-wrong-type",
            "record-too-deep",
            "record-without-transcript",
            "record-lost-transcript",
            "session-file-outside",
            "session-file-moved",
            "transcript-shared",
        ] {
            self.plant(code, store.clone());
        }
        // Nobody's record, once with a copy of the store that remembers it, once without; and such as were
        // put away.
        let orphan = self.write("main", "orphan.jsonl", conversation("orphan"))?;
        let remembered = self.write("main", "remembered.jsonl", conversation("remembered"))?;
        self.write(
            "main",
            "sessions.json.bak.2026-01-01",
            store_of_one("agent:main:slack:dm:u1", "remembered"),
        )?;
        self.plant("transcript-orphaned", orphan);
        self.plant("transcript-orphaned", remembered);
        for archive in ["deleted.2026-01-15T09-30-00.000Z", "reset.2026-01-15T09-30-00.000Z", "bak-7-17"] {
            self.write("main", &format!("old.jsonl.{archive}"), conversation("old"))?;
        }
        let notes = self.write("main", "notes.txt", "mine")?;
        self.plant("foreign-file", notes);
        let hidden = self.write("main", ".hidden.jsonl", conversation("hidden"))?;
        self.plant("transcript-unsafe-name", hidden);
        symlink("../../../elsewhere.jsonl", folder.join("link.jsonl"))?;
        self.plant("link-outside", folder.join("link.jsonl"));
        symlink("nowhere", folder.join("dangling.jsonl"))?;
        self.plant("link-dangling", folder.join("dangling.jsonl"));
        fs::create_dir_all(self.state.join("agents/Not An Agent"))?;
        self.plant("foreign-file", self.state.join("agents/Not An Agent"));
        Ok(())
    }

    /// An agent a kind of damage. Each has two records and their transcripts.
    fn damaged_stores(&mut self) -> io::Result<()> {
        let whole = |agent: &str| {
            store(&[
                (format!("agent:{agent}:main"), record(&format!("{agent}-a"), ",\"label\":\"first\"")),
                (
                    format!("agent:{agent}:discord:channel:7"),
                    record(&format!("{agent}-b"), ",\"label\":\"second\""),
                ),
            ])
        };
        let plain: [(&str, &str, Vec<u8>); 11] = [
            ("cut", "store-damaged", whole("cut")[..whole("cut").len() - 40].into()),
            ("garbage", "store-damaged", whole("garbage").replacen("},", "}, \u{0}\u{0}?? {{ ]", 1).into()),
            ("glued", "store-damaged", format!("{}{}", whole("glued"), whole("glued")).into()),
            ("page", "store-damaged", "<html>Bad gateway</html>".into()),
            ("endless", "store-damaged", format!("{{\"a\":{}", "[".repeat(200_000)).into()),
            ("list", "store-no-object", "[{\"sessionId\":\"list-a\"}]".into()),
            ("binary", "store-not-utf8", with_bad_byte(&whole("binary"))),
            ("twice", "store-repeated-key", whole("twice").replace("discord:channel:7", "main").into()),
            (
                "comments",
                "store-json5",
                format!("// mine\n{}", whole("comments").replace("\n}", ",\n}")).into(),
            ),
            ("marked", "store-byte-order-mark", format!("\u{feff}{}", whole("marked")).into()),
            ("blank", "store-empty", "".into()),
        ];
        for (agent, code, text) in plain {
            if self.damage == Damage::Few && !matches!(agent, "garbage" | "twice") {
                continue;
            }
            let store = self.write(agent, "sessions.json", text)?;
            self.plant(code, store);
            self.two_transcripts(agent)?;
        }
        if self.damage == Damage::Few {
            return Ok(());
        }
        self.two_transcripts("none")?;
        self.plant("store-missing", self.sessions("none")?.join("sessions.json"));
        self.two_transcripts("older")?;
        let older = self.state.join("agents/older/sessions.json");
        fs::write(&older, whole("older"))?;
        self.plant("store-older-place", older);
        Ok(())
    }

    fn two_transcripts(&self, agent: &str) -> io::Result<()> {
        for id in ["a", "b"].map(|name| format!("{agent}-{name}")) {
            self.write(agent, &format!("{id}.jsonl"), conversation(&id))?;
        }
        Ok(())
    }

    /// A transcript a kind of damage; all have records.
    fn transcripts(&mut self) -> io::Result<()> {
        let deep = format!(
            "{{\"type\":\"custom\",\"customType\":\"deep\",\"data\":{}1{},\"id\":\"d\",\"parentId\":\"b\"}}",
            "[".repeat(600),
            "]".repeat(600)
        );
        let surrogate = message("c", "b", "half: \\ud83d");
        let answer = message("c", "b", "go on");
        let head = |id: &str| header(id, 3);
        let body = |lines: &[&str]| format!("{}{}\n", first_two(), lines.join("\n"));
        let table: [(&'static str, String); 17] = [
            ("transcript-not-json", format!("{}\n{}", head("not-json"), body(&["garbage", &answer]))),
            (
                "transcript-cut-off",
                format!("{}\n{}{}", head("cut-off"), body(&[&answer]), "{\"type\":\"mess"),
            ),
            ("transcript-no-entry", format!("null\n{}\n{}", head("no-entry"), body(&["7", &answer]))),
            ("transcript-unterminated", format!("{}\n{}", head("unterminated"), body(&[&answer]).trim_end())),
            ("transcript-no-header", body(&[&answer])),
            (
                "transcript-repeated-id",
                format!(
                    "{}\n{}",
                    head("repeated-id"),
                    body(&[&message("a", "b", "again"), &message("d", "a", "below")])
                ),
            ),
            (
                "transcript-unknown-parent",
                format!("{}\n{}", head("unknown-parent"), body(&[&message("d", "lost", "later")])),
            ),
            (
                "transcript-parent-cycle",
                format!(
                    "{}\n{}",
                    head("parent-cycle"),
                    body(&[&message("x", "y", "chicken"), &message("y", "x", "egg")])
                ),
            ),
            ("transcript-none", "this is a log\nof something else\n".to_owned()),
            (
                "transcript-begins-in-the-middle",
                format!("{}\n{}\n", head("middle"), message("c", "b", "later")),
            ),
            (
                "transcript-not-utf8",
                format!("{}\n{}", head("not-utf8"), body(&[&message("c", "b", "BAD-BYTE")])),
            ),
            ("transcript-too-deep", format!("{}\n{}", head("too-deep"), body(&[&deep]))),
            ("transcript-lone-surrogate", format!("{}\n{}", head("lone"), body(&[&surrogate]))),
            (
                "transcript-second-header",
                format!("{}\n{}{}\n", head("second"), body(&[&answer]), head("second-again")),
            ),
            (
                "transcript-older-version",
                format!(
                    "{}\n{}\n",
                    header("older", 1),
                    r#"{"type":"message","message":{"role":"user","content":"long ago","timestamp":1}}"#
                ),
            ),
            ("transcript-empty", String::new()),
            (
                "transcript-repeated-id",
                format!("{}\n{}", head("repeated-line"), body(&[&answer, &message("a", "", "hello")])),
            ),
        ];
        for ((code, text), name) in table.into_iter().zip(TRANSCRIPTS) {
            if self.damage == Damage::Few && !matches!(name, "not-json" | "no-header" | "none") {
                continue;
            }
            let bytes = replaced(text.as_bytes(), b"BAD-BYTE", b"bad \xff byte");
            let path = self.write("main", &format!("{name}.jsonl"), bytes)?;
            self.plant(code, path);
        }
        Ok(())
    }

    fn locks_and_drafts(&mut self) -> io::Result<()> {
        let lock =
            self.write("main", "sessions.json.lock", format!("{{\"pid\":{NOBODY},\"startedAt\":{TIME}}}"))?;
        age(&lock)?;
        self.plant("lock-stale", lock);
        let text = format!("{{\n  \"pid\": {NOBODY},\n  \"createdAt\": \"2026-01-15T09:30:00.000Z\"\n}}");
        let lock = self.write("main", "shared.jsonl.lock", text)?;
        self.plant("lock-stale", lock);
        let lock = self.write("main", "moved.jsonl.lock", "whose?")?;
        age(&lock)?;
        self.plant("lock-foreign", lock);
        let known = fs::read(self.sessions("main")?.join("shared.jsonl"))?;
        for (name, text) in [
            (format!("shared.jsonl.{NOBODY}.{DRAFT_ID}.tmp"), known),
            (format!("shared.jsonl.repair-{NOBODY}-17.tmp"), conversation("something else").into_bytes()),
            (
                format!("sessions.json.{NOBODY}.{DRAFT_ID}.tmp"),
                store_of_one("agent:main:drafted", "drafted").into_bytes(),
            ),
            (format!("sessions.json.lock.{NOBODY}.{DRAFT_ID}.tmp"), b"{}".to_vec()),
        ] {
            let draft = self.write("main", &name, text)?;
            self.plant("draft-left", draft);
        }
        Ok(())
    }

    fn journals(&mut self) -> io::Result<()> {
        let change = |number: usize, agent: &str, key: &str| {
            let record = record(&format!("{agent}-{key}"), "");
            format!(
                "{{\"n\":{number},\"at\":\"2026-01-15T09:30:00.000Z\",\"key\":\"agent:{agent}:{key}\",\"begun\":{record}}}\n"
            )
        };
        let first = "{\"journal\":\"sessions\",\"version\":1,\"id\":\"8c0e7d52\"}\n";
        let lines = format!(
            "{first}{}not a change\n{}{{\"n\":3,\"at\":\"2026-0",
            change(1, "main", "begun"),
            change(2, "main", "later")
        );
        let journal = self.write("main", "sessions.json.journal", lines)?;
        for code in ["journal-waiting", "journal-damaged-line", "journal-cut-off"] {
            self.plant(code, journal.clone());
        }
        let unapplied = self.write("main", "sessions.json.unapplied", change(9, "main", "gone"))?;
        self.plant("changes-unapplied", unapplied);
        // A store that is damaged has changes waiting, too.
        let lines = format!("{first}{}", change(1, "garbage", "begun"));
        let journal = self.write("garbage", "sessions.json.journal", lines)?;
        self.plant("journal-waiting", journal);
        let waiting = format!("{}\n{}\n{{\"torn", header("waiting", 3), message("q", "", "anybody there?"));
        let journal = self.write("main", "waiting.jsonl.journal", waiting)?;
        self.plant("transcript-journal-waiting", journal);
        self.plant("transcript-orphaned", self.sessions("main")?.join("waiting.jsonl"));
        let overtaken = format!("{}\n{}\n", header("shared", 3), message("overtaken", "", "lost question"));
        let journal = self.write("main", "shared.jsonl.journal", overtaken)?;
        self.plant("transcript-journal-overtaken", journal);
        Ok(())
    }

    fn beyond_repair(&mut self) -> io::Result<()> {
        let folder = self.sessions("blocked")?.join("sessions.json");
        fs::create_dir_all(&folder)?;
        self.plant("store-unreadable", folder);
        let folder = self.sessions("main")?.join("folder.jsonl");
        fs::create_dir_all(&folder)?;
        self.plant("transcript-unreadable", folder);
        let pipe = self.sessions("main")?.join("pipe.jsonl");
        std::process::Command::new("mkfifo").arg(&pipe).status()?;
        self.plant("transcript-unreadable", pipe);
        let profiles = self.state.join("agents/main/agent/auth-profiles.json");
        fs::create_dir_all(self.state.join("agents/main/agent"))?;
        fs::write(&profiles, "{\"version\":1,")?;
        self.plant("json-damaged", profiles);
        symlink("../..", self.state.join("agents/escaped"))?;
        self.plant("folder-outside", self.state.join("agents/escaped"));
        fs::create_dir_all(self.state.join("backups/doctor-2026.unfinished"))?;
        self.plant("backup-unfinished", self.state.join("backups/doctor-2026.unfinished"));
        fs::write(self.state.join("openclaw.json"), "{ \"agents\": ")?;
        self.plant("config-unreadable", self.state.join("openclaw.json"));
        Ok(())
    }

    fn permissions(&mut self) -> io::Result<()> {
        let closed = self.write("main", "closed.jsonl", conversation("closed"))?;
        self.plant("transcript-orphaned", closed.clone());
        let modes = [
            ("open-to-others", self.state.join("openclaw.json"), 0o644),
            ("open-to-others", self.state.join("credentials"), 0o755),
            ("open-to-others", self.state.join("credentials/telegram-allowFrom.json"), 0o666),
            ("open-to-others", self.state.clone(), 0o755),
            ("closed-to-owner", closed, 0o400),
        ];
        for (code, path, mode) in modes {
            fs::set_permissions(&path, Permissions::from_mode(mode))?;
            self.plant(code, path);
        }
        let sessions = self.sessions("main")?;
        self.plant("open-to-others", sessions);
        Ok(())
    }
}

/// Sessions of `main` whose transcripts are damaged, in the order of the damages.
const TRANSCRIPTS: [&str; 17] = [
    "not-json",
    "cut-off",
    "no-entry",
    "unterminated",
    "no-header",
    "repeated-id",
    "unknown-parent",
    "parent-cycle",
    "none",
    "middle",
    "not-utf8",
    "too-deep",
    "lone",
    "second",
    "older",
    "empty",
    "repeated-line",
];

fn session_id(number: usize) -> String {
    format!("00000000-0000-4000-8000-{number:012}")
}

fn record(id: &str, more: &str) -> String {
    format!("{{\"sessionId\":\"{id}\",\"updatedAt\":{TIME}{more}}}")
}

/// As the reference writes it, but for the records, which are on one line each.
fn store(records: &[(String, String)]) -> String {
    let lines: Vec<String> = records.iter().map(|(key, record)| format!("  \"{key}\": {record}")).collect();
    format!("{{\n{}\n}}", lines.join(",\n"))
}

fn store_of_one(key: &str, id: &str) -> String {
    store(&[(key.to_owned(), record(id, ",\"label\":\"kept\""))])
}

fn header(id: &str, version: u8) -> String {
    format!(
        "{{\"type\":\"session\",\"version\":{version},\"id\":\"{id}\",\"timestamp\":\"2026-01-15T09:30:00.000Z\",\"cwd\":\"/w\"}}"
    )
}

fn message(id: &str, parent: &str, text: &str) -> String {
    let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-01-15T09:30:01.000Z\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\",\"timestamp\":{TIME}}}}}"
    )
}

fn answer(id: &str, parent: &str) -> String {
    format!(
        "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-01-15T09:30:02.000Z\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":\"Hello.\"}}],\"api\":\"openai-responses\",\"provider\":\"stub\",\"model\":\"stub\",\"usage\":{{\"input\":1,\"output\":1,\"cacheRead\":0,\"cacheWrite\":0,\"totalTokens\":2}},\"stopReason\":\"stop\",\"timestamp\":{TIME}}}}}"
    )
}

/// A question `a` and its answer `b`.
fn first_two() -> String {
    format!("{}\n{}\n", message("a", "", "hello"), answer("b", "a"))
}

fn conversation(id: &str) -> String {
    format!("{}\n{}", header(id, 3), first_two())
}

/// The text with a byte in its label that is no UTF-8.
fn with_bad_byte(text: &str) -> Vec<u8> {
    replaced(text.as_bytes(), b"first", b"fir\xffst")
}

fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    match bytes.windows(from.len()).position(|window| window == from) {
        Some(at) => [&bytes[..at], to, &bytes[at + from.len()..]].concat(),
        None => bytes.to_vec(),
    }
}

/// Makes a file look an hour old.
fn age(path: &Path) -> io::Result<()> {
    File::options().write(true).open(path)?.set_modified(SystemTime::now() - Duration::from_secs(3600))
}
