//! The known responses of Stripe, and their classification.

use super::*;
use ledger_core::psp::PspId;
use serde_json::{Value, json};

const LEDGER: &str = "demo-ledger";

fn intent(status: &str) -> Value {
    json!({
        "id": "pi_1", "object": "payment_intent", "amount": 2000, "amount_received": 0, "currency": "jpy",
        "livemode": false, "status": status, "client_secret": "pi_1_secret_x", "metadata": {},
    })
}

fn refund() -> Value {
    json!({
        "id": "re_1", "object": "refund", "amount": 2000, "currency": "jpy", "payment_intent": "pi_1",
        "status": "pending", "metadata": {},
    })
}

fn error(kind: &str, code: &str) -> Value {
    json!({"error": {"type": kind, "code": code, "message": "m"}})
}

fn error_body(message: &str, code: Option<&str>) -> Value {
    json!({"error": {"type": "invalid_request_error", "code": code, "message": message}})
}

/// Stripe's headers beside the status.
#[derive(Clone, Copy)]
enum Headers {
    Plain,
    Replayed,
    Retry(bool),
    ReplayedRetry(bool),
}
use Headers::{Plain, Replayed, ReplayedRetry, Retry};

fn answer(status: u16, headers: Headers, body: &Value) -> Answer {
    let (replayed, should_retry) = match headers {
        Plain => (false, None),
        Replayed => (true, None),
        Retry(retry) => (false, Some(retry)),
        ReplayedRetry(retry) => (true, Some(retry)),
    };
    let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned).into_bytes();
    Answer { status, replayed, should_retry, body }
}

/// Formats the outcome for the tables.
fn outcome(step: Step, answer: &Answer) -> String {
    match sent(step, answer, LEDGER) {
        Sent::Done(object) => format!("done {}", object.id()),
        Sent::Refused(PspRefusal { code, outlook, object }) => {
            let outlook = match outlook {
                Outlook::Final => "final",
                Outlook::MayPass { burnt: true } => "may pass, burnt",
                Outlook::MayPass { burnt: false } => "may pass",
            };
            let object = object.map(|object| format!(", {}", object.id())).unwrap_or_default();
            format!("{outlook}: {code}{object}")
        }
        Sent::Unknown(Unknown { resend: true, why }) => format!("send again: {why}"),
        Sent::Unknown(Unknown { resend: false, why }) => format!("look: {why}"),
    }
}

const INVALID: &str = "invalid_request_error";

