//! `memory_get`: lines of a note, or what was said from a line of a conversation on.

use serde_json::{Value, json};
use yabby_memory::compat::reading::{Lines, ReadError};
use yabby_memory::excerpt::ExcerptError;

use super::arguments::Arguments;
use super::{Look, Spec};

pub(super) fn spec() -> Spec {
    (
        "Read a note",
        "Read MEMORY.md or a file of memory/, whole or some lines of it; a path that begins with sessions/ \
         shows what was said from that line on. Paths are those of memory_search.",
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "A path that memory_search told"},
                "from": {"type": "number", "description": "The line to begin with; the first is 1"},
                "lines": {"type": "number", "description": "How many lines"},
            },
            "required": ["path"],
        }),
    )
}

pub(super) async fn call(look: &Look<'_>, arguments: Arguments<'_>) -> Result<Value, String> {
    let path = arguments.required("path")?;
    let lines = Lines {
        from: arguments.number("from")?.map(f64::trunc),
        count: arguments.number("lines")?.map(f64::trunc),
    };
    let read = look.opened.memory.excerpt(&look.viewer, path, lines).await;
    let excerpt = read.map_err(|error| match error {
        ExcerptError::Read(ReadError::Refused) => format!(
            "there is no {path} to be read: memory is MEMORY.md, memory/**/*.md, the paths of \
             memorySearch.extraPaths, and the conversations that memory_search shows"
        ),
        ExcerptError::Private => "the notes are the owner's own, and this server shows only what \
            one conversation may see"
            .to_owned(),
        other => other.to_string(),
    })?;
    let mut shown = json!({"text": excerpt.text, "path": excerpt.path});
    if excerpt.is_cut {
        shown["truncated"] = true.into();
    }
    Ok(shown)
}
