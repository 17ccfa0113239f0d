//! The words of the helper.

use yabby_domain::json::{self, Value};
use yabby_domain::reply::tokens::{HEARTBEAT_TOKEN, SILENT_TOKEN};
use yabby_domain::text;

use super::quote;
use super::turn::Outcome;

pub(super) const HEARTBEAT: &str = HEARTBEAT_TOKEN;
/// Nothing to say.
pub(super) const SILENCE: &str = SILENT_TOKEN;
pub(super) const GREETING: &str = "Hello! What can I do for you?";
pub(super) const NEW_SESSION: &str = "Hello! A new session has begun. What would you like to do?";
pub(super) const WELCOME: &str = "You are welcome.";
pub(super) const AGREED: &str = "All right.";
pub(super) const HELP: &str = "I can note things (“remember that …”), look them up (“what do you remember about …?”), list \
    and read files of the workspace (“list files”, “read notes.md”), and tell how this session is (“status”).";
pub(super) const WHAT_TO_REMEMBER: &str = "What shall I remember? Say “remember that …”.";
pub(super) const MEDIA: &str = "I cannot look at attachments.";
pub(super) const LOST_MESSAGES: &str = "More messages came while I was busy than the queue keeps, and some were dropped. Please send them again.";

const NOTICE: &str =
    "(I am yabby's built-in offline helper, not a language model. Ask “help” for what I can do.)";
const HOW_TO_GET_A_MODEL: &str = "I am yabby's built-in offline helper, not a language model. For a real one, run \
    `yabby config set agents.defaults.model.primary provider/model` and give yabby the key of that provider.";

/// Who speaks where the helper does, in hits and in the lines around them.
const OWN_NAME: &str = "assistant";

/// How long a quotation may be.
const LONGEST_LINE: usize = 300;
const LONGEST_FILE: usize = 4000;
const MOST_LINES: usize = 60;
const MOST_HITS: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) is_first: bool,
    pub(super) is_lost: bool,
}

/// What is said about the helper itself: in the first answer, and where it could not help.
pub(super) fn notice(setting: Setting) -> Option<&'static str> {
    match setting {
        Setting { is_lost: true, .. } => Some(HOW_TO_GET_A_MODEL),
        Setting { is_first: true, .. } => Some(NOTICE),
        Setting { is_first: false, is_lost: false } => None,
    }
}

pub(super) fn unclear(words: &str) -> String {
    format!(
        "I understood {}, but do not know what to do about it. I can remember and recall things, list and read files, \
         and show the status.",
        quote::inline(words, 160)
    )
}

/// Somebody told something about themselves, and did not ask for anything.
pub(super) fn worth_noting(words: &str) -> String {
    format!("I understood {}. If I shall note it, say “remember that …”.", quote::inline(words, 160))
}

pub(super) fn no_tool(tool: &str, doing: &str) -> String {
    format!("I cannot {doing} here: the tool `{tool}` is not available.")
}

pub(super) fn clock(time: Option<&str>) -> String {
    match time {
        Some(time) => format!("I have no clock, but your message came at {time}."),
        None => "I have no clock, and nobody told me the time.".to_owned(),
    }
}

pub(super) fn noted(line: &str, path: &str, outcome: &Outcome) -> String {
    let what = quote::inline(line.strip_prefix("- ").unwrap_or(line), LONGEST_LINE);
    match outcome {
        Outcome::Done(_) => format!("Noted in {path}: {what}"),
        Outcome::Failed(why) => format!("I could not note {what}: {}", problem(why)),
        Outcome::Interrupted => format!(
            "I was interrupted while I noted {what}: it may or may not be in {path}. I did not write it a second time; \
             ask “read {path}” to see."
        ),
    }
}

pub(super) fn listing(path: Option<&str>, outcome: &Outcome) -> String {
    let place = path.map_or_else(|| "the workspace".to_owned(), |path| quote::inline(path, LONGEST_LINE));
    match outcome {
        Outcome::Done(names) => format!("In {place}:\n{}", quote::lines(names, MOST_LINES, LONGEST_FILE)),
        Outcome::Failed(why) => format!("I could not list {place}: {}", problem(why)),
        Outcome::Interrupted => format!("I was interrupted while I listed {place}. Please ask again."),
    }
}

