//! What the runtime sends through the SDK is, byte for byte of its JSON, what the golden vectors say:
//! the vectors that are executed on the engine are the requests that AWS would get.

use ledger_runtime::dynamo::{Dynamo, WriteError};
use ledger_runtime::entropy::Entropy;
use ledger_tests::cloud::gate;
use ledger_tests::golden::build::{Built, build};
use ledger_tests::golden::vector;
use ledger_tests::http::tap::{Fault, Tap};
use ledger_tests::wire;

#[tokio::test]
async fn every_vector_goes_over_the_wire_as_it_stands() {
    let tap = Tap::default();
    // Nothing is done; what was asked for is all that counts here.
    tap.every_call(Some(Fault::Error(400, "ValidationException")));
    let dynamo = Dynamo::from_client(tap.client("http://127.0.0.1:9", true).await, wire::TABLE, Entropy::system());
    let mut tokens = std::collections::BTreeSet::new();
    let mut sent = 0;
    for (id, text) in vector::current() {
        let vector = vector::Vector::read(&id, &text);
        let Built::Transaction(transaction, _) = build(&vector.given) else { continue };
        let refused = gate::as_test(dynamo.write(&transaction)).await;
        assert_eq!(refused, Err(WriteError::Determinate("ValidationException".to_owned())), "{id}");
        let [seen] = &tap.take()[..] else { panic!("{id}: one write is one call") };
        assert_eq!(seen.target, "TransactWriteItems", "{id}");
        let items = seen.body["TransactItems"].as_array().unwrap();
        assert_eq!(items, &vector.items, "{id}");
        let token = seen.body["ClientRequestToken"].as_str().unwrap();
        assert!(token.len() == 32 && tokens.insert(token.to_owned()), "{id}: {token}");
        sent += 1;
    }
    assert!(sent > 200, "{sent}");
}
