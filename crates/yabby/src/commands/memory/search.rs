//! `yabby memory search`: what answers a question, as the owner finds it or as somebody in a session would.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use yabby_domain::config::text::TextOrNumber;
use yabby_domain::json::{self, Value};
use yabby_domain::session::key::SessionKey;
use yabby_memory::audience::{Audience, Viewer};
use yabby_memory::compat::files::Source;
use yabby_memory::compat::{Reason, SearchOptions};
use yabby_memory::memory::{Found, Hidden};
use yabby_memory::recall::{Filter, Hit};
use yabby_memory::request::SearchRequest;
use yabby_memory::shown;
use yabby_memory::unit::Role;
use yabby_models::embed::Wanted;

use super::{DISABLED, Desk, GOOD, LABEL, VALUE, is_damage, shown_on, tell_unread};
use crate::failure::{self, Failure};
use crate::progress::Bar;
use crate::setting::Setting;
use crate::terminal;
use crate::wire::memory::AgentMemory;

#[derive(Args)]
pub struct Arguments {
    /// What is looked for: words, or a question
    query: String,
    /// The agent whose memory it is [default: the default one]
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// At most so many [default: 6, or what memorySearch.query.maxResults says]
    #[arg(long, value_name = "N")]
    max_results: Option<f64>,
    /// Only what is at least so good, from 0 to 1
    #[arg(long, value_name = "X")]
    min_score: Option<f64>,
    /// What would be found in this session: its key, id or label
    #[arg(long = "as", value_name = "SESSION")]
    seen_as: Option<String>,
    /// Only what was said in this session: its key, id or label
    #[arg(long, value_name = "SESSION")]
    session: Option<String>,
    /// Only what was said on this platform, such as telegram
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
    /// Say why each hit stands where it does
    #[arg(long)]
    explain: bool,
    /// Show so many messages before and after each hit
    #[arg(long, value_name = "N", default_value = "0")]
    around: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(setting: &Setting, arguments: &Arguments) -> Result<()> {
    let desk = Desk::open(setting)?;
    let agent = desk.agent(arguments.agent.as_deref());
    let key_of = |named: &Option<String>| named.as_deref().map(|named| desk.session(named, &agent));
    let keys = Keys { session: key_of(&arguments.session), seen_as: key_of(&arguments.seen_as) };
    let results = desk.with_memory(&agent, |kept| {
        desk.runtime.block_on(search(&desk, kept, &keys, arguments)).map_err(failed)
    })?;
    match results {
        None if arguments.json => terminal::print_json(&json!({"results": [], "disabled": true})),
        None => Ok(writeln!(anstream::stdout(), "{DISABLED}")?),
        Some(results) if arguments.json => terminal::print_json(&results.to_json()),
        Some(results) if results.text.is_empty() => Ok(writeln!(anstream::stdout(), "No matches.")?),
        Some(results) => Ok(writeln!(anstream::stdout(), "{}", results.text.trim_end())?),
    }
}

fn failed(error: anyhow::Error) -> anyhow::Error {
    match is_damage(&error) {
        // That can be mended.
        true => error,
        false => Failure::bare(format!("Memory search failed: {}", failure::told(&error))).into(),
    }
}

/// The sessions that the command line names.
struct Keys {
    session: Option<SessionKey>,
    seen_as: Option<SessionKey>,
}

/// What was found, in both forms.
#[derive(Default)]
struct Results {
    json: Vec<Value>,
    text: String,
    hidden: Hidden,
}

impl Results {
    /// For programs; what is hidden is told where something is.
    fn to_json(&self) -> Value {
        let mut told = json!({"results": self.json});
        if self.hidden.hits > 0 {
            let Hidden { hits, people, groups, sessions } = &self.hidden;
            told["hidden"] = json!({"hits": hits, "people": people, "groups": groups, "sessions": sessions});
        }
        told
    }
}

async fn search(desk: &Desk<'_>, kept: &AgentMemory, keys: &Keys, arguments: &Arguments) -> Result<Results> {
    if kept.ranks_like_reference {
        return like_reference(kept, arguments).await;
    }
    if let (Wanted::Named(_), Err(reason)) = (kept.choice.requested, &kept.choice.embedder) {
        tell_unread(&[format!("found by words only: {}", reason.replace('\n', " "))]);
    }
    // Nobody goes on reading after this process: all of it is read first. What goes wrong, the search tells.
    let bar = Bar::new("reading");
    let _ = kept.memory.sync(&shown_on(&bar)).await;
    drop(bar);
    let viewer = match &keys.seen_as {
        Some(key) => seen_as(kept, key).await?,
        // The owner at their own machine.
        None => Viewer::owner_in(keys.session.clone(), &desk.config),
    };
    let request = SearchRequest {
        query: arguments.query.clone(),
        viewer,
        filter: Filter {
            session_key: keys.session.as_ref().map(|key| key.as_str().to_owned()),
            channel: arguments.channel.as_ref().map(|channel| channel.to_lowercase()),
            ..Filter::default()
        },
        max_results: arguments.max_results,
        min_score: arguments.min_score,
        around: arguments.around,
        now: Timestamp::now(),
    };
    let search = request.in_memory(&kept.memory);
    let found = kept.memory.search(search.clone()).await?;
    tell_unread(&found.unread);
    // Only the owner is told, and nobody who looks as somebody else.
    let hidden = match keys.seen_as {
        None => kept.memory.hidden_from_owner(&search).await?,
        Some(_) => Hidden::default(),
    };
    if !arguments.json {
        tell_hidden(desk, &hidden);
    }
    Ok(Results { hidden, ..shown_results(&found, arguments.explain) })
}

/// So many sessions are named as which hidden hits are found.
const MOST_NAMED: usize = 3;

/// Says that others were told what answers, and how to see it.
fn tell_hidden(desk: &Desk<'_>, hidden: &Hidden) {
    if hidden.hits == 0 {
        return;
    }
    let hits = terminal::counted(hidden.hits, "more hit");
    let others: Vec<&str> = hidden.people.iter().chain(&hidden.groups).map(String::as_str).collect();
    let others = terminal::harmless(&others.join(", "));
    anstream::eprintln!("note: not shown, since it was said to others: {hits} ({others}).");
    for key in hidden.sessions.iter().take(MOST_NAMED) {
        let see = desk.setting.command(&format!("memory search … --as {}", terminal::harmless(key)));
        anstream::eprintln!("  To see them: {see}");
    }
    if let Some(person) = hidden.people.first() {
        let known = desk.config.commands.owner_allow_from.iter().flatten();
        let owners: Vec<Value> = known.map(TextOrNumber::to_value).chain([person.as_str().into()]).collect();
        let owners = terminal::harmless(&json::stringify(&Value::from(owners)));
        let own = format!("config set commands.ownerAllowFrom '{owners}' --json");
        anstream::eprintln!("  If {} is you: {}", terminal::harmless(person), desk.setting.command(&own));
    }
    if !hidden.groups.is_empty() {
        let share = desk.setting.command("config set memory.share.groups true");
        anstream::eprintln!("  To find what was said in groups from now on: {share}");
    }
}

/// Who looks from a session. In the owner's own one that is the owner, with nobody listening.
async fn seen_as(kept: &AgentMemory, key: &SessionKey) -> Result<Viewer> {
    let viewer = kept.memory.viewer(key, false).await?;
    match viewer.audience {
        Audience::Owner => Ok(kept.memory.viewer(key, true).await?),
        Audience::Person(_) | Audience::Room(_) => Ok(viewer),
    }
}

fn shown_results(found: &Found, explain: bool) -> Results {
    let mut results = Results::default();
    for hit in &found.hits {
        let mut shown = shown::hit(hit);
        if explain {
            shown["why"] = shown::why(hit);
        }
        results.json.push(shown);
        let place = place(&hit.path, hit.unit.first_line.into(), hit.unit.last_line.into());
        results.text.push_str(&headline(f64::from(hit.score), &place));
        if let Some(by) = by_whom(hit) {
            results.text.push_str(&format!("{LABEL}{}{LABEL:#}\n", terminal::harmless(&by)));
        }
        if explain {
            results.text.push_str(&format!("{LABEL}why: {}{LABEL:#}\n", reasons(hit)));
        }
        push_snippet(&mut results.text, &shown::snippet(hit));
    }
    results
}

/// Who said it, when and where; of a note nothing but its place is known.
fn by_whom(hit: &Hit) -> Option<String> {
    if hit.unit.role == Role::Note {
        return None;
    }
    let at = hit.unit.at.and_then(|at| Timestamp::from_millisecond(at).ok());
    let at = at.map(|at| at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string());
    let parts = [Some(hit.unit.speaker.clone()), at, hit.session_key.clone()];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(" · "))
}

