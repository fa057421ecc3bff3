//! The store and the executor against the embedded engine: what a scripted answer cannot show, such
//! as the bounds of a query, and markers and balances that really stand.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test's helpers fail the test")]

use dynoxide::Database;
use ledger_core::account::{Account, Posting};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::forms;
use ledger_core::idempotency::{Admission, CanonicalRequest, Claim, Fields, IdempotencyKey, Window};
use ledger_core::ids::{Actor, CustomerId, MerchantId, Principal, Tenant, TransactionId};
use ledger_core::keys::{self, Partition, Shards};
use ledger_core::money::{Amount, Asset, AssetSpec};
use ledger_core::operation::Operation;
use ledger_core::personal::Masked;
use ledger_core::plan::Context;
use ledger_core::reads::{self, Query};
use ledger_core::terms::{EntryTerms, TermsVersion};
use ledger_core::transaction::{Draft, Entry, Planned, Role};
use ledger_runtime::clock::Clock;
use ledger_runtime::config::Config;
use ledger_runtime::dynamo::Dynamo;
use ledger_runtime::entropy::Entropy;
use ledger_runtime::execute::{Ledger, Outcome, PlanError, ok};
use ledger_runtime::metrics::{Counting, Metric, Metrics};
use serde_json::{Value, json};

const PAYER: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5a";
const PAYEE: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5b";
const TABLE: &str = "ledger";

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn customer(id: &str) -> CustomerId {
    CustomerId::parse(id).unwrap()
}

/// The engine on a port of its own, with the table and these items in it.
async fn engine(items: &[Value]) -> (Ledger, Counting) {
    let database = Database::memory().unwrap();
    let key = |pk: &str, sk: &str| json!([{"AttributeName": pk, "KeyType": "HASH"}, {"AttributeName": sk, "KeyType": "RANGE"}]);
    let attributes =
        ["uuid", "type", "owner_pk", "owner_sk"].map(|name| json!({"AttributeName": name, "AttributeType": "S"}));
    let index = json!({
        "IndexName": "by_owner", "KeySchema": key("owner_pk", "owner_sk"),
        "Projection": {"ProjectionType": "KEYS_ONLY"}
    });
    let table = json!({
        "TableName": TABLE, "BillingMode": "PAY_PER_REQUEST", "KeySchema": key("uuid", "type"),
        "AttributeDefinitions": attributes, "GlobalSecondaryIndexes": [index],
    });
    database.create_table(serde_json::from_value(table).unwrap()).unwrap();
    for item in items {
        let put = json!({"TableName": TABLE, "Item": item});
        database.put_item(serde_json::from_value(put).unwrap()).unwrap();
    }
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // Its handlers block, so it has a runtime of its own; it ends with the test's process.
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            dynoxide::server::serve_with_shutdown(listener, database, std::future::pending()).await.unwrap();
        });
    });
    let config = Config { endpoint_url: Some(url), ..Config::of_table(TABLE) };
    let dynamo = Dynamo::connect(&config, Entropy::system()).await;
    dynamo.warm_up().await.unwrap();
    let counting = Counting::new(Clock::system());
    let keys = r#"{"current":"k1","k1":"0123456789012345678901234567890123456789012"}"#;
    let ledger = Ledger::new(dynamo, Clock::system(), Entropy::system(), Metrics::to(counting.clone()));
    (ledger.with_marker_keys(Masked::new(keys.to_owned())), counting)
}

fn balance(id: &str, amount: u32) -> Value {
    json!({
        "uuid": {"S": format!("demo#customer#{id}")}, "type": {"S": "BALANCE#ECOPAY"},
        "balance": {"N": amount.to_string()}, "held": {"N": "0"}, "exposure": {"N": amount.to_string()},
    })
}

fn claim(ledger: &Ledger, key: &str, amount: &str) -> Claim {
    Claim {
        tenant: tenant(),
        principal: Principal::Customer(customer(PAYER)),
        actor: Actor::Customer(customer(PAYER)),
        operation: Operation::Transfer,
        key: IdempotencyKey::parse(key).unwrap().into(),
        request: CanonicalRequest {
            method: "POST",
            path: "/v1/me/transfers".to_owned(),
            fields: Fields::new().with("amount", amount),
        },
        window: Window::WALLET,
        now: ledger.clock().now(),
    }
}

async fn send(ledger: &Ledger, key: &str, amount: &str) -> Outcome {
    let claim = claim(ledger, key, amount);
    let amount = Amount::parse(&AssetSpec::ECOPAY, amount).unwrap();
    let plan = |cx| std::future::ready(plan(&amount, cx));
    let render = |id: &TransactionId| ok(&json!({"transaction_id": id.to_string()}));
    ledger.perform(claim, Admission::Execute, plan, render).await
}

fn plan(amount: &Amount, cx: Context) -> Result<Planned<TransactionId>, PlanError> {
    let (payer, payee) = (Account::Customer(customer(PAYER)), Account::Customer(customer(PAYEE)));
    let entry = Entry {
        id: cx.transaction_id,
        home: payer,
        postings: vec![Posting::new(payer, amount.debit()), Posting::new(payee, amount.credit())],
        references: Vec::new(),
        details: Item::new(),
        memo: None,
        terms: EntryTerms { due_shards: Shards::ONE, version: TermsVersion::FIRST },
    };
    let items = vec![
        forms::debit(&tenant(), Role::Payer, payer, amount, cx.now).unwrap(),
        forms::credit(&tenant(), Role::Payee, payee, amount, cx.now).unwrap(),
    ];
    Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt: cx.transaction_id })
}

