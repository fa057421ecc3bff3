//! Lists of the payments, refunds and top-ups of a whole tenant: each once, whatever is paid and sealed meanwhile, and to those
//! alone who may see them.
use futures::future::join;
use ledger_tests::audit::text as stored;
use ledger_tests::costs::requests::tapped;
use ledger_tests::http::world::new_id;
use ledger_tests::http::{Call, Host, Who, World, staff};
use serde_json::{Value, json};

const PAYMENTS: &str = "/v1/admin/payments";
const REFUNDS: &str = "/v1/admin/refunds";
const TOPUPS: &str = "/v1/admin/topups";

/// A page of a list with a query.
async fn page(
    world: &World,
    who: &Who,
    (path, query): (&str, &str),
    cursor: Option<&str>,
) -> (Vec<Value>, Option<String>) {
    let cursor = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
    let page = world.api.send(&Call::get(&format!("{path}?{query}{cursor}"), who)).await.good().json();
    let items = page["items"].as_array().expect("items").clone();
    (items, page["next_cursor"].as_str().map(str::to_owned))
}

/// Items of a list with a query, in one page after another.
async fn listed(world: &World, who: &Who, (path, query): (&str, &str), limit: usize) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), None);
    loop {
        let query = format!("limit={limit}&{query}");
        let (found, next) = page(world, who, (path, query.trim_end_matches('&')), cursor.as_deref()).await;
        assert!(found.len() <= limit, "{path}?{query}");
        items.extend(found);
        match next {
            Some(next) => cursor = Some(next),
            None => return items,
        }
    }
}

fn text<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap_or_default()
}

