//! Top-ups: their records, entries and the provider's objects, and every state of each.

use super::*;
use crate::operation::Operation as O;
use crate::psp::{IntentStatus, RefundStatus};
use crate::topups::{ClawbackState, EntryDecision as D, RefundState, TopupState};

fn of(facts: &[TopupFact]) -> Vec<&'static str> {
    kinds(&group(&format!("topup/{ID}")), facts, &listed_scope())
}

fn topup(state: TopupState, refundable: &str) -> TopupFact {
    TopupFact::Record(RecordedTopup {
        state,
        wallet: wallet(),
        charge: num("100"),
        refundable: num(refundable),
        taken_back: Num::ZERO,
        suspense: Num::ZERO,
        given_up: Num::ZERO,
        intent: Some(psp_id("pi_1")),
        at: 50,
    })
}

fn entry(number: u8, step: TopupStep) -> TopupFact {
    TopupFact::Entry(TopupEntry { entry: transaction(number), home: wallet(), step, suspense: Num::ZERO })
}

fn credit() -> TopupFact {
    entry(1, TopupStep::Credit)
}

fn charge(id: &str, status: IntentStatus, received: &str) -> TopupFact {
    TopupFact::Charge(Charge { id: psp_id(id), status, received: num(received) })
}

fn paid() -> TopupFact {
    charge("pi_1", IntentStatus::Succeeded, "100")
}

fn open() -> TopupFact {
    charge("pi_1", IntentStatus::Open, "0")
}

fn refund(state: RefundState) -> TopupFact {
    TopupFact::Refund(RecordedTopupRefund {
        id: refund_id(),
        state,
        amount: num("40"),
        paid: num("40"),
        settled: Num::ZERO,
        suspense: Num::ZERO,
        given_up: Num::ZERO,
        at: 60,
    })
}

fn provider_refund(id: &str, status: RefundStatus, amount: &str) -> TopupFact {
    TopupFact::ProviderRefund(ProviderRefund { id: psp_id(id), refund: refund_id(), status, amount: num(amount) })
}

fn payout(status: RefundStatus, amount: &str) -> TopupFact {
    provider_refund("re_1", status, amount)
}

/// A top-up of which 40 are refunded, and these facts.
fn refunded(rest: &[TopupFact]) -> Vec<&'static str> {
    let held = entry(2, TopupStep::RefundHold(refund_id()));
    of(&[&[topup(TopupState::Succeeded, "60"), credit(), paid(), held], rest].concat())
}

#[test]
fn topup_that_differs_from_its_entries_or_the_provider_is_a_break() {
    let good = [topup(TopupState::Succeeded, "100"), credit(), paid()];
    assert!(of(&good).is_empty());
    assert!(of(&[topup(TopupState::Pending, "0"), open()]).is_empty());
    assert_eq!(of(&[topup(TopupState::Pending, "0"), paid()]), ["charge_without_credit"]);
    assert_eq!(of(&[paid()]), ["charge_without_credit"]);
    assert!(of(&[open()]).is_empty());
    assert_eq!(of(&good[..2]), ["credit_without_charge"]);
    assert_eq!(
        of(&[good[0].clone(), good[1].clone(), charge("pi_1", IntentStatus::Succeeded, "90")]),
        ["charge_differs"]
    );
    assert_eq!(of(&[&good[..], &[charge("pi_2", IntentStatus::Succeeded, "100")]].concat()), ["charge_differs"], "two");
    assert_eq!(of(&[good[0].clone(), good[2].clone()]), ["topup_differs"], "no entry");
    assert_eq!(of(&[&good[..], &[entry(9, TopupStep::Credit)]].concat()), ["topup_differs"], "two");
    assert!(of(&[&good[..], &good[..]].concat()).is_empty(), "read twice");
    assert_eq!(of(&[topup(TopupState::Succeeded, "90"), credit(), paid()]), ["topup_differs"]);
    assert_eq!(of(&[credit()]), ["topup_missing"]);
    let two = [topup(TopupState::Succeeded, "100"), topup(TopupState::Canceled, "0"), credit()];
    assert_eq!(of(&two), ["topup_differs"], "two records");
}

