//! Scenarios 2 to 5 of DOMAIN.md over HTTP on the local stack. A 503 is retried under its key, as clients do; after
//! each scenario the books are audited from the raw table.
use futures::future::join_all;
use ledger_tests::http::{Call, Merchant, Terminal, World};
use serde_json::{Value, json};

#[tokio::test]
async fn twenty_concurrent_payments_of_1000_from_5000_apply_five() {
    let world = World::new("scenario-2").await;
    let (customer, merchant) = (world.customer_with("5000").await, world.merchant().await);
    let calls: Vec<_> = (0..20).map(|_| customer.pays(&merchant, "1000")).collect();
    let answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
    let paid = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(paid, 5, "{answers:?}");
    for refused in answers.into_iter().filter(|answer| answer.status != 201) {
        let _ = refused.problem(400, "insufficient_balance");
    }
    assert_eq!(world.balance(&customer, "ECOPAY").await, "0");
    let books = world.check_books().await;
    assert_eq!(books.posted(&format!("merchant:{}", merchant.id), "ECOPAY"), 5_000.into());
    assert_eq!(books.entries_of("pay"), 5);
}

#[tokio::test]
async fn payment_in_three_assets_is_refunded_in_order() {
    let world = World::new("scenario-3").await;
    let (customer, merchant) = (world.customer_with("1740").await, world.merchant().await);
    world.grant(&customer, "POINT", "500").await;
    world.grant(&customer, "REGIONAL#aoba", "1000").await;
    let body = json!({"merchant_id": merchant.id, "amount": "3240", "points": "500", "regional": {"aoba": "1000"}});
    let paid = world.api.settle(&customer.pays(&merchant, "1").json(&body)).await.good();
    let parts = json!({"ECOPAY": "1740", "POINT": "500", "REGIONAL#aoba": "1000"});
    assert_eq!((paid.json()["paid"].clone(), paid.text("/co2_kg")), (parts, "32.4".to_owned()), "{paid:?}");
    // One percent of the money part is earned as points; the earlier points were all spent.
    assert_eq!(balances(&world, &customer).await, ["0", "17", "0"]);
    assert_eq!(metrics(&world, &customer).await["co2_kg"], "32.4");

    let payment = paid.text("/payment_id");
    let refunded = world.api.settle(&merchant.refunds(&payment, "1240")).await.good();
    assert_eq!(refunded.json()["refunded"], json!({"ECOPAY": "1240"}), "{refunded:?}");
    assert_eq!((refunded.text("/co2_kg"), refunded.text("/points_taken_back")), ("12.4".to_owned(), "12".to_owned()));
    assert_eq!(balances(&world, &customer).await, ["1240", "5", "0"]);
    assert_eq!(metrics(&world, &customer).await["co2_kg"], "20");

    let _ = world.api.settle(&merchant.refunds(&payment, "2001")).await.problem(400, "over_refund");
    assert_eq!(balances(&world, &customer).await, ["1240", "5", "0"]);
    world.check_books().await;

    // The rest is refunded as money, then regional currency, then points.
    let rest = world.api.settle(&merchant.refunds(&payment, "2000")).await.good();
    assert_eq!(rest.json()["refunded"], json!({"ECOPAY": "500", "REGIONAL#aoba": "1000", "POINT": "500"}), "{rest:?}");
    assert_eq!(rest.text("/payment_status"), "refunded");
    assert_eq!(balances(&world, &customer).await, ["1740", "500", "1000"]);
    assert_eq!(metrics(&world, &customer).await["co2_kg"], "0");
    let books = world.check_books().await;
    assert_eq!(books.posted(&format!("merchant:{}", merchant.id), "ECOPAY"), 0.into());
}

