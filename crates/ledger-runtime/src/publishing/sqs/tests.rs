use super::*;
use aws_config::retry::RetryConfig;
use aws_config::{BehaviorVersion, Region};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use ledger_core::ids::{Tenant, TransactionId};
use ledger_core::keys::Key;
use ledger_core::time::Timestamp;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

const EVENTS: &str = "https://sqs.ap-northeast-1.amazonaws.com/123456789012/ecopay-events.fifo";
const DEAD_LETTERS: &str = "https://sqs.ap-northeast-1.amazonaws.com/123456789012/ecopay-put-aside";
const IDS: [&str; 2] = ["019aa000-0000-7000-8000-000000000071", "019aa000-0000-7000-8000-000000000072"];

/// SQS as its wire has it: one answer, and what it was asked.
#[derive(Clone, Debug)]
struct Service {
    status: u16,
    answer: Value,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Service {
    fn answering(status: u16, answer: Value) -> Self {
        Self { status, answer, asked: Arc::default() }
    }

    fn sink(&self) -> SqsSink {
        let service = self.clone();
        let sdk = SdkConfig::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("ap-northeast-1"))
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new("a", "b", None, None, "tests")))
            .retry_config(RetryConfig::disabled())
            .http_client(http_client_fn(move |_, _| SharedHttpConnector::new(service.clone())))
            .build();
        SqsSink::new(&sdk, EventQueues { events: EVENTS.to_owned(), dead_letters: DEAD_LETTERS.to_owned() })
    }

    async fn sends(&self) -> Vec<Sent> {
        self.sink().send(&events()).await
    }
}

impl HttpConnector for Service {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        assert_eq!(request.headers().get("content-type"), Some("application/x-amz-json-1.0"));
        let target = request.headers().get("x-amz-target").unwrap().to_owned();
        let body = serde_json::from_slice(request.body().bytes().unwrap()).unwrap();
        self.asked.lock().unwrap().push((target, body));
        let status = http::StatusCode::from_u16(self.status).unwrap();
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status.into(), SdkBody::from(self.answer.to_string()))))
    }
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
async fn a_batch_names_groups_and_ids() {
    let service = Service::answering(200, json!({"Successful": [taken("1"), taken("0")], "Failed": []}));
    assert_eq!(service.sends().await, [Sent::Taken, Sent::Taken]);
    let entry = |at: usize| {
        json!({
            "Id": at.to_string(), "MessageBody": format!("{{\"at\":{at}}}"),
            "MessageGroupId": format!("demo#customer:{at}"), "MessageDeduplicationId": IDS[at],
        })
    };
    let batch = json!({"QueueUrl": EVENTS, "Entries": [entry(0), entry(1)]});
    assert_eq!(*service.asked.lock().unwrap(), [("AmazonSQS.SendMessageBatch".to_owned(), batch)]);
}

#[tokio::test]
async fn of_a_batch_each_message_has_its_own_fate() {
    for (code, sender_fault, fate) in [
        ("InvalidMessageContents", true, Sent::Never("InvalidMessageContents".to_owned())),
        ("InternalError", false, later("InternalError")),
        // Whoever may not send has no bad message; nor has whoever is told of a fault of the queue's.
        ("AccessDenied", true, later("AccessDenied")),
        ("InvalidMessageContents", false, later("InvalidMessageContents")),
    ] {
        let answer = json!({"Successful": [taken("1")], "Failed": [failed("0", code, sender_fault)]});
        assert_eq!(Service::answering(200, answer).sends().await, [fate, Sent::Taken], "{code}");
    }
    // What is not spoken of is not known to be taken.
    let silent = Service::answering(200, json!({"Successful": [taken("1")], "Failed": []}));
    assert_eq!(silent.sends().await, [later(NO_ANSWER), Sent::Taken]);
}

#[tokio::test]
async fn a_queue_that_does_not_answer_refuses_nothing_for_good() {
    for (status, code) in [(400, "QueueDoesNotExist"), (403, "AccessDeniedException"), (500, "InternalFailure")] {
        let answer = json!({"__type": format!("com.amazonaws.sqs#{code}"), "message": "x"});
        let service = Service::answering(status, answer);
        assert_eq!(service.sends().await, [later(code), later(code)]);
        let letter = letter();
        assert_eq!(service.sink().keep(&letter).await, Err(SinkError(code.to_owned())));
    }
}

#[tokio::test]
async fn a_dead_letter_goes_to_its_own_queue() {
    let service = Service::answering(200, json!({"MessageId": "m", "MD5OfMessageBody": "x"}));
    assert_eq!(service.sink().keep(&letter()).await, Ok(()));
    let message = json!({"QueueUrl": DEAD_LETTERS, "MessageBody": letter().text()});
    assert_eq!(*service.asked.lock().unwrap(), [("AmazonSQS.SendMessage".to_owned(), message)]);
}

fn letter() -> DeadLetter {
    let tenant = Tenant::parse("demo").unwrap();
    let key = Key::stored(&tenant, "demo#customer#x", "TXN#y").unwrap();
    DeadLetter { tenant, key, why: "unreadable".to_owned() }
}
