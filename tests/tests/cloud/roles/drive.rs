//! Runs everything that the functions do: each operation with a success, workers with work, Stripe's events, and paths
//! that make additional requests to the store.

use super::figures;
use ledger_core::settlements::{Compensation, Step, Task};
use ledger_local::faces::FACES;
use ledger_tests::audit::{n, s};
use ledger_tests::cloud::gate;
use ledger_tests::http::endpoints::{Endpoint, Stage};
use ledger_tests::http::event_tap::EventTap;
use ledger_tests::http::psp_tap::Mishap;
use ledger_tests::http::settling::{self, local_settler};
use ledger_tests::http::topup_rig::{LEASE_OVER, Rig, Scene};
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Customer, Host, Merchant, Who, World, assets, shops};
use serde_json::{Value, json};
use std::time::Duration;

/// The item of a customer's money in split records.
pub(crate) const BALANCE: &str = "BALANCE#ECOPAY";
/// Past the demo's hour to pay, and past Stripe's memory of a key.
const LATER: Duration = Duration::from_secs(2 * 60 * 60);

/// Everything of a tenant with split records.
pub(crate) async fn everything() {
    let world = World::with_terms(Host::fresh(), "driven", assets::with_spring).await;
    // Deliveries are held so that their number and time are fixed.
    world.hold_deliveries().await;
    warm_up(&world).await;
    let stage = Stage::new(world).await;
    traffic(&stage).await;
    settlements(&stage).await;
    assert!(stage.world.seal().await.expect("the run succeeds").records > 0);
    assert_eq!(stage.world.fold().await.days, 1);
    reconciliations(&stage, BALANCE).await;
    let phase = Call::new("PUT".parse().expect("a method"), "/v1/admin/idempotency/phase", &stage.world.operator.who);
    let _ = stage.world.api.settle(&phase.json(&json!({"phase": "mandatory"}))).await.good();
    in_flight(async |_| {}).await;
}

async fn is_migrating(world: &World) -> bool {
    gate::as_test(world.app.dynamo().layout(&world.slug())).await.expect("a layout").is_migrating()
}

/// Each operation that does not depend on the migration, and what follows from them.
pub(crate) async fn traffic(stage: &Stage) {
    let is_migrating = is_migrating(&stage.world).await;
    for endpoint in Endpoint::ALL.into_iter().filter(|endpoint| !endpoint.is_migrations()) {
        // No customer of a tenant in migration is closed or moved, no account of it has limits of its own, and its terms
        // have no versions.
        let needs_split = matches!(
            endpoint,
            Endpoint::AccountLimits
                | Endpoint::SignInMove
                | Endpoint::CustomerClose
                | Endpoint::CustomerErase
                | Endpoint::UnclaimedClaim
                | Endpoint::UnclaimedPayout
                | Endpoint::WindDown
                | Endpoint::AssetBudget
                | Endpoint::TermsChange
                | Endpoint::TermsCancel
        );
        if needs_split && is_migrating {
            continue;
        }
        let prepared = endpoint.prepare(stage).await;
        let answer = stage.world.api.settle(&prepared.call).await;
        assert_eq!(answer.status, prepared.status, "{endpoint:?}: {answer:?}");
        // What was stored is executed by its approval.
        if answer.status == 202 {
            let _ = stage.world.executes(&prepared.call).await.good();
        }
    }
    views(stage).await;
    points(stage).await;
    cards(stage).await;
    events(stage).await;
    let _ = stage.world.run_jobs().await.expect("the run succeeds");
    let _ = stage.world.recover().await.expect("the run succeeds");
    let _ = stage.world.credit().await.expect("the run succeeds");
    let _ = stage.world.publish(&EventTap::default(), Vec::new()).await.expect("the run succeeds");
}

/// Each function's warm-up request.
async fn warm_up(world: &World) {
    let workers = ["jobs", "outbox", "settlement", "reconcile", "migrate"];
    for name in FACES.map(|(name, _)| name).into_iter().chain(workers) {
        gate::as_function(name, world.app.dynamo().warm_up()).await.expect("the store is available");
    }
}

