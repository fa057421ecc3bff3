//! Rate limit of a tenant's requests: a budget for each window of ten seconds, leased in chunks.
//!
//! Between leases each environment counts by itself, so that few requests wait for the store.

mod allotment;
mod bucket;

pub use allotment::{Allotment, Step};
pub use bucket::Bucket;

use crate::dynamo::{Cmp, Condition, Update, Value};
use crate::failure::Failure;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Role, TransactItem, Transaction};
use std::time::Duration;

const WINDOW_S: u32 = 10;
const WINDOW_MS: i64 = 10_000;
/// The maximum number of chunks in a window's budget: 50 writes on one item in ten seconds do not make it hot.
const CHUNKS_MAX: u32 = 50;
/// The divisor of the part of a window's budget that every environment may use without a lease.
///
/// The part is half a chunk, which is also what an environment leaves unused of its last chunk on average. So a tenant
/// gets its budget on average, over any number of environments.
const FREE_PART: u32 = 100;
/// How long a window's item is kept after its end, in case a clock is behind.
const USAGE_KEPT: Duration = Duration::from_secs(3600);

/// The number of requests per second that a tenant may make, averaged over a window: 1 to 100,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestRate(u32);

impl RequestRate {
    /// The rate of a tenant whose terms name none.
    pub const DEFAULT: Self = Self(200);
    /// The rate of one caller in one environment, unless it is set.
    pub const CALLER_DEFAULT: Self = Self(20);
    /// The rate of one source without an identity in one environment, unless it is set.
    pub const SOURCE_DEFAULT: Self = Self(20);
    /// The highest rate.
    pub const MAX: Self = Self(100_000);

    /// A rate from 1 to 100,000 per second, otherwise `None`.
    #[must_use]
    pub fn new(per_second: u32) -> Option<Self> {
        (1..=Self::MAX.0).contains(&per_second).then_some(Self(per_second))
    }

    /// Requests per second.
    #[must_use]
    pub fn per_second(self) -> u32 {
        self.0
    }

    /// The number of requests that all environments together may lease in a window.
    #[must_use]
    pub fn budget(self) -> u32 {
        self.0.saturating_mul(WINDOW_S)
    }

    /// The number of requests in one lease.
    #[must_use]
    pub fn chunk(self) -> u32 {
        self.budget().div_ceil(CHUNKS_MAX)
    }

    /// The number of requests of a window that an environment lets pass without a lease: at least one.
    #[must_use]
    pub fn free(self) -> u32 {
        (self.budget() / FREE_PART).max(1)
    }
}

/// A window of ten seconds. Windows are aligned to the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateWindow(Timestamp);

impl RateWindow {
    /// The window that contains an instant.
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

    /// The first instant of the next window.
    #[must_use]
    pub fn ends_at(self) -> Timestamp {
        self.0.plus(Duration::from_secs(WINDOW_S.into()))
    }

    /// The time until its end at `now`; zero if it is over.
    #[must_use]
    pub fn left(self, now: Timestamp) -> Duration {
        let millis = self.ends_at().millis().saturating_sub(now.millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

/// Leases a chunk of a window's budget if that much is left. A remainder below a chunk is never leased.
///
/// # Errors
/// [`BuildError`]: never for these items.
pub fn lease(tenant: &Tenant, window: RateWindow, rate: RequestRate) -> Result<Transaction, BuildError> {
    let chunk = rate.chunk();
    let most = rate.budget().saturating_sub(chunk);
    let update = Update::new().add("leased", "chunk", Value::int(chunk.into())).set(
        attr::TTL,
        "ttl",
        Value::int(window.ends_at().plus(USAGE_KEPT).seconds()),
    );
    let left = Condition::absent("leased").or(Condition::compare("leased", Cmp::Le, "most", Value::int(most.into())));
    let clause = Clause { condition: left, failure: Failure::LimitExceeded };
    let key = keys::rate(tenant, window.starts_at());
    Transaction::unkeyed(vec![TransactItem::update(Role::Rate, key, update, vec![clause])])
}

#[cfg(test)]
mod tests;
