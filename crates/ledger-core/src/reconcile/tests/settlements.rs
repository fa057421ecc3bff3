//! Settlements, by themselves and against the payment provider.

use super::*;
use crate::operation::Operation;
use crate::psp::PayoutStatus;
use crate::settlements::SettlementState as S;
use crate::time::BusinessDate;

const PAY_ON: &str = "2026-12-10";

fn of(facts: &[SettlementFact], scope: &Scope) -> Vec<&'static str> {
    kinds(&group(&format!("settlement/{ID}")), facts, scope)
}

fn totals(all: &[(SettledSide, &str)]) -> SettledSums {
    let sum = |side| SettledSum { side, asset: Asset::Ecopay };
    all.iter().map(|(side, number)| (sum(*side), num(number))).collect()
}

fn step(step: SettlementStep, out: &str) -> SettlementFact {
    banked(step, out, ("0", "0"))
}

/// A step with what it posts to `bank_clearing` and to `bank`.
fn banked(step: SettlementStep, out: &str, (booked, bank): (&str, &str)) -> SettlementFact {
    let home = Account::Merchant(merchant_id());
    SettlementFact::Entry(SettlementEntry { home, step, out: num(out), booked: num(booked), bank: num(bank) })
}

/// The booking of a transfer.
fn booked(out: &str) -> SettlementFact {
    banked(SettlementStep::Payout, out, (out, "0"))
}

/// The return of a transfer of 76 before its debit.
fn given_back() -> SettlementFact {
    banked(SettlementStep::ReturnApproved, "0", ("-76", "0"))
}

fn day(text: &str) -> BusinessDate {
    BusinessDate::parse(text).unwrap()
}

/// The transfer of the settlement by bank.
fn transfer(is_returned: bool) -> SettlementFact {
    SettlementFact::Transfer(SettledTransfer {
        merchant: merchant_id(),
        day: day(PAY_ON),
        amount: num("76"),
        is_returned,
    })
}

/// The returned payout of an earlier settlement.
fn stamp(delta: &str) -> SettlementFact {
    SettlementFact::Stamp(Stamp { merchant: merchant_id(), delta: nums(&[("ECOPAY", delta)]) })
}

/// A settlement of 80: three records, of which one was refunded, paid by bank.
fn by_bank(state: S, records: i64, taken: &str) -> SettlementFact {
    SettlementFact::Record(RecordedSettlement {
        merchant: merchant_id(),
        state,
        records,
        totals: totals(&[(SettledSide::Taken, taken), (SettledSide::Refunded, "20")]),
        net: num("80"),
        fee: num("3"),
        tax: num("1"),
        payable: num("76"),
        provider_paid_at: None,
        is_by_bank: true,
        transfer_on: matches!(state, S::Booked | S::Returned).then(|| day(PAY_ON)),
    })
}

/// A settlement of another settlement's returned payout, paid by the provider.
fn by_provider(state: S) -> SettlementFact {
    SettlementFact::Record(RecordedSettlement {
        merchant: merchant_id(),
        state,
        records: 1,
        totals: totals(&[(SettledSide::PayoutsReturned, "76")]),
        net: num("76"),
        fee: Num::ZERO,
        tax: Num::ZERO,
        payable: num("76"),
        provider_paid_at: Some(50),
        is_by_bank: false,
        transfer_on: None,
    })
}

/// Two periods: one payment of 40, and a payment of 60 with a refund of 20.
fn with_records(rest: &[SettlementFact]) -> Vec<&'static str> {
    of(&[&[paid_40(), period(2, "60")], rest].concat(), &scope())
}

fn paid_40() -> SettlementFact {
    let totals = totals(&[(SettledSide::Taken, "40")]);
    SettlementFact::Period(SettledPeriod { merchant: merchant_id(), records: 1, totals })
}

