//! What is attached to a message: pictures, in base64.

use yabby_domain::json::Value;
use yabby_domain::sanitize::images::picture;
use yabby_domain::text;
use yabby_domain::turn::ShownPicture;

use crate::frames::Refusal;

/// The largest picture.
const LARGEST: usize = 5_000_000;

/// The pictures that are attached. What has no content is no attachment.
pub(super) fn pictures(params: &Value) -> Result<Vec<ShownPicture>, Refusal> {
    let attachments = params.get("attachments").and_then(Value::as_array).into_iter().flatten();
    let attachments = attachments.filter_map(|attachment| {
        let content = attachment.get("content")?.as_str()?;
        (!content.is_empty()).then_some((attachment, content))
    });
    attachments
        .enumerate()
        .map(|(index, (attachment, content))| read(index + 1, attachment, content))
        .collect()
}

fn read(number: usize, attachment: &Value, content: &str) -> Result<ShownPicture, Refusal> {
    let word = |name: &str| attachment.get(name).and_then(Value::as_str);
    let named = |name: &str| word(name).filter(|name| !name.is_empty()).map(str::to_owned);
    let name = named("fileName").or_else(|| named("type")).unwrap_or_else(|| format!("attachment-{number}"));
    let fault = |what: &str| Refusal::invalid(format!("Error: attachment {name}: {what}"));
    let content = text::trim(content);
    let data = content.split_once(";base64,").map_or(content, |(_, data)| data);
    if !data.len().is_multiple_of(4)
        || !data.bytes().all(|digit| digit.is_ascii_alphanumeric() || b"+/=".contains(&digit))
    {
        return Err(fault("invalid base64 content"));
    }
    let bytes = data.trim_end_matches('=').len() * 3 / 4;
    if bytes == 0 || bytes > LARGEST {
        return Err(fault(&format!("exceeds size limit ({bytes} > {LARGEST} bytes)")));
    }
    // The reference leaves out in silence what is no picture. Whoever sends something wants it seen.
    let picture = picture(data).ok_or_else(|| fault("not a picture (png, jpeg, gif or webp)"))?;
    Ok(ShownPicture { mime_type: picture.mime_type.to_owned(), data: data.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

    fn attached(attachment: Value) -> Result<Vec<ShownPicture>, String> {
        pictures(&json!({"attachments": [attachment]})).map_err(|refusal| refusal.message)
    }

    #[test]
    fn a_picture_is_what_it_is_and_not_what_it_is_called() {
        let gif = vec![ShownPicture { mime_type: "image/gif".to_owned(), data: GIF.to_owned() }];
        assert_eq!(attached(json!({"content": GIF, "mimeType": "image/png"})), Ok(gif.clone()));
        assert_eq!(attached(json!({"content": format!(" data:image/png;base64,{GIF} ")})), Ok(gif));
        assert_eq!(pictures(&json!({})).unwrap(), []);
        for empty in [json!(5), json!({}), json!({"fileName": "a.png", "content": ""}), json!({"content": 5})]
        {
            assert_eq!(attached(empty), Ok(vec![]));
        }
    }

    #[test]
    fn what_is_no_picture_is_refused_with_its_name() {
        let large = "A".repeat(LARGEST / 3 * 4 + 8);
        for (attachment, why) in [
            (json!({"type": "image", "content": "!!notbase64"}), "image: invalid base64 content"),
            (json!({"fileName": "a.png", "content": " "}), "a.png: exceeds size limit (0 > 5000000 bytes)"),
            (
                json!({"fileName": "", "content": large}),
                "attachment-1: exceeds size limit (5000004 > 5000000 bytes)",
            ),
            (json!({"content": "JVBERi0x"}), "attachment-1: not a picture (png, jpeg, gif or webp)"),
        ] {
            assert_eq!(attached(attachment).unwrap_err(), format!("Error: attachment {why}"));
        }
    }
}
