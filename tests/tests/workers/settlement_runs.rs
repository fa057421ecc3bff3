//! Settlement on schedule: one run closes every merchant, once, whatever fails meanwhile.

use futures::future::join_all;
use ledger_core::dynamo::Value as Stored;
use ledger_core::ids::{MerchantId, SettlementId};
use ledger_core::settlements::Task;
use ledger_core::time::Timestamp;
use ledger_runtime::metrics::Metric;
use ledger_runtime::settlement::{Ended, SettlementRef};
use ledger_tests::http::settling::{Settling, payable, pays_to, registered};
use ledger_tests::http::tap::Fault;
use ledger_tests::http::{Call, Merchant, World};
use ledger_tests::share;
use serde_json::{Value, json};
use std::time::Duration;

const MONTHLY: &str = "monthly:month_end next_month:10:next";
const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Sets the worker's clock to an instant.
fn at(shop: &Settling, instant: &str) {
    shop.hand.set(Timestamp::parse(instant).expect("an instant"));
}

/// Runs the worker until no run goes on; returns the newest run.
async fn run_to_the_end(shop: &Settling) -> Value {
    let mut last = None;
    for tick in 0..20 {
        // A connection that a fault has cut may be used once more; the next run goes on.
        let ran = shop.run_jobs().await;
        let runs = shop.world.jobs("settlement_run").await;
        if ran.is_ok() && runs.iter().all(|run| run["ended_at"].is_string()) {
            return runs.first().cloned().unwrap_or_default();
        }
        last = Some(ran);
        // One tick starts a run, the next one goes on. A merchant without a certain outcome is tried again after some minutes.
        if tick > 0 {
            shop.hand.forward(Duration::from_secs(60));
        }
    }
    panic!("a run does not end: {last:?}, {:?}", shop.world.jobs("settlement_run").await);
}

fn text<'a>(view: &'a Value, field: &str) -> &'a str {
    view[field].as_str().unwrap_or_else(|| panic!("no {field} in {view}"))
}

/// A merchant that was paid yen, and is credited by the next run of the worker for that.
async fn paid(world: &World, merchant: Merchant, amount: &str) -> Merchant {
    let customer = world.customer_with(amount).await;
    let _ = world.api.settle(&customer.pays(&merchant, amount)).await.good();
    merchant
}

async fn settlements_of(world: &World, merchant: &str) -> Vec<Value> {
    let path = format!("/v1/admin/merchants/{merchant}/settlements");
    let all = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    all["items"].as_array().expect("settlements").clone()
}

