//! The configuration file: finding, reading and changing it.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::watched_disk::{Step, WatchedDisk};
use tempfile::TempDir;
use yabby_config::environment::Environment;
use yabby_config::key_path::KeyPath;
use yabby_domain::json::{self, Value};
use yabby_store::config_file::Snapshot;
use yabby_store::config_file::edit::{ConfigFile, Edit, EditError};
use yabby_store::paths::{Choice, Place};
use yabby_testkit::clock::FixedClock;
use yabby_testkit::faulty_disk::{Fault, FaultyDisk, Kind};

struct Home(TempDir);

impl Home {
    /// With these files in `.openclaw`.
    fn with(files: &[(&str, &str)]) -> Self {
        let home = Self(TempDir::new().unwrap());
        fs::create_dir(home.state()).unwrap();
        for (name, text) in files {
            fs::write(home.state().join(name), text).unwrap();
        }
        home
    }

    fn state(&self) -> PathBuf {
        self.0.path().join(".openclaw")
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.state().join(name)).unwrap()
    }

    fn place(&self) -> Place {
        self.place_with(&[])
    }

    fn place_with(&self, variables: &[(&str, &str)]) -> Place {
        let process: Environment =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Place::find_around(&Choice::default(), process, self.0.path(), self.0.path())
    }

    fn set(&self, path: &str, value: &str) -> Result<Snapshot, EditError> {
        set(&self.place(), path, value)
    }
}

fn set(place: &Place, path: &str, value: &str) -> Result<Snapshot, EditError> {
    let value = json::parse_json5(value).unwrap();
    ConfigFile::of(place).edit(&KeyPath::parse(path).unwrap(), &Edit::Set(value))
}

fn unset(place: &Place, path: &str) -> Result<Snapshot, EditError> {
    ConfigFile::of(place).edit(&KeyPath::parse(path).unwrap(), &Edit::Unset)
}

/// The text without what a write adds by itself.
fn plain(text: &str) -> Value {
    let mut value = json::parse_json5(text).unwrap();
    for added in ["meta", "commands", "messages", "agents"] {
        value.as_object_mut().unwrap().shift_remove(added);
    }
    value
}

#[test]
fn dotenv_files_tell_where_things_are_and_never_override() {
    let home = Home::with(&[(".env", "A=state\nB=state\nOPENCLAW_CONFIG_PATH=~/mine.json"), ("x", "")]);
    fs::write(home.0.path().join(".env"), "B=here\nOPENCLAW_STATE_DIR=.openclaw").unwrap();
    let place = home.place_with(&[("C", "process")]);
    assert_eq!(place.folder.path(), home.state());
    assert_eq!(place.config, home.0.path().join("mine.json"));
    let value = |name| place.environment.get(name);
    assert_eq!((value("A"), value("B"), value("C")), (Some("state"), Some("here"), Some("process")));
}

#[test]
fn what_is_wrong_is_found_on_its_line() {
    let files = [
        ("main", "{\n  $include: './more.json5',\n  gateway: {\n    port: 'x',\n  },\n  // c\n  foo: 1,\n}"),
        ("more.json5", "// included\n{ ui: {\n  seamColor: 'red' } }"),
        ("broken.json5", "{\n  a: 1\n  b: 2\n}"),
    ];
    //  main file                                                  file            line of the first issue
    let table = [
        (files[0].1, ["openclaw.json:4", "more.json5:3", "openclaw.json:7"].as_slice()),
        ("{\n a: 1,, }", ["openclaw.json:2"].as_slice()),
        ("{\n ui: {$include: 'broken.json5'} }", ["broken.json5:3"].as_slice()),
        ("{\n ui: {\n $include: 'missing.json5'} }", ["openclaw.json:3"].as_slice()),
        ("{\n logging: {\n file: '${NO_SUCH}'} }", ["openclaw.json:3"].as_slice()),
        ("{\n telegram: {} }", ["openclaw.json:2"].as_slice()),
    ];
    for (main, lines) in table {
        let home = Home::with(&[files[1], files[2], ("openclaw.json", main)]);
        let snapshot = Snapshot::read(&home.place());
        let found: Vec<String> = snapshot
            .issues
            .iter()
            .map(|issue| {
                let spot = snapshot.line_of(issue).unwrap();
                format!("{}:{}", spot.file.file_name().unwrap().to_string_lossy(), spot.line)
            })
            .collect();
        let mut sorted = found.clone();
        sorted.sort_by_key(|spot| lines.iter().position(|line| line == spot));
        assert_eq!(sorted, lines, "{main}: {:?}", snapshot.issues);
    }
}

