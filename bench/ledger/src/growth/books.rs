//! Fills a table with books of a given size: items that the core's builders make, loaded into the engine's file in this
//! process.

use super::table::Table;
use super::year;
use ledger_core::idempotency::MarkerKeys;
use ledger_core::ids::{CustomerId, TransactionId};
use ledger_local::marker_keys;
use ledger_runtime::clock::Clock;
use ledger_tests::bulk::{Contact, Ledger};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// What grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The number of customers, with one payment each.
    Customers,
    /// The payments of one customer.
    History,
    /// The payments that one merchant receives, from many customers.
    Payments,
    /// The payments of one customer within ten minutes.
    Burst,
    /// The number of merchants.
    Merchants,
    /// The number of customers that lists and searches find among.
    Found,
    /// The payments of a year, by the same customers to the same merchants.
    Year,
}

/// The time between two payments.
const STEP: Duration = Duration::from_secs(10);
/// The time in which a burst's payments are made.
const BURST: Duration = Duration::from_secs(9 * 60);
/// The time in which a year's payments are made.
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// A pause longer than any time span that a worker reads again.
const PAUSE: Duration = Duration::from_secs(60 * 60);
/// The payments of the observed customer to the observed merchant that books of all sizes begin with: enough for a full
/// page in every list, so that only what grows differs.
pub(super) const FIRST_PAYMENTS: u32 = 120;
/// The place, from the oldest, after which a list's last full page begins.
const LAST_PAGE_AFTER: u64 = 60;
/// Enough yen for all payments of a customer.
pub(super) const GIVEN: u64 = 100_000_000;
/// The payments of each customer, if one merchant's payments grow.
const PAYMENTS_EACH: u64 = 10;
pub(super) const MERCHANTS: u128 = 10;
/// The customers that books of all sizes begin with where lists and searches are measured: enough for a full page of each
/// surname in each shard.
const FIRST_FOUND: u32 = 1_600;
/// The number of the observed customer.
pub const OBSERVED: u64 = 0;
const SURNAMES: [(&str, &str); 4] = [("山田", "ヤマダ"), ("佐藤", "サトウ"), ("鈴木", "スズキ"), ("田中", "タナカ")];

/// What the measuring processes know of the books.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    /// The tenant.
    pub tenant: String,
    /// The observed customer.
    pub customer: String,
    /// The observed merchant.
    pub merchant: String,
    /// A member of the operator's staff.
    pub staff: String,
    /// A payment of the observed customer to the observed merchant, among the oldest.
    pub payment: String,
    /// The entry of that payment: the last page of the history begins after it.
    pub entry: String,
    /// The number of payments.
    pub payments: u64,
    /// The payments that the observed merchant has.
    pub of_merchant: u64,
    /// The number of items.
    pub items: u64,
    /// What is known of the year, if the books are of one.
    pub year: Option<YearFacts>,
}

/// What the measuring processes know of a year's books.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct YearFacts {
    /// A day in the first half of the year, `2026-11-21`. It is closed.
    pub day: String,
    /// The entries of the observed customer until the end of that day.
    pub of_customer: u64,
}

impl Family {
    /// Every family, in the order of the report.
    pub const ALL: [Self; 7] =
        [Self::Customers, Self::History, Self::Payments, Self::Burst, Self::Merchants, Self::Found, Self::Year];

    /// The name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Customers => "customers",
            Self::History => "one customer's history",
            Self::Payments => "one merchant's payments",
            Self::Burst => "one customer's payments within ten minutes",
            Self::Merchants => "merchants",
            Self::Found => "customers to find",
            Self::Year => "payments of a year",
        }
    }

    /// The time between two payments of books of this size.
    fn step(self, size: u64) -> Duration {
        match self {
            Self::Burst => spread(BURST, size),
            Self::Year => spread(YEAR, size),
            Self::Customers | Self::History | Self::Payments | Self::Merchants | Self::Found => STEP,
        }
    }
}

/// The time between two of `size` payments that are made within `time`.
fn spread(time: Duration, size: u64) -> Duration {
    time / u32::try_from(size).unwrap_or(u32::MAX).max(1)
}

/// Writes books of a size into a new engine's file. They end shortly before the present.
///
/// # Errors
/// A sentence that says what failed.
pub fn fill(file: &Path, family: Family, size: u64) -> Result<Facts, String> {
    let mut table = Table::create(file)?;
    let merchants = if family == Family::Merchants { u128::from(size) } else { MERCHANTS };
    let step = family.step(size);
    let grown = step * u32::try_from(size).map_err(|_| "a size must fit in 32 bits".to_owned())?;
    let end = if family == Family::Burst { Duration::ZERO } else { PAUSE };
    let first = if family == Family::Found { FIRST_FOUND } else { 0 };
    let begin = Clock::system().now().minus(STEP * (first + FIRST_PAYMENTS) + PAUSE + grown + end);
    let keys = MarkerKeys::parse(marker_keys::in_memory().expose()).map_err(|error| error.to_string())?;
    let mut ledger = Ledger::opened(begin, merchants.max(2), keys);
    let customer = if first > 0 { ledger.open_as(&contact(OBSERVED)) } else { ledger.open() };
    for number in 1..=u64::from(first) {
        ledger.wait(STEP);
        let _ = ledger.open_as(&contact(OBSERVED + number));
    }
    ledger.give(customer, GIVEN);
    let mut facts = first_payments(&mut ledger, customer)?;
    ledger.wait(PAUSE);
    let mut paid = 0;
    while paid < size {
        let before = paid;
        paid += match family {
            Family::Customers => pays(&mut ledger, None, (1, step), |_| others(before)),
            Family::Payments => pays(&mut ledger, None, (PAYMENTS_EACH.min(size - paid), step), |_| 0),
            Family::History | Family::Burst => pays(&mut ledger, Some(customer), (100.min(size - paid), step), others),
            // Merchants alone grow.
            Family::Merchants => size,
            Family::Year => {
                facts.year = Some(year::fill(&mut ledger, &mut table, customer, (size, step))?);
                size
            }
            Family::Found => {
                ledger.wait(step);
                let _ = ledger.open_as(&contact(u64::from(FIRST_FOUND) + 1 + before));
                1
            }
        };
        table.load(ledger.take_all_but_wallet(customer))?;
    }
    table.load(ledger.take_rest())?;
    let of_growth = match family {
        Family::Customers | Family::History | Family::Payments | Family::Burst | Family::Year => size,
        Family::Merchants | Family::Found => 0,
    };
    facts.payments = u64::from(FIRST_PAYMENTS) + of_growth;
    facts.of_merchant = u64::from(FIRST_PAYMENTS) + if family == Family::Payments { size } else { 0 };
    facts.items = table.finish()?;
    Ok(facts)
}

