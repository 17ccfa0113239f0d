//! Whatever is wrong with the lines of a transcript, mending it once is enough, and nothing of it is lost.

use std::collections::BTreeSet;

use proptest::prelude::*;
use yabby_domain::transcript::damage::{DamageKind, inspect};
use yabby_domain::transcript::header::NewSession;
use yabby_domain::transcript::mend::{Mend, mend};
use yabby_domain::transcript::{Stamp, Transcript};

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:30:00.000Z"}"#;

/// Few ids, so that they come again, hang from each other and from nothing.
fn any_line() -> impl Strategy<Value = String> {
    let id = prop::sample::select(vec!["a", "b", "c", "d", "e", "f"]);
    let parent = prop::sample::select(vec!["a", "b", "c", "d", "e", "f", "lost", ""]);
    let entry = (id, parent, 0..3_u8).prop_map(|(id, parent, x)| {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"x":{x}}}"#)
    });
    let other = prop::sample::select(vec!["", "garbage", "null", "[]", HEADER, r#"{"type":"message"}"#]);
    prop_oneof![4 => entry, 1 => other.prop_map(str::to_owned)]
}

proptest! {
    #[test]
    fn any_file_is_mended_at_once(
        lines in prop::collection::vec(any_line(), 0..12),
        has_header in any::<bool>(),
        end in prop::sample::select(vec!["", "\n", "\n{\"torn"]),
    ) {
        let header = if has_header { vec![HEADER.to_owned()] } else { vec![] };
        let file = [header, lines].concat().join("\n") + end;
        let mut count = 0;
        let mut fresh_id = || {
            count += 1;
            format!("{count:08}-fresh")
        };
        let mut stamp = Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh_id };
        let session = NewSession { id: "s", cwd: "/", parent: None };
        let Mend::Replace(mended) = mend(file.as_bytes(), session, &mut stamp) else { return Ok(()) };
        prop_assert_eq!(mend(&mended.text, session, &mut stamp), Mend::Nothing);
        let is_beginning = |kind: &DamageKind| matches!(kind, DamageKind::UnknownParent { .. });
        let left: Vec<_> = inspect(&mended.text).into_iter().filter(|damage| !is_beginning(&damage.kind)).collect();
        prop_assert!(left.is_empty(), "{left:?}\n{}", String::from_utf8_lossy(&mended.text));
        // Every line is in the file or set aside; of those that were changed as many as before.
        let lines = |text: &[u8]| -> Vec<String> {
            let text = String::from_utf8_lossy(text).into_owned();
            text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
        };
        let (before, now, aside) = (lines(file.as_bytes()), lines(&mended.text), lines(&mended.aside));
        let made = usize::from(!before.iter().any(|line| line == HEADER));
        prop_assert_eq!(before.len() + made, now.len() + aside.len());
        let texts: BTreeSet<&String> = now.iter().chain(&aside).collect();
        for line in before.iter().filter(|line| !line.contains("parentId")) {
            prop_assert!(texts.contains(line), "{line}");
        }
        prop_assert!(Transcript::read(&String::from_utf8_lossy(&mended.text)).is_some());
    }
}