#[test]
fn refund_that_differs_from_its_entries_or_the_provider_is_a_break() {
    let paid_out = || entry(3, TopupStep::RefundPayout(refund_id()));
    let (pending, succeeded) = (|| refund(RefundState::Pending), || refund(RefundState::Succeeded));
    assert!(refunded(&[succeeded(), paid_out(), payout(RefundStatus::Succeeded, "40")]).is_empty());
    assert!(refunded(&[pending(), payout(RefundStatus::Pending, "40")]).is_empty());
    assert_eq!(refunded(&[pending(), payout(RefundStatus::Succeeded, "40")]), ["provider_refund_differs"]);
    assert_eq!(refunded(&[succeeded(), paid_out()]), ["provider_refund_differs"]);
    let another_amount = [succeeded(), paid_out(), payout(RefundStatus::Succeeded, "41")];
    assert_eq!(refunded(&another_amount), ["provider_refund_differs"]);
    let twice = [another_amount[0].clone(), paid_out(), payout(RefundStatus::Succeeded, "40")];
    let twice = [&twice[..], &[provider_refund("re_2", RefundStatus::Succeeded, "40")]].concat();
    assert_eq!(refunded(&twice), ["provider_refund_differs"], "paid out twice");
    assert_eq!(refunded(&[succeeded(), payout(RefundStatus::Succeeded, "40")]), ["topup_differs"], "never paid");
    assert_eq!(of(&[payout(RefundStatus::Succeeded, "40")]), ["provider_refund_differs"], "of no top-up");
}

/// For every state, the facts that the entries and the provider must have, and no others.
#[test]
fn each_state_of_a_topup_fits_one_set_of_entries() {
    for state in TopupState::ALL {
        let is_credited = state == TopupState::Succeeded;
        for has_entry in [false, true] {
            let entries = if has_entry { vec![credit()] } else { Vec::new() };
            let found = of(&[vec![topup(state, "100"), if is_credited { paid() } else { open() }], entries].concat());
            assert_eq!(found.is_empty(), has_entry == is_credited, "{state}: {found:?}");
        }
        for status in [IntentStatus::Open, IntentStatus::Succeeded, IntentStatus::Canceled] {
            let entries = if is_credited { vec![credit()] } else { Vec::new() };
            let found = of(&[vec![topup(state, "100"), charge("pi_1", status, "100")], entries].concat());
            assert_eq!(found.is_empty(), is_credited == (status == IntentStatus::Succeeded), "{state}: {found:?}");
        }
    }
}

#[test]
fn each_state_of_a_refund_fits_one_set_of_entries_and_one_status() {
    let steps = [TopupStep::RefundPayout(refund_id()), TopupStep::RefundReturn(refund_id())];
    for state in RefundState::ALL {
        for has in [[false, false], [true, false], [false, true], [true, true]] {
            let entries = steps.iter().zip(has).filter(|(_, has)| *has);
            let entries = entries.zip(3..).map(|((step, _), number)| entry(number, step.clone()));
            let fits = match state {
                RefundState::Requested | RefundState::Pending => has == [false, false],
                RefundState::Succeeded => has == [true, false],
                // The money may be returned after it was paid out.
                RefundState::Failed => has[1],
            };
            let refundable = if state == RefundState::Failed { "100" } else { "60" };
            let held = entry(2, TopupStep::RefundHold(refund_id()));
            let mut facts = vec![topup(TopupState::Succeeded, refundable), credit(), paid(), held, refund(state)];
            facts.extend(entries);
            let entries_alone = Scope { listed: None, ..listed_scope() };
            let found = kinds(&group(&format!("topup/{ID}")), &facts, &entries_alone);
            assert_eq!(found.is_empty(), fits, "{state} {has:?}: {found:?}");
        }
        for status in [RefundStatus::Pending, RefundStatus::Succeeded, RefundStatus::Failed] {
            let found = refunded(&[refund(state), payout(status, "40")]);
            let agrees = matches!(
                (state, status),
                (RefundState::Pending, RefundStatus::Pending)
                    | (RefundState::Succeeded, RefundStatus::Succeeded)
                    | (RefundState::Failed, RefundStatus::Failed)
            );
            assert_eq!(!found.contains(&"provider_refund_differs"), agrees, "{state} {status:?}: {found:?}");
        }
    }
}

