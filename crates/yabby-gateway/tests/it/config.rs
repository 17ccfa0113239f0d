//! The configuration over the wire: without its secrets, and never with marks in their places.

use serde_json::json;
use yabby_gateway::RestartWish;

use crate::client::Stand;

const MARK: &str = "__OPENCLAW_REDACTED__";

#[tokio::test]
async fn secrets_are_not_shown_and_stay_when_the_file_is_written_again() {
    let stand = Stand::new(json!({"hooks": {"token": "hook-secret"}, "session": {"idleMinutes": 5}})).await;
    let mut owner = stand.owner().await;
    let before = owner.get("config.get", json!({})).await;
    assert!(!before.to_string().contains("hook-secret") && !before.to_string().contains("token-of-a-test"));
    assert_eq!(before["config"]["hooks"]["token"], MARK);
    let raw = before["raw"].as_str().unwrap().replace("\"idleMinutes\": 5", "\"idleMinutes\": 7");
    let written = owner.get("config.set", json!({"raw": raw, "baseHash": before["hash"]})).await;
    assert_eq!(written["config"]["session"]["idleMinutes"], 7);
    assert_eq!(written["config"]["gateway"]["auth"]["token"], MARK);
    let file = std::fs::read_to_string(stand.path("openclaw.json")).unwrap();
    assert!(
        file.contains("hook-secret") && file.contains("token-of-a-test") && !file.contains(MARK),
        "{file}"
    );
}

#[tokio::test]
async fn a_mark_for_which_there_is_nothing_is_refused() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let hash = owner.get("config.get", json!({})).await["hash"].clone();
    let file = std::fs::read_to_string(stand.path("openclaw.json")).unwrap();
    for (method, raw) in [
        ("config.set", json!({"hooks": {"token": MARK}}).to_string()),
        ("config.patch", json!({"hooks": {"token": MARK}}).to_string()),
        ("config.apply", format!("{{ /* {MARK} */ }}")),
    ] {
        let why = owner.refusal(method, json!({"raw": raw, "baseHash": hash})).await;
        assert!(why.contains("hidden"), "{method}: {why}");
    }
    assert_eq!(std::fs::read_to_string(stand.path("openclaw.json")).unwrap(), file);
}

#[tokio::test]
async fn a_patch_keeps_comments_and_asks_for_a_new_start() {
    let mut stand = Stand::new(json!({})).await;
    let file = std::fs::read_to_string(stand.path("openclaw.json")).unwrap();
    std::fs::write(stand.path("openclaw.json"), format!("// mine\n{file}")).unwrap();
    let mut owner = stand.owner().await;
    let hash = owner.get("config.get", json!({})).await["hash"].clone();
    let patch = json!({"raw": "{ui: {seamColor: '#445566'}}", "baseHash": hash, "restartDelayMs": 250, "note": " n "});
    let told = owner.get("config.patch", patch).await;
    assert_eq!(told["restart"]["delayMs"], 250);
    assert_eq!(told["sentinel"]["payload"]["message"], "n");
    let wish = stand.restarts.recv().await.unwrap();
    let expected =
        RestartWish { reason: "config.patch".to_owned(), delay: std::time::Duration::from_millis(250) };
    assert_eq!(wish, expected);
    let after = std::fs::read_to_string(stand.path("openclaw.json")).unwrap();
    assert!(after.starts_with("// mine\n") && after.contains("#445566"), "{after}");
    assert!(stand.path("restart-sentinel.json").exists());
    let stale = owner.refusal("config.patch", json!({"raw": "{}", "baseHash": hash})).await;
    assert_eq!(stale, "config changed since last load; re-run config.get and retry");
}

#[tokio::test]
async fn a_patch_may_speak_of_older_keys_and_take_back_what_was_filled_in() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let before = owner.get("config.get", json!({})).await;
    assert_eq!(before["config"]["messages"]["ackReactionScope"], "group-mentions");
    let raw = "{gateway: {token: 'older'}, messages: {ackReactionScope: null}}";
    let told = owner.get("config.patch", json!({"raw": raw, "baseHash": before["hash"]})).await;
    assert_eq!(told["config"]["messages"].get("ackReactionScope"), None, "{told}");
    assert_eq!(told["config"]["gateway"].get("token"), None, "{told}");
    let after = std::fs::read_to_string(stand.path("openclaw.json")).unwrap();
    assert!(!after.contains("older"), "a token that is there already stays: {after}");
}

#[tokio::test]
async fn a_skill_is_switched_off_in_the_file() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    let told =
        owner.get("skills.update", json!({"skillKey": "a.b", "enabled": false, "apiKey": "sk-1"})).await;
    assert_eq!(told["config"], json!({"enabled": false, "apiKey": MARK}));
    let file = std::fs::read_to_string(stand.path("openclaw.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&file).unwrap();
    assert_eq!(file["skills"]["entries"]["a.b"], json!({"enabled": false, "apiKey": "sk-1"}));
}