/// Every view.
async fn views(stage: &Stage) {
    let Stage { world, merchant, terminal } = stage;
    let (customer, payment) = stage.paid("300").await;
    let (card, card_payment, _) = stage.paid_by_card("300").await;
    let pay = customer_pays(world, &customer, merchant).await;
    let topup = world.paid_topup(&customer, "1000").await;
    let refund = world.api.settle(&topup.refund(world, "100")).await.good().text("/refund_id");
    let approve = world.approval(&json!({"customer_id": customer.id}), "credit", "1").await;
    let adjustment = approve.path.replace("/approvals/", "/adjustments/").replace("/approve", "");
    let bulk = json!({"customer_ids": [customer.id], "asset": "POINT", "amount": "5", "reason": "thanks"});
    let job = world
        .executes(&Call::post("/v1/admin/grants", &world.operator.who, &bulk).key(new_key()))
        .await
        .good()
        .text("/job_id");
    let view = async |path: String, who: &Who| {
        let _ = world.api.send(&Call::get(&path, who)).await.good();
    };
    let own = &customer.who;
    for path in ["", "/balances", "/cards", "/limits", "/transactions", "/topups"] {
        view(format!("/v1/me{path}"), own).await;
    }
    view(format!("/v1/me/transactions/{}", pay.1), own).await;
    view(format!("/v1/me/operations/pay/{}", pay.0), own).await;
    view(format!("/v1/me/operations/pay?key={}", pay.0), own).await;
    view(format!("/v1/me/topups/{}", topup.id), own).await;
    view(format!("/v1/me/merchants/{}", merchant.id), own).await;
    for path in ["", "/balances", "/payments", "/qr?amount=5&asset=POINT", "/operations/charge?key=k"] {
        view(format!("/v1/merchant{path}"), &merchant.who).await;
    }
    figures::views(stage, &customer.id, &card).await;
    view(format!("/v1/merchant/operations/charge/{}", new_key()), &merchant.who).await;
    view(format!("/v1/merchant/payments/{payment}"), &merchant.who).await;
    let staff = &world.operator.who;
    view(adjustment, staff).await;
    let file = world.written_file().await;
    for part in ["", "/transfers", "/content"] {
        view(format!("/v1/admin/bank-files/{file}{part}"), staff).await;
    }
    let decision = Endpoint::DecisionRequest.prepare(stage).await.call;
    let id = world.api.settle(&decision).await.good().text("/approval_id");
    view(format!("{}/{id}", decision.path), staff).await;
    view(format!("/v1/admin/approvals/{id}"), staff).await;
    for path in [
        "assets",
        "attention",
        "audit",
        "audit/seals",
        "bank-files",
        "breaks",
        "cards",
        "holds",
        "idempotency/readiness",
        "jobs",
        "merchants",
        "payments",
        "refunds",
        "settlements",
        "terms",
        "topups",
    ] {
        view(format!("/v1/admin/{path}"), staff).await;
    }
    for resource in [format!("topup:{}", topup.id), format!("payment:{payment}")] {
        view(format!("/v1/admin/audit?resource={resource}"), staff).await;
    }
    for (path, id) in [
        ("cards", &card),
        ("customers", &customer.id),
        ("jobs", &job),
        ("merchants", &merchant.id),
        ("terminals", &terminal.id),
        ("topups", &topup.id),
    ] {
        view(format!("/v1/admin/{path}/{id}"), staff).await;
    }
    view(format!("/v1/admin/customers/{}/limits", customer.id), staff).await;
    view(format!("/v1/admin/customers/{}/transactions", customer.id), staff).await;
    view(format!("/v1/admin/customers/{}/topups", customer.id), staff).await;
    view(format!("/v1/admin/merchants/{}/payments", merchant.id), staff).await;
    view(format!("/v1/admin/merchants/{}/shops", merchant.id), staff).await;
    let shop = shops::opened(world, merchant, "Station").await;
    for path in ["shops".to_owned(), format!("shops/{shop}"), format!("terminals/{}", stage.terminal.id)] {
        view(format!("/v1/merchant/{path}"), &merchant.who).await;
    }
    view("/v1/merchant/terminals".to_owned(), &merchant.who).await;
    view(format!("/v1/admin/cards/{card}/transactions"), staff).await;
    let batch = Endpoint::CardBatch.prepare(stage).await.call;
    let batch = world.api.settle(&batch).await.good().text("/job_id");
    view(format!("/v1/admin/card-batches/{batch}"), staff).await;
    view(format!("/v1/admin/jobs/{batch}"), staff).await;
    let _ = world.job_lines(&batch, None, 20).await;
    let run = world.executes(&world.runs_settlements("2026-11-20")).await.good().text("/job_id");
    let _ = world.settlement_run(&run).await;
    let _ = world.settlement_run_merchants(&run, None, 20).await;
    view("/v1/admin/terminals".to_owned(), staff).await;
    let search = Call::post("/v1/admin/merchants/search", staff, &json!({"name": "a"}));
    let _ = world.api.send(&search).await.good();
    // Customers of a tenant in migration are in no lists.
    if !is_migrating(world).await {
        spent_points(stage).await;
        let closed = world.closed_customer().await;
        let _ = world.erased(&closed).await;
        let _ = world.erases_texts().await;
        let _ = world.erasure(&closed).await;
        let job = world.started_winding_down().await;
        let _ = world.job_lines(&job, None, 20).await;
        view(format!("/v1/admin/customers/{}/file", customer.id), staff).await;
        view("/v1/admin/customers".to_owned(), staff).await;
        for body in [json!({"name": "Yu"}), json!({"email": "first@example.jp"})] {
            let search = Call::post("/v1/admin/customers/search", staff, &body);
            let _ = world.api.send(&search).await.good();
        }
    }
    view(format!("/v1/admin/payments/{payment}"), staff).await;
    let preview = Endpoint::TermsPreview.prepare(stage).await.call;
    let preview = world.api.settle(&preview).await.good();
    view(preview.header("location").expect("a location").to_owned(), staff).await;
    for of in [
        format!("customers/{}", customer.id),
        format!("merchants/{}", merchant.id),
        format!("terminals/{}", terminal.id),
    ] {
        view(format!("/v1/admin/{of}/operations/pay?key={}", pay.0), staff).await;
    }
    let collection = Endpoint::CashCollection.prepare(stage).await.call;
    let counter = collection.path.split('/').nth(4).expect("an id");
    view(format!("/v1/admin/counters/{counter}"), staff).await;
    view("/v1/admin/cash-room".to_owned(), staff).await;
    view(format!("/v1/admin/notices/{}", changed_contact(world, &customer).await), staff).await;
    view(format!("/v1/admin/topups/{}/refunds/{refund}", topup.id), staff).await;
    view("/v1/admin/staff".to_owned(), staff).await;
    view(format!("/v1/admin/staff/{}", world.operator.id), staff).await;
    view("/v1/admin/staff/me/beneficiaries".to_owned(), staff).await;
    let approval = ledger_tests::http::approvals::stored_grant(world, &customer.id, "300").await;
    for path in ["".to_owned(), "?state=pending".to_owned(), format!("/{approval}")] {
        view(format!("/v1/admin/approvals{path}"), staff).await;
    }
    let _ = ledger_tests::http::staff::requested_recovery(world, [&new_id(), &new_id()]).await;
    view("/v1/admin/owner-recovery".to_owned(), staff).await;
    let owned = ledger_tests::http::staff::owned_merchant(world).await;
    let members = world.api.send(&Call::get("/v1/merchant/staff", &owned.who)).await.good();
    view(format!("/v1/merchant/staff/{}", members.text("/items/0/staff_id")), &owned.who).await;
    view(format!("/v1/admin/merchants/{}/staff", owned.id), staff).await;
    view(format!("/v1/terminal/cards/{card}"), &terminal.who).await;
    view(format!("/v1/terminal/operations/card_pay/{}", card_payment.key.as_deref().expect("a key")), &terminal.who)
        .await;
    view("/v1/terminal/totals".to_owned(), &terminal.who).await;
}

