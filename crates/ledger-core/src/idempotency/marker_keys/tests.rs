use super::*;
use crate::dynamo::{Item, Value as Stored};
use crate::idempotency::{
    Answer, CanonicalRequest, Claim, ClaimKey, Fields, KeyVerdict, Marker, MarkerError, MarkerState, NewAnswer,
    SecretAnswer, Window,
};
use crate::ids::{Actor, CustomerId, Principal, Tenant};
use crate::operation::Operation;
use crate::time::Timestamp;
use crate::transaction::{BuildError, Provenance, RenderedAction};
use uuid::Uuid;

const KEY_1: &str = "0123456789012345678901234567890123456789012";
const KEY_2: &str = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq";
const CODE: &str = "epc_a-code-that-only-its-owner-reads";

fn ring(text: &str) -> MarkerKeys {
    MarkerKeys::parse(text).unwrap()
}

fn first() -> MarkerKeys {
    ring(&format!(r#"{{"current":"k1","k1":"{KEY_1}"}}"#))
}

fn rotated() -> MarkerKeys {
    ring(&format!(r#"{{"current":"k2","k1":"{KEY_1}","k2":"{KEY_2}"}}"#))
}

fn second_only() -> MarkerKeys {
    ring(&format!(r#"{{"current":"k2","k2":"{KEY_2}"}}"#))
}

fn claim(key: &str) -> Claim {
    let customer = CustomerId::new(Uuid::from_u128(1));
    Claim {
        tenant: Tenant::parse("demo").unwrap(),
        principal: Principal::Customer(customer),
        actor: Actor::Customer(customer),
        operation: Operation::PaymentCode,
        key: ClaimKey::parse(key).unwrap(),
        request: CanonicalRequest { method: "POST", path: "/".to_owned(), fields: Fields::new() },
        window: Window::WALLET,
        now: Timestamp::from_millis(1_764_000_000_000),
    }
}

fn answer() -> Answer {
    let body = format!("{{\"code\":\"{CODE}\"}}");
    Answer { status: 200, content_type: "application/json".to_owned(), location: None, body }
}

fn written(claim: &Claim, keys: &MarkerKeys) -> Item {
    stored(claim, (&SecretAnswer::new(answer())).into(), keys)
}

fn stored(claim: &Claim, answer: NewAnswer<'_>, keys: &MarkerKeys) -> Item {
    match claim.marker(answer, keys, None).unwrap().render().unwrap().action {
        RenderedAction::Put(item) => item,
        RenderedAction::Update(..) | RenderedAction::ConditionCheck(_) => {
            panic!("the action is not a put")
        }
    }
}

fn verdict(claim: &Claim, item: &Item, keys: Option<&MarkerKeys>) -> Result<KeyVerdict, MarkerError> {
    claim.verdict(&Marker::read(item).unwrap(), keys)
}

#[test]
fn keys_are_parsed_and_no_error_or_debug_output_has_one() {
    let keys = rotated();
    assert_eq!(keys.current().to_string(), "k2");
    assert!(keys.contains(&KeyId::parse("k1").unwrap()) && !keys.contains(&KeyId::parse("k3").unwrap()));
    let printed = format!("{keys:?}");
    assert!(!printed.contains("0123") && !printed.contains("abcd"), "{printed}");
    let short = KEY_1.strip_prefix('0').unwrap();
    for wrong in [
        String::new(),
        "[]".to_owned(),
        "{}".to_owned(),
        format!(r#"{{"k1":"{KEY_1}"}}"#),
        format!(r#"{{"current":"k2","k1":"{KEY_1}"}}"#),
        format!(r#"{{"current":1,"k1":"{KEY_1}"}}"#),
        format!(r#"{{"current":"k1","k1":"{short}"}}"#),
        format!(r#"{{"current":"k1","k1":"{short} "}}"#),
        format!(r#"{{"current":"K1","K1":"{KEY_1}"}}"#),
        r#"{"current":"current"}"#.to_owned(),
        format!(r#"{{"current":"k1","k1":"{KEY_1}","k2":["{KEY_2}"]}}"#),
    ] {
        let error = MarkerKeys::parse(&wrong).unwrap_err().to_string();
        assert!(error.starts_with("the marker keys ") && !error.contains("123"), "{wrong}: {error}");
    }
    for wrong in ["", "K", "a b", "a_b", "current", &"a".repeat(33)] {
        assert_eq!(KeyId::parse(wrong), None, "{wrong}");
    }
}

/// Computed once with Python: HMAC of its standard library, and XChaCha20-Poly1305 written out from its draft.
#[test]
fn keyed_fingerprint_and_encrypted_body_never_change() {
    let claim = claim("k");
    let keys = first();
    let fingerprint = claim.request.fingerprint(&claim.tenant, claim.principal, &keys, keys.current()).unwrap();
    assert_eq!(fingerprint.key, *keys.current());
    assert_eq!(fingerprint.digest, "00998d7e3b5b123cc6d5e326a98aa755ce0ab3f8a2c38138df885bd9da1b5d9b");
    let item = written(&claim, &keys);
    let Some(Stored::B(encrypted)) = item.get("encrypted_body") else { panic!("an encrypted body") };
    let parts = [
        "18e9a087569262334933e45798099dbfd77a597f6d2057708a07dc094b9ad54084eeb05b59b22054a17d5d8ce3d13692",
        "ef2e4147a719336eb98ac0f2c95c6c012fea56eb9b6dae9c5a7412c0cd2fd83d5503aaa33f1068",
    ];
    assert_eq!(hex::encode(encrypted), parts.concat());
}

/// Computed once with Python's `hmac`. Lookup items that are stored are found for as long as their key is kept.
#[test]
fn hash_of_a_lookup_never_changes() {
    let keys = first();
    let hash = keys.lookup(keys.current(), &["demo", "email", "hanako@example.jp"]).unwrap();
    assert_eq!(hex::encode(hash), "89623616adcdaa8f1fd8713db662ac0f9f7116082ac9a822851fae53ee874dac");
}

#[test]
fn secret_is_encrypted_and_replayed_byte_for_byte_with_every_later_ring() {
    let claim = claim("k");
    let item = written(&claim, &first());
    assert!(!item.contains_key("body"));
    assert_eq!(item.get("fp_v"), Some(&Stored::int(1)));
    assert_eq!(item.get("fp_key"), Some(&Stored::s("k1")));
    assert!(!format!("{item:?}").contains("epc_"));
    let Some(Stored::B(encrypted)) = item.get("encrypted_body") else { panic!("an encrypted body") };
    assert!(!encrypted.windows(4).any(|bytes| bytes == b"epc_"));
    assert_eq!(encrypted.len(), answer().body.len() + 24 + 16, "nonce and tag");
    for keys in [first(), rotated()] {
        assert_eq!(verdict(&claim, &item, Some(&keys)), Ok(KeyVerdict::Replay(answer())));
    }
    let absent = Err(MarkerError::KeyAbsent(KeyId::parse("k1").unwrap()));
    assert_eq!(verdict(&claim, &item, None), absent);
    assert_eq!(verdict(&claim, &item, Some(&second_only())), absent);
    let other = ring(&format!(r#"{{"current":"k1","k1":"{KEY_2}"}}"#));
    assert_eq!(verdict(&claim, &item, Some(&other)), Ok(KeyVerdict::Reused), "another key under the same id");
    // Every writer of this response stores the same bytes; another key makes others.
    assert_eq!(written(&claim, &first()), item);
    assert_ne!(written(&claim, &rotated()).get("encrypted_body"), item.get("encrypted_body"));
}

#[test]
fn only_a_secret_is_encrypted() {
    let claim = claim("k");
    let refused = Answer { status: 400, ..answer() };
    let item = stored(&claim, (&refused).into(), &first());
    assert_eq!(item.get("body"), Some(&Stored::s(&refused.body)));
    assert_eq!(item.get("fp_key"), Some(&Stored::s("k1")), "its fingerprint is keyed all the same");
    assert_eq!(verdict(&claim, &item, Some(&first())), Ok(KeyVerdict::Replay(refused)));
}

#[test]
fn response_with_a_secret_that_is_not_declared_is_not_stored() {
    for operation in Operation::ANSWERING_WITH_SECRET {
        let claim = Claim { operation, ..claim("k") };
        for status in [200, 201] {
            let undeclared = claim.marker((&Answer { status, ..answer() }).into(), &first(), None);
            assert_eq!(undeclared.unwrap_err(), BuildError::SecretInClear(operation));
        }
        for status in [202, 400] {
            assert!(claim.marker((&Answer { status, ..answer() }).into(), &first(), None).is_ok());
        }
    }
}

#[test]
fn key_is_bound_to_its_request() {
    let claim = claim("k");
    let other = Claim {
        request: CanonicalRequest { fields: Fields::new().with("a", "1"), ..claim.request.clone() },
        ..claim.clone()
    };
    let item = written(&claim, &first());
    assert_eq!(verdict(&other, &item, Some(&rotated())), Ok(KeyVerdict::Reused));
}

#[test]
fn ciphertext_of_another_marker_request_or_response_is_not_opened() {
    let claim = claim("k");
    let item = written(&claim, &first());
    let elsewhere = written(&super::tests::claim("other"), &first());
    let mut moved = elsewhere.clone();
    moved.insert("encrypted_body".to_owned(), item["encrypted_body"].clone());
    let to = super::tests::claim("other");
    assert_eq!(verdict(&to, &moved, Some(&first())), Err(MarkerError::Encrypted(EncryptionError)));
    for (name, value) in [("status", Stored::int(201)), ("content_type", Stored::s("x")), ("location", Stored::s("/x"))]
    {
        let mut changed = item.clone();
        changed.insert(name.to_owned(), value);
        assert_eq!(verdict(&claim, &changed, Some(&first())), Err(MarkerError::Encrypted(EncryptionError)), "{name}");
    }
    // The marker of a step has no fingerprint: it is bound to no request, and nothing is decrypted.
    let mut of_step = item;
    for name in ["fp", "fp_v", "fp_key"] {
        of_step.remove(name).unwrap();
    }
    assert_eq!(verdict(&claim, &of_step, Some(&first())), Ok(KeyVerdict::Reused));
    let MarkerState::Completed { answer: encrypted, .. } = Marker::read(&of_step).unwrap().state else {
        panic!("answered")
    };
    let opened = encrypted.open(&claim.marker_key(), None, Some(&first()));
    assert_eq!(opened, Err(MarkerError::Encrypted(EncryptionError)));
}

#[test]
fn marker_of_a_step_takes_its_key_and_is_bound_to_no_request() {
    let claim = claim("k");
    let marker = Provenance::from(&claim).step_marker(&answer(), None);
    assert_eq!(*marker.key(), claim.marker_key());
    let RenderedAction::Put(item) = marker.render().unwrap().action else { panic!("the action is not a put") };
    assert!(!item.keys().any(|name| name.starts_with("fp")), "{item:?}");
    assert!(item.contains_key("ttl"));
    assert_eq!(verdict(&claim, &item, Some(&first())), Ok(KeyVerdict::Reused));
}

#[test]
fn damaged_ciphertext_is_an_error_at_every_bit_and_length() {
    let claim = claim("k");
    let keys = first();
    let item = written(&claim, &keys);
    let Stored::B(encrypted) = item["encrypted_body"].clone() else { panic!("an encrypted body") };
    let damaged = |bytes: Vec<u8>| {
        let mut item = item.clone();
        item.insert("encrypted_body".to_owned(), Stored::B(bytes));
        verdict(&claim, &item, Some(&keys))
    };
    assert_eq!(damaged(encrypted.clone()), Ok(KeyVerdict::Replay(answer())));
    for bit in 0..encrypted.len() * 8 {
        let mut bytes = encrypted.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(damaged(bytes), Err(MarkerError::Encrypted(EncryptionError)), "bit {bit}");
    }
    for length in 1..encrypted.len() {
        assert_eq!(
            damaged(encrypted[..length].to_vec()),
            Err(MarkerError::Encrypted(EncryptionError)),
            "{length} bytes"
        );
    }
    let mut emptied = item.clone();
    emptied.insert("encrypted_body".to_owned(), Stored::B(Vec::new()));
    assert_eq!(Marker::read(&emptied).unwrap_err().attribute, "encrypted_body");
    assert_eq!(damaged([encrypted.as_slice(), &[0]].concat()), Err(MarkerError::Encrypted(EncryptionError)));
}

#[test]
fn marker_without_the_id_of_its_key_is_unreadable() {
    let mut item = written(&claim("k"), &first());
    item.remove("fp_key").unwrap();
    assert_eq!(Marker::read(&item).unwrap_err().attribute, "fp_key");
    item.insert("fp_key".to_owned(), Stored::s("Not an id"));
    assert_eq!(Marker::read(&item).unwrap_err().attribute, "fp_key");
    let item = written(&claim("k"), &first());
    let MarkerState::Completed { answer: stored, .. } = Marker::read(&item).unwrap().state else { panic!("answered") };
    let printed = format!("{:?} {stored:?}", SecretAnswer::new(answer()));
    assert!(!printed.contains("epc_"), "{printed}");
}

#[test]
fn encryption_uses_one_nonce_for_one_body_in_one_place() {
    let (keys, id) = (first(), KeyId::parse("k1").unwrap());
    let nonce = |bound_to: &[u8], body: &[u8]| keys.encrypt(&id, bound_to, body).unwrap()[..NONCE_BYTES].to_vec();
    assert_eq!(nonce(b"ab", b"c"), nonce(b"ab", b"c"));
    assert_ne!(nonce(b"ab", b"c"), nonce(b"a", b"bc"), "the length of the first part counts");
    assert_ne!(nonce(b"ab", b"c"), nonce(b"ab", b"d"));
    assert_eq!(keys.encrypt(&KeyId::parse("k2").unwrap(), b"", b""), Err(EncryptionError));
}
