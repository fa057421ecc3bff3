//! Counters behind one small port: a line of embedded metric format in Lambda,
//! counts in memory on the local stack and in tests. By operation and tenant at most.

mod counting;
mod emf;

pub use counting::Counting;
pub use emf::Emf;

use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The namespace of every metric.
pub const NAMESPACE: &str = "EcoPay/Payments";

/// In what a metric is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Occurrences.
    Count,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

macro_rules! unit {
    () => {
        Unit::Count
    };
    ($unit:ident) => {
        Unit::$unit
    };
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $variant:ident $(in $unit:ident)?,)*) => {
        /// What is counted or measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric { $($(#[$doc])* $variant,)* }

        impl Metric {
            /// Every metric.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Its name in CloudWatch.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }

            /// In what it is measured.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => unit!($($unit)?),)* }
            }
        }
    };
}

metrics! {
    /// A transaction met another on one of its items.
    TransactionConflict,
    /// A request that carries an idempotency key or should: what the ones below are parts of.
    KeyedRequest,
    /// A stored answer was replayed.
    IdempotencyReplay,
    /// A request came without a key and was executed under a minted one.
    IdempotencyKeyMissing,
    /// A key came with another request than its own.
    FingerprintMismatch,
    /// A key came after its window.
    IdempotencyKeyExpired,
    /// A key came whose operation was reversed.
    OperationReversed,
    /// How long a request waited for another with its key.
    InFlightWait in Milliseconds,
    /// A claim has been in flight for too long.
    StuckInFlight,
    /// Age of the oldest claim in flight whose outcome is not known.
    OldestInFlight in Seconds,
    /// Time from a journal entry to its publication.
    OutboxLag in Seconds,
    /// A request was answered, or a worker's run or a task ended, with 503: we do not guess.
    FailClosed,
    /// The store asked for a pause.
    Throttled,
    /// Whether a write happened is not known.
    OutcomeUnknown,
    /// Something that no request explains; answered with 500, or the end of a worker's run or of a task.
    Broken,
    /// A verified identity reached for what is not its tenant's.
    CrossTenantDenied,
    /// The store's access rules refused a call: the function's role lacks it, or the code should not make it.
    StoreDenied,
    /// A secret could not be read again, or is not what it should be: the one before is used.
    SecretsStale,
    /// A terminal's signature was refused.
    SignatureRefused,
    /// The books and the balances differ.
    ReconciliationBreak,
    /// Two effects stand under one key.
    DuplicateEffect,
    /// A balance that must not be is below zero.
    NegativeBalance,
    /// A compensation of a settlement cannot finish.
    CompensationStuck,
    /// The payment provider did not say whether it did what it was asked.
    PspUnknown,
    /// The payment provider refused.
    PspRefused,
    /// An operation was parked: a person must look at it.
    OperationParked,
    /// Something parked or kept is still waiting for a person.
    NeedsAttention,
    /// An event of the payment provider had its effect.
    EventApplied,
    /// An event was delivered again, or was behind what is known.
    EventRepeated,
    /// An event is about an object that is not ours.
    EventForeign,
    /// An event contradicts our records, or is about a record that there is not: kept for a person.
    EventKept,
    /// A signed event cannot be read, or not what of it is ours.
    EventUnreadable,
    /// An event's signature was refused.
    WebhookRefused,
    /// The provider took money without our asking: a dispute, or a refund of its own.
    Clawback,
    /// A request was refused, because its tenant has made as many as it may for the moment.
    RateLimited,
    /// Whether a tenant may make a request could not be found out; it passed.
    RateLimitUnknown,
    /// Age of the oldest record that a sweep found uncredited.
    CreditingLag in Seconds,
    /// Age of the oldest journal entry that a sweep found unpublished.
    OldestUnpublished in Seconds,
    /// A journal entry cannot be told as an event: a reference to it was put aside for a person.
    EntryPutAside,
    /// Age of the oldest record of the audit trail that the sealing worker found unsealed.
    SealingLag in Seconds,
    /// A merchant's payout came back: its next settlement pays it.
    PayoutReturned,
    /// A reconciliation came to its end, whatever it found.
    Reconciled,
}

impl Metric {
    /// What counts an answer, or another end, by which we are at fault.
    #[must_use]
    pub fn of_fault(status: http::StatusCode) -> Option<Self> {
        match status.as_u16() {
            500 => Some(Self::Broken),
            503 => Some(Self::FailClosed),
            _ => None,
        }
    }
}

/// Where counters go.
pub trait Sink: Send + Sync {
    /// Takes note of a count, or of a duration in the metric's unit. Never fails and never waits for
    /// the network.
    fn take(&self, metric: Metric, tenant: Option<&Tenant>, operation: Option<Operation>, value: u64);
}

/// The counters. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<dyn Sink>);

impl Metrics {
    /// Counts into a sink.
    pub fn to(sink: impl Sink + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Counts one more of an operation of a tenant.
    pub fn count(&self, metric: Metric, tenant: &Tenant, operation: Operation) {
        self.count_of(metric, Some(tenant), Some(operation));
    }

    /// Counts one more, where tenant or operation may not be known.
    pub fn count_of(&self, metric: Metric, tenant: Option<&Tenant>, operation: Option<Operation>) {
        self.0.take(metric, tenant, operation, 1);
    }

    /// Counts so many more of an operation of a tenant, at once.
    pub fn count_many(&self, metric: Metric, tenant: &Tenant, operation: Operation, count: u64) {
        self.0.take(metric, Some(tenant), Some(operation), count);
    }

    /// Takes note of a duration, rounded down to the metric's unit.
    pub fn measure(&self, metric: Metric, tenant: &Tenant, operation: Operation, lasted: Duration) {
        let value = match metric.unit() {
            Unit::Seconds => lasted.as_secs(),
            Unit::Milliseconds | Unit::Count => u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX),
        };
        self.0.take(metric, Some(tenant), Some(operation), value);
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}
