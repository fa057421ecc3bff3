//! Capacity units of reads and writes, and their averages, without floats.

use std::fmt;
use std::ops::AddAssign;

/// The units of some calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Write units, those of the indexes included.
    pub write: u64,
    /// The write units of the indexes alone.
    pub index: u64,
    /// Halves of read units: an eventually consistent read of 4 KB takes one.
    pub read_halves: u64,
}

impl AddAssign for Units {
    fn add_assign(&mut self, other: Self) {
        self.write += other.write;
        self.index += other.index;
        self.read_halves += other.read_halves;
    }
}

/// A number of units in halves, as text: `2`, `2.5`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halves(pub u64);

impl Halves {
    /// Parses what [`Display`](fmt::Display) writes, and what DynamoDB states: `2`, `2.0`, `2.5`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, half) = match text.split_once('.') {
            None | Some((_, "0")) => (text.split('.').next()?, 0),
            Some((whole, "5")) => (whole, 1),
            Some(_) => return None,
        };
        Some(Self(whole.parse::<u64>().ok()? * 2 + half))
    }
}

impl fmt::Display for Halves {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.0.is_multiple_of(2) { (self.0 / 2).to_string() } else { format!("{}.5", self.0 / 2) };
        f.pad(&text)
    }
}

/// A number in tenths, rounded to the nearest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tenths(pub u64);

impl Tenths {
    /// `total` for each of `count`.
    #[must_use]
    pub fn each(total: u64, count: u64) -> Self {
        Self((total * 20 + count) / (count * 2))
    }

    /// The nearest whole number.
    #[must_use]
    pub fn whole(self) -> u64 {
        (self.0 + 5) / 10
    }

    /// Half of `halves` for each of `count`.
    #[must_use]
    pub fn each_of_halves(halves: u64, count: u64) -> Self {
        Self::each(halves, count * 2)
    }
}

impl fmt::Display for Tenths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}.{}", self.0 / 10, self.0 % 10))
    }
}
