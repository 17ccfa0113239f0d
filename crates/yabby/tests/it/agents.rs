//! `yabby agents list`.

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
