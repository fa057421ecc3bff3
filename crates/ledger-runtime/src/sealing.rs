//! Seals the audit trail of a tenant: adds records that are in no segment yet to its chains.
//!
//! A tick runs it, outside of any request. However many workers run at once, each record gets into one segment only.
//!
//! Journal entries are published and then sealed, in one pass: the transaction that seals an entry removes its due index
//! entry. One whose event was not taken for [`LATE_AFTER`] is sealed all the same, and published late. Trail records are
//! due from the start. Acts of the operator's staff have no due index entry: they are listed by the time in their ids.
//!
//! The transaction that seals the entry of a payment or refund also credits its merchant.

mod lanes;
mod proof;
mod read;
mod verify;
mod volumes;
mod writer;

pub use proof::{ProveError, prove};
pub use verify::{OVERDUE_AFTER, Verified, Verify, verify};

use crate::app::App;
use crate::metrics::Metric;
use crate::problem::Problem;
use crate::publishing::{Published, Sweep};
use crate::sealed_heads;
use ledger_core::crediting::VolumeLimits;
use ledger_core::ids::Tenant;
use ledger_core::keys::Shards;
use ledger_core::operation::Operation;
use serde::Serialize;
use std::time::Duration;

/// The time after which a tick's run starts nothing more: the next tick, a minute after this one's, continues.
pub const RUN_TIME_MAX: Duration = Duration::from_secs(58);
/// The longest time between the instant in an act's id and its commit, by this worker's clock: ten minutes for clocks
/// that differ, and five for the request.
const ACTS_MARGIN: Duration = Duration::from_secs(15 * 60);

/// How long an entry waits for its publication before it is sealed without.
pub const LATE_AFTER: Duration = Duration::from_secs(5 * 60);

/// What a run does.
#[derive(Debug)]
pub struct Pass {
    /// The number of shards of the tenant's due index entries.
    pub shards: Shards,
    /// The journal entries to publish and seal; `None` to seal only what was published before.
    pub entries: Option<Sweep>,
    /// The limits of merchants' volumes. They are judged where seals credit merchants.
    pub volumes: VolumeLimits,
    /// The time after which it starts nothing more.
    pub time_max: Duration,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Passed {
    /// Events of journal entries.
    pub events: Published,
    /// Records of the trail.
    pub sealed: Sealed,
}

/// What a run sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sealed {
    /// The number of records that were sealed.
    pub records: usize,
    /// The number of segments that were written for them.
    pub segments: usize,
    /// Whether another worker sealed at the same time, and this one left the rest to it.
    pub left: bool,
}

impl Passed {
    /// Adds the result of a later pass.
    pub fn add(&mut self, later: Self) {
        self.events.add(later.events);
        self.sealed.records = self.sealed.records.saturating_add(later.sealed.records);
        self.sealed.segments = self.sealed.segments.saturating_add(later.sealed.segments);
        self.sealed.left = later.sealed.left;
    }
}

/// Publishes and seals what is due for a tenant.
///
/// # Errors
/// 503 if the store cannot be read or written; a later run continues. 500 if a record could not be sealed, after all
/// others.
pub async fn run(app: &App, tenant: &Tenant, pass: Pass) -> Result<Passed, Problem> {
    let heads = sealed_heads::heads(app.dynamo(), tenant).await?;
    let mut run = lanes::Run::new(app, tenant, heads, &pass);
    let events = run.seal(pass).await?;
    let (sealed, oldest, fault) = run.ended();
    // A lag of 0 is reported too: without it the alarm would not clear.
    let lag = oldest.map_or(Duration::ZERO, |since| app.now().since(since));
    app.metrics().measure(Metric::SealingLag, tenant, Operation::Sealing, lag);
    fault.map_or(Ok(Passed { events, sealed }), Err)
}
