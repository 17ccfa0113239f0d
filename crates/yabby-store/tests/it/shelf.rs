//! The folders that skills lie in, and what is known of their changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use tempfile::TempDir;
use yabby_domain::config::Config;
use yabby_domain::seam::shelf::Shelf as _;
use yabby_domain::skills::SkillSource;
use yabby_store::files::shelf::{FolderShelf, ShelfPlaces};

struct Room(TempDir);

impl Room {
    fn new() -> Self {
        let room = Self(TempDir::new().unwrap());
        for folder in ["workspace", "state", "bundled"] {
            fs::create_dir(room.path(folder)).unwrap();
        }
        room
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn places(&self) -> ShelfPlaces {
        ShelfPlaces {
            workspace: self.path("workspace"),
            managed: self.path("state/skills"),
            bundled: Some(self.path("bundled")),
            home: self.path("home"),
            current: self.path(""),
            programs: Some("/usr/bin:/bin".to_owned()),
            variables: vec!["SET".to_owned()],
        }
    }

    fn shelf(&self) -> FolderShelf {
        FolderShelf::new(self.places())
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(&self, folder: &str) {
        self.put(&format!("{folder}/SKILL.md"), &format!("---\ndescription: {folder}\n---\n"));
    }

    /// The files that are found, from the room on.
    fn found(&self, shelf: &FolderShelf, config: &Config) -> Vec<String> {
        let below = format!("{}/", self.0.path().display());
        shelf.files(config).iter().map(|file| file.path.replace(&below, "")).collect()
    }
}

fn watching(watch: bool) -> Config {
    Config::new(json!({"skills": {"load": {"watch": watch}}}))
}

/// Gives a file and the folders above it a time long ago, so that only a change is new.
fn age(path: &Path) {
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            age(&entry.unwrap().path());
        }
    }
    fs::File::open(path).unwrap().set_modified(long_ago).unwrap();
}

const LONG_AGO: f64 = 1_700_000_000_000.0;

