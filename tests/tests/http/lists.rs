//! Filters of lists: each admits what it says, on every page size, and refuses other values by name.
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Call, Who, World};
use serde_json::{Value, json};

/// Items of a list with a query, in one page after another of `limit`, and the number of pages.
async fn listed(world: &World, who: &Who, (path, query): (&str, &str), limit: usize) -> (Vec<Value>, usize) {
    let (mut items, mut pages, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let path = format!("{path}?limit={limit}{cursor}{}{query}", if query.is_empty() { "" } else { "&" });
        let page = world.api.send(&Call::get(&path, who)).await.good().json();
        items.extend(page["items"].as_array().expect("items").iter().cloned());
        pages += 1;
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return (items, pages),
        }
    }
}

/// Asserts that a query admits exactly these of all items, whatever the size of a page.
async fn assert_admits(world: &World, who: &Who, (path, query): (&str, &str), wanted: impl Fn(&Value) -> bool) {
    let (all, _) = listed(world, who, (path, ""), 100).await;
    let expected: Vec<Value> = all.iter().filter(|item| wanted(item)).cloned().collect();
    for limit in [1, 2, 100] {
        let (found, _) = listed(world, who, (path, query), limit).await;
        assert_eq!(found, expected, "{path}?{query}, {limit} at a time");
    }
}

fn text<'a>(item: &'a Value, name: &str) -> &'a str {
    item[name].as_str().unwrap_or_default()
}

#[tokio::test]
async fn filters_of_payments_and_transactions_admit_what_they_say() {
    let world = World::new("list-filters").await;
    let (shop, other_shop) = (world.merchant().await, world.merchant().await);
    let customer = world.customer_with("1000").await;
    for amount in ["5", "10", "200"] {
        let paid = world.api.settle(&customer.pays(&shop, amount)).await.good().json();
        let refund = format!("/v1/merchant/payments/{}/refunds", text(&paid, "payment_id"));
        if amount == "10" {
            let body = json!({"amount": "4"});
            let _ = world.api.settle(&Call::post(&refund, &shop.who, &body).key(new_key())).await.good();
        }
    }
    let _ = world.api.settle(&customer.pays(&other_shop, "10")).await.good();
    let own = format!("/v1/admin/customers/{}/transactions", customer.id);
    let staff = &world.operator.who;
    let (lines, _) = listed(&world, staff, (&own, ""), 100).await;
    let middle = text(&lines[2], "created_at").to_owned();
    for (who, path) in [(&customer.who, "/v1/me/transactions"), (staff, own.as_str())] {
        let of = |query| (path, query);
        assert_admits(&world, who, of("operation=pay"), |line| text(line, "operation") == "pay").await;
        assert_admits(&world, who, of("operation=transfer"), |_| false).await;
        let at = format!("merchant_id={}", other_shop.id);
        assert_admits(&world, who, of(&at), |line| text(line, "merchant_id") == other_shop.id).await;
        let sized = |line: &Value| ["-10", "-5", "10", "5"].contains(&text(&line["changes"], "ECOPAY"));
        assert_admits(&world, who, of("min=5&max=10"), sized).await;
        let of_points = |line: &Value| line["changes"].get("POINT").is_some();
        assert_admits(&world, who, of("asset=POINT"), of_points).await;
        let (from, to) = (format!("from={middle}"), format!("to={middle}"));
        assert_admits(&world, who, of(&from), |line| text(line, "created_at") >= middle.as_str()).await;
        assert_admits(&world, who, of(&to), |line| text(line, "created_at") < middle.as_str()).await;
        let both = format!("{from}&operation=pay&max=10");
        let wanted = |line: &Value| {
            text(line, "created_at") >= middle.as_str() && text(line, "operation") == "pay" && sized(line)
        };
        assert_admits(&world, who, of(&both), wanted).await;
        assert_admits(&world, who, of("from=2020-01-01&to=2020-12-31"), |_| false).await;
    }
    let of_shop = format!("/v1/admin/merchants/{}/payments", shop.id);
    let (records, _) = listed(&world, staff, (&of_shop, ""), 100).await;
    assert_eq!(records, listed(&world, &shop.who, ("/v1/merchant/payments", ""), 100).await.0);
    assert_eq!(records.len(), 4, "three payments and a refund");
    let middle = text(&records[1], "created_at").to_owned();
    for (who, path) in [(&shop.who, "/v1/merchant/payments"), (staff, of_shop.as_str())] {
        let of = |query| (path, query);
        assert_admits(&world, who, of("kind=refund"), |record| text(record, "kind") == "refund").await;
        assert_admits(&world, who, of("kind=payment_reversal"), |_| false).await;
        let refunded = |record: &Value| text(record, "status") == "partially_refunded";
        assert_admits(&world, who, of("status=partially_refunded"), refunded).await;
        assert_admits(&world, who, of("min=10"), |record| ["10", "200"].contains(&text(record, "amount"))).await;
        assert_admits(&world, who, of("asset=JCREDIT"), |_| false).await;
        let from = format!("from={middle}");
        assert_admits(&world, who, of(&from), |record| text(record, "created_at") >= middle.as_str()).await;
        let to = format!("to={middle}&kind=payment");
        let wanted = |record: &Value| text(record, "created_at") < middle.as_str() && text(record, "kind") == "payment";
        assert_admits(&world, who, of(&to), wanted).await;
    }
    for (path, query, named) in [
        (own.as_str(), "operation=steal", "operation"),
        (own.as_str(), "kind=refund", "kind"),
        (of_shop.as_str(), "status=created", "status"),
        (of_shop.as_str(), "kind=topup", "kind"),
        (of_shop.as_str(), "operation=pay", "operation"),
        (of_shop.as_str(), "from=2026-11-31", "from"),
    ] {
        let refused = world.api.send(&Call::get(&format!("{path}?{query}"), staff)).await;
        let problem = refused.problem(400, "invalid_request").json();
        assert!(text(&problem, "detail").starts_with(&format!("{named}: ")), "{query}: {problem}");
    }
}

