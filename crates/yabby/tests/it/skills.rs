//! `yabby skills`, and skills in a conversation.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::exec;
use crate::home::Home;

/// With a skill for each state that one can be in.
fn taught() -> Home {
    let home = Home::empty();
    let skill = |name: &str, front: &str| {
        home.write(
            &format!(".openclaw/workspace/skills/{name}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: About {name}.\n{front}\n---\nThe text of {name}.\n"),
        );
    };
    skill("ready", "homepage: https://ready.example");
    skill(
        "lacking",
        r#"metadata: {"openclaw":{"emoji":"🎣","primaryEnv":"HOOK_KEY","requires":{"bins":["no-such-rod"],"anyBins":["no-such-a","no-such-b"],"env":["HOOK_KEY"],"config":["hooks.enabled"]},"os":["plan9"],"install":[{"kind":"brew","formula":"rod","bins":["no-such-rod"]}]}}"#,
    );
    skill("off", "");
    let config = json!({"skills": {"allowBundled": ["weather"], "entries": {"off": {"enabled": false}}}});
    home.write(".openclaw/openclaw.json", &config.to_string());
    home
}

fn row<'r>(rows: &'r Value, name: &str) -> &'r Value {
    rows.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap()
}

#[test]
fn a_list_as_json_has_the_references_shape() {
    let home = taught();
    let listed = home.json(&["skills", "list"]);
    let below = |path: &str| home.path().join(".openclaw").join(path).to_string_lossy().into_owned();
    assert_eq!(listed["workspaceDir"], below("workspace"));
    assert_eq!(listed["managedSkillsDir"], below("skills"));
    let nothing = json!({"bins": [], "anyBins": [], "env": [], "config": [], "os": []});
    let ready = json!({
        "name": "ready", "description": "About ready.", "eligible": true, "disabled": false,
        "blockedByAllowlist": false, "source": "openclaw-workspace", "bundled": false,
        "homepage": "https://ready.example", "missing": nothing,
    });
    assert_eq!(row(&listed["skills"], "ready"), &ready);
    let lacking = json!({
        "name": "lacking", "description": "About lacking.", "emoji": "🎣", "eligible": false, "disabled": false,
        "blockedByAllowlist": false, "source": "openclaw-workspace", "bundled": false, "primaryEnv": "HOOK_KEY",
        "missing": {
            "bins": ["no-such-rod"], "anyBins": ["no-such-a", "no-such-b"], "env": ["HOOK_KEY"],
            "config": ["hooks.enabled"], "os": ["plan9"],
        },
    });
    assert_eq!(row(&listed["skills"], "lacking"), &lacking);
    assert_eq!(row(&listed["skills"], "off")["disabled"], true);
    let github = row(&listed["skills"], "github");
    assert_eq!((&github["bundled"], &github["blockedByAllowlist"]), (&json!(true), &json!(true)));
    let eligible = home.json(&["skills", "list", "--eligible"]);
    let names: Vec<&Value> = eligible["skills"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert!(names.contains(&&json!("ready")) && !names.contains(&&json!("off")), "{names:?}");
}

#[test]
fn looking_at_skills_writes_nothing() {
    let home = taught();
    for arguments in [&["skills"][..], &["skills", "info", "weather"], &["skills", "check"]] {
        home.out(arguments);
    }
    let names = fs::read_dir(home.path().join(".openclaw")).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, ["agents", "openclaw.json", "workspace"]);
}