#[test]
fn an_invalid_file_says_nothing_to_a_run() {
    let home = Home::with(&[("openclaw.json", r#"{"gateway":{"port":"x"},"ui":{"seamColor":"112233"}}"#)]);
    let snapshot = Snapshot::read(&home.place());
    assert_eq!(json::stringify(snapshot.for_run().raw()), "{}");
    assert_eq!(snapshot.config.raw()["ui"]["seamColor"], "112233");
}

#[test]
fn an_edit_touches_nothing_else() {
    let text = "// mine\n{\n  ui: { seamColor: '#112233' }, // colour\n  env: { vars: { A: 'x' } },\n  messages: { responsePrefix: \"${A}\" /* kept */, },\n}\n";
    let home = Home::with(&[("openclaw.json", text)]);
    let snapshot = home.set("ui.seamColor", "'#445566'").unwrap();
    assert!(snapshot.is_valid());
    let edited = home.file("openclaw.json");
    for part in
        ["// mine\n", "ui: { seamColor: \"#445566\" }, // colour", "responsePrefix: \"${A}\" /* kept */,"]
    {
        assert!(edited.contains(part), "{part:?} is missing in:\n{edited}");
    }
    assert_eq!(home.file("openclaw.json.bak"), text);
    unset(&home.place(), "ui.seamColor").unwrap();
    assert_eq!(json::stringify(&plain(&home.file("openclaw.json"))["ui"]), "{}");
}

#[test]
fn five_generations_are_kept() {
    let home = Home::with(&[("openclaw.json", "{ui: {seamColor: '#000000'}}")]);
    fs::set_permissions(home.state().join("openclaw.json"), fs::Permissions::from_mode(0o640)).unwrap();
    for colour in 1..=7 {
        home.set("ui.seamColor", &format!("'#00000{colour}'")).unwrap();
    }
    let colour = |name: &str| home.file(name).split("#00000").nth(1).unwrap()[..1].to_owned();
    let names = ["", ".bak", ".bak.1", ".bak.2", ".bak.3", ".bak.4"].map(|end| format!("openclaw.json{end}"));
    assert_eq!(names.each_ref().map(|name| colour(name)).join(""), "765432");
    assert_eq!(fs::read_dir(home.state()).unwrap().count(), names.len(), "and nothing else is left");
    let mode = |name: &str| fs::metadata(home.state().join(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("openclaw.json"), 0o600);
}

#[test]
fn a_first_file_is_for_its_owner_and_holds_the_defaults() {
    let home = Home(TempDir::new().unwrap());
    let place = home.place();
    assert_eq!(place.config, home.0.path().join(".yabby/yabby.json"));
    set(&place, "gateway.mode", "'elsewhere'").unwrap_err();
    assert!(!place.folder.path().exists(), "nothing was written");
    set(&place, "gateway.mode", "'local'").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&place.config), mode(place.folder.path())), (0o600, 0o700));
    let written = json::parse(&fs::read_to_string(&place.config).unwrap()).unwrap();
    assert_eq!(written["agents"]["defaults"]["maxConcurrent"], 4);
    assert_eq!(written["meta"]["lastTouchedVersion"], "2026.2.3");
    assert!(!place.folder.path().join("yabby.json.bak").exists());
}

const INCLUDES: [(&str, &str); 2] = [
    (
        "openclaw.json",
        "// main\n{\n  agents: { $include: './agents.json5', defaults: { timeoutSeconds: 30 } },\n  logging: { $include: './log.json5' },\n}\n",
    ),
    ("agents.json5", "{ defaults: { workspace: '/w', timeoutSeconds: 10 }, list: [{ id: 'main' }] }"),
];

#[test]
fn an_edit_is_laid_over_what_is_included() {
    //  path                        value        what the main file says of it then
    let table = [
        ("ui.seamColor", "'#445566'", "ui.seamColor"),
        ("agents.defaults.workspace", "'/x'", "agents.defaults.workspace"),
        ("agents.defaults.timeoutSeconds", "5", "agents.defaults.timeoutSeconds"),
        ("logging.level", "'debug'", "logging.level"),
        ("agents.list[1].id", "'ops'", "agents.list[0].id"),
    ];
    for (path, value, in_main) in table {
        let home = Home::with(&INCLUDES);
        fs::write(home.state().join("log.json5"), "{ level: 'info' }").unwrap();
        let snapshot = home.set(path, value).unwrap();
        let value = json::parse_json5(value).unwrap();
        assert_eq!(KeyPath::parse(path).unwrap().get(snapshot.config.raw()), Some(&value), "{path}");
        assert_eq!(KeyPath::parse(in_main).unwrap().get(&snapshot.parsed), Some(&value), "{path}");
        let main = home.file("openclaw.json");
        assert!(main.contains("$include: './agents.json5'") && main.contains("$include: './log.json5'"));
        assert!(snapshot.parsed.get("commands").is_none(), "defaults would cover what is included");
        assert_eq!(home.file("agents.json5"), INCLUDES[1].1);
    }
}

#[test]
fn what_only_an_included_file_can_say_is_refused() {
    let table = [
        ("agents.list[0].id", Some("'x'"), "agents.json5"),
        ("agents.list", Some("[]"), "agents.json5"),
        ("agents.defaults", Some("{}"), "agents.json5"),
        ("agents.defaults.timeoutSeconds", None, "agents.json5"),
        ("agents.list[0]", None, "agents.json5"),
        ("logging.level", None, "log.json5"),
    ];
    for (path, value, file) in table {
        let home = Home::with(&INCLUDES);
        fs::write(home.state().join("log.json5"), "{ level: 'info' }").unwrap();
        let refused = match value {
            Some(value) => home.set(path, value),
            None => unset(&home.place(), path),
        };
        let told = refused.unwrap_err().to_string();
        assert!(told.contains(file) && told.contains("included"), "{path}: {told}");
        assert_eq!(home.file("openclaw.json"), INCLUDES[0].1, "{path}");
    }
}

#[test]
fn nothing_is_written_that_cannot_be_read_again() {
    //  file                                  path              value       why not
    let table = [
        (
            "{}",
            "gateway.port",
            "'x'",
            "Config validation failed: gateway.port: Invalid input: expected number, received string",
        ),
        ("{}", "foo", "1", "Config validation failed: <root>: Unrecognized key: \"foo\""),
        (
            "{}",
            "logging.file",
            "'${NO_SUCH}'",
            "Config validation failed: <root>: Missing env var \"NO_SUCH\" referenced at config path: logging.file",
        ),
        ("{ui: {seamColor/**/: '#112233'}}", "ui.seamColor", "'#445566'", "line 1"),
        ("{ui: 1}", "ui", "{}", "is invalid"),
        ("{", "ui", "{}", "is invalid"),
    ];
    for (text, path, value, why) in table {
        let home = Home::with(&[("openclaw.json", text)]);
        let told = home.set(path, value).unwrap_err().to_string();
        assert!(told.contains(why), "{text}: {told}");
        assert_eq!(home.file("openclaw.json"), text);
        assert_eq!(fs::read_dir(home.state()).unwrap().count(), 1, "{text}");
    }
    let home = Home::with(&[]);
    fs::write(home.state().join("openclaw.json"), b"{ui: {assistant: {name: '\xff'}}}").unwrap();
    assert!(matches!(home.set("ui.seamColor", "'#445566'"), Err(EditError::NotText(_))));
}

#[test]
fn a_link_is_written_where_it_leads() {
    let home = Home::with(&[]);
    let dotfiles = home.0.path().join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    fs::write(dotfiles.join("claw.json"), "{}").unwrap();
    let link = home.state().join("openclaw.json");
    symlink("../dotfiles/claw.json", &link).unwrap();
    home.set("ui.seamColor", "'#445566'").unwrap();
    assert!(link.is_symlink());
    assert!(fs::read_to_string(dotfiles.join("claw.json")).unwrap().contains("#445566"));
    assert_eq!(home.file("openclaw.json.bak"), "{}");
    assert_eq!(fs::read_dir(&dotfiles).unwrap().count(), 1);

    fs::remove_file(dotfiles.join("claw.json")).unwrap();
    home.set("ui.seamColor", "'#445566'").unwrap_err();
    assert!(link.is_symlink());
}

#[test]
fn no_edit_is_lost_when_many_come_at_once() {
    let home = Home::with(&[("openclaw.json", "{ // first\n}")]);
    let place = home.place();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let place = &place;
            scope.spawn(move || {
                for number in 0..5 {
                    set(place, &format!("env.vars.V{writer}_{number}"), "'x'").unwrap();
                }
            });
        }
    });
    let written = plain(&home.file("openclaw.json"));
    assert_eq!(written["env"]["vars"].as_object().unwrap().len(), 20);
    assert!(home.file("openclaw.json").contains("// first"));
}