/// The id of the notice of a customer's changed e-mail address, which is announced.
async fn changed_contact(world: &World, customer: &Customer) -> String {
    for email in ["first@example.jp", "second@example.jp"] {
        let call = Call::patch("/v1/me", &customer.who, &json!({ "email": email })).key(new_key());
        let _ = world.api.settle(&call).await.good();
    }
    let tap = EventTap::default();
    let _ = world.announce_notices(&tap).await.expect("the run succeeds");
    let event = tap.announced().pop().expect("an event");
    let detail: serde_json::Value = serde_json::from_str(&event.detail).expect("JSON");
    detail["notice_id"].as_str().expect("an id").to_owned()
}

/// A settlement that is started, compensated and listed.
async fn settlements(stage: &Stage) {
    let Stage { world, .. } = stage;
    let merchant = settling::payable(world).await;
    let customer = world.customer_with("1000").await;
    let _ = world.api.settle(&customer.pays(&merchant, "1000")).await.good();
    let _ = world.credit().await.expect("the run succeeds");
    let at = settling::opened(world, &merchant).await;
    assert!(world.start_settlements().await.expect("the run succeeds").started > 0);
    let settler = local_settler(&world.app);
    for task in [Task::Do(Step::Collect), Task::Do(Step::Hold), Task::Undo(Compensation::Hold)] {
        let _ = gate::as_function("settlement", settlement::run(&settler, &at, task)).await.expect("a task");
    }
    let all = gate::as_function("settlement", settlement::run(&settler, &at, Task::Undo(Compensation::Collect)));
    let _ = all.await.expect("a task");
    let staff = &world.operator.who;
    let of_merchant = format!("/v1/admin/merchants/{}/settlements", merchant.id);
    for (path, who) in [
        (of_merchant.clone(), staff),
        (format!("{of_merchant}/{}", at.id), staff),
        ("/v1/merchant/settlements".to_owned(), &merchant.who),
        (format!("/v1/merchant/settlements/{}", at.id), &merchant.who),
    ] {
        let _ = world.api.send(&Call::get(&path, who)).await.good();
    }
}

