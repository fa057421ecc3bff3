//! Files that staff ask for: made once, complete, fetched by a link that ends, by those who may read what they have.

use super::figures::{Town, today};
use futures::future::join;
use ledger_core::dynamo::Value as Stored;
use ledger_tests::http::settling::{Settling, payable};
use ledger_tests::http::world::new_key;
use ledger_tests::http::{Call, World, host, staff};
use serde_json::{Value, json};
use std::time::Duration;

fn rows(file: &str) -> Vec<Vec<String>> {
    let text = file.strip_prefix('\u{feff}').expect("a byte order mark");
    let lines = text.strip_suffix("\r\n").expect("a last row").split("\r\n");
    lines.map(|line| line.split(',').map(str::to_owned).collect()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn history_of_a_customer_has_each_change_of_the_days() {
    let town = Town::new("files-history").await;
    let world = &town.world;
    town.trade().await;
    let (date, customer) = (today(world), &town.customers[0]);
    town.next_noon();
    town.trade().await;
    let day = date.to_string();
    let content = json!({"kind": "customer_history", "customer_id": customer.id, "from": day, "to": day});
    let file = world.fetched(&content).await;
    let rows = rows(&file);
    assert_eq!(rows[0][..5], ["time", "transaction_id", "operation", "asset", "change"]);
    let path = format!("/v1/admin/customers/{}/transactions?limit=100&from={date}&to={date}", customer.id);
    let shown = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    let mut wanted = Vec::new();
    for line in shown["items"].as_array().expect("lines") {
        for (asset, change) in line["changes"].as_object().expect("changes") {
            let text = |name: &str| line[name].as_str().expect("a text").to_owned();
            wanted.push([text("transaction_id"), asset.clone(), change.as_str().expect("a number").to_owned()]);
        }
    }
    let written: Vec<_> = rows[1..].iter().map(|row| [row[1].clone(), row[3].clone(), row[4].clone()]).collect();
    assert!(written.len() > 3);
    assert_eq!(written, wanted);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn data_of_a_customer_has_profile_balances_cards_and_transactions() {
    let town = Town::new("files-data").await;
    let world = &town.world;
    town.trade().await;
    let customer = &town.customers[1];
    let content = json!({"kind": "customer_data", "customer_id": customer.id});
    let file: Value = serde_json::from_str(&world.fetched(&content).await).expect("JSON");
    assert_eq!(file["customer"]["customer_id"], customer.id.as_str());
    let path = format!("/v1/admin/customers/{}/transactions?limit=100", customer.id);
    let shown = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    assert_eq!(file["transactions"], shown["items"]);
    let path = format!("/v1/admin/cards/{}/transactions?limit=100", town.card);
    let shown = world.api.send(&Call::get(&path, &world.operator.who)).await.good().json();
    assert_eq!(file["cards"][0]["transactions"], shown["items"]);
    // A card that was replaced is the customer's too, and one that had another owner before is not.
    let fresh = world.card(None, "0").await;
    let body = json!({"new_card_id": fresh, "reason": "lost"});
    let replace = Call::post(&format!("/v1/admin/cards/{}/replace", town.card), &world.operator.who, &body);
    let _ = world.executes(&replace.key(new_key())).await.good();
    let replaced: Value = serde_json::from_str(&world.fetched(&content).await).expect("JSON");
    let cards: Vec<_> = replaced["cards"].as_array().expect("cards").iter().map(|of| &of["card"]).collect();
    let shown: Vec<_> = cards.iter().map(|card| (card["card_id"].as_str(), card["status"].as_str())).collect();
    assert_eq!(shown, [(Some(&*fresh), Some("active")), (Some(&*town.card), Some("replaced"))], "{replaced:#}");
    let entries = |of: &Value| of["transactions"].as_array().expect("transactions").len();
    assert_eq!(entries(&replaced["cards"][1]), entries(&file["cards"][0]) + 1);
    assert!(file["balances"].as_array().is_some_and(|balances| !balances.is_empty()), "{file:#}");
    // Each link to a customer's data is on the audit trail.
    let act = |action: &str, trail: &Value| trail.to_string().matches(&format!(r#""{action}""#)).count();
    let trail = world.api.send(&Call::get("/v1/admin/audit?limit=100", &world.operator.who)).await.good().json();
    assert_eq!(act("file_request", &trail), 2, "{trail}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payouts_and_months_of_all_merchants_are_files() {
    let shop = Settling::new("files-payouts").await;
    let world = &shop.world;
    let _ = shop.take("4000").await;
    shop.credit().await;
    let settlement = shop.close().await;
    let _ = shop.walk(&settlement).await;
    let _ = world.seal_and_fold().await;
    let today = world.app.now().business_date();
    let days = json!({"kind": "payouts", "from": today.days_before(1).to_string(), "to": today.to_string()});
    let payouts = rows(&world.fetched(&days).await);
    let shown = shop.view(&settlement).await;
    let text = |name: &str| shown[name].as_str().expect("a text").to_owned();
    let column = |name: &str| payouts[0].iter().position(|column| column == name).expect("a column");
    assert_eq!(payouts.len(), 2);
    for name in ["settlement_id", "merchant_id", "net", "fee", "tax", "payable"] {
        assert_eq!(payouts[1][column(name)], text(name), "{name}");
    }
    let month = today.month().to_string();
    let months = world.fetched(&json!({"kind": "statements", "month": month})).await;
    let own = format!("/v1/merchant/statements?month={month}&format=csv");
    let own = world.api.send(&Call::get(&own, &shop.merchant.who)).await.good().body;
    assert_eq!(months, own);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payees_have_each_merchant_and_what_a_bank_file_does_not_take_of_it() {
    let world = World::with_terms(host::shared(), "files-payees", |_| {}).await;
    let [paid, misnamed] = [payable(&world).await, payable(&world).await];
    let nowhere = world.merchant().await;
    let (pk, books) = (format!("files-payees#merchant#{}", misnamed.id), world.books().await);
    let mut profile = books.row(&pk, "PROFILE").expect("a profile").clone();
    let Some(Stored::M(account)) = profile.get_mut("payout") else { panic!("no destination: {profile:?}") };
    account.insert("account_holder".to_owned(), Stored::s("山田商店"));
    world.plant(profile).await;
    let rows = rows(&world.fetched(&json!({"kind": "payees"})).await);
    assert_eq!(rows[0], ["merchant_id", "merchant", "status", "paid_by", "destination", "problem"]);
    assert_eq!(rows.len(), 4);
    for (merchant, paid_by, problem) in
        [(&paid, "bank_file", ""), (&misnamed, "", "rejected: account_holder"), (&nowhere, "", "no_destination")]
    {
        let row = rows.iter().find(|row| row[0] == merchant.id).expect("a row");
        assert_eq!((row[3].as_str(), row[5].as_str(), row[4].is_empty()), (paid_by, problem, paid_by.is_empty()));
        assert!(!row[4].contains("1234567"), "the account's number is masked: {row:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_that_cannot_be_made_does_not_delay_the_others() {
    let world = World::with_terms(host::shared(), "files-broken", |_| {}).await;
    let (merchant, customer) = (world.merchant().await, world.customer().await);
    let ask = async |content: &Value| world.api.settle(&world.asks_for(content)).await.good().text("/job_id");
    let broken = ask(&json!({"kind": "payees"})).await;
    let other = ask(&json!({"kind": "customer_data", "customer_id": customer.id})).await;
    let (pk, books) = (format!("files-broken#merchant#{}", merchant.id), world.books().await);
    let whole = books.row(&pk, "PROFILE").expect("a profile").clone();
    let mut damaged = whole.clone();
    damaged.remove("name");
    world.plant(damaged).await;
    assert_eq!(world.try_make_files().await.expect_err("one file cannot be made").status(), 500);
    world.plant(whole).await;
    assert_eq!(world.file(&broken).await["status"], "in_progress");
    assert_eq!(world.file(&other).await["status"], "ready");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_is_made_once_and_its_link_ends() {
    let town = Town::new("files-once").await;
    let world = &town.world;
    let content = json!({"kind": "statements", "month": today(world).month().to_string()});
    let request = world.asks_for(&content);
    let id = world.api.settle(&request).await.good().text("/job_id");
    assert_eq!(world.api.settle(&request).await.good().text("/job_id"), id);
    let waiting = world.file(&id).await;
    assert_eq!((&waiting["status"], waiting.get("url")), (&json!("in_progress"), None));
    let (one, two) = join(world.make_files(), world.make_files()).await;
    assert_eq!(one + two, 1);
    let ready = world.file(&id).await;
    assert_eq!(ready["status"], "ready");
    let listed = world.api.send(&Call::get("/v1/admin/jobs?kind=file", &world.operator.who)).await.good().json();
    assert_eq!((&listed["items"][0]["job_id"], &listed["items"][0]["status"]), (&json!(id), &json!("done")));
    let other = reqwest::get(format!("{}x", ready["url"].as_str().expect("a link"))).await.expect("a response");
    assert_eq!(other.status(), 403);
    town.clock.forward(Duration::from_secs(8 * 24 * 60 * 60));
    let expired = world.file(&id).await;
    assert_eq!((&expired["status"], expired.get("url")), (&json!("expired"), None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn file_is_refused_without_the_permission_to_read_it_and_of_malformed_content() {
    let world = World::new("files-refused").await;
    let customer = world.customer().await.id;
    let (_, support) = staff::member(&world, "support").await;
    let asks = |content: Value| world.asks_for(&content);
    let day = "2026-01-31";
    let payouts = asks(json!({"kind": "payouts", "from": day, "to": day}));
    let file = world.api.settle(&payouts).await.good().text("/job_id");
    for denied in [payouts.by(&support), Call::get(&format!("/v1/admin/files/{file}"), &support)] {
        let _ = world.api.send(&denied).await.problem(403, "permission_missing");
    }
    let own = asks(json!({"kind": "customer_data", "customer_id": customer})).by(&support);
    let _ = world.api.settle(&own).await.good();
    for wrong in [
        json!({"kind": "everything"}),
        json!({"kind": "payouts", "from": day}),
        json!({"kind": "payouts", "from": day, "to": "2026-01-30"}),
        json!({"kind": "payouts", "from": day, "to": "2199-01-30"}),
        json!({"kind": "payouts", "from": day, "to": day, "customer_id": customer}),
        json!({"kind": "statements", "month": "2026-13"}),
        json!({"kind": "statements", "month": "2199-01"}),
        json!({"kind": "customer_data"}),
    ] {
        let _ = world.api.send(&asks(wrong)).await.problem(400, "invalid_request");
    }
    let unknown = json!({"kind": "customer_data", "customer_id": "01890a5d-ac96-774b-bcce-b302099a8001"});
    let _ = world.api.send(&asks(unknown)).await.problem(404, "not_found");
}
