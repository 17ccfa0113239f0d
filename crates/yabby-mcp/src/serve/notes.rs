//! Notes as resources: `memory://<agent>/<path>`, for whoever may read them.

use std::path::Path;

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents};
use url::Url;
use yabby_domain::text;
use yabby_memory::compat::files::{memory_files, memory_name};
use yabby_memory::compat::reading::Lines;

use super::Look;

const MARKDOWN: &str = "text/markdown";

/// A note that may be read.
struct Note {
    uri: String,
    /// As the index names it.
    name: String,
    size: Option<u64>,
}

pub(super) async fn list(look: &Look<'_>) -> Result<Vec<Resource>, ErrorData> {
    let resource = |note: Note| {
        let resource = Resource::new(note.uri, outside(&note.name)).with_mime_type(MARKDOWN);
        match note.size {
            Some(size) => resource.with_size(size),
            None => resource,
        }
    };
    Ok(notes(look).await?.into_iter().map(resource).collect())
}

/// Only what is listed is read: whatever else an address may mean, it leads nowhere.
pub(super) async fn read(look: &Look<'_>, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let missing = || ErrorData::resource_not_found(format!("no note can be seen at {uri}"), None);
    let note = notes(look).await?.into_iter().find(|note| note.uri == uri).ok_or_else(missing)?;
    let read = look.opened.memory.note(&look.viewer, &note.name, Lines::default()).await;
    let read = read.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let contents = ResourceContents::text(outside(&read.text), uri).with_mime_type(MARKDOWN);
    Ok(ReadResourceResult::new(vec![contents]))
}

async fn notes(look: &Look<'_>) -> Result<Vec<Note>, ErrorData> {
    if !look.viewer.sees_notes() {
        return Ok(Vec::new());
    }
    let found = look.recalled(|memory| {
        let places = memory.places();
        let files = memory_files(&places.workspace, &places.extra_paths);
        let note = |file: &Path| {
            let name = memory_name(file, &places.workspace);
            let uri = address(places.agent.as_str(), &name, file)?;
            let size = file.metadata().ok().map(|about| about.len());
            Some(Note { uri, name, size })
        };
        Ok(files.iter().filter_map(|file| note(file)).collect())
    });
    found.await.map_err(|error| ErrorData::internal_error(error, None))
}

/// The address of a note. One outside of the workspace is named by its whole path, in one word: an address
/// has no way up.
fn address(agent: &str, name: &str, file: &Path) -> Option<String> {
    let mut address = Url::parse(&format!("memory://{agent}/")).ok()?;
    {
        let mut segments = address.path_segments_mut().ok()?;
        segments.pop_if_empty();
        match name.starts_with("..") || name.starts_with('/') {
            true => segments.push(&file.to_string_lossy()),
            false => segments.extend(name.split('/')),
        };
    }
    Some(address.into())
}

fn outside(text: &str) -> String {
    text::to_outside(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_note_has_an_address_of_its_own() {
        let table = [
            ("MEMORY.md", "memory://main/MEMORY.md"),
            ("memory/2026-02-03.md", "memory://main/memory/2026-02-03.md"),
            ("memory/größe & co.md", "memory://main/memory/gr%C3%B6%C3%9Fe%20&%20co.md"),
            ("memory/100%.md", "memory://main/memory/100%25.md"),
            ("../else/x.md", "memory://main/%2Fhome%2Felse%2Fx.md"),
        ];
        for (name, expected) in table {
            assert_eq!(address("main", name, Path::new("/home/else/x.md")).unwrap(), expected, "{name}");
        }
    }
}
