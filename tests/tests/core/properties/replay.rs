//! The stored response is replayed: a marker gives retries the same response, refuses other requests, and expires.

use crate::properties::world::{answer, claim, customer, now, put, tenant};
use ledger_core::idempotency::{Answer, Claim, Fields, IdempotencyKey, KeyVerdict, Marker, Window};
use ledger_core::ids::{Principal, least_born_at};
use ledger_core::operation::Operation;
use ledger_core::time::{CLOCK_SKEW, Timestamp};
use ledger_core::transaction::{Draft, Transaction};
use ledger_core::{ids::Tenant, money::AssetSpec};
use ledger_tests::declared::{self, declared};
use proptest::prelude::*;
use std::time::Duration;

fn answers() -> impl Strategy<Value = Answer> {
    let location = proptest::option::of("/v1/[a-z]{1,9}");
    (200..500_u16, "[ -~]{1,30}", location, "\\PC{0,200}").prop_map(|(status, content_type, location, body)| Answer {
        status,
        content_type,
        location,
        body,
    })
}

fn claims() -> impl Strategy<Value = Claim> {
    let operation = proptest::sample::select(Operation::ALL.to_vec());
    ("[!-~]{1,255}", operation, "[a-z]{1,8}", "\\PC{0,40}", any::<bool>()).prop_map(
        |(key, operation, name, value, list)| {
            let mut claim = claim(Principal::Customer(customer(1)), operation, &key);
            let fields = Fields::new().with("idem", &value);
            claim.request.fields = if list { fields.with_list(&name, [&value]) } else { fields.with(&name, &value) };
            claim
        },
    )
}

/// The marker as the table returns it.
fn written(claim: &Claim, answer: &Answer) -> Marker {
    let answer = declared(claim.operation, answer.clone());
    let assembled = Transaction::assemble(Draft::default(), claim, &answer, &declared::keys()).unwrap();
    Marker::read(&put(&assembled.items()[0]).unwrap()).unwrap()
}

fn at(claim: &Claim, now: Timestamp) -> Claim {
    Claim { now, ..claim.clone() }
}

/// Requests that each differ in one thing.
fn others(claim: &Claim) -> Vec<Claim> {
    let with = |fields: Fields| {
        let mut other = claim.clone();
        other.request.fields = fields;
        other
    };
    let amount = ledger_core::money::Amount::parse(&AssetSpec::ECOPAY, "1").unwrap();
    let fields = &claim.request.fields;
    let mut all = vec![
        with(Fields::new()),
        with(fields.clone().with("zz", "")),
        with(fields.clone().with_cleared("zz")),
        with(fields.clone().with_amount("zz", &amount)),
        with(fields.clone().with_cleared("idem")),
        with(fields.clone().with_list("idem", ["x"])),
        with(fields.clone().with("idem", "another value, longer than forty characters at least")),
    ];
    for change in [
        (|claim: &mut Claim| claim.request.method = "PATCH") as fn(&mut Claim),
        |claim| claim.request.path.push('x'),
        |claim| claim.principal = Principal::Customer(customer(2)),
        |claim| claim.tenant = Tenant::parse("other").unwrap(),
    ] {
        let mut other = claim.clone();
        change(&mut other);
        all.push(other);
    }
    all
}

const DAY: Duration = Duration::from_secs(86_400);

proptest! {
    #![proptest_config(super::cases(500))]

    #[test]
    fn retry_gets_the_stored_response(claim in claims(), answer in answers(), later in 0..1_000_000_u32) {
        let marker = written(&claim, &answer);
        let retry = at(&claim, now().plus(Window::of(claim.operation).replay / 1_000_000 * later));
        prop_assert_eq!(retry.verdict(&marker, Some(&declared::keys())).unwrap(), KeyVerdict::Replay(answer));
    }

    #[test]
    fn other_request_with_the_key_is_refused(claim in claims(), answer in answers()) {
        let marker = written(&claim, &answer);
        for other in others(&claim) {
            prop_assert_eq!(other.verdict(&marker, Some(&declared::keys())).unwrap(), KeyVerdict::Reused, "{:?}", other.request);
        }
    }

    #[test]
    fn key_is_refused_after_its_window_and_then_free(claim in claims(), answer in answers(), ms in 0..86_400_000_u64) {
        let marker = written(&claim, &answer);
        let verdict = |now: Timestamp| at(&claim, now).verdict(&marker, Some(&declared::keys())).unwrap();
        let expired = KeyVerdict::Expired { original_request_at: now() };
        let calls_psp = [Operation::Topup, Operation::TopupRefund].contains(&claim.operation);
        let end = now().plus(if calls_psp { DAY } else { DAY * 90 });
        prop_assert_eq!(verdict(end.minus(Duration::from_millis(1))), KeyVerdict::Replay(answer.clone()));
        prop_assert_eq!(verdict(end), expired.clone());
        prop_assert_eq!(verdict(end.plus(Duration::from_millis(ms))), expired.clone());
        // The TTL is a day and the clock skew later; the key is free once no clock can differ.
        let ttl = end.plus(DAY).plus(CLOCK_SKEW);
        prop_assert_eq!(verdict(ttl.plus(CLOCK_SKEW)), expired);
        prop_assert_eq!(verdict(ttl.plus(CLOCK_SKEW).plus(Duration::from_secs(1))), KeyVerdict::Free);
        prop_assert_eq!(verdict(ttl.plus(CLOCK_SKEW).plus(Duration::from_millis(1000 + ms))), KeyVerdict::Free);
        prop_assert_eq!(marker.ttl, Some(ttl.seconds()));
    }

    #[test]
    fn key_is_writable_exactly_when_it_is_free(claim in claims(), seconds in 0..20_000_000_i64) {
        let marker = Transaction::assemble(Draft::default(), &claim, &declared(claim.operation, answer()), &declared::keys()).unwrap();
        let stored = put(&marker.items()[0]).unwrap();
        let retry = at(&claim, Timestamp::from_millis(now().millis() + seconds * 1000));
        let again = Transaction::assemble(Draft::default(), &retry, &declared(claim.operation, answer()), &declared::keys()).unwrap();
        let taken = again.items()[0].clauses().iter().all(|clause| clause.condition.holds(Some(&stored)));
        let free = retry.verdict(&Marker::read(&stored).unwrap(), Some(&declared::keys())).unwrap() == KeyVerdict::Free;
        prop_assert_eq!(taken, free);
    }

    #[test]
    fn uuidv7_marker_outlives_its_admission(ahead_ms in 0..600_000_u64, later_ms in 0..9_000_000_000_u64) {
        let born = now().plus(Duration::from_millis(ahead_ms));
        let mut claim = claim(Principal::Customer(customer(1)), Operation::Pay, "k");
        let key = IdempotencyKey::parse(&least_born_at(born).to_string()).unwrap();
        claim.key = key.clone().into();
        let marker = written(&claim, &answer());
        let later = now().plus(Duration::from_millis(later_ms));
        let admitted = key.admit(later, &Window::WALLET) == Ok(ledger_core::idempotency::Admission::Execute);
        let free = at(&claim, later).verdict(&marker, Some(&declared::keys())).unwrap() == KeyVerdict::Free;
        prop_assert!(!(admitted && free), "the key could be executed twice");
        prop_assert_eq!(claim.tenant, tenant());
    }
}
