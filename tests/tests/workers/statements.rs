//! A merchant's month: it adds up, equals the books, and its fees are invoices.

use ledger_core::time::BusinessMonth;
use ledger_tests::http::approvals::decides;
use ledger_tests::http::settling::Settling;
use ledger_tests::http::{Call, Who};
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::time::Duration;

fn number(value: &Value) -> Decimal {
    value.as_str().expect("a text").parse().expect("a number")
}

async fn seen(shop: &Settling, path: &str, who: &Who) -> Value {
    shop.world.api.send(&Call::get(path, who)).await.good().json()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statement_adds_up_and_its_invoices_are_the_fees_of_settlements() {
    let shop = Settling::registered("statement", "T1234567890123").await;
    let world = &shop.world;
    let first = shop.take("4030").await;
    let _ = shop.take("970").await;
    shop.refund(&first, "30").await;
    shop.credit().await;
    let settlement = shop.close().await;
    let _ = shop.walk(&settlement).await;
    // What comes after the settlement is the balance at the end.
    let _ = shop.take("200").await;
    let _ = world.seal_and_fold().await;

    let today = world.app.now().business_date();
    let month = today.month();
    let path = format!("/v1/merchant/statements?month={month}");
    let shown = seen(&shop, &path, &shop.merchant.who).await;
    let admin = format!("/v1/admin/statements?merchant_id={}&month={month}", shop.merchant.id);
    assert_eq!(seen(&shop, &admin, &world.operator.who).await, shown);
    assert_eq!((&shown["status"], &shown["to"]), (&json!("provisional"), &json!(today.to_string())));

    let assets = shown["assets"].as_array().expect("assets");
    assert_eq!(assets.len(), 1, "{shown:#}");
    let lines = assets[0]["lines"].as_array().expect("lines");
    let parts: Vec<&str> = lines.iter().map(|line| line["part"].as_str().expect("a part")).collect();
    assert_eq!(parts, ["payments", "refunds", "fees", "settlements"]);
    let moved: Decimal = lines.iter().map(|line| number(&line["gained"]) - number(&line["lost"])).sum();
    let books = world.check_books().await;
    let posted = books.posted(&format!("merchant:{}", shop.merchant.id), "ECOPAY");
    assert_eq!((number(&assets[0]["opening"]) + moved, number(&assets[0]["closing"])), (posted, posted));
    assert_eq!(posted, Decimal::from(200));

    let of_settlement = shop.view(&settlement).await;
    let invoice = &shown["invoices"][0];
    assert_eq!((&invoice["fee"], &invoice["tax"]), (&of_settlement["fee"], &of_settlement["tax"]));
    assert_eq!((&invoice["registration_number"], &invoice["tax_rate"]), (&json!("T1234567890123"), &json!("0.1")));
    assert_eq!(shown["tax_rates"], json!([{"tax_rate": "0.1", "fee": invoice["fee"], "tax": invoice["tax"]}]));
    assert_eq!(shown["payouts"][0]["amount"], of_settlement["payable"]);
    let fees = lines.iter().find(|line| line["part"] == "fees").expect("fees");
    assert_eq!(number(&fees["lost"]), number(&invoice["fee"]) + number(&invoice["tax"]));

    let file = world.api.send(&Call::get(&format!("{path}&format=csv"), &shop.merchant.who)).await.good();
    let rows: Vec<&str> = file.body.trim_start_matches('\u{feff}').split("\r\n").collect();
    assert!(
        rows[0].starts_with("month,merchant_id,merchant,row,date,asset,part,count,gained,lost,balance,"),
        "{rows:#?}"
    );
    assert!(rows[0].ends_with(",status") && rows[1].ends_with(",provisional"), "{rows:#?}");
    let kinds: Vec<&str> = rows[1..].iter().filter_map(|row| row.split(',').nth(3)).collect();
    assert_eq!(kinds, ["opening", "part", "part", "part", "part", "closing", "invoice", "tax_rate", "payout"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payout_that_is_returned_months_later_is_in_the_statement_of_that_month() {
    let (shop, clock) = Settling::timed("statement-returned").await;
    let world = &shop.world;
    let _ = shop.take("3000").await;
    shop.credit().await;
    let settlement = shop.close().await;
    let _ = shop.walk(&settlement).await;
    let month = world.app.now().business_date().month();
    clock.forward(Duration::from_secs(70 * 24 * 60 * 60));
    let request = shop.about(&settlement, "returns", &json!({"note": "the bank returned it"}));
    let returned = shop.good(&request).await.text("/approval_id");
    let _ = shop.good(&decides("approve", &returned, &world.second.who)).await;
    let _ = world.seal_and_fold().await;
    let later = world.app.now().business_date().month();
    assert_ne!(month, later);
    let statement = async |month: BusinessMonth| {
        let path = format!("/v1/merchant/statements?month={month}");
        let shown = seen(&shop, &path, &shop.merchant.who).await;
        let amounts = |of: &str, name: &str| -> Decimal {
            shown[of].as_array().expect("lines").iter().map(|line| number(&line[name])).sum()
        };
        (amounts("payouts", "amount"), amounts("invoices", "fee"))
    };
    let payable = number(&shop.view(&settlement).await["payable"]);
    assert_eq!(statement(month).await.0, payable);
    assert_eq!(statement(later).await, (-payable, Decimal::ZERO));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statement_is_refused_of_another_month_and_of_an_unknown_merchant() {
    let shop = Settling::new("statement-refused").await;
    let (world, own) = (&shop.world, &shop.merchant.who);
    let next = world.app.now().business_date().last_of_month().next().month();
    for query in ["", "?month=2026", "?month=2026-13", "?month=2026-11&format=pdf", &format!("?month={next}")] {
        let call = Call::get(&format!("/v1/merchant/statements{query}"), own);
        let _ = world.api.send(&call).await.problem(400, "invalid_request");
    }
    let operator = &world.operator.who;
    let unknown = "/v1/admin/statements?merchant_id=01890a5d-ac96-774b-bcce-b302099a8001&month=2026-01";
    let _ = world.api.send(&Call::get(unknown, operator)).await.problem(404, "not_found");
    let call = Call::get("/v1/admin/statements?month=2026-01", operator);
    let _ = world.api.send(&call).await.problem(400, "invalid_request");
}
