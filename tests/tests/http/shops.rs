//! Shops of a merchant over HTTP: what is assigned to them, what their members see, and what payments say of them.
#![cfg(feature = "stack")]

use futures::future::join_all;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Merchant, Who, World, figures, shops, staff};
use rust_decimal::Decimal;
use serde_json::{Value, json};

/// A tenant with a merchant whose token is its owner's.
async fn stage(tenant: &str) -> Stage {
    let world = World::new(tenant).await;
    let merchant = staff::owned_merchant(&world).await;
    let terminal = world.terminal(&merchant).await;
    Stage { world, merchant, terminal }
}

async fn seen(world: &World, path: &str, who: &Who) -> Value {
    world.api.send(&Call::get(path, who)).await.good().json()
}

async fn assigned_to(stage: &Stage, shop: &str) -> Value {
    seen(&stage.world, &format!("/v1/merchant/shops/{shop}"), &stage.merchant.who).await["assigned"].clone()
}

fn payments(list: &Value) -> Vec<String> {
    let id = |line: &Value| line["payment_id"].as_str().expect("an id").to_owned();
    list["items"].as_array().expect("items").iter().map(id).collect()
}

async fn charged(stage: &Stage, who: &Who, amount: &str) -> String {
    let customer = stage.world.customer_with("5000").await;
    let member = Merchant { id: stage.merchant.id.clone(), who: who.clone() };
    let call = member.charges(&customer.code(&stage.world).await, amount);
    stage.world.api.settle(&call).await.good().text("/payment_id")
}

#[tokio::test]
async fn payment_has_the_shop_of_its_terminal_or_member() {
    let stage = stage("shops-paid").await;
    let Stage { world, merchant, terminal } = &stage;
    let (station, harbour) =
        (shops::opened(world, merchant, "Station").await, shops::opened(world, merchant, "Harbour").await);
    let _ = shops::assigned(world, merchant, &terminal.id, &station).await.good();
    let (_, cashier) = shops::member(world, merchant, "cashier", &harbour).await;
    let (card, _, by_card) = stage.paid_by_card("800").await;
    let by_cashier = charged(&stage, &cashier, "300").await;
    let by_owner = charged(&stage, &merchant.who, "200").await;
    let refund = terminal.does("refund", &card, &json!({"payment_id": by_card, "amount": "100"}));
    let _ = world.api.settle(&refund).await.good();

    let of =
        async |filter: &str| payments(&seen(world, &format!("/v1/merchant/payments{filter}"), &merchant.who).await);
    // The refund is a line of its own, with the payment's shop.
    assert_eq!(of(&format!("?shop_id={station}")).await, [by_card.clone(), by_card.clone()]);
    assert_eq!(of(&format!("?shop_id={harbour}")).await, std::slice::from_ref(&by_cashier));
    assert_eq!(of("").await.len(), 4);
    for (payment, shop) in [(&by_card, json!(station)), (&by_cashier, json!(harbour)), (&by_owner, Value::Null)] {
        let path = format!("/v1/merchant/payments/{payment}");
        assert_eq!(seen(world, &path, &merchant.who).await["shop_id"], shop);
    }
    let admin = format!("/v1/admin/merchants/{}/payments?shop_id={harbour}", merchant.id);
    assert_eq!(payments(&seen(world, &admin, &world.operator.who).await), [by_cashier]);
    let _ = world.seal_and_fold().await;
    let today = world.app.now().business_date();
    let totals = world.totals("shop", (today.days_before(1), today), 1).await;
    let sums = |totals: &Value| {
        let (mut gained, mut lost) = (Decimal::ZERO, Decimal::ZERO);
        for (_, more, less) in figures::lines(totals).values() {
            (gained, lost) = (gained + more, lost + less);
        }
        let text = |name: &str| totals[name].as_str().expect("an id").to_owned();
        (text("merchant_id"), text("shop_id"), gained.to_string(), lost.to_string())
    };
    let line = |shop: &str, gained: &str, lost: &str| {
        (merchant.id.clone(), shop.to_owned(), gained.to_owned(), lost.to_owned())
    };
    let mut shops = [line(&station, "800", "100"), line(&harbour, "300", "0")];
    shops.sort();
    assert_eq!(totals.iter().map(sums).collect::<Vec<_>>(), shops);
    let run = world.reconciled().await;
    assert_eq!(run["status"], "clean", "{run}");
}

