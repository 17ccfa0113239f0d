//! Session labels (`sessions.md` §7).

use crate::text;

pub const MAX_UNITS: usize = 64;

/// Why a text is no label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    #[error("invalid label: must be a string")]
    NotText,
    #[error("invalid label: empty")]
    Empty,
    #[error("invalid label: too long (max {MAX_UNITS})")]
    TooLong,
}

/// The label in `raw`; `None` stands for a value that is not text.
pub fn parse_label(raw: Option<&str>) -> Result<&str, LabelError> {
    let label = text::trim(raw.ok_or(LabelError::NotText)?);
    match text::units(label) {
        0 => Err(LabelError::Empty),
        1..=MAX_UNITS => Ok(label),
        _ => Err(LabelError::TooLong),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_trimmed_and_short() {
        let (fits, long) = ("😀".repeat(32), "😀".repeat(33));
        let table = [
            (Some(" work "), Ok("work")),
            (Some(" \u{feff}"), Err(LabelError::Empty)),
            (None, Err(LabelError::NotText)),
            (Some(fits.as_str()), Ok(fits.as_str())),
            (Some(long.as_str()), Err(LabelError::TooLong)),
        ];
        for (raw, label) in table {
            assert_eq!(parse_label(raw), label, "{raw:?}");
        }
    }
}
