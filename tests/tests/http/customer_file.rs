//! A customer's file: the customer at present, and a timeline of everything that happened.

use futures::future::join_all;
use ledger_tests::audit::text as stored;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Customer, Who, World, host, staff};
use ledger_tests::limits::overridable;
use serde_json::{Value, json};
use std::collections::BTreeSet;

async fn world(slug: &str) -> World {
    World::new(slug).await
}

fn path(customer: &Customer) -> String {
    format!("/v1/admin/customers/{}/file", customer.id)
}

/// A page of a file.
async fn page(world: &World, customer: &Customer, query: &str) -> Value {
    let path = format!("{}?{query}", path(customer));
    world.api.send(&Call::get(&path, &world.operator.who)).await.good().json()
}

/// The timeline in pages of `limit`.
async fn timeline(world: &World, customer: &Customer, limit: usize, query: &str) -> Vec<Value> {
    let (mut lines, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = page(world, customer, &format!("limit={limit}{cursor}{query}")).await;
        assert_eq!(page["present"].is_null(), !cursor.is_empty(), "the customer is on the first page");
        lines.extend(lines_of(&page));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return lines,
        }
    }
}

fn lines_of(page: &Value) -> Vec<Value> {
    page["timeline"].as_array().expect("a timeline").clone()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// What a line is of: the operation of a transaction or an act, and the status of a top-up.
fn label(line: &Value) -> String {
    let kind = text(line, "kind");
    let name = match kind {
        "transaction" => "operation",
        "topup" => "status",
        _ => "action",
    };
    format!("{kind} {}", text(&line[kind], name))
}

fn id(line: &Value) -> String {
    let kind = text(line, "kind");
    let name = match kind {
        "transaction" => "transaction_id",
        "topup" => "topup_id",
        _ => "audit_id",
    };
    text(&line[kind], name).to_owned()
}

#[tokio::test]
async fn timeline_has_one_of_everything_newest_first() {
    let world = World::alone("file-all").await;
    world.hold_deliveries().await;
    let (shop, other) = (world.merchant().await, world.customer().await);
    let customer = world.customer_with("1000").await;
    let card = world.card(Some(&customer), "0").await;
    let _ = world.paid_topup(&customer, "3000").await;
    let _ = world.topup(&customer, "500").await;
    let paid = world.api.settle(&customer.pays(&shop, "100")).await.good().text("/payment_id");
    let _ = world.api.settle(&shop.refunds(&paid, "40")).await.good();
    for is_captured in [true, false] {
        let code = customer.code(&world).await;
        let held = world.api.settle(&shop.authorizes(&code, "10")).await.good().text("/payment_id");
        let end = if is_captured { shop.captures(&held, None) } else { shop.voids(&held) };
        let _ = world.api.settle(&end).await.good();
    }
    let _ = world.api.settle(&customer.sends(&other, "7")).await.good();
    let _ = world.api.settle(&other.sends(&customer, "3")).await.good();
    world.grant(&customer, "POINT", "5").await;
    let frozen = json!({"status": "frozen", "reason": "a stolen telephone"});
    world.change(&format!("/v1/admin/customers/{}", customer.id), &frozen).await;

    let first = page(&world, &customer, "limit=100").await;
    let lines = lines_of(&first);
    let labels: Vec<String> = lines.iter().map(label).collect();
    let times: Vec<&str> = lines.iter().map(|line| text(line, "at")).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
    let mut counted: Vec<&str> = labels.iter().map(String::as_str).collect();
    counted.sort_unstable();
    let mut expected = vec![
        "act customer_patch",
        "transaction grant",
        "act grant",
        "act approval_request",
        "transaction transfer",
        "transaction transfer",
        "transaction void",
        "transaction charge",
        "transaction capture",
        "transaction charge",
        "transaction refund",
        "transaction pay",
        "topup pending",
        "topup succeeded",
        "transaction topup",
        "transaction adjustment",
        "act adjustment",
        "act approval_request",
        "act customer_open",
    ];
    // What one request writes has one instant, and is sorted by ids: one line of each request tells the order.
    let place = |of: &str| labels.iter().position(|label| label == of);
    let places = [
        "act customer_patch",
        "act grant",
        "transaction transfer",
        "transaction void",
        "transaction capture",
        "transaction refund",
        "transaction pay",
        "topup pending",
        "topup succeeded",
        "act adjustment",
    ]
    .map(place);
    assert!(places.is_sorted() && places[0] == Some(0), "{labels:?}");
    assert_eq!(labels.last().map(String::as_str), Some("act customer_open"));
    expected.sort_unstable();
    assert_eq!(counted, expected);

    let act = &lines[0]["act"];
    assert_eq!(text(act, "actor"), format!("staff:{}", world.operator.id));
    assert_eq!((text(act, "reason"), text(&act["details"], "status")), ("a stolen telephone", "frozen"));
    let present = &first["present"];
    assert_eq!(text(present, "frozen_by"), "staff");
    assert_eq!(text(&present["customer"], "status"), "frozen");
    assert_eq!(text(&present["cards"][0], "card_id"), card);
    let own = world.api.send(&Call::get(&format!("/v1/admin/customers/{}", customer.id), &world.operator.who)).await;
    let own = own.good().json();
    assert_eq!((&present["balances"], &present["customer"]["name"]), (&own["balances"], &own["name"]));
    // The recipient's timeline has the same transfer, and no act of the sender's.
    let labels: Vec<String> = timeline(&world, &other, 100, "").await.iter().map(label).collect();
    assert_eq!(labels, ["transaction transfer", "transaction transfer", "act customer_open"]);
    let _ = world.check_books().await;
}

#[tokio::test]
async fn pages_of_every_size_have_every_line_once_also_of_one_instant() {
    let world = world("file-pages").await;
    let shop = world.merchant().await;
    let customer = world.customer_with("1000").await;
    let _ = join_all((0..12).map(async |_| world.api.settle(&customer.pays(&shop, "1")).await.good())).await;
    for _ in 0..4 {
        world.grant(&customer, "POINT", "1").await;
    }
    let all = timeline(&world, &customer, 100, "").await;
    // Of each grant the request, the entry and its act.
    assert_eq!(all.len(), 12 + 3 * 4 + 4);
    let is_of_one_instant = |pair: &[Value]| pair[0]["at"] == pair[1]["at"];
    assert!(all.windows(2).any(is_of_one_instant), "a grant and its act have one time");
    for limit in [1, 2, 3, 5, 27, 28] {
        assert_eq!(timeline(&world, &customer, limit, "").await, all, "{limit} at a time");
    }
    let middle = text(&all[9], "at").to_owned();
    for limit in [1, 100] {
        let from: Vec<&Value> = all.iter().filter(|line| text(line, "at") >= middle.as_str()).collect();
        let found = timeline(&world, &customer, limit, &format!("&from={middle}")).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), from, "from, {limit} at a time");
        let to: Vec<&Value> = all.iter().filter(|line| text(line, "at") < middle.as_str()).collect();
        let found = timeline(&world, &customer, limit, &format!("&to={middle}")).await;
        assert_eq!(found.iter().collect::<Vec<_>>(), to, "to, {limit} at a time");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_under_traffic_show_nothing_twice_and_lose_nothing() {
    let world = world("file-traffic").await;
    let shop = world.merchant().await;
    let customer = world.customer_with("1000").await;
    for _ in 0..5 {
        let _ = world.api.settle(&customer.pays(&shop, "1")).await.good();
        world.grant(&customer, "POINT", "1").await;
    }
    let before: BTreeSet<String> = timeline(&world, &customer, 100, "").await.iter().map(id).collect();
    let traffic = async {
        for _ in 0..10 {
            let _ = world.api.settle(&customer.pays(&shop, "1")).await.good();
            world.grant(&customer, "POINT", "1").await;
        }
    };
    let (seen, ()) = futures::join!(timeline(&world, &customer, 2, ""), traffic);
    let ids: BTreeSet<String> = seen.iter().map(id).collect();
    assert_eq!(ids.len(), seen.len(), "nothing is shown twice");
    assert!(ids.is_superset(&before), "nothing is lost: {:?}", before.difference(&ids).collect::<Vec<_>>());
    let times: Vec<&str> = seen.iter().map(|line| text(line, "at")).collect();
    assert!(times.is_sorted_by(|a, b| a >= b), "{times:?}");
}

#[tokio::test]
async fn file_is_refused_without_permission_lists_or_customer() {
    let (world, other) = (world("file-refused").await, world("file-refused-other").await);
    let (customer, stranger) = (world.customer().await, other.customer().await);
    let (_, viewer) = staff::member(&world, "viewer").await;
    let of = |customer: &Customer, who: &Who| Call::get(&path(customer), who);
    let _ = world.api.send(&of(&customer, &viewer)).await.good();
    let invited = staff::invited(&world, "viewer").await;
    for id in [invited, new_id()] {
        let who = world.token("admin", &id, None).await;
        let refused = world.api.send(&of(&customer, &who)).await.problem(403, "permission_missing");
        assert_eq!(refused.text("/permission"), "customers.read");
    }
    for id in [stranger.id, world.merchant().await.id, new_id()] {
        let unknown = Call::get(&format!("/v1/admin/customers/{id}/file"), &viewer);
        let _ = world.api.send(&unknown).await.problem(404, "not_found");
    }
    for (query, field) in [
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("cursor=AQ", "cursor"),
        ("from=yesterday", "from"),
        ("from=2026-11-22&to=2026-11-21", "to"),
        ("kind=act", "kind"),
    ] {
        let refused = world.api.send(&Call::get(&format!("{}?{query}", path(&customer)), &viewer)).await;
        let problem = refused.problem(400, "invalid_request").json();
        assert!(text(&problem, "detail").starts_with(&format!("{field}: ")), "{query}: {problem}");
    }
    let books = world.check_books().await;
    let reads: Vec<_> = books.under("AUDIT#").filter(|(_, _, act)| stored(act, "action") == "customer_read").collect();
    assert_eq!(reads.len(), 1, "the trail shows who saw the file: {reads:?}");
    assert!(timeline(&world, &customer, 100, "").await.iter().all(|line| label(line) != "act customer_read"));
}

#[tokio::test]
async fn file_shows_own_limits_and_what_is_used_of_them() {
    let world = World::with_terms(host::shared(), "file-limits", |terms| {
        terms.limits = Some(overridable(&[("customer", "pay_day=500"), ("customer", "pay_month=900")]));
    })
    .await;
    let (shop, customer) = (world.merchant().await, world.customer_with("1000").await);
    let account = format!("customer:{}", customer.id);
    let body = json!({"account": account, "asset": "ECOPAY", "limits": {"pay_day": "300"}, "reason": "asked for it"});
    let _ = world
        .api
        .settle(&Call::post("/v1/admin/account-limits", &world.operator.who, &body).key(new_key()))
        .await
        .good();
    let _ = world.api.settle(&customer.pays(&shop, "100")).await.good();
    let first = page(&world, &customer, "limit=100").await;
    let own = Call::get(&format!("/v1/admin/customers/{}/limits", customer.id), &world.operator.who);
    let own = world.api.send(&own).await.good().json();
    assert_eq!(first["present"]["limits"], own["limits"]);
    let of_day = own["limits"].as_array().expect("limits").iter().find(|limit| text(limit, "period") == "day");
    let of_day = of_day.expect("a limit of the day");
    assert_eq!((text(of_day, "limit"), text(of_day, "used")), ("300", "100"));
    let labels: Vec<String> = lines_of(&first).iter().map(label).collect();
    assert!(labels.contains(&"act account_limits".to_owned()), "{labels:?}");
}
