//! A conversation as one HTML page that loads nothing and runs nothing.

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};
use pulldown_cmark_escape::escape_html;
use yabby_domain::transcript::pieces::{Call, Piece, Said, Speaker, What};

use super::{Told, speaker};

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
h1{font-size:1.4rem}section{margin:1.2rem 0;padding:.4rem 1rem;border-left:3px solid #ccc}\
.user{border-color:#2a7ab0}.assistant{border-color:#3a8a3a}.mark{color:#777;border-style:dashed}\
h2{font-size:.95rem;margin:.2rem 0}time{color:#777;font-weight:normal}\
pre{overflow:auto;background:#f5f5f5;padding:.6rem}details{margin:.4rem 0}.failed{color:#a00}\
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}pre{background:#242424}}";

pub fn document(told: &Told) -> String {
    let title = escaped(&told.title);
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n<p><code>{}</code></p>\n",
        escaped(&told.session_id)
    );
    for piece in &told.pieces {
        push_piece(&mut out, told, piece);
    }
    out.push_str("</html>\n");
    out
}

fn push_piece(out: &mut String, told: &Told, piece: &Piece) {
    let moment = told.moment(piece).map(|moment| format!(" <time>{moment}</time>")).unwrap_or_default();
    match &piece.what {
        What::Said(said) => push_said(out, said, &moment),
        What::Compaction { summary, .. } => {
            push_mark(out, &format!("What came before was summarised{moment}"), summary);
        }
        What::BranchLeft { summary } => {
            push_mark(out, &format!("Another branch was left here{moment}"), summary);
        }
        What::Changed { setting, value } => {
            push_mark(out, &format!("{setting}: {}{moment}", escaped(value)), "");
        }
    }
    if piece.other_branches > 0 {
        push_mark(out, &format!("Other branches from here: {}", piece.other_branches), "");
    }
}

fn push_mark(out: &mut String, heading: &str, summary: &str) {
    out.push_str(&format!("<section class=\"mark\"><h2>{heading}</h2>{}</section>\n", rendered(summary)));
}

fn push_said(out: &mut String, said: &Said, moment: &str) {
    let class = match said.speaker {
        Speaker::User => "user",
        Speaker::Assistant => "assistant",
        Speaker::Tool | Speaker::Command | Speaker::Note => "other",
    };
    out.push_str(&format!("<section class=\"{class}\"><h2>{}{moment}</h2>\n", speaker(said.speaker)));
    out.push_str(&rendered(&said.text));
    if said.images > 0 {
        out.push_str(&format!("<p><em>images: {}</em></p>\n", said.images));
    }
    said.calls.iter().for_each(|call| push_call(out, call));
    if let Some(error) = &said.error {
        out.push_str(&format!("<p class=\"failed\">{}</p>\n", escaped(error)));
    }
    out.push_str("</section>\n");
}

fn push_call(out: &mut String, call: &Call) {
    let failed = call.result.as_ref().is_some_and(|result| result.failed);
    let class = if failed { " class=\"failed\"" } else { "" };
    out.push_str(&format!("<details><summary{class}>{}</summary>\n", escaped(&call.name)));
    out.push_str(&format!("<pre>{}</pre>\n", escaped(&call.arguments)));
    match &call.result {
        Some(result) => out.push_str(&format!("<pre>{}</pre>\n", escaped(&result.text))),
        None => out.push_str("<p><em>no answer</em></p>\n"),
    }
    out.push_str("</details>\n");
}

/// Markdown as HTML. Markup that somebody wrote stays text, pictures become links, and a link leads to
/// the web or nowhere.
fn rendered(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events = Parser::new_ext(markdown, options).map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: safe(dest_url), title, id })
        }
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            Event::Start(Tag::Link { link_type, dest_url: safe(dest_url), title, id })
        }
        Event::End(TagEnd::Image) => Event::End(TagEnd::Link),
        Event::SoftBreak => Event::HardBreak,
        other => other,
    });
    let mut out = String::new();
    pulldown_cmark::html::push_html(&mut out, events);
    out
}

fn safe(url: CowStr<'_>) -> CowStr<'_> {
    let lower = url.trim_start().to_ascii_lowercase();
    let leads_to_the_web = ["https://", "http://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
    if leads_to_the_web { url } else { CowStr::Borrowed("#") }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    // Writing into a string cannot fail.
    let _ = escape_html(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_somebody_wrote_is_run_or_loaded() {
        let table = [
            ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
            ("a <b onload=x>", "<p>a &lt;b onload=x&gt;</p>\n"),
            ("[x](javascript:alert(1))", "<p><a href=\"#\">x</a></p>\n"),
            ("![x](https://a.example/p.png)", "<p><a href=\"https://a.example/p.png\">x</a></p>\n"),
        ];
        for (markdown, html) in table {
            assert_eq!(rendered(markdown), html, "{markdown}");
        }
    }
}
