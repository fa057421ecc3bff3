//! Settlements, by themselves and against the payment provider.

use super::*;
use crate::operation::Operation;
use crate::psp::PayoutStatus;
use crate::settlements::SettlementState as S;

fn of(facts: &[SettlementFact], scope: &Scope) -> Vec<&'static str> {
    kinds(&group(&format!("settlement/{ID}")), facts, scope)
}

fn totals(all: &[(SettledSide, &str)]) -> SettledSums {
    let sum = |side| SettledSum { side, asset: Asset::Ecopay };
    all.iter().map(|(side, number)| (sum(*side), num(number))).collect()
}

fn step(step: SettlementStep, out: &str) -> SettlementFact {
    let home = Account::Merchant(merchant_id());
    SettlementFact::Entry(SettlementEntry { home, step, out: num(out) })
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
    let paid = |out: &str| step(SettlementStep::Payout, out);
    assert!(with_records(&[by_bank(S::Held, 3, "100")]).is_empty());
    assert!(with_records(&[by_bank(S::Paid, 3, "100"), paid("76")]).is_empty());
    assert_eq!(with_records(&[by_bank(S::Held, 2, "100")]), ["settlement_differs"]);
    assert_eq!(with_records(&[by_bank(S::Held, 3, "101")]), ["settlement_differs"]);
    assert_eq!(with_records(&[by_bank(S::Paid, 3, "100")]), ["settlement_differs"], "never posted");
    assert_eq!(with_records(&[by_bank(S::Held, 3, "100"), paid("76")]), ["settlement_differs"], "posted and not paid");
    assert_eq!(with_records(&[]), ["settlement_differs"], "of no settlement");
    let returned = || step(SettlementStep::Returned, "0");
    assert!(with_records(&[by_bank(S::Returned, 3, "100"), paid("76"), returned()]).is_empty());
    assert_eq!(
        with_records(&[by_bank(S::Returned, 3, "100"), paid("76")]),
        ["settlement_differs"],
        "the return is not posted"
    );
    assert_eq!(with_records(&[by_bank(S::Paid, 3, "100"), paid("76"), returned()]), ["settlement_differs"]);
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
        let (is_paid, is_returned) = (matches!(state, S::Paid | S::Returned), state == S::Returned);
        for (payouts, returns) in [(0, 0), (1, 0), (1, 1), (0, 1), (2, 0)] {
            let mut facts = vec![by_bank(state, 3, "100")];
            facts.extend((0..payouts).map(|_| step(SettlementStep::Payout, "76")));
            facts.extend((0..returns).map(|_| step(SettlementStep::ReturnApproved, "0")));
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
    let of_wallet = SettlementEntry { home: wallet(), step: SettlementStep::Hold, out: Num::ZERO };
    let of_wallet = SettlementFact::Entry(of_wallet);
    assert_eq!(with_records(&[by_bank(S::Held, 3, "100"), of_wallet]), ["settlement_differs"]);
}

#[test]
fn every_operation_that_moves_merchants_is_a_step() {
    for operation in Operation::ALL {
        let is_known = SettlementStep::of(operation) != SettlementStep::Unknown(operation);
        assert_eq!(is_known, Operation::MOVING_MERCHANTS.contains(&operation), "{operation}");
    }
}