fn ids(items: &[Value], name: &str) -> Vec<String> {
    items.iter().map(|item| text(item, name).to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_have_each_payment_once_while_customers_pay_and_the_worker_seals() {
    let world = World::new("sealed-pages").await;
    let (shop, other_shop) = (world.merchant().await, world.merchant().await);
    let customer = world.customer_with("5000").await;
    let pay = async |amount: &str| {
        let payee = if amount == "7" { &other_shop } else { &shop };
        world.api.settle(&customer.pays(payee, amount)).await.good().text("/payment_id")
    };
    let mut before = Vec::new();
    for round in 0..6 {
        for amount in ["5", "7", "9"] {
            before.push(pay(amount).await);
        }
        // A transfer and a grant have entries too.
        let other = world.customer().await;
        let _ = world.api.settle(&customer.sends(&other, "1")).await.good();
        if round % 2 == 0 {
            let _ = world.seal().await.expect("the run succeeds");
        }
    }
    let staff = &world.operator.who;
    let unsealed = ids(&listed(&world, staff, (PAYMENTS, ""), 100).await, "payment_id");
    assert_eq!(unsealed, before[..15].iter().rev().cloned().collect::<Vec<_>>(), "the last round is not sealed");
    let _ = world.seal().await.expect("the run succeeds");
    let expected: Vec<String> = before.iter().rev().cloned().collect();
    for limit in [1, 2, 7, 100] {
        assert_eq!(
            ids(&listed(&world, staff, (PAYMENTS, ""), limit).await, "payment_id"),
            expected,
            "{limit} at a time"
        );
    }
    let (mut shown, mut cursor, mut later) = (Vec::new(), None, Vec::new());
    loop {
        let of = (PAYMENTS, "limit=2");
        let ((found, next), paid) = join(page(&world, staff, of, cursor.as_deref()), pay("9")).await;
        shown.extend(ids(&found, "payment_id"));
        later.push(paid);
        let _ = world.seal().await.expect("the run succeeds");
        match next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    assert_eq!(shown, expected, "what is paid meanwhile is on none of the later pages");
    let all = ids(&listed(&world, staff, (PAYMENTS, ""), 3).await, "payment_id");
    assert_eq!(all, later.iter().rev().chain(&expected).cloned().collect::<Vec<_>>());
    world.check_books().await;
}

#[tokio::test]
async fn payments_of_every_kind_and_their_refunds_are_listed_once_in_their_present_state() {
    let world = World::new("sealed-kinds").await;
    let (shop, till) = (world.merchant().await, world.merchant().await);
    let terminal = world.terminal(&till).await;
    let customer = world.customer_with("1000").await;
    let card = world.card(None, "500").await;
    let settle = async |call: &Call| world.api.settle(call).await.good().json();
    let id = |answer: &Value| text(answer, "payment_id").to_owned();
    let paid = id(&settle(&customer.pays(&shop, "100")).await);
    let code = customer.code(&world).await;
    let charged = id(&settle(&shop.charges(&code, "20")).await);
    let code = customer.code(&world).await;
    let captured = id(&settle(&shop.authorizes(&code, "30")).await);
    let code = customer.code(&world).await;
    let voided = id(&settle(&shop.authorizes(&code, "40")).await);
    let by_card = id(&settle(&terminal.does("pay", &card, &json!({"amount": "50"}))).await);
    let _ = world.seal().await.expect("the run succeeds");
    // Their entries are sealed later than those that opened the payments.
    let _ = settle(&shop.captures(&captured, None)).await;
    let _ = settle(&shop.voids(&voided)).await;
    let refunded = settle(&shop.refunds(&paid, "60")).await;
    let again = settle(&shop.refunds(&paid, "40")).await;
    let _ = world.seal().await.expect("the run succeeds");
    let staff = &world.operator.who;
    let all = listed(&world, staff, (PAYMENTS, ""), 2).await;
    let shown: Vec<(&str, &str, &str, &str)> = all
        .iter()
        .map(|item| (text(item, "payment_id"), text(item, "status"), text(item, "amount"), text(item, "merchant_id")))
        .collect();
    let expected = [
        (by_card.as_str(), "captured", "50", till.id.as_str()),
        (&voided, "canceled", "40", &shop.id),
        (&captured, "captured", "30", &shop.id),
        (&charged, "captured", "20", &shop.id),
        (&paid, "refunded", "100", &shop.id),
    ];
    assert_eq!(shown, expected);
    let refunds = listed(&world, staff, (REFUNDS, ""), 1).await;
    assert_eq!(ids(&refunds, "refund_id"), [text(&again, "refund_id"), text(&refunded, "refund_id")]);
    assert!(refunds.iter().all(|refund| text(refund, "kind") == "refund" && text(refund, "merchant_id") == shop.id));
    let middle = text(&all[2], "created_at").to_owned();
    let at_least = |item: &Value| text(item, "created_at") >= middle.as_str();
    let admits = async |query: &str, wanted: &dyn Fn(&Value) -> bool| {
        let expected: Vec<Value> = all.iter().filter(|item| wanted(item)).cloned().collect();
        for limit in [1, 3, 100] {
            assert_eq!(listed(&world, staff, (PAYMENTS, query), limit).await, expected, "{query}, {limit} at a time");
        }
    };
    admits("status=captured", &|item| text(item, "status") == "captured").await;
    admits("min=30&max=50", &|item| ["30", "40", "50"].contains(&text(item, "amount"))).await;
    admits("asset=POINT", &|_| false).await;
    admits(&format!("from={middle}"), &at_least).await;
    admits(&format!("to={middle}"), &|item| !at_least(item)).await;
    admits("from=2020-01-01&to=2020-12-31", &|_| false).await;
    admits(&format!("merchant_id={}", till.id), &|item| text(item, "merchant_id") == till.id).await;
    admits(&format!("merchant_id={}&status=canceled", shop.id), &|item| text(item, "status") == "canceled").await;
    admits(&format!("customer_id={}", customer.id), &|item| text(item, "merchant_id") == shop.id).await;
    let of_customer = format!("customer_id={}&max=50", customer.id);
    admits(&of_customer, &|item| text(item, "merchant_id") == shop.id && text(item, "amount") != "100").await;
    for query in [format!("customer_id={}", customer.id), format!("merchant_id={}", shop.id)] {
        assert_eq!(listed(&world, staff, (REFUNDS, &query), 1).await, refunds, "{query}");
    }
    assert_eq!(listed(&world, staff, (REFUNDS, "min=50"), 1).await, refunds[1..]);
}

#[tokio::test]
async fn list_refuses_cursors_and_parameters_of_others() {
    let world = World::new("sealed-cursors").await;
    let (shop, customer) = (world.merchant().await, world.customer_with("100").await);
    for _ in 0..3 {
        let _ = world.api.settle(&customer.pays(&shop, "1")).await.good();
    }
    let _ = world.seal().await.expect("the run succeeds");
    let staff = &world.operator.who;
    let (_, own) = page(&world, staff, (PAYMENTS, "limit=1"), None).await;
    let own = own.expect("two more");
    let of_merchant = format!("merchant_id={}", shop.id);
    let (_, by_id) = page(&world, staff, (PAYMENTS, &format!("limit=1&{of_merchant}")), None).await;
    let by_id = by_id.expect("two more");
    // A segment, and a lane, that the trail does not have.
    let far = ledger_core::sealing::SealedPlace { next: vec![1_000_000], met: None };
    let lanes = ledger_core::sealing::SealedPlace { next: vec![1, 1], met: None };
    let [far, lanes] = [far, lanes].map(|place| ledger_runtime::cursor::SealedCursor::at(place).to_string());
    for (query, named) in [
        (format!("cursor={by_id}"), "cursor"),
        (format!("cursor={far}"), "cursor"),
        (format!("cursor={lanes}"), "cursor"),
        (format!("cursor={own}&{of_merchant}"), "cursor"),
        ("cursor=".to_owned(), "cursor"),
        (format!("{of_merchant}&customer_id={}", customer.id), "customer_id"),
        ("status=created".to_owned(), "status"),
        ("kind=refund".to_owned(), "kind"),
        ("from=2026-11-22&to=2026-11-21".to_owned(), "to"),
        ("min=2&max=1".to_owned(), "max"),
    ] {
        let refused = world.api.send(&Call::get(&format!("{PAYMENTS}?{query}"), staff)).await;
        let problem = refused.problem(400, "invalid_request").json();
        assert!(text(&problem, "detail").starts_with(&format!("{named}: ")), "{query}: {problem}");
    }
    let refused = world.api.send(&Call::get(&format!("{REFUNDS}?status=captured"), staff)).await;
    let _ = refused.problem(400, "invalid_request");
    for query in [format!("merchant_id={}", new_id()), format!("customer_id={}", new_id())] {
        let _ = world.api.send(&Call::get(&format!("{PAYMENTS}?{query}"), staff)).await.problem(404, "not_found");
    }
}

/// Tenants share a table. A cursor of one leads nowhere in the other's records.
#[tokio::test]
async fn staff_of_another_tenant_sees_nothing() {
    let (world, other) = join(World::new("sealed-own"), World::new("sealed-other")).await;
    let (shop, customer) = (world.merchant().await, world.customer_with("100").await);
    let _ = world.api.settle(&customer.pays(&shop, "1")).await.good();
    let _ = world.api.settle(&customer.pays(&shop, "2")).await.good();
    let _ = world.seal().await.expect("the run succeeds");
    let staff = &other.operator.who;
    assert_eq!(listed(&other, staff, (PAYMENTS, ""), 100).await, Vec::<Value>::new());
    assert_eq!(listed(&other, staff, (REFUNDS, ""), 100).await, Vec::<Value>::new());
    let (_, cursor) = page(&world, &world.operator.who, (PAYMENTS, "limit=1"), None).await;
    let foreign = Call::get(&format!("{PAYMENTS}?cursor={}", cursor.expect("one more")), staff);
    let _ = other.api.send(&foreign).await.problem(400, "invalid_request");
    for query in [format!("merchant_id={}", shop.id), format!("customer_id={}", customer.id)] {
        let _ = other.api.send(&Call::get(&format!("{PAYMENTS}?{query}"), staff)).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn payments_of_a_customer_are_shown_with_a_record_on_the_trail() {
    let world = World::new("sealed-trail").await;
    let (shop, customer) = (world.merchant().await, world.customer_with("100").await);
    let _ = world.api.settle(&customer.pays(&shop, "1")).await.good();
    let (auditor, who) = staff::member(&world, "auditor").await;
    let of_customer = format!("customer_id={}", customer.id);
    let read = async || {
        let books = world.books().await;
        let acts = books.under("AUDIT#").filter(|(_, _, act)| stored(act, "action") == "customer_read");
        acts.map(|(_, _, act)| stored(act, "actor").to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&world, &who, (PAYMENTS, ""), 100).await.len(), 0, "nothing is sealed");
    assert_eq!(read().await, Vec::<String>::new());
    assert_eq!(listed(&world, &who, (PAYMENTS, &of_customer), 100).await.len(), 1);
    assert_eq!(read().await, [format!("staff:{auditor}")]);
}

/// A page makes the same calls among ten times the payments.
#[tokio::test]
async fn page_makes_as_many_calls_among_many_payments_as_among_few() {
    let (stage, tap) = tapped("sealed-flat").await;
    let world = &stage.world;
    let (shop, customer) = (world.merchant().await, world.customer_with("1000").await);
    let staff = &world.operator.who;
    let mut calls = Vec::new();
    for payments in [30, 300] {
        for number in 0..payments {
            let _ = world.api.settle(&customer.pays(&shop, "1")).await.good();
            if number % 30 == 29 {
                let _ = world.seal().await.expect("the run succeeds");
            }
        }
        let _ = page(world, staff, (PAYMENTS, "limit=10"), None).await;
        let _ = tap.take();
        let (items, next) = page(world, staff, (PAYMENTS, "limit=10"), None).await;
        assert_eq!((items.len(), next.is_some()), (10, true));
        calls.push(tap.take_targets());
    }
    assert_eq!(calls[0], calls[1]);
    assert_eq!(
        calls[1],
        ["GetItem", "BatchGetItem", "BatchGetItem", "BatchGetItem", "BatchGetItem"],
        "head of all lanes, heads of lanes, segments, entries, records"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn topups_of_every_customer_are_listed_once_in_their_present_state() {
    let world = World::with_terms(Host::fresh(), "sealed-topups", |_| {}).await;
    let (one, other) = (world.customer().await, world.customer().await);
    let first = world.paid_topup(&one, "3000").await;
    let pending = world.topup(&other, "500").await;
    let _ = world.seal().await.expect("the run succeeds");
    let later = world.paid_topup(&other, "700").await;
    let staff = &world.operator.who;
    let unsealed = ids(&listed(&world, staff, (TOPUPS, ""), 100).await, "topup_id");
    assert_eq!(unsealed, [pending.id.clone(), first.id.clone()], "the last one is not sealed");
    // A refund has steps and an entry in the top-up's partition.
    let _ = world.api.settle(&first.refund(&world, "1000")).await.good();
    let _ = world.seal().await.expect("the run succeeds");
    for limit in [1, 2, 100] {
        let all = listed(&world, staff, (TOPUPS, ""), limit).await;
        let shown: Vec<(&str, &str, &str)> = all
            .iter()
            .map(|topup| (text(topup, "topup_id"), text(topup, "status"), text(topup, "customer_id")))
            .collect();
        let expected = [
            (later.id.as_str(), "succeeded", other.id.as_str()),
            (&pending.id, "pending", &other.id),
            (&first.id, "succeeded", &one.id),
        ];
        assert_eq!(shown, expected, "{limit} at a time");
    }
    for (query, expected) in [
        ("status=pending", vec![&pending.id]),
        ("status=succeeded", vec![&later.id, &first.id]),
        ("status=refused", Vec::new()),
        ("min=501&max=2999", vec![&later.id]),
        ("to=2020-01-01", Vec::new()),
        ("from=2020-01-01&status=pending", vec![&pending.id]),
    ] {
        let found = ids(&listed(&world, staff, (TOPUPS, query), 1).await, "topup_id");
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{query}");
    }
    for wrong in ["status=lost", "cursor=x", "min=x", "merchant_id=x"] {
        let wrong = Call::get(&format!("{TOPUPS}?{wrong}"), staff);
        let _ = world.api.send(&wrong).await.problem(400, "invalid_request");
    }
    let _ = world.check_books().await;
}