#[test]
fn responses_to_a_refund_request_are_classified() {
    let html = json!("<html>Bad Gateway</html>");
    let short = "Insufficient funds in your Stripe balance to refund this amount.";
    let other_mode =
        "No such payment_intent: 'pi_1'; a similar object exists in live mode, but a test mode key was used";
    let undocumented = json!({"error": {"type": INVALID, "message_code": "insufficient_balance_for_refund"}});
    let key_misuse = json!({"error": {"type": "idempotency_error", "message": "Keys for idempotent requests ..."}});
    let long = "a".repeat(65);
    let cases: Vec<(u16, Headers, Value, &str)> = vec![
        (200, Plain, refund(), "done re_1"),
        (201, Plain, refund(), "done re_1"),
        (200, Replayed, refund(), "done re_1"),
        (200, Plain, intent("succeeded"), "send again: unreadable_object"),
        (200, Plain, json!({}), "send again: unreadable_object"),
        (200, Plain, html.clone(), "send again: unreadable_object"),
        (204, Plain, json!(""), "send again: unreadable_object"),
        (200, Replayed, json!({}), "look: unreadable_object"),
        // Server errors: the outcome is unknown, and a replayed failure will be replayed again.
        (500, Plain, error("api_error", "x"), "send again: server_error"),
        (502, Plain, html.clone(), "send again: server_error"),
        (503, Plain, html.clone(), "send again: server_error"),
        (504, Plain, html.clone(), "send again: server_error"),
        (599, Plain, html.clone(), "send again: server_error"),
        (500, Retry(true), error("api_error", "x"), "send again: server_error"),
        (500, Retry(false), error("api_error", "x"), "look: server_error"),
        (500, Replayed, error("api_error", "x"), "look: server_error"),
        (500, ReplayedRetry(true), error("api_error", "x"), "look: server_error"),
        // Another request holds the key, or the rate is exceeded.
        (409, Plain, error("idempotency_error", "idempotency_key_in_use"), "send again: conflict"),
        (409, Retry(false), html.clone(), "send again: conflict"),
        (429, Plain, error(INVALID, "rate_limit"), "send again: rate_limited"),
        (429, Retry(false), error(INVALID, "rate_limit"), "send again: rate_limited"),
        (429, Retry(true), error(INVALID, "lock_timeout"), "send again: rate_limited"),
        (400, Plain, error(INVALID, "rate_limit"), "send again: not_now"),
        (400, Plain, error(INVALID, "lock_timeout"), "send again: not_now"),
        (400, Plain, error("idempotency_error", "idempotency_key_in_use"), "send again: not_now"),
        (400, Retry(true), error(INVALID, "amount_too_small"), "send again: should_retry"),
        (402, Retry(true), error("card_error", "card_declined"), "send again: should_retry"),
        // The request is at fault.
        (400, Plain, error(INVALID, "amount_too_small"), "final: amount_too_small"),
        (400, Plain, error(INVALID, "amount_too_large"), "final: amount_too_large"),
        (400, Plain, error(INVALID, "parameter_unknown"), "final: parameter_unknown"),
        (400, Plain, error(INVALID, "charge_already_refunded"), "final: charge_already_refunded"),
        (400, Plain, error(INVALID, "charge_disputed"), "final: charge_disputed"),
        (400, Plain, error(INVALID, "refund_disputed_payment"), "final: refund_disputed_payment"),
        (400, Retry(false), error(INVALID, "charge_disputed"), "final: charge_disputed"),
        (400, Replayed, error(INVALID, "charge_disputed"), "final: charge_disputed"),
        (404, Plain, error(INVALID, "resource_missing"), "may pass: resource_missing"),
        (404, Replayed, error(INVALID, "resource_missing"), "may pass, burnt: resource_missing"),
        (400, Plain, error_body("m", None), "final: invalid_request_error"),
        (400, Plain, error_body("m", Some("Taro Yamada")), "final: invalid_request_error"),
        (400, Plain, error_body("m", Some("")), "final: invalid_request_error"),
        (400, Plain, error_body("m", Some(&long)), "final: invalid_request_error"),
        (400, Plain, key_misuse.clone(), "look: key_with_other_parameters"),
        (400, Replayed, key_misuse, "look: key_with_other_parameters"),
        // Temporary: the API key, the card, the balance of the Stripe account.
        (401, Plain, error(INVALID, "api_key_expired"), "may pass: api_key_expired"),
        (403, Plain, error(INVALID, "account_invalid"), "may pass: account_invalid"),
        (403, Replayed, error(INVALID, "account_invalid"), "may pass, burnt: account_invalid"),
        (404, Plain, error_body(other_mode, Some("resource_missing")), "may pass: resource_missing"),
        (402, Plain, error("card_error", "card_declined"), "may pass, burnt: card_declined"),
        (402, Plain, error(INVALID, "x"), "may pass, burnt: x"),
        (400, Plain, error(INVALID, "balance_insufficient"), "may pass, burnt: balance_insufficient"),
        (400, Plain, error(INVALID, "insufficient_funds"), "may pass, burnt: insufficient_funds"),
        (400, Plain, undocumented, "may pass, burnt: insufficient_balance_for_refund"),
        (400, Plain, error_body(short, None), "may pass, burnt: invalid_request_error"),
        // Not written by Stripe.
        (400, Plain, html.clone(), "send again: unreadable_refusal"),
        (401, Plain, json!({"message": "Unauthorized"}), "send again: unreadable_refusal"),
        (403, Plain, html.clone(), "send again: unreadable_refusal"),
        (404, Plain, html.clone(), "send again: unreadable_refusal"),
        (404, Plain, json!({"error": "not found"}), "send again: unreadable_refusal"),
        (404, Replayed, html.clone(), "look: unreadable_refusal"),
        // Not listed.
        (400, Plain, error("api_error", "x"), "look: unlisted_refusal"),
        (400, Plain, error("card_error", "x"), "look: unlisted_refusal"),
        (405, Plain, error(INVALID, "x"), "look: unlisted_refusal"),
        (418, Plain, error(INVALID, "x"), "look: unlisted_refusal"),
        (424, Plain, error("api_error", "x"), "look: unlisted_refusal"),
        (100, Plain, html.clone(), "send again: unlisted_status"),
        (302, Plain, html.clone(), "send again: unlisted_status"),
        (600, Plain, html, "send again: unlisted_status"),
    ];
    for (status, headers, body, want) in cases {
        let answer = answer(status, headers, &body);
        assert_eq!(outcome(Step::CreateRefund, &answer), want, "{status} {body}");
    }
}

