//! Objects as in the provider's documentation, and malformed ones.

use super::*;
use ledger_core::ids::{RefundId, Tenant, TopupId};
use serde_json::{Value, json};

const LEDGER: &str = "demo-ledger";
const TOPUP: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
const REFUND: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5f";

/// Has fields that the ledger does not read, as real objects do.
fn intent_json() -> Value {
    json!({
        "id": "pi_3MtwBwLkdIwHu7ix28a3tqPa", "object": "payment_intent", "amount": 2000, "amount_received": 0,
        "amount_details": {"tip": {}}, "automatic_payment_methods": {"enabled": true}, "canceled_at": null,
        "client_secret": "pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_Yr", "created": 1_680_800_504, "currency": "jpy",
        "livemode": false, "status": "requires_payment_method", "payment_method_types": ["card", "link"],
        "metadata": {"ecopay_ledger": LEDGER, "ecopay_tenant": "demo", "ecopay_topup": TOPUP, "other": "x"},
    })
}

fn refund_json() -> Value {
    json!({
        "id": "re_1Nispe2eZvKYlo2Cd31jOCgZ", "object": "refund", "amount": 1000, "currency": "jpy",
        "charge": "ch_1", "payment_intent": "pi_3M", "status": "pending", "pending_reason": "insufficient_funds",
        "metadata": {"ecopay_ledger": LEDGER, "ecopay_tenant": "demo", "ecopay_topup": TOPUP, "ecopay_refund": REFUND},
    })
}

fn dispute_json() -> Value {
    json!({
        "id": "du_1MtJUT2eZvKYlo2CNaw2HvEv", "object": "dispute", "amount": 2000, "currency": "jpy",
        "charge": "ch_1", "payment_intent": "pi_3M", "livemode": true, "status": "needs_response",
        "balance_transactions": [{"amount": -2000, "exchange_rate": 1.5}],
    })
}

fn event_json(kind: &str, object: &Value) -> Value {
    json!({
        "id": "evt_1", "object": "event", "api_version": "2026-10-28.endive", "created": 1_680_800_504,
        "data": {"object": object}, "livemode": true, "pending_webhooks": 1, "type": kind,
        "request": {"id": null, "idempotency_key": null},
    })
}

fn with(mut object: Value, name: &str, value: Value) -> Value {
    object[name] = value;
    object
}

fn without(mut object: Value, name: &str) -> Value {
    object.as_object_mut().unwrap().remove(name).unwrap();
    object
}

fn bytes(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

fn read(value: &Value) -> Result<PaymentIntent, WireError> {
    intent(&bytes(value), LEDGER)
}

#[test]
fn intent_is_parsed_with_metadata_and_does_not_print_its_secret() {
    let intent = read(&intent_json()).unwrap();
    assert_eq!(intent.id.as_str(), "pi_3MtwBwLkdIwHu7ix28a3tqPa");
    assert_eq!(intent.amount, PspMoney { minor: 2000, currency: "jpy".into() });
    assert_eq!((intent.received, intent.status, intent.livemode), (0, IntentStatus::Open, false));
    assert_eq!(intent.client_secret.as_ref().unwrap().expose(), "pi_3MtwBwLkdIwHu7ix28a3tqPa_secret_Yr");
    let tags = Tags { tenant: Tenant::parse("demo").unwrap(), topup: TopupId::parse(TOPUP).unwrap(), refund: None };
    assert_eq!(intent.tags, Some(tags));
    assert!(!format!("{intent:?}").contains("_secret_"));
}

#[test]
fn intent_without_a_required_field_is_refused() {
    for name in ["id", "object", "amount", "amount_received", "currency", "status", "livemode"] {
        assert_eq!(read(&without(intent_json(), name)), Err(WireError::Field(name_of(name))), "without {name}");
        assert_eq!(read(&with(intent_json(), name, Value::Null)), Err(WireError::Field(name_of(name))), "{name}");
        let list = with(intent_json(), name, json!([1]));
        assert_eq!(read(&list), Err(WireError::Field(name_of(name))), "{name} is a list");
    }
    for name in ["client_secret", "metadata"] {
        assert!(read(&without(intent_json(), name)).is_ok(), "without {name}");
        assert!(read(&with(intent_json(), name, Value::Null)).is_ok(), "{name} is null");
        assert_eq!(read(&with(intent_json(), name, json!(1))), Err(WireError::Field(name_of(name))));
    }
    assert_eq!(read(&with(intent_json(), "object", json!("charge"))), Err(WireError::Field("object")));
    for id in ["", "pi_1/cancel", "pi 1", "pi_\u{e9}"] {
        assert_eq!(read(&with(intent_json(), "id", json!(id))), Err(WireError::Field("id")), "{id}");
    }
    for currency in ["JPY", "jp", "jpyy", "", "j\u{e9}"] {
        assert_eq!(read(&with(intent_json(), "currency", json!(currency))), Err(WireError::Field("currency")));
    }
    assert_eq!(read(&with(intent_json(), "metadata", json!({"a": 1}))), Err(WireError::Field("metadata")));
}

fn name_of(name: &str) -> &'static str {
    let names =
        ["id", "object", "amount", "amount_received", "currency", "status", "livemode", "client_secret", "metadata"];
    names.into_iter().find(|known| *known == name).unwrap()
}

