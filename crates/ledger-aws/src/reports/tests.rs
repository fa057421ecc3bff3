use super::*;
use crate::server::{Reply, Server};

const NAME: &str = "aoba/reconciliation-1.jsonl";
const LINES: &[u8] = b"{\"a\":1}\n{\"b\":2}\n";

async fn put(reply: Reply) -> (Result<(), String>, Server) {
    let server = Server::script([reply]).await;
    let put = S3Reports::new(&server.sdk(), "reports").put(NAME, LINES.to_vec()).await;
    (put, server)
}

#[tokio::test]
async fn report_replaces_an_existing_one() {
    let (stored, server) = put(Reply::of(200, "", "")).await;
    assert_eq!(stored, Ok(()));
    let [request] = &server.requests()[..] else { panic!("one request") };
    assert_eq!(request.line(), format!("PUT /reports/{NAME}?x-id=PutObject HTTP/1.1"));
    assert_eq!(request.body, LINES);
    assert_eq!(request.header("content-type"), Some("application/x-ndjson"));
    assert_eq!(request.header("if-none-match"), None);
    assert!(request.header("x-amz-checksum-crc32").is_some(), "{request:?}");
}

#[tokio::test]
async fn failed_put_returns_the_error_code() {
    let error = |status, code| {
        Reply::of(status, "content-type: application/xml\r\n", format!("<Error><Code>{code}</Code></Error>"))
    };
    for (reply, why) in [
        (error(403, "AccessDenied"), "AccessDenied"),
        (error(503, "SlowDown"), "SlowDown"),
        (Reply::Reset, "no answer"),
    ] {
        assert_eq!(put(reply).await.0, Err(why.to_owned()));
    }
}