#[tokio::test]
async fn terminal_keeps_the_shop_of_a_payment_after_it_is_moved() {
    let stage = stage("shops-moved").await;
    let Stage { world, merchant, terminal } = &stage;
    let (first, second) =
        (shops::opened(world, merchant, "Station").await, shops::opened(world, merchant, "Harbour").await);
    let _ = shops::assigned(world, merchant, &terminal.id, &first).await.good();
    let (_, _, before) = stage.paid_by_card("100").await;
    let _ = shops::assigned(world, merchant, &terminal.id, &second).await.good();
    let (_, _, after) = stage.paid_by_card("100").await;
    let _ = shops::assigned(world, merchant, &terminal.id, "none").await.good();
    let (_, _, without) = stage.paid_by_card("100").await;
    for (payment, shop) in [(before, json!(first)), (after, json!(second)), (without, Value::Null)] {
        let path = format!("/v1/merchant/payments/{payment}");
        assert_eq!(seen(world, &path, &merchant.who).await["shop_id"], shop);
    }
    assert_eq!((assigned_to(&stage, &first).await, assigned_to(&stage, &second).await), (json!(0), json!(0)));
}

#[tokio::test]
async fn member_of_one_shop_sees_and_changes_its_payments_only() {
    let stage = stage("shops-member").await;
    let Stage { world, merchant, .. } = &stage;
    let (own, other) =
        (shops::opened(world, merchant, "Station").await, shops::opened(world, merchant, "Harbour").await);
    let (_, manager) = shops::member(world, merchant, "manager", &own).await;
    let (_, stranger) = shops::member(world, merchant, "manager", &other).await;
    let mine = charged(&stage, &manager, "300").await;
    let theirs = charged(&stage, &stranger, "300").await;
    let of_none = charged(&stage, &merchant.who, "300").await;

    assert_eq!(payments(&seen(world, "/v1/merchant/payments", &manager).await), std::slice::from_ref(&mine));
    let asked = format!("/v1/merchant/payments?shop_id={other}");
    assert!(payments(&seen(world, &asked, &manager).await).is_empty());
    for hidden in [&theirs, &of_none] {
        let path = format!("/v1/merchant/payments/{hidden}");
        let _ = world.api.send(&Call::get(&path, &manager)).await.problem(404, "not_found");
        for act in ["refunds", "capture", "void"] {
            let call = Call::post(&format!("{path}/{act}"), &manager, &json!({})).key(new_key());
            let _ = world.api.send(&call).await.problem(404, "not_found");
        }
    }
    let refund = Call::post(&format!("/v1/merchant/payments/{mine}/refunds"), &manager, &json!({})).key(new_key());
    let refunded = world.api.settle(&refund).await.good();
    // A retry is answered from the stored response, also after the member was moved to another shop.
    let lines = seen(world, "/v1/merchant/staff?limit=100", &merchant.who).await;
    let line = lines["items"].as_array().unwrap().iter().find(|line| line["shop_id"] == json!(own)).unwrap().clone();
    let path = format!("/v1/merchant/staff/{}", line["staff_id"].as_str().unwrap());
    let moved = Call::patch(&path, &merchant.who, &json!({"shop": other})).key(new_key());
    let _ = world.api.settle(&moved).await.good();
    let again = world.api.settle(&refund).await;
    assert_eq!((again.stored(), again.replayed()), (refunded.stored(), true));
    let _ =
        world.api.send(&Call::get(&format!("/v1/merchant/payments/{mine}"), &manager)).await.problem(404, "not_found");
    assert_eq!((assigned_to(&stage, &own).await, assigned_to(&stage, &other).await), (json!(0), json!(2)));
}

#[tokio::test]
async fn member_of_one_shop_is_denied_what_is_of_the_whole_merchant() {
    let stage = stage("shops-denied").await;
    let Stage { world, merchant, .. } = &stage;
    let shop = shops::opened(world, merchant, "Station").await;
    let (id, manager) = shops::member(world, merchant, "manager", &shop).await;
    let member = Merchant { id: merchant.id.clone(), who: manager.clone() };
    for path in ["balances", "settlements", "staff", "shops", "terminals", "operations/refund?key=order-4711"] {
        let _ = world
            .api
            .send(&Call::get(&format!("/v1/merchant/{path}"), &manager))
            .await
            .problem(403, "permission_missing");
    }
    let _ = world.api.send(&Call::get("/v1/merchant", &manager)).await.good();
    let _ = world.api.send(&Call::get("/v1/merchant/qr", &manager)).await.good();
    let open = Call::post("/v1/merchant/shops", &manager, &json!({"name": "Mine"})).key(new_key());
    let _ = world.api.send(&open).await.problem(403, "permission_missing");
    let _ =
        world.api.send(&shops::assigns(&member, &stage.terminal.id, &shop)).await.problem(403, "permission_missing");
    // No role lifts the limit: only an owner moves a member, and an owner has no shop.
    let path = format!("/v1/merchant/staff/{id}");
    let promote = |body: Value| Call::patch(&path, &merchant.who, &body).key(new_key());
    let refused = world.api.send(&promote(json!({"roles": ["owner"]}))).await.problem(400, "invalid_request");
    assert!(refused.text("/detail").contains("shop"), "{refused:?}");
    let _ = world.api.settle(&promote(json!({"roles": ["owner"], "shop": "all"}))).await.good();
    let _ = world.api.send(&Call::get("/v1/merchant/balances", &manager)).await.good();
    let books = world.check_books().await;
    assert!(books.under("AUDIT#").any(|(_, _, act)| format!("{act:?}").contains("permission_denied")));
}