pub(super) fn file(path: &str, outcome: &Outcome) -> String {
    let path = quote::inline(path, LONGEST_LINE);
    match outcome {
        Outcome::Done(content) => {
            format!("{path} says:\n{}", quote::lines(content, MOST_LINES, LONGEST_FILE))
        }
        Outcome::Failed(why) => format!("I could not read {path}: {}", problem(why)),
        Outcome::Interrupted => format!("I was interrupted while I read {path}. Please ask again."),
    }
}

pub(super) fn status(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(status) => quote::lines(status, MOST_LINES, LONGEST_FILE),
        Outcome::Failed(why) => format!("I could not find out how the session is: {}", problem(why)),
        Outcome::Interrupted => {
            "I was interrupted while I looked at the session. Please ask again.".to_owned()
        }
    }
}

pub(super) fn everything_known(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(names) => format!(
            "My notes are these files in memory/; ask “what do you remember about …?”, or “read memory/…”:\n{}",
            quote::lines(names, MOST_LINES, LONGEST_FILE)
        ),
        Outcome::Failed(_) => "I have no notes yet. Say “remember that …”, and I write the first.".to_owned(),
        Outcome::Interrupted => "I was interrupted while I looked at my notes. Please ask again.".to_owned(),
    }
}

/// What a call answered whose question is no longer there.
pub(super) fn left_over(tool: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Done(told) => {
            format!("`{tool}` answered:\n{}", quote::lines(told, MOST_LINES, LONGEST_FILE))
        }
        Outcome::Failed(why) => format!("`{tool}` failed: {}", problem(why)),
        Outcome::Interrupted => {
            format!("`{tool}` was interrupted; what it was to do may or may not have happened.")
        }
    }
}

fn problem(why: &str) -> String {
    quote::inline(why, LONGEST_LINE)
}

/// Where a passage is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: String,
    pub(super) first: u64,
    pub(super) count: u64,
}

/// The place of the best hit, if it is a note that did not fit into its snippet.
pub(super) fn best_is_cut(outcome: &Outcome) -> Option<Place> {
    let Outcome::Done(told) = outcome else { return None };
    let best = Hits::read(told).ok()?.0.into_iter().next()?;
    let is_cut = best.is_note && (best.snippet.starts_with('…') || best.snippet.ends_with('…'));
    let count = best.last.checked_sub(best.first)? + 1;
    is_cut.then_some(Place { path: best.path, first: best.first, count })
}

/// What was found about something; `whole` is the best hit in full, if it was read.
pub(super) fn recalled(topic: &str, outcome: &Outcome, whole: Option<&Outcome>) -> String {
    let topic = quote::inline(topic, 160);
    let told = match outcome {
        Outcome::Done(told) => told,
        Outcome::Failed(why) => return format!("I could not look for {topic}: {}", problem(why)),
        Outcome::Interrupted => {
            return format!("I was interrupted while I looked for {topic}. Please ask again.");
        }
    };
    let hits = match Hits::read(told) {
        Ok(Hits(hits)) => hits,
        Err(Unreadable::Failed(why)) => return format!("I could not look for {topic}: {}", problem(&why)),
        Err(Unreadable::NoList) => {
            return format!("About {topic} I found:\n{}", quote::lines(told, MOST_LINES, LONGEST_FILE));
        }
    };
    let best = hits.iter().map(|hit| hit.score).fold(0.0, f64::max);
    if hits.is_empty() {
        return format!("I found nothing about {topic} in my notes or in what was said here.");
    }
    let least = best / 2.0;
    let mut said = vec![format!("About {topic} I found:")];
    for (at, hit) in hits.iter().enumerate().filter(|(_, hit)| hit.score >= least).take(MOST_HITS) {
        let in_full = whole.filter(|_| at == 0).and_then(text_read);
        let (words, most) = match &in_full {
            Some(text) => (text.as_str(), LONGEST_FILE),
            None => (hit.snippet.as_str(), LONGEST_LINE),
        };
        said.push(format!("{}\n({})", quote::lines(words, MOST_LINES, most), hit.source()));
    }
    said.join("\n")
}

/// The text that `memory_get` gave.
fn text_read(outcome: &Outcome) -> Option<String> {
    let Outcome::Done(told) = outcome else { return None };
    let told = json::parse(told).ok()?;
    told.get("text")?.as_str().and_then(text::non_blank).map(str::to_owned)
}

