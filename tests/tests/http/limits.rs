//! Limits of customers and cards over HTTP.
use ledger_core::dynamo::Value;
use ledger_core::migration::Model;
use ledger_core::terms::TenantTerms;
use ledger_core::time::Timestamp;
use ledger_runtime::clock::Clock;
use ledger_tests::audit::number;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::endpoints::Stage;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::http::{Answer, Call, Customer, Host, Merchant, World, account_limits, host};
use ledger_tests::limits::{limits, overridable};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const CHANGE: &str = "/v1/admin/account-limits";

/// A tenant with these limits, on the shared stack.
async fn limited(tenant: &str, rules: &[(&str, &str)]) -> Stage {
    let rules = limits(rules);
    Stage::new(World::with_terms(host::shared(), tenant, |terms| terms.limits = Some(rules.clone())).await).await
}

/// The attributes that an answer has about a limit.
fn limit_of(answer: &Answer) -> [Json; 4] {
    let body = answer.json();
    ["limit_kind", "limit_period", "asset", "resets_at"].map(|name| body[name].clone())
}

/// What the customer has used of one limit: limit, used, remaining.
async fn used(world: &World, customer: &Customer, kind: &str, period: &str) -> (String, String, String) {
    let view = world.api.send(&Call::get("/v1/me/limits", &customer.who)).await.good().json();
    let of_operator = Call::get(&format!("/v1/admin/customers/{}/limits", customer.id), &world.operator.who);
    assert_eq!(world.api.send(&of_operator).await.good().json()["limits"], view["limits"]);
    let limits = view["limits"].as_array().unwrap();
    let of = limits.iter().find(|limit| limit["kind"] == kind && limit["period"] == period).unwrap();
    let text = |name: &str| of[name].as_str().unwrap().to_owned();
    (text("limit"), text("used"), text("remaining"))
}

fn three(limit: &str, used: &str, remaining: &str) -> (String, String, String) {
    (limit.to_owned(), used.to_owned(), remaining.to_owned())
}

#[tokio::test]
async fn holder_is_shown_the_limit_and_a_merchant_is_not() {
    let stage = limited("limits-shown", &[("customer", "pay_operation=500"), ("customer", "pay_month=800")]).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let customer = world.customer_with("5000").await;
    let above = customer.pays(merchant, "501");
    let refused = world.api.settle(&above).await.problem(400, "limit_exceeded");
    assert_eq!(limit_of(&refused), [json!("pay"), json!("operation"), json!("ECOPAY"), Json::Null]);
    let _ = world.api.settle(&customer.pays(merchant, "500")).await.good();
    let before = world.app.now();
    let above = customer.pays(merchant, "301");
    let refused = world.api.settle(&above).await.problem(400, "limit_exceeded");
    let [kind, period, asset, resets_at] = limit_of(&refused);
    assert_eq!([kind, period, asset], [json!("pay"), json!("month"), json!("ECOPAY")]);
    let resets_at = Timestamp::parse(resets_at.as_str().unwrap()).unwrap();
    assert!(before < resets_at && resets_at.business_date().bounds().0 == resets_at);
    // The refusal is stored: a retry gets its bytes, whatever has been used since.
    assert_eq!(world.api.send(&above).await.body, refused.body);
    assert_eq!(used(world, &customer, "pay", "month").await, three("800", "500", "300"));
    assert_eq!(used(world, &customer, "pay", "operation").await, three("500", "0", "500"));

    let code = customer.code(world).await;
    for call in [merchant.charges(&code, "301"), merchant.authorizes(&code, "301"), merchant.charges(&code, "501")] {
        let refused = world.api.settle(&call).await.problem(400, "limit_exceeded");
        assert_eq!(limit_of(&refused), [Json::Null, Json::Null, Json::Null, Json::Null], "{refused:?}");
        for secret in ["800", "300", "month"] {
            assert!(!refused.body.contains(secret), "{secret} in {refused:?}");
        }
    }
    let _ = world.api.settle(&merchant.charges(&code, "300")).await.good();
    let _ = world.check_books().await;
}

