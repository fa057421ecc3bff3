use super::*;
use crate::clock::Clock;
use crate::secrets::SecretError;
use crate::testing::Store;
use crate::testing::server::{Reply, Server};
use futures::FutureExt;
use ledger_core::ids::{MerchantId, SettlementId, Tenant};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// A secret whose text a test can change. It counts how often it is read.
#[derive(Clone, Default)]
struct Token(Arc<Mutex<(u32, u32)>>);

impl Token {
    fn exchange(&self) {
        let mut state = self.0.lock().unwrap();
        state.0 = state.0.saturating_add(1);
    }

    fn reads(&self) -> u32 {
        self.0.lock().unwrap().1
    }
}

impl SecretSource for Token {
    fn read(&self) -> BoxFuture<'_, Result<Masked<String>, SecretError>> {
        async {
            let mut state = self.0.lock().unwrap();
            state.1 = state.1.saturating_add(1);
            Ok(Masked::new(format!("tok_{}\n", state.0.saturating_add(1))))
        }
        .boxed()
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
    kyc_with(url, &Token::default(), Clock::system())
}

fn kyc_with(url: &str, token: &Token, clock: Clock) -> Result<HttpKyc, KycError> {
    let config = KycConfig { url: url.to_owned(), secret_id: "arn:x".to_owned() };
    HttpKyc::new(&config, token.clone(), &Store::script([]).ledger_at(clock).0)
}

/// The result of a check that the service answers with this status and body, and the request that was sent.
async fn answered(status: u16, body: &str) -> (KycAnswer, String) {
    let server = Server::script([Reply::of(status, "", body)]).await;
    let answer = kyc(&format!("{}/kyc/", server.origin)).unwrap().check(&at()).await;
    (answer, server.seen().concat())
}

#[tokio::test]
async fn every_other_answer_is_unknown() {
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
async fn check_sends_an_idempotency_key_of_the_settlement() {
    let (_, request) = answered(200, r#"{"result":"pending"}"#).await;
    assert!(request.starts_with("POST /kyc/checks HTTP/1.1"), "{request}");
    assert!(request.contains("idempotency-key: settlement:019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5e:kyc"), "{request}");
    assert!(request.contains("authorization: Bearer tok_1\r\n"), "{request}");
    assert!(request.contains(r#""merchant_id":"019aa5d2-7c1e-7a52-9c3f-2b1f6a0c4d5f""#), "{request}");
}

#[test]
fn url_that_sends_the_token_unencrypted_is_refused() {
    for url in ["http://kyc.example", "kyc.example", "ftp://kyc.example", ""] {
        assert_eq!(kyc(url).err(), Some(KycError::Url), "{url}");
    }
    let kyc = kyc("https://kyc.example/v1").unwrap();
    assert!(!format!("{kyc:?}").contains("tok"));
}

/// A clock that is `seconds` seconds ahead of a fixed time.
fn clock_at(seconds: &Arc<AtomicU64>) -> Clock {
    let seconds = Arc::clone(seconds);
    Clock::from_fn(move || crate::testing::now().plus(Duration::from_secs(seconds.load(Ordering::SeqCst))))
}

#[tokio::test]
async fn exchanged_token_is_used_within_five_minutes() {
    let (token, seconds) = (Token::default(), Arc::new(AtomicU64::new(0)));
    let pending = || Reply::of(200, "", r#"{"result":"pending"}"#);
    let server = Server::script([pending(), pending(), pending()]).await;
    let kyc = kyc_with(&server.origin, &token, clock_at(&seconds)).unwrap();
    kyc.check(&at()).await;
    token.exchange();
    seconds.store(299, Ordering::SeqCst);
    kyc.check(&at()).await;
    seconds.store(300, Ordering::SeqCst);
    kyc.check(&at()).await;
    let seen = server.seen();
    let sent: Vec<bool> = seen.iter().map(|request| request.contains("Bearer tok_2\r\n")).collect();
    assert_eq!((sent, token.reads()), (vec![false, false, true], 2), "{seen:?}");
}

#[tokio::test]
async fn refused_token_is_read_again_and_the_check_repeated() {
    for status in [401, 403] {
        let (token, seconds) = (Token::default(), Arc::new(AtomicU64::new(0)));
        let pending = || Reply::of(200, "", r#"{"result":"pending"}"#);
        let passed = Reply::of(200, "", r#"{"result":"passed"}"#);
        let refused = || Reply::of(status, "", "");
        let server = Server::script([pending(), refused(), passed, refused()]).await;
        let kyc = kyc_with(&server.origin, &token, clock_at(&seconds)).unwrap();
        assert_eq!(kyc.check(&at()).await, KycAnswer::Unknown);
        token.exchange();
        seconds.store(11, Ordering::SeqCst);
        assert_eq!(kyc.check(&at()).await, KycAnswer::Passed { reference: String::new() });
        // The same token is not sent twice, and a second refusal within ten seconds does not read the secret.
        assert_eq!(kyc.check(&at()).await, KycAnswer::Unknown);
        assert_eq!(token.reads(), 2);
    }
}
