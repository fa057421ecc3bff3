//! A customer who pays: the events of API Gateway for each operation, and what a correct reply is.

use super::operation::Operation;
use ledger_tests::http::world::{new_id, new_key};
use ledger_tests::lambda::{Reply, events};
use serde_json::{Value, json};

/// The amount of each payment, as in `golden/pay/money.json`.
const AMOUNT: &str = "1740";
/// More than any wallet here holds.
const AMOUNT_TOO_LARGE: &str = "900000000000";
/// What a wallet holds at the beginning: enough for half a million payments.
pub(super) const FUNDS: &str = "900000000";
const PAYMENTS: &str = "/v1/me/payments";
const BALANCES: &str = "/v1/me/balances";

/// A customer with money, and the merchant who is paid.
#[derive(Clone, Debug)]
pub(super) struct Payer {
    payment: Value,
    refusal: Value,
    balance: Value,
    /// The key of the payment that is repeated.
    repeated_key: String,
}

impl Payer {
    /// A customer of a tenant.
    pub(super) fn new(tenant: &str, customer: &str, merchant: &str) -> Self {
        let mut event = events::kept("customer-payment");
        event["requestContext"]["authorizer"]["jwt"]["claims"]["sub"] = customer.into();
        event["requestContext"]["authorizer"]["jwt"]["claims"]["tenant"] = tenant.into();
        let paying = |amount: &str| {
            let mut event = event.clone();
            let body = json!({"merchant_id": merchant, "amount": amount}).to_string();
            event["headers"]["content-length"] = body.len().to_string().into();
            event["body"] = body.into();
            event
        };
        Self {
            payment: paying(AMOUNT),
            refusal: paying(AMOUNT_TOO_LARGE),
            balance: reading(event.clone()),
            repeated_key: new_key(),
        }
    }

    /// An event of an operation. All functions get the same, but for customer, ids and keys.
    pub(super) fn event(&self, operation: Operation) -> String {
        let (event, key) = match operation {
            Operation::Payment => (&self.payment, Some(new_key())),
            Operation::Replay => (&self.payment, Some(self.repeated_key.clone())),
            Operation::Refusal => (&self.refusal, Some(new_key())),
            Operation::Balance => (&self.balance, None),
        };
        let mut event = event.clone();
        event["requestContext"]["requestId"] = new_id().into();
        if let Some(key) = key {
            event["headers"]["idempotency-key"] = key.into();
        }
        event.to_string()
    }
}

/// The event that asks for the balances.
fn reading(event: Value) -> Value {
    debug_assert_eq!(event["rawPath"], PAYMENTS);
    let mut event = events::at(event, "GET", BALANCES);
    for route in ["/routeKey", "/requestContext/routeKey"] {
        *event.pointer_mut(route).expect("an event has it") = format!("GET {BALANCES}").into();
    }
    let headers = event["headers"].as_object_mut().expect("headers");
    for name in ["idempotency-key", "content-type", "content-length"] {
        headers.remove(name);
    }
    event.as_object_mut().expect("an object").remove("body");
    event
}

/// Checks that a reply is the operation's. A replay of a key that is used for the first time is a payment.
///
/// # Errors
/// What is wrong, with the reply.
pub(super) fn check(operation: Operation, reply: &Reply) -> Result<(), String> {
    let Reply::Response(response) = reply else { return Err(format!("{operation}: {reply:?}")) };
    let wrong = |what: &str| Err(format!("{operation}: {what}: {response}"));
    if response["statusCode"] != operation.status() {
        return wrong("another status was expected");
    }
    match operation {
        Operation::Replay if !is_replay(response) => wrong("a replay was expected"),
        Operation::Refusal if !has_code(response, "insufficient_balance") => wrong("another code was expected"),
        Operation::Payment | Operation::Replay | Operation::Refusal | Operation::Balance => Ok(()),
    }
}

fn is_replay(response: &Value) -> bool {
    let name = "idempotent-replayed";
    response["headers"][name] == "true" || response["multiValueHeaders"][name][0] == "true"
}

fn has_code(response: &Value, code: &str) -> bool {
    response["body"].as_str().is_some_and(|body| body.contains(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_differ_in_key_amount_and_path() {
        let payer = Payer::new("demo", "c-1", "m-1");
        let event = |operation| serde_json::from_str::<Value>(&payer.event(operation)).unwrap();
        let [payment, replay, refusal, balance] = Operation::ALL.map(event);
        let key = |event: &Value| event["headers"]["idempotency-key"].clone();
        assert_eq!(payment["body"], r#"{"amount":"1740","merchant_id":"m-1"}"#);
        assert_eq!(payment["body"], replay["body"]);
        assert_ne!(key(&payment), key(&replay));
        assert_eq!(key(&event(Operation::Replay)), key(&replay));
        assert_ne!(refusal["body"], payment["body"]);
        assert_eq!((balance["rawPath"].as_str(), key(&balance)), (Some(BALANCES), Value::Null));
        assert_eq!(balance["routeKey"], "GET /v1/me/balances");
        assert_eq!(balance["requestContext"]["authorizer"]["jwt"]["claims"]["sub"], "c-1");
    }

    #[test]
    fn reply_of_another_operation_is_an_error() {
        let reply = |value: Value| Reply::Response(value);
        let refused = json!({"statusCode": 400, "body": r#"{"code":"insufficient_balance"}"#});
        assert_eq!(check(Operation::Refusal, &reply(refused.clone())), Ok(()));
        assert!(check(Operation::Payment, &reply(refused)).is_err());
        assert!(check(Operation::Refusal, &reply(json!({"statusCode": 400, "body": "{}"}))).is_err());
        let paid = json!({"statusCode": 201, "headers": {}});
        assert_eq!(check(Operation::Payment, &reply(paid.clone())), Ok(()));
        assert!(check(Operation::Replay, &reply(paid)).unwrap_err().contains("a replay was expected"));
        for headers in ["headers", "multiValueHeaders"] {
            let value = if headers == "headers" { json!("true") } else { json!(["true"]) };
            let replayed = json!({"statusCode": 201, headers: {"idempotent-replayed": value}});
            assert_eq!(check(Operation::Replay, &reply(replayed)), Ok(()));
        }
        assert!(check(Operation::Balance, &Reply::Error(json!({}))).is_err());
    }
}
