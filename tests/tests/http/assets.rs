//! The life of assets over HTTP: a regional currency that is added, stopped and retired, and accounts in it that open
//! themselves.
#![cfg(feature = "stack")]

use futures::future::{join, join_all};
use ledger_core::terms::TERMS_LEAD;
use ledger_core::time::Timestamp;
use ledger_tests::http::terms::{CHANGES, body, timed};
use ledger_tests::http::topup_rig::TestClock;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Customer, Merchant, World};
use serde_json::{Value, json};
use std::time::Duration;

const LEAF: &str = "REGIONAL#leaf";
const SECOND: Duration = Duration::from_secs(1);

/// Stores a change, and waits until it is in force and another one can follow.
async fn change(world: &World, clock: &TestClock, changes: Value) {
    let from = world.app.now().plus(TERMS_LEAD + SECOND);
    let _ = world.operator(CHANGES, &body(&changes, from)).await;
    clock.forward(TERMS_LEAD + TERMS_LEAD + SECOND * 2);
}

/// A tenant to which the currency was added after these customers were opened.
async fn added(tenant: &str, customers: usize) -> (World, TestClock, Vec<Customer>) {
    let (world, clock) = timed(tenant, |_| {}).await;
    let customers = join_all((0..customers).map(|_| world.customer_with("5000"))).await;
    change(&world, &clock, json!({"assets.REGIONAL#leaf.scale": "0"})).await;
    (world, clock, customers)
}

fn grants(world: &World, customer: &str, amount: &str) -> Call {
    let body = json!({"customer_id": customer, "asset": LEAF, "amount": amount, "reason": "for a test"});
    Call::post("/v1/admin/grants", &world.operator.who, &body).key(new_key())
}

fn pays(customer: &Customer, merchant: &Merchant, amount: &str) -> Call {
    let body = json!({"merchant_id": merchant.id, "amount": amount, "regional": {"leaf": amount}});
    customer.pays(merchant, amount).json(&body)
}

fn sends(customer: &Customer, to: &str, amount: &str) -> Call {
    let body = json!({"to_customer_id": to, "amount": amount, "asset": LEAF});
    Call::post("/v1/me/transfers", &customer.who, &body).key(new_key())
}

/// The accounts that a customer sees: asset, balance, and whether it is frozen.
async fn accounts(world: &World, customer: &Customer) -> Vec<(String, String, bool)> {
    let shown = world.api.send(&Call::get("/v1/me/balances", &customer.who)).await.good().json();
    let of = |line: &Value| {
        let text = |name: &str| line[name].as_str().expect("a text").to_owned();
        (text("asset"), text("balance"), line["frozen"].as_bool().unwrap_or(false))
    };
    shown["balances"].as_array().expect("balances").iter().map(of).collect()
}

async fn leaf(world: &World, customer: &Customer) -> Option<String> {
    let all = accounts(world, customer).await;
    all.into_iter().find(|(asset, ..)| asset == LEAF).map(|(_, balance, _)| balance)
}

/// The number of accounts that the profile counts.
async fn counted(world: &World, customer: &Customer) -> usize {
    let books = world.books().await;
    let own = books.under("PROFILE").find(|(pk, ..)| pk.contains(&customer.id));
    let (_, _, profile) = own.expect("a profile");
    ledger_tests::audit::number(profile, "accounts").to_string().parse().expect("a count")
}

fn refused_asset(answer: Answer) {
    let field = answer.problem(400, "invalid_request").text("/field");
    assert!(matches!(&*field, "asset" | "regional"), "{field}");
}

#[tokio::test]
async fn currency_is_granted_sent_and_paid_with_from_its_time_on() {
    let (world, clock) = timed("assets-added", |_| {}).await;
    let (customer, friend, merchant) = (world.customer().await, world.customer().await, world.merchant().await);
    let from = world.app.now().plus(TERMS_LEAD + SECOND);
    let changes = json!({"assets.REGIONAL#leaf.scale": "0", "assets.REGIONAL#leaf.cap": "1000"});
    let _ = world.operator(CHANGES, &body(&changes, from)).await;
    refused_asset(world.executes(&grants(&world, &customer.id, "500")).await);
    clock.forward(TERMS_LEAD + SECOND * 2);
    assert_eq!(leaf(&world, &customer).await, None, "an account that was not opened is not shown");
    let before = counted(&world, &customer).await;
    let grant = grants(&world, &customer.id, "500");
    let granted = world.api.settle(&grant).await.good();
    let _ = world.executes(&grant).await.good();
    assert_eq!(leaf(&world, &customer).await.as_deref(), Some("500"));
    assert_eq!(counted(&world, &customer).await, before + 1);
    let _ = world.api.settle(&sends(&customer, &friend.id, "120")).await.good();
    assert_eq!(leaf(&world, &friend).await.as_deref(), Some("120"));
    let paid = world.api.settle(&pays(&friend, &merchant, "20")).await.good();
    let refund = world.api.settle(&merchant.refunds(&paid.text("/payment_id"), "20")).await.good();
    assert!(refund.json().get("to_breakage").is_none(), "{refund:?}");
    assert_eq!(leaf(&world, &friend).await.as_deref(), Some("120"));
    // The cap of the recipient holds for its first credit too.
    let _ = world.executes(&grants(&world, &customer.id, "1000")).await.good();
    let third = world.customer().await;
    let _ = world.api.settle(&sends(&customer, &third.id, "1001")).await.problem(400, "cap_exceeded");
    assert_eq!(leaf(&world, &third).await.as_deref(), Some("0"));
    let _ = world.api.settle(&sends(&customer, &third.id, "900")).await.good();
    let _ = world.api.settle(&sends(&customer, &third.id, "101")).await.problem(400, "recipient_unavailable");
    let again = world.api.settle(&grant).await;
    assert_eq!((again.stored(), again.replayed()), (granted.stored(), true));
    let _ = world.check_books().await;
}