/// A reconciliation of books with breaks in each kind of group, which are read again, and its views. `money` is the
/// item of a customer's money.
pub(crate) async fn reconciliations(stage: &Stage, money: &str) {
    let Stage { world, merchant, .. } = stage;
    let customer = world.customer_with("1000").await;
    let _ = world.api.settle(&customer.pays(merchant, "100")).await.good();
    let _ = world.credit().await.expect("the run succeeds");
    let books = world.books().await;
    for (kind, id, item) in [("customer", &customer.id, money), ("merchant", &merchant.id, BALANCE)] {
        let pk = format!("{}#{kind}#{id}", world.tenant);
        // A merchant that seals credit has no balance item before its first settlement.
        let keys = [("uuid", s(&pk)), ("type", s(item)), ("updated_at", s(world.app.now()))];
        let absent = || keys.map(|(name, value)| (name.to_owned(), value)).into();
        let mut row = books.row(&pk, item).cloned().unwrap_or_else(absent);
        row.insert("balance".to_owned(), n(7));
        world.plant(row).await;
    }
    let report = world.reconciled().await;
    assert_eq!(report["status"], "breaks", "{report}");
    for account in [format!("customer:{}", customer.id), format!("merchant:{}", merchant.id)] {
        let mut found = report["findings"]["items"].as_array().expect("findings").iter();
        assert!(found.any(|found| found["kind"] == "balance_differs" && found["subject"] == account), "{report}");
    }
    let _ = world.reconcile_as(|settings| settings.nightly = true).await.expect("the run succeeds");
    let _ = world.api.send(&Call::get("/v1/admin/reconciliation", &world.operator.who)).await.good();
}

/// The key and the transaction id of a payment.
async fn customer_pays(world: &World, customer: &Customer, merchant: &Merchant) -> (String, String) {
    world.adjust(&json!({"customer_id": customer.id}), "credit", "100").await;
    let call = customer.pays(merchant, "100");
    let paid = world.api.settle(&call).await.good();
    (call.key.expect("a key"), paid.text("/transaction_id"))
}

/// Payments with points and regional currency, including balances that net to zero.
async fn points(stage: &Stage) {
    let Stage { world, merchant, .. } = stage;
    let customer = world.customer_with("2000").await;
    world.grant(&customer, "POINT", "600").await;
    world.grant(&customer, "REGIONAL#aoba", "1000").await;
    // In one case the points earned equal the points spent.
    for body in [
        json!({"amount": "1500", "points": "500", "regional": {"aoba": "500"}}),
        json!({"amount": "101", "points": "1"}),
        json!({"amount": "50", "points": "50"}),
    ] {
        let mut body = body;
        body["merchant_id"] = json!(merchant.id);
        let payment = world.api.settle(&customer.pays(merchant, "1").json(&body)).await.good().text("/payment_id");
        let _ = world.api.settle(&merchant.refunds(&payment, "10")).await.good();
        let rest = json!({});
        let _ = world.api.settle(&merchant.refunds(&payment, "1").json(&rest)).await.good();
    }
    // A refund after the earned points were spent.
    let spender = world.customer_with("2000").await;
    let payment = world.api.settle(&spender.pays(merchant, "1000")).await.good().text("/payment_id");
    let earned = world.balance(&spender, "POINT").await;
    let spends = json!({"merchant_id": merchant.id, "amount": earned, "points": earned});
    let _ = world.api.settle(&spender.pays(merchant, "1").json(&spends)).await.good();
    let _ = world.api.settle(&merchant.refunds(&payment, "1").json(&json!({}))).await.good();
}

/// A terminal's charge that is reversed after the points that it earned were spent.
async fn spent_points(stage: &Stage) {
    let Stage { world, merchant, terminal } = stage;
    let (spender, charge, _) = stage.charged("2000").await;
    let earned = world.balance(&spender, "POINT").await;
    let spends = json!({"merchant_id": merchant.id, "amount": earned, "points": earned});
    let _ = world.api.settle(&spender.pays(merchant, "1").json(&spends)).await.good();
    let _ = world.api.settle(&terminal.reverses_charge(&charge)).await.good();
}

