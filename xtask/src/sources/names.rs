//! The names that a piece of source mentions, found in its tokens, so that what stands in macros counts.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// What a piece of source names.
#[derive(Debug, Default)]
pub struct Names {
    /// Paths such as `crate::session::open`, or a single word.
    pub paths: Vec<Vec<String>>,
    /// What is called or read behind a dot.
    pub members: Vec<String>,
}

/// The names in `tokens`.
pub fn names(tokens: TokenStream) -> Names {
    let mut found = Names::default();
    scan(tokens, &mut found);
    found
}

fn scan(tokens: TokenStream, found: &mut Names) {
    let mut path: Vec<String> = Vec::new();
    // What stood before: the end of `::` continues a path, a dot begins a member.
    let (mut colons, mut dots, mut is_attribute) = (0, 0, false);
    for token in tokens {
        match token {
            TokenTree::Ident(word) => {
                let word = word.to_string();
                if colons == 2 && path.is_empty() {
                    // Behind a type with parameters: nobody calls a function of ours so.
                } else if colons == 2 {
                    path.push(word);
                } else {
                    finish(&mut path, found);
                    match dots == 1 {
                        true => found.members.push(word),
                        false => path.push(word),
                    }
                }
                (colons, dots, is_attribute) = (0, 0, false);
            }
            TokenTree::Punct(mark) => {
                let mark = mark.as_char();
                colons = if mark == ':' { colons + 1 } else { 0 };
                if mark != ':' || colons > 2 {
                    finish(&mut path, found);
                }
                // Two of them are a range, or the rest of a struct.
                dots = if mark == '.' { dots + 1 } else { 0 };
                is_attribute = mark == '#' || (is_attribute && mark == '!');
            }
            TokenTree::Group(group) => {
                finish(&mut path, found);
                match is_attribute && group.delimiter() == Delimiter::Bracket {
                    true => attribute(group.stream(), found),
                    false => scan(group.stream(), found),
                }
                (colons, dots, is_attribute) = (0, 0, false);
            }
            TokenTree::Literal(literal) => {
                finish(&mut path, found);
                filled_in(&literal.to_string(), found);
                (colons, dots, is_attribute) = (0, 0, false);
            }
        }
    }
    finish(&mut path, found);
}

/// A text that is filled in names what it is filled in with: `"{BOLD}{name}"`.
fn filled_in(text: &str, found: &mut Names) {
    for part in text.split('{').skip(1) {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word: String = part.chars().take_while(|c| is_word(*c)).collect();
        if part[word.len()..].starts_with(['}', ':']) && !word.is_empty() {
            found.paths.push(vec![word]);
        }
    }
}

fn finish(path: &mut Vec<String>, found: &mut Names) {
    if !path.is_empty() {
        found.paths.push(std::mem::take(path));
    }
}

/// Attributes name functions in texts: `#[serde(default = "defaults::port")]`.
fn attribute(tokens: TokenStream, found: &mut Names) {
    let is_doc = matches!(tokens.clone().into_iter().next(), Some(TokenTree::Ident(word)) if word == "doc");
    if is_doc {
        return;
    }
    texts(tokens.clone(), found);
    scan(tokens, found);
}

fn texts(tokens: TokenStream, found: &mut Names) {
    for token in tokens {
        match token {
            TokenTree::Group(group) => texts(group.stream(), found),
            TokenTree::Literal(literal) => {
                let text = literal.to_string();
                let text = text.trim_matches('"');
                let is_word = |part: &str| {
                    !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
                };
                if text.split("::").all(is_word) {
                    found.paths.push(text.split("::").map(str::to_owned).collect());
                }
            }
            _ => {}
        }
    }
}
