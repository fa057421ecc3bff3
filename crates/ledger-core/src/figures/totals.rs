//! The stored totals of a day.

use super::day::{Span, VERSION, check_version};
use super::tally::{AccountClass, Line, Moved, Sums};
use crate::canonical::parse_canonical;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, TotalsOf, attr};
use crate::money::{Asset, Balance, Delta, MoneyError};
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{Clause, Role, TransactItem};
use std::collections::BTreeMap;

const BATCH: &str = "batch";
const ENTRIES: &str = "entries";
const LINES: &str = "lines";
const CLOSED_AT: &str = "closed_at";
const BALANCES: &str = "balances";
const CUSTOMERS: &str = "active_customers";
const CARDS: &str = "active_cards";
const NEW_CUSTOMERS: &str = "new_customers";
const BATCHES: &str = "batches";
/// The largest lists of batches beside totals, in bytes: of the tenant some 900 batches, of several million entries. An item
/// stays far below 400 KB, and a transaction with one of the tenant and others of merchants below 4 MB.
const TENANT_BATCHES_BYTES_MAX: usize = 200_000;
const MERCHANT_BATCHES_BYTES_MAX: usize = 40_000;

/// The balance of each class of accounts and asset. One of zero is not in it.
pub type Balances = BTreeMap<(AccountClass, Asset), Delta>;

/// The totals of a day, of the tenant, a merchant, a shop or a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayTotals {
    /// What they are of.
    pub of: TotalsOf,
    /// The day.
    pub date: BusinessDate,
    /// The last batch of the fold that added to them.
    pub batch: u64,
    /// The sums.
    pub sums: Sums,
    /// What each batch changed, of a tenant's or a merchant's totals; `None` if the list would be too large.
    pub batches: Option<Vec<BatchChanges>>,
    /// What the tenant's totals have once the day is closed.
    pub closing: Option<ClosingFigures>,
}

/// Where totals differ from the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What the entries come to.
    pub expected: String,
    /// What the totals say.
    pub found: String,
}

/// What a batch of the fold changed on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchChanges {
    /// Its number.
    pub batch: u64,
    /// The instants from which balances have the tenant's entries of the day that are in it.
    pub span: Span,
    /// The changes.
    pub changes: Balances,
}

/// What the tenant's totals have once their day is closed and all its entries are folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosingFigures {
    /// When the day was closed.
    pub closed_at: Timestamp,
    /// The balances at the end of the day.
    pub balances: Balances,
    /// The number of customers whose wallets changed.
    pub active_customers: u64,
    /// The number of cards that changed.
    pub active_cards: u64,
    /// The number of customers that were opened; `None` while a legacy model holds the tenant's customers.
    pub new_customers: Option<u64>,
}

impl DayTotals {
    /// Totals without entries, before any batch.
    #[must_use]
    pub fn none(of: TotalsOf, date: BusinessDate) -> Self {
        Self { of, date, batch: 0, sums: Sums::default(), batches: Some(Vec::new()), closing: None }
    }

