//! What payments to a merchant have on a day is counted by their seals, each once, and judged by the worker that seals.

use futures::future::join_all;
use ledger_core::terms::TenantTerms;
use ledger_runtime::metrics::Metric;
use ledger_tests::audit::{opt_number, opt_text};
use ledger_tests::http::{Call, Host, Merchant, World};
use ledger_tests::limits::limits;
use rust_decimal::Decimal;
use serde_json::{Value, json};

fn limited(suspends: bool) -> impl Fn(&mut TenantTerms) {
    move |terms| terms.limits = Some(limits(&[("merchant", "pay_day=1000")]).suspending(suspends))
}

async fn status(world: &World, merchant: &Merchant) -> Value {
    let call = Call::get(&format!("/v1/admin/merchants/{}", merchant.id), &world.operator.who);
    world.api.send(&call).await.good().json()["status"].clone()
}

/// What was counted for a merchant on the day of `now`, over all lanes.
async fn counted(world: &World, merchant: &Merchant) -> Decimal {
    let pk = format!("{}#merchant#{}", world.tenant, merchant.id);
    let name = format!("volume_{}_ecopay", world.app.now().business_date().digits());
    let books = world.books().await;
    let lanes = books.under("CREDITED#").filter(|(of, _, _)| *of == pk).collect::<Vec<_>>();
    lanes.iter().map(|(_, _, row)| opt_number(row, &name)).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchant_above_its_limit_of_a_day_is_recorded_once_and_suspended() {
    let world = World::with_terms(Host::fresh(), "volumes", limited(true)).await;
    let (merchant, other) = (world.merchant().await, world.merchant().await);
    let customer = world.customer_with("9000").await;
    let exceeded = || world.counting.total(Metric::VolumeExceeded);
    let calls: Vec<Call> = (0..10).map(|_| customer.pays(&merchant, "100")).collect();
    let paid = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    let payment = paid.into_iter().map(|answer| answer.good().text("/payment_id")).next_back().expect("a payment");
    // What is given back stays counted, and the limit itself is allowed.
    let _ = world.api.settle(&merchant.refunds(&payment, "100")).await.good();
    let _ = world.api.settle(&customer.pays(&other, "900")).await.good();
    let _ = world.credit().await.expect("the run succeeds");
    assert_eq!((counted(&world, &merchant).await, exceeded()), (1000.into(), 0));
    assert_eq!(status(&world, &merchant).await, "active");

    let _ = world.api.settle(&customer.pays(&merchant, "1")).await.good();
    let _ = world.credit().await.expect("the run succeeds");
    assert_eq!((counted(&world, &merchant).await, exceeded()), (1001.into(), 1));
    assert_eq!((status(&world, &merchant).await, status(&world, &other).await), (json!("suspended"), json!("active")));
    let books = world.check_books().await;
    let acts: Vec<_> =
        books.under("AUDIT#").filter(|(_, _, act)| opt_text(act, "action") == Some("volume_exceeded")).collect();
    let [(_, _, act)] = acts.as_slice() else { panic!("{acts:?}") };
    assert_eq!(opt_text(act, "subject"), Some(format!("merchant:{}", merchant.id).as_str()));

    // The operator lets it go on: it is not suspended again on the day.
    world.change(&format!("/v1/admin/merchants/{}", merchant.id), &json!({"status": "active"})).await;
    let _ = world.api.settle(&customer.pays(&merchant, "50")).await.good();
    let _ = world.credit().await.expect("the run succeeds");
    assert_eq!((status(&world, &merchant).await, exceeded()), (json!("active"), 1));
    assert_eq!(counted(&world, &merchant).await, 1051.into());
}

#[tokio::test]
async fn merchant_above_its_limit_rings_an_alarm_alone_where_the_tenant_does_not_suspend() {
    let world = World::with_terms(Host::fresh(), "volumes-alarm", limited(false)).await;
    let merchant = world.merchant().await;
    let customer = world.customer_with("9000").await;
    let _ = world.api.settle(&merchant.charges(&customer.code(&world).await, "1001")).await.good();
    let _ = world.credit().await.expect("the run succeeds");
    assert_eq!(world.counting.total(Metric::VolumeExceeded), 1);
    assert_eq!(status(&world, &merchant).await, "active");
    let _ = world.api.settle(&customer.pays(&merchant, "1")).await.good();
    let _ = world.credit().await.expect("the run succeeds");
    assert_eq!(world.counting.total(Metric::VolumeExceeded), 1, "once a day");
    world.check_books().await;
}