#[test]
fn settlement_that_differs_from_its_records_is_a_break() {
    let paid = booked;
    assert!(with_records(&[by_bank(S::Held, 3, "100")]).is_empty());
    assert!(with_records(&[by_bank(S::Booked, 3, "100"), paid("76"), transfer(false)]).is_empty());
    assert_eq!(with_records(&[by_bank(S::Held, 2, "100")]), ["settlement_differs"]);
    assert_eq!(with_records(&[by_bank(S::Held, 3, "101")]), ["settlement_differs"]);
    assert_eq!(with_records(&[by_bank(S::Booked, 3, "100"), transfer(false)]), ["settlement_differs"], "never posted");
    assert_eq!(with_records(&[by_bank(S::Held, 3, "100"), paid("76")]), ["settlement_differs"], "posted and not paid");
    assert_eq!(with_records(&[]), ["settlement_differs"], "of no settlement");
    let returned = || [paid("76"), transfer(true), by_bank(S::Returned, 3, "100")];
    assert!(with_records(&[&returned()[..], &[given_back()]].concat()).is_empty());
    assert_eq!(with_records(&returned()), ["settlement_differs"], "the return is not posted");
    let booked = [by_bank(S::Booked, 3, "100"), paid("76"), transfer(false)];
    assert_eq!(with_records(&[&booked[..], &[given_back()]].concat()), ["settlement_differs"], "returned and booked");
    let two = [by_bank(S::Held, 3, "100"), by_bank(S::Undone, 3, "100")];
    assert_eq!(with_records(&two), ["settlement_differs"], "two records");
}

/// A period of a payment less a refund of 20.
fn period(records: i64, taken: &str) -> SettlementFact {
    let totals = totals(&[(SettledSide::Taken, taken), (SettledSide::Refunded, "20")]);
    SettlementFact::Period(SettledPeriod { merchant: merchant_id(), records, totals })
}

#[test]
fn settlement_has_the_sums_of_its_periods_and_of_returned_payouts() {
    let with = |period: SettlementFact| of(&[paid_40(), period, by_bank(S::Held, 3, "100")], &scope());
    assert!(with(period(2, "60")).is_empty());
    assert_eq!(with(period(2, "61")), ["settlement_differs"]);
    assert_eq!(with(period(3, "60")), ["settlement_differs"]);
    assert_eq!(with(stamp("60")), ["settlement_differs"], "a returned payout in its place");
    assert_eq!(of(&[paid_40(), by_bank(S::Held, 3, "100")], &scope()), ["settlement_differs"], "without it");
    assert_eq!(of(&[period(2, "60")], &scope()), ["settlement_differs"], "of no settlement");
    let two = [period(2, "60"), period(2, "60"), paid_40(), by_bank(S::Held, 3, "100")];
    assert_eq!(of(&two, &scope()), ["settlement_differs"], "twice");
    let with_returned = [paid_40(), period(2, "60"), stamp("5"), by_bank(S::Held, 4, "100")];
    assert_eq!(of(&with_returned, &scope()), ["settlement_differs"], "without its sum");
}

#[test]
fn provider_payouts_that_differ_from_settlements_are_breaks() {
    let payout = |id: &str, amount: &str, status| {
        let (id, amount) = (psp_id(id), num(amount));
        SettlementFact::ProviderPayout(ProviderPayout { id, merchant: merchant_id(), amount, status })
    };
    let (sent, failed) = (PayoutStatus::Sent, PayoutStatus::Failed);
    let paid = || step(SettlementStep::Payout, "76");
    let returned = || step(SettlementStep::Returned, "0");
    let with = |rest: &[SettlementFact], scope: &Scope| of(&[&[stamp("76")], rest].concat(), scope);
    let one = || payout("po_1", "76", sent);
    let listed_scope = listed_scope();
    assert!(with(&[by_provider(S::Paid), paid(), one()], &listed_scope).is_empty());
    assert!(
        with(&[by_provider(S::Paid), paid()], &scope()).is_empty(),
        "payouts are not compared without the provider's list"
    );
    assert_eq!(with(&[by_provider(S::Paid), paid()], &listed_scope), ["payout_missing"]);
    assert_eq!(with(&[by_provider(S::Paid), paid(), payout("po_1", "76", failed)], &listed_scope), ["payout_missing"]);
    assert_eq!(with(&[by_provider(S::Paid), paid(), payout("po_1", "77", sent)], &listed_scope), ["payout_differs"]);
    assert_eq!(
        with(&[by_provider(S::Paid), paid(), one(), payout("po_2", "76", sent)], &listed_scope),
        ["payout_differs"]
    );
    assert!(with(&[by_provider(S::Paying), one()], &listed_scope).is_empty());
    assert_eq!(
        with(&[by_provider(S::Charged), one()], &listed_scope),
        ["payout_differs"],
        "the payout was never requested"
    );
    let failed_payout = payout("po_1", "76", failed);
    assert!(with(&[by_provider(S::Returned), paid(), returned(), failed_payout], &listed_scope).is_empty());
    assert_eq!(
        with(&[by_provider(S::Returned), paid(), returned(), one()], &listed_scope),
        ["payout_differs"],
        "not failed"
    );
    assert_eq!(of(&[one()], &listed_scope), ["payout_differs"], "of no settlement");
    let SettlementFact::ProviderPayout(payout) = one() else { panic!("another fact") };
    let elsewhere =
        SettlementFact::ProviderPayout(ProviderPayout { merchant: MerchantId::parse(OTHER).unwrap(), ..payout });
    assert_eq!(with(&[by_provider(S::Paid), paid(), elsewhere], &listed_scope), ["payout_differs"], "another merchant");
}

