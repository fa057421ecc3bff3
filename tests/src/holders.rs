//! The lease holder that a record names: the state of a worker that took the lease before the test begins.

use ledger_core::idempotency::{Flight, Phase};
use ledger_core::ids::Tenant;
use ledger_core::jobs::{Attempt, Details, Taken};
use ledger_core::lease::{Holder, Leased};
use ledger_core::reconcile::run::{Run, RunState};
use ledger_core::time::Timestamp;

/// An expired lease with the fencing token before this one.
fn before(fence: i64) -> Holder {
    Holder { fence: fence.saturating_sub(1), lease_until: Timestamp::from_millis(0) }
}

/// The lease holder of a claim.
///
/// # Panics
/// If the lease cannot be taken.
#[must_use]
pub fn of_claim(flight: &Flight) -> Leased<Flight> {
    let mut earlier = flight.clone();
    earlier.fence = earlier.fence.saturating_sub(1);
    earlier.phase = Phase::FailedRetry;
    earlier.lease_until = flight.leased_at;
    earlier.take_over(flight.leased_at).expect("a form").expect("the pause is over").0
}

/// The lease holder of a run.
///
/// # Panics
/// If the lease cannot be taken.
#[must_use]
pub fn of_run(tenant: &Tenant, run: &Run, now: Timestamp) -> Leased<Run> {
    let earlier = Run { holder: before(run.holder.fence), state: RunState::Requested, ..run.clone() };
    earlier.take(tenant, now).expect("a form").expect("the lease is free").0
}

/// The lease holder of an attempt.
///
/// # Panics
/// If the lease cannot be taken.
#[must_use]
pub fn of_attempt<D: Details + Clone>(tenant: &Tenant, seen: &Attempt<D>, now: Timestamp) -> Leased<Attempt<D>> {
    let earlier = Attempt { holder: before(seen.holder.fence), ..seen.clone() };
    match earlier.take(tenant, now).expect("a form").expect("the lease is free") {
        Taken::Begun(held, _) => *held,
        Taken::TooOften(_) => panic!("begun too often"),
    }
}
