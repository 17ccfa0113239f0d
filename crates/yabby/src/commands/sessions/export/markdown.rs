//! A conversation as Markdown.

use yabby_domain::transcript::pieces::{Call, Said, What};

use super::{Told, speaker};

pub fn document(told: &Told) -> String {
    let mut out = format!("# {}\n\nSession `{}`\n", one_line(&told.title), told.session_id);
    for piece in &told.pieces {
        let moment = told.moment(piece).map(|moment| format!(" · {moment}")).unwrap_or_default();
        match &piece.what {
            What::Said(said) => {
                out.push_str(&format!("\n## {}{moment}\n", speaker(said.speaker)));
                push_said(&mut out, said);
            }
            What::Compaction { summary, .. } => {
                out.push_str(&format!("\n---\n\n*What came before was summarised{moment}:*\n"));
                push_quoted(&mut out, summary);
            }
            What::BranchLeft { summary } => {
                out.push_str(&format!("\n---\n\n*Another branch was left here{moment}:*\n"));
                push_quoted(&mut out, summary);
            }
            What::Changed { setting, value } => {
                out.push_str(&format!("\n*{setting}: {}{moment}*\n", one_line(value)));
            }
        }
        if piece.other_branches > 0 {
            out.push_str(&format!("\n*Other branches from here: {}*\n", piece.other_branches));
        }
    }
    out
}

fn push_said(out: &mut String, said: &Said) {
    if !said.text.trim().is_empty() {
        out.push_str(&format!("\n{}\n", said.text.trim_end()));
    }
    if said.images > 0 {
        out.push_str(&format!("\n*(images: {})*\n", said.images));
    }
    said.calls.iter().for_each(|call| push_call(out, call));
    if let Some(error) = &said.error {
        push_quoted(out, &format!("Error: {error}"));
    }
}

fn push_call(out: &mut String, call: &Call) {
    let failed = call.result.as_ref().is_some_and(|result| result.failed);
    let mark = if failed { " (failed)" } else { "" };
    out.push_str(&format!("\n**{}**{mark}\n", one_line(&call.name)));
    push_fenced(out, &call.arguments);
    match &call.result {
        Some(result) => push_fenced(out, &result.text),
        None => out.push_str("\n*no answer*\n"),
    }
}

/// A fence longer than any in the text.
fn push_fenced(out: &mut String, text: &str) {
    if text.trim().is_empty() {
        return;
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    out.push_str(&format!("\n{fence}\n{}\n{fence}\n", text.trim_end()));
}

fn push_quoted(out: &mut String, text: &str) {
    out.push('\n');
    for line in text.lines() {
        out.push_str(format!("> {line}").trim_end());
        out.push('\n');
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_cannot_be_closed_by_what_it_holds() {
        let mut out = String::new();
        push_fenced(&mut out, "a\n````\nb");
        assert_eq!(out, "\n`````\na\n````\nb\n`````\n");
    }
}
