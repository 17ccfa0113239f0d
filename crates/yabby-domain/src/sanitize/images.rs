//! Images in a history: what cannot be an image becomes a note (`transcripts.md` §8).

use super::signatures::base64_value;
use crate::json::Value;
use crate::message::text_block;
use crate::text;

/// The longest side and the size beyond which the reference makes an image smaller. Making it smaller
/// takes a codec, so that is done outside, before the history gets here.
pub const MAX_SIDE: u32 = 2000;
pub const MAX_BYTES: usize = 5 * 1024 * 1024;

/// What an image payload turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    pub mime_type: &'static str,
    pub bytes: usize,
    pub width: u32,
    pub height: u32,
}

impl Picture {
    pub fn longest_side(&self) -> u32 {
        self.width.max(self.height)
    }

    pub fn is_oversized(&self) -> bool {
        self.bytes > MAX_BYTES || self.longest_side() > MAX_SIDE
    }
}

/// Replaces images that are none by a note and corrects types that the payload contradicts.
pub(super) fn clean_images(blocks: &mut [Value]) {
    for block in blocks {
        let Some((data, mime_type)) = payload(block) else {
            continue;
        };
        let data = text::trim(data);
        let omitted = if data.is_empty() {
            Some("omitted empty image payload".to_owned())
        } else {
            unreadable(data).map(|why| format!("omitted image payload: Error: {why}"))
        };
        *block = match omitted {
            Some(note) => text_block(&format!("[session:history] {note}")),
            None => {
                let mut image = block.clone();
                let mime_type = apparent_type(data).unwrap_or(mime_type);
                image["mimeType"] = mime_type.into();
                image["data"] = data.into();
                image
            }
        };
    }
}

/// Data and type of an image block.
fn payload(block: &Value) -> Option<(&str, &str)> {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    (field("type") == Some("image")).then_some(())?;
    Some((field("data")?, field("mimeType")?))
}

/// Why no picture can be read from `data`, in the words of the reference's codec.
fn unreadable(data: &str) -> Option<&'static str> {
    let bytes = decode_leniently(data);
    if bytes.is_empty() {
        return Some("Input Buffer is empty");
    }
    dimensions(&bytes).is_none().then_some("Input buffer contains unsupported image format")
}

/// The type that the beginning of base64 data gives away.
fn apparent_type(data: &str) -> Option<&'static str> {
    const BEGINNINGS: [(&str, &str); 3] =
        [("/9j/", "image/jpeg"), ("iVBOR", "image/png"), ("R0lGOD", "image/gif")];
    BEGINNINGS.iter().find(|(beginning, _)| data.starts_with(beginning)).map(|(_, mime_type)| *mime_type)
}

/// The picture in strictly valid base64; `None` if there is none that providers read.
pub fn picture(data: &str) -> Option<Picture> {
    let bytes = decode_strictly(data)?;
    let (mime_type, width, height) = dimensions(&bytes)?;
    Some(Picture { mime_type, bytes: bytes.len(), width, height })
}

/// Base64 with its padding and nothing else.
fn decode_strictly(data: &str) -> Option<Vec<u8>> {
    let digits = data.strip_suffix("==").or_else(|| data.strip_suffix('=')).unwrap_or(data);
    let is_padded = data.len().is_multiple_of(4) && digits.len() % 4 != 1;
    let is_plain = digits.bytes().all(|digit| base64_value(digit, false).is_some());
    (is_padded && is_plain).then(|| decode_leniently(digits))
}

