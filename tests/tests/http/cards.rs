//! The life of a card over HTTP: lists, assignment, loss, replacement and expiry.
#![cfg(feature = "stack")]

use futures::future::join_all;
use ledger_core::terms::TenantTerms;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Customer, Merchant, Terminal, World, host};
use ledger_tests::limits::overridable;
use serde_json::{Value, json};

/// A tenant with these terms.
async fn listing(tenant: &str, change: impl Fn(&mut TenantTerms)) -> World {
    World::with_terms(host::shared(), tenant, |terms| {
        change(terms);
    })
    .await
}

/// A card of a customer at a shop with a terminal.
struct Rig {
    world: World,
    shop: Merchant,
    terminal: Terminal,
    owner: Customer,
    card: String,
}

impl Rig {
    async fn new(tenant: &str, ecopay: &str) -> Self {
        Self::over(listing(tenant, |_| {}).await, ecopay).await
    }

    async fn over(world: World, ecopay: &str) -> Self {
        let (shop, owner) = (world.merchant().await, world.customer().await);
        let terminal = world.terminal_with_cash(&shop, "1000").await;
        let card = world.card(Some(&owner), ecopay).await;
        Self { world, shop, terminal, owner, card }
    }

    async fn settle(&self, call: &Call) -> Answer {
        self.world.api.settle(call).await
    }

    fn changes(&self, card: &str, verb: &str, body: &Value) -> Call {
        Call::post(&format!("/v1/admin/cards/{card}/{verb}"), &self.world.operator.who, body).key(new_key())
    }

    fn replaces(&self, card: &str, by: &str) -> Call {
        self.changes(card, "replace", &json!({"new_card_id": by, "reason": "lost"}))
    }

    fn pays(&self, card: &str, amount: &str) -> Call {
        self.terminal.does("pay", card, &json!({ "amount": amount }))
    }

    async fn paid(&self, card: &str, amount: &str) -> (Call, String) {
        let call = self.pays(card, amount);
        let payment = self.settle(&call).await.good().text("/payment_id");
        (call, payment)
    }

    async fn shown(&self, card: &str) -> Value {
        let call = Call::get(&format!("/v1/admin/cards/{card}"), &self.world.operator.who);
        self.world.api.send(&call).await.good().json()
    }

    async fn balances<const N: usize>(&self, cards: [&str; N]) -> Vec<String> {
        join_all(cards.map(|card| self.world.card_balance(card))).await
    }

    /// The ids of the customer's cards, as the customer sees them.
    async fn own(&self, customer: &Customer) -> Vec<String> {
        ids(&self.world.api.send(&Call::get("/v1/me/cards", &customer.who)).await.good().json())
    }

    async fn is_clean(&self) {
        let _ = self.world.credit().await.expect("a run");
        let _ = self.world.check_books().await;
        let report = self.world.reconciled().await;
        assert_eq!(report["status"], "clean", "{report}");
    }
}

fn ids(page: &Value) -> Vec<String> {
    let items = page["items"].as_array().expect("items").iter();
    items.map(|card| card["card_id"].as_str().expect("an id").to_owned()).collect()
}

#[tokio::test]
async fn customer_sees_each_card_and_staff_finds_it_by_state_owner_and_day() {
    let rig = Rig::new("cards-listed", "0").await;
    let (world, none) = (&rig.world, rig.world.customer().await);
    let bearer = world.card(None, "0").await;
    assert_eq!(rig.own(&rig.owner).await, std::slice::from_ref(&rig.card));
    assert!(rig.own(&none).await.is_empty());
    let list = async |query: &str| {
        let call = Call::get(&format!("/v1/admin/cards{query}"), &world.operator.who);
        world.api.send(&call).await
    };
    let all = list("").await.good().json();
    assert_eq!(ids(&all), [&bearer, &rig.card].map(Clone::clone), "the newest first");
    assert_eq!(all["items"][1]["customer_id"], rig.owner.id.as_str());
    let first = list("?limit=1").await.good().json();
    assert_eq!(ids(&first), std::slice::from_ref(&bearer));
    let next = first["next_cursor"].as_str().expect("a cursor");
    let second = list(&format!("?limit=1&cursor={next}")).await.good().json();
    assert_eq!((ids(&second), &second["next_cursor"]), (vec![rig.card.clone()], &Value::Null));

    let _ = rig.settle(&rig.changes(&bearer, "block", &json!({}))).await.good();
    assert_eq!(ids(&list("?state=blocked").await.good().json()), std::slice::from_ref(&bearer));
    assert_eq!(ids(&list("?state=active").await.good().json()), std::slice::from_ref(&rig.card));
    assert_eq!(ids(&list(&format!("?owner={}", rig.owner.id)).await.good().json()), std::slice::from_ref(&rig.card));
    assert!(ids(&list(&format!("?owner={}", none.id)).await.good().json()).is_empty());
    assert!(ids(&list("?to=2020-01-01").await.good().json()).is_empty());
    assert_eq!(ids(&list("?from=2020-01-01").await.good().json()).len(), 2);
    let _ = list(&format!("?owner={}", new_id())).await.problem(404, "not_found");
    for wrong in ["?state=lost", "?owner=me", "?from=today", "?kind=card"] {
        let _ = list(wrong).await.problem(400, "invalid_request");
    }
    let other = listing("cards-listed-other", |_| {}).await;
    let of_other = Call::get("/v1/admin/cards", &other.operator.who);
    assert!(ids(&other.api.send(&of_other).await.good().json()).is_empty(), "another tenant's cards");
}

