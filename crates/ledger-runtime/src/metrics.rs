//! Counters behind one port: embedded metric format in Lambda; in memory on the local stack and in tests.
//!
//! The dimensions are tenant and operation at most.

mod counting;
mod emf;
mod line;

pub use counting::Counting;
pub use emf::Emf;
pub use line::RequestLine;

use ledger_core::ids::Tenant;
use ledger_core::operation::Operation;
use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The namespace of every metric.
pub const NAMESPACE: &str = "EcoPay/Payments";

/// The unit of a metric.
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
        /// A metric.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric { $($(#[$doc])* $variant,)* }

        impl Metric {
            /// Every metric.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name in CloudWatch.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)* }
            }

            /// The unit of its values.
            #[must_use]
            pub const fn unit(self) -> Unit {
                match self { $(Self::$variant => unit!($($unit)?),)* }
            }
        }
    };
}

metrics! {
    /// A transaction conflicted with another on one of its items.
    TransactionConflict,
    /// A request to a keyed operation, with or without a key. The metrics of keys below are shares of it.
    KeyedRequest,
    /// A stored response was replayed.
    IdempotencyReplay,
    /// A request without a key was executed under a generated one.
    IdempotencyKeyMissing,
    /// A key was sent with a request other than the one it is bound to.
    FingerprintMismatch,
    /// A key was sent after its window.
    IdempotencyKeyExpired,
    /// A key was sent whose operation has been reversed.
    OperationReversed,
    /// How long a request waited for another request with its key.
    InFlightWait in Milliseconds,
    /// An operation has been in flight for too long.
    StuckInFlight,
    /// Age of the oldest operation in flight with an unknown outcome.
    OldestInFlight in Seconds,
    /// Time from a journal entry to its publication.
    OutboxLag in Seconds,
    /// A response of 503, or a worker's run or a task that ended with it.
    FailClosed,
    /// DynamoDB throttled a call.
    Throttled,
    /// The outcome of a write is unknown.
    OutcomeUnknown,
    /// A response of 500, or a worker's run or a task that ended with it.
    Broken,
    /// A verified identity tried to access another tenant.
    CrossTenantDenied,
    /// A staff member lacked a permission.
    PermissionDenied,
    /// DynamoDB denied a call: the function's role lacks a permission, or the code must not make the call.
    StoreDenied,
    /// A secret could not be read again, or is invalid. The previous one stays in use.
    SecretsStale,
    /// A terminal's signature was refused.
    SignatureRefused,
    /// A request was signed in the name of a terminal that has no record.
    UnknownTerminal,
    /// A payment or transfer was refused because its recipient cannot receive it.
    RecipientUnavailable,
    /// The journal and the balances differ.
    ReconciliationBreak,
    /// One key has two effects.
    DuplicateEffect,
    /// A balance that must not be negative is below zero.
    NegativeBalance,
    /// The recovery of a tenant's owners was requested, finished or cancelled.
    OwnerRecovery,
    /// A tenant has pending commands on which no member may decide: counted once an hour or twice.
    NoDecider,
    /// Payments to a merchant are above its limit of a day.
    VolumeExceeded,
    /// The bank takes no file for a day any more, and a file of the day was not recorded as accepted, or is not superseded.
    BankFileNotAccepted,
    /// The day of an accepted bank file is over, and it was not recorded as debited.
    BankFileNotDebited,
    /// The known bank holidays end soon, or do not reach a payment day.
    BankHolidaysEnd,
    /// A settlement's compensation cannot finish.
    CompensationStuck,
    /// The outcome of a call to the payment provider is unknown.
    PspUnknown,
    /// The payment provider refused a request.
    PspRefused,
    /// An operation was parked: needs review.
    OperationParked,
    /// A parked operation or kept event still needs review.
    NeedsAttention,
    /// An event of the payment provider was applied.
    EventApplied,
    /// An event was delivered again, or is superseded.
    EventRepeated,
    /// An event is about an object that this deployment did not create.
    EventForeign,
    /// An event contradicts a record, or its record does not exist: kept for review.
    EventKept,
    /// A signed event, or the ledger's metadata in it, cannot be parsed.
    EventUnreadable,
    /// An event's signature was refused.
    WebhookRefused,
    /// The provider took money by itself: a dispute, or a refund made at the provider.
    Clawback,
    /// A request was refused because its tenant has reached its request rate.
    RateLimited,
    /// A request was refused because its caller has reached the rate of one caller.
    CallerRateLimited,
    /// A request without an identity was refused because its source has reached its rate.
    SourceRateLimited,
    /// A tenant's request rate could not be checked; the request was let through.
    RateLimitUnknown,
    /// Age of the oldest unpublished journal entry that a sweep found.
    OldestUnpublished in Seconds,
    /// A journal entry can never be published: a reference was put aside for review.
    EntryPutAside,
    /// Age of the oldest unsealed record of the audit trail that the sealing worker found.
    SealingLag in Seconds,
    /// A merchant's payout was returned: its next settlement pays it.
    PayoutReturned,
    /// A reconciliation has finished, with or without breaks.
    Reconciled,
}

