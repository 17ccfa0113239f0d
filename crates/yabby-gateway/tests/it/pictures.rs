//! Pictures that come with a message.

use serde_json::{Value, json};
use yabby_domain::message::Content;
use yabby_testkit::scripted_model::Line;

use crate::client::Stand;

const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

/// What the model was asked last, block by block.
fn question(stand: &Stand) -> Vec<Value> {
    match stand.stage.model.asked().last().unwrap().messages.last().unwrap().content() {
        Content::Blocks(blocks) => blocks.to_vec(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_model_sees_what_is_attached() {
    let stand = Stand::new(json!({})).await;
    let mut owner = stand.owner().await;
    stand.stage.model.will([Line::say("A dot."), Line::say("Another dot.")]);
    let attached = json!([{"type": "image", "fileName": "dot.gif", "content": GIF}]);
    let image = json!({"type": "image", "data": GIF, "mimeType": "image/gif"});
    let asked = json!({
        "message": "What is this?", "sessionKey": "agent:main:main", "idempotencyKey": "p1", "attachments": attached,
    });
    let request = owner.begin("agent", asked).await;
    owner.answer(&request).await;
    let answer = owner.answer(&request).await;
    assert_eq!(answer["payload"]["result"]["payloads"][0]["text"], "A dot.", "{answer}");
    let shown = question(&stand);
    assert!(shown[0]["text"].as_str().unwrap().ends_with("What is this?"), "{shown:?}");
    assert_eq!(&shown[1..], std::slice::from_ref(&image));
    // A picture says enough.
    let said = json!({"sessionKey": "main", "message": "", "idempotencyKey": "p2", "attachments": attached});
    owner.get("chat.send", said).await;
    while owner.event("chat").await["state"] != "final" {}
    assert_eq!(question(&stand).last(), Some(&image));
    let history = owner.get("chat.history", json!({"sessionKey": "main"})).await;
    let last = history["messages"].as_array().unwrap().last().unwrap();
    assert_eq!(last["content"][0]["text"], "Another dot.");
    // What is none is not left out in silence.
    let said = json!({
        "sessionKey": "main", "message": "read this", "idempotencyKey": "p3",
        "attachments": [{"fileName": "a.pdf", "mimeType": "application/pdf", "content": "JVBERi0x"}],
    });
    let refused = owner.refusal("chat.send", said).await;
    assert_eq!(refused, "Error: attachment a.pdf: not a picture (png, jpeg, gif or webp)");
}