/// Waits until the watcher has told of a change, which takes a moment; how the shelf is then.
async fn until(shelf: &FolderShelf, config: &Config, holds: impl Fn(f64, usize) -> bool) -> f64 {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let (version, count) = (shelf.skills_version(config).await, shelf.skills(config).await.len());
        if holds(version, count) {
            return version;
        }
        assert!(Instant::now() < end, "nothing came of it: {version} {count}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn sources_come_in_the_order_in_which_they_count() {
    let room = Room::new();
    for folder in ["bundled/z", "workspace/skills/a", "state/skills/b", "more/c", "home/own/d"] {
        room.skill(folder);
    }
    let config = Config::new(json!({"skills": {"load": {"extraDirs": ["more", " ", "~/own", 3]}}}));
    let shelf = room.shelf();
    let sources: Vec<SkillSource> = shelf.files(&config).iter().map(|file| file.source).collect();
    use SkillSource::{Bundled, Extra, Managed, Workspace};
    assert_eq!(sources, [Extra, Extra, Bundled, Managed, Workspace]);
    let expected = [
        "more/c/SKILL.md",
        "home/own/d/SKILL.md",
        "bundled/z/SKILL.md",
        "state/skills/b/SKILL.md",
        "workspace/skills/a/SKILL.md",
    ];
    assert_eq!(room.found(&shelf, &config), expected);
}

#[test]
fn what_is_no_skill_is_passed_over() {
    let room = Room::new();
    for folder in
        [".hidden", "node_modules/x", "a/.git", "deep/1/2/3/4/5", "deep/1/2/3/4/5/6", "good", "good/inner"]
    {
        room.skill(&format!("workspace/skills/{folder}"));
    }
    room.put("workspace/skills/loose.md", "---\ndescription: loose\n---\n");
    room.put("workspace/skills/good/notes.md", "x");
    room.put("workspace/skills/good/skill.md", "x");
    room.put("workspace/skills/long/SKILL.md", &"x".repeat(256 * 1024 + 1));
    room.put("workspace/skills/full/SKILL.md", &"x".repeat(256 * 1024));
    fs::create_dir_all(room.path("workspace/skills/folder/SKILL.md")).unwrap();
    fs::write(room.path("workspace/skills/good/inner/SKILL.md"), b"\xff\xfe not text").unwrap();
    let expected = [
        "workspace/skills/deep/1/2/3/4/5/SKILL.md",
        "workspace/skills/full/SKILL.md",
        "workspace/skills/good/SKILL.md",
        "workspace/skills/good/inner/SKILL.md",
        "workspace/skills/loose.md",
    ];
    assert_eq!(room.found(&room.shelf(), &watching(true)), expected);
}

#[test]
fn a_file_that_cannot_be_read_is_passed_over() {
    let room = Room::new();
    room.skill("workspace/skills/a");
    room.skill("workspace/skills/b");
    symlink(room.path("nowhere"), room.path("workspace/skills/gone")).unwrap();
    fs::create_dir(room.path("workspace/skills/c")).unwrap();
    symlink(room.path("nowhere"), room.path("workspace/skills/c/SKILL.md")).unwrap();
    fs::set_permissions(room.path("workspace/skills/a/SKILL.md"), fs::Permissions::from_mode(0o000)).unwrap();
    let is_root = fs::read(room.path("workspace/skills/a/SKILL.md")).is_ok();
    let found = room.found(&room.shelf(), &watching(false));
    assert_eq!(found.len(), if is_root { 2 } else { 1 }, "{found:?}");
    assert!(found.contains(&"workspace/skills/b/SKILL.md".to_owned()));
}

#[test]
fn links_are_followed_but_not_round_in_circles() {
    let room = Room::new();
    room.skill("elsewhere/a");
    fs::create_dir(room.path("workspace/skills")).unwrap();
    symlink(room.path("elsewhere/a"), room.path("workspace/skills/a")).unwrap();
    for number in 0..12 {
        symlink(room.path("workspace/skills"), room.path(&format!("workspace/skills/circle-{number}")))
            .unwrap();
    }
    let begun = Instant::now();
    assert_eq!(room.found(&room.shelf(), &watching(false)), ["workspace/skills/a/SKILL.md"]);
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn no_folder_holds_more_than_five_hundred_skills() {
    let room = Room::new();
    for number in 0..505 {
        room.skill(&format!("workspace/skills/s{number:03}"));
    }
    room.skill("bundled/b");
    let found = room.found(&room.shelf(), &watching(false));
    assert_eq!((found.len(), found[500].as_str()), (501, "workspace/skills/s499/SKILL.md"));
}

#[tokio::test]
async fn the_version_grows_when_a_skill_changes() {
    for config in [watching(true), watching(false)] {
        let room = Room::new();
        room.skill("workspace/skills/a");
        age(&room.path("workspace"));
        age(&room.path("bundled"));
        let shelf = room.shelf();
        let first = shelf.skills_version(&config).await;
        assert_eq!(first, LONG_AGO);
        assert_eq!(shelf.skills_version(&config).await, first, "nothing happened");
        room.skill("workspace/skills/b");
        let second = until(&shelf, &config, |version, count| version > first && count == 2).await;
        room.put("workspace/skills/a/SKILL.md", "---\ndescription: changed\n---\n");
        // Also if its time does not tell.
        age(&room.path("workspace/skills/a/SKILL.md"));
        let third = until(&shelf, &config, |version, _| version > second).await;
        fs::remove_dir_all(room.path("workspace/skills/b")).unwrap();
        until(&shelf, &config, |version, count| version > third && count == 1).await;
    }
}

#[tokio::test]
async fn folders_that_come_later_are_seen_and_what_comes_into_them() {
    let (room, config) = (Room::new(), watching(true));
    fs::remove_dir(room.path("workspace")).unwrap();
    let shelf = room.shelf();
    assert_eq!(shelf.skills(&config).await.len(), 0);
    // One after another, and looked at in between.
    for folder in ["workspace", "workspace/skills", "workspace/skills/a"] {
        fs::create_dir(room.path(folder)).unwrap();
        shelf.skills_version(&config).await;
    }
    room.skill("workspace/skills/a");
    let version = until(&shelf, &config, |_, count| count == 1).await;
    room.skill("state/skills/m");
    let version = until(&shelf, &config, |now, count| now > version && count == 2).await;
    // Gone, and made anew.
    fs::remove_dir_all(room.path("workspace/skills")).unwrap();
    let version = until(&shelf, &config, |now, count| now > version && count == 1).await;
    room.skill("workspace/skills/a");
    let version = until(&shelf, &config, |now, count| now > version && count == 2).await;
    room.skill("workspace/skills/b");
    until(&shelf, &config, |now, count| now > version && count == 3).await;
}

#[tokio::test]
async fn another_process_knows_by_the_times_of_the_files() {
    let (room, config) = (Room::new(), watching(true));
    room.skill("workspace/skills/a");
    room.skill("workspace/skills/b");
    age(&room.path("workspace"));
    age(&room.path("bundled"));
    let version = async || room.shelf().skills_version(&config).await;
    let first = version().await;
    assert_eq!(first, version().await);
    room.put("workspace/skills/a/SKILL.md", "---\ndescription: changed\n---\n");
    let second = version().await;
    assert!(second > first);
    age(&room.path("workspace"));
    assert_eq!(version().await, first);
    fs::remove_dir_all(room.path("workspace/skills/b")).unwrap();
    assert!(version().await > first, "what is deleted is told by its folder");
}

#[tokio::test]
async fn a_time_that_is_still_to_come_hides_no_change() {
    let (room, config) = (Room::new(), watching(false));
    room.skill("workspace/skills/a");
    age(&room.path("workspace"));
    age(&room.path("bundled"));
    let to_come = SystemTime::now() + Duration::from_secs(1_000_000_000);
    let file = fs::File::open(room.path("workspace/skills/a/SKILL.md")).unwrap();
    file.set_modified(to_come).unwrap();
    assert_eq!(room.shelf().skills_version(&config).await, LONG_AGO);
    room.skill("workspace/skills/b");
    assert!(room.shelf().skills_version(&config).await > LONG_AGO);
}

#[tokio::test]
async fn the_settings_of_the_watcher_may_change() {
    let room = Room::new();
    room.skill("workspace/skills/a");
    let shelf = room.shelf();
    let mut version = shelf.skills_version(&watching(false)).await;
    for (number, config) in [watching(true), watching(false), watching(true)].iter().enumerate() {
        shelf.skills_version(config).await;
        room.skill(&format!("workspace/skills/more-{number}"));
        version = until(&shelf, config, |now, count| now > version && count == number + 2).await;
    }
}

#[tokio::test]
async fn files_of_the_workspace_are_read_as_long_as_they_are_in_it() {
    let room = Room::new();
    room.put("workspace/AGENTS.md", "rules");
    room.put("workspace/notes/soul.md", "soul");
    room.put("secret", "secret");
    symlink("notes/soul.md", room.path("workspace/SOUL.md")).unwrap();
    symlink(room.path("secret"), room.path("workspace/TOOLS.md")).unwrap();
    fs::create_dir(room.path("workspace/USER.md")).unwrap();
    let files = room.shelf().workspace_files().await;
    let text = |name: &str| files.iter().find(|file| file.name == name).unwrap().text.clone();
    assert_eq!(text("AGENTS.md").as_deref(), Some("rules"));
    assert_eq!(text("SOUL.md").as_deref(), Some("soul"));
    assert_eq!([text("TOOLS.md"), text("USER.md"), text("MEMORY.md")], [None, None, None]);
}

#[tokio::test]
async fn a_file_of_the_workspace_that_changes_is_read_again() {
    let room = Room::new();
    let shelf = room.shelf();
    let rules = async || shelf.workspace_files().await.into_iter().find(|file| file.name == "AGENTS.md");
    let text = async || rules().await.unwrap().text;
    assert_eq!(text().await, None);
    // Of the same length, and at once as well as long after it was read last.
    for (number, rest) in (0..20).map(|number| (number, if number % 5 == 4 { 150 } else { 0 })) {
        let said = format!("rule {number:02}");
        room.put("workspace/AGENTS.md", &said);
        assert_eq!(text().await.as_deref(), Some(said.as_str()));
        std::thread::sleep(Duration::from_millis(rest));
        assert_eq!(text().await.as_deref(), Some(said.as_str()));
    }
    room.put("secret", "secret!");
    fs::remove_file(room.path("workspace/AGENTS.md")).unwrap();
    symlink(room.path("secret"), room.path("workspace/AGENTS.md")).unwrap();
    assert_eq!(text().await, None);
    fs::remove_file(room.path("workspace/AGENTS.md")).unwrap();
    assert_eq!(text().await, None);
}

#[test]
fn programs_and_variables_are_known_by_name() {
    let shelf = Room::new().shelf();
    assert!(shelf.has_program("sh") && !shelf.has_program("no-such-program"));
    assert!(shelf.has_variable("SET") && !shelf.has_variable("PATH"));
}
