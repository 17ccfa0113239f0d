//! The tree that the entries of a transcript form (`transcripts.md` §2, §4).
//!
//! Every entry hangs from an earlier one; the *leaf* is where the next one will hang. Files written by
//! others may hold anything: two entries with one id, parents that do not exist, parents in a circle.
//! A walk ends where it would come to the same entry twice.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Stamp;
use super::context::ModelUsed;
use super::entry::{Entry, EntryId, EntryKind};
use super::header::{Header, Version};
use super::time;
use crate::json::{Object, Value, number, truthy};
use crate::message::Message;
use crate::text;

#[derive(Clone, Debug)]
pub struct Transcript {
    /// Which reading of a file it comes from.
    reading: u64,
    header: Header,
    /// In file order, without header lines.
    entries: Vec<Entry>,
    /// What each entry hangs from, where that stands before it. Without twins it stays there.
    parents: Vec<Option<usize>>,
    /// Of two entries with one id the later one is found.
    by_id: HashMap<EntryId, usize>,
    /// Some id is used twice.
    has_twins: bool,
    leaf: Option<usize>,
    labels: Labels,
    has_assistant: bool,
    is_list: bool,
    /// What came before the entries, if they are only the last ones of a file.
    earlier: Option<Earlier>,
}

/// What is known about a file before the entries that are held of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    /// What the oldest entry of the branch that was followed hangs from.
    pub below: Option<EntryId>,
    pub thinking_level: EarlierSetting<String>,
    pub model: EarlierSetting<ModelUsed>,
}

/// A setting of the branch before the entries that are held.
#[derive(Clone, Debug, PartialEq)]
pub enum EarlierSetting<T> {
    /// Nobody looked: a later entry sets it.
    Unknown,
    Known(Option<T>),
}

/// An entry to be appended; its id, parent and time are given by the transcript.
#[derive(Clone, Debug, PartialEq)]
pub enum NewEntry {
    Message(Message),
    ThinkingLevelChange(String),
    ModelChange {
        provider: String,
        model_id: String,
    },
    Compaction(NewCompaction),
    Custom {
        custom_type: String,
        data: Option<Value>,
    },
    CustomMessage {
        custom_type: String,
        content: Value,
        display: bool,
        details: Option<Value>,
    },
    /// No text, or empty text, takes the label away.
    Label {
        target: String,
        label: Option<String>,
    },
    SessionInfo {
        name: String,
    },
    /// What an entry of this transcript says, once more and at another place; its time stays.
    Copy(Object),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct NewCompaction {
    pub summary: String,
    pub first_kept: String,
    pub tokens_before: f64,
    pub details: Option<Value>,
    pub from_hook: Option<bool>,
}

/// A summary of the branch that is being left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchSummary {
    pub summary: String,
    pub details: Option<Value>,
    pub from_hook: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Entry {0} not found")]
pub struct UnknownEntry(pub String);

impl Transcript {
    /// A session without entries.
    pub fn new(header: Header) -> Self {
        static READINGS: AtomicU64 = AtomicU64::new(0);
        Self {
            reading: READINGS.fetch_add(1, Ordering::Relaxed),
            header,
            entries: Vec::new(),
            parents: Vec::new(),
            by_id: HashMap::new(),
            has_twins: false,
            leaf: None,
            labels: Labels::default(),
            has_assistant: false,
            is_list: false,
            earlier: None,
        }
    }

    /// Reads the text of a file; `None` if its first entry is not a header.
    ///
    /// Lines that are not JSON objects are skipped. Nothing is migrated here (see
    /// [`super::version`]), but the plain lists that older files are become a chain.
    pub fn read(file: &str) -> Option<Self> {
        Self::read_shared(&Arc::new(file.to_owned()))
    }

    /// The same, without a copy of the text for the entries.
    pub fn read_shared(file: &Arc<String>) -> Option<Self> {
        let mut lines = entries_in(file);
        let header = Header::parse(lines.next()?.line())?;
        let entries: Vec<Entry> = lines.filter(|entry| entry.kind() != EntryKind::Session).collect();
        Some(Self::of(header, entries))
    }

