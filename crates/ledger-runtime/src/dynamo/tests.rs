//! How each result of a write or read is classified.

use super::*;
use crate::testing::{Step, Store, assembled, reasons};
use ledger_core::dynamo::Value;
use ledger_core::keys;
use ledger_core::reads;
use serde_json::json;

async fn write(steps: impl IntoIterator<Item = Step>) -> (Result<(), WriteError>, Store) {
    let store = Store::script(steps);
    let (ledger, _) = store.ledger();
    let outcome = ledger.dynamo().write(&assembled("100", &ledger)).await;
    // Attempts that time out may exhaust the operation's time before the fourth.
    assert!(store.is_through() || store.seen().len() >= 3);
    (outcome, store)
}

fn is_unknown(outcome: &Result<(), WriteError>) -> bool {
    matches!(outcome, Err(WriteError::Indeterminate(_)))
}

#[tokio::test(start_paused = true)]
async fn applied_transaction_requests_old_items_and_has_a_token() {
    let (outcome, store) = write([Step::Ok(json!({}))]).await;
    assert_eq!(outcome, Ok(()));
    let seen = store.seen();
    assert_eq!((seen.len(), seen[0].target.as_str(), seen[0].token().len()), (1, "TransactWriteItems", 32));
    for action in seen[0].body["TransactItems"].as_array().unwrap() {
        let action = action.as_object().unwrap().values().next().unwrap();
        assert_eq!(action["ReturnValuesOnConditionCheckFailure"], "ALL_OLD");
        assert_eq!(action["TableName"], "ledger");
    }
}

#[tokio::test(start_paused = true)]
async fn token_is_repeated_by_the_sdk_and_new_for_each_write() {
    let (outcome, store) = write([Step::Broken, Step::Error(500, "InternalServerError"), Step::Ok(json!({}))]).await;
    assert_eq!(outcome, Ok(()));
    let tokens: std::collections::BTreeSet<String> = store.seen().iter().map(|seen| seen.token().to_owned()).collect();
    assert_eq!(tokens.len(), 1);

    let store = Store::script([Step::Ok(json!({})), Step::Ok(json!({}))]);
    let (ledger, _) = store.ledger();
    let transaction = assembled("100", &ledger);
    ledger.dynamo().write(&transaction).await.unwrap();
    ledger.dynamo().write(&transaction).await.unwrap();
    assert_ne!(store.seen()[0].token(), store.seen()[1].token());
}

#[tokio::test(start_paused = true)]
async fn cancellation_holds_its_reasons_in_order() {
    let old = json!({"balance": {"N": "40"}, "uuid": {"S": "x"}});
    let (outcome, store) = write([Step::Cancelled(reasons(4, 1, "ConditionalCheckFailed", Some(old)))]).await;
    let Err(WriteError::Cancelled(Cancellation { reasons: got, after_unknown: false })) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(store.seen().len(), 1, "the SDK must not retry a cancellation");
    assert_eq!(got.len(), 4);
    assert_eq!(got[1].item.as_ref().unwrap()["balance"], Value::N("40".to_owned()));
    assert_eq!(got[0].item, None);
}