#[tokio::test]
async fn card_without_owner_is_assigned_once_to_a_customer_with_room() {
    let rig = Rig::new("cards-assigned", "0").await;
    let card = rig.world.card(None, "700").await;
    let assign = |customer: &str| rig.changes(&card, "assign", &json!({"customer_id": customer}));
    let _ = rig.settle(&assign(&new_id())).await.problem(404, "not_found");
    let calls: Vec<Call> = (0..16).map(|_| assign(&rig.owner.id)).collect();
    let answers = join_all(calls.iter().map(|call| rig.settle(call))).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1, "{answers:?}");
    let refused = answers.iter().filter(|answer| answer.code().as_deref() == Some("wrong_state")).count();
    assert_eq!(refused, 15, "{answers:?}");
    for (call, first) in calls.iter().zip(&answers) {
        assert_eq!(rig.settle(call).await.stored(), first.stored());
    }
    assert_eq!(rig.own(&rig.owner).await.len(), 2);
    assert_eq!(
        (rig.shown(&card).await["customer_id"].clone(), rig.world.card_balance(&card).await),
        (json!(rig.owner.id), "700".to_owned())
    );
    // Twenty are the most, in both ways to get one.
    for _ in 2..20 {
        let _ = rig.world.card(Some(&rig.owner), "0").await;
    }
    let body = json!({"customer_id": rig.owner.id});
    let issue = Call::post("/v1/admin/cards", &rig.world.operator.who, &body).key(new_key());
    let _ = rig.settle(&issue).await.problem(400, "limit_exceeded");
    let another = rig.world.card(None, "0").await;
    let _ = rig.settle(&rig.changes(&another, "assign", &body)).await.problem(400, "limit_exceeded");
    assert_eq!(rig.own(&rig.owner).await.len(), 20);
    let stranger = listing("cards-assigned-other", |_| {}).await;
    let call = Call::post(&format!("/v1/admin/cards/{another}/assign"), &stranger.operator.who, &body).key(new_key());
    let _ = stranger.api.settle(&call).await.problem(404, "not_found");
    rig.is_clean().await;
}

#[tokio::test]
async fn blocked_card_is_neither_debited_nor_loaded_and_gets_refunds() {
    let rig = Rig::new("cards-blocked", "1000").await;
    let (_, payment) = rig.paid(&rig.card, "300").await;
    let block = rig.changes(&rig.card, "block", &json!({"reason": "lost"}));
    let blocked = rig.settle(&block).await.good();
    assert_eq!(blocked.json()["status"], "blocked");
    assert_eq!(rig.settle(&block).await.stored(), blocked.stored());
    let _ = rig.settle(&rig.pays(&rig.card, "1")).await.problem(400, "wrong_state");
    let _ =
        rig.settle(&rig.terminal.does("topup", &rig.card, &json!({"amount": "1"}))).await.problem(400, "wrong_state");
    let thaw = Call::patch(&format!("/v1/me/cards/{}", rig.card), &rig.owner.who, &json!({"status": "active"}));
    let _ = rig.settle(&thaw.key(new_key())).await.problem(400, "wrong_state");
    let _ = rig.settle(&rig.changes(&rig.card, "block", &json!({}))).await.problem(400, "wrong_state");
    let _ = rig.settle(&rig.shop.refunds(&payment, "300")).await.good();
    assert_eq!(rig.world.card_balance(&rig.card).await, "1000");
    let inquiry = Call::get(&format!("/v1/terminal/cards/{}", rig.card), &rig.terminal.who);
    assert_eq!(rig.world.api.send(&inquiry).await.good().json()["status"], "blocked");
    rig.is_clean().await;
}

