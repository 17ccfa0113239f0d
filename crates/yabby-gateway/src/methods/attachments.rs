//! What is attached to a message: pictures, in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use yabby_domain::json::Value;

use crate::frames::Refusal;

/// The largest picture.
const LARGEST: usize = 5_000_000;

/// Whether everything that is attached can be read.
pub(super) fn check(params: &Value) -> Result<(), Refusal> {
    let attachments = params.get("attachments").and_then(Value::as_array).into_iter().flatten();
    for (number, attachment) in attachments.enumerate() {
        let word = |name: &str| attachment.get(name).and_then(Value::as_str);
        let name = word("fileName")
            .or(word("type"))
            .map_or_else(|| format!("attachment-{}", number + 1), str::to_owned);
        let fault = |what: &str| Refusal::invalid(format!("Error: attachment {name}: {what}"));
        let content = word("content").ok_or_else(|| fault("content must be base64 string"))?;
        let content = content.split_once(";base64,").map_or(content, |(_, content)| content).trim();
        let bytes = STANDARD.decode(content).map_err(|_| fault("invalid base64 content"))?;
        if bytes.is_empty() || bytes.len() > LARGEST {
            return Err(fault(&format!("exceeds size limit ({} > {LARGEST} bytes)", bytes.len())));
        }
    }
    Ok(())
}

/// Whether anything is attached.
pub(super) fn any(params: &Value) -> bool {
    params.get("attachments").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}