#[test]
fn a_new_text_is_refused_if_the_old_one_is_not_the_one_that_was_seen() {
    let home = Home::with(&[("openclaw.json", "{}")]);
    let place = home.place();
    let file = ConfigFile::of(&place);
    let seen = Snapshot::read(&place).hash;
    file.replace("// new\n{ui: {seamColor: '#112233'}}", Some(&seen)).unwrap();
    assert!(matches!(file.replace("{}", Some(&seen)), Err(EditError::Stale)));
    assert!(matches!(file.replace("{foo: 1}", None), Err(EditError::Refused(_))));
    assert!(home.file("openclaw.json").starts_with("// new\n"));
}

#[test]
fn a_rewrite_keeps_what_stays_equal() {
    let text = "{\n  // old\n  gateway: { token: 'x', port: 0x10 /* sixteen */ },\n  foo: 1,\n}\n";
    let home = Home::with(&[("openclaw.json", text)]);
    let place = home.place();
    let fixed = ConfigFile::of(&place).rewrite(|config| {
        yabby_config::legacy::migrate(config);
        config.as_object_mut().unwrap().shift_remove("foo");
    });
    assert!(fixed.unwrap().is_valid());
    let text = home.file("openclaw.json");
    assert!(text.contains("// old") && text.contains("port: 0x10, /* sixteen */"), "{text}");
    assert_eq!(json::parse_json5(&text).unwrap()["gateway"]["auth"]["token"], "x");
}