#[test]
fn refusal_holds_the_current_intent() {
    let refused = |status: &str| {
        let body = json!({"error": {
            "type": INVALID, "code": "payment_intent_unexpected_state", "message": "m", "payment_intent": intent(status),
        }});
        sent(Step::CancelIntent, &answer(400, Plain, &body), LEDGER)
    };
    for (word, want) in [("succeeded", IntentStatus::Succeeded), ("canceled", IntentStatus::Canceled)] {
        let Sent::Refused(PspRefusal { code, outlook: Outlook::Final, object: Some(PspObject::Intent(intent)) }) =
            refused(word)
        else {
            panic!("refused for good, with the intent");
        };
        assert_eq!((code.as_str(), intent.status), ("payment_intent_unexpected_state", want));
    }
}

#[test]
fn step_is_done_only_if_its_object_shows_it() {
    let cases = [
        (Step::CreateIntent, intent("requires_payment_method"), "done pi_1"),
        (Step::CreateIntent, refund(), "send again: unreadable_object"),
        (Step::CancelIntent, intent("canceled"), "done pi_1"),
        (Step::CancelIntent, intent("processing"), "send again: not_canceled"),
        (Step::CancelIntent, intent("succeeded"), "send again: not_canceled"),
        (Step::CancelIntent, refund(), "send again: unreadable_object"),
        (Step::CreateRefund, refund(), "done re_1"),
    ];
    for (step, body, want) in cases {
        assert_eq!(outcome(step, &answer(200, Plain, &body)), want, "{step:?} {body}");
    }
}

#[test]
fn absence_is_accepted_only_from_stripe_and_in_the_same_mode() {
    let other_mode =
        "No such payment_intent: 'pi_1'; a similar object exists in test mode, but a live mode key was used";
    let id = PspId::parse("pi_1").unwrap();
    let missing = LookupResult::Absent;
    let unknown = LookupResult::Unknown;
    let found = LookupResult::Found(PspObject::Intent(
        wire::intent(intent("canceled").to_string().as_bytes(), LEDGER).unwrap(),
    ));
    let mut another = intent("canceled");
    another["id"] = json!("pi_2");
    let cases = [
        (200, intent("canceled"), found),
        (200, another, unknown.clone()),
        (200, refund(), unknown.clone()),
        (200, json!("<html>"), unknown.clone()),
        (404, error(INVALID, "resource_missing"), missing),
        (404, error_body(other_mode, Some("resource_missing")), unknown.clone()),
        (404, error(INVALID, "other"), unknown.clone()),
        (404, error_body("m", None), unknown.clone()),
        (404, json!("<html>"), unknown.clone()),
        (404, intent("canceled"), unknown.clone()),
        (400, error(INVALID, "resource_missing"), unknown.clone()),
        (401, error(INVALID, "x"), unknown.clone()),
        (429, error(INVALID, "rate_limit"), unknown.clone()),
        (500, intent("canceled"), unknown.clone()),
        (302, json!(""), unknown),
    ];
    for (status, body, want) in cases {
        let answer = answer(status, Plain, &body);
        assert_eq!(seen(PspLookup::Intent(&id), &answer, LEDGER), want, "{status} {body}");
    }
    let id = PspId::parse("re_1").unwrap();
    let seen = seen(PspLookup::Refund(&id), &answer(200, Plain, &refund()), LEDGER);
    assert!(matches!(seen, LookupResult::Found(PspObject::Refund(refund)) if refund.id == id));
}