    /// The last lines of a file, all of which have a name (see [`super::tail`]).
    pub fn read_window(header: Header, lines: &Arc<String>, earlier: Earlier) -> Self {
        let entries = entries_in(lines).filter(|entry| entry.kind() != EntryKind::Session).collect();
        Self { earlier: Some(earlier), ..Self::of(header, entries) }
    }

    fn of(header: Header, entries: Vec<Entry>) -> Self {
        let is_list = header.version() < Version::Three && !entries.iter().any(Entry::names_its_parent);
        let mut transcript = Self { is_list, entries, ..Self::new(header) };
        transcript.by_id.reserve(transcript.entries.len());
        for at in 0..transcript.entries.len() {
            transcript.settle(at);
        }
        transcript
    }

    /// Adds a line that stands behind all others.
    pub(super) fn take_in(&mut self, entry: Entry) {
        self.entries.push(entry);
        self.settle(self.entries.len() - 1);
    }

    /// Gives a line its place behind those before it.
    fn settle(&mut self, at: usize) {
        let (before, rest) = self.entries.split_at_mut(at);
        if let Some(entry) = rest.first_mut() {
            entry.settle(at, before.last().and_then(Entry::key), self.is_list);
        }
        self.index(at);
    }

    /// Whether these are all the entries of the file.
    pub fn is_whole(&self) -> bool {
        self.earlier.is_none()
    }

    /// What came before the entries, where the branch leads out of them.
    pub(super) fn earlier(&self, branch: &[&Entry]) -> Option<&Earlier> {
        let below = branch.first()?.parent_key()?;
        self.earlier.as_ref().filter(|earlier| earlier.below.as_ref() == Some(below))
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    pub(super) fn header_mut(&mut self) -> &mut Header {
        &mut self.header
    }

    pub fn session_id(&self) -> &str {
        self.header.session_id()
    }

    /// All entries in file order, of every branch.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn has_assistant(&self) -> bool {
        self.has_assistant
    }

    pub fn leaf(&self) -> Option<&Entry> {
        self.entries.get(self.leaf?)
    }

    pub fn leaf_id(&self) -> Option<&str> {
        self.leaf()?.id()
    }

    pub fn entry(&self, id: &str) -> Option<&Entry> {
        self.entries.get(self.position(id)?)
    }

    /// The entries from the root to the leaf.
    pub fn branch(&self) -> Vec<&Entry> {
        self.leaf.map(|leaf| self.path_to(leaf)).unwrap_or_default()
    }

    /// The entries from the leaf to the root.
    pub fn ancestry(&self) -> impl Iterator<Item = &Entry> {
        self.ancestry_of(self.leaf)
    }

    fn ancestry_of(&self, leaf: Option<usize>) -> impl Iterator<Item = &Entry> {
        let mut seen = vec![false; self.entries.len()];
        let mut next = leaf;
        std::iter::from_fn(move || {
            let at = next.filter(|at| !std::mem::replace(&mut seen[*at], true))?;
            next = self.parent_of(at);
            Some(&self.entries[at])
        })
    }

    /// A number that no other reading of a file has. Entries of one reading never change; they only become more.
    pub fn reading(&self) -> u64 {
        self.reading
    }

    /// Moves the leaf to the last entry, where it is when a file is opened.
    pub fn move_leaf_to_end(&mut self) {
        self.leaf = self.entries.len().checked_sub(1);
    }

    /// The entries of the branch behind the one with this key; `None` if that is not on the branch, or not the only
    /// entry with this key.
    pub fn branch_since(&self, key: &EntryId) -> Option<Vec<&Entry>> {
        let stop = self.by_id.get(key).copied().filter(|_| !self.has_twins)?;
        let mut since = Vec::new();
        let mut next = self.leaf;
        while let Some(at) = next.filter(|at| *at != stop) {
            // Only a circle is longer than all entries together.
            if since.len() > self.entries.len() {
                return None;
            }
            since.push(&self.entries[at]);
            next = self.parent_of(at);
        }
        next?;
        since.reverse();
        Some(since)
    }

