use super::*;
use crate::server::{Reply, Server};
use serde_json::{Value, json};

fn event() -> Announcement {
    Announcement { detail_type: "ReconciliationBreak", detail: r#"{"run_id":"r"}"#.to_owned() }
}

async fn announce(reply: Reply) -> (Result<(), String>, Server) {
    let server = Server::script([reply]).await;
    let result = EventBus::new(&server.sdk(), "default").announce(&event()).await;
    (result, server)
}

fn answer(failed: u32, entries: Value) -> Reply {
    Reply::json(200, &json!({"FailedEntryCount": failed, "Entries": entries}))
}

#[tokio::test]
async fn event_has_bus_source_detail_type_and_detail() {
    let (result, server) = announce(answer(0, json!([{"EventId": "e"}]))).await;
    assert_eq!(result, Ok(()));
    let [request] = &server.requests()[..] else { panic!("one request") };
    let entry = json!({
        "EventBusName": "default", "Source": "ecopay.ledger", "DetailType": "ReconciliationBreak",
        "Detail": r#"{"run_id":"r"}"#,
    });
    assert_eq!(request.received(), ("AWSEvents.PutEvents", json!({"Entries": [entry]})));
}

/// The bus may answer 200 for an event that it did not accept.
#[tokio::test]
async fn event_not_confirmed_as_accepted_is_failed() {
    for (reply, code) in [
        (answer(1, json!([{"ErrorCode": "ThrottlingException", "ErrorMessage": "x"}])), "ThrottlingException"),
        (answer(1, json!([{"EventId": "e"}])), NO_ANSWER),
        (answer(0, json!([{}])), NO_ANSWER),
        (answer(0, json!([])), NO_ANSWER),
        (Reply::json(400, &json!({"__type": "AccessDeniedException", "message": "x"})), "AccessDeniedException"),
        (Reply::json(500, &json!({"__type": "InternalException", "message": "x"})), "InternalException"),
        (Reply::Reset, NO_ANSWER),
        (Reply::Cut(b"HTTP/1.1 200 OK\r\ncontent-".to_vec()), NO_ANSWER),
    ] {
        assert_eq!(announce(reply).await.0, Err(code.to_owned()));
    }
}
