//! The runtime's requests through the SDK equal the golden vectors, byte for byte of their JSON, and name their
//! transaction: what is executed on the engine is what AWS would get.

use aws_sdk_dynamodb::Client;
use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::attr;
use ledger_local::engine::{Data, Engine, EngineConfig};
use ledger_local::table;
use ledger_runtime::dynamo::{Dynamo, WriteError};
use ledger_runtime::entropy::Entropy;
use ledger_tests::cloud::gate;
use ledger_tests::golden::build::{Built, build};
use ledger_tests::golden::vector::{self, Vector};
use ledger_tests::http::books::to_sdk;
use ledger_tests::http::tap::{Attempts, Fault, Tap};
use ledger_tests::wire;

const CONFIG: &str = "CONFIG";

/// Stores the vector's configuration, by which its transaction is placed; one without a migration if it has none.
#[expect(clippy::disallowed_methods, reason = "the test writes the table's content itself")]
async fn configure(client: &Client, vector: &Vector) {
    let state = vector.case.given.state.iter().map(wire::item_from_json);
    let own = state.into_iter().find(|item: &Item| item.get(attr::SK) == Some(&Value::s(CONFIG)));
    let tenant = format!("{}#tenant#root", vector.case.given.command.tenant);
    let none = Item::from([(attr::PK.to_owned(), Value::s(tenant)), (attr::SK.to_owned(), Value::s(CONFIG))]);
    let mut config = own.unwrap_or(none);
    // Nothing is written for a tenant without a format.
    let _ = config.entry("format".to_owned()).or_insert_with(|| Value::int(1));
    let item = to_sdk(config);
    let _ = client.put_item().table_name(wire::TABLE).set_item(Some(item)).send().await.expect("the item is written");
}

#[tokio::test]
async fn every_golden_transaction_is_sent_unchanged() {
    let engine = Engine::start(&EngineConfig { data: Data::Memory, port: None }).unwrap();
    let (url, tap) = (engine.url(), Tap::default());
    let own = table::client(&url).await;
    table::ensure(&own, &url, wire::TABLE).await.unwrap();
    let client = tap.client(&url, Attempts::One).await;
    let mut tokens = std::collections::BTreeSet::new();
    let mut sent = 0;
    for file in vector::all() {
        let (id, vector) = (&file.id, file.vector());
        let Built::Transaction(transaction, ..) = build(&vector.case.given) else { continue };
        configure(&own, vector).await;
        // A new store for each vector, since a configuration is cached for a minute.
        let dynamo = Dynamo::from_client(client.clone(), wire::TABLE, Entropy::system());
        // The request fails; only what was sent is compared.
        tap.next_writes([Some(Fault::Error(400, "ValidationException"))]);
        let refused = gate::as_test(dynamo.write(&transaction)).await;
        assert_eq!(refused, Err(WriteError::Determinate("ValidationException".to_owned())), "{id}");
        let seen = tap.take();
        let (writes, reads): (Vec<_>, Vec<_>) = seen.iter().partition(|seen| seen.target == "TransactWriteItems");
        let [write] = writes[..] else { panic!("{id}: one write is one call") };
        assert!(reads.iter().all(|read| read.target == "GetItem") && reads.len() < 2, "{id}: {reads:?}");
        let items = write.body["TransactItems"].as_array().unwrap();
        let token = write.body["ClientRequestToken"].as_str().unwrap();
        assert!(token.len() == 32 && tokens.insert(token.to_owned()), "{id}: {token}");
        let bytes = u128::from_str_radix(token, 16).unwrap().to_be_bytes();
        assert_eq!(items, &wire::named(&vector.items, bytes), "{id}");
        sent += 1;
    }
    assert!(sent > 200, "{sent}");
}