    /// The entries from the root to the one called `id`; none if it is unknown.
    pub fn branch_to(&self, id: &str) -> Vec<&Entry> {
        self.position(id).map(|at| self.path_to(at)).unwrap_or_default()
    }

    /// The branch to the entry called `id`, or to the last one in the file if it is unknown.
    pub(super) fn branch_near(&self, id: &str) -> Vec<&Entry> {
        let at = self.position(id).or_else(|| self.entries.len().checked_sub(1));
        at.map(|at| self.path_to(at)).unwrap_or_default()
    }

    fn path_to(&self, leaf: usize) -> Vec<&Entry> {
        let mut path: Vec<&Entry> = self.ancestry_of(Some(leaf)).collect();
        path.reverse();
        path
    }

    fn parent_of(&self, at: usize) -> Option<usize> {
        let known = self.parents.get(at).copied().flatten().filter(|_| !self.has_twins);
        known.or_else(|| self.by_id.get(self.entries[at].parent_key()?).copied())
    }

    fn position(&self, id: &str) -> Option<usize> {
        self.by_id.get(&EntryId::from(id)).copied()
    }

    /// Moves the leaf to an earlier entry: the next one starts a new branch there.
    pub fn move_leaf(&mut self, id: &str) -> Result<(), UnknownEntry> {
        let at = self.position(id).ok_or_else(|| UnknownEntry(id.to_owned()))?;
        self.leaf = Some(at);
        Ok(())
    }

    /// Moves the leaf before the first entry: the next one is a new root.
    pub fn reset_leaf(&mut self) {
        self.leaf = None;
    }

    /// Appends an entry below the leaf and makes it the leaf.
    pub fn append(&mut self, new: NewEntry, stamp: &mut Stamp<'_>) -> Result<&Entry, UnknownEntry> {
        let entry = self.placed(new, &[], stamp)?;
        Ok(self.push(entry))
    }

    /// The entry that would be appended after those that were `planned` before it.
    pub(super) fn placed(
        &self,
        new: NewEntry,
        planned: &[Entry],
        stamp: &mut Stamp<'_>,
    ) -> Result<Entry, UnknownEntry> {
        if let NewEntry::Label { target, .. } = &new
            && self.position(target).is_none()
            && !planned.iter().any(|entry| entry.id() == Some(target))
        {
            return Err(UnknownEntry(target.clone()));
        }
        let fields = Placed {
            id: self.fresh_entry_id(planned, stamp),
            parent: planned
                .last()
                .or(self.leaf())
                .and_then(Entry::key)
                .map_or(Value::Null, EntryId::to_value),
            timestamp: time::iso(stamp.now),
        };
        Ok(Entry::from_object(fields.with(new)))
    }

    /// Leaves the current branch for `target` (`None`: the root) with a summary of what was left.
    pub fn branch_with_summary(
        &mut self,
        target: Option<&str>,
        left: BranchSummary,
        stamp: &mut Stamp<'_>,
    ) -> Result<&Entry, UnknownEntry> {
        let summary = self.placed_summary(target, left, stamp)?;
        Ok(self.push(summary))
    }

    /// The entry that [`Self::branch_with_summary`] would append.
    pub(super) fn placed_summary(
        &self,
        target: Option<&str>,
        left: BranchSummary,
        stamp: &mut Stamp<'_>,
    ) -> Result<Entry, UnknownEntry> {
        if let Some(id) = target.filter(|id| self.position(id).is_none()) {
            return Err(UnknownEntry(id.to_owned()));
        }
        let placed = Placed {
            id: self.fresh_entry_id(&[], stamp),
            parent: target.map_or(Value::Null, Value::from),
            timestamp: time::iso(stamp.now),
        };
        let mut object = placed.first("branch_summary");
        object.insert("fromId".into(), target.unwrap_or("root").into());
        object.insert("summary".into(), left.summary.into());
        put(&mut object, "details", left.details);
        put(&mut object, "fromHook", left.from_hook.map(Value::from));
        Ok(Entry::from_object(object))
    }