/// For every state, the postings that must exist and the payouts that the provider may have.
#[test]
fn each_state_of_a_settlement_fits_one_set_of_facts() {
    for state in S::ALL {
        let (is_paid, is_returned) = (matches!(state, S::Booked | S::Paid | S::Returned), state == S::Returned);
        let is_booked = matches!(state, S::Booked | S::Returned);
        for (payouts, returns) in [(0, 0), (1, 0), (1, 1), (0, 1), (2, 0)] {
            let mut facts = vec![by_bank(state, 3, "100")];
            facts.extend(is_booked.then(|| transfer(is_returned)));
            facts.extend((0..payouts).map(|_| booked("76")));
            facts.extend((0..returns).map(|_| given_back()));
            let fits = payouts == i32::from(is_paid) && returns == i32::from(is_returned);
            let found = with_records(&facts);
            assert_eq!(found.is_empty(), fits, "{state} {payouts} {returns}: {found:?}");
        }
    }
}

#[test]
fn settlement_with_foreign_facts_is_a_break() {
    let merchant = MerchantId::parse(OTHER).unwrap();
    let SettlementFact::Period(own) = period(2, "60") else { panic!("another fact") };
    let records = [SettlementFact::Period(SettledPeriod { merchant, ..own }), paid_40()];
    let found =
        found(&group(&format!("settlement/{ID}")), &[&records[..], &[by_bank(S::Held, 3, "100")]].concat(), &scope());
    assert_eq!(found[0].kind, BreakKind::SettlementDiffers);
    assert!(found[0].evidence.contains(&format!("merchant:{OTHER}")), "the evidence names the account: {found:?}");
    let unknown = step(SettlementStep::Unknown(Operation::Pay), "0");
    assert_eq!(with_records(&[by_bank(S::Held, 3, "100"), unknown.clone()]), ["settlement_differs"]);
    assert_eq!(of(&[unknown], &scope()), ["settlement_differs"], "an entry alone");
    let of_wallet = step(SettlementStep::Hold, "0");
    let SettlementFact::Entry(own) = of_wallet else { panic!("another fact") };
    let of_wallet = SettlementFact::Entry(SettlementEntry { home: wallet(), ..own });
    assert_eq!(with_records(&[by_bank(S::Held, 3, "100"), of_wallet]), ["settlement_differs"]);
}

#[test]
fn every_operation_that_moves_merchants_is_a_step() {
    for operation in Operation::ALL {
        let is_known = SettlementStep::of(operation) != SettlementStep::Unknown(operation);
        assert_eq!(is_known, Operation::MOVING_MERCHANTS.contains(&operation), "{operation}");
    }
}

