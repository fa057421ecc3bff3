//! Lists and searches of customers, merchants and terminals.

mod reindex;

use futures::future::join_all;
use ledger_core::customers::open::{self, CustomerOpen};
use ledger_core::idempotency::MarkerKeys;
use ledger_core::ids::{Actor, StaffId};
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::transaction::Transaction;
use ledger_local::marker_keys;
use ledger_tests::audit::text;
use ledger_tests::cloud::gate;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, World, staff};
use serde_json::{Value, json};
use std::collections::BTreeSet;

async fn world(slug: &str) -> World {
    World::new(slug).await
}

async fn search(world: &World, what: &str, body: &Value) -> Answer {
    let path = format!("/v1/admin/{what}/search");
    world.api.send(&Call::post(&path, &world.operator.who, body)).await
}

/// The ids of the customers that a search finds.
async fn found(world: &World, body: &Value) -> Vec<String> {
    ids(&search(world, "customers", body).await.good().json(), "customer_id")
}

fn ids(page: &Value, name: &str) -> Vec<String> {
    let items = page["items"].as_array().expect("items").iter();
    items.map(|item| item[name].as_str().expect("an id").to_owned()).collect()
}

/// Every item of a list, page by page, and the number of pages.
async fn pages(world: &World, path: &str) -> (Vec<Value>, usize) {
    let (mut items, mut cursor, mut count) = (Vec::new(), String::new(), 0);
    loop {
        let sign = if path.contains('?') { '&' } else { '?' };
        let from = if cursor.is_empty() { String::new() } else { format!("{sign}cursor={cursor}") };
        let page = world.api.send(&Call::get(&format!("{path}{from}"), &world.operator.who)).await.good().json();
        items.extend(page["items"].as_array().expect("items").clone());
        count += 1;
        match page["next_cursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => return (items, count),
        }
    }
}

async fn open(world: &World, body: &Value) -> String {
    world.operator("/v1/admin/customers", body).await.text("/customer_id")
}

fn taro() -> Value {
    json!({"name": "山田 太郎", "kana": "ヤマダ タロウ", "email": "Taro@Example.jp", "phone": "090-1234-5678"})
}

#[tokio::test]
async fn customer_is_found_by_each_value_in_every_usual_form() {
    let (world, other) = (world("found-by").await, self::world("found-by-other").await);
    let (id, elsewhere) = (open(&world, &taro()).await, open(&other, &taro()).await);
    let family =
        open(&world, &json!({"name": "山田 花子", "kana": "やまだ はなこ", "phone": "+81 90 1234 5678"})).await;
    let both: BTreeSet<String> = [id.clone(), family.clone()].into();
    for phone in
        ["090-1234-5678", "09012345678", "+81-(0)90-1234-5678", "０９０ー１２３４ー５６７８", "010 81 90 1234 5678"]
    {
        let found: BTreeSet<String> = found(&world, &json!({"phone": phone})).await.into_iter().collect();
        assert_eq!(found, both, "{phone}");
    }
    for (body, wanted) in [
        (json!({"email": "taro@example.JP"}), vec![&id]),
        (json!({"name": "山田太"}), vec![&id]),
        (json!({"name": "山田　太郎"}), vec![&id]),
        (json!({"kana": "やまだた"}), vec![&id]),
        (json!({"kana": "ﾔﾏﾀﾞ ﾊﾅ"}), vec![&family]),
        (json!({"customer_id": id}), vec![&id]),
        (json!({"phone": "090-1234-567"}), vec![]),
        (json!({"email": "taro@example.jp.invalid"}), vec![]),
        (json!({"name": "太郎"}), vec![]),
        (json!({"customer_id": elsewhere}), vec![]),
    ] {
        assert_eq!(found(&world, &body).await.iter().collect::<Vec<_>>(), wanted, "{body}");
    }
    // The reading orders the result, page by page.
    let first = search(&world, "customers", &json!({"kana": "ヤマダ", "limit": 1})).await.good().json();
    let next = json!({"kana": "ヤマダ", "limit": 1, "cursor": first["next_cursor"]});
    let second = search(&world, "customers", &next).await.good().json();
    assert_eq!([ids(&first, "customer_id"), ids(&second, "customer_id")].concat(), [id.clone(), family]);
    assert!(second["next_cursor"].is_null());
    // The contact is shown with the customer alone.
    let item = &first["items"][0];
    assert_eq!((&item["name"], &item["status"]), (&json!("山田 太郎"), &json!("active")));
    assert!(item["email"].is_null() && item["phone"].is_null());
    assert_eq!(found(&other, &json!({"phone": "090-1234-5678"})).await, [elsewhere]);
}

