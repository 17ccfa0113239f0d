//! Who wrote a message: labels and the `[from: …]` line (`sessions.md` §11).

use crate::channel::ChatType;
use crate::text;
use crate::unique::unique;

/// What a channel knows about the author of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sender<'m> {
    pub name: Option<&'m str>,
    pub username: Option<&'m str>,
    pub tag: Option<&'m str>,
    pub e164: Option<&'m str>,
    pub id: Option<&'m str>,
}

impl<'m> Sender<'m> {
    /// `display (id)`, or whichever of the two is known.
    pub fn label(&self) -> Option<String> {
        let [name, username, tag, e164, id] = self.known();
        let display = name.or(username).or(tag);
        match (display, e164.or(id)) {
            (Some(display), Some(id)) if display != id => Some(format!("{display} ({id})")),
            (display, id) => display.or(id).map(str::to_owned),
        }
    }

    /// Every way to name the sender, the label last.
    pub fn labels(&self) -> Vec<String> {
        unique(self.known().into_iter().flatten().map(str::to_owned).chain(self.label()))
    }

    fn known(&self) -> [Option<&'m str>; 5] {
        [self.name, self.username, self.tag, self.e164, self.id].map(|part| part.and_then(text::non_blank))
    }
}

/// The body of a group message with a line that says who wrote it, unless it already says so.
pub fn with_sender_line(body: &str, chat_type: Option<ChatType>, sender: &Sender<'_>) -> String {
    let in_group = matches!(chat_type, Some(ChatType::Group | ChatType::Channel));
    let label = match sender.label() {
        Some(label) if in_group && text::non_blank(body).is_some() && !names_sender(body, sender) => label,
        _ => return body.to_owned(),
    };
    format!("{body}\n[from: {label}]")
}

/// A `[from:` line, or one of the sender's names as the label of a line: `Name: …` at the start of a
/// line or after a bracketed header.
fn names_sender(body: &str, sender: &Sender<'_>) -> bool {
    let labels: Vec<Vec<char>> = sender.labels().iter().map(|label| label.chars().collect()).collect();
    let mut starts = vec![0];
    for (at, c) in body.char_indices() {
        match c {
            '\n' => starts.push(at + 1),
            ']' => starts.push(body.len() - text::trim_start(&body[at + 1..]).len()),
            _ => {}
        }
    }
    starts.into_iter().any(|start| {
        let at_line_start = start == 0 || body[..start].ends_with('\n');
        let rest = &body[start..];
        (at_line_start && text::starts_with_ignoring_ascii_case(rest, "[from:"))
            || labels.iter().any(|label| is_line_label(rest, label))
    })
}

/// Whether `text` starts with the label in any case, a colon and white space.
fn is_line_label(text: &str, label: &[char]) -> bool {
    let mut rest = text.chars();
    label.iter().all(|expected| rest.next().is_some_and(|c| text::same_letter(c, *expected)))
        && rest.next() == Some(':')
        && rest.next().is_some_and(text::is_space)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_name_and_an_id() {
        //  name         username      e164           id          label
        let table = [
            (Some("Al"), None, Some("+1555"), Some("7"), Some("Al (+1555)")),
            (None, Some("al"), None, Some("7"), Some("al (7)")),
            (Some("7"), None, None, Some("7"), Some("7")),
            (Some("  "), None, None, Some(" 7 "), Some("7")),
            (None, None, None, None, None),
        ];
        for (name, username, e164, id, label) in table {
            let sender = Sender { name, username, e164, id, tag: None };
            assert_eq!(sender.label().as_deref(), label, "{sender:?}");
        }
    }

    #[test]
    fn the_sender_line_is_added_once_and_in_groups_only() {
        let sender = Sender { name: Some("Zoë"), e164: Some("+1555"), ..Sender::default() };
        let group = Some(ChatType::Group);
        let table = [
            ("hi", group, "hi\n[from: Zoë (+1555)]"),
            ("hi", Some(ChatType::Direct), "hi"),
            ("hi", None, "hi"),
            ("  ", group, "  "),
            ("ZOË: hi", group, "ZOË: hi"),
            ("Zoë:hi", group, "Zoë:hi\n[from: Zoë (+1555)]"),
            ("[Signal] +1555: hi", group, "[Signal] +1555: hi"),
            ("a\n[FROM: x]", group, "a\n[FROM: x]"),
            ("] [from: x]", group, "] [from: x]\n[from: Zoë (+1555)]"),
        ];
        for (body, chat_type, expected) in table {
            assert_eq!(with_sender_line(body, chat_type, &sender), expected, "{body}");
        }
    }
}
