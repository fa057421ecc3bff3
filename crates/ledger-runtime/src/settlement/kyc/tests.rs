use super::*;
use crate::secrets::SecretError;
use crate::testing::server::{Reply, Server};
use futures::FutureExt;
use ledger_core::ids::{MerchantId, SettlementId, Tenant};

struct Token;

impl SecretSource for Token {
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>> {
        async { Ok(Masked::new("tok_1\n".to_owned())) }.boxed()
    }
}

fn at() -> SettlementRef {
    SettlementRef {
        tenant: Tenant::parse("aoba").unwrap(),
        merchant: MerchantId::parse("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5f").unwrap(),
        id: SettlementId::parse("019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e").unwrap(),
    }
}

fn kyc(url: &str) -> Result<HttpKyc, KycError> {
    HttpKyc::new(&KycConfig { url: url.to_owned(), secret_id: "arn:x".to_owned() }, Token)
}

/// What the service is taken to mean if it answers so, and what it was asked.
async fn answered(status: u16, body: &str) -> (KycAnswer, String) {
    let server = Server::script([Reply::of(status, "", body)]).await;
    let answer = kyc(&format!("{}/kyc/", server.origin)).unwrap().check(&at()).await;
    (answer, server.seen().concat())
}

#[tokio::test]
async fn an_answer_has_three_values_and_the_third_is_everything_else() {
    let passed = |reference: &str| KycAnswer::Passed { reference: reference.to_owned() };
    for (status, body, want) in [
        (200, r#"{"result":"passed","reference":"chk_1"}"#, passed("chk_1")),
        (200, r#"{"result":"passed"}"#, passed("")),
        (200, r#"{"result":"refused","reference":"chk_1"}"#, KycAnswer::Refused),
        (200, r#"{"result":"pending"}"#, KycAnswer::Unknown),
        (200, r#"{"result":"fine"}"#, KycAnswer::Unknown),
        (200, r#"{"result":"passed","reference":"a b"}"#, KycAnswer::Unknown),
        (200, "passed", KycAnswer::Unknown),
        (201, r#"{"result":"passed"}"#, KycAnswer::Unknown),
        (403, r#"{"result":"refused"}"#, KycAnswer::Unknown),
        (500, "", KycAnswer::Unknown),
    ] {
        assert_eq!(answered(status, body).await.0, want, "{status} {body}");
    }
    assert_eq!(kyc("http://127.0.0.1:1").unwrap().check(&at()).await, KycAnswer::Unknown);
}

#[tokio::test]
async fn one_settlement_is_one_check() {
    let (_, asked) = answered(200, r#"{"result":"pending"}"#).await;
    assert!(asked.starts_with("POST /kyc/checks HTTP/1.1"), "{asked}");
    assert!(asked.contains("idempotency-key: settlement:019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e:kyc"), "{asked}");
    assert!(asked.contains("authorization: Bearer tok_1\r\n"), "{asked}");
    assert!(asked.contains(r#""merchant_id":"019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5f""#), "{asked}");
}

#[test]
fn a_token_never_travels_in_the_clear() {
    for url in ["http://kyc.example", "kyc.example", "ftp://kyc.example", ""] {
        assert_eq!(kyc(url).err(), Some(KycError::Url), "{url}");
    }
    let kyc = kyc("https://kyc.example/v1").unwrap();
    assert!(!format!("{kyc:?}").contains("tok"));
}
