use super::*;
use crate::server::{Reply, Server};

/// Half-width kana in Shift_JIS, which are not valid UTF-8.
const BYTES: [u8; 3] = [0x31, 0xb6, 0x29];

fn file() -> BankFile {
    BankFile { name: "settlement-1.txt".to_owned(), bytes: BYTES.to_vec() }
}

async fn put(replies: impl IntoIterator<Item = Reply>) -> (Stored, Server) {
    let server = Server::script(replies).await;
    let stored = S3Files::new(&server.sdk(), "payouts").put(&Tenant::parse("aoba").unwrap(), &file()).await;
    (stored, server)
}

fn error(status: u16, code: &str) -> Reply {
    Reply::of(status, "content-type: application/xml\r\n", format!("<Error><Code>{code}</Code></Error>"))
}

fn file_exists() -> Reply {
    error(412, "PreconditionFailed")
}

fn unknown(stored: Stored) -> bool {
    matches!(stored, Stored::Unknown(_))
}

#[tokio::test]
async fn file_is_put_byte_for_byte_if_none_exists() {
    let (stored, server) = put([Reply::of(200, "", "")]).await;
    assert_eq!(stored, Stored::New);
    let [request] = &server.requests()[..] else { panic!("one request") };
    assert_eq!(request.line(), "PUT /payouts/aoba/settlement-1.txt?x-id=PutObject HTTP/1.1");
    assert_eq!(request.body, BYTES);
    for (name, value) in [
        ("if-none-match", "*"),
        ("content-type", "text/plain; charset=Shift_JIS"),
        // S3 rejects a body whose checksum differs.
        ("x-amz-checksum-crc32", "KsXH5w=="),
    ] {
        assert_eq!(request.header(name), Some(value));
    }
}

#[tokio::test]
async fn existing_file_is_compared_and_kept() {
    for (stored, want) in [(BYTES.to_vec(), Stored::Same), (b"another".to_vec(), Stored::Other)] {
        let (found, server) = put([file_exists(), Reply::of(200, "", stored)]).await;
        assert_eq!(found, want);
        let [put, get] = &server.requests()[..] else { panic!("two requests") };
        assert!(put.line().starts_with("PUT "), "{put:?}");
        assert_eq!(get.line(), "GET /payouts/aoba/settlement-1.txt?x-id=GetObject HTTP/1.1");
    }
}

#[tokio::test]
async fn other_responses_are_unknown() {
    for reply in [
        error(403, "AccessDenied"),
        error(409, "ConditionalRequestConflict"),
        error(500, "InternalError"),
        error(503, "SlowDown"),
        Reply::Reset,
    ] {
        assert!(unknown(put([reply]).await.0));
    }
    let half = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n1".to_vec();
    for second in [error(403, "AccessDenied"), error(404, "NoSuchKey"), Reply::Reset, Reply::Cut(half)] {
        assert!(unknown(put([file_exists(), second]).await.0));
    }
}
