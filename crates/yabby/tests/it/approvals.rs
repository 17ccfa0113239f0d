//! `yabby approvals`.

use serde_json::json;

use crate::home::Home;

#[test]
fn programs_are_allowed_and_forgotten() {
    let home = Home::empty();
    let shown = home.json(&["approvals", "get"]);
    let path = home.path().join(".openclaw/exec-approvals.json");
    assert_eq!((&shown["path"], &shown["exists"]), (&json!(path), &json!(false)));
    assert_eq!(home.out(&["approvals", "allowlist", "remove", "/bin/x"]), "Pattern not found.\n");
    assert!(!path.exists());

    let told = home.out(&["approvals", "allowlist", "add", "~/bin/*"]);
    assert!(told.contains("Allowlist  1") && told.contains("*  ~/bin/*  (used 0s ago)"), "{told}");
    assert_eq!(home.out(&["approvals", "allowlist", "add", "~/bin/*"]), "Already allowlisted.\n");
    let shown = home.json(&["approvals", "allowlist", "add", "--agent", "main", "/usr/bin/uptime"]);
    assert_eq!(shown["file"]["agents"]["main"]["allowlist"][0]["pattern"], "/usr/bin/uptime");
    assert_eq!(shown["file"]["socket"]["token"], json!(null));
    assert_eq!(shown["hash"].as_str().unwrap().len(), 64);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"token\"") && !home.out(&["approvals", "get"]).contains("token"), "{text}");

    home.out(&["exec-approvals", "allowlist", "remove", "--agent", "main", "/usr/bin/uptime"]);
    let shown = home.json(&["approvals", "get"]);
    assert_eq!(shown["file"]["agents"].as_object().unwrap().keys().collect::<Vec<_>>(), ["*"]);
    assert!(home.refusal(&["approvals", "allowlist", "add", "rg"]).contains("/usr/bin/rg"));
    assert_eq!(home.refusal(&["approvals", "allowlist", "add", " "]), "Pattern required.");
}

#[test]
fn another_file_takes_the_place_of_this_one() {
    let home = Home::empty();
    home.write("new.json", "{defaults: {security: 'full', ask: 'off'}, note: 'mine', agents: {main: {}}}");
    let told = home.out(&["approvals", "set", "--file", "new.json"]);
    assert!(told.contains("Defaults   security=full, ask=off"), "{told}");
    assert_eq!(home.json(&["approvals", "get"])["file"]["note"], "mine");
    home.write("bad.json", "[1]");
    home.refusal(&["approvals", "set", "--file", "bad.json"]);
    home.refusal(&["approvals", "set", "--file", "missing.json"]);
    assert_eq!(home.json(&["approvals", "get"])["file"]["note"], "mine");
    home.write(".openclaw/exec-approvals.json", "{ broken");
    assert!(home.refusal(&["approvals", "get"]).contains("is damaged"));
    home.refusal(&["approvals", "allowlist", "add", "/bin/x"]);
}