#[test]
fn settlement_by_bank_has_one_transfer_of_its_amount() {
    let with = |state: S, transfers: &[SettlementFact]| {
        let mut facts = vec![by_bank(state, 3, "100")];
        facts.extend(matches!(state, S::Booked | S::Returned).then(|| booked("76")));
        facts.extend((state == S::Returned).then(given_back));
        with_records(&[&facts[..], transfers].concat())
    };
    let SettlementFact::Transfer(own) = transfer(false) else { panic!("another fact") };
    let of = |transfer: SettledTransfer| SettlementFact::Transfer(transfer);
    for state in S::ALL.into_iter().filter(|state| *state != S::Paid) {
        let fits = |is_returned| {
            let is_booked = matches!(state, S::Booked | S::Returned);
            is_booked && is_returned == (state == S::Returned)
        };
        for is_returned in [false, true] {
            assert_eq!(with(state, &[transfer(is_returned)]).is_empty(), fits(is_returned), "{state} {is_returned}");
        }
        assert_eq!(with(state, &[]).is_empty(), !matches!(state, S::Booked | S::Returned), "{state}");
        assert_eq!(with(state, &[transfer(false), transfer(true)]), ["settlement_differs"], "two of {state}");
    }
    let other_amount = SettledTransfer { amount: num("75"), ..own.clone() };
    assert_eq!(with(S::Booked, &[of(other_amount)]), ["settlement_differs"]);
    let other_day = SettledTransfer { day: day("2026-12-11"), ..own.clone() };
    assert_eq!(with(S::Booked, &[of(other_day)]), ["settlement_differs"], "it is found by its day");
    let other_merchant = SettledTransfer { merchant: MerchantId::parse(OTHER).unwrap(), ..own };
    assert_eq!(with(S::Booked, &[of(other_merchant)]), ["settlement_differs"]);
    assert_eq!(super::settlements::of(&[transfer(false)], &scope()), ["settlement_differs"], "of no settlement");
}

#[test]
fn transfer_of_a_settlement_is_evidence_of_its_break() {
    let all = [paid_40(), period(2, "60"), by_bank(S::Booked, 3, "100"), booked("76")];
    let found_of = |facts: &[SettlementFact]| found(&group(&format!("settlement/{ID}")), facts, &scope());
    let place = format!("bank_transfers:{PAY_ON} TRANSFER#{ID}");
    let missing = found_of(&all);
    assert!(missing[0].evidence.contains(&place), "where it is to be: {missing:?}");
    let returned = found_of(&[&all[..], &[transfer(true)]].concat());
    assert!(returned[0].evidence.contains(&place), "{returned:?}");
    let read = (day(PAY_ON), crate::ids::SettlementId::parse(ID).unwrap());
    assert_eq!(transfer_in_evidence(&place), Some(read));
    for odd in ["", "settlement:1", &place.replace("TRANSFER#", ""), &place.replace("2026-12-10", "2026-12-40")] {
        assert_eq!(transfer_in_evidence(odd), None, "{odd}");
    }
}

/// A payout by bank is on `bank_clearing` until it is debited or returned.
#[test]
fn steps_of_a_settlement_by_bank_post_to_accounts_of_the_bank() {
    let back = |posted| banked(SettlementStep::ReturnApproved, "0", posted);
    let payout = |posted| banked(SettlementStep::Payout, "76", posted);
    let returned = |payout: SettlementFact, back: SettlementFact| {
        with_records(&[by_bank(S::Returned, 3, "100"), transfer(true), payout, back])
    };
    let booked = || payout(("76", "0"));
    assert!(returned(booked(), back(("-76", "0"))).is_empty(), "before the debit");
    assert!(returned(booked(), back(("0", "-76"))).is_empty(), "after the debit");
    for posted in [("-75", "0"), ("0", "-75"), ("-76", "-76"), ("0", "0"), ("76", "0")] {
        assert_eq!(returned(booked(), back(posted)), ["settlement_differs"], "{posted:?}");
    }
    for posted in [("75", "0"), ("0", "76"), ("0", "0"), ("76", "76")] {
        assert_eq!(returned(payout(posted), back(("-76", "0"))), ["settlement_differs"], "{posted:?}");
    }
    let held = |posted| with_records(&[by_bank(S::Held, 3, "100"), banked(SettlementStep::Hold, "-80", posted)]);
    assert!(held(("0", "0")).is_empty());
    assert_eq!(held(("1", "0")), ["settlement_differs"]);
    assert_eq!(held(("0", "1")), ["settlement_differs"]);
    let by_provider = |posted| of(&[stamp("76"), by_provider(S::Paid), payout(posted)], &scope());
    assert!(by_provider(("0", "0")).is_empty());
    assert_eq!(by_provider(("76", "0")), ["settlement_differs"], "Stripe pays it");
}
