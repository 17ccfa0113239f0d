//! Budgets: how much may be spent in a day, in a session, by a sender (`sessions.md` §14).
//!
//! They are looked at before a model is called. A call that was allowed may go beyond its budget, as
//! nobody knows what it takes; the next one is refused.

use std::collections::HashMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use crate::json;
use crate::ledger::{CallRecord, Totals, day};
use crate::reply::usage_line::{dollars, token_count};

/// What may be spent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budgets {
    /// By everybody, from midnight to midnight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub day: Option<Limit>,
    /// In one session, from its beginning to its reset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Limit>,
    /// By one sender in a day.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<Limit>,
}

/// In money, in tokens, or both: whichever is reached first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limit {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
}

impl Budgets {
    /// The budgets in a file, or what is wrong with it.
    pub fn parse(file: &str) -> Result<Self, String> {
        let value = json::read_json5(file).map_err(|fault| fault.to_string())?;
        serde_json::from_value(value).map_err(|error| error.to_string())
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Limit {
    /// Whether it is reached, and by what.
    fn reached(&self, spent: &Totals) -> Option<String> {
        let money = self.dollars.filter(|limit| spent.cost >= *limit);
        let tokens = self.tokens.filter(|limit| spent.tokens() >= *limit);
        #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
        let count = |tokens: u64| format!("{} tokens", token_count(tokens as f64));
        let of = |spent: String, limit: String| format!("{spent} of {limit}");
        money
            .map(|limit| of(dollars(spent.cost), dollars(limit)))
            .or_else(|| tokens.map(|limit| of(count(spent.tokens()), count(limit))))
    }
}

/// What was spent, as far as budgets ask.
#[derive(Clone, Debug, Default)]
pub struct Spending {
    /// The day that `all` and `senders` speak of.
    today: Option<Date>,
    all: Totals,
    senders: HashMap<String, Totals>,
    sessions: HashMap<String, Totals>,
}

impl Spending {
    /// A call was made.
    pub fn add(&mut self, call: &CallRecord, zone: &TimeZone) {
        self.sessions.entry(call.session_id.clone()).or_default().add(call);
        let date = day(call.at, zone);
        if self.today.is_none_or(|today| date > today) {
            self.today = Some(date);
            self.all = Totals::default();
            self.senders.clear();
        }
        if self.today == Some(date) {
            self.all.add(call);
            if let Some(sender) = &call.sender {
                self.senders.entry(sender.clone()).or_default().add(call);
            }
        }
    }

    /// Why a call must not be made; its tokens and price are not known yet.
    pub fn refusal(&self, budgets: &Budgets, call: &CallRecord, zone: &TimeZone) -> Option<String> {
        let is_today = self.today == Some(day(call.at, zone));
        let all = if is_today { self.all } else { Totals::default() };
        let sender = call.sender.as_ref().filter(|_| is_today).and_then(|sender| self.senders.get(sender));
        let session = self.sessions.get(&call.session_id);
        let none = Totals::default();
        let scopes = [
            (&budgets.day, &all, "today's budget", "It begins anew at midnight"),
            (
                &budgets.session,
                session.unwrap_or(&none),
                "this session's budget",
                "/new begins a new session",
            ),
            (&budgets.sender, sender.unwrap_or(&none), "your budget for today", "It begins anew at midnight"),
        ];
        scopes.into_iter().find_map(|(limit, spent, what, until)| {
            let reached = limit.as_ref()?.reached(spent)?;
            Some(format!("{what} is used up: {reached}. {until}; `yabby usage budget` shows and changes it."))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    fn call(at: i64, session: &str, sender: &str, input: u64, cost: f64) -> CallRecord {
        CallRecord {
            at,
            session_id: session.to_owned(),
            sender: Some(sender.to_owned()),
            input,
            cost: Some(cost),
            ..CallRecord::default()
        }
    }

    #[test]
    fn a_budget_is_a_day_a_session_or_a_sender() {
        let mut spending = Spending::default();
        for (at, session, sender, tokens, cost) in
            [(0, "a", "Sam", 900, 9.0), (DAY, "a", "Sam", 100, 0.5), (DAY + 1, "b", "Kim", 300, 1.5)]
        {
            spending.add(&call(at, session, sender, tokens, cost), &TimeZone::UTC);
        }
        let money = |dollars| Some(Limit { dollars: Some(dollars), tokens: None });
        let tokens = |tokens| Some(Limit { dollars: None, tokens: Some(tokens) });
        let none = Budgets::default;
        let table = [
            (none(), "c", "Kim", 2, None),
            (
                Budgets { day: money(2.0), ..none() },
                "c",
                "Ann",
                2,
                Some("today's budget is used up: $2.00 of $2.00"),
            ),
            (Budgets { day: money(2.0), ..none() }, "c", "Ann", DAY, None),
            (
                Budgets { session: tokens(1000), ..none() },
                "a",
                "Ann",
                2,
                Some("this session's budget is used up: 1.0k tokens of 1.0k tokens"),
            ),
            (Budgets { session: tokens(1000), ..none() }, "b", "Ann", 2, None),
            (
                Budgets { sender: money(1.0), ..none() },
                "c",
                "Kim",
                2,
                Some("your budget for today is used up: $1.50 of $1.00"),
            ),
            (Budgets { sender: money(1.0), ..none() }, "c", "Sam", 2, None),
        ];
        for (budgets, session, sender, later, refused) in table {
            let refusal =
                spending.refusal(&budgets, &call(DAY + later, session, sender, 0, 0.0), &TimeZone::UTC);
            let told = refusal.as_deref().and_then(|text| text.split(". ").next());
            assert_eq!(told, refused, "{budgets:?} {session} {sender}");
        }
    }

    #[test]
    fn a_file_says_what_it_means_or_what_is_wrong() {
        let budgets = Budgets::parse("{ day: { dollars: 5 }, /* */ sender: { tokens: 9 } }").unwrap();
        assert_eq!(budgets.day.and_then(|limit| limit.dollars), Some(5.0));
        assert_eq!(budgets.sender.and_then(|limit| limit.tokens), Some(9));
        assert!(Budgets::parse("{}").unwrap().is_empty());
        assert!(Budgets::parse("{ week: {} }").unwrap_err().contains("week"));
    }
}
