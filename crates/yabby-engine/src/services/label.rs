//! Labels: the name of a session, which no other session of its store has, and further labels beside it.

use std::sync::{Arc, Mutex};

use yabby_domain::json::Value;
use yabby_domain::seam::{Choice, StoreError};
use yabby_domain::session::entry::SessionEntry;
use yabby_domain::session::glance::{Field, Glance};
use yabby_domain::session::key::SessionKey;
use yabby_domain::session::label::{LabelError, parse_label};
use yabby_domain::text;

use super::SessionScope;
use crate::unpoisoned;

/// What becomes of the labels of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relabel {
    /// A new name; `Some(None)` takes the name away.
    pub name: Option<Option<String>>,
    /// Further labels that it gets.
    pub add: Vec<String>,
    /// Further labels that it loses.
    pub remove: Vec<String>,
}

/// Another session of the store has the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("label already in use: {0}")]
pub struct LabelConflict(pub String);

#[derive(Clone, Debug, thiserror::Error)]
pub enum RelabelError {
    #[error(transparent)]
    Label(#[from] LabelError),
    #[error(transparent)]
    InUse(#[from] LabelConflict),
    /// A label that is to go is not there; the session has these.
    #[error("no label {label:?}")]
    NotThere { label: String, labels: Vec<String> },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Changes the labels of a session; its record as it is then.
pub async fn relabel(
    scope: &SessionScope,
    key: &SessionKey,
    wanted: Relabel,
) -> Result<SessionEntry, RelabelError> {
    let parsed = |label: &str| parse_label(Some(label)).map(str::to_owned);
    let relabel = Relabel {
        name: wanted.name.map(|name| name.as_deref().map(parsed).transpose()).transpose()?,
        add: wanted.add.iter().map(|label| parsed(label)).collect::<Result<_, _>>()?,
        remove: wanted.remove,
    };
    if relabel == Relabel::default() {
        return Ok(scope.sessions.get(key).await?.unwrap_or_default());
    }
    if let Some(Some(name)) = &relabel.name {
        ensure_label_is_free(scope, name, Some(key)).await??;
    }
    let refused: Arc<Mutex<Option<RelabelError>>> = Arc::default();
    let slot = refused.clone();
    let change = move |entry: &mut SessionEntry| match relabel.applied(entry) {
        Ok(relabelled) => *entry = relabelled,
        Err(why) => *unpoisoned(&slot) = Some(why),
    };
    let entry = scope.update_existing(key, change).await?.unwrap_or_default();
    match unpoisoned(&refused).take() {
        Some(why) => Err(why),
        None => Ok(entry),
    }
}

/// Whether no session has this name, or none but `own`: a name is of use only while it names one.
pub async fn ensure_label_is_free(
    scope: &SessionScope,
    name: &str,
    own: Option<&SessionKey>,
) -> Result<Result<(), LabelConflict>, StoreError> {
    let (own, wanted) = (own.cloned(), name.to_owned());
    let has_it =
        move |_: &SessionKey, glance: &Glance| glance.text(Field::Label).as_deref() == Some(wanted.as_str());
    let choice = Choice {
        keys: Box::new(move |key| Some(key) != own.as_ref()),
        records: Some(Box::new(has_it)),
        most: 1,
    };
    Ok(match scope.has_any(choice).await? {
        true => Err(LabelConflict(name.to_owned())),
        false => Ok(()),
    })
}

impl Relabel {
    fn applied(&self, entry: &SessionEntry) -> Result<SessionEntry, RelabelError> {
        let mut labels: Vec<String> = further_labels(entry).into_iter().map(str::to_owned).collect();
        if let Some(label) = self.remove.iter().find(|label| !labels.iter().any(|own| is_same(own, label))) {
            return Err(RelabelError::NotThere { label: label.clone(), labels });
        }
        labels.retain(|label| !self.remove.iter().any(|gone| is_same(gone, label)));
        for label in &self.add {
            if !labels.iter().any(|own| is_same(own, label)) {
                labels.push(label.clone());
            }
        }
        let mut record = entry.clone().into_object();
        match &self.name {
            Some(Some(name)) => drop(record.insert("label".to_owned(), name.as_str().into())),
            Some(None) => drop(record.shift_remove("label")),
            None => {}
        }
        if labels.is_empty() {
            record.shift_remove("labels");
        } else {
            record.insert("labels".to_owned(), labels.into_iter().map(Value::String).collect());
        }
        Ok(SessionEntry::new(record))
    }
}

/// The labels of a session besides its name.
pub fn further_labels(entry: &SessionEntry) -> Vec<&str> {
    entry.label_list().unwrap_or_default().iter().filter_map(Value::as_str).collect()
}

fn is_same(one: &str, other: &str) -> bool {
    text::lower(text::trim(one)) == text::lower(text::trim(other))
}