#[test]
fn amount_is_a_whole_number_and_not_negative() {
    let text = intent_json().to_string();
    for bad in ["-1", "1.0", "1e3", "2000.5", "-0", "\"2000\"", "18446744073709551616", "1e400", "0x10", "true", "null"]
    {
        let changed = text.replace("\"amount\":2000", &format!("\"amount\":{bad}"));
        assert_ne!(changed, text);
        assert!(intent(changed.as_bytes(), LEDGER).is_err(), "{bad}");
    }
    for (good, minor) in [("0", 0), ("18446744073709551615", u64::MAX), ("9007199254740993", 9_007_199_254_740_993)] {
        let changed = text.replace("\"amount\":2000", &format!("\"amount\":{good}"));
        assert_eq!(intent(changed.as_bytes(), LEDGER).unwrap().amount.minor, minor);
    }
}

#[test]
fn ambiguous_json_is_refused() {
    let good = intent_json().to_string();
    let cases: Vec<(&str, Vec<u8>)> = vec![
        ("amount twice", good.replacen('{', "{\"amount\":1,", 1).into_bytes()),
        ("an unknown field twice", good.replacen('{', "{\"x\":1,\"x\":1,", 1).into_bytes()),
        ("an escaped name twice", good.replacen('{', "{\"\\u0061mount\":1,", 1).into_bytes()),
        ("metadata twice inside", good.replace("\"other\":", "\"ecopay_tenant\":\"b\",\"other\":").into_bytes()),
        ("BOM", [b"\xef\xbb\xbf", good.as_bytes()].concat()),
        ("garbage after", format!("{good}x").into_bytes()),
        ("a second text after", format!("{good}{{}}").into_bytes()),
        ("NUL after", format!("{good}\0").into_bytes()),
        ("cut short", good.as_bytes()[..good.len() - 1].to_vec()),
        ("not UTF-8", good.replace("card", "\u{1}").replace('\u{1}', "\u{fffd}").into_bytes()[..40].to_vec()),
        ("empty", Vec::new()),
        ("HTML", b"<html></html>".to_vec()),
        ("too deep", "[".repeat(100_000).into_bytes()),
    ];
    for (what, bytes) in cases {
        assert_eq!(intent(&bytes, LEDGER), Err(WireError::NotJson), "{what}");
    }
    let mut invalid = good.clone().into_bytes();
    let at = good.find("card").unwrap();
    invalid[at] = 0xff;
    assert_eq!(intent(&invalid, LEDGER), Err(WireError::NotJson));
    assert!(intent(format!(" \r\n{good}\n").as_bytes(), LEDGER).is_ok(), "surrounding spaces are ignored");
}

