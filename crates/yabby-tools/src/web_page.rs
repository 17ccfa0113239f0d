//! The readable text of a page: title, headings, paragraphs, lists, tables, links; no menus, scripts, and
//! nothing that people would not see.
//!
//! Made from the tokens of a page and not from its tree: however a page is nested, the work grows with its
//! length only.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::{Rawtext, Rcdata, ScriptData};
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use url::Url;

/// How the text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Markdown,
    Text,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Readable {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
}

/// Deeper elements are read as if they were not there.
const DEEPEST: usize = 512;

/// So much text in `main` or `article` is what a page is about.
const ENOUGH: usize = 200;

pub(crate) fn readable(html: &str, address: &Url, mode: Mode) -> Readable {
    let reader = Reader(RefCell::new(Reading::new(address.clone(), mode)));
    let tokenizer = Tokenizer::new(reader, TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    // Nothing here stops the tokenizer before the end.
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner().finished()
}

struct Reader(RefCell<Reading>);

impl TokenSink for Reader {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut reading = self.0.borrow_mut();
        match token {
            Token::CharacterTokens(text) => reading.text(&text),
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => {
                reading.open(&tag);
                return match &*tag.name {
                    "title" | "textarea" => TokenSinkResult::RawData(Rcdata),
                    "style" | "xmp" | "iframe" | "noembed" | "noframes" => TokenSinkResult::RawData(Rawtext),
                    "script" => TokenSinkResult::RawData(ScriptData),
                    "plaintext" => TokenSinkResult::Plaintext,
                    _ => TokenSinkResult::Continue,
                };
            }
            Token::TagToken(tag) => reading.close(&tag.name),
            Token::DoctypeToken(_)
            | Token::CommentToken(_)
            | Token::NullCharacterToken
            | Token::EOFToken
            | Token::ParseError(_) => {}
        }
        TokenSinkResult::Continue
    }
}

/// An element that is open, and what it means for the text in it.
struct Open {
    name: String,
    is_unseen: bool,
    is_main: bool,
    is_around: bool,
}

/// A piece of text that stands for itself.
struct Block {
    text: String,
    joins: bool,
    is_main: bool,
    is_around: bool,
}

struct Reading {
    address: Url,
    mode: Mode,
    title: Option<String>,
    open: Vec<Open>,
    /// Elements that are too deep.
    too_deep: usize,
    blocks: Vec<Block>,
    line: String,
    /// What goes before the next line: `## `, `- `.
    lead: String,
    /// How deep in `pre`.
    fixed: usize,
    lists: Vec<Option<usize>>,
    quotes: usize,
    link: Option<Link>,
}

struct Link {
    to: String,
    /// Where its label begins in the line.
    from: usize,
}

impl Reading {
    fn new(address: Url, mode: Mode) -> Self {
        Self {
            address,
            mode,
            title: None,
            open: Vec::new(),
            too_deep: 0,
            blocks: Vec::new(),
            line: String::new(),
            lead: String::new(),
            fixed: 0,
            lists: Vec::new(),
            quotes: 0,
            link: None,
        }
    }

    fn text(&mut self, text: &str) {
        let Some(inside) = self.open.last() else { return self.add(text) };
        if inside.name == "title" && self.title.as_ref().is_none_or(|title| title.len() < 1000) {
            self.title.get_or_insert_default().push_str(text);
        } else if !inside.is_unseen {
            self.add(text);
        }
    }

    fn add(&mut self, text: &str) {
        for c in text.chars().filter(|c| !is_invisible(*c)) {
            if self.fixed > 0 || !c.is_whitespace() {
                self.line.push(c);
            } else if !self.line.is_empty() && !self.line.ends_with([' ', '\n']) {
                self.line.push(' ');
            }
        }
    }

