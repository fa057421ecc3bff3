//! How many requests a tenant may make: a budget for each window of ten seconds, leased in chunks.
//! The environments count for themselves in between, so that few requests pay for the counting.

mod allotment;

pub use allotment::{Allotment, Step};

use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};
use std::time::Duration;

const WINDOW_S: u32 = 10;
const WINDOW_MS: i64 = 10_000;
/// A window's budget is leased in at most so many chunks: as many writes on one item in ten seconds
/// are far from what would make it hot.
const CHUNKS_MAX: u32 = 50;
/// The part of a window's budget that every environment lets pass without asking. It is half a chunk,
/// which is also what an environment leaves unused of its last chunk on average: so a tenant gets its
/// budget on average, over however many environments its requests are spread.
const FREE_PART: u32 = 100;
/// How long a window's item is kept after its end, in case a clock is behind.
const KEPT: Duration = Duration::from_secs(3600);

/// How many requests a tenant may make in a second, on average over a window: 1 to 100,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestRate(u32);

impl RequestRate {
    /// What a tenant may make when nobody says otherwise.
    pub const DEFAULT: Self = Self(200);
    /// The highest.
    pub const MAX: Self = Self(100_000);

    /// A rate from 1 to 100,000 a second, else `None`.
    #[must_use]
    pub fn new(per_second: u32) -> Option<Self> {
        (1..=Self::MAX.0).contains(&per_second).then_some(Self(per_second))
    }

    /// Requests in a second.
    #[must_use]
    pub fn per_second(self) -> u32 {
        self.0
    }

    /// How many requests may be leased in a window, by all environments together.
    #[must_use]
    pub fn budget(self) -> u32 {
        self.0.saturating_mul(WINDOW_S)
    }

    /// How many are leased at a time.
    #[must_use]
    pub fn chunk(self) -> u32 {
        self.budget().div_ceil(CHUNKS_MAX)
    }

    /// How many requests of a window an environment lets pass before it asks for a lease: at least one.
    #[must_use]
    pub fn free(self) -> u32 {
        (self.budget() / FREE_PART).max(1)
    }
}

/// A window of ten seconds. They lie side by side from the epoch on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateWindow(Timestamp);

impl RateWindow {
    /// The window that an instant is in.
    #[must_use]
    pub fn of(now: Timestamp) -> Self {
        let millis = now.millis();
        Self(Timestamp::from_millis(millis.saturating_sub(millis.rem_euclid(WINDOW_MS))))
    }

    /// Its first instant.
    #[must_use]
    pub fn starts_at(self) -> Timestamp {
        self.0
    }

    /// The first instant of the next one.
    #[must_use]
    pub fn ends_at(self) -> Timestamp {
        self.0.plus(Duration::from_secs(WINDOW_S.into()))
    }

    /// How long it still lasts at `now`.
    #[must_use]
    pub fn left(self, now: Timestamp) -> Duration {
        let millis = self.ends_at().millis().saturating_sub(now.millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

/// Takes a chunk of a window's budget, if that much of it is left. What is less than a chunk stays.
///
/// # Errors
/// [`BuildError`], which this form never gives.
pub fn lease(tenant: &Tenant, window: RateWindow, rate: RequestRate) -> Result<Transaction, BuildError> {
    let chunk = rate.chunk();
    let most = rate.budget().saturating_sub(chunk);
    let update = Update::new().add("leased", "chunk", Value::int(chunk.into())).set(
        attr::TTL,
        "ttl",
        Value::int(window.ends_at().plus(KEPT).seconds()),
    );
    let left = Condition::absent("leased").or(Condition::compare("leased", Cmp::Le, "most", Value::int(most.into())));
    let clause = Clause { condition: left, failure: Failure::LimitExceeded };
    let key = keys::rate(tenant, window.starts_at());
    Transaction::unkeyed(vec![TransactItem::update(Role::Rate, key, update, vec![clause])])
}

#[cfg(test)]
mod tests;
