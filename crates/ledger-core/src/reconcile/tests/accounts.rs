//! Balances against their postings and holds.

use super::*;
use crate::money::Delta;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

#[test]
fn balance_that_differs_from_its_postings_is_a_break() {
    let of = |facts: &[AccountFact]| kinds(&money_of(wallet()), facts, &scope());
    let (credit, debit) = (posted(false, "100", 5), posted(false, "-30", 6));
    assert!(of(&[credit.clone(), debit.clone(), stored("70", "0", "0", 6)]).is_empty());
    assert_eq!(of(&[credit.clone(), debit.clone(), stored("71", "0", "0", 6)]), ["balance_differs"]);
    assert_eq!(of(std::slice::from_ref(&credit)), ["balance_differs"], "no balance item");
    assert_eq!(of(&[credit.clone(), stored("100", "5", "0", 6)]), ["held_differs"]);
    let hold = [posted(false, "-30", 6), posted(true, "30", 6)];
    let held = [credit.clone(), hold[0].clone(), hold[1].clone(), stored("70", "30", "0", 6)];
    assert_eq!(of(&held), ["held_differs"], "no hold explains the held amount");
    let by = AccountFact::Hold { amount: num("30"), by: "payment:1".to_owned() };
    assert!(of(&[&held[..], &[by]].concat()).is_empty());
    assert_eq!(of(&[credit.clone(), stored("100", "0", "9", 6)]), ["reserved_differs"]);
    let open = AccountFact::Reservation { amount: num("9"), by: "topup:1".to_owned() };
    assert!(of(&[credit, stored("100", "0", "9", 6), open]).is_empty());
}

#[test]
fn debt_is_what_entries_post_to_disputes() {
    let of = |facts: &[AccountFact]| kinds(&money_of(wallet()), facts, &scope());
    let debt = |delta: &str, at| AccountFact::Debt { delta: num(delta), at };
    let with_debt = |owed: &str, at| {
        let amounts = BalanceAmounts { owed: num(owed), ..amounts("0", "0", "0", at) };
        AccountFact::Balance { item: BalanceItem::Own, amounts }
    };
    assert!(of(&[debt("70", 5), debt("-30", 6), with_debt("40", 6)]).is_empty());
    assert_eq!(of(&[debt("70", 5), with_debt("0", 6)]), ["owed_differs"]);
    assert_eq!(of(&[with_debt("1", 6)]), ["owed_differs"]);
    assert_eq!(of(&[debt("-1", 5), with_debt("-1", 6)]), ["negative_balance"]);
    // The debt grew after the first item was read: the balance item's own time decides.
    assert!(of(&[debt("70", 1_500), with_debt("70", 1_600)]).is_empty());
    assert!(of(&[debt("70", 1_500), with_debt("0", 900)]).is_empty());
}

#[test]
fn posting_during_the_read_counts_by_the_balances_own_time() {
    let before = posted(false, "100", 900);
    let during = posted(false, "-30", 2_000);
    let of = |facts: &[AccountFact], scope: &Scope| kinds(&money_of(wallet()), facts, scope);
    // First the balance was read before the payment and its entry after it, then the other way round.
    assert!(of(&[before.clone(), during.clone(), stored("100", "0", "0", 900)], &scope()).is_empty());
    assert!(of(&[before.clone(), during.clone(), stored("70", "0", "0", 2_000)], &scope()).is_empty());
    assert_eq!(of(&[before.clone(), during.clone(), stored("100", "0", "0", 2_000)], &scope()), ["balance_differs"]);
    let at_one_moment = Scope { at_one_moment: true, ..scope() };
    assert_eq!(of(&[before, during, stored("100", "0", "0", 900)], &at_one_moment), ["balance_differs"]);
}

#[test]
fn wallet_gets_a_proposal_and_a_merchant_none() {
    for (account, delta) in [(wallet(), Some("-1")), (Account::Merchant(merchant_id()), None)] {
        let found = found(&money_of(account), &[posted(false, "10", 1), stored("11", "0", "0", 1)], &scope());
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((finding.expected.as_str(), finding.found.as_str()), ("10", "11"));
        assert_eq!(proposed(finding), delta.map(|delta| [Some(delta.to_owned()), None]));
    }
}

