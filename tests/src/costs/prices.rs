//! AWS's list prices, and amounts of money in thousandths of a dollar, which all pages of costs use.

use super::units::Units;
use std::fmt;

/// A million write units on demand.
const MILLION_WRITE_UNITS: Dollars = Dollars(625);
/// A million read units on demand.
const MILLION_READ_UNITS: Dollars = Dollars(125);
/// A GB of the table for a month: its storage, and its point-in-time recovery.
const GB_MONTH: [Dollars; 2] = [Dollars(250), Dollars(200)];
/// What DynamoDB adds to each stored item and index entry.
pub(super) const OVERHEAD_BYTES: u64 = 100;
/// Bytes of a GB, as prices count them for a million records of so many thousand bytes.
const GB: u64 = 1_000_000_000;
const MILLION: u64 = 1_000_000;

/// Money in thousandths of a dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Dollars(pub(super) u64);

/// Of a million records: the price of the write units of `units`, which are those of `count` records.
#[must_use]
pub fn of_writes(units: Units, count: usize) -> Dollars {
    each(units.write * MILLION_WRITE_UNITS.0, count as u64)
}

/// Of a million records: the price of the read units.
#[must_use]
pub fn of_reads(units: Units, count: usize) -> Dollars {
    each(units.read_halves * MILLION_READ_UNITS.0, count as u64 * 2)
}

/// A month of what a million records store, of which `count` store so many bytes.
#[must_use]
pub fn of_month(bytes: u64, count: usize) -> Dollars {
    let month: u64 = GB_MONTH.iter().map(|price| price.0).sum();
    each(bytes * month * MILLION / 1_000, count as u64 * GB / 1_000)
}

/// The prices as text, for a page.
pub(super) fn stated() -> String {
    let [storage, recovery] = GB_MONTH;
    format!(
        "A million write units cost {} dollars, a million read units {}; a GB {storage} a month, and {recovery} for its\n\
         point-in-time recovery.",
        MILLION_WRITE_UNITS.exact(),
        MILLION_READ_UNITS.exact()
    )
}

/// The price of a million write units, as text.
#[must_use]
pub fn of_write_unit() -> String {
    format!("{} a million", MILLION_WRITE_UNITS.exact())
}

/// The prices of a million write and of a million read units, as text.
pub(super) fn of_both_units() -> String {
    format!("{} and {} a million", MILLION_WRITE_UNITS.exact(), MILLION_READ_UNITS.exact())
}

fn each(total: u64, count: u64) -> Dollars {
    Dollars((total * 2 + count) / (count * 2))
}

impl Dollars {
    /// Its text with all three decimals.
    fn exact(self) -> String {
        format!("{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }

    /// Its text in whole dollars.
    pub(super) fn whole(self) -> u64 {
        (self.0 + 500) / 1_000
    }
}

impl std::ops::Add for Dollars {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::iter::Sum for Dollars {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, of| sum + of)
    }
}

impl fmt::Display for Dollars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cents = (self.0 + 5) / 10;
        f.pad(&format!("{}.{:02}", cents / 100, cents % 100))
    }
}