/// Base64 as Node reads it: both alphabets, skipping what is no digit, up to the padding.
fn decode_leniently(data: &str) -> Vec<u8> {
    let value = |digit: u8| base64_value(digit, false).or_else(|| base64_value(digit, true));
    let digits = data.bytes().take_while(|digit| *digit != b'=').filter_map(value);
    let mut bytes = Vec::with_capacity(data.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for digit in digits {
        bits = (bits << 6) | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}

/// Type, width and height from the header of a PNG, GIF, JPEG or WebP.
fn dimensions(bytes: &[u8]) -> Option<(&'static str, u32, u32)> {
    let (mime_type, (width, height)) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        ("image/png", png_size(bytes)?)
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        ("image/gif", (little_endian(bytes, 6, 2)?, little_endian(bytes, 8, 2)?))
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        ("image/jpeg", jpeg_size(bytes)?)
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        ("image/webp", webp_size(bytes)?)
    } else {
        return None;
    };
    (width > 0 && height > 0).then_some((mime_type, width, height))
}

fn big_endian(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let number = bytes.get(at..at + length)?;
    Some(number.iter().fold(0, |sum, byte| (sum << 8) | u32::from(*byte)))
}

fn little_endian(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let number = bytes.get(at..at + length)?;
    Some(number.iter().rev().fold(0, |sum, byte| (sum << 8) | u32::from(*byte)))
}

fn png_size(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.get(12..16)? == b"IHDR").then_some(())?;
    Some((big_endian(bytes, 16, 4)?, big_endian(bytes, 20, 4)?))
}

/// Walks the segments of a JPEG to the frame header.
fn jpeg_size(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1)?;
        if bytes[at] != 0xFF {
            return None;
        }
        match marker {
            0xFF => at += 1,
            0x01 | 0xD0..=0xD7 => at += 2,
            0xC0..=0xC3 | 0xC5..=0xC7 | 0xC9..=0xCB | 0xCD..=0xCF => {
                return Some((big_endian(bytes, at + 7, 2)?, big_endian(bytes, at + 5, 2)?));
            }
            _ => at += 2 + usize::try_from(big_endian(bytes, at + 2, 2)?.max(2)).ok()?,
        }
    }
}

fn webp_size(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " => Some((little_endian(bytes, 26, 2)? & 0x3FFF, little_endian(bytes, 28, 2)? & 0x3FFF)),
        b"VP8L" => {
            let bits = little_endian(bytes, 21, 4)?;
            Some(((bits & 0x3FFF) + 1, ((bits >> 14) & 0x3FFF) + 1))
        }
        b"VP8X" => Some((little_endian(bytes, 24, 3)? + 1, little_endian(bytes, 27, 3)? + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PNG: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

    #[test]
    fn what_is_no_image_becomes_a_note() {
        let note = |text: &str| json!({"type": "text", "text": format!("[session:history] {text}")});
        let image = |data: &str, mime: &str| json!({"type": "image", "data": data, "mimeType": mime});
        let table = [
            (image("  ", "image/png"), note("omitted empty image payload")),
            (image("!!!!", "image/png"), note("omitted image payload: Error: Input Buffer is empty")),
            (
                image("AAAA", "image/png"),
                note("omitted image payload: Error: Input buffer contains unsupported image format"),
            ),
            (image(&format!(" {PNG}\n"), "image/jpeg"), image(PNG, "image/png")),
            (image(GIF, "x"), image(GIF, "image/gif")),
            (
                json!({"type": "image", "data": 4, "mimeType": "x"}),
                json!({"type": "image", "data": 4, "mimeType": "x"}),
            ),
        ];
        for (before, after) in table {
            let mut blocks = [before.clone()];
            clean_images(&mut blocks);
            assert_eq!(blocks, [after], "{before}");
        }
    }

    #[test]
    fn a_picture_tells_its_size() {
        let one = |mime_type, bytes| Some(Picture { mime_type, bytes, width: 1, height: 1 });
        assert_eq!(picture(PNG), one("image/png", 70));
        assert_eq!(picture(GIF), one("image/gif", 42));
        for no_picture in ["", "AAAA", "iVBORw0KGgo=", "/9j/4AAQ", &PNG[1..], &format!("{PNG}\n")] {
            assert_eq!(picture(no_picture), None, "{no_picture}");
        }
        let huge = Picture { mime_type: "image/png", bytes: 1, width: 1, height: 2001 };
        assert!(huge.is_oversized());
    }
}