/// How a customer is found, by its number. No two have the same.
#[must_use]
pub fn contact(number: u64) -> Contact {
    let (surname, kana) = SURNAMES[usize::try_from(number).unwrap_or(0) % SURNAMES.len()];
    Contact {
        name: format!("{surname} {number}"),
        kana: Some(format!("{kana} {number}")),
        email: Some(format!("customer-{number}@example.jp")),
        phone: Some(format!("090-{:04}-{:04}", number / 10_000 % 10_000, number % 10_000)),
    }
}

fn first_payments(ledger: &mut Ledger, customer: CustomerId) -> Result<Facts, String> {
    let merchant = ledger.merchants().next().ok_or("books need a merchant")?;
    let mut seen: Option<(String, TransactionId)> = None;
    for number in 1..=u64::from(FIRST_PAYMENTS) {
        ledger.wait(STEP);
        let payment = ledger.pay(customer, 100, 0);
        if number == LAST_PAGE_AFTER {
            seen = Some((payment.id.to_string(), payment.transaction_id));
        }
    }
    let (payment, entry) = seen.ok_or("there are too few first payments")?;
    Ok(Facts {
        tenant: ledger.tenant().to_string(),
        customer: customer.to_string(),
        merchant: merchant.to_string(),
        staff: Ledger::owner().to_string(),
        payment,
        entry: entry.to_string(),
        payments: 0,
        of_merchant: 0,
        items: 0,
        year: None,
    })
}

/// A merchant that is not the observed one.
fn others(number: u64) -> usize {
    1 + usize::try_from(number).unwrap_or(0) % (MERCHANTS as usize - 1)
}

/// Makes a customer, or a new one, pay several times; returns how often.
fn pays(
    ledger: &mut Ledger,
    customer: Option<CustomerId>,
    (payments, step): (u64, Duration),
    merchant: impl Fn(u64) -> usize,
) -> u64 {
    let customer = customer.unwrap_or_else(|| {
        let customer = ledger.open();
        ledger.give(customer, 100_000);
        customer
    });
    for number in 0..payments {
        ledger.wait(step);
        let _ = ledger.pay(customer, 100 + number % 7, merchant(number));
    }
    payments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_is_always_within_ten_minutes() {
        for size in [10, 100, 1_000, 10_000] {
            assert!(Family::Burst.step(size) * u32::try_from(size).unwrap() <= BURST);
            assert_eq!(Family::History.step(size), STEP);
        }
    }

    #[test]
    fn observed_merchant_gets_no_payment_of_other_families() {
        assert!((0..100).all(|number| (1..10).contains(&others(number))));
    }

    #[test]
    fn books_begin_with_full_pages_and_grow_by_their_size() {
        let file = std::env::temp_dir().join(format!("ledger-growth-{}.db", std::process::id()));
        let facts = fill(&file, Family::Payments, 20).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!((facts.payments, facts.of_merchant), (140, 140));
        // A payment has a marker, an entry and a record of its own; the wallet is rewritten.
        assert!(facts.items > 3 * 140, "{facts:?}");
    }

    #[test]
    fn year_of_payments_is_sealed_and_its_days_are_closed() {
        let file = std::env::temp_dir().join(format!("ledger-growth-year-{}.db", std::process::id()));
        let facts = fill(&file, Family::Year, 400).unwrap();
        std::fs::remove_file(&file).unwrap();
        let year = facts.year.unwrap();
        // The observed customer has what it was given, the first payments, and each 200th of the year's first third.
        assert_eq!((facts.payments, year.of_customer), (520, 1 + 120 + 1), "{year:?}");
        // Each payment has an entry; each day has a segment and is closed.
        assert!(facts.items > 520 + 2 * 365, "{}", facts.items);
    }

    #[test]
    fn contact_of_each_customer_is_its_own_and_surnames_return() {
        let (first, fifth) = (contact(OBSERVED), contact(4));
        assert_eq!((first.name.as_str(), fifth.name.as_str()), ("山田 0", "山田 4"));
        assert_eq!(contact(1_000_000).phone.as_deref(), Some("090-0100-0000"));
        assert_ne!((first.phone, first.email), (fifth.phone, fifth.email));
    }
}
