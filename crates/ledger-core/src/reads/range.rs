//! Ranges of sort keys. INVARIANT: DynamoDB accepts every [`SortRange`]: no bound is empty, and no lower bound sorts
//! after its upper one.

use crate::time::Timestamp;

/// Sorts after every character of a sort key.
const LAST: char = '\u{10ffff}';

/// A range of sort keys of a partition. Bounds are inclusive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SortRange(Bounds);

/// The forms of a key condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Bounds {
    /// Every sort key.
    All,
    /// Those with a prefix.
    Prefix(String),
    /// Those from a lower bound on.
    From(String),
    /// Those up to an upper bound.
    UpTo(String),
    /// Those between two bounds, of which the first does not sort after the second.
    Between(String, String),
    /// None: no request is needed.
    Nothing,
}

impl SortRange {
    pub(super) const ALL: Self = Self(Bounds::All);

    pub(super) fn prefix(prefix: impl Into<String>) -> Self {
        let prefix = prefix.into();
        Self(if prefix.is_empty() { Bounds::All } else { Bounds::Prefix(prefix) })
    }

    pub(super) fn up_to(high: impl Into<String>) -> Self {
        Self::of(None, Some(high.into()))
    }

    pub(super) fn between(low: impl Into<String>, high: impl Into<String>) -> Self {
        Self::of(Some(low.into()), Some(high.into()))
    }

    /// Sort keys that begin with a time, of records made from `from` on and before `until`.
    pub(super) fn made_within(from: Option<Timestamp>, until: Option<Timestamp>) -> Self {
        // A record's sort key has its id after the time, so it sorts after the time alone.
        Self::of(from.map(|at| at.to_string()), until.map(|at| at.to_string()))
    }

    /// Makes a range of optional bounds. An empty lower bound excludes no sort key, an empty upper bound excludes all.
    fn of(low: Option<String>, high: Option<String>) -> Self {
        let low = low.filter(|low| !low.is_empty());
        Self(match (low, high) {
            (_, Some(high)) if high.is_empty() => Bounds::Nothing,
            (Some(low), Some(high)) if low > high => Bounds::Nothing,
            (Some(low), Some(high)) => Bounds::Between(low, high),
            (Some(low), None) => Bounds::From(low),
            (None, Some(high)) => Bounds::UpTo(high),
            (None, None) => Bounds::All,
        })
    }

    /// The part of this range from `low` on.
    pub(super) fn at_least(self, low: &str) -> Self {
        let low = low.to_owned();
        match self.0 {
            Bounds::All => Self::of(Some(low), None),
            Bounds::Prefix(prefix) => {
                let high = format!("{prefix}{LAST}");
                Self::of(Some(prefix.max(low)), Some(high))
            }
            Bounds::From(from) => Self::of(Some(from.max(low)), None),
            Bounds::UpTo(high) => Self::of(Some(low), Some(high)),
            Bounds::Between(from, high) => Self::of(Some(from.max(low)), Some(high)),
            Bounds::Nothing => Self(Bounds::Nothing),
        }
    }

    /// The part of this range up to `high`.
    pub(super) fn at_most(self, high: &str) -> Self {
        let high = high.to_owned();
        match self.0 {
            Bounds::All => Self::of(None, Some(high)),
            Bounds::Prefix(prefix) => {
                let last = format!("{prefix}{LAST}");
                Self::of(Some(prefix), Some(last.min(high)))
            }
            Bounds::From(low) => Self::of(Some(low), Some(high)),
            Bounds::UpTo(to) => Self::of(None, Some(to.min(high))),
            Bounds::Between(low, to) => Self::of(Some(low), Some(to.min(high))),
            Bounds::Nothing => Self(Bounds::Nothing),
        }
    }

    pub(super) fn bounds(&self) -> &Bounds {
        &self.0
    }
}