#[tokio::test(start_paused = true)]
async fn write_that_may_have_been_applied_has_an_unknown_outcome() {
    for step in [
        Step::Broken,
        Step::Hang,
        Step::Error(500, "InternalServerError"),
        Step::Error(503, "ServiceUnavailable"),
        Step::Error(400, "TransactionInProgressException"),
    ] {
        let (outcome, _) = write(vec![step.clone(); 4]).await;
        assert!(is_unknown(&outcome), "{step:?}: {outcome:?}");
    }
    let (outcome, _) = write([Step::Error(400, "SomethingNewException")]).await;
    assert!(is_unknown(&outcome), "an unlisted error is unknown: {outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn unreadable_response_is_never_taken_for_not_written() {
    let store = Store::script(vec![Step::Garbage; 4]);
    let (ledger, _) = store.ledger();
    let outcome = ledger.dynamo().write(&assembled("100", &ledger)).await;
    assert!(is_unknown(&outcome) || outcome.is_ok(), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn throttling_is_certain_only_if_every_attempt_was_throttled() {
    for code in ["ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException"] {
        let (outcome, _) = write(vec![Step::Error(400, code); 4]).await;
        assert_eq!(outcome, Err(WriteError::Throttled), "{code}");
    }
    let throttled = Step::Error(400, "ThrottlingException");
    let (outcome, _) = write([Step::Hang, throttled.clone(), throttled.clone(), throttled]).await;
    assert!(is_unknown(&outcome), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn refused_request_is_unknown_after_an_attempt_of_unknown_outcome() {
    for code in [
        "ValidationException",
        "ResourceNotFoundException",
        "AccessDeniedException",
        "IdempotentParameterMismatchException",
    ] {
        let (outcome, _) = write([Step::Error(400, code)]).await;
        assert_eq!(outcome, Err(WriteError::Determinate(code.to_owned())));
    }
    let (outcome, _) = write([Step::Broken, Step::Error(400, "AccessDeniedException")]).await;
    assert!(is_unknown(&outcome), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn batch_keeps_the_order_of_keys_and_reads_unprocessed_keys_again() {
    let tenant = |name: &str| keys::config(&ledger_core::ids::Tenant::parse(name).unwrap());
    let (a, b, c) = (tenant("a"), tenant("b"), tenant("c"));
    let item = |key: &keys::Key| json!({"uuid": {"S": key.pk()}, "type": {"S": key.sk()}});
    let left = json!({"ledger": {"Keys": [item(&a)]}});
    let store = Store::script([
        Step::Ok(json!({"Responses": {"ledger": [item(&c)]}, "UnprocessedKeys": left})),
        Step::Ok(json!({"Responses": {"ledger": [item(&a)]}})),
    ]);
    let got = store.dynamo().get_many(&[c.clone(), b, a, c]).await.unwrap();
    let there: Vec<bool> = got.iter().map(Option::is_some).collect();
    assert_eq!(there, [true, false, true, true]);
    assert_eq!(got[0].as_ref().unwrap()["uuid"], Value::s("c#tenant#root"));
    assert_eq!(store.seen()[0].body["RequestItems"]["ledger"]["ConsistentRead"], true);
    assert_eq!(store.seen()[0].body["RequestItems"]["ledger"]["Keys"].as_array().unwrap().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn query_excludes_the_item_it_begins_after() {
    let item = |sk: &str| json!({"uuid": {"S": "p"}, "type": {"S": sk}});
    let partition = keys::Partition::tenant(&ledger_core::ids::Tenant::parse("demo").unwrap());
    let query = reads::account_entries(&partition).newest_first().limit(2);
    let spec = query.clone().after(Some("TXN#3".to_owned()));
    let store = Store::script([Step::Ok(json!({"Items": [item("TXN#3"), item("TXN#2"), item("TXN#1")]}))]);
    let got = store.dynamo().query(&spec).await.unwrap();
    let sks: Vec<&Value> = got.iter().map(|item| &item["type"]).collect();
    assert_eq!(sks, [&Value::s("TXN#2"), &Value::s("TXN#1")]);
    let body = &store.seen()[0].body;
    assert_eq!((&body["ExpressionAttributeValues"][":high"]["S"], &body["Limit"]), (&"TXN#3".into(), &3.into()));
    assert_eq!((&body["ConsistentRead"], &body["ScanIndexForward"]), (&true.into(), &false.into()));

    // A forged cursor cannot leave the prefix.
    let beyond = query.after(Some("PROFILE".to_owned()));
    assert_eq!(Store::default().dynamo().query(&beyond).await, Ok(Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn read_errors_are_classified_by_cause() {
    let key = keys::config(&ledger_core::ids::Tenant::parse("demo").unwrap());
    let read = |steps: Vec<Step>| {
        let key = key.clone();
        async move { Store::script(steps).dynamo().get(&key).await.unwrap_err() }
    };
    assert_eq!(read(vec![Step::Error(400, "ThrottlingException"); 4]).await, ReadError::Throttled);
    assert_eq!(read(vec![Step::Hang; 4]).await, ReadError::Unavailable("Timeout".to_owned()));
    let missing = "ResourceNotFoundException";
    assert_eq!(read(vec![Step::Error(400, missing)]).await, ReadError::Refused(missing.to_owned()));
    let unsupported = json!({"Item": {"uuid": {"S": "p"}, "tags": {"SS": ["a"]}}});
    assert!(matches!(read(vec![Step::Ok(unsupported)]).await, ReadError::Unreadable(_)));
}