#[test]
fn a_list_for_people() {
    let home = taught();
    let told = home.out(&["skills", "list", "--verbose"]);
    let line = |name: &str| told.lines().find(|line| line.contains(name)).unwrap_or_else(|| panic!("{told}"));
    assert!(told.starts_with("Skills ("), "{told}");
    assert!(line("📦 ready").starts_with("✓ ready"), "{told}");
    assert!(line("🎣 lacking").starts_with("✗ missing"), "{told}");
    assert!(line("📦 off").starts_with("⏸ disabled"), "{told}");
    assert!(line("🐙 github").starts_with("🚫 blocked"), "{told}");
    assert!(told.contains(
        "bins: no-such-rod; anyBins: no-such-a, no-such-b; env: HOOK_KEY; config: hooks.enabled; os: plan9"
    ));
    assert_eq!(home.out(&["skills"]), home.out(&["skills", "list"]));
    let nothing = json!({"skills": {"allowBundled": ["none"]}});
    let bare = Home::empty();
    bare.write(".openclaw/openclaw.json", &nothing.to_string());
    let told = bare.out(&["skills", "list", "--eligible"]);
    assert_eq!(told, "No eligible skills found. Run `yabby skills list` to see all skills.\n");
}

#[test]
fn one_skill_is_shown_with_what_it_needs() {
    let home = taught();
    let told = home.out(&["skills", "info", "lacking"]);
    let expected = "🎣 lacking ✗ Missing requirements\n\nAbout lacking.\n\nDetails:\n  Source: openclaw-workspace\n  Path: ~/.openclaw/workspace/skills/lacking/SKILL.md\n  Primary env: HOOK_KEY\n\nRequirements:\n  Binaries: ✗ no-such-rod\n  Any binaries: ✗ no-such-a, ✗ no-such-b\n  Environment: ✗ HOOK_KEY\n  Config: ✗ hooks.enabled\n  OS: ✗ plan9\n";
    assert_eq!(told, expected);
    let info = home.json(&["skills", "info", "lacking"]);
    let path = home.path().join(".openclaw/workspace/skills/lacking").to_string_lossy().into_owned();
    assert_eq!((&info["baseDir"], &info["skillKey"]), (&json!(path), &json!("lacking")));
    assert_eq!(info["filePath"], format!("{path}/SKILL.md"));
    assert_eq!(info["requirements"]["bins"], json!(["no-such-rod"]));
    assert_eq!(info["configChecks"], json!([{"path": "hooks.enabled", "satisfied": false}]));
    let install =
        json!([{"id": "brew-0", "kind": "brew", "label": "Install rod (brew)", "bins": ["no-such-rod"]}]);
    assert_eq!(info["install"], install);
    assert!(home.out(&["skills", "info", "ready"]).starts_with("📦 ready ✓ Ready\n"));
    let unknown = home.refusal(&["skills", "info", "no\u{1b}pe"]);
    assert_eq!(unknown, "Skill \"no�pe\" not found. Run `yabby skills list` to see available skills.");
}

#[test]
fn what_is_ready_and_what_is_missing_is_counted() {
    let home = taught();
    let check = home.json(&["skills", "check"]);
    let summary = &check["summary"];
    assert_eq!(
        (&summary["total"], &summary["disabled"], &summary["blocked"]),
        (&json!(7), &json!(1), &json!(3))
    );
    assert_eq!(check["disabled"], json!(["off"]));
    assert_eq!(check["blocked"], json!(["github", "tmux", "write-a-skill"]));
    assert!(check["eligible"].as_array().unwrap().contains(&json!("ready")));
    let lacking = row(&check["missingRequirements"], "lacking");
    assert_eq!(lacking["missing"]["os"], json!(["plan9"]));
    assert_eq!(lacking["install"][0]["id"], "brew-0");
    let told = home.out(&["skills", "check"]);
    assert!(told.starts_with("Skills Status Check\n\nTotal: 7\n✓ Eligible: "), "{told}");
    assert!(
        told.contains("\nReady to use:\n") && told.contains("\n  🎣 lacking (bins: no-such-rod;"),
        "{told}"
    );
}