/// Reversals of card operations, cash rooms, a new enrolment, and a refused top-up.
async fn cards(stage: &Stage) {
    let Stage { world, terminal, .. } = stage;
    let (card, _, payment) = stage.paid_by_card("500").await;
    let refund = terminal.does("refund", &card, &json!({"payment_id": payment, "amount": "100"}));
    let _ = world.api.settle(&refund).await.good();
    let _ = world.api.settle(&terminal.reverses("card_refund", &refund)).await.good();
    let topup = terminal.does("topup", &card, &json!({"amount": "10"}));
    let _ = world.api.settle(&topup).await.good();
    let _ = world.api.settle(&terminal.reverses("card_topup", &topup)).await.good();
    let never_sent = terminal.does("pay", &new_id(), &json!({"amount": "1"}));
    let _ = world.api.settle(&terminal.reverses("card_pay", &never_sent)).await.good();
    let above_cap = terminal.does("topup", &card, &json!({"amount": "20001"}));
    let _ = world.api.settle(&above_cap).await.problem(400, "cap_exceeded");
    let shop = world.merchant().await;
    let till = world.till(&shop, "100").await;
    for path in [format!("merchants/{}", shop.id), format!("terminals/{}", till.id)] {
        let read = Call::get(&format!("/v1/admin/{path}/cash-room"), &world.operator.who);
        let _ = world.api.send(&read).await.good();
    }
    let _ = world.api.send(&Call::get("/v1/admin/assets", &world.operator.who)).await.good();
    let _ = world.refund_ceiling(&shop.id, "100").await;
    let read = Call::get(&format!("/v1/admin/merchants/{}/refund-room", shop.id), &world.operator.who);
    let _ = world.api.send(&read).await.good();
    let again = world.enrol(&terminal.id).await;
    let _ = world.api.settle(&again.does("topup", &card, &json!({"amount": "1"}))).await.good();
}

/// Stripe's unrequested events, for wallets that have the money and for one that does not.
async fn events(stage: &Stage) {
    let Stage { world, merchant, .. } = stage;
    for (what, event, spent) in [
        ("dispute", "charge.dispute.funds_withdrawn", false),
        ("dispute", "charge.dispute.funds_withdrawn", true),
        ("refund", "refund.created", false),
    ] {
        let customer = world.customer().await;
        let topup = world.paid_topup(&customer, "1000").await;
        if spent {
            let _ = world.api.settle(&customer.pays(merchant, "1000")).await.good();
        }
        let object = world.stripe(&format!("/payment_intents/{}/{what}", topup.intent), &json!({})).await;
        let id = object["id"].as_str().expect("an id");
        assert_eq!(world.deliver(event, id).await, 200, "{event}");
        if what == "dispute" {
            let _ = world.stripe(&format!("/disputes/{id}/win"), &json!({})).await;
            assert_eq!(world.deliver("charge.dispute.funds_reinstated", id).await, 200);
        }
    }
}

/// Requests with unknown outcomes and lost events, completed by the recovery worker, with tenants that `put` has
/// changed.
pub(crate) async fn in_flight(put: impl AsyncFn(&World)) {
    let rig = Rig::new().await;
    for (at, mishap) in [Mishap::LostBefore, Mishap::LostAfter, Mishap::MayPass].into_iter().enumerate() {
        let scene = rig.scene(&format!("in-flight-{at}")).await;
        put(&scene.world).await;
        let topup = unseen(&scene, &scene.topup(), mishap, |_| {}).await;
        let paid = scene.paid().await;
        let _ = unseen(&scene, &scene.refund(&paid), mishap, |_| {}).await;
        assert!(topup["topup_id"].is_string(), "{topup}");
    }
    // A top-up paid without an event, and an unpaid one.
    for (tenant, paid) in [("paid-no-event", true), ("abandoned", false)] {
        let scene = rig.scene(tenant).await;
        put(&scene.world).await;
        let _ = unseen(&scene, &scene.topup(), Mishap::LostAfter, |scene| {
            if paid {
                scene.pay()
            }
        })
        .await;
    }
}

/// A request meets a mishap on its way to Stripe, and the worker completes it; returns a retry's response.
async fn unseen(scene: &Scene, call: &Call, mishap: Mishap, meanwhile: impl Fn(&Scene)) -> Value {
    let [client, worker] = [scene.rig.actor().await, scene.rig.actor().await];
    client.psp.next_sends([Some(mishap)]);
    let _ = client.send(call).await;
    meanwhile(scene);
    for ahead in [LEASE_OVER, LEASE_OVER * 4, LATER] {
        worker.clock.ahead(ahead);
        let _ = worker.recover(scene).await.expect("the store is available");
    }
    client.settle(call).await.good().json()
}