#[tokio::test]
async fn concurrent_refunds_of_60_from_100_apply_once() {
    let world = World::new("scenario-4").await;
    let (customer, merchant) = (world.customer_with("100").await, world.merchant().await);
    // Each round repeats the race.
    for _ in 0..8 {
        let payment = world.api.settle(&customer.pays(&merchant, "100")).await.good().text("/payment_id");
        let calls = [merchant.refunds(&payment, "60"), merchant.refunds(&payment, "60")];
        let mut answers = join_all(calls.iter().map(|call| world.api.settle(call))).await;
        answers.sort_by_key(|answer| answer.status);
        let [won, lost] = <[_; 2]>::try_from(answers).expect("two answers");
        assert_eq!(won.status, 201, "{won:?}");
        let _ = lost.problem(400, "over_refund");
        assert_eq!(world.balance(&customer, "ECOPAY").await, "60");
        let _ = world.api.settle(&merchant.refunds(&payment, "40")).await.good();
    }
    let books = world.check_books().await;
    assert_eq!((books.entries_of("pay"), books.entries_of("refund")), (8, 16));
}

#[tokio::test]
async fn terminal_retry_after_lost_answer_is_applied_once() {
    let world = World::new("scenario-5-lost").await;
    let (merchant, card, terminal) = till(&world, "1000").await;
    for (verb, body, after) in [
        ("pay", json!({"amount": "300"}), "700"),
        ("topup", json!({"amount": "50"}), "750"),
        ("pay", json!({"amount": "250"}), "500"),
    ] {
        let call = terminal.does(verb, &card, &body);
        send_and_disconnect(&world, &call);
        let retry = world.api.settle(&call).await.good();
        let again = world.api.settle(&call).await;
        assert_eq!(again.stored(), retry.stored());
        assert!(again.replayed(), "{again:?}");
        assert_eq!(world.card_balance(&card).await, after);
    }
    let books = world.check_books().await;
    assert_eq!((books.entries_of("card_pay"), books.entries_of("card_topup")), (2, 1));
    // Two payments, less the cash that it owes.
    assert_eq!(books.posted(&format!("merchant:{}", merchant.id), "ECOPAY"), (550 - 50).into());
}

#[tokio::test]
async fn reversal_before_its_original_forbids_it() {
    let world = World::new("scenario-5-overtaken").await;
    let (_, card, terminal) = till(&world, "1000").await;
    let paid = world.api.settle(&terminal.does("pay", &card, &json!({"amount": "400"}))).await.good();
    let originals = [
        ("card_topup", "topup", json!({"amount": "300"})),
        ("card_pay", "pay", json!({"amount": "300"})),
        ("card_refund", "refund", json!({"payment_id": paid.text("/payment_id"), "amount": "100"})),
    ];
    let before = world.check_books().await;
    for (operation, verb, body) in originals {
        let original = terminal.does(verb, &card, &body);
        let reversed = world.api.settle(&terminal.reverses(operation, &original)).await.good();
        assert_eq!(reversed.text("/outcome"), "forbidden", "{reversed:?}");
        for _ in 0..2 {
            let _ = world.api.settle(&original).await.problem(409, "operation_reversed");
        }
        // Checked before the fingerprint: another request under the key gets the same refusal.
        let other = original.clone().json(&with(&body, "amount", "1"));
        let _ = world.api.settle(&other).await.problem(409, "operation_reversed");
        assert_eq!(world.card_balance(&card).await, "600");
    }
    let after = world.check_books().await;
    for operation in ["card_topup", "card_pay", "card_refund", "card_reverse"] {
        assert_eq!(after.entries_of(operation), before.entries_of(operation), "{operation}");
    }
}