    /// The first eight characters of a UUID, unless they are taken a hundred times over. Where not all
    /// taken ids are known it is the whole UUID.
    fn fresh_entry_id(&self, planned: &[Entry], stamp: &mut Stamp<'_>) -> String {
        let tries = if self.is_whole() { 100 } else { 0 };
        for _ in 0..tries {
            let id = text::head(&(stamp.fresh_id)(), 8).into_owned();
            if self.position(&id).is_none() && !planned.iter().any(|entry| entry.id() == Some(&id)) {
                return id;
            }
        }
        (stamp.fresh_id)()
    }

    pub(super) fn push(&mut self, entry: Entry) -> &Entry {
        let at = self.entries.len();
        self.entries.push(entry);
        self.index(at);
        &self.entries[at]
    }

    /// Makes an entry known by its name, and the leaf.
    fn index(&mut self, at: usize) {
        let entry = &self.entries[at];
        // Most entries hang from the one before them, which is quicker seen than looked up.
        let before = at.checked_sub(1).filter(|before| self.entries[*before].key() == entry.parent_key());
        let parent = entry.parent_key().and_then(|parent| before.or_else(|| self.by_id.get(parent).copied()));
        self.parents.push(parent);
        if let Some(id) = entry.key() {
            self.has_twins |= self.by_id.insert(id.clone(), at).is_some();
        }
        if entry.kind() == EntryKind::Label {
            self.labels.record(entry);
        }
        self.has_assistant |= entry.is_assistant_message();
        self.leaf = Some(at);
    }

    /// The labels that are set, in the order in which they were: id of the entry, text.
    pub fn labels(&self) -> Vec<(&EntryId, &str)> {
        self.labels.in_order()
    }

    pub fn label(&self, id: &EntryId) -> Option<&str> {
        self.labels.get(id)
    }

    /// The last name that the session was given.
    pub fn name(&self) -> Option<String> {
        let infos = self.entries.iter().rev().filter(|entry| entry.kind() == EntryKind::SessionInfo);
        infos
            .filter_map(|info| info.object().get("name")?.as_str().map(str::to_owned))
            .find(|name| !name.is_empty())
    }

    pub fn tree(&self) -> Tree<'_> {
        Tree::of(self)
    }
}

/// The entries on the lines of a text, header lines included.
fn entries_in(file: &Arc<String>) -> impl Iterator<Item = Entry> {
    let body = text::trim(file);
    let mut start = file.len() - text::trim_start(file).len();
    body.split('\n').filter_map(move |line| {
        let place = start..start + line.len();
        start = place.end + 1;
        Entry::parse_in(file, place)
    })
}

/// Where an entry stands.
struct Placed {
    id: String,
    parent: Value,
    timestamp: String,
}

