//! Payments: their records, refunds, holds and entries, and every state of each.

use super::*;
use crate::payment_state::PaymentState as S;
use crate::payments::ReturnKind;

fn of(facts: &[PaymentFact]) -> Vec<&'static str> {
    kinds(&group(&format!("payment/{ID}")), facts, &scope())
}

fn money(number: &str) -> Nums {
    if number.is_empty() || number == "0" { Nums::new() } else { nums(&[("ECOPAY", number)]) }
}

fn record(state: S, captured: &str, refundable: &str, has_hold: bool) -> RecordedPayment {
    RecordedPayment {
        state,
        merchant: merchant_id(),
        payer: wallet(),
        entry: transaction(1),
        authorized: if has_hold { money("100") } else { Nums::new() },
        captured: money(captured),
        refundable: money(refundable),
        has_hold,
    }
}

fn payment(state: S, captured: &str, refundable: &str, has_hold: bool) -> PaymentFact {
    PaymentFact::Record(record(state, captured, refundable, has_hold))
}

fn moved(entry: u8, delta: &[(&str, &str)]) -> PaymentFact {
    PaymentFact::Entry(PaymentEntry { entry: transaction(entry), home: wallet(), delta: nums(delta), by_seal: true })
}

fn returned(entry: u8, delta: &str, kind: ReturnKind) -> PaymentFact {
    let delta = nums(&[("ECOPAY", delta)]);
    PaymentFact::Return(RecordedReturn { id: refund_id(), kind, entry: transaction(entry), delta })
}

fn hold(state: S, held: &str) -> PaymentFact {
    PaymentFact::Hold(RecordedHold { state, payer: wallet(), held: nums(&[("ECOPAY", held)]) })
}

#[test]
fn payment_that_differs_from_its_refunds_and_entries_is_a_break() {
    let (paid, paid_to) = (payment(S::Captured, "100", "100", false), moved(1, &[("ECOPAY", "100")]));
    assert!(of(&[paid.clone(), paid_to.clone()]).is_empty());
    let refunded = [returned(2, "-40", ReturnKind::Refund), moved(2, &[("ECOPAY", "-40")])];
    let partly = payment(S::PartiallyRefunded, "100", "60", false);
    assert!(of(&[&[partly.clone(), paid_to.clone()], &refunded[..]].concat()).is_empty());
    assert_eq!(of(&[&[paid.clone(), paid_to.clone()], &refunded[..]].concat()), ["payment_differs"]);
    assert_eq!(of(&[partly, paid_to.clone()]), ["payment_differs"]);
    assert_eq!(of(&[payment(S::Refunded, "100", "100", false), paid_to.clone()]), ["payment_differs"]);
    let whole = [returned(2, "-100", ReturnKind::Refund), moved(2, &[("ECOPAY", "-100")])];
    assert!(of(&[&[payment(S::Refunded, "100", "0", false), paid_to.clone()], &whole[..]].concat()).is_empty());
    assert_eq!(of(&[paid.clone(), moved(1, &[("ECOPAY", "99")])]), ["credit_differs"]);
    assert_eq!(of(&[paid, paid_to.clone(), moved(3, &[("ECOPAY", "1")])]), ["credit_differs"]);
    assert_eq!(of(&[paid_to]), ["payment_missing"]);
}

#[test]
fn hold_that_differs_from_its_payment_is_a_break() {
    let authorized = payment(S::Authorized, "", "", true);
    assert!(of(&[authorized.clone(), hold(S::Authorized, "100"), moved(1, &[])]).is_empty());
    assert_eq!(of(&[hold(S::Authorized, "100"), moved(1, &[])]), ["hold_without_payment"]);
    assert_eq!(of(std::slice::from_ref(&authorized)), ["hold_differs"]);
    assert_eq!(of(&[authorized.clone(), hold(S::Canceled, "100")]), ["hold_differs"]);
    assert_eq!(of(&[authorized.clone(), hold(S::Authorized, "99")]), ["hold_differs"]);
    assert_eq!(of(&[authorized, hold(S::Authorized, "100"), hold(S::Captured, "100")]), ["hold_differs"], "two");
    assert_eq!(of(&[payment(S::Captured, "100", "100", false), hold(S::Captured, "100")]), ["hold_differs"]);
}