#[tokio::test]
async fn search_that_asks_for_no_value_or_for_two_is_refused() {
    let world = world("found-badly").await;
    for (body, field) in [
        (json!({}), None),
        (json!({"name": "a", "phone": "090-1234-5678"}), None),
        (json!({"phone": "1234"}), Some("phone")),
        (json!({"phone": "090-1234-567*"}), Some("phone")),
        (json!({"email": "taro"}), Some("email")),
        (json!({"name": " "}), Some("name")),
        (json!({"kana": "山田"}), Some("kana")),
        (json!({"customer_id": "1"}), Some("customer_id")),
        (json!({"name": "a", "limit": 101}), Some("limit")),
        (json!({"name": "a", "cursor": "AQ"}), Some("cursor")),
        (json!({"nam": "a"}), Some("nam")),
    ] {
        let refused = search(&world, "customers", &body).await.problem(400, "invalid_request");
        assert_eq!(refused.json()["field"].as_str(), field, "{body}");
    }
}

#[tokio::test]
async fn searches_and_lists_are_on_the_trail_without_what_was_sought() {
    let world = world("found-on-record").await;
    let id = open(&world, &taro()).await;
    let (member, who) = staff::member(&world, "viewer").await;
    let ask = async |body: Value| world.api.send(&Call::post("/v1/admin/customers/search", &who, &body)).await.good();
    let _ = ask(json!({"phone": "090-1234-5678"})).await;
    let _ = ask(json!({"phone": "090-9999-9999"})).await;
    let _ = ask(json!({"name": "山"})).await;
    let _ = ask(json!({"customer_id": id})).await;
    let _ = world.api.send(&Call::get("/v1/admin/customers", &who)).await.good();
    let books = world.check_books().await;
    let acts: Vec<_> = books.under("AUDIT#").filter(|(_, _, act)| text(act, "action") == "customer_search").collect();
    let actor = format!("staff:{member}");
    assert!(acts.iter().all(|(_, _, act)| text(act, "actor") == actor && text(act, "subject") == "customers"));
    let mut seen: Vec<String> = acts.iter().map(|(_, _, act)| format!("{act:?}")).collect();
    assert!(seen.iter().all(|act| !act.contains("1234") && !act.contains('山') && !act.contains("9999")), "{seen:?}");
    seen.retain(|act| act.contains("phone"));
    assert_eq!((acts.len(), seen.len()), (5, 2));
}

