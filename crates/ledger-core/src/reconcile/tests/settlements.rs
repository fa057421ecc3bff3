//! Settlements, by themselves and against the payment provider.

use super::*;

#[test]
fn a_settlement_is_what_its_records_add_up_to() {
    let of = |facts: &[Fact]| kinds(&group(&format!("settlement/{ID}")), facts, &scope());
    let settlement = |state: &str, records: i64, taken: &str| Fact::Settlement {
        merchant: format!("merchant:{ID}"),
        state: state.to_owned(),
        records,
        totals: nums(&[("taken ECOPAY", taken), ("refunded ECOPAY", "20")]),
        parts: [num("80"), num("3"), num("1"), num("76")],
        provider_paid_at: None,
    };
    let merchant = || format!("merchant:{ID}");
    let stamped =
        |delta: &str| Fact::Stamped { merchant: merchant(), delta: nums(&[("ECOPAY", delta)]), came_back: false };
    let paid = |out: &str| Fact::SettlementEntry { operation: "settlement_payout".to_owned(), out: num(out) };
    let records = [stamped("60"), stamped("40"), stamped("-20")];
    let with = |rest: &[Fact]| of(&[&records[..], rest].concat());
    assert!(with(&[settlement("held", 3, "100")]).is_empty());
    assert!(with(&[settlement("paid", 3, "100"), paid("76")]).is_empty());
    assert_eq!(with(&[settlement("held", 2, "100")]), ["settlement_differs"]);
    assert_eq!(with(&[settlement("held", 3, "101")]), ["settlement_differs"]);
    assert_eq!(with(&[settlement("paid", 3, "100")]), ["settlement_differs"], "never posted");
    assert_eq!(with(&[settlement("held", 3, "100"), paid("76")]), ["settlement_differs"], "posted and not paid");
    assert_eq!(with(&[]), ["settlement_differs"], "of no settlement");
    let returned = || Fact::SettlementEntry { operation: "settlement_returned".to_owned(), out: Num::ZERO };
    assert!(with(&[settlement("returned", 3, "100"), paid("76"), returned()]).is_empty());
    assert_eq!(with(&[settlement("returned", 3, "100"), paid("76")]), ["settlement_differs"], "never given back");
    assert_eq!(with(&[settlement("paid", 3, "100"), paid("76"), returned()]), ["settlement_differs"]);
}

#[test]
fn what_the_provider_pays_merchants_is_what_settlements_say() {
    let listed = Some((Timestamp::from_millis(0), Timestamp::from_millis(100)));
    let asked = Scope { listed, ..scope() };
    let merchant = || format!("merchant:{ID}");
    let settlement = |state: &str| Fact::Settlement {
        merchant: merchant(),
        state: state.to_owned(),
        records: 1,
        totals: nums(&[("came_back ECOPAY", "76")]),
        parts: [num("76"), Num::ZERO, Num::ZERO, num("76")],
        provider_paid_at: Some(50),
    };
    let payout = |id: &str, amount: &str, failed: bool| Fact::PaidOut {
        id: id.to_owned(),
        merchant: merchant(),
        amount: num(amount),
        failed,
    };
    let paid = || Fact::SettlementEntry { operation: "settlement_payout".to_owned(), out: num("76") };
    let returned = || Fact::SettlementEntry { operation: "settlement_returned".to_owned(), out: Num::ZERO };
    let took = || Fact::Stamped { merchant: merchant(), delta: nums(&[("ECOPAY", "76")]), came_back: true };
    let with =
        |rest: &[Fact], scope: &Scope| kinds(&group(&format!("settlement/{ID}")), &[&[took()], rest].concat(), scope);
    let one = || payout("po_1", "76", false);
    assert!(with(&[settlement("paid"), paid(), one()], &asked).is_empty());
    assert!(with(&[settlement("paid"), paid()], &scope()).is_empty(), "nobody was asked");
    assert_eq!(with(&[settlement("paid"), paid()], &asked), ["payout_missing"]);
    assert_eq!(with(&[settlement("paid"), paid(), payout("po_1", "76", true)], &asked), ["payout_missing"], "failed");
    assert_eq!(with(&[settlement("paid"), paid(), payout("po_1", "77", false)], &asked), ["payout_differs"]);
    assert_eq!(with(&[settlement("paid"), paid(), one(), payout("po_2", "76", false)], &asked), ["payout_differs"]);
    assert!(with(&[settlement("paying"), one()], &asked).is_empty());
    assert_eq!(with(&[settlement("charged"), one()], &asked), ["payout_differs"], "never asked for");
    assert!(with(&[settlement("returned"), paid(), returned(), payout("po_1", "76", true)], &asked).is_empty());
    assert_eq!(with(&[settlement("returned"), paid(), returned(), one()], &asked), ["payout_differs"], "it did not");
    let alone = kinds(&group(&format!("settlement/{ID}")), &[one()], &asked);
    assert_eq!(alone, ["payout_differs"], "of no settlement");
}
