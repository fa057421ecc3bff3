//! Versions of a tenant's terms, as the operator stores and cancels them.

use super::endpoints::Endpoint;
use super::prepared::{Prepared, make};
use super::topup_rig::TestClock;
use super::world::changed_terms;
use super::{Host, World, host};
use crate::cloud::gate;
use ledger_core::ids::{Actor, StaffId};
use ledger_core::keys;
use ledger_core::operation::Operation;
use ledger_core::plan::Context;
use ledger_core::tenants::{self, TermsBy, TermsChange};
use ledger_core::terms::{TenantTerms, TermsChanges, TermsSchedule, TermsVersion};
use ledger_core::time::Timestamp;
use ledger_core::transaction::Transaction;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use uuid::Uuid;

/// Where a change is requested.
pub const CHANGES: &str = "/v1/admin/terms/changes";
/// Where a scheduled version is cancelled.
pub const CANCELLATION: &str = "/v1/admin/terms/cancellation";
/// Where a preview of a change is requested.
pub const PREVIEWS: &str = "/v1/admin/terms/previews";

/// A tenant with changed terms of the demo on a stack of its own, whose functions use a clock that the test moves.
///
/// # Panics
/// When the stack does not start.
pub async fn timed(tenant: &str, change: impl Fn(&mut TenantTerms)) -> (World, TestClock) {
    timed_with(TestClock::default(), tenant, change).await
}

/// The same with a clock that the test has set.
///
/// # Panics
/// When the stack does not start.
pub async fn timed_with(test_clock: TestClock, tenant: &str, change: impl Fn(&mut TenantTerms)) -> (World, TestClock) {
    let (clock, functions) = (test_clock.clock(), test_clock.clock());
    let host =
        Host::with_app(
            |backend| async move { host::app((backend.dynamodb, &backend.table), functions, &backend.stripe) },
        );
    let mut world = World::opened(host, tenant, &changed_terms(change), None, clock).await;
    world.api = world.api.clone().with_untimed_keys();
    (world, test_clock)
}

/// The body of a change.
#[must_use]
pub fn body(changes: &Value, from: Timestamp) -> Value {
    json!({"changes": changes, "from": from.to_string()})
}

/// A time that is far enough ahead for a version to begin.
#[must_use]
pub fn in_an_hour(world: &World) -> Timestamp {
    world.app.now().plus(Duration::from_secs(60 * 60))
}

/// The requests of a change, and of the cancellation of a scheduled version. Nothing else is scheduled.
pub(super) async fn prepare(endpoint: Endpoint, world: &World) -> Prepared {
    if endpoint == Endpoint::TermsPreview {
        return preview(world);
    }
    gate::as_test(cancel_scheduled(world)).await;
    let from = in_an_hour(world);
    let prepared = match endpoint {
        Endpoint::TermsCancel => {
            let version = gate::as_test(schedule(world, "hold_hours", "48", from)).await;
            let made = make(world, CANCELLATION, &json!({"version": version.number()}));
            made.with_other("version", version.number() + 1)
        }
        _ => {
            let later = from.plus(Duration::from_secs(60)).to_string();
            make(world, CHANGES, &body(&json!({"hold_hours": "48"}), from)).with_other("from", later)
        }
    };
    Prepared { status: 200, ..prepared }
}

/// The request of a preview.
fn preview(world: &World) -> Prepared {
    make(world, PREVIEWS, &json!({"changes": {"points_rate": "0.02"}, "days": 7})).with_other("days", 8)
}

/// Stores a version with one field changed, and returns its number.
pub async fn schedule(world: &World, field: &str, to: &str, from: Timestamp) -> TermsVersion {
    let (tenant, cx) = (world.slug(), context(world));
    let config = world.app.dynamo().get(&keys::config(&tenant)).await.expect("the table").expect("a tenant");
    let schedule = TermsSchedule::read(&config).expect("terms");
    let wanted = BTreeMap::from([(field.to_owned(), Some(to.to_owned()))]);
    let changes = TermsChanges::plan(schedule.at(cx.now), &wanted).expect("changes");
    let change = TermsChange { tenant: &tenant, config: &config, changes: &changes, from, by: by() };
    let draft = tenants::plan_terms(&change, &cx).expect("a plan");
    apply(world, Transaction::unkeyed(draft.items).expect("a transaction")).await;
    TermsVersion::new(schedule.last().number() + 1).expect("a number")
}

async fn cancel_scheduled(world: &World) {
    let (tenant, cx) = (world.slug(), context(world));
    let config = world.app.dynamo().get(&keys::config(&tenant)).await.expect("the table").expect("a tenant");
    let schedule = TermsSchedule::read(&config).expect("terms");
    if let Some(next) = schedule.scheduled(cx.now) {
        let draft = tenants::plan_cancel_terms(&tenant, &config, next.terms.version, by(), &cx).expect("a plan");
        apply(world, Transaction::unkeyed(draft.items).expect("a transaction")).await;
    }
}

async fn apply(world: &World, transaction: Transaction) {
    let tenant = world.slug();
    world.app.ledger().apply(&tenant, Operation::TenantConfigure, &transaction).await.expect("applied");
    world.app.records().forget_tenant(&tenant);
}

fn context(world: &World) -> Context {
    world.app.ledger().context(world.app.now()).expect("a context")
}

fn by() -> TermsBy<'static> {
    TermsBy { staff: StaffId::new(Uuid::from_u128(7)), actor: Actor::System, reason: None }
}
