//! Recognising chat commands, abort words and activation (`sessions.md` §17).

/// A command body in its canonical spelling.
pub fn normalize_body(body: &str, _bot: Option<&str>) -> String {
    body.to_owned()
}