impl Placed {
    fn with(self, new: NewEntry) -> Object {
        match new {
            NewEntry::Message(message) => {
                let mut object = self.first("message");
                object.insert("message".into(), message.into_value());
                object
            }
            NewEntry::ThinkingLevelChange(level) => {
                let mut object = self.first("thinking_level_change");
                object.insert("thinkingLevel".into(), level.into());
                object
            }
            NewEntry::ModelChange { provider, model_id } => {
                let mut object = self.first("model_change");
                object.insert("provider".into(), provider.into());
                object.insert("modelId".into(), model_id.into());
                object
            }
            NewEntry::Compaction(compaction) => {
                let mut object = self.first("compaction");
                object.insert("summary".into(), compaction.summary.into());
                object.insert("firstKeptEntryId".into(), compaction.first_kept.into());
                let tokens =
                    if compaction.tokens_before.is_finite() { compaction.tokens_before } else { 0.0 };
                object.insert("tokensBefore".into(), number(tokens));
                put(&mut object, "details", compaction.details);
                put(&mut object, "fromHook", compaction.from_hook.map(Value::from));
                object
            }
            NewEntry::Custom { custom_type, data } => {
                let mut object = kind("custom");
                object.insert("customType".into(), custom_type.into());
                put(&mut object, "data", data);
                self.last(object)
            }
            NewEntry::CustomMessage { custom_type, content, display, details } => {
                let mut object = kind("custom_message");
                object.insert("customType".into(), custom_type.into());
                object.insert("content".into(), content);
                object.insert("display".into(), display.into());
                put(&mut object, "details", details);
                self.last(object)
            }
            NewEntry::Label { target, label } => {
                let mut object = self.first("label");
                object.insert("targetId".into(), target.into());
                put(&mut object, "label", label.map(Value::from));
                object
            }
            NewEntry::SessionInfo { name } => {
                let mut object = self.first("session_info");
                object.insert("name".into(), text::trim(&name).into());
                object
            }
            NewEntry::Copy(mut object) => {
                object.insert("id".into(), self.id.into());
                object.insert("parentId".into(), self.parent);
                object
            }
        }
    }

    /// Most kinds begin with their place …
    fn first(self, name: &str) -> Object {
        self.last(kind(name))
    }

    /// … and custom ones end with it.
    fn last(self, mut object: Object) -> Object {
        object.insert("id".into(), self.id.into());
        object.insert("parentId".into(), self.parent);
        object.insert("timestamp".into(), self.timestamp.into());
        object
    }
}

fn kind(name: &str) -> Object {
    let mut object = Object::new();
    object.insert("type".into(), name.into());
    object
}

fn put(object: &mut Object, field: &str, value: Option<Value>) {
    if let Some(value) = value {
        object.insert(field.into(), value);
    }
}

/// What is written on entries. A label that changes keeps its place; one that was taken away and set
/// again goes to the end.
#[derive(Clone, Debug, Default)]
struct Labels {
    set: HashMap<EntryId, (usize, String)>,
    recorded: usize,
}

impl Labels {
    fn record(&mut self, entry: &Entry) {
        let object = entry.object();
        let Some(target) = object.get("targetId").and_then(EntryId::of_value) else { return };
        self.recorded += 1;
        match object.get("label").filter(|label| truthy(label)).and_then(Value::as_str) {
            Some(label) => {
                let place = self.set.get(&target).map_or(self.recorded, |(place, _)| *place);
                self.set.insert(target, (place, label.to_owned()));
            }
            None => {
                self.set.remove(&target);
            }
        }
    }

    fn get(&self, id: &EntryId) -> Option<&str> {
        self.set.get(id).map(|(_, label)| label.as_str())
    }

    fn in_order(&self) -> Vec<(&EntryId, &str)> {
        let mut labels: Vec<_> = self.set.iter().collect();
        labels.sort_by_key(|(_, (place, _))| *place);
        labels.into_iter().map(|(id, (_, label))| (id, label.as_str())).collect()
    }
}

/// All branches at once.
///
/// Entries that share an id share a node, so a node may be met below two parents; no node is its own
/// ancestor.
#[derive(Clone, Debug)]
pub struct Tree<'t> {
    transcript: &'t Transcript,
    roots: Vec<usize>,
    children: Vec<Vec<usize>>,
}

#[derive(Clone, Copy, Debug)]
pub struct Node<'t> {
    tree: &'t Tree<'t>,
    at: usize,
}

impl<'t> Tree<'t> {
    fn of(transcript: &'t Transcript) -> Self {
        let node_of = |id: Option<&EntryId>| id.and_then(|id| transcript.by_id.get(id)).copied();
        let mut tree =
            Self { transcript, roots: Vec::new(), children: vec![Vec::new(); transcript.entries.len()] };
        for (at, entry) in transcript.entries.iter().enumerate() {
            let node = node_of(entry.key()).unwrap_or(at);
            match node_of(entry.parent_key()) {
                Some(parent) if entry.parent_key() != entry.key() => tree.children[parent].push(node),
                _ => tree.roots.push(node),
            }
        }
        for children in tree.children.iter_mut().filter(|children| children.len() > 1) {
            sort_by_time(children, &transcript.entries);
        }
        tree.cut_circles();
        tree
    }

