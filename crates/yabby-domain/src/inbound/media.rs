//! Attachments of a message and the note that tells the agent about them (`sessions.md` §11).

use serde::{Deserialize, Serialize};

use crate::text;

/// One file that came with a message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Attachment {
    pub path: String,
    pub content_type: Option<String>,
    pub url: Option<String>,
    /// Its content is already in the prompt (a transcribed voice note, a described image).
    pub understood: bool,
}

/// The media fields of a message as channels fill them in: one file, or lists that run in parallel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MediaFields {
    pub path: Option<String>,
    pub content_type: Option<String>,
    pub url: Option<String>,
    pub paths: Vec<String>,
    pub content_types: Vec<Option<String>>,
    pub urls: Vec<Option<String>>,
    /// Places in the list whose content is already in the prompt.
    pub understood: Vec<usize>,
}

impl MediaFields {
    /// A list of types or URLs counts only if it is as long as the list of paths; the single type
    /// and URL stand in wherever it says nothing.
    pub fn attachments(&self) -> Vec<Attachment> {
        let single: Vec<String>;
        let paths = if self.paths.is_empty() {
            single = self.path.as_deref().and_then(text::non_blank).map(str::to_owned).into_iter().collect();
            &single
        } else {
            &self.paths
        };
        let pick = |list: &[Option<String>], at: usize, single: &Option<String>| {
            let listed = if list.len() == paths.len() { list[at].clone() } else { None };
            listed.or_else(|| single.clone())
        };
        paths
            .iter()
            .enumerate()
            .map(|(at, path)| Attachment {
                path: path.clone(),
                content_type: pick(&self.content_types, at, &self.content_type),
                url: pick(&self.urls, at, &self.url),
                understood: self.understood.contains(&at),
            })
            .collect()
    }
}

/// What the agent is told about attachments it has not seen: a line for one, a count and a line
/// each for several.
pub fn media_note(attachments: &[Attachment]) -> Option<String> {
    let unseen: Vec<&Attachment> = attachments.iter().filter(|attachment| !attachment.understood).collect();
    match unseen.as_slice() {
        [] => None,
        [only] => Some(format!("[media attached: {}]", describe(only))),
        several => {
            let count = several.len();
            let lines = several.iter().enumerate().map(|(at, attachment)| {
                format!("\n[media attached {}/{count}: {}]", at + 1, describe(attachment))
            });
            Some(format!("[media attached: {count} files]{}", lines.collect::<String>()))
        }
    }
}

fn describe(attachment: &Attachment) -> String {
    let mut out = attachment.path.clone();
    if let Some(content_type) = attachment.content_type.as_deref().and_then(text::non_blank) {
        out.push_str(&format!(" ({content_type})"));
    }
    if let Some(url) = attachment.url.as_deref().and_then(text::non_blank) {
        out.push_str(&format!(" | {url}"));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_note_names_what_the_agent_has_not_seen() {
        let fields = MediaFields {
            paths: vec!["a".into(), "b".into()],
            content_types: vec![None, Some(" image/png ".into())],
            content_type: Some("x".into()),
            urls: vec![Some("u".into())],
            ..MediaFields::default()
        };
        let both =
            "[media attached: 2 files]\n[media attached 1/2: a (x)]\n[media attached 2/2: b (image/png)]";
        assert_eq!(media_note(&fields.attachments()).as_deref(), Some(both));

        let one_understood = MediaFields { understood: vec![0], ..fields };
        let rest = "[media attached: b (image/png)]";
        assert_eq!(media_note(&one_understood.attachments()).as_deref(), Some(rest));

        let blank = MediaFields { path: Some("  ".into()), ..MediaFields::default() };
        assert_eq!(media_note(&blank.attachments()), None);
    }
}
