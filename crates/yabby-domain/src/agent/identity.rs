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

/// What pages show of whoever answers (`gateway.md` §5.1, `agent.identity.get`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub name: String,
    /// A picture's address or file, or a few letters.
    pub avatar: String,
    pub emoji: Option<String>,
}

impl Shown {
    /// What the settings of the pages say, else the agent's own settings, else what it wrote down itself.
    pub fn of(page: &Identity, configured: &Identity, written: &Identity) -> Self {
        const NAME: usize = 50;
        const AVATAR: usize = 200;
        const EMOJI: usize = 16;
        let name = [&page.name, &configured.name, &written.name];
        let name = name.into_iter().find_map(|name| cut(name, NAME));
        let avatar = [&page.avatar, &configured.avatar, &configured.emoji, &written.avatar, &written.emoji];
        let avatar =
            avatar.into_iter().filter_map(|avatar| cut(avatar, AVATAR)).find(|avatar| is_avatar(avatar));
        let emoji = [&configured.emoji, &written.emoji, &configured.avatar, &written.avatar];
        let emoji = emoji.into_iter().filter_map(|emoji| cut(emoji, EMOJI)).find(|emoji| is_emoji(emoji));
        Self {
            name: name.unwrap_or_else(|| "Assistant".to_owned()),
            avatar: avatar.unwrap_or_else(|| "A".to_owned()),
            emoji,
        }
    }

    /// Whether the avatar is a file in the workspace, which somebody has to serve.
    pub fn has_file(&self) -> bool {
        !is_address(&self.avatar) && looks_like_file(&self.avatar)
    }
}

fn cut(said: &Option<String>, units: usize) -> Option<String> {
    let said = text::non_blank(said.as_deref()?)?;
    Some(text::head(said, units).into_owned())
}

fn is_avatar(avatar: &str) -> bool {
    let is_short = text::units(avatar) <= 4 && !avatar.chars().any(text::is_space);
    is_address(avatar) || looks_like_file(avatar) || is_short
}

fn is_emoji(emoji: &str) -> bool {
    !emoji.is_ascii() && !is_address(emoji) && !looks_like_file(emoji)
}

fn is_address(avatar: &str) -> bool {
    ["http://", "https://", "data:image/"]
        .iter()
        .any(|start| text::starts_with_ignoring_ascii_case(avatar, start))
}

fn looks_like_file(avatar: &str) -> bool {
    const ENDS: [&str; 7] = [".png", ".jpg", ".jpeg", ".gif", ".webp", ".svg", ".ico"];
    let lowered = text::lower(avatar);
    avatar.contains(['/', '\\']) || ENDS.iter().any(|end| lowered.ends_with(end))
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

    #[test]
    fn whoever_answers_is_shown_as_the_settings_say() {
        let says = |name: &str, emoji: &str, avatar: &str| {
            let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
            Identity { name: text(name), emoji: text(emoji), avatar: text(avatar), ..Identity::default() }
        };
        let nobody = Identity::default();
        let shown = |page: &Identity, configured: &Identity, written: &Identity| {
            let Shown { name, avatar, emoji } = Shown::of(page, configured, written);
            format!("{name} {avatar} {}", emoji.unwrap_or_default()).trim_end().to_owned()
        };
        assert_eq!(shown(&nobody, &nobody, &nobody), "Assistant A");
        assert_eq!(shown(&nobody, &says("Yab", "🦀", ""), &says("Other", "🐙", "x.png")), "Yab 🦀 🦀");
        assert_eq!(shown(&nobody, &nobody, &says("Other", "crab", "too long")), "Other crab");
        assert_eq!(
            shown(&says("Page", "", "https://x"), &says("Yab", "🦀", ""), &nobody),
            "Page https://x 🦀"
        );
        assert!(Shown::of(&nobody, &says("", "", "faces/me.png"), &nobody).has_file());
    }
}
