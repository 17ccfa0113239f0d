//! Reading sections, leniently: what is not as it should be is told, and treated as if it were not there.
//!
//! The check ([`crate::validate`]) refuses such a file before anything runs with it, and knows the bounds of numbers as
//! well; this is what holds for whoever reads a configuration that nobody checked. A number is read whatever its
//! bounds: the rules know what they make of odd ones, as the reference's do.

use std::fmt;

use yabby_base::json::{self, Object, Value};

use crate::sections::Sections;
use crate::sections::map::Map;

/// What can be read from a value of the configuration.
pub trait Read: Sized {
    /// Whether null is a value; elsewhere it is as good as nothing.
    const TAKES_NULL: bool = false;

    /// `None` if the value is nothing like it, which is told.
    fn read(value: &Value, reading: &mut Reading) -> Option<Self>;

    /// What is below it.
    fn shape() -> Shape {
        Shape::Leaf
    }
}

/// What a value says, whatever is amiss with parts of it.
pub fn read<T: Read>(value: &Value) -> Option<T> {
    T::read(value, &mut Reading::default())
}

/// What a change of a setting needs.
pub fn reload(path: &[String]) -> Reload {
    Sections::shape().reload(path, Reload::Restart).1
}

/// What is below a value.
pub enum Shape {
    Leaf,
    /// Fields of its own, and those of other shapes beside them.
    Fields {
        own: &'static [Field],
        shared: &'static [fn() -> Shape],
    },
    /// Any number of these.
    Each(fn() -> Shape),
}

/// A field of a section.
pub struct Field {
    pub key: &'static str,
    /// Of the field and all below; `None` leaves it to what is above.
    pub reload: Option<Reload>,
    pub shape: fn() -> Shape,
}

/// What a change of a setting needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reload {
    /// Nothing: it is read anew for every turn or every connection.
    Live,
    /// That its channel begins anew.
    Channel,
    /// That the gateway begins anew.
    Restart,
}

/// A value that is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Its keys, with dots between them.
    pub path: String,
    pub expected: &'static str,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}; the default is used", self.path, self.expected)
    }
}

/// Where the reading is, and what it found amiss.
#[derive(Debug, Default)]
pub struct Reading {
    path: Vec<String>,
    pub problems: Vec<Problem>,
}

impl Reading {
    /// The value is not as expected.
    pub fn wrong<T>(&mut self, expected: &'static str) -> Option<T> {
        self.problems.push(Problem { path: self.path.join("."), expected });
        None
    }

    pub fn object<'v>(&mut self, value: &'v Value) -> Option<&'v Object> {
        value.as_object().or_else(|| self.wrong("an object"))
    }

    /// What stands under a key, if anything that can be read does.
    pub fn optional<T: Read>(&mut self, object: &Object, key: &str) -> Option<T> {
        let value = object.get(key).filter(|value| T::TAKES_NULL || !value.is_null())?;
        self.below(key, value)
    }

    /// What has to stand under a key.
    pub fn required<T: Read>(&mut self, object: &Object, key: &str) -> Option<T> {
        match object.get(key) {
            Some(value) => self.below(key, value),
            None => self.wrong("all that it must have"),
        }
    }

    /// What stands under all keys that are none of the fields'.
    pub fn others<T: Read>(&mut self, object: &Object, fields: &Shape) -> Map<T> {
        let others = json::in_js_order(object).into_iter().filter(|(key, _)| fields.own_below(key).is_none());
        others.filter_map(|(key, value)| Some((key.clone(), self.below(key, value)?))).collect()
    }

    /// The first of several forms that a value has.
    pub fn first_of<T>(&mut self, value: &Value, forms: &[fn(&Value, &mut Self) -> Option<T>]) -> Option<T> {
        let known = self.problems.len();
        for form in forms {
            if let Some(read) = form(value, self) {
                return Some(read);
            }
            self.problems.truncate(known);
        }
        self.wrong("another kind of value")
    }

    fn below<T: Read>(&mut self, key: &str, value: &Value) -> Option<T> {
        self.path.push(key.to_owned());
        let read = T::read(value, self);
        self.path.pop();
        read
    }
}

