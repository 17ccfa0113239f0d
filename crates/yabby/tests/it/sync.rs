//! `yabby sync`.

use yabby_domain::session::entry::{Patch, SessionEntry};
use yabby_domain::session::key::SessionKey;
use yabby_store::files::sessions::{SessionFile, Settings};

use crate::home::Home;

#[test]
fn the_store_has_everything_though_another_process_writes_to_it() {
    let home = Home::empty();
    assert_eq!(home.out(&["sync"]), "There are no sessions yet.\n");
    let record = |at: usize| {
        format!("\"agent:main:s{at}\": {{\"sessionId\": \"{at}\", \"note\": \"{}\"}}", "x".repeat(900))
    };
    let text = format!("{{{}}}", (0..100).map(record).collect::<Vec<_>>().join(", "));
    let file = ".openclaw/agents/main/sessions/sessions.json";
    home.write(file, &text);
    let path = home.path().join(file);
    let store = SessionFile::open(&path, Settings::default()).unwrap();
    let change = |entry: &mut Option<SessionEntry>| {
        let mut patch = Patch::default();
        patch.set_label(Some("mine"));
        entry.get_or_insert_default().apply(&patch);
    };
    store.update_blocking(&SessionKey::new("agent:main:s7"), Box::new(change)).unwrap();
    let label = || {
        let text = std::fs::read_to_string(&path).unwrap();
        let all: serde_json::Value = serde_json::from_str(&text).unwrap();
        all["agent:main:s7"]["label"].clone()
    };
    assert_eq!(label(), serde_json::Value::Null, "a large store waits for its journal");
    let told = home.out(&["sync"]);
    assert!(told.ends_with("sessions.json is up to date.\n"), "{told}");
    assert_eq!(label(), "mine");
    let json = home.json(&["sync", "--agent", "main"]);
    assert_eq!((&json["ok"], &json["stores"][0]["agent"]), (&true.into(), &"main".into()));
}