    pub fn roots(&'t self) -> impl Iterator<Item = Node<'t>> {
        self.roots.iter().map(|at| Node { tree: self, at: *at })
    }

    /// Removes every edge that leads back to an ancestor.
    fn cut_circles(&mut self) {
        const CUT: usize = usize::MAX;
        #[derive(Clone, Copy, PartialEq)]
        enum Visit {
            Never,
            Under,
            Done,
        }
        let mut visits = vec![Visit::Never; self.children.len()];
        let mut cuts = false;
        for root in self.roots.clone() {
            if visits[root] == Visit::Done {
                continue;
            }
            let mut walk = vec![(root, 0)];
            while let Some((node, next)) = walk.last_mut() {
                let node = *node;
                visits[node] = Visit::Under;
                match self.children[node].get(*next).copied() {
                    None => {
                        visits[node] = Visit::Done;
                        walk.pop();
                    }
                    Some(child) => {
                        let edge = *next;
                        *next += 1;
                        match visits[child] {
                            Visit::Never => walk.push((child, 0)),
                            Visit::Done => {}
                            Visit::Under => {
                                self.children[node][edge] = CUT;
                                cuts = true;
                            }
                        }
                    }
                }
            }
        }
        if cuts {
            self.children.iter_mut().for_each(|children| children.retain(|child| *child != CUT));
        }
    }
}

/// Oldest first; an entry without readable time stays behind the one before it.
fn sort_by_time(nodes: &mut [usize], entries: &[Entry]) {
    let mut before = f64::NEG_INFINITY;
    let mut timed: Vec<(f64, usize)> = nodes
        .iter()
        .map(|at| {
            before = entries[*at].time().unwrap_or(before);
            (before, *at)
        })
        .collect();
    timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    for (node, (_, at)) in nodes.iter_mut().zip(timed) {
        *node = at;
    }
}

impl<'t> Node<'t> {
    pub fn entry(self) -> &'t Entry {
        &self.tree.transcript.entries[self.at]
    }

