//! Terminals and merchants that are closed, while other requests of them arrive.
#![cfg(feature = "stack")]

use futures::future::{join, join_all};
use ledger_core::dynamo;
use ledger_local::credential::Credential;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Who, World, approvals, shops};
use serde_json::{Value, json};

async fn stage(name: &str) -> Stage {
    Stage::new(World::new(name).await).await
}

async fn seen(world: &World, path: &str, who: &Who) -> Value {
    world.api.send(&Call::get(path, who)).await.good().json()
}

fn open(answer: &Answer) -> Value {
    assert_eq!((answer.status, answer.code().unwrap_or_default().as_str()), (400, "wrong_state"), "{answer:?}");
    answer.json()["open"].clone()
}

fn patch(world: &World, path: &str, body: &Value) -> Call {
    Call::patch(path, &world.operator.who, body).key(new_key())
}

#[tokio::test]
async fn closed_terminal_signs_nothing_and_is_neither_unfrozen_nor_enrolled_again() {
    let world = World::new("closing-terminal").await;
    let merchant = world.merchant().await;
    let terminal = world.terminal(&merchant).await;
    let stage = Stage { world, merchant, terminal };
    let Stage { world, merchant, terminal } = &stage;
    let shop = shops::opened(world, merchant, "Station").await;
    let _ = shops::assigned(world, merchant, &terminal.id, &shop).await.good();
    let (card, paid, payment) = stage.paid_by_card("500").await;
    let at = format!("/v1/admin/terminals/{}", terminal.id);
    // A code that was issued before the close enrols nothing after it.
    let code = approvals::issued(world, &format!("{at}/enrolment")).await.text("/code");
    let close = world.closes_terminal(&terminal.id);
    let closed = world.api.settle(&close).await.good();
    assert_eq!(closed.text("/status"), "closed");
    let again = world.api.settle(&close).await;
    assert_eq!((again.stored(), again.replayed()), (closed.stored(), true));
    assert_eq!(open(&world.api.settle(&world.closes_terminal(&terminal.id)).await), Value::Null);

    let view = seen(world, &at, &world.operator.who).await;
    assert_eq!((&view["status"], &view["closed_at"]), (&json!("closed"), &closed.json()["closed_at"]));
    assert_eq!((&view["epoch"], &view["shop_id"]), (&json!(2), &Value::Null), "{view}");
    let state = seen(world, &format!("/v1/merchant/shops/{shop}"), &merchant.who).await;
    assert_eq!(state["assigned"], json!(0));
    for call in [terminal.does("pay", &card, &json!({"amount": "1"})), terminal.reverses("card_pay", &paid)] {
        let _ = world.api.send(&call).await.problem(401, "signature_invalid");
    }
    let (_, key) = Credential::key_pair().expect("a key pair");
    let enrol = Call::post("/v1/terminal/enrolments", &Who::Anonymous, &json!({"code": code, "public_key": key}));
    let _ = world.api.send(&enrol).await.problem(404, "not_found");
    let ceiling = json!({"ceiling": "1000"});
    let _ = world.operator(&format!("/v1/admin/merchants/{}/cash-room", merchant.id), &ceiling).await;
    let refused = [
        patch(world, &at, &json!({"status": "active"})),
        Call::post(&format!("{at}/enrolment"), &world.operator.who, &json!({})).key(new_key()),
        Call::post(&format!("{at}/cash-room"), &world.operator.who, &json!({"allot": "1"})).key(new_key()),
        shops::assigns(merchant, &terminal.id, &shop),
    ];
    for call in refused {
        let answer = world.executes(&call).await;
        assert_eq!(answer.code().unwrap_or_default(), "wrong_state", "{call:?}: {answer:?}");
    }
    // The payment can still be refunded by the merchant.
    let _ = world.api.settle(&merchant.refunds(&payment, "100")).await.good();
    assert_eq!(world.reconciled().await["status"], "clean");
}

