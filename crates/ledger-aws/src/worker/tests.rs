use super::*;
use ledger_core::ids::Tenant;
use ledger_core::keys::Key;
use serde_json::{Value, json};

/// The event that Lambda sends for messages of a queue.
fn queue(bodies: &[&str]) -> Value {
    let message = |(at, body): (usize, &&str)| {
        json!({
            "messageId": format!("m{at}"), "receiptHandle": "r", "body": body,
            "attributes": {
                "ApproximateReceiveCount": "1", "SentTimestamp": "1795264147815",
                "SenderId": "AROA", "ApproximateFirstReceiveTimestamp": "1795264147816",
            },
            "messageAttributes": {}, "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
            "eventSource": "aws:sqs", "eventSourceARN": "arn:aws:sqs:ap-northeast-1:123456789012:jobs",
            "awsRegion": "ap-northeast-1",
        })
    };
    json!({"Records": bodies.iter().enumerate().map(message).collect::<Vec<_>>()})
}

/// The event that Lambda sends for records of a table's stream.
fn stream(pks: &[&str]) -> Value {
    let record = |(at, pk): (usize, &&str)| {
        let keys = json!({"uuid": {"S": pk}, "type": {"S": "JOB#019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e"}});
        json!({
            "eventID": format!("e{at}"), "eventName": "INSERT", "eventVersion": "1.1", "eventSource": "aws:dynamodb",
            "awsRegion": "ap-northeast-1",
            "dynamodb": {
                "ApproximateCreationDateTime": 1_795_264_147.0, "Keys": keys,
                "NewImage": {"uuid": {"S": pk}, "done": {"N": "0"}, "customers": {"L": [{"S": "x"}]}},
                "SequenceNumber": format!("10{at}"), "SizeBytes": 120, "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": "arn:aws:dynamodb:ap-northeast-1:123456789012:table/t/stream/2026-11-21T00:00:00.000",
        })
    };
    json!({"Records": pks.iter().enumerate().map(record).collect::<Vec<_>>()})
}

#[test]
fn stream_item_is_converted_or_left_out() {
    let read = |image: Value| {
        let mut event = stream(&["one#tenant#root"]);
        event["Records"][0]["dynamodb"]["NewImage"] = image;
        let Event::Stream(event) = serde_json::from_value(event).unwrap() else { panic!("no stream") };
        of_stream(event).unwrap().remove(0).due.unwrap().changed.pop()
    };
    let image = json!({"due": {"BOOL": true}, "list": {"L": [{"M": {"delta": {"N": "-1.50"}}}]}, "raw": {"B": "AQI="}});
    use ledger_core::dynamo::Value as V;
    let list = V::L(vec![V::M([("delta".to_owned(), V::N("-1.50".to_owned()))].into())]);
    let whole = [("due", V::Bool(true)), ("list", list), ("raw", V::B(vec![1, 2]))];
    assert_eq!(read(image), Some(whole.map(|(name, value)| (name.to_owned(), value)).into()));
    assert_eq!(read(json!({"due": {"NULL": true}})), None);
    assert_eq!(read(json!({})), None);
}

#[test]
fn dead_letter_is_read_as_a_message_that_names_its_item() {
    use ledger_core::events::DeadLetter;
    let tenant = Tenant::parse("one").unwrap();
    let key = Key::stored(&tenant, "one#customer#x", "TXN#y").unwrap();
    let letter = DeadLetter { tenant: tenant.clone(), key: key.clone(), why: "it is malformed".to_owned() }.text();
    let foreign = letter.replace("one#customer", "two#customer");
    let Event::Queue(event) = serde_json::from_value(queue(&[&letter, &foreign])).unwrap() else { panic!("no queue") };
    let dues: Vec<Option<Due>> = of_queue(event).unwrap().into_iter().map(|record| record.due).collect();
    let named = Due { named: vec![key], ..Due::everything(tenant) };
    assert_eq!(dues, [Some(named.clone()), None], "a message cannot name another tenant's item");
    let by_hand: Event = serde_json::from_str(&letter).unwrap();
    assert!(matches!(by_hand, Event::ByHand(tick) if tick.due() == Some(named)));
}

#[test]
fn unknown_event_is_refused() {
    for other in [json!({}), json!({"tenant": "a", "and": 1}), json!([]), json!({"Records": [{}]}), json!("demo")] {
        let event = serde_json::from_value::<Event>(other.clone());
        // A record without an id cannot be reported: it fails the whole batch.
        let refused = match event {
            Err(_) => true,
            Ok(Event::Queue(event)) => of_queue(event).is_err(),
            Ok(Event::ByHand(_) | Event::Stream(_)) => false,
        };
        assert!(refused, "{other}");
    }
}

#[test]
fn batch_response_names_records_to_deliver_again() {
    let mut batch = SqsBatchResponse::default();
    batch.set_failures(["m2", "m1"]);
    let answer = serde_json::to_value(Answer::<()>::Batch(batch)).unwrap();
    assert_eq!(answer, json!({"batchItemFailures": [{"itemIdentifier": "m2"}, {"itemIdentifier": "m1"}]}));
    let skipped = serde_json::to_value(Answer::<()>::Skipped { skipped: TENANT_NOT_OPEN }).unwrap();
    assert_eq!(skipped, json!({"skipped": "tenant_not_open"}));
    assert_eq!(serde_json::to_value(Answer::Done(json!({"done": 1}))).unwrap(), json!({"done": 1}));
}
