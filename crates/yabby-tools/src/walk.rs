//! Going through folders, by name, following no link.

use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use crate::ignored::Ignored;
use crate::places::Found;
use crate::workspace::{Entry, Folder, Kind};

const DEEPEST: usize = 64;

/// More entries of folders are not looked at in one search.
pub(crate) const MOST_ENTRIES: usize = 500_000;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Searched {
    /// Whoever was told of the files had enough, or there were no more.
    Whole,
    /// There were more entries than this.
    Part { most: usize },
}

impl Searched {
    /// What is to be said about it below the result.
    pub(crate) fn note(self) -> String {
        match self {
            Self::Whole => String::new(),
            Self::Part { most } => format!(
                "\n\n[Not everything was looked at: more than {most} entries are there. Name a folder in it.]"
            ),
        }
    }
}

/// Tells of every file below a folder, but for what git ignores and what is hidden from this conversation.
pub(crate) fn each_file(
    found: &Found,
    folder: &Folder,
    most: usize,
    tell: &mut dyn FnMut(&Path, &Entry, &Folder) -> ControlFlow<()>,
) -> io::Result<Searched> {
    let mut ignored = Ignored::default();
    ignored.enter(Path::new(""), folder);
    let (mut seen, mut searched) = (0, Searched::Whole);
    walk(folder, Path::new(""), DEEPEST, &mut |below, entry, folder| {
        seen += 1;
        if seen > most {
            searched = Searched::Part { most };
            return Next::Stop;
        }
        if ignored.leaves_out(below, entry.kind) || found.hides(below) {
            return Next::Past;
        }
        match entry.kind {
            Kind::Folder => {
                if let Ok(inner) = folder.folder(&entry.name) {
                    ignored.enter(below, &inner);
                }
                Next::Into
            }
            Kind::File => match tell(below, entry, folder) {
                ControlFlow::Continue(()) => Next::Past,
                ControlFlow::Break(()) => Next::Stop,
            },
            Kind::Link | Kind::Other => Next::Past,
        }
    })?;
    Ok(searched)
}

/// Goes through a folder and what is below it, by name, following no link. `visit` is told of every entry,
/// and whether to go into a folder is its answer.
pub(crate) fn walk(
    folder: &Folder,
    path: &Path,
    depth: usize,
    visit: &mut dyn FnMut(&Path, &Entry, &Folder) -> Next,
) -> io::Result<bool> {
    for entry in folder.entries()? {
        let below = path.join(&entry.name);
        match visit(&below, &entry, folder) {
            Next::Stop => return Ok(false),
            Next::Into if entry.kind == Kind::Folder && depth > 0 => {
                // One that is gone meanwhile, or not ours to look into, has nothing for us.
                if let Ok(inner) = folder.folder(&entry.name)
                    && !walk(&inner, &below, depth - 1, visit).unwrap_or(true)
                {
                    return Ok(false);
                }
            }
            Next::Into | Next::Past => {}
        }
    }
    Ok(true)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Into,
    Past,
    Stop,
}
