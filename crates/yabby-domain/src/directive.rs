//! Inline directives: what a message says about how it is to be handled (`sessions.md` §15).

pub mod exec;
pub mod level;
pub mod model;

use crate::body;
use crate::queue::directive::{QueueDirective, QueueRequest};
use crate::text;

use exec::{ExecDirective, take_exec};
use level::{ElevatedLevel, Level, LevelDirective, ReasoningLevel, ThinkLevel, VerboseLevel, take_level};
use model::{ModelDirective, take_model};

/// Everything a message directs, and the message without it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directives {
    pub rest: String,
    pub think: Option<LevelDirective<ThinkLevel>>,
    pub verbose: Option<LevelDirective<VerboseLevel>>,
    pub reasoning: Option<LevelDirective<ReasoningLevel>>,
    pub elevated: Option<LevelDirective<ElevatedLevel>>,
    pub exec: Option<ExecDirective>,
    pub status: bool,
    pub model: Option<ModelDirective>,
    pub queue: Option<QueueRequest>,
}

/// Who sent the message, and where.
#[derive(Clone, Copy, Debug, Default)]
pub struct Circumstances {
    pub in_group: bool,
    pub mentioned: bool,
    pub text_commands_allowed: bool,
    /// The sender may command this agent.
    pub sender_authorized: bool,
    /// The channel lets the sender give commands at all.
    pub commands_authorized: bool,
}

impl Directives {
    /// Takes every directive out of `body`, in the order in which the reference looks for them.
    pub fn take(body: &str, model_aliases: &[String], status_allowed: bool) -> Self {
        let mut taken = Self { rest: text::trim(body).to_owned(), ..Self::default() };
        taken.think = taken.level();
        taken.verbose = taken.level();
        taken.reasoning = taken.level();
        taken.elevated = taken.level();
        taken.exec = take_exec(&taken.rest).inspect(|found| taken.rest.clone_from(&found.rest));
        if status_allowed && let Some(rest) = take_status(&taken.rest) {
            taken.rest = rest;
            taken.status = true;
        }
        taken.model =
            take_model(&taken.rest, model_aliases).inspect(|found| taken.rest.clone_from(&found.rest));
        let queue = QueueDirective::extract(&taken.rest);
        (taken.rest, taken.queue) = (queue.rest, queue.request);
        taken
    }

    fn level<L: Level>(&mut self) -> Option<LevelDirective<L>> {
        let found = take_level::<L>(&self.rest)?;
        self.rest.clone_from(&found.rest);
        Some(found)
    }

    /// The directives that take effect. `without_mentions` strips mentions of the agent.
    ///
    /// A directive acts only if the message is nothing but directives; among other words it is merely
    /// taken out. In a group that does not mention the agent, nobody loosens the leash.
    pub fn in_effect(
        mut self,
        here: Circumstances,
        model_aliases: &[String],
        without_mentions: impl Fn(&str) -> String,
    ) -> Self {
        if !self.rest.is_empty() {
            self.status = false;
        }
        if here.in_group && !here.mentioned {
            self.elevated = self.elevated.filter(|elevated| elevated.level == Some(ElevatedLevel::Off));
            let denies = |exec: &ExecDirective| {
                exec.security.as_ref().is_some_and(|choice| choice.value.as_deref() == Some("deny"))
            };
            self.exec = self.exec.filter(denies);
        }
        if self.sets_anything() && self.has_other_words(here, model_aliases, without_mentions) {
            let status = self.status && here.text_commands_allowed && here.sender_authorized;
            self = Self { rest: self.rest, status, ..Self::default() };
        }
        if !here.commands_authorized {
            // Elevation and execution have gates of their own.
            self = Self { rest: self.rest, elevated: self.elevated, exec: self.exec, ..Self::default() };
        }
        self
    }

    fn sets_anything(&self) -> bool {
        self.think.is_some()
            || self.verbose.is_some()
            || self.reasoning.is_some()
            || self.elevated.is_some()
            || self.exec.is_some()
            || self.model.is_some()
            || self.queue.is_some()
    }

    fn has_other_words(
        &self,
        here: Circumstances,
        aliases: &[String],
        without_mentions: impl Fn(&str) -> String,
    ) -> bool {
        let stripped = body::strip_structure(&self.rest);
        let words = if here.in_group { without_mentions(&stripped) } else { stripped };
        text::non_blank(&words).is_some() && !Self::take(&words, aliases, true).rest.is_empty()
    }
}

/// Takes the first `/status` out of `body`; `None` if there is none.
pub fn take_status(body: &str) -> Option<String> {
    let (start, after_name) = find_directive(body, &["status"])?;
    let colon = skip_spaces(body, after_name);
    let end = if body[colon..].starts_with(':') { skip_spaces(body, colon + 1) } else { after_name };
    Some(without(body, &body[start..end]))
}

/// Finds `/name` at the start or after white space, and before the end, white space or `:`. Gives
/// where it begins (with that white space) and where the name ends.
fn find_directive(body: &str, names: &[&str]) -> Option<(usize, usize)> {
    for (slash, _) in body.match_indices('/') {
        let before = body[..slash].chars().next_back();
        if before.is_some_and(|c| !text::is_space(c)) {
            continue;
        }
        let rest = &body[slash + 1..];
        let ends = |name: &&&str| {
            let after = rest.get(name.len()..).unwrap_or("");
            starts_with_ignoring_case(rest, name)
                && after.chars().next().is_none_or(|c| c == ':' || text::is_space(c))
        };
        if let Some(name) = names.iter().find(ends) {
            let start = slash - before.map_or(0, char::len_utf8);
            return Some((start, slash + 1 + name.len()));
        }
    }
    None
}

fn starts_with_ignoring_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len()).is_some_and(|head| head == prefix || text::lower(head) == text::lower(prefix))
}

fn skip_spaces(body: &str, from: usize) -> usize {
    body.len() - text::trim_start(&body[from..]).len()
}

/// The body without the first occurrence of `taken`. The reference searches for the text it matched,
/// so an earlier `/statusx` loses its `/status`; we do the same.
fn without(body: &str, taken: &str) -> String {
    collapsed(&body.replacen(taken, " ", 1))
}

fn collapsed(text: &str) -> String {
    text::trim(&text::collapse_spaces(text)).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_taken_out() {
        assert_eq!(take_status("hey /status: now").as_deref(), Some("hey now"));
        assert_eq!(take_status("/statusx"), None);
    }

    #[test]
    fn directives_act_only_when_nothing_else_is_said() {
        let here = Circumstances {
            text_commands_allowed: true,
            sender_authorized: true,
            commands_authorized: true,
            ..Circumstances::default()
        };
        let group = Circumstances { in_group: true, ..here };
        let stranger = Circumstances { commands_authorized: false, ..here };
        //  body                              where     think  elevated  model  rest
        let table = [
            ("/think high /model opus", here, true, false, true, ""),
            ("/think high please", here, false, false, false, "please"),
            ("/elevated full", group, false, false, false, ""),
            ("/elevated off", group, false, true, false, ""),
            ("/think high", stranger, false, false, false, ""),
        ];
        for (body, here, think, elevated, model, rest) in table {
            let found = Directives::take(body, &[], true).in_effect(here, &[], str::to_owned);
            let seen =
                (found.think.is_some(), found.elevated.is_some(), found.model.is_some(), found.rest.as_str());
            assert_eq!(seen, (think, elevated, model, rest), "{body}");
        }
    }
}
