use super::*;
use crate::server::{Reply, Server};

fn file() -> StoredFile {
    let (object, name) = ("aoba/1".to_owned(), "payouts-1.csv".to_owned());
    StoredFile { object, name, media_type: "text/csv", bytes: b"a,b\r\n".to_vec() }
}

#[tokio::test]
async fn file_is_stored_with_its_name_and_media_type() {
    let server = Server::script([Reply::of(200, "", "")]).await;
    assert_eq!(S3FileStore::new(&server.sdk(), "files").put(file()).await, Ok(()));
    let [request] = &server.requests()[..] else { panic!("one request") };
    assert_eq!(request.line(), "PUT /files/aoba/1?x-id=PutObject HTTP/1.1");
    assert_eq!(request.body, file().bytes);
    assert_eq!(request.header("content-type"), Some("text/csv"));
    assert_eq!(request.header("content-disposition"), Some("attachment; filename=\"payouts-1.csv\""));
}

#[tokio::test]
async fn failed_put_returns_the_error_code() {
    let error = Reply::of(403, "content-type: application/xml\r\n", "<Error><Code>AccessDenied</Code></Error>");
    for (reply, why) in [(error, "AccessDenied"), (Reply::Reset, "no answer")] {
        let server = Server::script([reply]).await;
        assert_eq!(S3FileStore::new(&server.sdk(), "files").put(file()).await, Err(why.to_owned()));
    }
}

#[tokio::test]
async fn link_is_signed_for_its_time_without_a_call() {
    let server = Server::script([]).await;
    let link = S3FileStore::new(&server.sdk(), "files").link("aoba/1", Duration::from_secs(600)).await.unwrap();
    assert!(link.starts_with(&format!("{}/files/aoba/1?", server.origin)), "{link}");
    assert!(link.contains("X-Amz-Expires=600") && link.contains("X-Amz-Signature="), "{link}");
    assert_eq!(server.requests().len(), 0);
}