    fn open(&mut self, tag: &Tag) {
        let name: &str = &tag.name;
        let attribute = |wanted: &str| {
            tag.attrs
                .iter()
                .find(|attribute| &*attribute.name.local == wanted)
                .map(|attribute| &*attribute.value)
        };
        if is_block(name) {
            self.flush();
            // What a paragraph cannot hold ends it.
            self.close_implied(if matches!(name, "li" | "tr") { name } else { "p" });
        }
        let unseen_before = self.open.last().is_some_and(|open| open.is_unseen);
        match name {
            "br" => return self.line_break(),
            "hr" => return self.rule(),
            "img" => {
                let is_unseen = unseen_before || is_hidden(&attribute);
                if let Some(words) = attribute("alt").filter(|words| !is_unseen && !words.trim().is_empty()) {
                    self.add(&format!("(image: {})", words.trim()));
                }
                return;
            }
            "input" | "meta" | "link" | "base" | "area" | "col" | "embed" | "param" | "source" | "track"
            | "wbr" => return,
            _ => {}
        }
        if self.open.len() >= DEEPEST {
            self.too_deep += 1;
            return;
        }
        let is_unseen = unseen_before || is_never_seen(name) || is_hidden(&attribute);
        let above = self.open.last();
        let role = attribute("role").unwrap_or_default();
        let is_main =
            matches!(name, "main" | "article") || role == "main" || above.is_some_and(|above| above.is_main);
        let is_around = matches!(name, "nav" | "footer" | "aside" | "menu" | "dialog")
            || (name == "header" && !is_main)
            || matches!(role, "navigation" | "banner" | "contentinfo" | "complementary" | "search")
            || above.is_some_and(|above| above.is_around);
        self.open.push(Open { name: name.to_owned(), is_unseen, is_main, is_around });
        if is_unseen {
            return;
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if self.mode == Mode::Markdown => {
                let level = name[1..].parse().unwrap_or(1);
                self.lead = format!("{} ", "#".repeat(level));
            }
            "ul" | "menu" => self.lists.push(None),
            "ol" => self.lists.push(Some(0)),
            "li" => self.lead = self.item_lead(),
            "pre" => self.fixed += 1,
            "blockquote" => self.quotes += 1,
            "a" => {
                let to = attribute("href").and_then(|to| self.address.join(to.trim()).ok());
                let to = to.filter(|to| matches!(to.scheme(), "http" | "https" | "mailto"));
                self.link = to.map(|to| Link {
                    to: to.as_str().replace('(', "%28").replace(')', "%29"),
                    from: self.line.len(),
                });
            }
            "td" | "th" if !self.line.trim().is_empty() => self.line.push_str(" | "),
            "code" if self.fixed == 0 && self.mode == Mode::Markdown => self.line.push('`'),
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        let Some(at) = self.open.iter().rposition(|open| open.name == name) else {
            if name == "p" {
                self.flush();
            }
            return;
        };
        while self.open.len() > at {
            self.pop();
        }
    }

    fn close_implied(&mut self, name: &str) {
        let stays_inside = |open: &Open| open.name == name || !is_block(&open.name);
        let Some(at) = self.open.iter().rposition(|open| open.name == name) else { return };
        if self.open[at..].iter().all(stays_inside) {
            while self.open.len() > at {
                self.pop();
            }
        }
    }

    fn pop(&mut self) {
        let Some(open) = self.open.last() else { return };
        let (name, is_unseen) = (open.name.clone(), open.is_unseen);
        if is_unseen {
            self.open.pop();
            return;
        }
        if name == "a" {
            self.end_link();
        }
        if name == "code" && self.fixed == 0 && self.mode == Mode::Markdown {
            self.line.push('`');
        }
        if is_block(&name) {
            self.flush();
            self.lead.clear();
        }
        match name.as_str() {
            "ul" | "ol" | "menu" => _ = self.lists.pop(),
            "pre" => self.fixed = self.fixed.saturating_sub(1),
            "blockquote" => self.quotes = self.quotes.saturating_sub(1),
            _ => {}
        }
        self.open.pop();
    }

    /// `- ` or a number, as deep as its list.
    fn item_lead(&mut self) -> String {
        if self.mode == Mode::Text {
            return String::new();
        }
        let indent = "  ".repeat(self.lists.len().saturating_sub(1).min(8));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{indent}{number}. ")
            }
            Some(None) | None => format!("{indent}- "),
        }
    }

    fn end_link(&mut self) {
        let Some(link) = self.link.take() else { return };
        let label = self.line.get(link.from..).unwrap_or_default().trim().to_owned();
        if label.is_empty() || self.mode == Mode::Text {
            return;
        }
        let begins_blank = self.line[link.from..].starts_with(' ');
        let ends_blank = self.line.ends_with(' ');
        self.line.truncate(link.from);
        let blank = |is_blank: bool| if is_blank { " " } else { "" };
        self.line.push_str(&format!("{}[{label}]({}){}", blank(begins_blank), link.to, blank(ends_blank)));
    }

    fn line_break(&mut self) {
        if self.open.last().is_some_and(|open| open.is_unseen) {
            return;
        }
        let kept = self.line.trim_end_matches(' ').len();
        self.line.truncate(kept);
        if !self.line.is_empty() {
            self.line.push('\n');
        }
    }

    fn rule(&mut self) {
        self.flush();
        if self.mode == Mode::Markdown && !self.open.last().is_some_and(|open| open.is_unseen) {
            self.push("---".to_owned(), false);
        }
    }

    /// Ends the piece of text that was going on.
    fn flush(&mut self) {
        self.end_link();
        let line = std::mem::take(&mut self.line);
        let text = if self.fixed > 0 { line.trim_matches('\n').trim_end() } else { line.trim() };
        if text.trim().is_empty() {
            return;
        }
        let is_item = !self.lists.is_empty() || self.open.iter().any(|open| open.name == "tr");
        let text = match (self.fixed > 0, self.mode) {
            (true, Mode::Markdown) => format!("```\n{text}\n```"),
            _ => format!("{}{text}", std::mem::take(&mut self.lead)),
        };
        let text = match (self.quotes, self.mode) {
            (1.., Mode::Markdown) => {
                text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
            }
            _ => text,
        };
        self.push(text, is_item && self.fixed == 0);
    }

    fn push(&mut self, text: String, joins: bool) {
        let (is_main, is_around) =
            self.open.last().map_or((false, false), |open| (open.is_main, open.is_around));
        self.blocks.push(Block { text, joins, is_main, is_around });
    }

    fn finished(mut self) -> Readable {
        while !self.open.is_empty() {
            self.pop();
        }
        self.flush();
        let main: usize =
            self.blocks.iter().filter(|block| block.is_main).map(|block| block.text.len()).sum();
        let blocks = &self.blocks;
        let chosen = |wanted: &dyn Fn(&Block) -> bool| {
            let mut text = String::new();
            let mut joined = false;
            for block in blocks.iter().filter(|block| wanted(block)) {
                if !text.is_empty() {
                    text.push_str(if joined && block.joins { "\n" } else { "\n\n" });
                }
                text.push_str(&block.text);
                joined = block.joins;
            }
            text
        };
        let mut text = String::new();
        if main >= ENOUGH {
            text = chosen(&|block| block.is_main && !block.is_around);
        }
        if text.is_empty() {
            text = chosen(&|block| !block.is_around);
        }
        if text.is_empty() {
            text = chosen(&|_| true);
        }
        let title = self.title.map(|title| {
            let seen: String = title.chars().filter(|c| !is_invisible(*c)).collect();
            seen.split_whitespace().collect::<Vec<_>>().join(" ")
        });
        Readable { title: title.filter(|title| !title.is_empty()), text }
    }
}