#[test]
fn unknown_status_is_parsed_as_open_or_pending() {
    for (word, want) in [
        ("requires_payment_method", IntentStatus::Open),
        ("processing", IntentStatus::Open),
        ("something_new", IntentStatus::Open),
        ("succeeded", IntentStatus::Succeeded),
        ("canceled", IntentStatus::Canceled),
    ] {
        assert_eq!(read(&with(intent_json(), "status", json!(word))).unwrap().status, want, "{word}");
    }
    for (word, want) in [
        (json!("pending"), RefundStatus::Pending),
        (json!("requires_action"), RefundStatus::Pending),
        (Value::Null, RefundStatus::Pending),
        (json!("succeeded"), RefundStatus::Succeeded),
        (json!("failed"), RefundStatus::Failed),
        (json!("canceled"), RefundStatus::Failed),
    ] {
        let refund = refund(&bytes(&with(refund_json(), "status", word.clone())), LEDGER).unwrap();
        assert_eq!(refund.status, want, "{word}");
    }
    assert_eq!(refund(&bytes(&without(refund_json(), "status")), LEDGER), Err(WireError::Field("status")));
}

#[test]
fn metadata_of_another_deployment_gives_no_tags() {
    for metadata in [
        json!({}),
        json!({"ecopay_tenant": "demo", "ecopay_topup": TOPUP}),
        json!({"ecopay_ledger": "another", "ecopay_tenant": "demo", "ecopay_topup": TOPUP}),
        json!({"ecopay_ledger": LEDGER, "ecopay_tenant": "De mo", "ecopay_topup": TOPUP}),
        json!({"ecopay_ledger": LEDGER, "ecopay_tenant": "demo", "ecopay_topup": "1"}),
    ] {
        assert_eq!(read(&with(intent_json(), "metadata", metadata.clone())).unwrap().tags, None, "{metadata}");
    }
}

#[test]
fn refund_references_its_intent_by_id_or_expanded() {
    let read = |value: Value| refund(&bytes(&with(refund_json(), "payment_intent", value)), LEDGER);
    let plain = refund(&bytes(&refund_json()), LEDGER).unwrap();
    assert_eq!(plain.intent.as_ref().unwrap().as_str(), "pi_3M");
    assert_eq!(plain.amount, PspMoney { minor: 1000, currency: "jpy".into() });
    assert_eq!(plain.tags.unwrap().refund, Some(RefundId::parse(REFUND).unwrap()));
    let whole = read(intent_json()).unwrap().intent.unwrap();
    assert_eq!(whole.as_str(), "pi_3MtwBwLkdIwHu7ix28a3tqPa");
    assert_eq!(read(Value::Null).unwrap().intent, None);
    for bad in [json!(1), json!([]), json!({}), json!({"id": 1}), json!("a b"), json!(true)] {
        assert_eq!(read(bad.clone()), Err(WireError::Field("payment_intent")), "{bad}");
    }
}

#[test]
fn event_subject_follows_from_object_and_type() {
    let subject = |kind: &str, object: &Value| event(&bytes(&event_json(kind, object)), LEDGER).map(|e| e.subject);
    let intent = Subject::Intent(read(&intent_json()).unwrap());
    let refund = Subject::Refund(refund(&bytes(&refund_json()), LEDGER).unwrap());
    let dispute = Subject::Dispute(Dispute {
        id: PspId::parse("du_1MtJUT2eZvKYlo2CNaw2HvEv").unwrap(),
        intent: PspId::parse("pi_3M"),
        amount: PspMoney { minor: 2000, currency: "jpy".into() },
        livemode: true,
        movements: 1,
    });
    let charge = json!({"id": "ch_1", "object": "charge", "amount": -1});
    let cases = [
        ("payment_intent.succeeded", intent_json(), intent.clone()),
        ("payment_intent.something_new", intent_json(), intent),
        ("refund.updated", refund_json(), refund.clone()),
        ("refund.failed", refund_json(), refund.clone()),
        ("charge.refund.updated", refund_json(), refund),
        ("charge.dispute.funds_withdrawn", dispute_json(), dispute.clone()),
        ("charge.dispute.created", dispute_json(), dispute),
        ("charge.refunded", charge.clone(), Subject::Other),
        ("payment_intent.succeeded", charge, Subject::Other),
        ("something.new", intent_json(), Subject::Other),
        ("something.new", json!({"object": "new"}), Subject::Other),
    ];
    for (kind, object, want) in cases {
        assert_eq!(subject(kind, &object), Ok(want), "{kind}");
    }
}

