//! Images: shown to a model that can see, described to one that cannot.

use std::io::{self, BufRead, Read as _};

use base64::Engine as _;
use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::seam::tool::{ToolContext, ToolOutput};
use yabby_domain::untrusted::fence;

use crate::workspace::told;

/// An image that is larger is no picture to look at.
const MOST_BYTES: u64 = 5 * 1024 * 1024;

pub(crate) struct Picture {
    kind: &'static str,
    bytes: Vec<u8>,
}

impl Picture {
    /// The image that a file holds; `None` if it holds something else, and then nothing was read.
    pub(crate) fn read(path: &str, reader: &mut impl BufRead) -> Result<Option<Self>, String> {
        let unread = |error: io::Error| told(path, &error);
        let Some(kind) = kind(reader.fill_buf().map_err(unread)?) else { return Ok(None) };
        let mut bytes = Vec::new();
        reader.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(unread)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(format!("{path} is an image ({kind}) of more than 5 MB; make it smaller first"));
        }
        Ok(Some(Self { kind, bytes }))
    }

    /// As a model sees it.
    pub(crate) fn shown(&self) -> ToolOutput {
        let said = ToolOutput::text(&format!("Read image file [{}]", self.kind));
        ToolOutput { blocks: [said.blocks, vec![self.block()]].concat(), ..ToolOutput::default() }
    }

    /// What a model that can see says to a question about it.
    pub(crate) async fn described(&self, path: &str, question: &str, context: &ToolContext) -> ToolOutput {
        match context.office.look(self.block(), question).await {
            // Somebody may have written orders into it.
            Ok(said) => {
                ToolOutput::text(&fence(&format!("the image {path}, as another model saw it"), &said))
            }
            Err(why) => ToolOutput::error(&format!(
                "{path} is an image ({}, {} bytes), and nobody here can look at it: {why}",
                self.kind,
                self.bytes.len()
            )),
        }
    }

    fn block(&self) -> Value {
        let data = base64::engine::general_purpose::STANDARD.encode(&self.bytes);
        json!({"type": "image", "data": data, "mimeType": self.kind})
    }
}

/// What kind of image begins so. Its name does not tell.
fn kind(begins: &[u8]) -> Option<&'static str> {
    match begins {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}
