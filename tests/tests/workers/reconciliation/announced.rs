//! Every run that found breaks is announced once it is over, through crashes and lost announcements; no other run is.

use aws_sdk_dynamodb::types::AttributeValue;
use ledger_tests::http::event_tap::{EventTap, Mishap};
use ledger_tests::http::{Call, World};
use serde_json::{Value, json};

/// A world whose books have one break.
async fn broken(tenant: &str) -> World {
    let world = World::alone(tenant).await;
    let customer = world.customer_with("100").await;
    let pk = format!("{tenant}#customer#{}", customer.id);
    let mut row = world.books().await.row(&pk, "BALANCE#ECOPAY").expect("a balance").clone();
    row.insert("balance".to_owned(), AttributeValue::N("101".to_owned()));
    world.plant(row).await;
    world
}

async fn ask(world: &World) -> String {
    world.operator("/v1/admin/reconciliation/runs", &json!({})).await.text("/run_id")
}

async fn status(world: &World, run: &str) -> Value {
    let path = format!("/v1/admin/reconciliation/runs/{run}");
    world.api.send(&Call::get(&path, &world.operator.who)).await.good().json()["status"].clone()
}

fn runs(told: &EventTap) -> Vec<String> {
    let run = |detail: &str| {
        let detail: Value = serde_json::from_str(detail).expect("JSON");
        detail["run_id"].as_str().expect("an id").to_owned()
    };
    told.announced().iter().map(|event| run(&event.detail)).collect()
}

#[tokio::test]
async fn breaks_are_announced_once_and_clean_books_are_not() {
    let (world, told) = (broken("told").await, EventTap::default());
    let run = ask(&world).await;
    let done = world.reconcile_telling(&told).await.expect("a whole run");
    assert_eq!((done.runs, runs(&told)), (1, vec![run.clone()]));
    let event = told.announced().remove(0).envelope().expect("JSON");
    let detail = &event["detail"];
    assert_eq!((&event["source"], &event["detail-type"]), (&json!("ecopay.ledger"), &json!("ReconciliationBreak")));
    assert_eq!((&detail["tenant"], &detail["ledger"]), (&json!("told"), &json!(world.table_name())));
    assert_eq!(detail["breaks"]["balance_differs"], 1, "{event}");
    assert_eq!(detail["total"], done.breaks);
    assert_eq!(world.reconcile_telling(&told).await.expect("nothing to do").runs, 0);
    assert_eq!(runs(&told).len(), 1);

    let (world, told) = (World::alone("told-nothing").await, EventTap::default());
    let _ = (world.customer_with("100").await, ask(&world).await);
    assert_eq!(world.reconcile_telling(&told).await.expect("a whole run").runs, 1);
    assert_eq!(told.announced(), []);
}

/// The run ends and shows its breaks before the announcement, and the next run does not wait for it.
#[tokio::test]
async fn failed_announcement_is_retried_by_the_next_tick() {
    let (world, told) = (broken("untold").await, EventTap::default());
    let one = ask(&world).await;
    told.next_calls([Some(Mishap::Lost), Some(Mishap::AnswerLost)]);
    let failed = world.reconcile_telling(&told).await.expect_err("nobody was told");
    assert_eq!((failed.status().as_u16(), status(&world, &one).await), (503, json!("breaks")));
    assert_eq!(told.announced(), []);
    let two = ask(&world).await;
    assert_eq!(world.reconcile_telling(&told).await.expect_err("nobody said so").status().as_u16(), 503);
    assert_eq!(status(&world, &two).await, "breaks");
    let done = world.reconcile_telling(&told).await.expect("both are told of");
    assert_eq!(done.runs, 0, "nothing is read again");
    let (mut seen, mut want) = (runs(&told), vec![one.clone(), one, two]);
    seen.sort();
    want.sort();
    assert_eq!(seen, want, "once too often for the lost answer");
    let _ = world.reconcile_telling(&told).await.expect("nothing to do");
    assert_eq!(told.announced().len(), 3);
}

#[tokio::test]
async fn crash_around_the_announcement_is_followed_by_the_same_announcement() {
    for (tenant, mishap, times) in [("died-before", Mishap::Held, 1), ("died-after", Mishap::AnswerHeld, 2)] {
        let (world, told) = (broken(tenant).await, EventTap::default());
        let run = ask(&world).await;
        told.next_calls([Some(mishap)]);
        told.crash_while_held(world.reconcile_telling(&told)).await;
        assert_eq!(status(&world, &run).await, "breaks");
        assert_eq!(world.reconcile_telling(&told).await.expect("the telling").runs, 0);
        let events = told.announced();
        assert_eq!(runs(&told), vec![run; times]);
        assert!(events.windows(2).all(|two| two[0] == two[1]), "{events:?}");
    }
}
