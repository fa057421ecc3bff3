//! Totals of days: as the API shows them, and as the test adds them up from the journal.

use super::World;
use super::call::Call;
use crate::audit::Books;
use crate::cloud::gate;
use ledger_core::account::Account;
use ledger_core::dynamo::Value as Stored;
use ledger_core::ids::Tenant;
use ledger_core::journal::JournalEntry;
use ledger_core::time::BusinessDate;
use ledger_runtime::app::App;
use ledger_runtime::figures::{self, Folded};
use ledger_runtime::problem::Problem;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// Operation, asset and class of accounts; then entries, gained and lost.
pub type Lines = BTreeMap<(String, String, String), (u64, Decimal, Decimal)>;

/// Closes days and folds entries, as the worker of the outbox does after it has sealed.
///
/// # Errors
/// The worker's errors.
pub async fn fold(app: &App, tenant: &Tenant) -> Result<Folded, Problem> {
    gate::as_function("outbox", figures::run(app, tenant, Duration::from_secs(20))).await
}

impl World {
    /// Closes days and folds entries once.
    ///
    /// # Panics
    /// When the worker fails.
    pub async fn fold(&self) -> Folded {
        fold(&self.app, &self.slug()).await.expect("the run succeeds")
    }

    /// Seals what waits, closes days and folds.
    ///
    /// # Panics
    /// When a worker fails.
    pub async fn seal_and_fold(&self) -> Folded {
        let _ = self.seal().await.expect("the run succeeds");
        self.fold().await
    }

    /// All totals between two days, over pages of `limit`.
    ///
    /// # Panics
    /// When a page has no list.
    pub async fn totals(&self, by: &str, (from, to): (BusinessDate, BusinessDate), limit: usize) -> Vec<Value> {
        let (mut items, mut cursor) = (Vec::new(), String::new());
        loop {
            let path = format!("/v1/admin/totals?by={by}&from={from}&to={to}&limit={limit}{cursor}");
            let page = self.api.send(&Call::get(&path, &self.operator.who)).await.good().json();
            items.extend(page["items"].as_array().expect("a list").iter().cloned());
            let Some(next) = page["next_cursor"].as_str() else { return items };
            cursor = format!("&cursor={next}");
        }
    }

    /// What the entries of a day come to, by the journal alone: those that are of the day by `is_of`.
    ///
    /// # Panics
    /// When an entry cannot be read.
    pub async fn added_up(&self, is_of: impl Fn(&JournalEntry) -> bool, only: impl Fn(Account) -> bool) -> Lines {
        added_up(&self.books().await, is_of, only)
    }
}

/// What the entries of books come to: of those that are chosen by the first function, the accounts that are by the second.
///
/// # Panics
/// When an entry cannot be read.
pub fn added_up(books: &Books, is_of: impl Fn(&JournalEntry) -> bool, only: impl Fn(Account) -> bool) -> Lines {
    let mut lines = Lines::new();
    for (_, _, row) in books.under("TXN#") {
        let entry = JournalEntry::read(row).expect("an entry");
        if !is_of(&entry) {
            continue;
        }
        let operation = match row.get("reverses_operation") {
            Some(Stored::S(reversed)) => format!("{}:{reversed}", entry.operation),
            _ => entry.operation.clone(),
        };
        let mut net = BTreeMap::<(Account, String), Decimal>::new();
        for posting in &entry.postings {
            *net.entry((posting.account, posting.delta.asset().to_string())).or_default() += posting.delta.value();
        }
        let mut counted = Vec::new();
        for ((account, asset), change) in net.into_iter().filter(|(_, change)| !change.is_zero()) {
            if !only(account) {
                continue;
            }
            let class = match account {
                Account::Customer(_) => "customers".to_owned(),
                Account::Card(_) => "cards".to_owned(),
                Account::Merchant(_) => "merchants".to_owned(),
                Account::Tenant(_) => account.to_string(),
            };
            let key = (operation.clone(), asset, class);
            let line = lines.entry(key.clone()).or_default();
            line.0 += u64::from(!counted.contains(&key));
            counted.push(key);
            if change.is_sign_negative() {
                line.2 -= change;
            } else {
                line.1 += change;
            }
        }
    }
    lines
}

/// The lines of totals.
///
/// # Panics
/// When a line is malformed.
#[must_use]
pub fn lines(totals: &Value) -> Lines {
    let of = |line: &Value| {
        let text = |name: &str| line[name].as_str().expect("a text").to_owned();
        let number = |name: &str| text(name).parse().expect("a number");
        let operation = match line["reverses"].as_str() {
            Some(reversed) => format!("{}:{reversed}", text("operation")),
            None => text("operation"),
        };
        let key = (operation, text("asset"), text("accounts"));
        (key, (line["count"].as_u64().expect("a count"), number("gained"), number("lost")))
    };
    totals["totals"].as_array().expect("lines").iter().map(of).collect()
}

/// The sum of several lines.
#[must_use]
pub fn sum<'a>(all: impl IntoIterator<Item = &'a Value>) -> Lines {
    let mut sums = Lines::new();
    for (key, (count, gained, lost)) in all.into_iter().flat_map(lines) {
        let sum = sums.entry(key).or_default();
        *sum = (sum.0 + count, sum.1 + gained, sum.2 + lost);
    }
    sums
}

/// What of totals does not depend on whether the day is closed.
///
/// # Panics
/// When they are no object.
#[must_use]
pub fn final_part(totals: &Value) -> Value {
    let mut part = totals.clone();
    let object = part.as_object_mut().expect("an object");
    for name in ["status", "closed_at"] {
        let _ = object.remove(name);
    }
    json!(object)
}