#[tokio::test]
async fn change_of_a_profile_moves_what_the_customer_is_found_by() {
    let world = world("found-moved").await;
    let customer = world.customer().await;
    let own = async |body: &Value| {
        let _ = world.api.settle(&Call::patch("/v1/me", &customer.who, body).key(new_key())).await.good();
    };
    let by_staff = async |body: &Value| world.change(&format!("/v1/admin/customers/{}", customer.id), body).await;
    let is_found = async |body: Value| found(&world, &body).await == [customer.id.clone()];
    own(&json!({"phone": "090-1111-2222", "email": "old@example.jp"})).await;
    assert!(is_found(json!({"phone": "09011112222"})).await && is_found(json!({"email": "old@example.jp"})).await);
    by_staff(&json!({"phone": "090-3333-4444", "name": "佐藤 花子", "kana": "サトウ ハナコ"})).await;
    assert!(!is_found(json!({"phone": "09011112222"})).await && is_found(json!({"phone": "09033334444"})).await);
    assert!(is_found(json!({"name": "佐藤"})).await && is_found(json!({"kana": "さとう"})).await);
    assert!(!is_found(json!({"name": "Hanako"})).await && is_found(json!({"email": "old@example.jp"})).await);
    own(&json!({"phone": null, "email": null, "kana": null})).await;
    for gone in [json!({"phone": "09033334444"}), json!({"email": "old@example.jp"}), json!({"kana": "サトウ"})] {
        assert!(!is_found(gone.clone()).await, "{gone}");
    }
    let books = world.check_books().await;
    let left: Vec<_> = books.under("LOOKUP#").filter(|(_, _, item)| item.contains_key("owner_pk")).collect();
    assert_eq!(left.len(), 1, "only the name is left: {left:?}");
    by_staff(&json!({"status": "frozen"})).await;
    assert!(is_found(json!({"name": "佐藤花子"})).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_at_the_same_time_leave_the_values_of_one() {
    let world = world("found-raced").await;
    let customer = world.customer().await;
    let change = |number: usize| {
        let body = json!({"name": format!("Name {number}x"), "phone": format!("090-0000-{number:04}")});
        let path = format!("/v1/admin/customers/{}", customer.id);
        if number.is_multiple_of(2) {
            Call::patch("/v1/me", &customer.who, &body).key(new_key())
        } else {
            Call::patch(&path, &world.operator.who, &body).key(new_key())
        }
    };
    let calls: Vec<Call> = (0..12).map(change).collect();
    let _ = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    let path = format!("/v1/admin/customers/{}", customer.id);
    let shown = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    for name in ["name", "phone"] {
        assert_eq!(
            found(&world, &json!({name: shown[name]})).await,
            std::slice::from_ref(&customer.id),
            "{name} of {shown}"
        );
    }
    let books = world.check_books().await;
    assert_eq!(books.under("LOOKUP#").count(), 2, "an item for each value, whatever it was");
}

/// Opens customers of one instant, as the ledger writes them with these keys of lookups.
async fn opened_at_once(world: &World, count: usize, keys: &MarkerKeys) -> Vec<String> {
    let write = async {
        let (app, tenant) = (&world.app, world.slug());
        let (terms, now) = (app.terms(&tenant).await.expect("terms"), app.now());
        let mut opened = Vec::new();
        for number in 0..count {
            let cx = app.ledger().context(now).expect("a context");
            let command = CustomerOpen {
                tenant: tenant.clone(),
                actor: Actor::Staff(StaffId::parse(&world.operator.id).expect("a UUID")),
                customer: None,
                name: FreeText::parse(&format!("Customer {number}"), 80).expect("a name"),
                kana: None,
                email: None,
                phone: Some(FreeText::phone("0312345678").expect("a number")),
            };
            let planned = open::plan(&command, &terms, keys, &cx).expect("a plan");
            let transaction = Transaction::unkeyed(planned.draft.items).expect("a transaction");
            app.ledger().apply(&tenant, Operation::CustomerOpen, &transaction).await.expect("a store");
            opened.push(planned.receipt.customer.to_string());
        }
        opened
    };
    gate::as_test(write).await
}

fn keys_of_stack() -> MarkerKeys {
    MarkerKeys::parse(marker_keys::in_memory().expose()).expect("keys")
}

#[tokio::test]
async fn list_has_each_customer_once_newest_first_also_those_of_one_instant() {
    let world = world("found-listed").await;
    let mut opened = Vec::new();
    for _ in 0..5 {
        opened.push(world.customer().await.id);
    }
    opened.extend(opened_at_once(&world, 12, &keys_of_stack()).await);
    let (items, count) = pages(&world, "/v1/admin/customers?limit=5").await;
    assert_eq!(count, 4);
    let listed: Vec<&str> = items.iter().map(|item| item["customer_id"].as_str().unwrap()).collect();
    assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), opened.iter().map(String::as_str).collect());
    assert_eq!(listed.len(), 17, "none is listed twice");
    let times: Vec<&str> = items.iter().map(|item| item["created_at"].as_str().unwrap()).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    // Frozen ones are few among the others: pages are short, and all are found.
    let mut frozen = BTreeSet::new();
    for id in opened.iter().step_by(6) {
        world.change(&format!("/v1/admin/customers/{id}"), &json!({"status": "frozen", "reason": "for a test"})).await;
        frozen.insert(id.clone());
    }
    let (items, _) = pages(&world, "/v1/admin/customers?limit=1&status=frozen").await;
    assert_eq!(
        items.iter().map(|item| item["customer_id"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>(),
        frozen
    );
    let closed = opened.get(1).expect("a customer");
    let _ = world.api.settle(&world.closes(closed, true)).await.good();
    let (items, _) = pages(&world, "/v1/admin/customers?status=closed").await;
    assert_eq!(items.iter().map(|item| &item["customer_id"]).collect::<Vec<_>>(), [&json!(closed)]);
    let today = world.app.now().business_date();
    let count = async |query: String| pages(&world, &format!("/v1/admin/customers?{query}")).await.0.len();
    assert_eq!(count(format!("from={}&to={today}", today.days_before(1))).await, 17);
    assert_eq!(count(format!("to={}", today.days_before(2))).await, 0);
    for wrong in ["cursor=AQID", "status=lost"] {
        let wrong = Call::get(&format!("/v1/admin/customers?{wrong}"), &world.operator.who);
        let _ = world.api.send(&wrong).await.problem(400, "invalid_request");
    }
}

#[tokio::test]
async fn merchants_are_listed_and_found_by_name() {
    let world = world("found-shops").await;
    let mut ids = Vec::new();
    for name in ["Aoba Coffee", "AOBA BOOKS", "ミドリ商店"] {
        ids.push(world.operator("/v1/admin/merchants", &json!({"name": name})).await.text("/merchant_id"));
    }
    let named = async |name: &str| {
        let page = search(&world, "merchants", &json!({"name": name})).await.good().json();
        self::ids(&page, "merchant_id")
    };
    assert_eq!(named("ａｏｂａ").await, [ids[1].clone(), ids[0].clone()], "in the order of names");
    world
        .change(&format!("/v1/admin/merchants/{}", ids[0]), &json!({"name": "ミドリ珈琲", "status": "suspended"}))
        .await;
    assert_eq!(named("aoba").await, [ids[1].clone()]);
    assert_eq!(named("ミドリ").await.into_iter().collect::<BTreeSet<_>>(), [ids[0].clone(), ids[2].clone()].into());
    let _ = search(&world, "merchants", &json!({"name": " "})).await.problem(400, "invalid_request");
    let (items, _) = pages(&world, "/v1/admin/merchants?limit=2").await;
    let listed: Vec<&str> = items.iter().map(|item| item["merchant_id"].as_str().unwrap()).collect();
    assert_eq!(listed, [ids[2].as_str(), ids[1].as_str(), ids[0].as_str()]);
    let (items, _) = pages(&world, "/v1/admin/merchants?limit=1&status=suspended").await;
    assert_eq!(items.len(), 1);
    let closed = world.merchant().await;
    world.began_closing(&closed).await;
    let _ = world.api.settle(&world.closes_merchant(&closed.id)).await.good();
    let closing = world.merchant().await;
    world.began_closing(&closing).await;
    for (status, id) in [("suspended", &ids[0]), ("closing", &closing.id), ("closed", &closed.id)] {
        let (items, _) = pages(&world, &format!("/v1/admin/merchants?status={status}")).await;
        assert_eq!(items.iter().map(|item| &item["merchant_id"]).collect::<Vec<_>>(), [&json!(id)], "{status}");
    }
    let (items, _) = pages(&world, "/v1/admin/merchants?to=2020-01-01").await;
    assert!(items.is_empty());
}

#[tokio::test]
async fn terminals_are_listed_all_and_of_a_merchant() {
    let world = world("found-tills").await;
    let (shop, other) = (world.merchant().await, world.merchant().await);
    let mut tills = Vec::new();
    for merchant in [&shop, &shop, &other] {
        let body = json!({"merchant_id": merchant.id});
        tills.push(world.operator("/v1/admin/terminals", &body).await.text("/terminal_id"));
    }
    let listed = async |query: &str| {
        let (items, _) = pages(&world, &format!("/v1/admin/terminals?limit=1{query}")).await;
        items.iter().map(|item| item["terminal_id"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(listed("").await, tills.iter().cloned().collect());
    assert_eq!(listed(&format!("&merchant_id={}", shop.id)).await, tills[..2].iter().cloned().collect());
    world.change(&format!("/v1/admin/terminals/{}", tills[1]), &json!({"status": "frozen", "reason": "lost"})).await;
    assert_eq!(listed("&status=frozen").await, [tills[1].clone()].into());
    let _ = world.api.settle(&world.closes_terminal(&tills[2])).await.good();
    assert_eq!(listed("&status=frozen").await, [tills[1].clone()].into());
    assert_eq!(listed("&status=closed").await, [tills[2].clone()].into());
    assert_eq!(listed(&format!("&merchant_id={}&status=frozen", other.id)).await, BTreeSet::new());
    assert_eq!(listed(&format!("&merchant_id={}", new_id())).await, BTreeSet::new());
    let (items, _) = pages(&world, "/v1/admin/terminals").await;
    assert!(
        items.iter().all(|item| item["kind"] == "till" && item["epoch"] == u32::from(item["closed_at"].is_string())),
        "{items:?}"
    );
}