#[test]
fn a_repair_brings_old_keys_up_to_date_and_keeps_unknown_ones_as_comments() {
    let text = "{\n  // mine\n  telegram: {botToken: \"1:a\"},\n  future: {x: 1}, // from tomorrow\n  ui: {seamColor: \"#112233\"},\n}\n";
    let home = Home::with(&[("openclaw.json", text)]);
    let repaired = ConfigFile::of(&home.place()).repair().unwrap().expect("something to do");
    assert_eq!(repaired.migrated, ["Moved telegram → channels.telegram."]);
    assert_eq!(repaired.commented, ["future"]);
    assert!(repaired.snapshot.is_valid(), "{:?}", repaired.snapshot.issues);
    let after = home.file("openclaw.json");
    for kept in ["// mine", "/* future: {x: 1}, */ // from tomorrow", "botToken"] {
        assert!(after.contains(kept), "{kept} is missing in {after}");
    }
    assert_eq!(home.file("openclaw.json.bak"), text);
    assert!(ConfigFile::of(&home.place()).repair().unwrap().is_none(), "there is nothing left to do");
    assert_eq!(home.file("openclaw.json"), after);
}

#[test]
fn an_old_key_in_an_old_key_is_brought_up_to_date() {
    let text =
        r#"{routing: {agents: {ops: {}}, bindings: [{agentId: "ops", match: {provider: "telegram"}}]}}"#;
    let home = Home::with(&[("openclaw.json", text)]);
    let repaired = ConfigFile::of(&home.place()).repair().unwrap().expect("something to do");
    assert_eq!(repaired.migrated.len(), 3, "{:?}", repaired.migrated);
    let after = json::parse_json5(&home.file("openclaw.json")).unwrap();
    assert_eq!(
        after["bindings"],
        json::parse(r#"[{"agentId":"ops","match":{"channel":"telegram"}}]"#).unwrap()
    );
}

#[test]
fn an_unknown_key_may_look_like_a_path() {
    let text = "{\n  gateway: {port: 7, 'x.y': 1},\n  'gateway.port': 5,\n  'say \\\"hi\\\"': 6,\n}\n";
    let home = Home::with(&[("openclaw.json", text)]);
    let repaired = ConfigFile::of(&home.place()).repair().unwrap().expect("something to do");
    assert_eq!(repaired.commented, ["gateway.x.y", "gateway.port", "say \"hi\""]);
    let after = home.file("openclaw.json");
    assert_eq!(json::parse_json5(&after).unwrap()["gateway"], json::parse(r#"{"port":7}"#).unwrap());
    for kept in ["/* 'x.y': 1 */", "/* 'gateway.port': 5, */"] {
        assert!(after.contains(kept), "{kept} is missing in {after}");
    }
}

#[test]
fn a_repair_does_not_guess() {
    for text in ["{gateway: {port: \"x\"}, foo: 1}", "{broken", "{gateway: {port: \"x\"}}"] {
        let home = Home::with(&[("openclaw.json", text)]);
        let repaired = ConfigFile::of(&home.place()).repair();
        assert!(matches!(repaired, Err(_) | Ok(None)), "{text}: {repaired:?}");
        assert_eq!(home.file("openclaw.json"), text);
    }
}

#[test]
fn whatever_fails_the_file_is_the_old_one_or_the_new_one() {
    let before = "{\n  ui: { seamColor: '#112233' }\n}\n";
    let story = |disk: Arc<FaultyDisk>| {
        let home = Home::with(&[("openclaw.json", before), ("openclaw.json.bak", "{} // older")]);
        let place = home.place();
        let clock = Arc::new(FixedClock::at(1_794_774_728_000));
        let path = KeyPath::parse("ui.seamColor").unwrap();
        let edit = Edit::Set("#445566".into());
        let done = ConfigFile::with(&place, disk, clock).edit(&path, &edit);
        (home, done)
    };
    let sound = Arc::new(FaultyDisk::sound());
    let (home, done) = story(sound.clone());
    done.unwrap();
    let after = home.file("openclaw.json");
    assert!(after.contains("#445566") && after.contains("2026-11-15T"), "{after}");
    for operation in 0..sound.operations() {
        let kinds = Kind::ALL.map(|kind| Fault::At { operation, kind });
        for fault in kinds.into_iter().chain([Fault::DeadFrom(operation)]) {
            let (home, done) = story(Arc::new(FaultyDisk::new(fault)));
            let left = home.file("openclaw.json");
            match done {
                Ok(_) => assert_eq!(left, after, "{fault:?}"),
                Err(error) => {
                    assert!(left == before || left == after, "{fault:?}: {left}");
                    assert!(
                        error.to_string().contains("openclaw.json")
                            || error.to_string().contains(".openclaw"),
                        "{error}"
                    );
                }
            }
            let older = ["openclaw.json.bak", "openclaw.json.bak.1"].map(|name| home.state().join(name));
            let is_kept =
                older.iter().any(|file| fs::read_to_string(file).is_ok_and(|text| text == "{} // older"));
            assert!(is_kept, "{fault:?}: the older backup is gone");
        }
    }
}

#[test]
fn the_example_in_the_docs_is_valid() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/configuration.md");
    let page = fs::read_to_string(page).unwrap();
    let example = |language: &str| {
        let (_, rest) = page.split_once(&format!("```{language}\n")).expect("the page has an example");
        rest.split_once("\n```").expect("the example ends").0.to_owned()
    };
    let home = Home::with(&[("openclaw.json", &example("json5")), ("agents.json5", &example("js"))]);
    let snapshot = Snapshot::read(&home.place_with(&[("TELEGRAM_TOKEN", "1:x")]));
    assert_eq!(snapshot.issues, []);
    let names: Vec<&str> =
        snapshot.config.agents.list.iter().filter_map(|agent| agent.name.as_deref()).collect();
    assert_eq!(names, ["Mia", "Ops"]);
    assert_eq!(snapshot.config.raw()["channels"]["telegram"]["botToken"], "1:x");
}

#[test]
fn a_backup_that_cannot_be_written_costs_no_older_one() {
    let backups = ["openclaw.json.bak", "openclaw.json.bak.1", "openclaw.json.bak.4"];
    let mut files = vec![("openclaw.json", "{gateway: {port: 1}}")];
    files.extend(backups.iter().map(|name| (*name, *name)));
    let home = Home::with(&files);
    let place = home.place();
    // Nothing can be written beside the file but the file itself.
    let disk = WatchedDisk::new(|step| match step {
        Step::CreateNew(path) if path.to_string_lossy().contains(".bak") => {
            Err(io::ErrorKind::StorageFull.into())
        }
        _ => Ok(()),
    });
    for _ in 0..5 {
        let edit = Edit::Set(2.into());
        let file = ConfigFile::with(&place, disk.clone(), Arc::new(FixedClock::at(0)));
        file.edit(&KeyPath::parse("gateway.port").unwrap(), &edit).unwrap_err();
    }
    for name in backups {
        assert_eq!(home.file(name), name);
    }
}

#[test]
fn our_own_settings_have_a_file_of_their_own() {
    let home = Home::with(&[("openclaw.json", "// mine\n{tools: {exec: {host: 'gateway'}}}\n")]);
    let before = home.file("openclaw.json");
    let snapshot = home.set("tools.exec.confine", "'landlock'").unwrap();
    assert_eq!(home.file("openclaw.json"), before, "the configuration stays as it is");
    assert_eq!(
        home.file("yabby-extras.json"),
        "{\n  \"tools\": {\n    \"exec\": {\n      \"confine\": \"landlock\"\n    }\n  }\n}\n"
    );
    let mode = fs::metadata(home.state().join("yabby-extras.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let exec = |config: &yabby_domain::config::Config| config.raw()["tools"]["exec"].clone();
    let both = serde_json::json!({"host": "gateway", "confine": "landlock"});
    assert_eq!((exec(&snapshot.for_run()), exec(&snapshot.with_extras())), (both.clone(), both));
    assert_eq!(
        snapshot.config.raw()["tools"]["exec"].get("confine"),
        None,
        "what OpenClaw reads knows nothing of it"
    );
    home.set("tools.mcp.servers.files", "{command: 'server', env: {KEY: '${HOME_KEY}'}}").unwrap_err();
    let place = home.place_with(&[("HOME_KEY", "from-the-environment")]);
    let snapshot =
        set(&place, "tools.mcp.servers.files", "{command: '~/bin/server', env: {KEY: '${HOME_KEY}'}}")
            .unwrap();
    assert!(home.file("yabby-extras.json").contains("${HOME_KEY}"));
    assert!(home.file("yabby-extras.json.bak").contains("landlock"));
    let run = snapshot.for_run();
    assert_eq!(run.raw()["tools"]["mcp"]["servers"]["files"]["env"]["KEY"], "from-the-environment");
    let program = home.0.path().join("bin/server").display().to_string();
    assert_eq!(run.raw()["tools"]["mcp"]["servers"]["files"]["command"], program);
    let unset = |path: &str| ConfigFile::of(&place).edit(&KeyPath::parse(path).unwrap(), &Edit::Unset);
    unset("tools.mcp.servers.files").unwrap();
    assert!(matches!(unset("tools.mcp.servers.files"), Err(EditError::NotFound(_))));
    assert!(!home.file("yabby-extras.json").contains("files"));
    // Writing the configuration does not carry them over.
    home.set("gateway.port", "1234").unwrap();
    assert!(!home.file("openclaw.json").contains("landlock"));
}

#[test]
fn a_search_provider_is_set_where_it_is_known() {
    let home = Home::with(&[("openclaw.json", "{}\n")]);
    let provider = |home: &Home| {
        Snapshot::read(&home.place())
            .for_run()
            .tools
            .web
            .search
            .provider
            .as_ref()
            .map(|provider| provider.as_str().to_owned())
    };
    home.set("tools.web.search.provider", "'perplexity'").unwrap();
    assert_eq!(provider(&home).as_deref(), Some("perplexity"));
    home.set("tools.web.search.provider", "'searxng'").unwrap();
    assert_eq!(provider(&home).as_deref(), Some("searxng"));
    assert!(home.file("openclaw.json").contains("perplexity"));
    home.set("tools.web.search.provider", "'brave'").unwrap();
    assert_eq!(provider(&home).as_deref(), Some("brave"));
    assert!(!home.file("yabby-extras.json").contains("searxng"));
}

#[test]
fn what_is_wrong_with_our_own_settings_is_told_with_its_line() {
    //  the file, the line, a part of what is told
    let table = [
        ("{\n tools: {\n  fs: {allow: 'x'}\n }\n}", 3, "tools.fs.allow"),
        ("{\n tools: {\n  nonsense: 1\n }\n}", 3, "Unrecognized key: \"nonsense\""),
        ("{\n tools: {\n", 3, "JSON5 parse failed"),
        (
            "{\n tools: {mcp: {servers: {a: {\n  command: '${NOT_THERE}'}}}}}",
            3,
            "Missing env var \"NOT_THERE\"",
        ),
        ("{tools: {mcp: {servers: {\n a: {enabled: true}}}}}", 2, "a server needs a command"),
        ("[]", 1, "expected object"),
    ];
    for (text, line, told) in table {
        let home = Home::with(&[("openclaw.json", "{gateway: {port: 1}}"), ("yabby-extras.json", text)]);
        let snapshot = Snapshot::read(&home.place());
        assert_eq!(snapshot.issues.len(), 1, "{text}: {:?}", snapshot.issues);
        assert!(snapshot.issues[0].to_string().contains(told), "{}", snapshot.issues[0]);
        let spot = snapshot.line_of(&snapshot.issues[0]).unwrap();
        assert_eq!(
            (spot.file.file_name().unwrap().to_str(), spot.line),
            (Some("yabby-extras.json"), line),
            "{text}"
        );
        assert_eq!(snapshot.for_run().gateway.port, None, "nothing runs with half of what was meant");
        // The configuration itself can still be changed.
        assert!(home.set("gateway.port", "2").is_ok());
    }
}

#[test]
fn a_key_of_ours_in_the_configuration_is_sent_to_its_file() {
    let home = Home::with(&[("openclaw.json", "{tools: {mcp: {servers: {}}}}")]);
    let snapshot = Snapshot::read(&home.place());
    assert_eq!(snapshot.issues[0].message, "Unrecognized key: \"mcp\"");
    assert_eq!(snapshot.issues[0].allowed.as_deref(), Some("in yabby-extras.json, beside this file"));
}
