//! A stored message as the model sees it (`transcripts.md` §5.1).

use super::{Content, Message, Role};
use crate::json::{self, Object, Value};

const COMPACTION_PREFIX: &str =
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n";
const COMPACTION_SUFFIX: &str = "\n</summary>";
const BRANCH_PREFIX: &str =
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n";
const BRANCH_SUFFIX: &str = "</summary>";

impl Message {
    /// What goes to the model for this message; `None` if it is not for the model.
    pub fn for_model(&self) -> Option<Message> {
        let summary = || self.text_field("summary").unwrap_or_default();
        match self.role() {
            Role::User | Role::Assistant | Role::ToolResult => Some(self.clone()),
            Role::Custom => Some(self.as_user(match self.content() {
                Content::Text(text) => text_block(text),
                Content::Blocks(_) | Content::Missing => self.get("content").cloned().unwrap_or(Value::Null),
            })),
            Role::CompactionSummary => Some(
                self.as_user(text_block(&format!("{COMPACTION_PREFIX}{}{COMPACTION_SUFFIX}", summary()))),
            ),
            Role::BranchSummary => {
                Some(self.as_user(text_block(&format!("{BRANCH_PREFIX}{}{BRANCH_SUFFIX}", summary()))))
            }
            Role::BashExecution if self.get("excludeFromContext").is_some_and(json::truthy) => None,
            Role::BashExecution => Some(self.as_user(text_block(&self.bash_text()))),
            Role::Other => None,
        }
    }

    fn as_user(&self, content: Value) -> Message {
        let mut user = Message::new(Object::new());
        user.set("role", "user");
        user.set("content", content);
        if let Some(timestamp) = self.get("timestamp") {
            user.set("timestamp", timestamp.clone());
        }
        user
    }

    fn bash_text(&self) -> String {
        let output = self.text_field("output").unwrap_or_default();
        let mut text = format!("Ran `{}`\n", self.text_field("command").unwrap_or_default());
        match output {
            "" => text.push_str("(no output)"),
            _ => text.push_str(&format!("```\n{output}\n```")),
        }
        let exit_code = self.get("exitCode").and_then(Value::as_f64).filter(|code| *code != 0.0);
        if self.get("cancelled").is_some_and(json::truthy) {
            text.push_str("\n\n(command cancelled)");
        } else if let Some(code) = exit_code {
            text.push_str(&format!("\n\nCommand exited with code {}", json::number_text(code)));
        }
        let whole_output = self.text_field("fullOutputPath").filter(|path| !path.is_empty());
        if let Some(path) = whole_output.filter(|_| self.get("truncated").is_some_and(json::truthy)) {
            text.push_str(&format!("\n\n[Output truncated. Full output: {path}]"));
        }
        text
    }
}

fn text_block(text: &str) -> Value {
    serde_json::json!([{"type": "text", "text": text}])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn everything_the_model_may_see_is_a_user_message_an_answer_or_a_result() {
        let bash = |more: Value| {
            let mut message = json!({"role": "bashExecution", "command": "ls", "output": ""});
            message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            message
        };
        let table = [
            (json!({"role": "custom", "content": "hi"}), Some("hi")),
            (
                json!({"role": "branchSummary", "summary": "S"}),
                Some(
                    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\nS</summary>",
                ),
            ),
            (bash(json!({})), Some("Ran `ls`\n(no output)")),
            (
                bash(json!({"output": "x", "exitCode": 2})),
                Some("Ran `ls`\n```\nx\n```\n\nCommand exited with code 2"),
            ),
            (
                bash(json!({"cancelled": true, "exitCode": 2})),
                Some("Ran `ls`\n(no output)\n\n(command cancelled)"),
            ),
            (bash(json!({"excludeFromContext": true})), None),
            (json!({"role": "system", "content": "x"}), None),
        ];
        for (stored, seen) in table {
            let seen = seen.map(|text| json!({"role": "user", "content": [{"type": "text", "text": text}]}));
            let message = Message::from_value(stored.clone()).unwrap();
            assert_eq!(message.for_model().map(Message::into_value), seen, "{stored}");
        }
    }
}