/// The states that fit a payment without a capture, and one that was captured and not refunded.
#[test]
fn payment_in_any_other_state_is_a_break() {
    for state in S::ALL {
        let held = of(&[payment(state, "", "", true), hold(state, "100"), moved(1, &[])]);
        let fits = matches!(state, S::Authorized | S::Canceled | S::Expired);
        assert_eq!(held.is_empty(), fits, "{state}: {held:?}");
        let paid = of(&[payment(state, "100", "100", false), moved(1, &[("ECOPAY", "100")])]);
        assert_eq!(paid.is_empty(), state == S::Captured, "{state}: {paid:?}");
        // The hold of a captured payment is `captured`, even after refunds.
        let taken = of(&[payment(S::Captured, "100", "100", true), hold(state, "100"), moved(1, &[("ECOPAY", "100")])]);
        assert_eq!(taken.is_empty(), state == S::Captured, "{state}: {taken:?}");
    }
}

#[test]
fn payment_state_must_fit_its_kind_of_return() {
    for kind in ReturnKind::ALL {
        let facts = [returned(2, "-100", kind), moved(2, &[("ECOPAY", "-100")]), moved(1, &[("ECOPAY", "100")])];
        let with = |state| of(&[&[payment(state, "100", "0", false)], &facts[..]].concat());
        let (refunded, reversed) = (with(S::Refunded), with(S::Reversed));
        assert_eq!(reversed.is_empty(), kind == ReturnKind::PaymentReversal, "{kind:?}: {reversed:?}");
        assert_eq!(refunded.is_empty(), kind != ReturnKind::PaymentReversal, "{kind:?}: {refunded:?}");
    }
}

#[test]
fn two_records_of_one_payment_are_a_break() {
    let (paid, paid_to) = (payment(S::Captured, "100", "100", false), moved(1, &[("ECOPAY", "100")]));
    assert!(of(&[paid.clone(), paid.clone(), paid_to.clone()]).is_empty(), "read twice");
    let other = payment(S::Refunded, "100", "0", false);
    assert_eq!(of(&[paid.clone(), other, paid_to.clone()]), ["payment_differs"]);
    // This refund names the payment's own entry, whose postings differ from the refund's.
    let partly = payment(S::PartiallyRefunded, "100", "60", false);
    assert_eq!(of(&[partly, paid_to, returned(1, "-40", ReturnKind::Refund)]), ["credit_differs"]);
}

#[test]
fn merchant_is_credited_by_the_seal_of_the_entry() {
    let records = [payment(S::PartiallyRefunded, "100", "60", false), returned(2, "-40", ReturnKind::Refund)];
    let entries = [moved(1, &[("ECOPAY", "100")]), moved(2, &[("ECOPAY", "-40")])];
    assert!(of(&[&records[..], &entries].concat()).is_empty());
    let by_nothing = entries.clone().map(|fact| match fact {
        PaymentFact::Entry(entry) => PaymentFact::Entry(PaymentEntry { by_seal: false, ..entry }),
        other @ (PaymentFact::Record(_) | PaymentFact::Return(_) | PaymentFact::Hold(_)) => other,
    });
    assert_eq!(of(&[&records[..], &by_nothing].concat()), ["credit_differs"; 2], "by nothing");
    // The refund's parts differ from its entry and from what the payment has left.
    let changed = [&records[..1], &[returned(2, "-41", ReturnKind::Refund)], &entries].concat();
    assert_eq!(of(&changed), ["payment_differs", "credit_differs"]);
    let captured = [payment(S::Captured, "101", "101", false), moved(1, &[("ECOPAY", "100")])];
    assert_eq!(of(&captured), ["credit_differs"], "another amount was captured");
    let unknown = [&records[..1], &[moved(3, &[("ECOPAY", "-40")])], &entries[..1]].concat();
    assert_eq!(of(&unknown), ["payment_differs", "credit_differs"], "an entry without a record");
}
