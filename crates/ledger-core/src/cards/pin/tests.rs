use super::record::{Attempt, SLOTS, SetPin};
use super::*;
use crate::dynamo::{Item, Value};
use crate::idempotency::{CanonicalRequest, Claim, ClaimKey, Fields, Window};
use crate::ids::{Actor, AuditId, CardId, Principal, Tenant, TerminalId, TransactionId};
use crate::operation::Operation;
use crate::plan::Context;
use crate::time::Timestamp;
use crate::transaction::{RenderedAction, Transaction};
use uuid::Uuid;

const RIGHT: &str = "9071";
/// What a fingerprint has of it.
const DIGEST: &str = "e1222b5d30c46938672a3a790cd54d5e16ccbb949d3338f7ab6423b218fdc425";

fn tenant() -> Tenant {
    Tenant::parse("demo").unwrap()
}

fn card() -> CardId {
    CardId::new(Uuid::from_u128(7))
}

fn keys_text(current: &str, ids: &[&str]) -> String {
    let key = |id: &&str| format!(r#""{id}":"{}""#, format!("{:02x}", id.len()).repeat(32));
    let keys = ids.iter().map(key).collect::<Vec<_>>().join(",");
    format!(r#"{{"current":"{current}","keys":{{{keys}}},"request_key":"{}"}}"#, "5a".repeat(32))
}

fn keys() -> PinKeys {
    PinKeys::parse(&keys_text("one", &["one"])).unwrap()
}

/// Has the earlier key too.
fn later_keys() -> PinKeys {
    PinKeys::parse(&keys_text("later", &["one", "later"])).unwrap()
}

fn pin(digits: &str) -> Pin {
    Pin::parse(digits).unwrap()
}

fn cx() -> Context {
    Context {
        now: Timestamp::parse("2026-11-21T03:00:00.000Z").unwrap(),
        transaction_id: TransactionId::new(Uuid::from_u128(1)),
        resource_id: Uuid::from_u128(2),
        audit_id: AuditId::new(Uuid::from_u128(3)),
        secret: [9; 16],
        salt: [9; 16],
    }
}

fn claim(key: &str) -> Claim {
    let terminal = TerminalId::new(Uuid::from_u128(5));
    Claim {
        tenant: tenant(),
        principal: Principal::Terminal(terminal),
        actor: Actor::Terminal(terminal),
        operation: Operation::CardPay,
        key: ClaimKey::parse(key).unwrap(),
        request: CanonicalRequest { method: "POST", path: String::new(), fields: Fields::new() },
        window: Window::WALLET,
        now: cx().now,
    }
}

/// A card whose PIN is [`RIGHT`].
fn record() -> PinRecord {
    let set = check::proven((card(), &keys()), &claim("set"), &pin(RIGHT), check::SaltOf::ChosenPin, &cx()).unwrap();
    PinRecord { set: Some(set), ..PinRecord::default() }
}

/// The record after attempts under these keys with these digits.
fn attempted(attempts: &[(&str, &str)]) -> PinRecord {
    let mut record = record();
    for (key, digits) in attempts {
        let PinCheck::Reserve(reservation) = checked(&record, key, digits) else { panic!("{key} is not counted") };
        let (slot, value) = written(reservation.transaction());
        let place = SLOTS.iter().position(|name| *name == slot).unwrap();
        let item = Item::from([(slot, value)]);
        record.attempts[place] = PinRecord::read(Some(&item)).unwrap().attempts[place].take();
    }
    record
}

fn checked(record: &PinRecord, key: &str, digits: &str) -> PinCheck {
    check((card(), record), &keys(), &claim(key), &pin(digits), &cx()).unwrap()
}

/// The attempt's attribute that a reservation writes, with its value.
fn written(transaction: &Transaction) -> (String, Value) {
    let rendered = transaction.items().first().unwrap().render().unwrap();
    let (_, value) = rendered.values.iter().find(|(name, _)| name.as_str() == ":attempt").unwrap();
    let slot = rendered.names.values().find(|name| name.starts_with("attempt_")).unwrap();
    (slot.clone(), value.clone())
}

fn is_right(verdict: &PinVerdict) -> bool {
    matches!(verdict, PinVerdict::Right { .. })
}

fn left(verdict: PinVerdict) -> usize {
    match verdict {
        PinVerdict::Wrong { attempts_left } => attempts_left,
        PinVerdict::Right { .. } => panic!("the PIN is right"),
    }
}

#[test]
fn every_attempt_is_counted_before_its_verdict_and_the_sixth_is_not_compared() {
    let wrong = [("a", "1111"), ("b", "2222"), ("c", "3333"), ("d", "4444"), ("e", "5555")];
    for (before, (key, digits)) in wrong.iter().enumerate() {
        let record = attempted(&wrong[..before]);
        assert!(!record.is_locked());
        let PinCheck::Reserve(reservation) = checked(&record, key, digits) else { panic!("{key}") };
        assert_eq!(written(reservation.transaction()).0, SLOTS[before]);
        assert_eq!(left(reservation.into_verdict()), 4 - before);
    }
    let locked = attempted(&wrong);
    assert!(locked.is_locked());
    assert!(matches!(checked(&locked, "f", RIGHT), PinCheck::Locked));
    // No key is needed to find out that it is locked.
    let other = PinKeys::parse(&keys_text("later", &["later"])).unwrap();
    let unread = check((card(), &locked), &other, &claim("f"), &pin(RIGHT), &cx());
    assert!(matches!(unread, Ok(PinCheck::Locked)));
}

#[test]
fn attempt_is_counted_once_per_key_and_bound_to_its_digits() {
    let record = attempted(&[("a", "1111"), ("b", RIGHT)]);
    let PinCheck::Verdict(verdict) = checked(&record, "a", "1111") else { panic!("counted again") };
    assert_eq!(left(verdict), 3);
    assert!(matches!(checked(&record, "a", RIGHT), PinCheck::AnotherPin), "a second guess under one key");
    assert!(matches!(checked(&record, "b", RIGHT), PinCheck::Verdict(verdict) if is_right(&verdict)));
    // The key of another operation or principal is another key.
    let mut other = claim("a");
    other.operation = Operation::CardPin;
    let elsewhere = check((card(), &record), &keys(), &other, &pin("1111"), &cx()).unwrap();
    assert!(matches!(elsewhere, PinCheck::Reserve(_)));
}

/// Its retry, after a crash, gets the verdict although the PIN is locked by now.
#[test]
fn fifth_attempt_has_its_verdict_and_a_sixth_has_none() {
    let record = attempted(&[("a", "1111"), ("b", "2222"), ("c", "3333"), ("d", "4444"), ("e", RIGHT)]);
    assert!(record.is_locked());
    assert!(matches!(checked(&record, "e", RIGHT), PinCheck::Verdict(verdict) if is_right(&verdict)));
    assert!(matches!(checked(&record, "f", RIGHT), PinCheck::Locked));
}

#[test]
fn right_pin_takes_all_attempts_back_and_raises_its_key() {
    let record = attempted(&[("a", "1111"), ("b", RIGHT)]);
    let PinCheck::Verdict(PinVerdict::Right { take_back, version }) = checked(&record, "b", RIGHT) else { panic!() };
    assert_eq!(Some(version.as_str()), record.version());
    let expression = |transaction: &Transaction| match transaction.items().first().unwrap().render().unwrap().action {
        RenderedAction::Update(_, expression) => expression,
        other @ (RenderedAction::Put(_) | RenderedAction::ConditionCheck(_)) => {
            panic!("{other:?}")
        }
    };
    for slot in SLOTS {
        assert!(expression(&take_back).contains(&format!("#{slot}")), "{slot}");
    }
    assert!(!expression(&take_back).contains("#proof"));
    let raised = check((card(), &record), &later_keys(), &claim("b"), &pin(RIGHT), &cx()).unwrap();
    let PinCheck::Verdict(PinVerdict::Right { take_back, version }) = raised else { panic!("{raised:?}") };
    assert_ne!(Some(version.as_str()), record.version());
    assert!(expression(&take_back).contains("#proof") && expression(&take_back).contains("#pin_key"));
}

#[test]
fn proof_is_of_one_card_and_one_setting() {
    let keys = keys();
    let of = |tenant: &Tenant, card: CardId, secret: [u8; 16], digits: &str| {
        let claim = Claim { tenant: tenant.clone(), ..claim("set") };
        let cx = Context { secret, ..cx() };
        check::proven((card, &keys), &claim, &pin(digits), check::SaltOf::ChosenPin, &cx).unwrap()
    };
    let one = of(&tenant(), card(), [1; 16], RIGHT);
    assert_eq!(of(&tenant(), card(), [1; 16], RIGHT), one);
    let another_card = CardId::new(Uuid::from_u128(8));
    for other in [
        of(&Tenant::parse("other").unwrap(), card(), [1; 16], RIGHT),
        of(&tenant(), another_card, [1; 16], RIGHT),
        of(&tenant(), card(), [2; 16], RIGHT),
        of(&tenant(), card(), [1; 16], "9072"),
    ] {
        assert_ne!(other.proof, one.proof);
    }
    // Copied to another card, a proof proves nothing.
    let copied = PinRecord { set: Some(one), ..PinRecord::default() };
    let check = check((another_card, &copied), &keys, &claim("a"), &pin(RIGHT), &cx()).unwrap();
    let PinCheck::Reserve(reservation) = check else { panic!("{check:?}") };
    assert!(!is_right(&reservation.into_verdict()));
}

/// Computed once with Python's `hmac`. Proofs that are stored are compared for as long as their key is kept.
#[test]
fn proof_and_digest_never_change() {
    let set = check::proven((card(), &keys()), &claim("set"), &pin(RIGHT), check::SaltOf::ChosenPin, &cx()).unwrap();
    assert_eq!(set.salt, "622880100142f917f380bbf5f6ac5a72");
    assert_eq!(set.proof, "72f2ab997188cc219ba586a65eea550587dfe0e0de3e6a4d1db6325d1c2634bd");
    assert_eq!(keys().digest_for_request(&tenant(), card(), &pin(RIGHT)), DIGEST);
    assert_ne!(keys().digest_for_request(&tenant(), card(), &pin("9072")), DIGEST);
    // A rotation does not change what a retry is compared with.
    assert_eq!(later_keys().digest_for_request(&tenant(), card(), &pin(RIGHT)), DIGEST);
}

#[test]
fn nothing_prints_a_pin_or_a_key() {
    assert_eq!(format!("{:?} {:?}", pin(RIGHT), keys()), "Pin(***) PinKeys(***)");
    let attempt = format!("{:?}", attempted(&[("a", "8642")]));
    assert!(!attempt.contains("8642") && !attempt.contains(RIGHT), "{attempt}");
}

#[test]
fn keys_of_another_form_are_refused_without_repeating_them() {
    let good = keys_text("one", &["one"]);
    for (part, other) in [
        (r#""current":"one""#, r#""current":"two""#),
        (r#""current":"one""#, r#""current":"""#),
        ("0303", "03"),
        ("0303", "0g03"),
        (r#""one":"#, r#""o e":"#),
        (r#""request_key""#, r#""request""#),
        ("5a5a", "5a"),
    ] {
        let bad = good.replacen(part, other, 1);
        assert_ne!(bad, good);
        let error = PinKeys::parse(&bad).unwrap_err().to_string();
        assert!(!error.contains("5a5a") && !error.contains("0303"), "{error}");
    }
    assert!(PinKeys::parse("").is_err() && PinKeys::parse(&good).is_ok());
}

#[test]
fn record_without_item_has_no_pin_and_a_malformed_one_is_an_error() {
    let none = PinRecord::read(None).unwrap();
    assert!(!none.is_set() && !none.is_locked() && none.version().is_none());
    assert!(matches!(checked(&none, "a", RIGHT), PinCheck::NotSet));
    let SetPin { salt, .. } = record().set.unwrap();
    assert!(PinRecord::read(Some(&Item::from([("salt".to_owned(), Value::S(salt))]))).is_err());
    let attempt = Attempt::new(&claim("a"), "00".to_owned()).value(cx().now);
    assert!(PinRecord::read(Some(&Item::from([("attempt_1".to_owned(), attempt)]))).unwrap().attempts[0].is_some());
    assert!(PinRecord::read(Some(&Item::from([("attempt_1".to_owned(), Value::s("x"))]))).is_err());
}