#[tokio::test]
async fn refunds_and_reversals_go_to_the_card_that_replaced_the_one_that_paid() {
    let rig = Rig::new("cards-replaced", "5000").await;
    let (reversed, _) = rig.paid(&rig.card, "400").await;
    let (_, by_merchant) = rig.paid(&rig.card, "300").await;
    let (_, at_terminal) = rig.paid(&rig.card, "200").await;
    let loaded = rig.terminal.does("topup", &rig.card, &json!({"amount": "1000"}));
    let _ = rig.settle(&loaded).await.good();
    let _ = rig.settle(&rig.changes(&rig.card, "block", &json!({}))).await.good();
    let before = rig.world.card_balance(&rig.card).await;
    let next = rig.world.card(None, "0").await;
    let replace = rig.replaces(&rig.card, &next);
    let stored = rig.settle(&replace).await.good();
    let _ = rig.world.executes(&replace).await.good();
    assert_eq!(rig.settle(&replace).await.stored(), stored.stored());
    assert_eq!(rig.balances([&rig.card, &next]).await, ["0", before.as_str()]);
    let shown = rig.shown(&rig.card).await;
    assert_eq!((&shown["status"], &shown["replaced_by"]), (&json!("replaced"), &json!(next)));
    assert_eq!(rig.own(&rig.owner).await, std::slice::from_ref(&next));
    let inquiry = rig.world.api.send(&Call::get(&format!("/v1/terminal/cards/{}", rig.card), &rig.terminal.who)).await;
    assert_eq!(inquiry.json()["status"], "replaced");
    assert!(!inquiry.body.contains(&next), "{inquiry:?}");
    let _ = rig.settle(&rig.pays(&rig.card, "1")).await.problem(400, "wrong_state");
    let _ = rig
        .world
        .executes(&rig.replaces(&rig.card, &rig.world.card(None, "0").await))
        .await
        .problem(400, "wrong_state");

    // A second replacement: what is returned follows both.
    let last = rig.world.card(None, "0").await;
    let _ = rig.world.executes(&rig.replaces(&next, &last)).await.good();
    let refund = rig.shop.refunds(&by_merchant, "300");
    let refunded = rig.settle(&refund).await.good();
    assert_eq!(rig.settle(&refund).await.stored(), refunded.stored());
    let body = json!({"payment_id": at_terminal, "amount": "150"});
    let stranger = rig.world.card(None, "0").await;
    let _ = rig.settle(&rig.terminal.does("refund", &stranger, &body)).await.problem(404, "not_found");
    let _ = rig.settle(&rig.terminal.does("refund", &last, &body)).await.good();
    let rest = json!({"payment_id": at_terminal, "amount": "50"});
    let _ = rig.settle(&rig.terminal.does("refund", &rig.card, &rest)).await.good();
    let _ = rig.settle(&rig.terminal.reverses("card_pay", &reversed)).await.good();
    let after = before.parse::<u64>().expect("yen") + 300 + 150 + 50 + 400;
    assert_eq!(rig.balances([&rig.card, &next, &last]).await, ["0", "0", after.to_string().as_str()]);
    let _ = rig.settle(&rig.terminal.reverses("card_topup", &loaded)).await.good();
    assert_eq!(rig.world.card_balance(&last).await, "5000", "the cash went back, and its bonus");
    let _ = rig.paid(&last, "5000").await;
    rig.is_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replacement_against_payments_loses_no_money() {
    let rig = Rig::new("cards-raced", "1600").await;
    let (_, payment) = rig.paid(&rig.card, "100").await;
    let fresh = [rig.world.card(None, "0").await, rig.world.card(None, "0").await];
    let mut calls: Vec<Call> = (0..8).map(|_| rig.pays(&rig.card, "100")).collect();
    calls.extend((0..4).map(|_| rig.shop.refunds(&payment, "10")));
    for at in 0..4 {
        calls.push(rig.world.approving(&rig.replaces(&rig.card, &fresh[at % 2])).await);
    }
    let answers = join_all(calls.iter().map(|call| rig.settle(call))).await;
    let (paid, rest) = answers.split_at(8);
    let (refunded, replaced) = rest.split_at(4);
    let good = |answers: &[Answer]| answers.iter().filter(|answer| answer.status < 300).count() as u64;
    assert!(good(replaced) <= 1, "{replaced:?}");
    let cards = rig.balances([&rig.card, &fresh[0], &fresh[1]]).await;
    let sum: u64 = cards.iter().map(|balance| balance.parse::<u64>().expect("yen")).sum();
    assert_eq!(sum, 1500 - 100 * good(paid) + 10 * good(refunded), "{answers:?}");
    if good(replaced) == 1 {
        assert_eq!(cards[0], "0", "{answers:?}");
    }
    for (call, first) in calls.iter().zip(&answers).filter(|(_, answer)| answer.status != 409) {
        assert_eq!(rig.settle(call).await.stored(), first.stored());
    }
    rig.is_clean().await;
}

#[tokio::test]
async fn card_is_replaced_by_a_fresh_one_only_and_its_use_of_limits_goes_with_it() {
    let rules = overridable(&[("card", "pay_day=1000")]);
    let rig = Rig::over(listing("cards-limits", |terms| terms.limits = Some(rules.clone())).await, "3000").await;
    let (reversed, _) = rig.paid(&rig.card, "700").await;
    let (owned, rich) = (rig.world.card(Some(&rig.owner), "0").await, rig.world.card(None, "1").await);
    let frozen = rig.world.card(None, "0").await;
    let freeze = |card: &str| {
        let path = format!("/v1/admin/cards/{card}");
        Call::patch(&path, &rig.world.operator.who, &json!({"status": "frozen"})).key(new_key())
    };
    let _ = rig.settle(&freeze(&frozen)).await.good();
    for wrong in [&owned, &rich, &frozen] {
        let _ = rig.world.executes(&rig.replaces(&rig.card, wrong)).await.problem(400, "wrong_state");
    }
    let _ = rig.world.executes(&rig.replaces(&rig.card, &rig.card)).await.problem(400, "invalid_request");
    let _ = rig.world.executes(&rig.replaces(&rig.card, &new_id())).await.problem(404, "not_found");
    let fresh = rig.world.card(None, "0").await;
    let _ = rig.world.executes(&rig.replaces(&frozen, &fresh)).await.problem(400, "account_frozen");
    let _ = rig.world.executes(&rig.replaces(&rig.card, &fresh)).await.good();
    let _ = rig.settle(&rig.pays(&fresh, "301")).await.problem(400, "limit_exceeded");
    let _ = rig.paid(&fresh, "300").await;
    let _ = rig.settle(&rig.terminal.reverses("card_pay", &reversed)).await.good();
    let _ = rig.paid(&fresh, "700").await;
    let _ = rig.settle(&rig.pays(&fresh, "1")).await.problem(400, "limit_exceeded");
    rig.is_clean().await;
}

#[tokio::test]
async fn replacement_takes_two_people_and_neither_is_a_holder() {
    let rig = Rig::over(listing("cards-by-two", |_| {}).await, "0").await;
    let world = &rig.world;
    let fresh = world.card(None, "0").await;
    let stored = rig.settle(&rig.replaces(&rig.card, &fresh)).await.good();
    assert_eq!(stored.status, 202, "{stored:?}");
    let id = stored.text("/approval_id");
    let own = rig.settle(&decides("approve", &id, &world.operator.who)).await;
    assert_eq!(own.status, 403, "{own:?}");
    assert_eq!(rig.shown(&rig.card).await["status"], "active");
    // A block in between changes nothing of the replacement.
    let _ = rig.settle(&rig.changes(&rig.card, "block", &json!({}))).await.good();
    let _ = rig.settle(&decides("approve", &id, &world.second.who)).await.good();
    assert_eq!(rig.shown(&fresh).await["customer_id"], rig.owner.id.as_str());
    let late = rig.settle(&rig.replaces(&rig.card, &world.card(None, "0").await)).await;
    let _ = late.problem(400, "wrong_state");
    rig.is_clean().await;
}

#[tokio::test]
async fn expired_card_gets_refunds_and_is_not_debited_or_loaded() {
    let rig = Rig::new("cards-expired", "1000").await;
    let issue = |at: &str| {
        let body = json!({"customer_id": rig.owner.id, "expires_at": at});
        Call::post("/v1/admin/cards", &rig.world.operator.who, &body).key(new_key())
    };
    let _ = rig.settle(&issue("2020-01-01T00:00:00.000Z")).await.problem(400, "invalid_request");
    let _ = rig.settle(&issue("tomorrow")).await.problem(400, "invalid_request");
    let soon = rig.world.app.now().plus(std::time::Duration::from_millis(2500));
    let card = rig.settle(&issue(&soon.to_string())).await.good().text("/card_id");
    rig.world.adjust(&json!({"card_id": card}), "credit", "500").await;
    let (_, payment) = rig.paid(&card, "200").await;
    assert_eq!(rig.shown(&card).await["expires_at"], soon.to_string());
    tokio::time::sleep(std::time::Duration::from_millis(2600)).await;
    assert_eq!(rig.shown(&card).await["status"], "expired");
    let _ = rig.settle(&rig.pays(&card, "1")).await.problem(400, "wrong_state");
    let _ = rig.settle(&rig.terminal.does("topup", &card, &json!({"amount": "1"}))).await.problem(400, "wrong_state");
    let _ = rig.settle(&rig.shop.refunds(&payment, "200")).await.good();
    let fresh = rig.world.card(None, "0").await;
    let _ = rig.world.executes(&rig.replaces(&card, &fresh)).await.good();
    assert_eq!(rig.world.card_balance(&fresh).await, "500");
    let _ = rig.paid(&fresh, "500").await;
    rig.is_clean().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn batch_issues_each_card_once_by_workers_at_once() {
    let world = listing("cards-batch", |_| {}).await;
    let owner = &world.operator.who;
    let batch = |count: u32, expires_at: Option<&str>| {
        let mut body = json!({"count": count, "reason": "spring"});
        if let Some(at) = expires_at {
            body["expires_at"] = json!(at);
        }
        Call::post("/v1/admin/card-batches", owner, &body).key(new_key())
    };
    for (count, expires_at) in [(0, None), (10_001, None), (1, Some("2020-01-01T00:00:00.000Z"))] {
        let _ = world.api.settle(&batch(count, expires_at)).await.problem(400, "invalid_request");
    }
    let call = batch(130, Some("2099-01-01T00:00:00.000Z"));
    let stored = world.api.settle(&call).await.good();
    assert_eq!((stored.status, world.api.settle(&call).await.stored()), (202, stored.stored()));
    let path = format!("/v1/admin/card-batches/{}", stored.text("/job_id"));
    let view = async |query: &str| world.api.send(&Call::get(&format!("{path}{query}"), owner)).await.good().json();
    let before = view("").await;
    assert_eq!((&before["status"], &before["done"], &before["card_ids"]), (&json!("waiting"), &json!(0), &json!([])));

    let runs = join_all((0..4).map(|_| world.run_jobs())).await;
    let issued: usize = runs.iter().map(|run| run.as_ref().expect("a run").subjects).sum();
    assert_eq!(issued, 130, "{runs:?}");
    assert_eq!(world.run_jobs().await.expect("a run").subjects, 0);
    let mut cards = Vec::new();
    let mut query = "?limit=60".to_owned();
    loop {
        let page = view(&query).await;
        assert_eq!((&page["status"], &page["done"]), (&json!("done"), &json!(130)));
        let ids = page["card_ids"].as_array().expect("ids").iter();
        cards.extend(ids.map(|id| id.as_str().expect("an id").to_owned()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        query = format!("?limit=60&cursor={next}");
    }
    assert_eq!(cards.iter().collect::<std::collections::BTreeSet<_>>().len(), 130);
    let stored = world.check_books().await;
    assert_eq!(stored.under("card").filter(|(_, sk, _)| *sk == "card").count(), 130);
    let first = world.api.send(&Call::get(&format!("/v1/admin/cards/{}", cards[0]), owner)).await.good().json();
    assert_eq!((&first["status"], &first["balance"]), (&json!("active"), &json!("0")));
    assert_eq!(first["expires_at"], "2099-01-01T00:00:00.000Z");
    let listed = world.api.send(&Call::get("/v1/admin/cards?limit=100", owner)).await.good().json();
    assert_eq!(ids(&listed).len(), 100);

    let other = listing("cards-batch-other", |_| {}).await;
    let _ = other.api.send(&Call::get(&path, &other.operator.who)).await.problem(404, "not_found");
    let report = world.reconciled().await;
    assert_eq!(report["status"], "clean", "{report}");
}