#[tokio::test]
async fn shop_is_closed_only_without_terminals_and_staff_while_they_are_assigned_in_parallel() {
    let stage = stage("shops-close").await;
    let Stage { world, merchant, terminal } = &stage;
    for _ in 0..4 {
        let shop = shops::opened(world, merchant, "Station").await;
        let close = shops::changes(merchant, &shop, &json!({"status": "closed", "reason": "rent"}));
        let calls = [shops::assigns(merchant, &terminal.id, &shop), close];
        let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
        let [assigned, closed] = answers.try_into().expect("two answers");
        assert_ne!(assigned.status == 200, closed.status == 200, "{assigned:?} {closed:?}");
        let state = seen(world, &format!("/v1/merchant/shops/{shop}"), &merchant.who).await;
        let is_open = assigned.status == 200;
        let expected = if is_open { ("open", json!(1)) } else { ("closed", json!(0)) };
        assert_eq!((state["status"].as_str().unwrap(), state["assigned"].clone()), expected);
        let refused = if is_open { closed } else { assigned };
        let _ = refused.problem(400, "wrong_state");
        let _ = shops::assigned(world, merchant, &terminal.id, "none").await.good();
        let again = shops::changes(merchant, &shop, &json!({"status": "closed"}));
        let _ = world.api.settle(&again).await.good();
    }
}

#[tokio::test]
async fn terminal_is_counted_once_while_it_is_moved_in_parallel() {
    let stage = stage("shops-race").await;
    let Stage { world, merchant, terminal } = &stage;
    let mut all = Vec::new();
    for name in ["A", "B", "C"] {
        all.push(shops::opened(world, merchant, name).await);
    }
    let calls: Vec<Call> =
        all.iter().cycle().take(9).map(|shop| shops::assigns(merchant, &terminal.id, shop)).collect();
    for answer in join_all(calls.iter().map(|call| world.api.settle(call))).await {
        let _ = answer.good();
    }
    let now = seen(world, &format!("/v1/merchant/terminals/{}", terminal.id), &merchant.who).await;
    for shop in &all {
        let is_assigned = now["shop_id"] == json!(shop);
        assert_eq!(assigned_to(&stage, shop).await, json!(i64::from(is_assigned)), "{now}");
    }
}

#[tokio::test]
async fn shops_and_terminals_of_another_merchant_are_missing() {
    let stage = stage("shops-strangers").await;
    let Stage { world, merchant, terminal } = &stage;
    let other = staff::owned_merchant(world).await;
    let theirs = shops::opened(world, &other, "Theirs").await;
    let own = shops::opened(world, merchant, "Own").await;
    let missing = [
        Call::get(&format!("/v1/merchant/shops/{theirs}"), &merchant.who),
        shops::changes(merchant, &theirs, &json!({"name": "Mine"})),
        shops::assigns(merchant, &terminal.id, &theirs),
        shops::assigns(&other, &terminal.id, &theirs),
        shops::assigns(merchant, &new_id(), &own),
        Call::get(&format!("/v1/merchant/terminals/{}", terminal.id), &other.who),
    ];
    for call in missing {
        let _ = world.api.send(&call).await.problem(404, "not_found");
    }
    let mut invited = staff::invitation(&new_id(), "cashier");
    invited["shop"] = json!(theirs);
    let invite = Call::post("/v1/merchant/staff", &merchant.who, &invited).key(new_key());
    let _ = world.api.send(&invite).await.problem(404, "not_found");
    // The operator's staff has no shops.
    let mut invited = staff::invitation(&new_id(), "viewer");
    invited["shop"] = json!(own);
    let invite = Call::post("/v1/admin/staff", &world.operator.who, &invited).key(new_key());
    let _ = world.api.send(&invite).await.problem(400, "invalid_request");

    let listed = seen(world, "/v1/merchant/shops", &merchant.who).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    let terminals = seen(world, "/v1/merchant/terminals", &merchant.who).await;
    assert_eq!(terminals["items"][0]["terminal_id"], json!(terminal.id), "{terminals}");
    assert!(seen(world, "/v1/merchant/terminals", &other.who).await["items"].as_array().unwrap().is_empty());
    let by_operator = seen(world, &format!("/v1/admin/merchants/{}/shops", other.id), &world.operator.who).await;
    assert_eq!(by_operator["items"][0]["shop_id"], json!(theirs), "{by_operator}");
}
