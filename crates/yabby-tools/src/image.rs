//! `image`: has a model that can see look at an image of the workspace.

use std::io::BufReader;
use std::path::PathBuf;

use async_trait::async_trait;
use serde_json::json;
use yabby_domain::json::Object;
use yabby_domain::seam::tool::{Effect, Tool, ToolContext, ToolOutput, ToolSpec};
use yabby_domain::text;

use crate::arguments::Arguments;
use crate::picture::Picture;
use crate::places::{Access, Places};

pub(crate) struct Image {
    pub(crate) readable: Vec<PathBuf>,
}

#[async_trait]
impl Tool for Image {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "image".to_owned(),
            description: "Ask a model that can see about an image of the workspace.".to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "image": {"type": "string", "description": "The file, relative to the workspace"},
                    "prompt": {"type": "string", "description": "What to find out"},
                },
                "required": ["image"],
            }),
        }
    }

    fn effect(&self) -> Effect {
        Effect::None
    }

    async fn call(&self, arguments: &Object, context: &ToolContext) -> ToolOutput {
        let arguments = Arguments(arguments);
        let Some(path) = arguments.text("image").and_then(text::non_blank).or_else(|| arguments.path())
        else {
            return ToolOutput::error("image required");
        };
        let question = arguments.text("prompt").and_then(text::non_blank).unwrap_or("Describe the image.");
        let (places, name) = (Places::of(context, &self.readable), path.to_owned());
        let read = move || {
            let found = places.find(&name, Access::Read)?;
            let picture = Picture::read(&name, &mut BufReader::new(found.file(&name)?))?;
            picture.ok_or_else(|| format!("{name} is not an image (png, jpg, gif or webp)"))
        };
        match crate::found(read).await {
            Ok(picture) => picture.described(path, question, context).await,
            Err(problem) => ToolOutput::error(&problem),
        }
    }
}
