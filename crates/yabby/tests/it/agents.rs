//! `yabby agents`.

use serde_json::json;

use crate::home::Home;

fn home() -> Home {
    let home = Home::empty();
    let config = json!({
        "agents": {
            "defaults": {"model": {"primary": "a/b"}, "workspace": "~/ws"},
            "list": [
                {"id": "Main", "default": true, "name": "Mia", "identity": {"name": "Ignored", "emoji": "🦀"}},
                {"id": "ops", "model": "c/d", "workspace": "~/ops"},
                {"id": "MAIN"},
                {"id": "blank", "identity": {"name": " "}},
            ],
        },
        "bindings": [
            {"agentId": "OPS", "match": {"channel": "telegram", "accountId": "work", "peer": {"kind": "group", "id": "-1"}}},
            {"agentId": "nobody", "match": {"channel": "telegram"}},
        ],
    });
    home.write(".openclaw/openclaw.json", &config.to_string());
    home.write(
        "ws/IDENTITY.md",
        "- **Name:** Ferris\n- **Emoji:** *(your signature — pick one that feels right)*\n",
    );
    home
}

#[test]
fn agents_are_listed_with_what_they_inherit() {
    let home = home();
    let expected = "Agents:\n\
        - main (default) (Mia)\n  Identity: 🦀 Ferris (IDENTITY.md)\n  Workspace: ~/ws\n\
        \x20 Agent dir: ~/.openclaw/agents/main/agent\n  Model: a/b\n  Routing rules: 0\n\
        \x20 Routing: default (no explicit rules)\n\
        - ops\n  Workspace: ~/ops\n  Agent dir: ~/.openclaw/agents/ops/agent\n  Model: c/d\n  Routing rules: 1\n\
        - blank\n  Workspace: ~/.openclaw/workspace-blank\n  Agent dir: ~/.openclaw/agents/blank/agent\n\
        \x20 Model: a/b\n  Routing rules: 0\n\
        Routing rules map channel/account/peer to an agent. Use --bindings for full rules.\n\
        Channel status reflects local config/creds. For live health: yabby channels status --probe.\n";
    assert_eq!(home.out(&["agents", "list"]), expected);
    assert_eq!(home.out(&["agents"]), expected);
    let rules = home.out(&["agents", "list", "--bindings"]);
    assert!(rules.contains("  Routing rules:\n    - telegram accountId=work peer=group:-1\n"), "{rules}");
}

#[test]
fn json_lists_one_object_an_agent() {
    let home = home();
    let list = home.json(&["agents", "list", "--bindings"]);
    let [main, ops, blank] = list.as_array().unwrap().as_slice() else { panic!("{list}") };
    assert_eq!((&main["identityName"], &main["identitySource"]), (&json!("Ferris"), &json!("identity")));
    assert_eq!(
        (&main["isDefault"], &main["routes"]),
        (&json!(true), &json!(["default (no explicit rules)"]))
    );
    assert_eq!(ops["bindingDetails"], json!(["telegram accountId=work peer=group:-1"]));
    assert_eq!((&blank["identityName"], blank.get("identitySource")), (&json!(""), None));
    assert_eq!(home.json(&["agents"])[1].get("bindingDetails"), None);
}

#[test]
fn a_new_home_has_the_agent_main() {
    let home = Home::empty();
    let list = home.json(&["agents", "list"]);
    assert_eq!((&list[0]["id"], list.as_array().unwrap().len()), (&json!("main"), 1));
}

#[test]
fn two_defaults_are_one_too_many() {
    let home = Home::empty();
    let config = json!({"agents": {"list": [{"id": "a"}, {"id": "b", "default": true}, {"id": "c", "default": true}]}});
    home.write(".openclaw/openclaw.json", &config.to_string());
    let told = home.run(&["agents"]);
    assert_eq!(told.err, "Multiple agents marked default=true; using the first entry as default.\n");
    assert!(told.out.contains("- b (default)\n"), "{}", told.out);
}

/// Every file below a folder, with its text.
fn texts(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(texts(&path)),
            false => found.push(std::fs::read_to_string(path).unwrap()),
        }
    }
    found.sort();
    found
}