#[tokio::test]
async fn authorization_counts_once_and_nothing_is_given_back() {
    let rules = [("customer", "pay_day=1000"), ("customer", "transfer_day=70"), ("customer", "topup_day=300")];
    let stage = limited("limits-counted", &rules).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let customer = world.customer_with("5000").await;
    let authorize = async |amount: &str| {
        let authorize = merchant.authorizes(&customer.code(world).await, amount);
        world.api.settle(&authorize).await.good().text("/payment_id")
    };
    let (captured, voided) = (authorize("400").await, authorize("300").await);
    let _ = world.api.settle(&merchant.captures(&captured, Some("100"))).await.good();
    let _ = world.api.settle(&merchant.voids(&voided)).await.good();
    let paid = world.api.settle(&customer.pays(merchant, "300")).await.good().text("/payment_id");
    let _ = world.api.settle(&merchant.refunds(&paid, "300")).await.good();
    assert_eq!(used(world, &customer, "pay", "day").await, three("1000", "1000", "0"));
    let _ = world.api.settle(&customer.pays(merchant, "1")).await.problem(400, "limit_exceeded");
    // Other kinds are counted apart, and a recipient's use is not changed.
    let friend = world.customer().await;
    let _ = world.api.settle(&customer.sends(&friend, "70")).await.good();
    let refused = world.api.settle(&customer.sends(&friend, "1")).await.problem(400, "limit_exceeded");
    assert_eq!(limit_of(&refused)[..2], [json!("transfer"), json!("day")]);
    assert_eq!(used(world, &friend, "transfer", "day").await, three("70", "0", "70"));
    let _ = world.api.settle(&customer.tops_up("300")).await.good();
    let refused = world.api.settle(&customer.tops_up("1")).await.problem(400, "limit_exceeded");
    assert_eq!(limit_of(&refused)[..2], [json!("topup"), json!("day")]);
    let _ = world.check_books().await;
}

#[tokio::test]
async fn reversal_takes_its_amount_back_and_a_card_has_its_own_limits() {
    let rules = [("card", "pay_day=1000"), ("card", "cash_topup_month=1000"), ("customer", "pay_day=1")];
    let stage = limited("limits-card", &rules).await;
    let (world, terminal) = (&stage.world, &stage.terminal);
    let card = world.card(None, "5000").await;
    let does = |verb: &str, amount: &str| terminal.does(verb, &card, &json!({ "amount": amount }));
    let (first, second) = (does("pay", "600"), does("pay", "400"));
    for call in [&first, &second, &does("topup", "700")] {
        let _ = world.api.settle(call).await.good();
    }
    let loaded = does("topup", "300");
    let _ = world.api.settle(&loaded).await.good();
    for call in [does("pay", "1"), does("topup", "1")] {
        let refused = world.api.settle(&call).await.problem(400, "limit_exceeded");
        assert_eq!(limit_of(&refused)[..2], [Json::Null, Json::Null]);
    }
    let _ = world.api.settle(&terminal.reverses("card_pay", &first)).await.good();
    let _ = world.api.settle(&terminal.reverses("card_topup", &loaded)).await.good();
    let _ = world.api.settle(&does("pay", "601")).await.problem(400, "limit_exceeded");
    for call in [does("pay", "600"), does("topup", "300")] {
        let _ = world.api.settle(&call).await.good();
    }
    let books = world.check_books().await;
    let counts = |kind: &str| {
        let (_, _, row) = books.under("card").find(|(pk, ..)| pk.ends_with(card.as_str())).unwrap();
        let names = row.keys().filter(|name| name.starts_with(&format!("use_{kind}_")));
        names.map(|name| number(row, name).to_string()).collect::<Vec<_>>()
    };
    assert_eq!((counts("pay"), counts("cash_topup")), (vec!["1000".to_owned()], vec!["1000".to_owned()]));
}

