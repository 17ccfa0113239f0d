//! Stories about conversations.

use yabby_domain::message::{Message, text_block};
use yabby_domain::seam::{
    Begin, Compacted, Fork, Part, StoreError, TranscriptStore, TranscriptWriter, UndoneCompaction,
};
use yabby_domain::transcript::Transcript;
use yabby_domain::transcript::file_name::{ArchiveReason, TranscriptId};
use yabby_domain::transcript::line_compact::MaxLines;
use yabby_domain::transcript::preview::first_user_message;
use yabby_domain::transcript::tree::{BranchSummary, NewCompaction, NewEntry};

use super::Backend;

/// Tells every story; `backend` gives an empty place to each.
pub async fn tell(backend: impl Fn() -> Box<dyn Backend>) {
    nothing_was_said_at_first(&*backend()).await;
    what_was_said_is_there_before_and_after_the_first_answer(&*backend()).await;
    a_conversation_goes_on_where_it_ended(&*backend()).await;
    only_one_writes_at_a_time(&*backend()).await;
    a_branch_begins_at_an_earlier_entry(&*backend()).await;
    labels_and_names_are_part_of_the_conversation(&*backend()).await;
    a_compaction_stands_for_what_it_summarises(&*backend()).await;
    a_fork_goes_on_by_itself(&*backend()).await;
    the_last_lines_can_be_kept_alone(&*backend()).await;
    compactions_are_undone_the_last_one_first(&*backend()).await;
    what_is_put_away_is_gone_from_the_list(&*backend()).await;
    what_does_not_exist_is_said_to_be_unknown(&*backend()).await;
}

const HELLO: &str = "Hello, who are you?";

fn id(name: &str) -> TranscriptId {
    TranscriptId::new(name, None).expect("a plain name")
}

fn said(role: &str, text: &str) -> NewEntry {
    let mut message = Message::default();
    message.set("role", role);
    message.set("content", vec![text_block(text)]);
    NewEntry::Message(message)
}

async fn open(store: &dyn TranscriptStore, name: &str) -> Box<dyn TranscriptWriter> {
    let begin = Begin { session_id: name.to_owned(), cwd: "/work".to_owned(), parent: None };
    store.open(&id(name), begin).await.expect("opened")
}

async fn loaded(store: &dyn TranscriptStore, name: &TranscriptId) -> Transcript {
    store.load(name).await.expect("readable").expect("there")
}

/// The texts of the context, by way of the whole and of the end alone, which must agree.
async fn told(store: &dyn TranscriptStore, name: &TranscriptId) -> Vec<String> {
    let whole = loaded(store, name).await.context();
    let context = store.context(name).await.expect("readable").expect("there");
    assert_eq!(context, whole);
    let text = |message: &Message| match message.blocks().first() {
        Some(block) => block.get("text").and_then(|text| text.as_str()).unwrap_or_default().to_owned(),
        None => message.text_field("summary").unwrap_or_default().to_owned(),
    };
    context.messages.iter().map(text).collect()
}

async fn nothing_was_said_at_first(backend: &dyn Backend) {
    let store = backend.transcripts();
    assert!(store.load(&id("s")).await.unwrap().is_none());
    assert_eq!(store.context(&id("s")).await.unwrap(), None);
    assert_eq!(store.peek(&id("s"), Part::First(10)).await.unwrap(), None);
    assert_eq!(store.archive(&id("s"), ArchiveReason::Deleted).await.unwrap(), None);
    assert_eq!(store.compact(&id("s"), MaxLines::default()).await.unwrap(), Compacted::Missing);
    assert_eq!(store.list().await.unwrap(), vec![]);
    assert!(matches!(store.fork(&id("s"), Fork::Leaf).await, Err(StoreError::NoSource(_))));
}

