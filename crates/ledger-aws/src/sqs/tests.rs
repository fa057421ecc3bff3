use super::*;
use crate::server::{Reply, Server};
use ledger_core::ids::{Tenant, TransactionId};
use ledger_core::keys::Key;
use ledger_core::time::Timestamp;
use serde_json::{Value, json};

const EVENTS: &str = "https://sqs.ap-northeast-1.amazonaws.com/123456789012/ecopay-events.fifo";
const DEAD_LETTERS: &str = "https://sqs.ap-northeast-1.amazonaws.com/123456789012/ecopay-put-aside";
const IDS: [&str; 2] = ["019aa000-0000-7000-8000-000000000071", "019aa000-0000-7000-8000-000000000072"];

/// A stand-in for SQS that answers each of two requests in the same way.
async fn answering(status: u16, answer: Value) -> (Server, SqsSink) {
    let server = Server::script([(); 2].map(|()| Reply::json(status, &answer))).await;
    let queues = EventQueues { events: EVENTS.to_owned(), dead_letters: DEAD_LETTERS.to_owned() };
    let sink = SqsSink::new(&server.sdk(), queues);
    (server, sink)
}

async fn sent(status: u16, answer: Value) -> Vec<Sent> {
    let (_server, sink) = answering(status, answer).await;
    sink.send(&events()).await
}

/// The only request that was made.
fn received(server: &Server) -> (String, Value) {
    let [request] = &server.requests()[..] else { panic!("one request") };
    let (target, body) = request.received();
    (target.to_owned(), body)
}

fn events() -> Vec<Event> {
    let event = |(at, id): (usize, &&str)| Event {
        id: TransactionId::parse(id).unwrap(),
        group: format!("demo#customer:{at}"),
        created_at: Timestamp::from_millis(0),
        body: format!("{{\"at\":{at}}}"),
    };
    IDS.iter().enumerate().map(event).collect()
}

fn taken(id: &str) -> Value {
    json!({"Id": id, "MessageId": "m", "MD5OfMessageBody": "x", "SequenceNumber": "18890"})
}

fn failed(id: &str, code: &str, sender_fault: bool) -> Value {
    json!({"Id": id, "Code": code, "Message": "about the message", "SenderFault": sender_fault})
}

fn later(code: &str) -> Sent {
    Sent::Later(code.to_owned())
}

#[tokio::test]
async fn batch_has_group_and_deduplication_ids() {
    let taken = json!({"Successful": [taken("1"), taken("0")], "Failed": []});
    let (server, sink) = answering(200, taken).await;
    assert_eq!(sink.send(&events()).await, [Sent::Taken, Sent::Taken]);
    let entry = |at: usize| {
        json!({
            "Id": at.to_string(), "MessageBody": format!("{{\"at\":{at}}}"),
            "MessageGroupId": format!("demo#customer:{at}"), "MessageDeduplicationId": IDS[at],
        })
    };
    let batch = json!({"QueueUrl": EVENTS, "Entries": [entry(0), entry(1)]});
    assert_eq!(received(&server), ("AmazonSQS.SendMessageBatch".to_owned(), batch));
}

#[tokio::test]
async fn messages_of_a_batch_have_separate_results() {
    for (code, sender_fault, fate) in [
        ("InvalidMessageContents", true, Sent::Never("InvalidMessageContents".to_owned())),
        ("InternalError", false, later("InternalError")),
        // A missing permission and a fault of the queue do not make the message invalid.
        ("AccessDenied", true, later("AccessDenied")),
        ("InvalidMessageContents", false, later("InvalidMessageContents")),
    ] {
        let answer = json!({"Successful": [taken("1")], "Failed": [failed("0", code, sender_fault)]});
        assert_eq!(sent(200, answer).await, [fate, Sent::Taken], "{code}");
    }
    // A message that the response does not mention counts as not accepted.
    let incomplete = json!({"Successful": [taken("1")], "Failed": []});
    assert_eq!(sent(200, incomplete).await, [later(NO_ANSWER), Sent::Taken]);
}

#[tokio::test]
async fn failed_call_leaves_messages_to_be_sent_later() {
    for (status, code) in [(400, "QueueDoesNotExist"), (403, "AccessDeniedException"), (500, "InternalFailure")] {
        let answer = json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": "x"});
        let (_server, sink) = answering(status, answer).await;
        assert_eq!(sink.send(&events()).await, [later(code), later(code)]);
        assert_eq!(sink.keep(&letter()).await, Err(SinkError(code.to_owned())));
    }
    let server = Server::script([Reply::Reset]).await;
    let queues = EventQueues { events: EVENTS.to_owned(), dead_letters: DEAD_LETTERS.to_owned() };
    let sink = SqsSink::new(&server.sdk(), queues);
    assert_eq!(sink.send(&events()).await, [later(NO_ANSWER), later(NO_ANSWER)]);
}

#[tokio::test]
async fn dead_letter_is_sent_to_its_own_queue() {
    let (server, sink) = answering(200, json!({"MessageId": "m", "MD5OfMessageBody": "x"})).await;
    assert_eq!(sink.keep(&letter()).await, Ok(()));
    let message = json!({"QueueUrl": DEAD_LETTERS, "MessageBody": letter().text()});
    assert_eq!(received(&server), ("AmazonSQS.SendMessage".to_owned(), message));
}

fn letter() -> DeadLetter {
    let tenant = Tenant::parse("demo").unwrap();
    let key = Key::stored(&tenant, "demo#customer#x", "TXN#y").unwrap();
    DeadLetter { tenant, key, why: "unreadable".to_owned() }
}