    /// Reads stored totals.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let (of, date) = place(item).ok_or_else(|| ItemError::invalid(attr::SK))?;
        check_version(item)?;
        let lines = item.texts(LINES, |text| read_line(text).ok_or(()))?;
        let closed_at = item.opt_timestamp(CLOSED_AT)?;
        let closing = closed_at.map(|closed_at| ClosingFigures::read(item, closed_at)).transpose()?;
        Ok(Self {
            of,
            date,
            batch: item.int(BATCH)?,
            sums: Sums {
                entries: item.numbers(ENTRIES, |name, number| {
                    let number = number.parse().map_err(|_| ItemError::invalid(ENTRIES))?;
                    Ok((name.to_owned(), number))
                })?,
                lines: lines.into_iter().collect(),
            },
            batches: item
                .contains_key(BATCHES)
                .then(|| item.texts(BATCHES, |text| read_batch(text).ok_or(())))
                .transpose()?,
            closing,
        })
    }

    /// These totals with more entries, which no batch has.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub fn with(&self, more: &Sums) -> Result<Self, MoneyError> {
        let mut sums = self.sums.clone();
        sums.merge(more)?;
        Ok(Self { sums, ..self.clone() })
    }

    /// These totals after a batch. `span` is that of the batch's entries of the day; `None` without one.
    ///
    /// # Errors
    /// [`MoneyError`] if a sum does not fit.
    pub fn after(&self, batch: u64, more: &Sums, span: Option<Span>) -> Result<Self, MoneyError> {
        let mut after = Self { batch, ..self.with(more)? };
        let bytes_max = match self.of {
            TotalsOf::Tenant => TENANT_BATCHES_BYTES_MAX,
            TotalsOf::Merchant(_) => MERCHANT_BATCHES_BYTES_MAX,
            TotalsOf::Shop(..) | TotalsOf::Terminal(_) => return Ok(after),
        };
        if let (Some(batches), Some(span)) = (&mut after.batches, span) {
            batches.push(BatchChanges { batch, span, changes: more.changes()? });
        }
        let bytes = |batches: &Vec<BatchChanges>| batches.iter().map(|batch| batch_text(batch).len()).sum::<usize>();
        after.batches = after.batches.filter(|batches| bytes(batches) <= bytes_max);
        Ok(after)
    }

    /// The first difference from what the entries come to.
    #[must_use]
    pub fn difference(&self, journal: &Sums) -> Option<Difference> {
        let texts = |sums: &Sums| {
            let counts = sums.entries.iter().map(|(operation, count)| (operation.clone(), count.to_string()));
            let lines = sums.lines.iter().map(|(line, moved)| {
                let Moved { count, gained, lost } = moved;
                (line_name(line), format!("{count} {} {}", gained.text(), lost.text()))
            });
            counts.chain(lines).collect::<BTreeMap<String, String>>()
        };
        let (expected, found) = (texts(journal), texts(&self.sums));
        let differs = |name: &&String| expected.get(*name) != found.get(*name);
        let name = expected.keys().chain(found.keys()).find(differs)?;
        let text = |texts: &BTreeMap<String, String>| {
            texts.get(name).map_or_else(|| format!("{name}: none"), |text| format!("{name}: {text}"))
        };
        Some(Difference { expected: text(&expected), found: text(&found) })
    }

    /// The action that replaces `seen`, or stores the first totals, if there are none.
    ///
    /// INVARIANT: a batch is added once: the batch that was seen is the guard, and each one is later than the one before.
    #[must_use]
    pub fn put(&self, tenant: &Tenant, seen: Option<&Self>) -> TransactItem {
        let key = keys::day_totals(tenant, self.of, self.date);
        let whole = |number: u64| Value::N(number.to_string());
        let entries = self.sums.entries.iter().map(|(name, count)| (name.clone(), whole(*count))).collect();
        let lines = self.sums.lines.iter().map(|(line, moved)| Value::S(line_text(line, moved)));
        let mut item = Item::from([
            (VERSION.to_owned(), Value::int(1)),
            (BATCH.to_owned(), whole(self.batch)),
            (ENTRIES.to_owned(), Value::M(entries)),
            (LINES.to_owned(), Value::L(lines.collect())),
        ]);
        if let Some(batches) = &self.batches {
            let batches = batches.iter().map(|batch| Value::S(batch_text(batch)));
            item.insert(BATCHES.to_owned(), Value::L(batches.collect()));
        }
        if let Some(closing) = &self.closing {
            let balances = closing.balances.iter().map(|balance| Value::S(balance_text(balance)));
            item.extend([
                (CLOSED_AT.to_owned(), Value::s(closing.closed_at)),
                (BALANCES.to_owned(), Value::L(balances.collect())),
                (CUSTOMERS.to_owned(), whole(closing.active_customers)),
                (CARDS.to_owned(), whole(closing.active_cards)),
            ]);
            item.extend(closing.new_customers.map(|count| (NEW_CUSTOMERS.to_owned(), whole(count))));
        }
        match seen {
            None => TransactItem::put_new(Role::Figures, key, item, Failure::StalePlan),
            Some(seen) => {
                let condition = Condition::compare(BATCH, Cmp::Eq, "seen", whole(seen.batch));
                let guard = Clause { condition, failure: Failure::StalePlan };
                TransactItem::put(Role::Figures, key, item, vec![guard])
            }
        }
    }
}

/// Lists totals in their group, in the transaction that stores the first ones of a day: however often, it is the same item.
/// `None` of the tenant's, which are in no group.
#[must_use]
pub fn list_totals(tenant: &Tenant, of: TotalsOf) -> Option<TransactItem> {
    let key = keys::has_totals(tenant, of)?;
    Some(TransactItem::put(Role::Figures, key, Item::from([(VERSION.to_owned(), Value::int(1))]), Vec::new()))
}