#[tokio::test]
async fn mistyped_recipient_gets_no_account() {
    let (world, _, customers) = added("assets-mistyped", 1).await;
    let _ = world.executes(&grants(&world, &customers[0].id, "500")).await.good();
    let (absent, before) = (new_id(), world.books().await);
    let _ = world.executes(&grants(&world, &absent, "1")).await.problem(404, "not_found");
    assert!(world.books().await.changes_since(&before).is_empty());
    let _ = world.api.settle(&sends(&customers[0], &absent, "1")).await.problem(400, "recipient_unavailable");
    assert_eq!(leaf(&world, &customers[0]).await.as_deref(), Some("500"));
    let of_absent = world.books().await;
    assert!(!of_absent.under("").any(|(pk, ..)| pk.contains(&absent)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_credits_at_once_open_one_account() {
    let (world, _, customers) = added("assets-at-once", 5).await;
    let target = &customers[4];
    for sender in &customers[..4] {
        let _ = world.executes(&grants(&world, &sender.id, "100")).await.good();
    }
    let before = counted(&world, target).await;
    let mut calls = Vec::new();
    for at in 0..16 {
        calls.push(match at % 2 {
            0 => world.approving(&grants(&world, &target.id, "7")).await,
            _ => sends(&customers[at / 4], &target.id, "5"),
        });
    }
    for answer in join_all(calls.iter().map(|call| world.api.settle(call))).await {
        let _ = answer.good();
    }
    assert_eq!(leaf(&world, target).await.as_deref(), Some("96"));
    assert_eq!(counted(&world, target).await, before + 1);
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn freeze_and_opening_at_once_leave_no_account_out() {
    let (world, _, customers) = added("assets-freeze", 12).await;
    let status = |customer: &Customer, status: &str| {
        let path = format!("/v1/admin/customers/{}", customer.id);
        Call::patch(&path, &world.operator.who, &json!({"status": status})).key(new_key())
    };
    let races = customers.iter().enumerate().map(async |(at, customer)| {
        if at % 2 == 1 {
            let _ = world.api.settle(&status(customer, "frozen")).await.good();
        }
        let to = if at % 2 == 0 { "frozen" } else { "active" };
        let (patch, grant) = (status(customer, to), world.approving(&grants(&world, &customer.id, "10")).await);
        let (patched, granted) = join(world.api.settle(&patch), world.api.settle(&grant)).await;
        let _ = (patched.good(), granted.good());
    });
    let _ = join_all(races).await;
    for (at, customer) in customers.iter().enumerate() {
        let all = accounts(&world, customer).await;
        let expected = at % 2 == 0;
        assert!(all.iter().all(|(.., frozen)| *frozen == expected), "{at}: {all:?}");
        assert_eq!(counted(&world, customer).await, all.len());
    }
    let _ = world.check_books().await;
}

#[tokio::test]
async fn each_state_refuses_what_its_rule_says() {
    let (world, clock, customers) = added("assets-states", 2).await;
    let (customer, friend, merchant) = (&customers[0], &customers[1], world.merchant().await);
    let _ = world.executes(&grants(&world, &customer.id, "1000")).await.good();
    let payment = pays(customer, &merchant, "300");
    let paid = world.api.settle(&payment).await.good();
    let id = paid.text("/payment_id");
    let mut held = 1000 - 300;
    for (state, issued, spent, credited) in [
        ("not_issued", false, true, true),
        ("not_spent", false, false, true),
        ("running", true, true, true),
        ("not_issued", false, true, true),
        ("not_spent", false, false, true),
        ("retired", false, false, false),
    ] {
        change(&world, &clock, json!({"assets.REGIONAL#leaf.state": state})).await;
        for (call, is_allowed, delta) in [
            (grants(&world, &customer.id, "10"), issued, 10),
            (sends(customer, &friend.id, "10"), spent, -10),
            (pays(customer, &merchant, "10"), spent, -10),
        ] {
            let answer = world.executes(&call).await;
            if is_allowed {
                let _ = answer.good();
                held += delta;
            } else {
                refused_asset(answer);
            }
        }
        let bulk = json!({"customer_ids": [customer.id, friend.id], "asset": LEAF, "amount": "1", "reason": "all"});
        let bulk = Call::post("/v1/admin/grants", &world.operator.who, &bulk).key(new_key());
        if !issued {
            refused_asset(world.executes(&bulk).await);
        }
        let refund = world.api.settle(&merchant.refunds(&id, "30")).await.good().json();
        match credited {
            true => {
                held += 30;
                assert!(refund.get("to_breakage").is_none(), "{state}: {refund}");
            }
            false => assert_eq!(refund["to_breakage"], json!({LEAF: "30"}), "{state}"),
        }
        assert_eq!(leaf(&world, customer).await, Some(held.to_string()), "{state}");
    }
    let again = world.api.settle(&payment).await;
    assert_eq!((again.stored(), again.replayed()), (paid.stored(), true));
    // A customer who is opened after it has no account in it.
    let late = world.customer().await;
    assert_eq!(leaf(&world, &late).await, None);
    let back = body(&json!({"assets.REGIONAL#leaf.state": "running"}), world.app.now().plus(TERMS_LEAD + SECOND));
    let back = Call::post(CHANGES, &world.operator.who, &back).key(new_key());
    let refused = world.api.settle(&back).await.problem(400, "invalid_request");
    assert_eq!(refused.text("/field"), "assets.REGIONAL#leaf.state");
    let _ = world.check_books().await;
}

/// Payments in traffic: each of before the time is whole, and none is made from then on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payments_across_a_change_of_state_are_planned_under_one_version() {
    let (world, clock, customers) = added("assets-traffic", 1).await;
    let (customer, merchant) = (&customers[0], world.merchant().await);
    let _ = world.executes(&grants(&world, &customer.id, "5000")).await.good();
    change(&world, &clock, json!({"assets.REGIONAL#leaf.state": "not_issued"})).await;
    let from = world.app.now().plus(TERMS_LEAD + SECOND * 2);
    let _ = world.operator(CHANGES, &body(&json!({"assets.REGIONAL#leaf.state": "not_spent"}), from)).await;
    clock.forward(TERMS_LEAD - SECOND);
    let payments: Vec<Call> = (0..96).map(|_| pays(customer, &merchant, "10")).collect();
    let tasks = payments.chunks(8).enumerate().map(|(at, few)| {
        let (world, clock) = (&world, &clock);
        async move {
            tokio::time::sleep(Duration::from_millis(60 * at as u64)).await;
            clock.forward(Duration::from_millis(250));
            join_all(few.iter().map(|call| world.api.settle(call))).await
        }
    });
    let (mut before, mut after) = (0, 0);
    for answer in join_all(tasks).await.into_iter().flatten() {
        if answer.status == 400 {
            refused_asset(answer);
            after += 1;
        } else {
            let made = Timestamp::parse(&answer.good().text("/created_at")).expect("a time");
            assert!(made < from, "{made} with a change at {from}");
            before += 1;
        }
    }
    assert!(before > 0 && after > 0, "{before} before and {after} after");
    assert_eq!(leaf(&world, customer).await, Some((5000 - 10 * before).to_string()));
    let _ = world.check_books().await;
}

async fn shown(world: &World, asset: &str) -> Value {
    let all = world.api.send(&Call::get("/v1/admin/assets", &world.operator.who)).await.good().json();
    let mut all = all["assets"].as_array().expect("assets").clone().into_iter();
    all.find(|each| each["asset"] == asset).expect("the asset")
}

fn budgets(world: &World, asset: &str, budget: &str) -> Call {
    let body = json!({"asset": asset, "budget": budget, "reason": "for a test"});
    Call::post("/v1/admin/assets/budget", &world.operator.who, &body).key(new_key())
}

#[tokio::test]
async fn assets_are_shown_with_their_states_and_since_when() {
    let (world, clock, _) = added("assets-shown", 0).await;
    let added = shown(&world, LEAF).await;
    assert_eq!(
        (&added["state"], &added["scale"], &added["transferable"]),
        (&json!("running"), &json!(0), &json!(true))
    );
    assert!(added.get("budget").is_none() && added.get("cap").is_none(), "{added}");
    let first = shown(&world, "ECOPAY").await;
    assert_eq!((&first["state"], first.get("since")), (&json!("running"), None));
    change(&world, &clock, json!({"assets.REGIONAL#leaf.state": "not_issued"})).await;
    let stopped = shown(&world, LEAF).await;
    assert_eq!(stopped["state"], "not_issued");
    assert!(stopped["since"].as_str() > added["since"].as_str(), "{stopped} after {added}");
    // Another change keeps the time, and a change that is scheduled is not shown.
    change(&world, &clock, json!({"assets.REGIONAL#leaf.cap": "50"})).await;
    let later = body(&json!({"assets.REGIONAL#leaf.state": "not_spent"}), world.app.now().plus(TERMS_LEAD * 2));
    let _ = world.operator(CHANGES, &later).await;
    let capped = shown(&world, LEAF).await;
    assert_eq!(
        (&capped["since"], &capped["state"], &capped["cap"]),
        (&stopped["since"], &json!("not_issued"), &json!("50"))
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn grants_at_once_never_exceed_a_budget() {
    let (world, clock) = timed("assets-budget", |_| {}).await;
    let customers = join_all((0..16).map(|_| world.customer())).await;
    change(&world, &clock, json!({"assets.REGIONAL#leaf.scale": "0", "assets.REGIONAL#leaf.budgeted": "true"})).await;
    // Without a budget there is nothing to grant.
    let early = grants(&world, &customers[0].id, "1");
    let early = world.approving(&early).await;
    let early_answer = world.api.settle(&early).await.problem(400, "budget_exceeded");
    let _ = world.executes(&budgets(&world, LEAF, "100")).await.good();
    assert!(world.api.settle(&early).await.replayed(), "{early_answer:?}");
    let calls: Vec<Call> = customers.iter().map(|customer| grants(&world, &customer.id, "10")).collect();
    let answers = world.executes_at_once(&calls).await;
    let (good, refused): (Vec<Answer>, Vec<Answer>) = answers.into_iter().partition(|answer| answer.status < 300);
    assert_eq!((good.len(), refused.len()), (10, 6));
    for answer in refused {
        let _ = answer.problem(400, "budget_exceeded");
    }
    let spent = json!({"budget": "100", "issued": "100", "remaining": "0"});
    assert_eq!(shown(&world, LEAF).await["budget"], spent);
    let _ = world.executes(&budgets(&world, LEAF, "99")).await.problem(400, "budget_exceeded");
    let _ = world.executes(&budgets(&world, LEAF, "130")).await.good();
    // The lines of a bulk grant take from it one by one.
    let ids: Vec<&str> = customers[..4].iter().map(|customer| &*customer.id).collect();
    let bulk = json!({"customer_ids": ids, "asset": LEAF, "amount": "10", "reason": "all"});
    let job = world.executes(&Call::post("/v1/admin/grants", &world.operator.who, &bulk).key(new_key())).await;
    let job = job.good().text("/job_id");
    let _ = world.run_jobs().await.expect("the run succeeds");
    let view = world.job(&job).await;
    assert_eq!((&view["done"], &view["failed"]), (&json!(3), &json!(1)));
    assert_eq!(world.job_lines(&job, Some("failed"), 20).await[0]["code"], "budget_exceeded");
    // What is granted moves without it.
    let mut held = customers[..4].iter();
    let payer = loop {
        let next = held.next().expect("one of four lines was granted");
        if leaf(&world, next).await.as_deref().is_some_and(|balance| balance != "0") {
            break next;
        }
    };
    let merchant = world.merchant().await;
    let paid = world.api.settle(&pays(payer, &merchant, "10")).await.good();
    let _ = world.api.settle(&merchant.refunds(&paid.text("/payment_id"), "5")).await.good();
    assert_eq!(shown(&world, LEAF).await["budget"]["issued"], "130");
    let other = world.executes(&budgets(&world, "REGIONAL#aoba", "1")).await.problem(400, "invalid_request");
    assert_eq!(other.text("/field"), "asset");
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claim_of_a_closed_account_opens_the_account_of_its_asset() {
    let (world, clock, customers) = added("asset-claim", 2).await;
    clock.forward(TERMS_LEAD + SECOND);
    let (holder, heir) = (&customers[0], &customers[1]);
    let _ = world.executes(&grants(&world, &holder.id, "300")).await.good();
    let _ = world.executes(&world.closes(&holder.id, true)).await.good();
    let body = json!({
        "account": format!("customer:{}", holder.id), "customer_id": heir.id, "asset": LEAF, "amount": "300",
        "reason": "the holder's heir",
    });
    let claim = Call::post("/v1/admin/unclaimed/claims", &world.operator.who, &body).key(new_key());
    assert_eq!(leaf(&world, heir).await, None);
    let _ = world.executes(&claim).await.good();
    assert_eq!(leaf(&world, heir).await.as_deref(), Some("300"));
    assert_eq!(counted(&world, heir).await, accounts(&world, heir).await.len());
    let _ = world.check_books().await;
}
