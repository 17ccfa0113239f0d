//! A server that is made with the official package for Python, where `cargo xtask judge-mcp` put one.

use serde_json::json;

use crate::desk::{Desk, inside, words};

#[tokio::test]
async fn a_server_in_python_is_understood() {
    let Ok(python) = std::env::var("YABBY_MCP_PYTHON") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/server.py");
    let desk =
        Desk::with(json!({"py": {"command": python, "args": [script], "env": {"SERVER_MODE": "stdio"}}}));
    let troubles = desk.servers.troubles().await;
    assert_eq!(troubles, []);
    assert_eq!(desk.names().await, ["mcp_py_add", "mcp_py_boom", "mcp_py_notes", "mcp_py_picture"]);
    assert!(inside(&desk.call("mcp_py_add", json!({"a": 2, "b": 40})).await).contains("42"));
    let failed = desk.call("mcp_py_boom", json!({})).await;
    assert!(failed.is_error && words(&failed).contains("Error executing tool boom"), "{}", words(&failed));
    let notes = desk.call("mcp_py_notes", json!({})).await;
    assert!(inside(&notes).contains("first") && inside(&notes).contains("second"), "{}", words(&notes));
    assert_eq!(desk.call("mcp_py_picture", json!({})).await.blocks[0]["mimeType"], json!("image/png"));
}