/// What is proposed for a finding: what is posted, and what is added to `exposure` beyond that.
fn proposed(finding: &Finding) -> Option<[Option<String>; 2]> {
    let text = |delta: &Option<Delta>| delta.as_ref().map(Delta::text);
    finding.proposal.as_ref().map(|proposal| [text(&proposal.delta), text(&proposal.exposure)])
}

#[test]
fn proposal_corrects_exposure_with_the_balance_and_alone() {
    let of = |balance: &str, held: &str, exposure: &str| {
        let amounts = BalanceAmounts { exposure: Some(num(exposure)), ..amounts(balance, held, "0", 1) };
        let stored = AccountFact::Balance { item: BalanceItem::Own, amounts };
        let mut found = found(&money_of(wallet()), &[posted(false, "10", 1), stored], &scope());
        explain(&mut found);
        found.into_iter().map(|finding| (finding.kind.name(), proposed(&finding))).collect::<BTreeMap<_, _>>()
    };
    let both =
        |delta: Option<&str>, exposure: Option<&str>| Some([delta, exposure].map(|part| part.map(str::to_owned)));
    let (differs, exposed) = ("balance_differs", "exposure_differs");
    assert!(of("10", "0", "10").is_empty());
    assert_eq!(of("11", "0", "11"), BTreeMap::from([(differs, both(Some("-1"), None))]));
    assert_eq!(of("11", "0", "10"), BTreeMap::from([(differs, both(Some("-1"), Some("1"))), (exposed, None)]));
    assert_eq!(of("7", "0", "10"), BTreeMap::from([(differs, both(Some("3"), Some("-3"))), (exposed, None)]));
    assert_eq!(of("11", "0", "90"), BTreeMap::from([(differs, both(Some("-1"), Some("-79"))), (exposed, None)]));
    assert_eq!(of("10", "0", "90"), BTreeMap::from([(exposed, both(None, Some("-80")))]));
    assert_eq!(of("10", "0", "4"), BTreeMap::from([(exposed, both(None, Some("6")))]));
    // While another part differs, what the exposure should be is not known.
    assert_eq!(of("9", "1", "10"), BTreeMap::from([(differs, None), ("held_differs", None)]));
    assert_eq!(of("10", "1", "10"), BTreeMap::from([(exposed, None), ("held_differs", None)]));
}

#[test]
fn finding_names_the_asset_of_its_group() {
    let regional = group(&format!("account/{}/REGIONAL#aoba", wallet()));
    let found = found(&regional, &[posted(false, "10", 1), stored("7", "0", "0", 1)], &scope());
    assert_eq!(found[0].asset, Asset::parse("REGIONAL#aoba").ok());
}

#[test]
fn balance_item_with_two_readings_is_a_break() {
    let of = |facts: &[AccountFact]| kinds(&money_of(wallet()), facts, &scope());
    let one = stored("0", "0", "0", 1);
    assert!(of(&[one.clone(), one.clone()]).is_empty(), "read twice");
    assert_eq!(of(&[stored("5", "0", "0", 1), one]), ["balance_differs"]);
}

proptest! {
    /// A correct balance is no break, and any difference is one. This holds for any postings before and during the
    /// read, and any time of the balance's read.
    #[test]
    fn sums_are_exact(
        before in prop::collection::vec((1_i64..1_000_000, any::<bool>()), 0..20),
        during in prop::collection::vec((1_i64..1_000_000, any::<bool>()), 0..20),
        read_after in 0_usize..21,
        off in prop_oneof![Just(0_i64), -3_i64..4],
    ) {
        let merchant = Account::Merchant(merchant_id());
        let read_at = Timestamp::from_millis(1_000).plus(Duration::from_millis(u64::try_from(read_after).unwrap()));
        let (mut sums, mut facts) = ([0_i64, 0], vec![]);
        let timed = during.iter().enumerate().map(|(n, change)| (1_001_i64.saturating_add(i64::try_from(n).unwrap()), change));
        for (at, (delta, held)) in before.iter().map(|change| (500, change)).chain(timed) {
            if at <= read_at.millis() {
                sums[usize::from(*held)] = sums[usize::from(*held)].saturating_add(*delta);
            }
            facts.push(posted(*held, &delta.to_string(), at));
        }
        facts.push(stored(&sums[0].saturating_add(off).to_string(), &sums[1].to_string(), "0", read_at.millis()));
        let expected: Vec<&str> = if off == 0 { vec![] } else { vec!["balance_differs"] };
        prop_assert_eq!(kinds(&money_of(merchant), &facts, &scope()), expected);
    }
}
