//! The formats that providers ask of ids, names, images and signatures (`transcripts.md` §8).

use super::{ProviderFamily, UNSIGNED_CALL};
use crate::json::Value;
use crate::sanitize::{images, signatures};
use crate::text;

/// The longest side of an image, and of one among many.
const MAX_SIDE: u32 = 8000;
const MAX_SIDE_AMONG_MANY: u32 = 2000;
const MANY_IMAGES: usize = 20;

pub fn is_call_id(id: &str, family: ProviderFamily) -> bool {
    match family {
        ProviderFamily::Anthropic | ProviderFamily::Gemini => is_word(id, 64),
        ProviderFamily::OpenAiChat => is_word(id, 40),
        // The call, and the item of the answer that it stood in.
        ProviderFamily::OpenAiResponses => match id.split_once('|') {
            None => is_word(id, 64),
            Some((call, item)) => is_word(call, 64) && is_word(item, 64) && item.starts_with("fc"),
        },
        ProviderFamily::Mistral => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
    }
}

pub fn is_tool_name(name: &str, family: ProviderFamily) -> bool {
    let begins_well = family != ProviderFamily::Gemini
        || name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    begins_well && is_word(name, 64)
}

fn is_word(text: &str, max: usize) -> bool {
    let is_word_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=max).contains(&text.len()) && text.bytes().all(is_word_byte)
}

/// The longest side that each of `images` images may have.
pub fn max_side(images: usize) -> u32 {
    if images > MANY_IMAGES { MAX_SIDE_AMONG_MANY } else { MAX_SIDE }
}

/// How much of a request may be images: how many, and how long their data together. The newest count
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageBudget {
    images: usize,
    data: usize,
}

impl ImageBudget {
    /// Three quarters of the largest request are for images; the rest is for words.
    pub fn of(family: ProviderFamily) -> Self {
        const MIB: usize = 1024 * 1024;
        let (images, request) = match family {
            ProviderFamily::Anthropic => (100, 32 * MIB),
            ProviderFamily::OpenAiChat | ProviderFamily::OpenAiResponses => (500, 50 * MIB),
            ProviderFamily::Gemini => (900, 20 * MIB),
            ProviderFamily::Mistral => (8, 50 * MIB),
        };
        Self { images, data: request / 4 * 3 }
    }

    /// Takes an image out of the budget, if it fits.
    pub fn spend(&mut self, image: &Value) -> bool {
        let data = image.get("data").and_then(Value::as_str).map_or(0, str::len);
        match (self.images.checked_sub(1), self.data.checked_sub(data)) {
            (Some(images), Some(data)) => {
                *self = Self { images, data };
                true
            }
            _ => {
                // Older ones do not fit either: what is shown has no gaps.
                self.images = 0;
                false
            }
        }
    }
}

/// Whether so many images, with so much data in all, can be shown however they are spread over a request.
pub fn all_images_fit(images: usize, data: usize, family: ProviderFamily) -> bool {
    let budget = ImageBudget::of(family);
    images <= budget.images && data <= budget.data && max_side(images) == max_side(0)
}

/// Whether a block is an image that the provider takes: its type is known and what the payload says,
/// and it is neither too heavy nor too long.
pub fn is_image(block: &Value, max_side: u32, family: ProviderFamily) -> bool {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    let picture = field("data").filter(|_| field("type") == Some("image")).and_then(images::picture);
    picture.is_some_and(|picture| {
        field("mimeType") == Some(picture.mime_type)
            && !(family == ProviderFamily::Gemini && picture.mime_type == "image/gif")
            && picture.bytes <= images::MAX_BYTES
            && picture.longest_side() <= max_side
    })
}

/// Whether a provider takes a block of thinking back from the model that thought it.
pub fn is_own_thinking(block: &Value, family: ProviderFamily) -> bool {
    let field = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    let says_something = text::non_blank(field("thinking")).is_some();
    let signature = field("thinkingSignature");
    match (family, field("type")) {
        (ProviderFamily::Anthropic, "redacted_thinking") => !field("data").is_empty(),
        (_, "redacted_thinking") => false,
        (ProviderFamily::Anthropic, _) => {
            let is_redacted = block.get("redacted") == Some(&Value::Bool(true));
            text::non_blank(signature).is_some() && (says_something || is_redacted)
        }
        (ProviderFamily::OpenAiResponses, _) => {
            block.get("thinkingSignature").is_some_and(signatures::is_reasoning_item)
        }
        (ProviderFamily::Gemini, _) => {
            says_something && (signature.is_empty() || signatures::is_base64(signature))
        }
        (ProviderFamily::OpenAiChat | ProviderFamily::Mistral, _) => says_something,
    }
}

/// Whether a provider takes back a signature on text or a call; `own` if its model wrote the message.
pub fn is_own_signature(signature: &Value, own: bool, family: ProviderFamily) -> bool {
    let is_readable =
        family != ProviderFamily::Gemini || signature.as_str().is_some_and(signatures::is_base64);
    signature == UNSIGNED_CALL || (own && is_readable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_provider_has_its_form_of_ids() {
        use ProviderFamily::{Anthropic, Gemini, Mistral, OpenAiChat, OpenAiResponses};
        let long = "a".repeat(41);
        let longer = "a".repeat(65);
        //  id                    anthropic  chat   responses  gemini  mistral
        let table = [
            ("toolu_01-A", [true, true, true, true, false]),
            ("abcdefgh9", [true, true, true, true, true]),
            ("call_1|fc_1", [false, false, true, false, false]),
            ("call_1|rs_1", [false; 5]),
            ("call_1|fc_1|x", [false; 5]),
            (&long, [true, false, true, true, false]),
            (&longer, [false; 5]),
            ("é", [false; 5]),
            ("", [false; 5]),
        ];
        for (id, valid) in table {
            let families = [Anthropic, OpenAiChat, OpenAiResponses, Gemini, Mistral];
            assert_eq!(families.map(|family| is_call_id(id, family)), valid, "{id}");
        }
        assert!(is_tool_name("9to5", Anthropic) && !is_tool_name("9to5", Gemini));
    }
    #[test]
    fn the_newest_images_are_shown() {
        let image = serde_json::json!({"type": "image", "data": "x".repeat(10 * 1024 * 1024)});
        let mut budget = ImageBudget::of(ProviderFamily::Anthropic);
        let shown: Vec<bool> = (0..4).map(|_| budget.spend(&image)).collect();
        assert_eq!(shown, [true, true, false, false]);
        let mut budget = ImageBudget::of(ProviderFamily::Mistral);
        assert_eq!((0..20).filter(|_| budget.spend(&Value::Null)).count(), 8);
    }
}
