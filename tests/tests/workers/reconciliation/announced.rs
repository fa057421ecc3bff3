//! Every run that found breaks is announced once it is over, through crashes and lost announcements; no other run is.

use ledger_tests::audit::n;
use ledger_tests::http::event_tap::{EventTap, Mishap};
use ledger_tests::http::{Call, World};
use serde_json::{Value, json};

/// A world whose books have one break.
async fn broken(tenant: &str) -> World {
    let world = World::alone(tenant).await;
    let customer = world.customer_with("100").await;
    let pk = format!("{tenant}#customer#{}", customer.id);
    let mut row = world.books().await.row(&pk, "BALANCE#ECOPAY").expect("a balance").clone();
    row.insert("balance".to_owned(), n("101"));
    world.plant(row).await;
    world
}

async fn request_run(world: &World) -> String {
    world.operator("/v1/admin/reconciliation/runs", &json!({})).await.text("/run_id")
}

async fn status(world: &World, run: &str) -> Value {
    let path = format!("/v1/admin/reconciliation/runs/{run}");
    world.api.send(&Call::get(&path, &world.operator.who)).await.good().json()["status"].clone()
}

fn runs(tap: &EventTap) -> Vec<String> {
    let run = |detail: &str| {
        let detail: Value = serde_json::from_str(detail).expect("JSON");
        detail["run_id"].as_str().expect("an id").to_owned()
    };
    tap.announced().iter().map(|event| run(&event.detail)).collect()
}

#[tokio::test]
async fn breaks_are_announced_once_and_clean_books_are_not() {
    let (world, tap) = (broken("announced").await, EventTap::default());
    let run = request_run(&world).await;
    let done = world.reconcile_and_announce(&tap).await.expect("the run succeeds");
    assert_eq!((done.runs, runs(&tap)), (1, vec![run.clone()]));
    let event = tap.announced().remove(0).envelope().expect("JSON");
    let detail = &event["detail"];
    assert_eq!((&event["source"], &event["detail-type"]), (&json!("ecopay.ledger"), &json!("ReconciliationBreak")));
    assert_eq!((&detail["tenant"], &detail["ledger"]), (&json!("announced"), &json!(world.table_name())));
    assert_eq!(detail["breaks"]["balance_differs"], 1, "{event}");
    assert_eq!(detail["total"], done.breaks);
    assert_eq!(world.reconcile_and_announce(&tap).await.expect("nothing to do").runs, 0);
    assert_eq!(runs(&tap).len(), 1);

    let (world, tap) = (World::alone("announced-nothing").await, EventTap::default());
    let _ = (world.customer_with("100").await, request_run(&world).await);
    assert_eq!(world.reconcile_and_announce(&tap).await.expect("the run succeeds").runs, 1);
    assert_eq!(tap.announced(), []);
}

/// The run ends and shows its breaks before the announcement, and the next run does not wait for it.
#[tokio::test]
async fn failed_announcement_is_retried_by_the_next_tick() {
    let (world, tap) = (broken("announced-late").await, EventTap::default());
    let one = request_run(&world).await;
    tap.next_calls([Some(Mishap::Lost), Some(Mishap::AnswerLost)]);
    let failed = world.reconcile_and_announce(&tap).await.expect_err("the announcement is lost");
    assert_eq!((failed.status().as_u16(), status(&world, &one).await), (503, json!("breaks")));
    assert_eq!(tap.announced(), []);
    let two = request_run(&world).await;
    assert_eq!(world.reconcile_and_announce(&tap).await.expect_err("the answer is lost").status().as_u16(), 503);
    assert_eq!(status(&world, &two).await, "breaks");
    let done = world.reconcile_and_announce(&tap).await.expect("both runs are announced");
    assert_eq!(done.runs, 0, "nothing is read again");
    let (mut seen, mut expected) = (runs(&tap), vec![one.clone(), one, two]);
    seen.sort();
    expected.sort();
    assert_eq!(seen, expected, "the event with the lost answer is sent twice");
    let _ = world.reconcile_and_announce(&tap).await.expect("nothing to do");
    assert_eq!(tap.announced().len(), 3);
}

#[tokio::test]
async fn crash_around_the_announcement_is_followed_by_the_same_announcement() {
    for (tenant, mishap, times) in [("crash-before", Mishap::Held, 1), ("crash-after", Mishap::AnswerHeld, 2)] {
        let (world, tap) = (broken(tenant).await, EventTap::default());
        let run = request_run(&world).await;
        tap.next_calls([Some(mishap)]);
        tap.crash_while_held(world.reconcile_and_announce(&tap)).await;
        assert_eq!(status(&world, &run).await, "breaks");
        assert_eq!(world.reconcile_and_announce(&tap).await.expect("the announcement").runs, 0);
        let events = tap.announced();
        assert_eq!(runs(&tap), vec![run; times]);
        assert!(events.windows(2).all(|two| two[0] == two[1]), "{events:?}");
    }
}