async fn what_was_said_is_there_before_and_after_the_first_answer(backend: &dyn Backend) {
    let store = backend.transcripts();
    let mut writer = open(&*store, "s").await;
    let asked = writer.append(vec![said("user", HELLO)]).await.unwrap();
    let other = backend.transcripts();
    assert_eq!(told(&*other, &id("s")).await, [HELLO]);
    assert_eq!(other.list().await.unwrap(), [id("s")]);
    let start = other.peek(&id("s"), Part::First(4096)).await.unwrap().unwrap();
    assert_eq!(first_user_message(&start).as_deref(), Some(HELLO));

    let answered = writer.append(vec![said("assistant", "yabby"), said("user", "Fine.")]).await.unwrap();
    assert_eq!(told(&*other, &id("s")).await, [HELLO, "yabby", "Fine."]);
    let whole = loaded(&*other, &id("s")).await;
    let ids: Vec<&str> = whole.entries().iter().filter_map(|entry| entry.id()).collect();
    assert_eq!(ids, [asked, answered].concat());
    assert_eq!((whole.session_id(), whole.header().cwd()), ("s", Some("/work")));
    assert_eq!(writer.transcript().context(), whole.context());
}

async fn a_conversation_goes_on_where_it_ended(backend: &dyn Backend) {
    let store = backend.transcripts();
    for round in 0..3 {
        let mut writer = open(&*backend.transcripts(), "s").await;
        writer.append(vec![said("user", &format!("question {round}"))]).await.unwrap();
        drop(writer);
        let mut writer = open(&*store, "s").await;
        writer.append(vec![said("assistant", &format!("answer {round}"))]).await.unwrap();
    }
    let told = told(&*store, &id("s")).await;
    assert_eq!(told, ["question 0", "answer 0", "question 1", "answer 1", "question 2", "answer 2"]);
}

async fn only_one_writes_at_a_time(backend: &dyn Backend) {
    let store = backend.transcripts();
    let first = open(&*store, "s").await;
    drop(open(&*store, "other").await);
    drop(first);
    let mut second = open(&*backend.transcripts(), "s").await;
    second.append(vec![said("user", HELLO)]).await.unwrap();
    assert_eq!(told(&*store, &id("s")).await, [HELLO]);
}

async fn a_branch_begins_at_an_earlier_entry(backend: &dyn Backend) {
    let store = backend.transcripts();
    let mut writer = open(&*store, "s").await;
    let ids =
        writer.append(vec![said("user", "a"), said("assistant", "b"), said("user", "c")]).await.unwrap();
    writer.move_leaf(Some(&ids[1])).await.unwrap();
    writer.append(vec![said("user", "d")]).await.unwrap();
    assert_eq!(told(&*store, &id("s")).await, ["a", "b", "d"]);
    let left = BranchSummary { summary: "we talked".to_owned(), ..BranchSummary::default() };
    writer.branch(Some(&ids[0]), left).await.unwrap();
    assert_eq!(told(&*store, &id("s")).await, ["a", "we talked"]);
    writer.move_leaf(None).await.unwrap();
    writer.append(vec![said("user", "e")]).await.unwrap();
    assert_eq!(told(&*store, &id("s")).await, ["e"]);
    assert_eq!(loaded(&*store, &id("s")).await.entries().len(), 6);
}

async fn labels_and_names_are_part_of_the_conversation(backend: &dyn Backend) {
    let store = backend.transcripts();
    let mut writer = open(&*store, "s").await;
    let ids = writer.append(vec![said("user", "a"), said("assistant", "b")]).await.unwrap();
    let label =
        |label: Option<&str>| NewEntry::Label { target: ids[0].clone(), label: label.map(str::to_owned) };
    let name = NewEntry::SessionInfo { name: " about a ".to_owned() };
    writer.append(vec![label(Some("start")), name]).await.unwrap();
    let whole = loaded(&*backend.transcripts(), &id("s")).await;
    assert_eq!(whole.name().as_deref(), Some("about a"));
    assert_eq!(whole.label(&ids[0].as_str().into()), Some("start"));
    writer.append(vec![label(None)]).await.unwrap();
    assert_eq!(loaded(&*store, &id("s")).await.labels(), vec![]);
}