#[tokio::test]
async fn reversal_undoes_its_original_once() {
    let world = World::new("scenario-5-undone").await;
    let (merchant, card, terminal) = till(&world, "1000").await;
    let refundable = world.api.settle(&terminal.does("pay", &card, &json!({"amount": "400"}))).await.good();
    let payment = refundable.text("/payment_id");
    let originals = [
        ("card_topup", "topup", json!({"amount": "300"}), "900"),
        ("card_pay", "pay", json!({"amount": "300"}), "300"),
        ("card_refund", "refund", json!({"payment_id": payment, "amount": "100"}), "700"),
    ];
    for (operation, verb, body, meanwhile) in originals {
        let original = terminal.does(verb, &card, &body);
        let done = world.api.settle(&original).await.good();
        assert_eq!(world.card_balance(&card).await, meanwhile, "{operation}");
        let reversal = terminal.reverses(operation, &original);
        let reversed = world.api.settle(&reversal).await.good();
        assert_eq!(reversed.text("/outcome"), "undone", "{reversed:?}");
        assert_eq!(reversed.text("/original_transaction_id"), done.text("/transaction_id"));
        assert_eq!(world.card_balance(&card).await, "600", "{operation}");

        let replayed = world.api.settle(&reversal).await;
        assert_eq!((replayed.stored(), replayed.replayed()), (reversed.stored(), true));
        let again = world.api.settle(&terminal.reverses(operation, &original)).await.good();
        assert_eq!(again.text("/outcome"), "already_reversed");
        let _ = world.api.settle(&original).await.problem(409, "operation_reversed");
        assert_eq!(world.card_balance(&card).await, "600", "{operation}");
        world.check_books().await;
    }
    // The reversed refund can be made again, in full.
    let whole = terminal.does("refund", &card, &json!({"payment_id": payment}));
    assert_eq!(world.api.settle(&whole).await.good().text("/amount"), "400");
    let books = world.check_books().await;
    assert_eq!(books.entries_of("card_reverse"), 3);
    // A top-up that was given back is cash, a refund that was taken back is none.
    let totals = world.api.send(&Call::get("/v1/terminal/totals", &terminal.who)).await.good().json();
    let line = |operation: &str, reverses: Option<&str>, count: u64, amount: &str| match reverses {
        Some(of) => {
            json!({"operation": operation, "reverses": of, "count": count, "asset": "ECOPAY", "amount": amount})
        }
        None => json!({"operation": operation, "count": count, "asset": "ECOPAY", "amount": amount}),
    };
    let lines = [
        line("card_pay", None, 2, "-700"),
        line("card_refund", None, 2, "500"),
        line("card_reverse", Some("card_pay"), 1, "300"),
        line("card_reverse", Some("card_refund"), 1, "-100"),
        line("card_reverse", Some("card_topup"), 1, "-300"),
        line("card_topup", None, 1, "300"),
    ];
    assert_eq!(totals["totals"], json!(lines), "{totals}");
    assert_eq!(totals["cash"], json!({"taken": "300", "given_back": "300", "expected": "0"}), "{totals}");
    assert_eq!(books.posted(&format!("merchant:{}", merchant.id), "ECOPAY"), 0.into());
}

#[tokio::test]
async fn reversal_of_spent_or_refunded_original_is_refused() {
    let world = World::new("scenario-5-cannot").await;
    let (_, card, terminal) = till(&world, "0").await;
    let topup = terminal.does("topup", &card, &json!({"amount": "500"}));
    let _ = world.api.settle(&topup).await.good();
    let pay = terminal.does("pay", &card, &json!({"amount": "200"}));
    let payment = world.api.settle(&pay).await.good().text("/payment_id");

    let reversal = terminal.reverses("card_topup", &topup);
    let spent = world.api.settle(&reversal).await.problem(400, "insufficient_balance");
    assert_eq!(world.api.settle(&reversal).await.stored(), spent.stored());
    // The top-up remains, and its stored response too.
    assert!(world.api.settle(&topup).await.good().replayed());

    let _ =
        world.api.settle(&terminal.does("refund", &card, &json!({"payment_id": payment, "amount": "50"}))).await.good();
    let _ = world.api.settle(&terminal.reverses("card_pay", &pay)).await.problem(400, "wrong_state");

    let poor = terminal.does("pay", &card, &json!({"amount": "9999"}));
    let _ = world.api.settle(&poor).await.problem(400, "insufficient_balance");
    let nothing = world.api.settle(&terminal.reverses("card_pay", &poor)).await.good();
    assert_eq!(nothing.text("/outcome"), "nothing_moved");
    let _ = world.api.settle(&poor).await.problem(409, "operation_reversed");
    assert_eq!(world.card_balance(&card).await, "350");
    world.check_books().await;
}