/// What counted, and how much.
fn reasons(hit: &Hit) -> String {
    let mut parts = Vec::new();
    if let Value::Object(why) = shown::why(hit) {
        for (name, value) in why {
            match value {
                Value::Bool(true) => parts.push(name),
                Value::Number(number) if number.as_f64() != Some(0.0) => {
                    parts.push(format!("{name} {number}"))
                }
                _ => {}
            }
        }
    }
    if parts.is_empty() { "nothing in particular".to_owned() } else { parts.join(" · ") }
}

fn headline(score: f64, place: &str) -> String {
    let score = json::fixed(score, 3);
    let place = terminal::harmless(place);
    format!("{GOOD}{score}{GOOD:#} {VALUE}{place}{VALUE:#}\n")
}

fn place(path: &str, first: u64, last: u64) -> String {
    format!("{path}:{first}-{last}")
}

fn push_snippet(text: &mut String, snippet: &str) {
    for line in snippet.lines() {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{}", terminal::harmless(line));
    }
    text.push('\n');
}

/// The reference's own index and ranking, which know of nobody who looks.
async fn like_reference(kept: &AgentMemory, arguments: &Arguments) -> Result<Results> {
    let is_ours = [
        ("--as", arguments.seen_as.is_some()),
        ("--session", arguments.session.is_some()),
        ("--channel", arguments.channel.is_some()),
        ("--explain", arguments.explain),
        ("--around", arguments.around > 0),
    ];
    if let Some((option, _)) = is_ours.into_iter().find(|(_, is_given)| *is_given) {
        bail!("{option} needs yabby's own ranking, and memory.ranking is compat");
    }
    let Some(index) = kept.reference().await? else {
        let reason = kept.choice.embedder.as_ref().err().cloned().unwrap_or_default();
        return Err(anyhow!("{reason}"));
    };
    if kept.settings.sync.on_search {
        if kept.settings.sources.contains(&Source::Sessions) {
            index.mark_sessions_dirty().await?;
        }
        if let Err(error) = index.sync(Reason::Search, false, None).await {
            tell_unread(&[format!("what is new: {error}")]);
        }
    }
    let options = SearchOptions {
        max_results: arguments.max_results,
        min_score: arguments.min_score,
        ..SearchOptions::default()
    };
    let mut results = Results::default();
    for hit in index.search(&arguments.query, &options).await? {
        results.json.push(hit.to_json());
        let place = place(&hit.path, hit.start_line, hit.end_line);
        results.text.push_str(&headline(hit.score, &place));
        push_snippet(&mut results.text, &hit.snippet);
    }
    Ok(results)
}