impl Metric {
    /// Returns the metric of a response, or another end, for which the service is at fault.
    #[must_use]
    pub fn of_fault(status: http::StatusCode) -> Option<Self> {
        match status.as_u16() {
            500 => Some(Self::Broken),
            503 => Some(Self::FailClosed),
            _ => None,
        }
    }
}

/// A recorded count, or a duration in the metric's unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// What was measured.
    pub metric: Metric,
    /// The tenant, where it is known.
    pub tenant: Option<Tenant>,
    /// The operation, where it is known.
    pub operation: Option<Operation>,
    /// The count or duration.
    pub value: u64,
}

/// The port that counters write to.
pub trait Sink: Send + Sync {
    /// Records a value. Never fails and never waits for the network.
    fn take(&self, recorded: Recorded);

    /// Whether a request's values are written with its log line, by [`Sink::write_line`].
    fn joins_lines(&self) -> bool {
        false
    }

    /// Writes a request's log line with the values that were recorded for the request.
    fn write_line(&self, _line: &RequestLine<'_>, _recorded: Vec<Recorded>) {}
}

tokio::task_local! {
    /// What was recorded for the request that this task handles.
    static OF_REQUEST: RefCell<Vec<Recorded>>;
}

/// The counters. Cheap to clone.
#[derive(Clone)]
pub struct Metrics(Arc<dyn Sink>);

impl Metrics {
    /// Creates counters that write to a sink.
    pub fn to(sink: impl Sink + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Counts one, for an operation of a tenant.
    pub fn count(&self, metric: Metric, tenant: &Tenant, operation: Operation) {
        self.count_of(metric, Some(tenant), Some(operation));
    }

    /// Counts one, where tenant or operation may be unknown.
    pub fn count_of(&self, metric: Metric, tenant: Option<&Tenant>, operation: Option<Operation>) {
        self.record(metric, tenant, operation, 1);
    }

    /// Counts `count` at once, for an operation of a tenant.
    pub fn count_many(&self, metric: Metric, tenant: &Tenant, operation: Operation, count: u64) {
        self.record(metric, Some(tenant), Some(operation), count);
    }

    /// Records a duration, rounded down to the metric's unit.
    pub fn measure(&self, metric: Metric, tenant: &Tenant, operation: Operation, lasted: Duration) {
        let value = match metric.unit() {
            Unit::Seconds => lasted.as_secs(),
            Unit::Milliseconds | Unit::Count => u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX),
        };
        self.record(metric, Some(tenant), Some(operation), value);
    }

    /// Handles a request. Returns with its result what was recorded for it and is not written yet.
    pub(crate) async fn around<T>(&self, request: impl Future<Output = T>) -> (T, Vec<Recorded>) {
        if !self.0.joins_lines() {
            return (request.await, Vec::new());
        }
        let handled = async { (request.await, OF_REQUEST.with(RefCell::take)) };
        OF_REQUEST.scope(RefCell::default(), handled).await
    }

    /// Writes a request's log line with what was recorded for it. `None` of a line that is not logged.
    pub(crate) fn end_request(&self, line: Option<&RequestLine<'_>>, recorded: Vec<Recorded>) {
        match line {
            Some(line) if self.0.joins_lines() => self.0.write_line(line, recorded),
            line => {
                recorded.into_iter().for_each(|recorded| self.0.take(recorded));
                line.into_iter().for_each(RequestLine::log);
            }
        }
    }

    fn record(&self, metric: Metric, tenant: Option<&Tenant>, operation: Option<Operation>, value: u64) {
        let mut recorded = Some(Recorded { metric, tenant: tenant.cloned(), operation, value });
        if self.0.joins_lines() {
            // Fails where no request is handled.
            let _ = OF_REQUEST.try_with(|of_request| of_request.borrow_mut().extend(recorded.take()));
        }
        if let Some(recorded) = recorded {
            self.0.take(recorded);
        }
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}
