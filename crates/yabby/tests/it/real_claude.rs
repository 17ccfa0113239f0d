//! The real `claude` program searches the memory through `yabby mcp`, with a stand-in for its service.
//! `YABBY_CLAUDE` says where the program is; without it, there is nothing to test.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use yabby_testkit::stand_in::{Format, Reply, Script};

use crate::exec::{self, Service};
use crate::home::{Home, MAIN, YABBY, message};

const REMEMBERED: &str = "the alarm code is quartz 4711";
const GROUP: &str = "agent:main:telegram:group:-100";

struct Claude {
    program: OsString,
    home: Home,
    service: Service,
}

impl Claude {
    fn new(replies: impl IntoIterator<Item = Reply>) -> Option<Self> {
        let program = std::env::var_os("YABBY_CLAUDE")?;
        let home = Home::with(&json!({
            "agent:main:main": {"sessionId": MAIN, "updatedAt": 2},
            GROUP: {"sessionId": "the-group", "updatedAt": 1, "chatType": "group", "channel": "telegram"},
        }));
        home.say(MAIN, &[message("m1", "user", "My quartz ring is in the drawer")]);
        home.say("the-group", &[message("g1", "user", "The granite party is on Friday")]);
        home.write(".openclaw/workspace/MEMORY.md", &format!("- {REMEMBERED}\n"));
        home.write("work/README", "");
        let service = exec::service(replies);
        service.stand_in.otherwise(Format::Anthropic.answer(&Script::text(&["It is 4711."])));
        Some(Self { program, home, service })
    }

    /// What it prints.
    fn run(&self, arguments: &[&str]) -> String {
        let home = self.home.path();
        let output = Command::new(&self.program)
            .args(arguments)
            .current_dir(home.join("work"))
            .env_clear()
            .envs([("PATH", std::env::var_os("PATH").unwrap()), ("HOME", home.into())])
            .env("CLAUDE_CONFIG_DIR", home.join("config"))
            .env("ANTHROPIC_BASE_URL", self.service.stand_in.address())
            .env("ANTHROPIC_API_KEY", "test-key")
            .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
            .env("CLAUDE_CODE_MAX_RETRIES", "0")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{arguments:?}: {told}{complaint}");
        told
    }

    /// What it told its service of the results of tools.
    fn results(&self) -> Vec<Value> {
        let mut results = Vec::new();
        for message in self.service.stand_in.last_body()["messages"].as_array().unwrap() {
            let blocks = message["content"].as_array().into_iter().flatten();
            results.extend(blocks.filter(|block| block["type"] == "tool_result").cloned());
        }
        results
    }
}

fn calls(tool: &'static str, arguments: &Value) -> Reply {
    let arguments: &'static str = Box::leak(arguments.to_string().into_boxed_str());
    Format::Anthropic.answer(&Script::calls(&[("toolu_1", tool, &[arguments])]))
}

#[test]
fn claude_finds_what_was_remembered() {
    let search = calls("mcp__yabby__memory_search", &json!({"query": "alarm code"}));
    let Some(claude) = Claude::new([search]) else { return };
    claude.run(&["mcp", "add", "yabby", "--", YABBY, "mcp"]);
    let listed = claude.run(&["mcp", "list"]);
    let ours = listed.lines().find(|line| line.starts_with("yabby:")).unwrap_or_default();
    assert!(ours.contains("Connected"), "{listed}");
    let ask = ["--print", "--model", "claude-test", "--allowedTools", "mcp__yabby__memory_search"];
    let answer = claude.run(&[&ask[..], &["--", "What is the alarm code?"]].concat());
    assert_eq!(answer.trim(), "It is 4711.");
    let results = claude.results();
    assert_eq!(results.len(), 1, "{results:?}");
    assert!(results[0].to_string().contains(REMEMBERED), "{results:?}");
    assert_ne!(results[0]["is_error"], true, "{results:?}");
}

#[test]
fn claude_hears_nothing_of_the_owner_for_a_group() {
    let search = calls("mcp__yabby__memory_search", &json!({"query": "quartz alarm code granite"}));
    let Some(claude) = Claude::new([search]) else { return };
    claude.run(&["mcp", "add", "yabby", "--", YABBY, "mcp", "--as", GROUP]);
    let ask = ["--print", "--model", "claude-test", "--allowedTools", "mcp__yabby__memory_search"];
    claude.run(&[&ask[..], &["--", "What is the alarm code?"]].concat());
    let results = claude.results();
    let told = results[0].to_string();
    assert!(results.len() == 1 && told.contains("granite party") && !told.contains("quartz"), "{results:?}");
}
