//! Whether a group message that does not mention the agent is skipped (`sessions.md` §17).

/// What is known about mentions in a message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mentions {
    pub required: bool,
    /// Whether a mention could have been seen at all.
    pub detectable: bool,
    pub mentioned: bool,
    /// A reply to the agent, for instance.
    pub implicit: bool,
}

/// What a command needs so that it is heard without a mention.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommandInGroup {
    pub is_group: bool,
    /// Somebody is mentioned, so the command may be meant for them.
    pub anyone_mentioned: bool,
    pub text_commands_allowed: bool,
    pub is_control_command: bool,
    pub authorized: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MentionVerdict {
    pub mentioned: bool,
    pub skip: bool,
    /// The message passes because it is an authorised command.
    pub bypassed: bool,
}

/// Whether a message is for the agent; an authorised command that mentions nobody is.
pub fn gate_with_commands(mentions: Mentions, command: CommandInGroup) -> MentionVerdict {
    let unaddressed =
        command.is_group && mentions.required && !mentions.mentioned && !command.anyone_mentioned;
    let welcome = command.text_commands_allowed && command.authorized && command.is_control_command;
    let bypassed = unaddressed && welcome;
    let mentioned = mentions.mentioned || mentions.implicit || bypassed;
    MentionVerdict { mentioned, skip: mentions.required && mentions.detectable && !mentioned, bypassed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authorised_command_needs_no_mention() {
        let mentions = Mentions { required: true, detectable: true, ..Mentions::default() };
        let command = CommandInGroup {
            is_group: true,
            anyone_mentioned: false,
            text_commands_allowed: true,
            is_control_command: true,
            authorized: true,
        };
        assert!(gate_with_commands(mentions, CommandInGroup::default()).skip);
        assert!(!gate_with_commands(mentions, command).skip);
        assert!(gate_with_commands(mentions, CommandInGroup { authorized: false, ..command }).skip);
        assert!(gate_with_commands(mentions, CommandInGroup { anyone_mentioned: true, ..command }).skip);
        assert!(!gate_with_commands(Mentions { implicit: true, ..mentions }, CommandInGroup::default()).skip);
    }
}
