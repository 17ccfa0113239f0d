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

/// How much a budget is changed to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    Dollars(f64),
    Tokens(u64),
}

impl Amount {
    /// `5`, `$5`, `2.50 usd`, `200000 tokens`, `200k tokens`, `1.5m tokens`.
    pub fn parse(raw: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{raw}\" is no amount; write dollars such as 5, $5 or 5usd, or tokens such as 200000tokens or 200k tokens"
            )
        };
        let text: String = raw.chars().filter(|c| !c.is_whitespace() && !matches!(c, ',' | '_')).collect();
        let text = text.to_ascii_lowercase();
        let tokens = ["tokens", "token", "tok"].into_iter().find_map(|unit| text.strip_suffix(unit));
        let number = |text: &str, times: f64| -> Result<f64, String> {
            let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
            let number = text.parse::<f64>().ok().filter(|_| is_plain).ok_or_else(wrong)? * times;
            if number > 0.0 && number.is_finite() { Ok(number) } else { Err(wrong()) }
        };
        let Some(tokens) = tokens else {
            let dollars = text.strip_prefix('$').unwrap_or(&text);
            let dollars = ["usd", "dollars", "dollar", "$"]
                .into_iter()
                .find_map(|unit| dollars.strip_suffix(unit))
                .unwrap_or(dollars);
            return number(dollars, 1.0).map(Self::Dollars);
        };
        let (digits, times) = match tokens.strip_suffix('k') {
            Some(digits) => (digits, 1e3),
            None => tokens.strip_suffix('m').map_or((tokens, 1.0), |digits| (digits, 1e6)),
        };
        let count = number(digits, times)?.round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is positive, and what is too large is as good as no limit"
        )]
        if count >= 1.0 { Ok(Self::Tokens(count as u64)) } else { Err(wrong()) }
    }
}

impl Limit {
    /// The same limit with this amount; what it says about the other unit stays.
    pub fn with(mut self, amount: Amount) -> Self {
        match amount {
            Amount::Dollars(dollars) => self.dollars = Some(dollars),
            Amount::Tokens(tokens) => self.tokens = Some(tokens),
        }
        self
    }

    /// How much of it was spent, from 0; of money and tokens whichever is more.
    pub fn share(&self, spent: &Totals) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "a share is never that exact")]
        let tokens = self.tokens.map(|limit| spent.tokens() as f64 / limit.max(1) as f64);
        let money = self.dollars.map(|limit| spent.cost / limit);
        [tokens, money].into_iter().flatten().filter(|share| share.is_finite()).fold(0.0, f64::max)
    }

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
    fn an_amount_is_money_or_tokens() {
        let table = [
            ("5", Some(Amount::Dollars(5.0))),
            ("$5", Some(Amount::Dollars(5.0))),
            ("5usd", Some(Amount::Dollars(5.0))),
            (" 2.50 USD ", Some(Amount::Dollars(2.5))),
            ("1,000 dollars", Some(Amount::Dollars(1000.0))),
            ("200000tokens", Some(Amount::Tokens(200_000))),
            ("200k tokens", Some(Amount::Tokens(200_000))),
            ("1.5M tokens", Some(Amount::Tokens(1_500_000))),
            ("1 token", Some(Amount::Tokens(1))),
            ("0", None),
            ("-5", None),
            ("0.2tokens", None),
            ("200k", None),
            ("inf", None),
            ("1e9", None),
            ("five", None),
            ("$", None),
            ("", None),
        ];
        for (raw, amount) in table {
            assert_eq!(Amount::parse(raw).ok(), amount, "{raw}");
        }
        let limit = Limit::default().with(Amount::Dollars(2.0)).with(Amount::Tokens(100));
        assert_eq!(limit, Limit { dollars: Some(2.0), tokens: Some(100) });
        let spent = Totals { cost: 1.0, input: 75, ..Totals::default() };
        assert!((limit.share(&spent) - 0.75).abs() < f64::EPSILON);
        assert!(Limit::default().share(&spent).abs() < f64::EPSILON);
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
