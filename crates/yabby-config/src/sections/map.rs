//! Maps with free names.

use std::collections::BTreeMap;

/// Values by a name that the person chooses.
pub type Map<T> = BTreeMap<String, T>;