async fn a_compaction_stands_for_what_it_summarises(backend: &dyn Backend) {
    let store = backend.transcripts();
    let mut writer = open(&*store, "s").await;
    let mut ids = Vec::new();
    for round in 0..50 {
        let asked = said("user", &format!("question {round}"));
        ids.extend(writer.append(vec![asked, said("assistant", "answer")]).await.unwrap());
    }
    let compaction = NewCompaction {
        summary: "what was said".to_owned(),
        first_kept: ids[98].clone(),
        tokens_before: 1000.0,
        ..NewCompaction::default()
    };
    writer.append(vec![NewEntry::Compaction(compaction), said("user", "and now?")]).await.unwrap();
    let expected = ["what was said", "question 49", "answer", "and now?"];
    assert_eq!(told(&*store, &id("s")).await, expected);
    drop(writer);
    let mut writer = open(&*backend.transcripts(), "s").await;
    assert_eq!(writer.transcript().context(), store.context(&id("s")).await.unwrap().unwrap());
    writer.append(vec![said("assistant", "this")]).await.unwrap();
    assert_eq!(told(&*store, &id("s")).await, [&expected[..], &["this"]].concat());
}

async fn a_fork_goes_on_by_itself(backend: &dyn Backend) {
    let store = backend.transcripts();
    let mut writer = open(&*store, "s").await;
    let ids =
        writer.append(vec![said("user", "a"), said("assistant", "b"), said("user", "c")]).await.unwrap();
    drop(writer);
    let at = store.fork(&id("s"), Fork::At(ids[1].clone())).await.unwrap();
    let leaf = store.fork(&id("s"), Fork::Leaf).await.unwrap();
    let whole = store.fork(&id("s"), Fork::Whole { cwd: "/elsewhere".to_owned() }).await.unwrap();
    assert_eq!(told(&*store, &at).await, ["a", "b"]);
    assert_eq!(told(&*store, &leaf).await, ["a", "b", "c"]);
    assert_eq!(told(&*store, &whole).await, ["a", "b", "c"]);
    assert_eq!(loaded(&*store, &whole).await.header().cwd(), Some("/elsewhere"));
    let parent = loaded(&*store, &at).await.header().parent_session().map(str::to_owned);
    assert!(parent.is_some_and(|parent| parent.ends_with(&id("s").file_name())));
    let begin = Begin { session_id: String::new(), cwd: String::new(), parent: None };
    let mut writer = backend.transcripts().open(&at, begin).await.unwrap();
    writer.append(vec![said("user", "elsewhere")]).await.unwrap();
    assert_eq!(told(&*store, &at).await, ["a", "b", "elsewhere"]);
    assert_eq!(told(&*store, &id("s")).await, ["a", "b", "c"]);
    assert_eq!(store.list().await.unwrap().len(), 4);
}

async fn the_last_lines_can_be_kept_alone(backend: &dyn Backend) {
    let store = backend.transcripts();
    let mut writer = open(&*store, "s").await;
    let all = ["a", "b", "c", "d"];
    let roles = ["user", "assistant", "user", "assistant"];
    writer.append(all.iter().zip(roles).map(|(text, role)| said(role, text)).collect()).await.unwrap();
    drop(writer);
    assert_eq!(
        store.compact(&id("s"), MaxLines::at_most(5)).await.unwrap(),
        Compacted::Untouched { kept: 5 }
    );
    let compacted = store.compact(&id("s"), MaxLines::at_most(2)).await.unwrap();
    assert!(matches!(compacted, Compacted::Done { kept: 2, .. }), "{compacted:?}");
    assert_eq!(told(&*backend.transcripts(), &id("s")).await, ["c", "d"]);
    assert_eq!(loaded(&*store, &id("s")).await.session_id(), "s");
}