#[tokio::test]
async fn close_of_a_terminal_against_payments_and_enrolments_ends_in_one_state() {
    let stage = stage("closing-terminal-race").await;
    let Stage { world, merchant, .. } = &stage;
    for _ in 0..4 {
        let terminal = world.terminal(merchant).await;
        let card = world.card(None, "500").await;
        let pays = terminal.does("pay", &card, &json!({"amount": "100"}));
        let close = world.closes_terminal(&terminal.id);
        let (paid, closed) = join(world.api.settle(&pays), world.api.settle(&close)).await;
        let _ = closed.good();
        assert!(matches!(paid.status, 201 | 401), "{paid:?}");
        let expected = if paid.status == 201 { "400" } else { "500" };
        assert_eq!(world.card_balance(&card).await, expected);
    }
    assert_eq!(world.reconciled().await["status"], "clean");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchant_is_closed_once_everything_is_paid_and_open_names_what_is_not() {
    let settling = Settling::new("closing-merchant").await;
    let (world, merchant) = (&settling.world, &settling.merchant);
    let terminal = world.terminal(merchant).await;
    let at = format!("/v1/admin/merchants/{}", merchant.id);
    let payment = settling.take("1000").await;
    let customer = world.customer_with("500").await;
    let holds = merchant.authorizes(&customer.code(world).await, "300");
    let held = world.api.settle(&holds).await.good().text("/payment_id");
    let begin = world.closes_merchant(&merchant.id);
    let begun = world.api.settle(&begin).await.good();
    assert_eq!((begun.text("/status"), begun.json()["closed_at"].is_null()), ("closing".to_owned(), true));
    let refused = world.api.settle(&world.closes_merchant(&merchant.id)).await;
    assert_eq!(open(&refused), json!(["holds", "terminals", "balance:ECOPAY", "payments"]));
    // From the beginning on, nothing that would change its balance is accepted but what ends the holds.
    let refused = |code: String| {
        let opens = json!({"merchant_id": merchant.id});
        [
            merchant.refunds(&payment, "100"),
            merchant.charges(&code, "1"),
            customer.pays(merchant, "1"),
            Call::post("/v1/admin/terminals", &world.operator.who, &opens).key(new_key()),
        ]
    };
    for call in refused(customer.code(world).await) {
        let answer = world.api.settle(&call).await;
        assert_eq!(answer.code().unwrap_or_default(), "wrong_state", "{call:?}: {answer:?}");
    }
    let _ = world.api.settle(&merchant.voids(&held)).await.good();
    let _ = world.api.settle(&world.closes_terminal(&terminal.id)).await.good();
    // The status `active` gives the close up, and it begins again.
    world.change(&at, &json!({"status": "active"})).await;
    let _ = world.api.settle(&merchant.refunds(&payment, "100")).await.good();
    world.began_closing(merchant).await;
    let refused_while_owed = world.api.settle(&world.closes_merchant(&merchant.id)).await;
    assert_eq!(open(&refused_while_owed), json!(["balance:ECOPAY"]));
    settling.credit().await;
    let settlement = settling.close().await;
    let while_settled = world.api.settle(&world.closes_merchant(&merchant.id)).await;
    assert_eq!(open(&while_settled), json!(["balance:ECOPAY", "settlement"]));
    let _ = settling.walk(&settlement).await;
    let close = world.closes_merchant(&merchant.id);
    let closed = world.api.settle(&close).await.good();
    assert_eq!(closed.text("/status"), "closed");
    let again = world.api.settle(&close).await;
    assert_eq!((again.stored(), again.replayed()), (closed.stored(), true));
    assert_eq!(world.api.settle(&begin).await.stored(), begun.stored());

    let view = seen(world, &at, &world.operator.who).await;
    assert_eq!((&view["status"], &view["closed_at"]), (&json!("closed"), &closed.json()["closed_at"]));
    let mut all = Vec::from(refused(customer.code(world).await));
    all.push(world.closes_merchant(&merchant.id));
    all.extend(["active", "suspended"].map(|status| patch(world, &at, &json!({"status": status}))));
    for call in all {
        let answer = world.api.settle(&call).await;
        assert_eq!(answer.code().unwrap_or_default(), "wrong_state", "{call:?}: {answer:?}");
    }
    // Its staff can read what was.
    let listed = seen(world, "/v1/merchant/payments", &merchant.who).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 3, "{listed}");
    let run = world.reconciled().await;
    assert_eq!(run["status"], "clean", "{run}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn terminal_of_a_merchant_that_is_being_closed_reverses_nothing() {
    let stage = stage("closing-reversals").await;
    let Stage { world, merchant, terminal } = &stage;
    let (card, paid, _) = stage.paid_by_card("500").await;
    let customer = world.customer_with("500").await;
    let body = json!({"code": customer.code(world).await, "amount": "100"});
    let charge = Call::post("/v1/terminal/charges", &terminal.who, &body).key(terminal.next_key());
    let _ = world.api.settle(&charge).await.good();
    world.began_closing(merchant).await;
    let path = format!("/v1/terminal/charges/{}/reverse", charge.key.as_deref().expect("a key"));
    let reverse = Call::post(&path, &terminal.who, &json!({})).key(terminal.next_key());
    for call in [terminal.reverses("card_pay", &paid), reverse] {
        let answer = world.api.settle(&call).await;
        assert_eq!(answer.code().unwrap_or_default(), "wrong_state", "{answer:?}");
    }
    assert_eq!((world.card_balance(&card).await, world.balance(&customer, "ECOPAY").await), ("0".into(), "400".into()));
    let _ = world.check_books().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn merchant_is_closed_once_in_parallel_and_not_while_a_settlement_is_open() {
    for round in 0..3 {
        let settling = Settling::new(&format!("closing-race-{round}")).await;
        let (world, merchant) = (&settling.world, &settling.merchant);
        world.began_closing(merchant).await;
        let calls = [world.closes_merchant(&merchant.id), world.closes_merchant(&merchant.id), settling.closing()];
        let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
        let closed = answers[..2].iter().filter(|answer| answer.status == 200).count();
        assert!(closed <= 1, "{answers:?}");
        if closed == 0 {
            // The settlement was first: the merchant is closed when it has ended.
            let settlement = settling.named_in(&answers[2]);
            let refused = world.api.settle(&world.closes_merchant(&merchant.id)).await;
            assert_eq!(open(&refused), json!(["settlement"]));
            let _ = settling.walk(&settlement).await;
            let _ = world.api.settle(&world.closes_merchant(&merchant.id)).await.good();
        }
        let view = seen(world, &format!("/v1/admin/merchants/{}", merchant.id), &world.operator.who).await;
        assert!(view["closed_at"].is_string(), "{view}");
        let _ = world.check_books().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_that_begins_against_payments_and_refunds_leaves_the_books_whole() {
    let settling = Settling::new("closing-against").await;
    let (world, merchant) = (&settling.world, &settling.merchant);
    let payment = settling.take("1000").await;
    let customer = world.customer_with("500").await;
    let mut calls = vec![world.closes_merchant(&merchant.id)];
    calls.extend((0..4).map(|_| customer.pays(merchant, "100")));
    calls.extend((0..4).map(|_| merchant.refunds(&payment, "100")));
    for answer in join_all(calls.iter().map(|call| world.api.settle(call))).await {
        assert!(matches!(answer.status, 200 | 201 | 400), "{answer:?}");
        assert!(answer.status < 400 || answer.code().as_deref() == Some("wrong_state"), "{answer:?}");
    }
    let _ = world.check_books().await;
    let run = world.reconciled().await;
    assert_eq!(run["status"], "clean", "{run}");
}

#[tokio::test]
async fn terminal_of_a_merchant_that_cannot_be_read_is_not_registered() {
    let world = stage("closing-unreadable").await.world;
    let merchant = world.merchant().await;
    let mut profile = world
        .books()
        .await
        .row(&format!("{}#merchant#{}", world.tenant, merchant.id), "PROFILE")
        .cloned()
        .expect("a row");
    let _ = profile.insert("shards".to_owned(), dynamo::Value::S("four".to_owned()));
    world.plant(profile).await;
    let opens = json!({"merchant_id": merchant.id});
    let opens = Call::post("/v1/admin/terminals", &world.operator.who, &opens).key(new_key());
    assert_eq!(world.api.send(&opens).await.status, 500);
    assert_eq!(world.books().await.under("PROFILE").filter(|(pk, ..)| pk.contains("#terminal#")).count(), 1);
    let nowhere = json!({"merchant_id": new_id()});
    let nowhere = Call::post("/v1/admin/terminals", &world.operator.who, &nowhere).key(new_key());
    assert_eq!(world.api.settle(&nowhere).await.code().unwrap_or_default(), "not_found");
}