#[test]
fn malformed_event_names_the_field_without_its_content() {
    let good = event_json("payment_intent.succeeded", &intent_json());
    let read = |value: &Value| event(&bytes(value), LEDGER);
    let plain = read(&good).unwrap();
    assert_eq!((plain.id.as_str(), plain.kind.as_str()), ("evt_1", "payment_intent.succeeded"));
    assert_eq!((plain.livemode, plain.account), (true, None));
    assert_eq!(read(&with(good.clone(), "account", json!("acct_1"))).unwrap().account.as_deref(), Some("acct_1"));
    let cases = [
        (without(good.clone(), "id"), "id"),
        (with(good.clone(), "id", json!("evt 1")), "id"),
        (without(good.clone(), "type"), "type"),
        (without(good.clone(), "livemode"), "livemode"),
        (with(good.clone(), "livemode", json!("true")), "livemode"),
        (with(good.clone(), "account", json!(1)), "account"),
        (with(good.clone(), "object", json!("v2.core.event")), "object"),
        (without(good.clone(), "data"), "data"),
        (with(good.clone(), "data", json!({})), "data.object"),
        (with(good.clone(), "data", json!({"object": "pi_1"})), "object"),
        (event_json("payment_intent.succeeded", &with(intent_json(), "amount", json!(-1))), "amount"),
        (event_json("refund.updated", &without(refund_json(), "currency")), "currency"),
        (event_json("charge.dispute.funds_withdrawn", &without(dispute_json(), "livemode")), "livemode"),
    ];
    for (value, name) in cases {
        let error = read(&value).unwrap_err();
        assert_eq!(error, WireError::Field(name));
        assert_eq!(error.to_string(), format!("the field `{name}` is missing or malformed"), "no content");
    }
    assert_eq!(event(b"[]", LEDGER), Err(WireError::Field("object")));
}

#[test]
fn page_with_a_malformed_item_is_refused() {
    let page = json!({"object": "list", "url": "/v1/payment_intents", "has_more": true, "data": [intent_json()]});
    let read = |value: &Value| intents(&bytes(value), LEDGER);
    let whole = read(&page).unwrap();
    assert_eq!((whole.data.len(), whole.has_more), (1, true));
    assert!(read(&without(page.clone(), "has_more")).is_err(), "a page needs has_more");
    assert!(read(&with(page.clone(), "object", json!("search_result"))).is_err());
    assert!(read(&with(page.clone(), "data", json!([intent_json(), refund_json()]))).is_err());
    assert!(read(&with(page.clone(), "data", json!({}))).is_err());
    let refunds = refunds(&bytes(&with(page, "data", json!([refund_json()]))), LEDGER).unwrap();
    assert_eq!(refunds.data.len(), 1);
}

#[test]
fn error_body_requires_its_class_and_does_not_print_its_message() {
    let read = |value: &Value| error(&bytes(value), LEDGER);
    let whole = json!({"error": {
        "type": "invalid_request_error", "code": "payment_intent_unexpected_state", "param": "intent",
        "message": "You cannot cancel pi_1", "payment_intent": intent_json(), "doc_url": "https://example.com",
    }});
    let body = read(&whole).unwrap();
    assert_eq!(body.code.as_deref(), Some("payment_intent_unexpected_state"));
    assert_eq!(body.intent, Some(super::intent(&bytes(&intent_json()), LEDGER).unwrap()));
    assert!(!format!("{body:?}").contains("cannot cancel"));
    let bare = read(&json!({"error": {"type": "api_error", "payment_intent": {"id": "pi_1"}}})).unwrap();
    assert_eq!((bare.kind.as_str(), bare.code, bare.intent), ("api_error", None, None));
    for other in [json!({}), json!({"error": "invalid_grant"}), json!({"error": {"message": "x"}}), json!([])] {
        assert!(read(&other).is_err(), "{other}");
    }
}