fn settlement(shop: &Settling, line: &Value) -> SettlementRef {
    SettlementRef {
        tenant: shop.world.slug(),
        merchant: MerchantId::parse(text(line, "merchant_id")).expect("an id"),
        id: SettlementId::parse(text(line, "settlement_id")).expect("an id"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_run_closes_all_merchants_and_names_those_that_it_cannot() {
    let shop = Settling::scheduled("runs-all", MONTHLY).await;
    let world = &shop.world;
    let set = async |merchant: &Merchant, schedule: &str| {
        let _ = world.executes(&world.schedules(&merchant.id, Some(schedule))).await.good();
    };
    let good = join_all((0..22).map(|_| async { paid(world, payable(world).await, "1000").await })).await;
    let nowhere = paid(world, world.merchant().await, "1000").await;
    let suspended = paid(world, payable(world).await, "1000").await;
    world.change(&format!("/v1/admin/merchants/{}", suspended.id), &json!({"status": "suspended"})).await;
    let (weekly, by_hand) =
        (paid(world, payable(world).await, "1").await, paid(world, payable(world).await, "1").await);
    set(&weekly, "weekly:friday bank_days:2").await;
    set(&by_hand, "by_hand").await;
    shop.take("500").await;
    shop.credit().await;
    let _ = shop.close().await;
    let idle = payable(world).await;

    // The first tick counts from the day before; the closing day is over at midnight in Japan and ten minutes.
    for early in ["2026-11-29T15:20:00Z", "2026-11-30T14:59:59Z", "2026-11-30T15:09:00Z"] {
        at(&shop, early);
        let _ = shop.run_jobs().await.expect("the run succeeds");
        assert_eq!(world.jobs("settlement_run").await, Vec::<Value>::new(), "{early}");
    }
    at(&shop, "2026-11-30T15:10:30Z");
    let run = run_to_the_end(&shop).await;
    assert_eq!((text(&run["details"], "closing_on"), text(&run, "status")), ("2026-11-30", "done"), "{run}");
    assert_eq!((&run["done"], &run["skipped"], &run["failed"]), (&json!(22), &json!(1), &json!(3)), "{run}");
    assert_eq!((run.get("requested_by"), text(&run["details"], "schedule")), (None, MONTHLY));
    let id = text(&run, "job_id");
    let lines = world.settlement_run_merchants(id, None, 7).await;
    assert_eq!(lines.len(), 26, "{lines:?}");
    let status = |merchant: &Merchant| {
        let line = lines.iter().find(|line| line["merchant_id"] == merchant.id);
        line.map(|line| line["code"].as_str().unwrap_or_else(|| text(line, "status")))
    };
    for merchant in &good {
        assert_eq!(status(merchant), Some("done"));
        let own = settlements_of(world, &merchant.id).await;
        assert_eq!(own.len(), 1, "{own:?}");
        assert_eq!((text(&own[0], "settlement_run_id"), text(&own[0], "closing_on")), (id, "2026-11-30"));
        assert_eq!(text(&own[0], "pay_on"), "2026-12-10");
    }
    assert_eq!(status(&nowhere), Some("no_destination"));
    assert_eq!(status(&suspended), Some("suspended"));
    assert_eq!(status(&shop.merchant), Some("settlement_open"));
    assert_eq!(status(&idle), Some("nothing_to_settle"));
    assert_eq!((status(&weekly), status(&by_hand)), (None, None), "their schedules do not close on the day");
    assert_eq!(world.settlement_run_merchants(id, Some("done"), 5).await.len(), 22);

    // Ticks repeat, and two settlements are stuck or turned back: the run names them.
    let _ = run_to_the_end(&shop).await;
    assert_eq!(world.jobs("settlement_run").await.len(), 1);
    let opened = world.settlement_run_merchants(id, Some("done"), 100).await;
    let stuck = settlement(&shop, &opened[0]);
    let _ = shop.run(&stuck, Task::Stop).await.expect("the task");
    for line in &opened[1..] {
        assert_eq!(shop.walk(&settlement(&shop, line)).await, Ended::Over);
    }
    let view = world.settlement_run(id).await;
    let sums = &view["settlements"];
    assert_eq!((&sums["open"], &sums["booked"], &sums["is_complete"]), (&json!(1), &json!(21), &json!(true)), "{sums}");
    let each = |field: &str, of: u32| assert_eq!(text(sums, field), (21 * of).to_string(), "{sums}");
    each("fee", 15);
    each("tax", 1);
    each("payable", 984);
    let named = sums["to_review"].as_array().expect("a list");
    let why =
        |merchant: &str| named.iter().find(|named| named["merchant_id"] == merchant).map(|named| text(named, "why"));
    assert_eq!(named.len(), 4, "{named:?}");
    assert_eq!(why(&stuck.merchant.to_string()), Some("stuck"));
    assert_eq!(why(&nowhere.id), Some("no_destination"));

    // Who closed them is on the audit trail: the schedule.
    let trail = world.api.send(&Call::get("/v1/admin/audit?limit=100", &world.operator.who)).await.good().json();
    let acts = trail["items"].as_array().expect("acts").iter();
    let of_run: Vec<&Value> = acts.filter(|act| act.to_string().contains(id)).collect();
    assert!(of_run.len() >= 23 && of_run.iter().all(|act| act.to_string().contains(r#""system""#)), "{of_run:?}");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_merchant_is_closed_once_with_a_fault_at_every_write() {
    let mut shop = Settling::scheduled("runs-faults", "weekly:monday bank_days:2").await;
    at(&shop, "2026-11-30T14:00:00Z");
    let _ = shop.run_jobs().await.expect("the run succeeds");
    at(&shop, "2026-11-30T15:15:00Z");
    let mut weeks = 0;
    // What the store refuses is written once it does not: a line that a person must see to would be final.
    for fault in [Fault::Refused, Fault::AnswerCut, Fault::Error(400, "AccessDeniedException")] {
        for nth in share::writes() {
            shop.next_shop().await;
            shop.take("1000").await;
            shop.credit().await;
            shop.tap.next_writes(std::iter::repeat_n(None, nth).chain([Some(fault.clone())]));
            // One tick starts a run, and later ones continue it.
            let run = run_to_the_end(&shop).await;
            let missed = shop.tap.faults_left();
            shop.tap.forget_faults();
            weeks += 1;
            assert_eq!(shop.world.jobs("settlement_run").await.len(), weeks, "{fault:?}, write {nth}");
            assert_eq!((text(&run, "status"), &run["done"]), ("done", &json!(1)), "{fault:?}, write {nth}: {run}");
            let lines = shop.world.settlement_run_merchants(text(&run, "job_id"), Some("done"), 100).await;
            assert_eq!((lines.len(), text(&lines[0], "merchant_id")), (1, shop.merchant.id.as_str()));
            assert_eq!(settlements_of(&shop.world, &shop.merchant.id).await.len(), 1, "{fault:?}, write {nth}");
            assert_eq!(shop.walk(&settlement(&shop, &lines[0])).await, Ended::Over);
            let _ = shop.world.check_books().await;
            shop.hand.forward(WEEK);
            if missed > 0 {
                assert!(nth > 2, "only {nth} writes");
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_at_once_start_one_run_and_close_each_merchant_once() {
    let shop = Settling::scheduled("runs-parallel", "twice_a_month:15,month_end bank_days:3").await;
    let world = &shop.world;
    let merchants = join_all((0..16).map(|_| async { paid(world, payable(world).await, "100").await })).await;
    shop.credit().await;
    at(&shop, "2026-12-15T14:00:00Z");
    let _ = shop.run_jobs().await.expect("the run succeeds");
    at(&shop, "2026-12-15T15:15:00Z");
    let runs = join_all((0..6).map(|_| shop.run_jobs())).await;
    // A worker that meets another is refused or ends early; it loses nothing.
    assert!(runs.iter().any(Result::is_ok), "{runs:?}");
    let run = run_to_the_end(&shop).await;
    assert_eq!(world.jobs("settlement_run").await.len(), 1);
    assert_eq!((text(&run, "status"), &run["done"], &run["skipped"]), ("done", &json!(16), &json!(1)), "{run}");
    let lines = world.settlement_run_merchants(text(&run, "job_id"), None, 100).await;
    assert_eq!(lines.len(), 17);
    for merchant in &merchants {
        let own = settlements_of(world, &merchant.id).await;
        assert_eq!((own.len(), text(&own[0], "pay_on")), (1, "2026-12-18"), "{own:?}");
    }
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn days_without_a_worker_have_their_runs_and_late_payments_are_made_on_bank_days() {
    let shop = Settling::scheduled("runs-late", "weekly:friday bank_days:2").await;
    shop.take("1000").await;
    shop.credit().await;
    at(&shop, "2026-12-10T15:15:00Z");
    let _ = shop.run_jobs().await.expect("the run succeeds");
    // No worker ran until New Year's Day.
    at(&shop, "2026-12-31T15:15:00Z");
    let _ = run_to_the_end(&shop).await;
    let runs = shop.world.jobs("settlement_run").await;
    let days: Vec<&str> = runs.iter().map(|run| text(&run["details"], "closing_on")).collect();
    assert_eq!(days, ["2026-12-25", "2026-12-18", "2026-12-11"]);
    for (run, code) in runs.iter().zip([json!("nothing_to_settle"), json!("nothing_to_settle"), json!("paid_later")]) {
        assert_eq!(text(run, "status"), "done", "{run}");
        let lines = shop.world.settlement_run_merchants(text(run, "job_id"), None, 100).await;
        assert_eq!((lines.len(), &lines[0]["code"]), (1, &code), "{run}");
    }
    // The bank takes the file on 4 January.
    let own = settlements_of(&shop.world, &shop.merchant.id).await;
    assert_eq!((own.len(), text(&own[0], "pay_on")), (1, "2027-01-05"), "{own:?}");
}

/// The bank needs the file a day before: a merchant with a schedule of its own, for example, under terms that changed later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scheduled_day_that_is_too_early_becomes_the_first_possible_one_and_its_line_names_it() {
    let shop = Settling::scheduled("runs-early", "monthly:month_end bank_days:1").await;
    let world = &shop.world;
    shop.take("1000").await;
    let far = paid(world, payable(world).await, "1000").await;
    let stripe = paid(world, world.merchant().await, "1000").await;
    pays_to(world, &stripe, &registered()).await;
    // Later than a person may state.
    let next_end = Some("monthly:month_end next_month:month_end:next");
    let _ = world.executes(&world.schedules(&far.id, next_end)).await.good();
    shop.credit().await;
    at(&shop, "2026-11-29T15:20:00Z");
    let _ = shop.run_jobs().await.expect("the run succeeds");
    at(&shop, "2026-11-30T15:10:30Z");
    let run = run_to_the_end(&shop).await;
    assert_eq!((text(&run, "status"), &run["done"], &run["failed"]), ("done", &json!(3), &json!(0)), "{run}");
    let id = text(&run, "job_id");
    let lines = world.settlement_run_merchants(id, Some("done"), 100).await;
    let line = |merchant: &Merchant| {
        let line = lines.iter().find(|line| line["merchant_id"] == merchant.id).expect("a line");
        (text(line, "pay_on"), line["code"].as_str())
    };
    assert_eq!(line(&shop.merchant), ("2026-12-02", Some("paid_later")));
    assert_eq!(line(&far), ("2027-01-04", None));
    assert_eq!(line(&stripe), ("2026-12-01", None));
    let own = settlements_of(world, &shop.merchant.id).await;
    assert_eq!((own.len(), text(&own[0], "pay_on")), (1, "2026-12-02"), "{own:?}");
    let view = world.settlement_run(id).await;
    assert_eq!(view["settlements"]["to_review"], json!([]), "no person must see to it: {view}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchant_whose_payment_day_is_not_known_is_named_and_the_others_are_closed() {
    let shop = Settling::scheduled("runs-holidays", MONTHLY).await;
    let world = &shop.world;
    shop.take("1000").await;
    let sooner = paid(world, payable(world).await, "1000").await;
    let _ = world.executes(&world.schedules(&sooner.id, Some("weekly:tuesday bank_days:2"))).await.good();
    shop.credit().await;
    at(&shop, "2027-11-29T15:15:00Z");
    let _ = shop.run_jobs().await.expect("the run succeeds");
    // The sixtieth bank day after 30 November is past the list, the second is not.
    at(&shop, "2027-11-30T15:15:00Z");
    let _ = world.executes(&world.schedules(&shop.merchant.id, Some("monthly:month_end bank_days:60"))).await.good();
    let run = run_to_the_end(&shop).await;
    assert_eq!((text(&run, "status"), &run["done"]), ("done", &json!(1)), "{run}");
    let lines = world.settlement_run_merchants(text(&run, "job_id"), None, 100).await;
    let line = |merchant: &str| lines.iter().find(|line| line["merchant_id"] == merchant).expect("a line");
    assert_eq!(text(line(&sooner.id), "pay_on"), "2027-12-02");
    assert_eq!(text(line(&shop.merchant.id), "code"), "holidays_unknown");
    assert_eq!(settlements_of(world, &shop.merchant.id).await, Vec::<Value>::new(), "a day was guessed");
    assert!(shop.counting.total(Metric::BankHolidaysEnd) > 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchant_paid_through_stripe_is_paid_when_its_payment_day_begins() {
    let shop = Settling::scheduled_by_stripe("runs-stripe", MONTHLY).await;
    shop.take("3000").await;
    shop.credit().await;
    at(&shop, "2026-11-29T15:20:00Z");
    let _ = shop.run_jobs().await.expect("the run succeeds");
    at(&shop, "2026-11-30T15:10:30Z");
    let run = run_to_the_end(&shop).await;
    assert_eq!((text(&run, "status"), &run["done"]), ("done", &json!(1)), "{run}");
    let lines = shop.world.settlement_run_merchants(text(&run, "job_id"), None, 100).await;
    assert_eq!((lines.len(), text(&lines[0], "pay_on")), (1, "2026-12-10"));
    let opened = settlement(&shop, &lines[0]);
    for (early, starts) in [("2026-11-30T15:11:00Z", 1), ("2026-12-05T00:00:00Z", 0), ("2026-12-09T14:59:00Z", 0)] {
        at(&shop, early);
        assert_eq!(shop.start().await, starts, "{early}");
        // A saga that is run nevertheless waits too.
        assert_eq!(shop.walk(&opened).await, Ended::Over, "{early}");
        assert_eq!((text(&shop.view(&opened).await, "status"), shop.payouts().len()), ("charged", 0), "{early}");
    }
    at(&shop, "2026-12-09T15:00:30Z");
    assert_eq!(shop.start().await, 1);
    assert_eq!(shop.walk(&opened).await, Ended::Over);
    assert_eq!((text(&shop.view(&opened).await, "status"), shop.payouts().len()), ("paid", 1));
    let started = shop.sagas.started();
    assert!(started.len() == 2 && started[0].1 < started[1].1, "a run's name is used once: {started:?}");
    let _ = shop.world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn run_that_cannot_go_on_does_not_stop_the_others() {
    let shop = Settling::scheduled("runs-broken", "weekly:friday bank_days:2").await;
    let world = &shop.world;
    shop.take("1000").await;
    shop.credit().await;
    let start = async |day: &str| world.executes(&world.runs_settlements(day)).await.good().text("/job_id");
    let (broken, other) = (start("2026-11-13").await, start("2026-11-20").await);
    let running = world.settlement_run(&other).await;
    assert_eq!((text(&running, "status"), &running["settlements"]["is_complete"]), ("waiting", &json!(false)));
    let root = format!("{}#tenant#root", world.tenant);
    let broken = format!("{}#job#{broken}", world.tenant);
    let damage = async |partition: &str, key: &str, name: &str, value: &str| {
        let mut row = world.books().await.row(partition, key).cloned().expect("a row");
        row.insert(name.to_owned(), Stored::s(value));
        world.plant(row).await;
    };
    damage(&broken, "JOB", "closing_on", "Friday").await;
    let failed = shop.run_jobs().await.expect_err("one run cannot be read");
    assert_eq!(failed.status(), 500);
    let view = world.settlement_run(&other).await;
    assert_eq!((text(&view, "status"), &view["done"]), ("done", &json!(1)), "{view}");
    assert_eq!(view["settlements"]["is_complete"], true);
    world.remove(&broken, "JOB").await;

    // A schedule that this release cannot read does not stop the days of the others.
    at(&shop, "2026-12-10T15:15:00Z");
    let _ = shop.run_jobs().await.expect("the run succeeds");
    damage(&root, "CALENDAR", "own_every_day", "every day").await;
    at(&shop, "2026-12-11T15:15:00Z");
    // One tick starts the run, and the next one continues it.
    for _ in 0..3 {
        let failed = shop.run_jobs().await.expect_err("a schedule cannot be read");
        assert_eq!(failed.status(), 500);
    }
    let runs = world.jobs("settlement_run").await;
    // The settlement that the first run opened has not been paid.
    assert_eq!((text(&runs[0]["details"], "closing_on"), text(&runs[0], "status")), ("2026-12-11", "done"));
}