/// A page of a filter reads a bounded number of items, and the list goes on where it stopped.
#[tokio::test]
async fn filter_that_few_items_pass_gives_short_pages_and_loses_none() {
    let world = World::new("list-bounds").await;
    let shop = world.merchant().await;
    let customer = world.customer_with("10000").await;
    let paid = async |amount| {
        let _ = world.api.settle(&customer.pays(&shop, amount)).await.good();
    };
    paid("77").await;
    for _ in 0..230 {
        paid("1").await;
    }
    for (who, path) in [(&customer.who, "/v1/me/transactions"), (&shop.who, "/v1/merchant/payments")] {
        let (found, pages) = listed(&world, who, (path, "min=77&max=77"), 20).await;
        assert_eq!((found.len(), pages), (1, 2), "{path}: 200 items are read for a page");
    }
}

#[tokio::test]
async fn topups_of_a_customer_are_listed_with_every_status() {
    let world = World::alone("list-topups").await;
    world.hold_deliveries().await;
    let (customer, other) = (world.customer().await, world.customer().await);
    let (paid, pending) = (world.paid_topup(&customer, "3000").await, world.topup(&customer, "500").await);
    let _ = world.topup(&other, "700").await;
    let staff = &world.operator.who;
    let of_staff = format!("/v1/admin/customers/{}/topups", customer.id);
    // The index is read eventually consistent on DynamoDB, and at once on the embedded engine.
    for (who, path) in [(&customer.who, "/v1/me/topups"), (staff, of_staff.as_str())] {
        let (all, _) = listed(&world, who, (path, ""), 1).await;
        let shown: Vec<_> = all.iter().map(|topup| (text(topup, "topup_id"), text(topup, "status"))).collect();
        assert_eq!(shown, [(pending.id.as_str(), "pending"), (paid.id.as_str(), "succeeded")], "newest first");
        let one = world.api.send(&Call::get(&format!("/v1/admin/topups/{}", paid.id), staff)).await.good().json();
        assert_eq!(all[1], one, "a list shows a top-up as its own path does");
        assert_admits(&world, who, (path, "status=succeeded"), |topup| text(topup, "status") == "succeeded").await;
        assert_admits(&world, who, (path, "status=refused"), |_| false).await;
        assert_admits(&world, who, (path, "min=501"), |topup| text(topup, "amount") == "3000").await;
        let at = text(&all[0], "created_at").to_owned();
        let to = format!("to={at}");
        assert_admits(&world, who, (path, &to), |topup| text(topup, "created_at") < at.as_str()).await;
        let from = format!("from={at}&max=500");
        assert_admits(&world, who, (path, &from), |topup| text(topup, "created_at") >= at.as_str()).await;
        for (query, named) in [("status=requested", "status"), ("asset=POINT", "asset")] {
            let refused = world.api.send(&Call::get(&format!("{path}?{query}"), who)).await;
            let problem = refused.problem(400, "invalid_request").json();
            assert!(text(&problem, "detail").starts_with(&format!("{named}: ")), "{query}: {problem}");
        }
    }
    for id in [world.merchant().await.id, new_id()] {
        let unknown = Call::get(&format!("/v1/admin/customers/{id}/topups"), staff);
        let _ = world.api.send(&unknown).await.problem(404, "not_found");
    }
    let _ = world.check_books().await;
}