#[test]
fn a_skill_is_called_by_its_name() {
    let service = exec::service([exec::answer()]);
    let home = exec::home(&service, &json!({}));
    home.write(
        ".openclaw/workspace/skills/knots/SKILL.md",
        "---\nname: knots\ndescription: Ties knots.\ndisable-model-invocation: true\n---\nTie.\n",
    );
    let ask = |words: &str| home.out(&["agent", "--local", "--agent", "main", "-m", words]);
    assert_eq!(ask("/skill knots a bowline"), "done\n");
    let asked = service.stand_in.last_body();
    let messages = asked["messages"].as_array().unwrap();
    let path = home.path().join(".openclaw/workspace/skills/knots/SKILL.md");
    let said = messages.last().unwrap().to_string();
    assert!(
        said.contains(&format!("({}) for this: read it first.\\n\\na bowline", path.display())),
        "{said}"
    );
    assert!(!messages[0].to_string().contains("Ties knots."), "the model is not told of it by itself");
    assert!(messages[0].to_string().contains("write-a-skill"), "but of what comes with the program");
    let unknown = ask("/skill whittle a boat");
    assert!(unknown.starts_with("There is no skill \"whittle\" here. There are: "), "{unknown}");
    assert_eq!(service.stand_in.seen().len(), 1);
}

#[test]
fn what_a_skill_is_given_reaches_commands_and_is_not_told() {
    let command = "echo \"$HOOK_KEY\" | rev; echo \"plain $HOOK_KEY $TENANT.\"; echo \"other: $OTHER_KEY.\"";
    let service = exec::service([exec::call("exec", &json!({"command": command})), exec::answer()]);
    let skills = json!({"entries": {
        "fish": {"apiKey": "skill-very-secret", "env": {"TENANT": "tenant-very-secret"}},
        "none": {"env": {"OTHER_KEY": "other-very-secret"}},
    }});
    let home = exec::home(&service, &json!({"skills": skills}));
    home.write(
        ".openclaw/workspace/skills/fish/SKILL.md",
        "---\nname: fish\ndescription: Fishes.\nmetadata: {\"openclaw\":{\"primaryEnv\":\"HOOK_KEY\"}}\n---\n",
    );
    let path = std::env::var_os("PATH").unwrap();
    let output = home.command(&["agent", "--local", "--agent", "main", "-m", "go"]).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let told = exec::told(&service);
    assert!(told.contains("terces-yrev-lliks"), "the command knows it: {told}");
    assert!(told.contains("plain ") && told.contains("other: ."), "{told}");
    assert!(!told.contains("very-secret"), "{told}");
}

#[test]
fn a_folder_that_cannot_be_written_is_no_obstacle() {
    let home = Home::empty();
    home.write(".openclaw/bundled-skills", "a file in the way");
    let told = home.run(&["agent", "--local", "--agent", "main", "-m", "hello"]);
    assert!(told.code == 0 && told.out.starts_with("Hello!"), "{told:?}");
    let state = home.path().join(".openclaw");
    fs::set_permissions(&state, PermissionsExt::from_mode(0o500)).unwrap();
    let listed = home.json(&["skills", "list"]);
    fs::set_permissions(&state, PermissionsExt::from_mode(0o700)).unwrap();
    assert_eq!(row(&listed["skills"], "weather")["bundled"], true);
}

#[test]
fn a_task_in_the_background_is_waited_for() {
    let spawn = exec::call("sessions_spawn", &json!({"task": "count the boats", "label": "boats"}));
    // Who asks first, the task or the conversation, is chance: both hear the same.
    let service = exec::service([spawn, exec::answer(), exec::answer(), exec::answer()]);
    let home = exec::home(&service, &json!({}));
    let told = home.run(&["agent", "--local", "--agent", "main", "-m", "how many boats?"]);
    assert_eq!((told.code, told.out.as_str()), (0, "done\ndone\n"), "{told:?}");
    let asked: Vec<String> = service.stand_in.seen().iter().map(|seen| seen.body.to_string()).collect();
    assert_eq!(asked.len(), 4);
    assert_eq!(asked.iter().filter(|body| body.contains("## Subagent")).count(), 1);
    assert!(asked[3].contains("A background task has ended: boats"), "{}", asked[3]);
    assert!(!home.takes_a_turn());
    let listed = home.json(&["sessions"]);
    let keys: Vec<&str> =
        listed["sessions"].as_array().unwrap().iter().filter_map(|row| row["key"].as_str()).collect();
    assert!(keys.iter().any(|key| key.starts_with("agent:main:subagent:")), "{keys:?}");
}