/// The hits of a search, best first.
struct Hits(Vec<Hit>);

enum Unreadable {
    Failed(String),
    /// It is no list of hits; some other tool has the name.
    NoList,
}

struct Hit {
    path: String,
    first: u64,
    last: u64,
    score: f64,
    snippet: String,
    is_note: bool,
    speaker: Option<String>,
    time: Option<String>,
}

impl Hits {
    fn read(told: &str) -> Result<Self, Unreadable> {
        let told = json::parse(told).map_err(|_| Unreadable::NoList)?;
        if let Some(error) = told.get("error").and_then(Value::as_str) {
            return Err(Unreadable::Failed(error.to_owned()));
        }
        let hits = told.get("results").and_then(Value::as_array).ok_or(Unreadable::NoList)?;
        let mut hits: Vec<Hit> = hits.iter().filter_map(Hit::read).collect();
        // What the helper said before was a quotation itself. Notes were written to be found.
        hits.retain(|hit| hit.speaker.as_deref() != Some(OWN_NAME));
        hits.sort_by_key(|hit| !hit.is_note);
        Ok(Self(hits))
    }
}

impl Hit {
    fn read(result: &Value) -> Option<Self> {
        let field = |name: &str| result.get(name).and_then(Value::as_str).map(str::to_owned);
        let line = |name: &str| result.get(name).and_then(Value::as_u64).unwrap_or(1);
        let mut snippet = field("snippet")?;
        // The source is named in our own words below.
        if let Some(citation) = field("citation")
            && let Some(bare) = snippet.strip_suffix(&format!("Source: {citation}"))
        {
            snippet = text::trim_end(bare).to_owned();
        }
        if let Some(speaker) = field("speaker") {
            snippet = without_own_words(&snippet, &speaker);
        }
        Some(Self {
            path: field("path")?,
            first: line("startLine"),
            last: line("endLine"),
            score: result.get("score").and_then(Value::as_f64).unwrap_or(0.0),
            snippet,
            is_note: field("source").as_deref() != Some("sessions"),
            speaker: field("speaker"),
            time: field("time"),
        })
    }

    /// Where it stands, for people.
    fn source(&self) -> String {
        if self.is_note {
            return match self.first == self.last {
                true => format!("{}, line {}", self.path, self.first),
                false => format!("{}, lines {}–{}", self.path, self.first, self.last),
            };
        }
        let who = "said by a user";
        // Days and minutes are enough for people.
        let when = self.time.as_deref().and_then(|time| time.get(..16)).map(|time| time.replace('T', " "));
        match when {
            Some(when) => format!("{who} on {when} UTC, {}", self.path),
            None => format!("{who}, {}", self.path),
        }
    }
}

/// What somebody said, without what the helper said before and after it.
fn without_own_words(snippet: &str, speaker: &str) -> String {
    let own = format!("{OWN_NAME}: ");
    let begins = format!("{speaker}: ");
    let lines: Vec<&str> = snippet.lines().collect();
    let Some(first) = lines.iter().position(|line| line.starts_with(&begins)) else {
        return snippet.to_owned();
    };
    let said = lines[first..].iter().take_while(|line| !line.starts_with(&own));
    said.copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn notes_come_first_and_own_answers_never() {
        let hit = |path: &str, source: &str, speaker: &str, snippet: &str, score: f64| {
            json!({"path": path, "startLine": 2, "endLine": 2, "score": score, "snippet": snippet, "source": source,
                "speaker": speaker})
        };
        let mut note = hit("memory/2026-02-03.md", "memory", "", "- the key is with Ann", 0.6);
        note.as_object_mut().unwrap().remove("speaker");
        let results = json!({"results": [
            hit("sessions/a.jsonl", "sessions", "assistant", "assistant: About “key” I found:\n> assistant: About", 0.9),
            hit("sessions/a.jsonl", "sessions", "user", "assistant: Hello!\nuser: Where is the key\nto the shed?\nassistant: I found:", 0.8),
            note,
        ]});
        let told = recalled("key", &Outcome::Done(results.to_string()), None);
        let expected = "About “key” I found:\n> - the key is with Ann\n(memory/2026-02-03.md, line 2)\n\
            > user: Where is the key\n> to the shed?\n(said by a user, sessions/a.jsonl)";
        assert_eq!(told, expected);
    }
}