#[tokio::test]
async fn concurrent_original_and_reversal_move_nothing() {
    let world = World::new("scenario-5-race").await;
    let (merchant, card, terminal) = till(&world, "1000").await;
    let mut outcomes = Vec::new();
    for round in 0..12 {
        let original = terminal.does("pay", &card, &json!({"amount": "700"}));
        let reversal = terminal.reverses("card_pay", &original);
        let (paid, reversed) = if round % 2 == 0 {
            futures::join!(world.api.settle(&original), world.api.settle(&reversal))
        } else {
            let (reversed, paid) = futures::join!(world.api.settle(&reversal), world.api.settle(&original));
            (paid, reversed)
        };
        let outcome = reversed.good().text("/outcome");
        let expected = if outcome == "undone" { 201 } else { 409 };
        assert_eq!(paid.status, expected, "{outcome}: {paid:?}");
        assert_eq!(world.card_balance(&card).await, "1000");
        let _ = world.api.settle(&original).await.problem(409, "operation_reversed");
        outcomes.push(outcome);
    }
    assert!(outcomes.iter().all(|outcome| ["undone", "forbidden"].contains(&outcome.as_str())), "{outcomes:?}");
    let books = world.check_books().await;
    assert_eq!(books.entries_of("card_pay"), books.entries_of("card_reverse"));
    assert_eq!(books.posted(&format!("merchant:{}", merchant.id), "ECOPAY"), 0.into());
}

/// A merchant's enrolled terminal, and a card with money.
async fn till(world: &World, on_card: &str) -> (Merchant, String, Terminal) {
    let merchant = world.merchant().await;
    let card = world.card(None, on_card).await;
    let terminal = world.terminal_with_cash(&merchant, "10000").await;
    (merchant, card, terminal)
}

/// Sends a request and closes the connection without reading the answer: it may be executed, interrupted, or never
/// begun.
fn send_and_disconnect(world: &World, call: &Call) {
    use std::io::Write;
    let address = world.api.base().trim_start_matches("http://");
    let body = call.body.clone().unwrap_or_default();
    let length = body.len();
    let mut request =
        format!("{} {} HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n", call.method, call.path);
    for (name, value) in world.api.headers(call) {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    let mut connection = std::net::TcpStream::connect(address).expect("the stack listens");
    connection.write_all(format!("{request}\r\n{body}").as_bytes()).expect("the request is sent");
}

fn with(body: &Value, name: &str, value: &str) -> Value {
    let mut body = body.clone();
    body[name] = json!(value);
    body
}

async fn balances(world: &World, customer: &ledger_tests::http::Customer) -> [String; 3] {
    let mut all = [String::new(), String::new(), String::new()];
    for (at, asset) in ["ECOPAY", "POINT", "REGIONAL#aoba"].into_iter().enumerate() {
        all[at] = world.balance(customer, asset).await;
    }
    all
}

async fn metrics(world: &World, customer: &ledger_tests::http::Customer) -> Value {
    world.api.send(&Call::get("/v1/me/balances", &customer.who)).await.good().json()["metrics"].clone()
}

/// In a payment in several assets, a refusal names the asset that is short.
#[tokio::test]
async fn insufficient_balance_names_the_short_asset() {
    let world = World::new("short").await;
    let (customer, merchant) = (world.customer_with("5000").await, world.merchant().await);
    world.grant(&customer, "REGIONAL#aoba", "5").await;
    let body = json!({"merchant_id": merchant.id, "amount": "3240", "regional": {"aoba": "1000"}});
    let call = Call::post("/v1/me/payments", &customer.who, &body).key("short");
    let refused = world.api.settle(&call).await.problem(400, "insufficient_balance");
    let shortfall = (refused.text("/balance_short"), refused.text("/asset"));
    assert_eq!(shortfall, ("995".to_owned(), "REGIONAL#aoba".to_owned()));
    world.check_books().await;
}