/// What an item of [`list_totals`] lists.
///
/// # Errors
/// [`ItemError`] if it is another item.
pub fn listed_totals(item: &Item) -> Result<TotalsOf, ItemError> {
    let of = item.text(attr::SK)?.strip_prefix(keys::SUBJECT).and_then(TotalsOf::parse);
    of.ok_or_else(|| ItemError::invalid(attr::SK))
}

impl ClosingFigures {
    fn read(item: &Item, closed_at: Timestamp) -> Result<Self, ItemError> {
        let balances = item.texts(BALANCES, |text| read_balance(text).ok_or(()))?;
        Ok(Self {
            closed_at,
            balances: balances.into_iter().collect(),
            active_customers: item.int(CUSTOMERS)?,
            active_cards: item.int(CARDS)?,
            new_customers: item.opt_int(NEW_CUSTOMERS)?,
        })
    }
}

/// Balances of classes of accounts after a day's changes.
///
/// # Errors
/// [`MoneyError`] if a sum does not fit.
pub fn balances_after(before: &Balances, sums: &Sums) -> Result<Balances, MoneyError> {
    sum_of(before, &sums.changes()?)
}

/// Balances of classes of accounts after changes.
///
/// # Errors
/// [`MoneyError`] if a sum does not fit.
pub fn sum_of(before: &Balances, changes: &Balances) -> Result<Balances, MoneyError> {
    crate::account::net(before.iter().chain(changes).map(|(key, delta)| (key.clone(), delta)))
}

/// What stored totals are of, and their day.
fn place(item: &Item) -> Option<(TotalsOf, BusinessDate)> {
    keys::day_totals_place(item.key_text(attr::PK)?, item.key_text(attr::SK)?)
}

/// `pay ECOPAY customers 2 0 1740`: operation, asset, accounts, entries, gained, lost.
fn line_text(line: &Line, moved: &Moved) -> String {
    format!("{} {} {} {}", line_name(line), moved.count, moved.gained.text(), moved.lost.text())
}

fn line_name(Line { operation, asset, accounts }: &Line) -> String {
    format!("{operation} {asset} {accounts}")
}

fn read_line(text: &str) -> Option<(Line, Moved)> {
    let words: Vec<&str> = text.split(' ').collect();
    let [operation, asset, accounts, count, gained, lost] = words.as_slice() else { return None };
    let asset = Asset::parse(asset).ok()?;
    let line =
        Line { operation: (*operation).to_owned(), asset: asset.clone(), accounts: AccountClass::parse(accounts)? };
    let sum = |text: &str| Balance::from_stored(asset.clone(), text).ok();
    Some((line, Moved { count: parse_canonical(count)?, gained: sum(gained)?, lost: sum(lost)? }))
}

/// `customers ECOPAY 1740`: accounts, asset, balance.
fn balance_text(((accounts, asset), sum): (&(AccountClass, Asset), &Delta)) -> String {
    format!("{accounts} {asset} {}", sum.text())
}

fn read_balance(text: &str) -> Option<((AccountClass, Asset), Delta)> {
    let words: Vec<&str> = text.split(' ').collect();
    let [accounts, asset, sum] = words.as_slice() else { return None };
    let asset = Asset::parse(asset).ok()?;
    let sum = Delta::from_stored(asset.clone(), sum).ok()?;
    Some(((AccountClass::parse(accounts)?, asset), sum))
}

/// `8 1764201600000 1764205200000,customers ECOPAY -1740,merchants ECOPAY 1740`: the number and the first and the last
/// instant in milliseconds since 1970, then the changes.
fn batch_text(batch: &BatchChanges) -> String {
    let Span { first, last } = batch.span;
    let head = format!("{} {} {}", batch.batch, first.millis(), last.millis());
    std::iter::once(head).chain(batch.changes.iter().map(balance_text)).collect::<Vec<_>>().join(",")
}

fn read_batch(text: &str) -> Option<BatchChanges> {
    let mut parts = text.split(',');
    let words: Vec<&str> = parts.next()?.split(' ').collect();
    let [batch, first, last] = words.as_slice() else { return None };
    let instant = |text: &str| parse_canonical(text).map(Timestamp::from_millis);
    let span = Span { first: instant(first)?, last: instant(last)? };
    let changes = parts.map(read_balance).collect::<Option<_>>()?;
    Some(BatchChanges { batch: parse_canonical(batch)?, span, changes })
}