/// Characters that change what is read without being seen.
pub(crate) fn is_invisible(c: char) -> bool {
    matches!(c,
        '\0' | '\u{ad}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hr"
            | "html"
            | "legend"
            | "li"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "p"
            | "pre"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "tfoot"
            | "thead"
            | "tr"
            | "ul"
    )
}

fn is_never_seen(name: &str) -> bool {
    matches!(
        name,
        "script"
            | "style"
            | "noscript"
            | "template"
            | "svg"
            | "math"
            | "head"
            | "iframe"
            | "object"
            | "canvas"
            | "audio"
            | "video"
            | "select"
            | "datalist"
            | "textarea"
            | "noembed"
            | "noframes"
            | "title"
    )
}

/// Whether an element says that it is not shown.
fn is_hidden<'a>(attribute: &impl Fn(&str) -> Option<&'a str>) -> bool {
    let style: String = attribute("style")
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_whitespace())
        .collect::<String>()
        .to_lowercase();
    const UNSEEN: [&str; 9] = [
        "display:none",
        "visibility:hidden",
        "visibility:collapse",
        "opacity:0;",
        "font-size:0",
        "text-indent:-9",
        "left:-9",
        "top:-9",
        "clip:rect(0",
    ];
    attribute("hidden").is_some()
        || attribute("aria-hidden").is_some_and(|value| value.eq_ignore_ascii_case("true"))
        || UNSEEN.iter().any(|unseen| format!("{style};").contains(unseen))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str, mode: Mode) -> Readable {
        readable(html, &Url::parse("https://site.example/a/b").unwrap(), mode)
    }

    fn markdown(html: &str) -> String {
        read(html, Mode::Markdown).text
    }

    #[test]
    fn pages_become_markdown() {
        let table = [
            ("<p>One  two<p>Three", "One two\n\nThree"),
            ("<h2>Head</h2>text", "## Head\n\ntext"),
            ("<ul><li>a<li>b<ol><li>c</ol></ul>end", "- a\n- b\n  1. c\n\nend"),
            ("see <a href='/x?q=1'>this <b>page</b></a>.", "see [this page](https://site.example/x?q=1)."),
            ("<a href='javascript:evil()'>label</a>", "label"),
            ("<a href='c(1)'>x</a>", "[x](https://site.example/a/c%281%29)"),
            ("<pre>  a\n   b</pre>", "```\n  a\n   b\n```"),
            ("use <code>ls</code> now", "use `ls` now"),
            ("<table><tr><th>A<th>B<tr><td>1<td>2</table>", "A | B\n1 | 2"),
            ("<blockquote><p>said</p></blockquote>", "> said"),
            ("a<br>b<hr>c", "a\nb\n\n---\n\nc"),
            ("&lt;b&gt; &amp; &eacute; &#x41;", "<b> & é A"),
            ("<img alt='a cat' src=x><img src=y>", "(image: a cat)"),
            ("plain text, no tags", "plain text, no tags"),
            ("<p>unclosed <b>bold <i>both", "unclosed bold both"),
            ("</div></p>stray", "stray"),
            ("", ""),
        ];
        for (html, text) in table {
            assert_eq!(markdown(html), text, "{html}");
        }
    }

    #[test]
    fn text_has_no_marks() {
        let html = "<title>T &amp; t</title><h1>Head</h1><ul><li><a href=/x>link</a></ul><pre>x</pre>";
        let read = read(html, Mode::Text);
        assert_eq!((read.title.as_deref(), read.text.as_str()), (Some("T & t"), "Head\n\nlink\n\nx"));
    }

    #[test]
    fn menus_go_where_there_is_an_article() {
        let words = "word ".repeat(60);
        let page = format!(
            "<head><title>x</title></head><header>banner</header><nav><a href=/>home</a></nav><main><header>\
             <h1>Story</h1></header><p>{words}</p><aside>ad</aside></main><div>below</div><footer>imprint</footer>"
        );
        assert_eq!(markdown(&page), format!("# Story\n\n{}", words.trim()));
        assert_eq!(markdown("<nav>menu</nav><p>short</p><footer>f</footer>"), "short");
        assert_eq!(markdown("<nav>only a menu</nav>"), "only a menu");
    }

    #[test]
    fn what_nobody_sees_is_not_read() {
        let table = [
            "<script>alert('<p>evil</p>')</script>",
            "<style>p { content: 'evil' }</style>",
            "<div hidden>evil</div>",
            "<div style='DISPLAY : none'>evil <p>evil</p></div>",
            "<span style='font-size:0'>evil</span>",
            "<span style='opacity:0'>evil</span>",
            "<span aria-hidden=true>evil</span>",
            "<p hidden>evil<div>",
            "<template><p>evil</p></template>",
            "<!-- evil -->",
            "<![CDATA[evil]]>",
            "<noscript>evil</noscript>",
            "<iframe>evil</iframe>",
            "<textarea>evil</textarea>",
            "<svg><text>evil</text></svg>",
            "<img alt='evil' hidden style='display:none'",
        ];
        for hidden in table {
            let read = markdown(&format!("before {hidden} <p>after"));
            assert!(!read.contains("evil"), "{hidden}: {read}");
        }
        assert_eq!(markdown("<p hidden>evil<p>seen"), "seen");
        assert_eq!(markdown("s\u{200b}e\u{202e}e\u{e0041}n"), "seen");
    }

    #[test]
    fn hostile_nesting_takes_no_time() {
        for piece in [
            "<div>",
            "<p><b><i>",
            "</div></p>",
            "<a href=x>",
            "<table><tr><td>",
            "<li><ul>",
            "&amp;&",
            "<",
            "<!--",
        ] {
            let page = piece.repeat(1_000_000 / piece.len());
            markdown(&page);
        }
    }
}
