//! What stands in the file of a journal, whatever happened to it.

use std::borrow::Borrow;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};

use yabby_domain::turn::Record;

/// The lines of a journal.
#[derive(Debug, Default)]
pub(super) struct Text {
    pub(super) records: Vec<Record>,
    /// Lines that are no records, counted from one.
    pub(super) damaged: Vec<usize>,
    /// The last line has no end: whoever wrote it died over it, and told nobody that it was written.
    pub(super) is_cut_off: bool,
}

impl Text {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut damaged = Vec::new();
        let records = records(bytes, &mut damaged).collect();
        Self { records, damaged, is_cut_off: whole_lines(bytes) < bytes.len() }
    }
}

/// How much of a text is whole lines.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)
}

/// The records of a text, one after the other; notes which of the lines are none.
pub(super) fn records<'t>(
    bytes: &'t [u8],
    damaged: &'t mut Vec<usize>,
) -> impl Iterator<Item = Record> + use<'t> {
    let lines = bytes.get(..whole_lines(bytes)).unwrap_or_default().split(|byte| *byte == b'\n');
    let lines = lines.enumerate().filter(|(_, line)| !line.is_empty());
    lines.filter_map(|(at, line)| {
        let record = std::str::from_utf8(line).ok().and_then(Record::parse);
        if record.is_none() {
            damaged.push(at + 1);
        }
        record
    })
}

/// Records as they are written.
pub(super) fn lines<R: Borrow<Record>>(records: impl IntoIterator<Item = R>) -> Vec<u8> {
    let mut lines = String::new();
    for record in records {
        let record: &Record = record.borrow();
        lines.push_str(&record.line());
        lines.push('\n');
    }
    lines.into_bytes()
}

/// The whole of an open file.
pub(super) fn read_whole(mut file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What is told about lines that are no records.
pub(super) fn damage(path: &str, lines: &[usize]) -> String {
    let all = lines.iter().take(5).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let more = if lines.len() > 5 { " and others" } else { "" };
    format!("{path}, line {all}{more}: not a step of a turn; kept as it is and skipped")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_read_and_the_others_are_told() {
        let good = r#"{"turn":"a","at":1,"step":"begun","run":"a"}"#;
        //  text                                    records  damaged        cut off
        let table: [(Vec<u8>, usize, &[usize], bool); 7] = [
            (Vec::new(), 0, &[], false),
            (format!("{good}\n").into_bytes(), 1, &[], false),
            (format!("{good}\n{good}").into_bytes(), 1, &[], true),
            (format!("{good}\n{{\"turn\n{good}\n").into_bytes(), 2, &[2], false),
            ([b"\0\0\n".as_slice(), good.as_bytes(), b"\n\xff\xfe\n"].concat(), 1, &[1, 3], false),
            (format!("\n{good}\n").into_bytes(), 1, &[], false),
            (b"\0\0\0\0".to_vec(), 0, &[], true),
        ];
        for (bytes, records, damaged, is_cut_off) in table {
            let text = Text::read(&bytes);
            let told = (text.records.len(), text.damaged.as_slice(), text.is_cut_off);
            assert_eq!(told, (records, damaged, is_cut_off), "{}", String::from_utf8_lossy(&bytes));
        }
    }
}
