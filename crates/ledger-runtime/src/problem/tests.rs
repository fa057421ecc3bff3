//! Problem documents byte for byte. Stored refusals are replayed from these bytes, so their order must not change.

use super::*;
use ledger_core::failure::Failure;
use ledger_core::idempotency::KeyError;
use ledger_core::time::Timestamp;

#[test]
fn members_keep_the_order_in_which_they_were_added() {
    let problem = Problem::refused(Failure::Insufficient).with("balance_short", "40").with("asset", "ECOPAY");
    assert_eq!(
        problem.body(),
        concat!(
            r#"{"type":"https://ecopay.example/problems/insufficient_balance","title":"Insufficient balance","#,
            r#""status":400,"detail":"The account's balance is too low.","code":"insufficient_balance","#,
            r#""balance_short":"40","asset":"ECOPAY"}"#
        )
    );
    assert_eq!(problem.answer().status, 400);
    assert_eq!(problem.answer().content_type, "application/problem+json");
}

#[test]
fn body_of_a_500_is_always_the_same() {
    let read = Problem::from(ReadError::Refused("ValidationException".to_owned()));
    let item = Problem::from(ItemError::invalid("name of a field"));
    assert_eq!(read.body(), Problem::internal().body());
    assert_eq!(item.body(), Problem::internal().body());
}

#[test]
fn retry_after_is_in_whole_seconds_rounded_up() {
    for (ms, want) in [(0, "0"), (1, "1"), (1000, "1"), (1001, "2")] {
        let problem = Problem::key_in_use(Duration::from_millis(ms));
        assert!(problem.body().contains(&format!("\"retry_after_ms\":{ms}")));
        assert_eq!(problem.into_response().headers()[header::RETRY_AFTER], want);
    }
}

#[test]
fn rate_limited_says_when_to_retry() {
    let problem = Problem::rate_limited(Duration::from_millis(9_001));
    assert!(problem.body().contains(r#""code":"rate_limited","retry_after_ms":9001}"#), "{}", problem.body());
    let response = problem.into_response();
    assert_eq!((response.status().as_u16(), &response.headers()[header::RETRY_AFTER]), (429, &"10".parse().unwrap()));
}

#[test]
fn every_failure_has_its_own_code_and_a_client_status() {
    for failure in Failure::ALL {
        let problem = Problem::refused(*failure);
        assert_eq!(problem.code(), failure.code());
        assert_eq!(problem.status() == StatusCode::BAD_REQUEST, failure.is_terminal(), "{failure:?}");
    }
}

#[test]
fn key_with_a_future_time_is_answered_with_the_server_time() {
    let now = Timestamp::parse("2026-11-21T09:30:00Z").unwrap();
    let problem = Problem::key(KeyError::FromTheFuture { now });
    assert!(problem.body().contains(r#""server_time":"2026-11-21T09:30:00.000Z""#));
    assert_eq!(problem.code(), "idempotency_key_invalid");
}