#[test]
fn an_agent_that_is_deleted_leaves_everything_behind() {
    let home = home();
    home.write("ops/AGENTS.md", "the rules of ops");
    home.write(".openclaw/agents/ops/agent/auth-profiles.json", "{\"version\":1,\"profiles\":{}}");
    home.write(".openclaw/agents/ops/sessions/sessions.json", "{}");
    home.write(".openclaw/agents/ops/sessions/a.jsonl", "{\"type\":\"session\"}\n");
    let folders = ["ops", ".openclaw/agents/ops"].map(|folder| home.path().join(folder));
    let mut before: Vec<String> = folders.iter().flat_map(|folder| texts(folder)).collect();
    before.sort();
    assert_eq!(home.refusal(&["agents", "delete", "ops"]), "Non-interactive session. Re-run with --force.");
    // Whoever was told that a message was accepted gets an answer from the agent that it was for.
    let accepted = json!({"turn": "a", "at": 1, "step": "accepted", "sessionKey": "agent:ops:main",
        "message": {"CommandAuthorized": false}, "options": {"lane": "main", "toCaller": false, "heartbeat": false}});
    let journal = ".openclaw/turns/gateway-999999-0a1b2c3d.jsonl";
    home.write(journal, &format!("{accepted}\n"));
    let refusal = home.refusal(&["agents", "delete", "ops", "--force"]);
    assert!(refusal.contains("has not answered everything yet (1 message)"), "{refusal}");
    std::fs::remove_file(home.path().join(journal)).unwrap();
    let told = home.json(&["agents", "delete", "ops", "--force"]);
    assert_eq!((&told["agentId"], &told["removedBindings"]), (&json!("ops"), &json!(1)));
    assert!(!home.path().join("ops").exists());
    assert_eq!(texts(&home.path().join(".openclaw/trash")), before);
    let listed = home.json(&["agents", "list"]);
    assert!(listed.as_array().unwrap().iter().all(|agent| agent["id"] != "ops"), "{listed}");
    assert_eq!(home.refusal(&["agents", "delete", "ops", "--force"]), "Agent \"ops\" not found.");
}

#[test]
fn a_folder_that_others_need_stays_where_it_is() {
    let home = home();
    home.write("ws/AGENTS.md", "the rules of all");
    home.out(&["config", "set", "agents.list[1].workspace", "~/ws"]);
    let told = home.json(&["agents", "delete", "ops", "--force"]);
    assert_eq!(told["kept"].as_array().map(Vec::len), Some(1), "{told}");
    assert!(home.path().join("ws/AGENTS.md").exists());
}

#[test]
fn an_agent_is_added_beside_the_others() {
    let home = Home::empty();
    let add = ["agents", "add", "Work Mail", "--workspace", "~/mail", "--bind", "telegram:work"];
    let told = home.run(&[&add[..], &["--json"]].concat());
    assert_eq!((told.code, told.err.as_str()), (0, "Normalized agent id to \"work-mail\".\n"));
    let told: serde_json::Value = serde_json::from_str(&told.out).unwrap();
    assert_eq!(told["bindings"]["added"], json!(["telegram accountId=work"]));
    assert!(home.path().join("mail/AGENTS.md").exists());
    let listed = home.json(&["agents", "list"]);
    let default = listed.as_array().unwrap().iter().find(|agent| agent["isDefault"] == true).unwrap();
    assert_eq!((&default["id"], listed.as_array().unwrap().len()), (&json!("main"), 2));
    let other = ["agents", "add", "second", "--workspace", "~/two", "--bind", "telegram:work"];
    let told = home.json(&other);
    assert_eq!(told["bindings"]["conflicts"], json!(["telegram accountId=work (agent=work-mail)"]));
    assert_eq!(
        home.refusal(&["agents", "add", "main", "--workspace", "~/x"]),
        "\"main\" is reserved. Choose another name."
    );
}

#[test]
fn an_agent_that_has_no_place_is_not_added() {
    let home = Home::empty();
    home.write("taken", "a file");
    let refused = home.refusal(&["agents", "add", "ops", "--workspace", "~/taken/ops"]);
    assert!(refused.contains("taken"), "{refused}");
    home.out(&["agents", "add", "ops", "--workspace", "~/ops"]);
}