#[test]
fn each_state_of_a_clawback_fits_its_entries() {
    let id = || psp_id("dp_1");
    let clawback = |state, lowered: &str| {
        let (lowered, settled) = (num(lowered), Num::ZERO);
        TopupFact::Clawback(RecordedClawback { id: id(), state, round: 2, lowered, settled })
    };
    let taken = || entry(4, TopupStep::ClawbackTaken(id()));
    let return_entry = || entry(5, TopupStep::ClawbackReturned(id()));
    for state in ClawbackState::ALL {
        let is_taken = state == ClawbackState::Taken;
        for entries in [vec![], vec![taken()], vec![return_entry()], vec![taken(), return_entry()]] {
            let (refundable, lowered) = if is_taken { ("0", "100") } else { ("100", "0") };
            let good = vec![topup(TopupState::Succeeded, refundable), credit(), paid(), clawback(state, lowered)];
            let found = of(&[good, entries.clone()].concat());
            let fits = if is_taken { entries == [taken()] } else { entries.is_empty() || entries.len() == 2 };
            assert_eq!(found.is_empty(), fits, "{state:?} {entries:?}: {found:?}");
        }
    }
}

#[test]
fn entry_without_its_record_is_a_break() {
    let good = [topup(TopupState::Succeeded, "100"), credit(), paid()];
    for step in [
        TopupStep::RefundHold(refund_id()),
        TopupStep::RefundPayout(refund_id()),
        TopupStep::RefundReturn(refund_id()),
        TopupStep::ClawbackTaken(psp_id("dp_1")),
        TopupStep::ClawbackReturned(psp_id("dp_1")),
        TopupStep::Unknown { operation: O::Pay, decision: None },
        TopupStep::Unknown { operation: O::Topup, decision: Some(D::Post) },
    ] {
        assert_eq!(of(&[&good[..], &[entry(7, step.clone())]].concat()), ["topup_differs"], "{step:?}");
        assert_eq!(of(&[entry(7, step.clone())]), ["topup_missing"], "{step:?}");
        let found = found(&group(&format!("topup/{ID}")), &[entry(7, step)], &listed_scope());
        assert!(found[0].evidence.contains(&wallet().to_string()), "the evidence names the account: {found:?}");
    }
}

/// Only the operations and decisions that the ledger writes are a known step. Tried with every operation and
/// decision, with and without a refund and a provider's object.
#[test]
fn only_steps_that_the_ledger_writes_are_known() {
    let mut known = Vec::new();
    for operation in O::ALL {
        for decision in [None, Some(D::Book), Some(D::GiveUp), Some(D::WriteOff), Some(D::Post)] {
            for (refund, psp) in [(false, false), (true, false), (false, true)] {
                let (of_refund, of_psp) = (refund.then(refund_id), psp.then(|| psp_id("pi_1")));
                let step = TopupStep::of(operation, decision, of_refund, of_psp);
                if !matches!(step, TopupStep::Unknown { .. }) {
                    let part = if refund {
                        " refund"
                    } else if psp {
                        " object"
                    } else {
                        ""
                    };
                    known.push(format!("{operation} {}{part}", decision.map_or("-", D::name)));
                }
            }
        }
    }
    let expected = "topup -|topup - object|topup_refund - refund|topup_refund_paid - refund\
        |topup_refund_returned - refund|clawback - object|clawback_returned - object|parked_resolve - refund\
        |topup_decision book|topup_decision book refund|topup_decision book object\
        |topup_decision give_up|topup_decision give_up refund|topup_decision give_up object\
        |topup_decision write_off|topup_decision write_off refund\
        |topup_decision write_off object|topup_decision post refund";
    assert_eq!(known, expected.split('|').collect::<Vec<_>>());
}
