//! Winding a tenant down: every card and customer is closed once, whatever else happens, and the lines say what each had.
#![cfg(feature = "stack")]

use futures::future::{join, join_all};
use ledger_core::dynamo;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Customer, World, staff};
use serde_json::{Value, json};

async fn world(name: &str) -> World {
    World::new(name).await
}

fn of(customer: &Customer) -> String {
    format!("customer:{}", customer.id)
}

fn line<'a>(lines: &'a [Value], account: &str) -> &'a Value {
    lines.iter().find(|line| line["subject"] == account).unwrap_or_else(|| panic!("{account} is not in {lines:?}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wind_down_closes_what_it_can_and_lists_what_each_account_had() {
    let world = world("wind-down").await;
    let shop = world.merchant().await;
    let (rich, poor, held) =
        (world.customer_with("300").await, world.customer().await, world.customer_with("500").await);
    world.grant(&rich, "POINT", "7").await;
    let (owned, unowned) = (world.card(Some(&poor), "0").await, world.card(None, "0").await);
    let terminal = world.terminal_with_cash(&shop, "40").await;
    let _ = world.api.settle(&terminal.does("topup", &owned, &json!({"amount": "40"}))).await.good();
    let hold = world.api.settle(&shop.authorizes(&held.code(&world).await, "200")).await.good().text("/payment_id");
    let closed_before = world.customer().await;
    let _ = world.api.settle(&world.closes(&closed_before.id, false)).await.good();

    let job = world.started_winding_down().await;
    assert_eq!(world.job(&job).await["status"], "waiting");
    let view = world.ended(&job).await;
    assert_eq!((&view["status"], &view["done"], &view["failed"]), (&json!("done"), &json!(4), &json!(1)));
    let lines = world.job_lines(&job, None, 2).await;
    assert_eq!(lines.len(), 5, "{lines:?}");
    let line_of_rich = line(&lines, &of(&rich));
    assert_eq!(line_of_rich["rest"], json!({"ECOPAY": "300", "POINT": "7"}));
    assert!(line_of_rich["transaction_id"].is_string(), "{line_of_rich}");
    assert_eq!(line(&lines, &of(&poor))["rest"], json!({}));
    let line_of_card = line(&lines, &format!("card:{owned}"));
    assert_eq!((&line_of_card["customer_id"], &line_of_card["rest"]), (&json!(poor.id), &json!({"ECOPAY": "40"})));
    assert_eq!(line(&lines, &format!("card:{unowned}"))["status"], "done");
    let open = world.job_lines(&job, Some("failed"), 20).await;
    assert_eq!((open.len(), &open[0]["subject"]), (1, &json!(of(&held))), "{open:?}");
    assert_eq!(open[0]["open"], json!(["held:ECOPAY"]));
    assert_eq!(world.job_lines(&job, Some("done"), 20).await.len(), 4);
    let books = world.check_books().await;
    assert_eq!(books.posted("unclaimed", "ECOPAY"), 340.into());
    assert_eq!(books.posted("breakage", "POINT"), 7.into());

    // Another job closes what was open, and lists that alone.
    let _ = world.api.settle(&shop.voids(&hold)).await.good();
    let second = world.started_winding_down().await;
    let view = world.ended(&second).await;
    assert_eq!((&view["status"], &view["done"], &view["failed"]), (&json!("done"), &json!(1), &json!(0)));
    let lines = world.job_lines(&second, None, 20).await;
    assert_eq!((lines.len(), &lines[0]["rest"]), (1, &json!({"ECOPAY": "500"})), "{lines:?}");
    let listed = world.api.send(&Call::get("/v1/admin/jobs?kind=wind_down", &world.operator.who)).await.good().json();
    let ids: Vec<&str> =
        listed["items"].as_array().expect("jobs").iter().filter_map(|job| job["job_id"].as_str()).collect();
    assert_eq!(ids, [second.as_str(), job.as_str()]);
    // What was unclaimed is paid out or claimed.
    let _ = world.executes(&world.pays_out(&of(&rich), "300")).await.good();
    let books = world.check_books().await;
    assert_eq!(books.posted("unclaimed", "ECOPAY"), 540.into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_and_jobs_at_once_close_each_account_once() {
    let world = world("wind-down-parallel").await;
    let customers = join_all((0..40).map(|_| world.customer_with("100"))).await;
    let cards = join_all((0..10).map(|at| world.card((at % 2 == 0).then_some(&customers[at]), "50"))).await;
    let (one, other) = join(world.started_winding_down(), world.started_winding_down()).await;
    let runs = join_all((0..6).map(|_| world.run_jobs())).await;
    // A run whose slice met another's is refused or ends early; it loses nothing.
    assert!(runs.iter().any(Result::is_ok), "{runs:?}");
    let jobs = [world.ended(&one).await, world.ended(&other).await];
    let (mut accounts, mut total) = (Vec::new(), 0);
    for (job, view) in [&one, &other].into_iter().zip(&jobs) {
        assert_eq!(view["status"], "done", "{view}");
        let lines = world.job_lines(job, None, 100).await;
        assert_eq!(view["done"], json!(lines.len()), "{view}");
        accounts.extend(lines.iter().map(|line| line["subject"].as_str().expect("an account").to_owned()));
        let rests = lines.iter().filter_map(|line| line["rest"]["ECOPAY"].as_str());
        total += rests.map(|rest| rest.parse::<u32>().expect("yen")).sum::<u32>();
    }
    let mut wanted: Vec<String> =
        customers.iter().map(of).chain(cards.iter().map(|card| format!("card:{card}"))).collect();
    accounts.sort();
    wanted.sort();
    assert_eq!(accounts, wanted, "each account has one line");
    assert_eq!(total, 40 * 100 + 10 * 50);
    assert_eq!(world.check_books().await.posted("unclaimed", "ECOPAY"), total.into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wind_down_raced_against_payments_and_transfers_leaves_every_yen_in_one_account() {
    let world = world("wind-down-races").await;
    let shop = world.merchant().await;
    let customers = join_all((0..12).map(|_| world.customer_with("300"))).await;
    let pays: Vec<Call> = customers.iter().map(|customer| customer.pays(&shop, "100")).collect();
    let pairs = customers.iter().zip(customers.iter().cycle().skip(1));
    let sends: Vec<Call> = pairs.map(|(from, to)| from.sends(to, "50")).collect();
    let job = world.started_winding_down().await;
    let traffic = join_all(pays.iter().chain(&sends).map(|call| world.api.settle(call)));
    let (answers, view) = join(traffic, world.ended(&job)).await;
    assert_eq!((&view["status"], &view["done"]), (&json!("done"), &json!(12)), "{view}");
    let paid = answers.iter().take(12).filter(|answer| answer.status == 201).count();
    let books = world.check_books().await;
    assert_eq!(books.posted("unclaimed", "ECOPAY"), i64::try_from(12 * 300 - 100 * paid).unwrap().into());
    let late = world.api.settle(&customers[0].sends(&customers[1], "50")).await;
    assert!(late.status >= 400, "a closed wallet pays: {late:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn record_that_cannot_be_read_stays_open_and_the_others_are_closed() {
    let world = world("wind-down-unreadable").await;
    let (customer, card) = (world.customer_with("300").await, world.card(None, "50").await);
    let books = world.books().await;
    let mut row = books.row(&format!("{}#card#{card}", world.tenant), "card").cloned().expect("a card");
    let _ = row.insert("state".to_owned(), dynamo::Value::S("odd".to_owned()));
    world.plant(row).await;
    let job = world.started_winding_down().await;
    let view = world.ended(&job).await;
    assert_eq!((&view["status"], &view["done"], &view["failed"]), (&json!("done"), &json!(1), &json!(1)));
    let lines = world.job_lines(&job, None, 20).await;
    assert_eq!(line(&lines, &format!("card:{card}"))["code"], "internal");
    assert_eq!(line(&lines, &of(&customer))["rest"], json!({"ECOPAY": "300"}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wind_down_that_was_stopped_before_it_began_closes_nothing() {
    let world = world("wind-down-stop").await;
    let customer = world.customer_with("300").await;
    let job = world.started_winding_down().await;
    let stop = world.stops(&job);
    let stopped = world.api.settle(&stop).await.good();
    assert_eq!((stopped.text("/status"), stopped.json().get("reason")), ("stopping".to_owned(), None));
    assert_eq!(world.api.settle(&stop).await.body, stopped.body, "the stored response is replayed");
    let again = world.api.settle(&world.stops(&job)).await;
    assert_eq!(again.code().unwrap_or_default(), "wrong_state", "{again:?}");
    assert_eq!(world.run_jobs().await.expect("the run succeeds").subjects, 0);
    let view = world.job(&job).await;
    assert_eq!((&view["status"], &view["stop_requested_by"]), (&json!("stopped"), &json!(world.operator.id)), "{view}");
    assert_eq!(world.balance(&customer, "ECOPAY").await, "300");
    assert_eq!(world.job_lines(&job, None, 20).await, Vec::<Value>::new());
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wind_down_is_started_by_an_owner_and_approved_by_another_person() {
    let world = World::new("wind-down-approval").await;
    let customer = world.customer().await;
    let (_, operator) = staff::member(&world, "operator").await;
    let body = json!({"reason": "a mistake"});
    let denied = Call::post("/v1/admin/wind-downs", &operator, &body).key(new_key());
    assert_eq!(world.api.settle(&denied).await.code().unwrap_or_default(), "permission_missing");
    let asked = world.api.settle(&world.winds_down()).await.good();
    assert_eq!(asked.status, 202, "{asked:?}");
    let _ = world.run_jobs().await.expect("the run succeeds");
    let own = world.api.settle(&decides("approve", &asked.text("/approval_id"), &world.operator.who)).await;
    assert_eq!(own.code().unwrap_or_default(), "four_eyes_required");
    let approved = world.api.settle(&decides("approve", &asked.text("/approval_id"), &world.second.who)).await.good();
    let job = approved.text("/job_id");
    let view = world.ended(&job).await;
    assert_eq!((&view["status"], &view["done"]), (&json!("done"), &json!(1)), "{view}");
    assert_eq!(world.job_lines(&job, None, 20).await[0]["subject"], of(&customer));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wind_down_refuses_bad_requests_and_names_what_is_wrong() {
    let (world, stranger) = (world("wind-down-bad").await, self::world("wind-down-stranger").await);
    let job = world.started_winding_down().await;
    let get = |path: &str| Call::get(path, &world.operator.who);
    let lines = format!("/v1/admin/jobs/{job}/lines");
    for query in ["status=closed", "cursor=x", "limit=0", "limit=101", "page=2"] {
        let refused = world.api.send(&get(&format!("{lines}?{query}"))).await;
        assert_eq!((refused.status, refused.code().unwrap_or_default().as_str()), (400, "invalid_request"), "{query}");
    }
    for path in [format!("/v1/admin/jobs/{}", new_id()), format!("/v1/admin/jobs/{}/lines", new_id())] {
        assert_eq!(world.api.send(&get(&path)).await.status, 404, "{path}");
    }
    for path in [format!("/v1/admin/jobs/{job}"), lines] {
        assert_eq!(stranger.api.send(&Call::get(&path, &stranger.operator.who)).await.status, 404, "{path}");
    }
    let stop = stranger.api.settle(&stranger.stops(&job)).await;
    assert_eq!(stop.status, 404, "{stop:?}");
    let silent = Call::post("/v1/admin/wind-downs", &world.operator.who, &json!({})).key(new_key());
    assert_eq!(world.api.settle(&silent).await.code().unwrap_or_default(), "invalid_request");
    assert_eq!(world.job(&job).await["status"], "waiting");
}
