//! `IDENTITY.md`, in which an agent writes down who it is (`cli.md` §6).

use crate::text;

/// Who an agent is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub name: Option<String>,
    pub emoji: Option<String>,
    pub creature: Option<String>,
    pub vibe: Option<String>,
    pub theme: Option<String>,
    pub avatar: Option<String>,
}

/// What the untouched template says; nobody has answered it yet.
const QUESTIONS: [&str; 5] = [
    "pick something you like",
    "ai? robot? familiar? ghost in the machine? something weirder?",
    "how do you come across? sharp? warm? chaotic? calm?",
    "your signature - pick one that feels right",
    "workspace-relative path, http(s) url, or data uri",
];

impl Identity {
    /// Reads `- **Name:** Ferris` lines; `None` if there are none that say anything.
    pub fn read(markdown: &str) -> Option<Self> {
        let mut identity = Self::default();
        for line in markdown.split('\n') {
            let line = text::trim(line);
            let line = line.strip_prefix('-').map_or(line, text::trim_start);
            let Some((label, value)) = line.split_once(':') else { continue };
            let label = text::lower(text::trim(&label.replace(['*', '_'], "")));
            let value = text::trim(value.trim_matches(['*', '_']));
            if value.is_empty() || is_question(value) {
                continue;
            }
            let field = match label.as_str() {
                "name" => &mut identity.name,
                "emoji" => &mut identity.emoji,
                "creature" => &mut identity.creature,
                "vibe" => &mut identity.vibe,
                "theme" => &mut identity.theme,
                "avatar" => &mut identity.avatar,
                _ => continue,
            };
            *field = Some(value.to_owned());
        }
        (identity != Self::default()).then_some(identity)
    }
}

fn is_question(value: &str) -> bool {
    let value = text::trim(text::trim(value).trim_matches(['*', '_']));
    let value = value.strip_prefix('(').and_then(|value| value.strip_suffix(')')).map_or(value, text::trim);
    let value = value.replace(['\u{2013}', '\u{2014}'], "-");
    QUESTIONS.contains(&text::lower(&text::collapse_spaces(&value)).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_answers_count() {
        let table = [
            ("- **Name:** Opsy\n- **Emoji:** 🐙\n", Some((Some("Opsy"), Some("🐙")))),
            ("**Name**: Al\r\nnotes: x", Some((Some("Al"), None))),
            ("- **Name:**\n  *(pick something you like)*", None),
            ("- Name: (Pick  something you like)", None),
            ("- Emoji: *(your signature — pick one that feels right)*", None),
            ("", None),
        ];
        for (file, expected) in table {
            let read = Identity::read(file);
            let told = read.as_ref().map(|read| (read.name.as_deref(), read.emoji.as_deref()));
            assert_eq!(told, expected, "{file:?}");
        }
    }
}
