//! The recovery of a tenant whose owners are lost: a delay, an alarm, and owners who cancel it.

use futures::future::join;
use ledger_core::failure::Failure;
use ledger_core::operation::Operation;
use ledger_core::staff::{RECOVERY_DELAY, Recovery, finish_recovery};
use ledger_core::time::Timestamp;
use ledger_runtime::metrics::Metric;
use ledger_tests::audit::text;
use ledger_tests::cloud::gate;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Who, World, staff};
use serde_json::json;

/// Finishes a recovery at an instant; the failure, if it is refused.
async fn finished(world: &World, recovery: &Recovery, now: Timestamp) -> Option<Failure> {
    let ledger = world.app.ledger();
    let cx = ledger.context(now).expect("a context");
    let keys = ledger.marker_keys().await.expect("keys");
    let write = finish_recovery(&world.slug(), (recovery, &keys), &cx).expect("a transaction");
    let done = gate::as_test(ledger.apply(&world.slug(), Operation::OwnerRecovery, &write)).await;
    done.err().map(|error| error.failure().expect("a refusal"))
}

async fn cancelled(world: &World, who: &Who) -> Answer {
    world.api.settle(&Call::post("/v1/admin/owner-recovery/cancel", who, &json!({})).key(new_key())).await
}

fn later(recovery: &Recovery) -> Timestamp {
    recovery.created_at.plus(RECOVERY_DELAY)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_persons_are_owners_after_the_delay() {
    let world = World::new("recovery").await;
    let [first, second] = [new_id(), new_id()];
    let none = Call::get("/v1/admin/owner-recovery", &world.operator.who);
    let _ = world.api.send(&none).await.problem(404, "not_found");
    let recovery = staff::requested_recovery(&world, [&first, &second]).await;
    let _ = world.seal().await.expect("a run");
    assert_eq!(world.counting.total(Metric::OwnerRecovery), 1);
    assert_eq!(recovery.ready_at, later(&recovery));
    let who = world.token("admin", &first, None).await;
    let list = Call::get("/v1/admin/staff", &who);
    let _ = world.api.send(&list).await.problem(403, "permission_missing");
    let early = recovery.ready_at.minus(std::time::Duration::from_millis(1));
    assert_eq!(finished(&world, &recovery, early).await, Some(Failure::WrongState));
    assert_eq!(finished(&world, &recovery, recovery.ready_at).await, None);
    assert_eq!(finished(&world, &recovery, recovery.ready_at).await, Some(Failure::AlreadyExists));
    // The first person was refused: that is cached for a minute. The second was not seen yet.
    let owner = world.token("admin", &second, None).await;
    let view = world.api.send(&Call::get("/v1/admin/owner-recovery", &owner)).await.good();
    assert_eq!(view.text("/status"), "done");
    let books = world.check_books().await;
    let acts: Vec<_> = books.under("AUDIT#").filter(|(_, _, act)| text(act, "action") == "owner_recovery").collect();
    assert_eq!(acts.len(), 2, "{acts:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owner_who_is_not_lost_cancels() {
    let world = World::new("recovery-cancel").await;
    let recovery = staff::requested_recovery(&world, [&new_id(), &new_id()]).await;
    let (_, viewer) = staff::member(&world, "viewer").await;
    let refused = cancelled(&world, &viewer).await.problem(403, "permission_missing");
    assert_eq!(refused.text("/permission"), "staff.manage");
    assert_eq!(cancelled(&world, &world.second.who).await.good().text("/status"), "cancelled");
    assert_eq!(finished(&world, &recovery, later(&recovery)).await, Some(Failure::WrongState));
    let _ = cancelled(&world, &world.second.who).await.problem(400, "wrong_state");
    // A later one is another: the first is not finished in its place.
    let next = staff::requested_recovery(&world, [&new_id(), &new_id()]).await;
    assert_eq!(finished(&world, &recovery, later(&next)).await, Some(Failure::StalePlan));
    // Of a cancellation and the end one takes effect.
    let (answer, failure) = join(cancelled(&world, &world.operator.who), finished(&world, &next, later(&next))).await;
    assert_eq!(answer.status == 200, failure == Some(Failure::WrongState), "{answer:?} {failure:?}");
    let _ = world.check_books().await;
}