#[tokio::test]
async fn open_holds_are_listed_by_their_expiry_until_they_end() {
    let world = World::new("list-holds").await;
    let (shop, other_shop) = (world.merchant().await, world.merchant().await);
    let (customer, other) = (world.customer_with("1000").await, world.customer_with("1000").await);
    let mut held = Vec::new();
    for (payer, payee) in [(&customer, &shop), (&other, &shop), (&customer, &other_shop)] {
        let code = payer.code(&world).await;
        let authorized = world.api.settle(&payee.authorizes(&code, "10")).await.good().json();
        held.push(text(&authorized, "payment_id").to_owned());
    }
    let staff = &world.operator.who;
    let ids = async |query: &str, limit| -> Vec<String> {
        let (holds, _) = listed(&world, staff, ("/v1/admin/holds", query), limit).await;
        holds.iter().map(|hold| text(hold, "payment_id").to_owned()).collect()
    };
    for limit in [1, 2, 100] {
        assert_eq!(ids("", limit).await, held, "the first to expire is first, {limit} at a time");
        assert_eq!(ids(&format!("merchant_id={}", shop.id), limit).await, held[..2]);
        assert_eq!(ids(&format!("customer_id={}", other.id), limit).await, held[1..2]);
    }
    let _ = world.api.settle(&shop.voids(&held[0])).await.good();
    assert_eq!(ids("", 100).await, held[1..]);
    let foreign = Call::get("/v1/admin/holds?cursor=AQGaAAAAAHAAgAAAAAAAAOE", staff);
    let _ = world.api.send(&foreign).await.problem(400, "invalid_request");
}

#[tokio::test]
async fn bulk_grants_and_settlements_of_a_tenant_are_listed_newest_first() {
    let world = World::new("list-tenant").await;
    let (customer, staff) = (world.customer().await, &world.operator.who);
    let mut jobs = Vec::new();
    for amount in ["5", "6"] {
        let bulk = json!({"customer_ids": [customer.id], "asset": "POINT", "amount": amount, "reason": "thanks"});
        let bulk = Call::post("/v1/admin/grants", staff, &bulk).key(new_key());
        jobs.insert(0, world.executes(&bulk).await.good().text("/job_id"));
    }
    for limit in [1, 100] {
        let (found, _) = listed(&world, staff, ("/v1/admin/jobs", "kind=grant&from=2020-01-01"), limit).await;
        let ids: Vec<&str> = found.iter().map(|job| text(job, "job_id")).collect();
        assert_eq!(ids, jobs, "{limit} at a time");
    }
    assert_admits(&world, staff, ("/v1/admin/jobs", "kind=grant&to=2020-01-01"), |_| false).await;
    let (breaks, _) = listed(&world, staff, ("/v1/admin/breaks", "kind=balance_differs&from=2020-01-01"), 20).await;
    assert_eq!(breaks, Vec::<Value>::new());
    let (settlements, _) = listed(&world, staff, ("/v1/admin/settlements", "status=paid"), 20).await;
    assert_eq!(settlements, Vec::<Value>::new());
    for (path, query) in [
        ("jobs", "status=finished"),
        ("breaks", "kind=nothing"),
        ("settlements", "status=open"),
        ("approvals", "command=steal"),
        ("holds", "merchant_id=1"),
    ] {
        let call = Call::get(&format!("/v1/admin/{path}?{query}"), staff);
        let problem = world.api.send(&call).await.problem(400, "invalid_request").json();
        assert!(text(&problem, "detail").starts_with(query.split('=').next().expect("a name")), "{problem}");
    }
}
