//! The deployed table equals the code's and the local stack's: keys, indexes, TTL and stream, with the filters that
//! invoke the outbox worker.
use aws_sdk_dynamodb::types::KeySchemaElement;
use ledger_core::keys::{self, INDEX_BY_OWNER, INDEX_DUE, attr};
use ledger_tests::cloud::Template;
use ledger_tests::http::host;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

type Keys = Vec<(String, String)>;

/// Names and key types by index; those of the table under an empty name.
fn of_template(template: &Template) -> BTreeMap<String, Keys> {
    let table = template.properties("Table");
    let keys = |of: &Value| {
        let text = |key: &Value, field: &str| key[field].as_str().expect("a text").to_owned();
        let keys = of["KeySchema"].as_array().expect("keys").iter();
        keys.map(|key| (text(key, "AttributeName"), text(key, "KeyType"))).collect::<Keys>()
    };
    let indexes = table["GlobalSecondaryIndexes"].as_array().expect("indexes").iter();
    let indexes = indexes.map(|index| (index["IndexName"].as_str().expect("a name").to_owned(), keys(index)));
    indexes.chain([(String::new(), keys(table))]).collect()
}

/// The same by the code.
fn of_code() -> BTreeMap<String, Keys> {
    let tables = [
        ("", attr::PK, attr::SK),
        (INDEX_BY_OWNER, attr::OWNER_PK, attr::OWNER_SK),
        (INDEX_DUE, attr::DUE_PK, attr::DUE_SK),
    ];
    let keys = |pk: &str, sk: &str| vec![(pk.to_owned(), "HASH".to_owned()), (sk.to_owned(), "RANGE".to_owned())];
    tables.into_iter().map(|(index, pk, sk)| (index.to_owned(), keys(pk, sk))).collect()
}

#[test]
fn template_keys_and_indexes_equal_the_codes() {
    let template = Template::read();
    assert_eq!(of_template(&template), of_code());
    let table = template.properties("Table");
    let names: BTreeSet<String> = of_code().into_values().flatten().map(|(name, _)| name).collect();
    let defined = table["AttributeDefinitions"].as_array().expect("attributes").iter();
    let defined: BTreeSet<String> = defined
        .map(|attribute| {
            assert_eq!(attribute["AttributeType"], "S", "{attribute}");
            attribute["AttributeName"].as_str().expect("a name").to_owned()
        })
        .collect();
    assert_eq!(defined, names);
    for index in table["GlobalSecondaryIndexes"].as_array().expect("indexes") {
        assert_eq!(index["Projection"], json!({"ProjectionType": "KEYS_ONLY"}), "{index}");
    }
    assert_eq!(table["TimeToLiveSpecification"], json!({"AttributeName": attr::TTL, "Enabled": true}));
    assert_eq!(table["StreamSpecification"], json!({"StreamViewType": "NEW_AND_OLD_IMAGES"}));
    assert_eq!(table["BillingMode"], "PAY_PER_REQUEST");
}

#[test]
fn different_key_or_index_is_found() {
    for (pointer, value) in [
        ("/KeySchema/0/AttributeName", json!("id")),
        ("/GlobalSecondaryIndexes/1/IndexName", json!("due_2")),
        ("/GlobalSecondaryIndexes/0/KeySchema/1/AttributeName", json!("owner")),
        ("/GlobalSecondaryIndexes/0/KeySchema/1/KeyType", json!("HASH")),
    ] {
        let template = Template::read().with(|root| {
            let table = &mut root["Resources"]["Table"]["Properties"];
            *table.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value.clone();
        });
        assert_ne!(of_template(&template), of_code(), "{pointer}");
    }
}

#[tokio::test]
async fn local_table_equals_the_templates() {
    let host = host::shared();
    let client = host::client(host.stack().dynamodb_url()).await;
    let described = client.describe_table().table_name(host.stack().table()).send().await.expect("a table").table;
    let table = described.expect("a description");
    let keys = |schema: &[KeySchemaElement]| {
        let kind = |key: &KeySchemaElement| (key.attribute_name().to_owned(), key.key_type().as_str().to_owned());
        schema.iter().map(kind).collect::<Keys>()
    };
    let indexes = table.global_secondary_indexes().iter();
    let indexes = indexes.map(|index| (index.index_name().expect("a name").to_owned(), keys(index.key_schema())));
    let local: BTreeMap<_, _> = indexes.chain([(String::new(), keys(table.key_schema()))]).collect();
    assert_eq!(local, of_template(&Template::read()));
}

/// A stream filter: the prefix of the sort key, and the rest of the pattern.
fn filter(mapping: &str, function: &str) -> (String, Value) {
    let template = Template::read();
    let stream = template.properties(mapping);
    assert_eq!(stream["FunctionName"], json!({"Ref": format!("{function}.Alias")}));
    assert_eq!(stream["EventSourceArn"], json!({"Fn::GetAtt": "Table.StreamArn"}));
    let filters = &stream["FilterCriteria"]["Filters"];
    let [filter] = &filters.as_array().expect("filters")[..] else { panic!("{filters}") };
    let mut pattern: Value = serde_json::from_str(filter["Pattern"].as_str().expect("a pattern")).expect("JSON");
    let prefix = pattern["dynamodb"]["Keys"][attr::SK]["S"][0]["prefix"].take();
    assert_eq!(pattern["dynamodb"]["NewImage"], json!({attr::DUE_PK: {"S": [{"exists": true}]}}));
    (prefix.as_str().expect("a prefix").to_owned(), pattern)
}

/// Only new journal entries invoke the outbox: neither the end of a publication nor a reference does. Batches of an
/// account are processed one after the other.
#[test]
fn outbox_stream_filter_matches_journal_entries() {
    let (prefix, pattern) = filter("OutboxStream", "OutboxFunction");
    assert_eq!((prefix.as_str(), &pattern["eventName"]), (keys::sk::TXN, &json!(["INSERT"])));
    assert!(!keys::sk::TXNREF.starts_with(&prefix));
    assert_eq!(Template::read().properties("OutboxStream")["ParallelizationFactor"], 1);
}

/// A shard of a table's stream supports two readers at most.
#[test]
fn stream_has_at_most_two_readers() {
    let template = Template::read();
    assert!(template.of_kind("AWS::Lambda::EventSourceMapping").count() <= 2);
}

/// Events keep each account's order, and accounts do not share a throughput limit.
#[test]
fn event_queue_keeps_account_order() {
    let template = Template::read();
    let queue = template.properties("EventQueue");
    for (name, value) in [
        ("FifoQueue", json!(true)),
        ("ContentBasedDeduplication", json!(false)),
        ("DeduplicationScope", json!("messageGroup")),
        ("FifoThroughputLimit", json!("perMessageGroupId")),
        ("SqsManagedSseEnabled", json!(true)),
    ] {
        assert_eq!(queue[name], value, "{name}");
    }
    assert_eq!(template.properties("ReceiverDeadLetters")["FifoQueue"], true);
}
