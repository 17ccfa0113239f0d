//! `/exec`: where commands run, what they may do and who is asked (`sessions.md` §7, §15).

use super::{collapsed, find_directive, skip_spaces};
use crate::text;

/// An `/exec` directive and its options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecDirective {
    /// The text without the directive.
    pub rest: String,
    pub host: Option<Choice>,
    pub security: Option<Choice>,
    pub ask: Option<Choice>,
    pub node: Option<Choice>,
}

/// What an option was set to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub written: String,
    /// `None` if the word is none of those that the option takes.
    pub value: Option<String>,
}

const HOSTS: [&str; 3] = ["sandbox", "gateway", "node"];
const SECURITIES: [&str; 3] = ["deny", "allowlist", "full"];
const ASKS: [&str; 3] = ["off", "on-miss", "always"];

/// Takes the first `/exec` out of `body`, with the options that follow it.
pub fn take_exec(body: &str) -> Option<ExecDirective> {
    let (_, after_name) = find_directive(body, &["exec"])?;
    let slash = after_name - "/exec".len();
    let mut at = skip_spaces(body, after_name);
    if body[at..].starts_with(':') {
        at = skip_spaces(body, at + 1);
    }
    let mut directive = ExecDirective::default();
    while let Some((option, written, end)) = next_option(body, at) {
        let one_of = |words: &[&str]| {
            let word = text::lower(&written);
            Choice { value: words.contains(&word.as_str()).then_some(word), written: written.clone() }
        };
        match option.as_str() {
            "host" => directive.host = Some(one_of(&HOSTS)),
            "security" => directive.security = Some(one_of(&SECURITIES)),
            "ask" => directive.ask = Some(one_of(&ASKS)),
            "node" => {
                let value = Some(written.clone()).filter(|node| !node.is_empty());
                directive.node = Some(Choice { written, value });
            }
            _ => break,
        }
        at = end;
    }
    directive.rest = collapsed(&format!("{} {}", &body[..slash], &body[at..]));
    Some(directive)
}

/// The next `name=value` or `name:value`, and where the word after it begins.
fn next_option(body: &str, at: usize) -> Option<(String, String, usize)> {
    let word = body[at..].split(text::is_space).next().filter(|word| !word.is_empty())?;
    let cut = word.find(['=', ':'])?;
    let name = text::lower(text::trim(&word[..cut]));
    let value = text::trim(&word[cut + 1..]).to_owned();
    (!name.is_empty()).then(|| (name, value, skip_spaces(body, at + word.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_until_another_word_comes() {
        let found = take_exec("do /exec: host=Sandbox ask:maybe node= ls host=node").unwrap();
        let value = |choice: &Option<Choice>| choice.as_ref().and_then(|choice| choice.value.clone());
        assert_eq!(value(&found.host).as_deref(), Some("sandbox"));
        assert_eq!((value(&found.ask), value(&found.node)), (None, None));
        assert!(found.ask.is_some() && found.node.is_some() && found.security.is_none());
        assert_eq!(found.rest, "do ls host=node");
        assert_eq!(take_exec("/executive summary"), None);
    }
}