    pub fn label(self) -> Option<&'t str> {
        self.tree.transcript.label(self.entry().key()?)
    }

    pub fn children(self) -> impl Iterator<Item = Node<'t>> {
        self.tree.children[self.at].iter().map(move |at| Node { tree: self.tree, at: *at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Role;

    const HEADER: &str =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-15T09:30:00.000Z","cwd":"/w"}"#;

    /// A file of entries `id<parent`, at times in the order given.
    fn transcript(entries: &str) -> Transcript {
        let mut file = HEADER.to_owned();
        for (at, entry) in entries.split_whitespace().enumerate() {
            let (id, parent) = entry.split_once('<').expect("id<parent");
            let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
            file.push_str(&format!(
                "\n{{\"type\":\"x\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":{at}}}"
            ));
        }
        Transcript::read(&file).expect("a header")
    }

    fn ids(path: &[&Entry]) -> String {
        path.iter().filter_map(|entry| entry.id()).collect::<Vec<_>>().join(" ")
    }

    fn told(node: Node<'_>) -> String {
        let children: Vec<_> = node.children().map(told).collect();
        format!("{}({})", node.entry().id().unwrap_or("?"), children.join(" "))
    }

    #[test]
    fn the_branch_runs_from_the_root_to_the_last_entry() {
        //  entries              branch     tree
        let table = [
            ("a< b<a c<b", "a b c", "a(b(c()))"),
            ("a< b<a c<a", "a c", "a(b() c())"),
            ("a< b<gone", "b", "a() b()"),
            ("a<a", "a", "a()"),
            ("a<b b<a", "a b", ""),
            ("a< a<b b<a", "a b", "a(b())"),
            ("k< m<k m<k n<m", "k m n", "k(m(n()) m(n()))"),
            ("", "", ""),
        ];
        for (entries, branch, tree) in table {
            let transcript = transcript(entries);
            assert_eq!(ids(&transcript.branch()), branch, "{entries}");
            let roots: Vec<_> = transcript.tree().roots().map(told).collect();
            assert_eq!(roots.join(" "), tree, "{entries}");
        }
    }

    #[test]
    fn children_stand_in_the_order_of_their_times() {
        let file = format!(
            "{HEADER}\n{}\n{}\n{}\n{}",
            r#"{"id":"a","parentId":null}"#,
            r#"{"id":"late","parentId":"a","timestamp":"2026-01-15T09:30:09Z"}"#,
            r#"{"id":"timeless","parentId":"a","timestamp":"?"}"#,
            r#"{"id":"early","parentId":"a","timestamp":"2026-01-15T09:30:01Z"}"#,
        );
        let transcript = Transcript::read(&file).expect("a header");
        let roots: Vec<_> = transcript.tree().roots().map(told).collect();
        assert_eq!(roots, ["a(early() late() timeless())"]);
    }

    #[test]
    fn reading_skips_what_is_no_object_and_keeps_what_it_does_not_know() {
        let file = format!(
            "\u{feff}garbage\n{HEADER}\r\n\nnull\n7\n{{\"type\":\"new\",\"id\":\"a\"}}\r\n{HEADER}\n{{\"id\""
        );
        let transcript = Transcript::read(&file).expect("a header");
        assert_eq!(transcript.entries().len(), 1);
        assert_eq!(transcript.leaf_id(), Some("a"));
        for file in ["", "null", r#"{"type":"message","id":"a"}"#] {
            assert!(Transcript::read(file).is_none(), "{file}");
        }
    }

    #[test]
    fn an_append_hangs_from_the_leaf_and_avoids_taken_ids() {
        let mut transcript = transcript("aaaaaaaa< b<aaaaaaaa");
        let mut fresh = ["aaaaaaaa-1", "cccccccc-2", "dddddddd-3"].iter().map(|id| (*id).to_owned());
        let mut stamp =
            Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut || fresh.next().unwrap_or_default() };
        transcript.move_leaf("aaaaaaaa").expect("known");
        let entry =
            transcript.append(NewEntry::SessionInfo { name: " n ".into() }, &mut stamp).expect("appended");
        assert_eq!(
            entry.line(),
            r#"{"type":"session_info","id":"cccccccc","parentId":"aaaaaaaa","timestamp":"1970-01-01T00:00:00.000Z","name":"n"}"#
        );
        assert_eq!(transcript.name().as_deref(), Some("n"));
        let error = transcript.append(NewEntry::Label { target: "zz".into(), label: None }, &mut stamp);
        assert_eq!(error.map(Entry::line).expect_err("unknown").to_string(), "Entry zz not found");
        assert_eq!(transcript.leaf_id(), Some("cccccccc"));
        assert_eq!(transcript.leaf().and_then(Entry::role), None::<Role>);
    }

    #[test]
    fn labels_keep_the_place_where_they_were_first_set() {
        let mut transcript = transcript("a< b<a c<b");
        let mut count = 0;
        let mut fresh = || {
            count += 1;
            format!("{count:08}-")
        };
        let mut stamp = Stamp { now: jiff::Timestamp::UNIX_EPOCH, fresh_id: &mut fresh };
        for (target, label) in [("a", "1"), ("b", "2"), ("a", "3"), ("c", "4"), ("b", ""), ("b", "5")] {
            let new = NewEntry::Label { target: target.into(), label: Some(label.into()) };
            transcript.append(new, &mut stamp).expect("a known target");
        }
        let labels: Vec<_> =
            transcript.labels().into_iter().map(|(id, label)| (id.as_text(), label)).collect();
        assert_eq!(labels, [(Some("a"), "3"), (Some("c"), "4"), (Some("b"), "5")]);
    }
}