#[tokio::test]
async fn own_limits_of_an_account_replace_those_of_the_tenant() {
    let rules = overridable(&[("customer", "pay_operation=100"), ("customer", "pay_day=150")]);
    let world = World::with_terms(host::shared(), "limits-own", |terms| terms.limits = Some(rules.clone())).await;
    let stage = Stage::new(world).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let (raised, usual) = (world.customer_with("5000").await, world.customer_with("5000").await);
    let body = json!({
        "account": format!("customer:{}", raised.id), "asset": "ECOPAY",
        "limits": {"pay_operation": "none", "pay_day": "2000"}, "reason": "a shop of her own",
    });
    let _ = world.operator(CHANGE, &body).await;
    let path = format!("/v1/admin/customers/{}/limits", raised.id);
    let shown = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    let lines = shown["limits"].as_array().expect("limits").iter();
    let own: Vec<_> = lines.map(|line| [&line["asset"], &line["kind"], &line["period"], &line["limit"]]).collect();
    assert_eq!(own, [["ECOPAY", "pay", "day", "2000"]], "{shown}");

    let _ = world.api.settle(&raised.pays(merchant, "1500")).await.good();
    let _ = world.api.settle(&raised.pays(merchant, "500")).await.good();
    let refused = world.api.settle(&raised.pays(merchant, "1")).await.problem(400, "limit_exceeded");
    assert_eq!(limit_of(&refused)[..2], [json!("pay"), json!("day")]);
    assert_eq!(used(world, &raised, "pay", "day").await, three("2000", "2000", "0"));
    let refused = world.api.settle(&usual.pays(merchant, "101")).await.problem(400, "limit_exceeded");
    assert_eq!(limit_of(&refused)[..2], [json!("pay"), json!("operation")]);
    let _ = world.api.settle(&usual.pays(merchant, "100")).await.good();
    let _ = world.api.settle(&usual.pays(merchant, "51")).await.problem(400, "limit_exceeded");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn limits_of_an_account_that_are_wrong_or_of_no_account_change_nothing() {
    let stage = limited("limits-own-wrong", &[("customer", "pay_day=150")]).await;
    let world = &stage.world;
    let customer = format!("customer:{}", world.customer().await.id);
    let before = world.books().await;
    let sent =
        async |body: &Json| world.api.settle(&Call::post(CHANGE, &world.operator.who, body).key(new_key())).await;
    let of = |account: &str, rule: &str, to: &str| account_limits::body(account, rule, to);
    for (body, field) in [
        (of("merchant:019a0000-0000-7000-8000-000000000001", "pay_day", "1"), "account"),
        (of("somewhere", "pay_day", "1"), "account"),
        (of(&customer, "cash_topup_day", "1"), "limits"),
        (of(&customer, "pay_week", "1"), "limits"),
        (of(&customer, "pay_day", "0.5"), "limits"),
        (of(&customer, "pay_day", "-1"), "limits"),
        (json!({"account": customer, "asset": "ECOPAY", "limits": {}}), "limits"),
        (json!({"account": customer, "asset": "GOLD", "limits": {"pay_day": "1"}}), "asset"),
    ] {
        let refused = sent(&body).await.problem(400, "invalid_request");
        assert!(refused.text("/detail").starts_with(field), "{body}: {refused:?}");
    }
    let missing = format!("customer:{}", new_id());
    let _ = sent(&of(&missing, "pay_day", "1")).await.problem(404, "not_found");
    assert!(world.books().await.changes_since(&before).is_empty());
}

#[tokio::test]
async fn account_of_a_migrating_tenant_gets_no_limits() {
    let world = World::legacy(host::shared(), "limits-own-legacy", Model::GodRecord).await;
    let account = format!("customer:{}", world.customer().await.id);
    let call = Call::post(CHANGE, &world.operator.who, &account_limits::body(&account, "pay_day", "1"));
    let _ = world.api.settle(&call.key(new_key())).await.problem(400, "wrong_state");
    let _ = world.check_books().await;
}

#[tokio::test]
async fn limits_of_an_account_are_raised_by_two_and_lowered_by_one() {
    let rules = overridable(&[("customer", "pay_day=150")]);
    let terms = |terms: &mut TenantTerms| {
        terms.limits = Some(rules.clone());
    };
    let stage = Stage::new(World::with_terms(host::shared(), "limits-own-two", terms).await).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let customer = world.customer_with("5000").await;
    let account = format!("customer:{}", customer.id);
    let sends = |rule: &str, to: &str| {
        Call::post(CHANGE, &world.operator.who, &account_limits::body(&account, rule, to)).key(new_key())
    };
    let stored = async |call: &Call| {
        let answer = world.api.settle(call).await.good();
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.text("/approval_id")
    };
    let lowered = world.api.settle(&sends("pay_day", "100")).await.good();
    assert_eq!((lowered.status, lowered.json()["limits"].clone()), (200, json!({"pay_day": "100"})));
    let _ = world.api.settle(&customer.pays(merchant, "101")).await.problem(400, "limit_exceeded");
    // The tenant's own limit is more than the account has.
    let (raise, stale) = (stored(&sends("pay_day", "2000")).await, stored(&sends("pay_day", "default")).await);
    let by_requester = decides("approve", &raise, &world.operator.who);
    let _ = world.api.settle(&by_requester).await.problem(403, "four_eyes_required");
    let _ = world.api.settle(&customer.pays(merchant, "101")).await.problem(400, "limit_exceeded");
    let view = Call::get(&format!("/v1/admin/approvals/{raise}"), &world.second.who);
    let view = world.api.send(&view).await.good().json();
    assert_eq!((&view["account"], &view["asset"]), (&json!(account), &json!("ECOPAY")), "{view}");
    assert_eq!(view["changes"], json!([{"name": "pay_day", "from": "100", "to": "2000"}]), "{view}");
    let _ = world.api.settle(&decides("approve", &raise, &world.second.who)).await.good();
    let _ = world.api.settle(&customer.pays(merchant, "2000")).await.good();
    let _ = world.api.settle(&customer.pays(merchant, "1")).await.problem(400, "limit_exceeded");
    // The account's limits are not those that were seen.
    let _ = world.api.settle(&decides("approve", &stale, &world.second.who)).await.problem(400, "approval_stale");
    let _ = world.check_books().await;
}

/// A stack whose functions use the time that the test sets, in milliseconds; the system's until it is set.
async fn at_set_times(tenant: &str, rules: &[(&str, &str)]) -> (Stage, Arc<AtomicI64>) {
    let at = Arc::new(AtomicI64::new(0));
    let (set, system) = (Arc::clone(&at), Clock::system());
    let clock = Clock::from_fn(move || match set.load(Ordering::SeqCst) {
        0 => system.now(),
        set => Timestamp::from_millis(set),
    });
    let host =
        Host::with_app(|backend| async move { host::app((backend.dynamodb, &backend.table), clock, &backend.stripe) });
    let rules = limits(rules);
    let world = World::with_terms(host, tenant, |terms| terms.limits = Some(rules.clone())).await;
    (Stage::new(world).await, at)
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_are_exact_under_parallel_payments_across_midnight_in_japan() {
    let (stage, at) =
        at_set_times("limits-midnight", &[("customer", "pay_day=1000"), ("customer", "pay_month=1700")]).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let customer = world.customer_with("50000").await;
    // The last instant of a day and of a month, and the first of the next day.
    let midnight = world.app.now().business_date().month().end();
    at.store(midnight.millis() - 1, Ordering::SeqCst);
    let pay = |number: usize| customer.pays(merchant, "100").key(format!("payment-{number}"));
    let calls: Vec<Call> = (0..32).map(pay).collect();
    let sent = calls.iter().map(|call| world.api.settle(call));
    let before = futures::future::join_all(sent);
    let later: Vec<Call> = (32..64).map(pay).collect();
    let after = async {
        tokio::time::sleep(std::time::Duration::from_millis(30)).await;
        at.store(midnight.millis(), Ordering::SeqCst);
        futures::future::join_all(later.iter().map(|call| world.api.settle(call))).await
    };
    let (before, after) = tokio::join!(before, after);
    let mut paid = 0;
    for answer in before.iter().chain(&after) {
        match answer.status {
            201 => paid += 1,
            _ => assert_eq!(answer.clone().problem(400, "limit_exceeded").status, 400),
        }
    }
    let books = world.check_books().await;
    let (_, _, row) = books.under("BALANCE#ECOPAY").find(|(pk, ..)| pk.ends_with(customer.id.as_str())).unwrap();
    let counts: Vec<(&String, String)> = row
        .iter()
        .filter(|(name, _)| name.starts_with("use_pay_"))
        .map(|(name, value)| {
            (
                name,
                match value {
                    Value::N(number) => number.clone(),
                    other => panic!("{other:?}"),
                },
            )
        })
        .collect();
    let new_day = midnight.business_date();
    let of = |digits: String| {
        let name = format!("use_pay_{digits}");
        counts.iter().find(|(found, _)| **found == name).map_or(0, |(_, number)| number.parse::<i64>().unwrap())
    };
    let (first, second) = (of(new_day.days_before(1).digits()), of(new_day.digits()));
    assert_eq!(second, 1000, "{counts:?}");
    assert!((0..=1000).contains(&first), "{counts:?}");
    assert_eq!(paid * 100, first + second);
    // Each month has the days that are in it.
    assert_eq!(of(new_day.days_before(1).month().digits()), first);
    assert_eq!(of(new_day.month().digits()), second);
    // The next day the day's limit is free again, and the month's is what is left.
    at.store(midnight.plus(std::time::Duration::from_secs(24 * 60 * 60)).millis(), Ordering::SeqCst);
    let _ = world.api.settle(&customer.pays(merchant, "700").key("next-day")).await.good();
    let refused =
        world.api.settle(&customer.pays(merchant, "1").key("next-day-above")).await.problem(400, "limit_exceeded");
    assert_eq!(limit_of(&refused)[..2], [json!("pay"), json!("month")]);
    let _ = world.check_books().await;
}

#[tokio::test]
async fn limits_of_merchants_and_terminals_bound_each_operation_and_name_no_amount() {
    let rules = [
        ("merchant", "pay_operation=500"),
        ("terminal", "pay_operation=300"),
        ("terminal", "cash_topup_operation=1000"),
    ];
    let stage = limited("limits-places", &rules).await;
    let (world, merchant) = (&stage.world, &stage.merchant);
    let customer = world.customer_with("5000").await;
    let refused = world.api.settle(&customer.pays(merchant, "501")).await.problem(400, "limit_exceeded");
    assert_eq!(limit_of(&refused), [const { Json::Null }; 4], "the payer is not the holder");
    let _ = world.api.settle(&customer.pays(merchant, "500")).await.good();
    for call in [Merchant::charges, Merchant::authorizes] {
        let code = customer.code(world).await;
        let _ = world.api.settle(&call(merchant, &code, "501")).await.problem(400, "limit_exceeded");
        let _ = world.api.settle(&call(merchant, &code, "500")).await.good();
    }
    let card = world.card(None, "3000").await;
    let at_terminal = async |operation: &str, amount: &str| {
        world.api.settle(&stage.terminal.does(operation, &card, &json!({ "amount": amount }))).await
    };
    let _ = at_terminal("pay", "301").await.problem(400, "limit_exceeded");
    let _ = at_terminal("pay", "300").await.good();
    let _ = at_terminal("topup", "1001").await.problem(400, "limit_exceeded");
    let _ = at_terminal("topup", "1000").await.good();
    world.check_books().await;
}