impl Shape {
    /// What a change below needs, and how many of the keys are known.
    fn reload(&self, path: &[String], above: Reload) -> (usize, Reload) {
        let Some((key, rest)) = path.split_first() else { return (0, above) };
        let walk = |below: Below| {
            let (known, reload) = (below.shape)().reload(rest, below.reload.unwrap_or(above));
            (known + 1, reload)
        };
        // Our own settings stand among those that both know.
        let mut best = (0, above);
        for found in self.all_below(key).into_iter().map(walk) {
            if found.0 > best.0 {
                best = found;
            }
        }
        best
    }

    fn all_below(&self, key: &str) -> Vec<Below> {
        match self {
            Self::Fields { shared, .. } => {
                let own = self.own_below(key).into_iter();
                own.chain(shared.iter().flat_map(|shape| shape().all_below(key))).collect()
            }
            Self::Leaf | Self::Each(_) => self.own_below(key).into_iter().collect(),
        }
    }

    fn own_below(&self, key: &str) -> Option<Below> {
        match self {
            Self::Leaf => None,
            Self::Each(shape) => Some(Below { reload: None, shape: *shape }),
            Self::Fields { own, .. } => {
                let own = own.iter().find(|field| field.key == key)?;
                Some(Below { reload: own.reload, shape: own.shape })
            }
        }
    }

    /// Whether a path leads to something known.
    pub fn knows(&self, path: &[String]) -> bool {
        match path.split_first() {
            None => true,
            Some((key, rest)) => self.all_below(key).iter().any(|below| (below.shape)().knows(rest)),
        }
    }
}

/// What a key leads to.
struct Below {
    reload: Option<Reload>,
    shape: fn() -> Shape,
}

impl Read for String {
    fn read(value: &Value, reading: &mut Reading) -> Option<Self> {
        value.as_str().map(str::to_owned).or_else(|| reading.wrong("text"))
    }
}

impl Read for bool {
    fn read(value: &Value, reading: &mut Reading) -> Option<Self> {
        value.as_bool().or_else(|| reading.wrong("true or false"))
    }
}

impl Read for Value {
    fn read(value: &Value, _: &mut Reading) -> Option<Self> {
        Some(value.clone())
    }
}

impl<T: Read> Read for Vec<T> {
    /// What can be read of the list.
    fn read(value: &Value, reading: &mut Reading) -> Option<Self> {
        let Value::Array(list) = value else { return reading.wrong("a list") };
        let items = list.iter().enumerate();
        Some(items.filter_map(|(at, item)| reading.below(&at.to_string(), item)).collect())
    }

    fn shape() -> Shape {
        Shape::Each(T::shape)
    }
}

impl<T: Read> Read for Map<T> {
    /// What can be read of the members, in the order of the reference's language.
    fn read(value: &Value, reading: &mut Reading) -> Option<Self> {
        let members = json::in_js_order(reading.object(value)?).into_iter();
        Some(members.filter_map(|(key, value)| Some((key.clone(), reading.below(key, value)?))).collect())
    }

    fn shape() -> Shape {
        Shape::Each(T::shape)
    }
}

impl<T: Read> Read for Box<T> {
    fn read(value: &Value, reading: &mut Reading) -> Option<Self> {
        T::read(value, reading).map(Self::new)
    }

    fn shape() -> Shape {
        T::shape()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_says_what_a_change_of_it_needs_or_what_is_above_does() {
        let table = [
            ("messages.responsePrefix", Reload::Live),
            ("messages.queue.byChannel.telegram", Reload::Live),
            ("session", Reload::Restart),
            ("session.reset.atHour", Reload::Live),
            ("session.store", Reload::Restart),
            ("gateway.port", Reload::Restart),
            ("gateway.auth.token", Reload::Live),
            ("agents.defaults.models.x/y.alias", Reload::Live),
            ("agents.defaults.subagents.maxConcurrent", Reload::Restart),
            ("agents.list", Reload::Restart),
            ("tools.exec.confine", Reload::Live),
            ("tools.fs.allow", Reload::Live),
            ("tools.mcp.servers.a.command", Reload::Restart),
            ("tools.web.search.provider", Reload::Restart),
            ("channels.telegram.groups.7.requireMention", Reload::Channel),
            ("channels.matrix.anything", Reload::Channel),
            ("nobody.knows", Reload::Restart),
        ];
        for (path, expected) in table {
            let keys: Vec<String> = path.split('.').map(str::to_owned).collect();
            assert_eq!(reload(&keys), expected, "{path}");
        }
    }
}