async fn balances(ledger: &Ledger) -> (String, String) {
    let key = |id| Partition::customer(&tenant(), customer(id)).balance(&Asset::Ecopay);
    let items = ledger.dynamo().get_together(&[key(PAYER), key(PAYEE)]).await.unwrap();
    let of = |at: usize| items[at].as_ref().unwrap().number("balance").unwrap().to_owned();
    (of(0), of(1))
}

#[tokio::test]
async fn twenty_payments_of_which_five_are_covered() {
    let (ledger, _) = engine(&[balance(PAYER, 5000), balance(PAYEE, 0)]).await;
    let keys: Vec<String> = (0..20).map(|n| format!("k-{n}")).collect();
    let outcomes = futures::future::join_all(keys.iter().map(|key| send(&ledger, key, "1000"))).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.status() == 200).count(), 5);
    let refused: Vec<&Outcome> = outcomes.iter().filter(|outcome| outcome.status() == 400).collect();
    assert_eq!(refused.len(), 15);
    assert!(refused.iter().all(|outcome| outcome.body().contains(r#""balance_short":"1000","asset":"ECOPAY""#)));
    assert_eq!(balances(&ledger).await, ("0".to_owned(), "5000".to_owned()));

    // Refusals are answers: the same key gets the same bytes, though there might be money by then.
    for (key, first) in keys.iter().zip(&outcomes) {
        let again = send(&ledger, key, "1000").await;
        assert!(again.is_replay());
        assert_eq!((again.status(), again.body()), (first.status(), first.body()));
    }
}

#[tokio::test]
async fn one_key_many_times_at_once_is_one_payment() {
    let (ledger, counting) = engine(&[balance(PAYER, 5000), balance(PAYEE, 0)]).await;
    let outcomes = futures::future::join_all((0..16).map(|_| send(&ledger, "one", "1000"))).await;
    assert_eq!(outcomes.iter().filter(|outcome| !outcome.is_replay()).count(), 1);
    assert!(outcomes.iter().all(|outcome| outcome.status() == 200 && outcome.body() == outcomes[0].body()));
    assert_eq!(balances(&ledger).await, ("4000".to_owned(), "1000".to_owned()));
    assert_eq!(counting.total(Metric::IdempotencyReplay), 15);
    assert_eq!(send(&ledger, "one", "1001").await.status(), 422);
    assert_eq!(balances(&ledger).await, ("4000".to_owned(), "1000".to_owned()));
}

#[tokio::test]
async fn pages_of_a_partition_and_of_an_index() {
    let merchant = MerchantId::parse(PAYEE).unwrap();
    let owner = keys::owner_partition(&tenant(), merchant, 0);
    let mut items = vec![balance(PAYER, 1)];
    for n in 1..=7 {
        items.push(json!({
            "uuid": {"S": format!("demo#customer#{PAYER}")}, "type": {"S": format!("TXN#{n}")},
            "owner_pk": {"S": owner}, "owner_sk": {"S": format!("{n}")},
        }));
    }
    items.push(json!({"uuid": {"S": format!("demo#customer#{PAYER}")}, "type": {"S": "TXNREF#9"}}));
    let (ledger, _) = engine(&items).await;
    let list = async |query: Query| -> Vec<String> {
        let found = ledger.dynamo().query(&query).await.unwrap();
        found.iter().map(|item| item.text("type").unwrap().to_owned()).collect()
    };
    let partition = Partition::customer(&tenant(), customer(PAYER));
    let entries = || reads::account_entries(&partition);
    assert_eq!(list(entries()).await.len(), 7);
    assert_eq!(list(entries().newest_first().limit(2)).await, ["TXN#7", "TXN#6"]);
    assert_eq!(list(entries().newest_first().limit(2).after(Some("TXN#6".into()))).await, ["TXN#5", "TXN#4"]);
    assert_eq!(list(entries().limit(3).after(Some("TXN#5".into()))).await, ["TXN#6", "TXN#7"]);
    // What it comes after need not be there.
    assert_eq!(list(entries().limit(1).after(Some("TXN#5x".into()))).await, ["TXN#6"]);
    assert_eq!(list(reads::legacy_history_between(&partition, "TXN#2", "TXN#3")).await, ["TXN#2", "TXN#3"]);
    let owned = reads::merchant_records(&tenant(), merchant, 0).newest_first().limit(2).after(Some("7".into()));
    assert_eq!(list(owned).await, ["TXN#6", "TXN#5"]);

    let keys: Vec<keys::Key> = [Asset::Point, Asset::Ecopay].iter().map(|asset| partition.balance(asset)).collect();
    let found = ledger.dynamo().get_many(&keys).await.unwrap();
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
    let found = ledger.dynamo().get_together(&keys).await.unwrap();
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn stored_response_is_replayed_after_its_plan_became_impossible() {
    let (ledger, _) = engine(&[balance(PAYER, 5000), balance(PAYEE, 0)]).await;
    let first = send(&ledger, "k", "1000").await;
    assert_eq!(first.status(), 200);
    let render = |_: &TransactionId| ok(&json!({}));
    let missing = |_| std::future::ready(Err::<Planned<TransactionId>, _>(PlanError::Missing));
    let again = ledger.perform(claim(&ledger, "k", "1000"), Admission::Execute, missing, render).await;
    assert!(again.is_replay());
    assert_eq!((again.status(), again.body()), (first.status(), first.body()));
    let other = ledger.perform(claim(&ledger, "k", "999"), Admission::Execute, missing, render).await;
    assert_eq!(other.status(), 422);
    let unseen = ledger.perform(claim(&ledger, "k-2", "1000"), Admission::Execute, missing, render).await;
    assert_eq!(unseen.status(), 404);
}