async fn compactions_are_undone_the_last_one_first(backend: &dyn Backend) {
    let store = backend.transcripts();
    let undo = async || store.undo_compaction(&id("s")).await.unwrap();
    assert_eq!(undo().await, UndoneCompaction::Missing);
    let mut writer = open(&*store, "s").await;
    let ids = writer
        .append(vec![said("user", "a"), said("assistant", "b"), said("user", "c"), said("assistant", "d")])
        .await
        .unwrap();
    drop(writer);
    assert_eq!(undo().await, UndoneCompaction::Nothing);
    let before = loaded(&*store, &id("s")).await;
    store.compact(&id("s"), MaxLines::at_most(2)).await.unwrap();
    let mut writer = open(&*store, "s").await;
    let summary = NewCompaction {
        summary: "c and d".to_owned(),
        first_kept: ids[3].clone(),
        tokens_before: 9.0,
        ..NewCompaction::default()
    };
    writer.append(vec![said("user", "e"), NewEntry::Compaction(summary)]).await.unwrap();
    writer.append(vec![said("assistant", "f")]).await.unwrap();
    drop(writer);
    assert_eq!(told(&*store, &id("s")).await, ["c and d", "d", "e", "f"]);
    store.compact(&id("s"), MaxLines::at_most(2)).await.unwrap();
    assert_eq!(told(&*store, &id("s")).await, ["c and d", "f"]);

    let undone = undo().await;
    assert!(matches!(undone, UndoneCompaction::Lines { restored: 3, .. }), "{undone:?}");
    assert_eq!(told(&*store, &id("s")).await, ["c and d", "d", "e", "f"]);
    let undone = undo().await;
    assert!(matches!(undone, UndoneCompaction::Summary { copied: 1, .. }), "{undone:?}");
    assert_eq!(told(&*store, &id("s")).await, ["c", "d", "e", "f"]);
    let UndoneCompaction::Lines { restored: 2, backup, context } = undo().await else {
        panic!("the first lines are in a backup")
    };
    assert!(backup.starts_with("s.jsonl.bak."), "{backup}");
    assert_eq!(context.messages, 6);
    assert_eq!(told(&*backend.transcripts(), &id("s")).await, ["a", "b", "c", "d", "e", "f"]);
    let after = loaded(&*store, &id("s")).await;
    assert_eq!(after.entries()[..4], before.entries()[..], "lines come back as they were");
    assert_eq!(undo().await, UndoneCompaction::Nothing);
}

async fn what_is_put_away_is_gone_from_the_list(backend: &dyn Backend) {
    let store = backend.transcripts();
    for name in ["asked", "answered"] {
        let mut writer = open(&*store, name).await;
        writer.append(vec![said("user", HELLO)]).await.unwrap();
        if name == "answered" {
            writer.append(vec![said("assistant", "yes")]).await.unwrap();
        }
        drop(writer);
        let archived = store.archive(&id(name), ArchiveReason::Deleted).await.unwrap();
        assert!(archived.is_some_and(|archived| archived.contains(".deleted.")), "{name}");
        assert!(backend.transcripts().load(&id(name)).await.unwrap().is_none(), "{name}");
    }
    assert_eq!(store.list().await.unwrap(), vec![]);
    let mut writer = open(&*store, "asked").await;
    writer.append(vec![said("user", "again")]).await.unwrap();
    assert_eq!(told(&*store, &id("asked")).await, ["again"]);
}

async fn what_does_not_exist_is_said_to_be_unknown(backend: &dyn Backend) {
    let store = backend.transcripts();
    let mut writer = open(&*store, "s").await;
    writer.append(vec![said("user", "a"), said("assistant", "b")]).await.unwrap();
    let label = NewEntry::Label { target: "nobody".to_owned(), label: Some("x".to_owned()) };
    let failures = [
        writer.append(vec![said("user", "half"), label]).await.map(drop),
        writer.move_leaf(Some("nobody")).await,
        writer.branch(Some("nobody"), BranchSummary::default()).await.map(drop),
        store.fork(&id("s"), Fork::At("nobody".to_owned())).await.map(drop),
    ];
    for failure in failures {
        assert_eq!(failure.unwrap_err().to_string(), "Entry nobody not found");
    }
    // None of it happened, not even the first half.
    assert_eq!(told(&*store, &id("s")).await, ["a", "b"]);
    writer.append(vec![said("user", "c")]).await.unwrap();
    assert_eq!(told(&*store, &id("s")).await, ["a", "b", "c"]);
}
