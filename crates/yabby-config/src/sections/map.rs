//! Maps with free names.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Deref;

use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator};

/// Values by a name that the person chooses, in the order of the reference's language.
#[derive(Clone, Debug, PartialEq)]
pub struct Map<T>(IndexMap<String, T>);

impl<T> Default for Map<T> {
    fn default() -> Self {
        Self(IndexMap::new())
    }
}

impl<T> Deref for Map<T> {
    type Target = IndexMap<String, T>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<T> FromIterator<(String, T)> for Map<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(members: I) -> Self {
        Self(members.into_iter().collect())
    }
}

impl<'m, T> IntoIterator for &'m Map<T> {
    type Item = (&'m String, &'m T);
    type IntoIter = indexmap::map::Iter<'m, String, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<T: JsonSchema> JsonSchema for Map<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Map_of_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}
