mod settlements;
mod standing;

use super::*;
use crate::account::Account;
use crate::dynamo::{Item, Value};
use crate::ids::{CustomerId, MerchantId, Tenant};
use crate::money::Asset;
use crate::time::Timestamp;
use proptest::prelude::*;
use std::time::Duration;

const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
const OTHER: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5f";

fn num(text: &str) -> Num {
    Num::parse(text).unwrap()
}

fn nums(all: &[(&str, &str)]) -> Nums {
    all.iter().map(|(asset, number)| ((*asset).to_owned(), num(number))).collect()
}

fn wallet() -> Account {
    Account::Customer(CustomerId::parse(ID).unwrap())
}

fn group(text: &str) -> Group {
    Group::parse(&format!("demo/{text}")).unwrap()
}

fn money_of(account: Account) -> Group {
    group(&format!("account/{account}/ECOPAY"))
}

fn scope() -> Scope {
    Scope { began_at: Timestamp::from_millis(1_000), at_one_moment: false, listed: None }
}

fn kinds(group: &Group, facts: &[Fact], scope: &Scope) -> Vec<&'static str> {
    fold(group, facts.to_vec(), scope).iter().map(|finding| finding.kind.name()).collect()
}

fn posted(held: bool, delta: &str, at: i64) -> Fact {
    Fact::Posted { held, delta: num(delta), at }
}

fn stored(balance: &str, held: &str, reserved: &str, at: i64) -> Fact {
    let (balance, held, reserved) = (num(balance), num(held), num(reserved));
    Fact::Stored {
        place: Place::Own,
        balance,
        held,
        reserved,
        owed: Num::ZERO,
        exposure: None,
        corrections: 0,
        corrected_at: None,
        at,
    }
}

#[test]
fn names_and_lines_read_back() {
    for kind in BreakKind::ALL {
        assert_eq!(BreakKind::parse(kind.name()), Some(*kind));
    }
    let facts = [
        posted(true, "-1.5", 7),
        Fact::Stamped { merchant: String::new(), delta: nums(&[("REGIONAL#aoba", "3")]), came_back: true },
    ];
    for text in [
        format!("account/customer:{ID}/REGIONAL#aoba"),
        format!("transaction/{ID}"),
        "once/00ff".to_owned(),
        format!("payment/{ID}"),
        format!("topup/{ID}"),
        format!("settlement/{ID}"),
    ] {
        let group = group(&text);
        for fact in &facts {
            let line = group.line(fact).unwrap();
            assert_eq!(Group::read_line(&line), Some((group.clone(), fact.clone())), "{line}");
        }
    }
    for odd in ["", "demo/payment/x", "demo/account/customer:1/ECOPAY", &format!("demo/payment/{ID}/ECOPAY")] {
        assert_eq!(Group::parse(odd), None, "{odd}");
    }
}

#[test]
fn a_balance_is_the_sum_of_its_postings() {
    let of = |facts: &[Fact]| kinds(&money_of(wallet()), facts, &scope());
    let (credit, debit) = (posted(false, "100", 5), posted(false, "-30", 6));
    assert!(of(&[credit.clone(), debit.clone(), stored("70", "0", "0", 6)]).is_empty());
    assert_eq!(of(&[credit.clone(), debit.clone(), stored("71", "0", "0", 6)]), ["balance_differs"]);
    assert_eq!(of(std::slice::from_ref(&credit)), ["balance_differs"], "no balance item");
    assert_eq!(of(&[credit.clone(), stored("100", "5", "0", 6)]), ["held_differs"]);
    let hold = [posted(false, "-30", 6), posted(true, "30", 6)];
    let held = [credit.clone(), hold[0].clone(), hold[1].clone(), stored("70", "30", "0", 6)];
    assert_eq!(of(&held), ["held_differs"], "nothing holds it");
    let by = Fact::Holding { amount: num("30"), by: "payment:1".to_owned() };
    assert!(of(&[&held[..], &[by]].concat()).is_empty());
    assert_eq!(of(&[credit.clone(), stored("100", "0", "9", 6)]), ["reserved_differs"]);
    let open = Fact::Reserving { amount: num("9"), by: "topup:1".to_owned() };
    assert!(of(&[credit, stored("100", "0", "9", 6), open]).is_empty());
}

#[test]
fn debt_is_what_entries_post_to_disputes_less_what_an_earlier_release_keeps_on_topups() {
    let of = |facts: &[Fact]| kinds(&money_of(wallet()), facts, &scope());
    let owing = |delta: &str, at| Fact::Owing { delta: num(delta), at };
    let with_debt = |debt: &str, at| {
        let mut balance = stored("0", "0", "0", at);
        if let Fact::Stored { owed, .. } = &mut balance {
            *owed = num(debt);
        }
        balance
    };
    assert!(of(&[owing("70", 5), owing("-30", 6), with_debt("40", 6)]).is_empty());
    assert_eq!(of(&[owing("70", 5), with_debt("0", 6)]), ["owed_differs"]);
    assert_eq!(of(&[with_debt("1", 6)]), ["owed_differs"]);
    assert_eq!(of(&[owing("-1", 5), with_debt("-1", 6)]), ["negative_balance"]);
    let before = Fact::OwedForTopup { amount: num("25") };
    assert!(of(&[owing("70", 5), before, with_debt("45", 6)]).is_empty());
    // Owed after the table was begun to be read: the balance item's own time decides.
    assert!(of(&[owing("70", 1_500), with_debt("70", 1_600)]).is_empty());
    assert!(of(&[owing("70", 1_500), with_debt("0", 900)]).is_empty());
}

#[test]
fn what_was_written_while_the_table_was_read_counts_by_the_balances_own_time() {
    let before = posted(false, "100", 900);
    let during = posted(false, "-30", 2_000);
    let of = |facts: &[Fact], scope: &Scope| kinds(&money_of(wallet()), facts, scope);
    // The balance was read before the payment, the entry after it; and the other way round.
    assert!(of(&[before.clone(), during.clone(), stored("100", "0", "0", 900)], &scope()).is_empty());
    assert!(of(&[before.clone(), during.clone(), stored("70", "0", "0", 2_000)], &scope()).is_empty());
    assert_eq!(of(&[before.clone(), during.clone(), stored("100", "0", "0", 2_000)], &scope()), ["balance_differs"]);
    let at_one_moment = Scope { at_one_moment: true, ..scope() };
    assert_eq!(of(&[before, during, stored("100", "0", "0", 900)], &at_one_moment), ["balance_differs"]);
}

#[test]
fn a_wallet_gets_a_proposal_and_a_merchant_none() {
    let merchant = Account::Merchant(MerchantId::parse(ID).unwrap());
    for (account, delta) in [(wallet(), Some("-1")), (merchant, None)] {
        let found = fold(&money_of(account), [posted(false, "10", 1), stored("11", "0", "0", 1)], &scope());
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((finding.expected.as_str(), finding.found.as_str()), ("10", "11"));
        let proposed = finding.proposal.as_ref().map(|proposal| proposal.delta.text());
        assert_eq!(proposed.as_deref(), delta);
    }
}

fn entry(home: &str, at: &str) -> Fact {
    Fact::Entry { home: home.to_owned(), operation: "pay".to_owned(), key: "k".to_owned(), at: at.to_owned() }
}

fn named(home: Option<&str>, says: Option<(&str, &str)>) -> Fact {
    let says = says.map(|(operation, key)| (operation.to_owned(), key.to_owned()));
    Fact::Named { by: "payment:1".to_owned(), home: home.map(str::to_owned), says }
}

#[test]
fn what_is_named_is_there_once() {
    let of = |facts: &[Fact]| kinds(&group(&format!("transaction/{ID}")), facts, &scope());
    assert!(of(&[entry("customer:1", "TXN#1")]).is_empty());
    assert!(of(&[entry("customer:1", "TXN#1"), named(Some("customer:1"), Some(("pay", "k")))]).is_empty());
    assert_eq!(of(&[named(Some("customer:1"), None), named(None, None)]), ["entry_missing"]);
    assert_eq!(of(&[entry("customer:1", "TXN#1"), entry("customer:1", "TXN#2")]), ["entry_doubled"]);
    for otherwise in
        [named(Some("customer:2"), None), named(None, Some(("refund", "k"))), named(None, Some(("pay", "l")))]
    {
        assert_eq!(of(&[entry("customer:1", "TXN#1"), otherwise]), ["entry_differs"]);
    }
}

#[test]
fn one_key_has_one_entry_until_it_may_be_used_again() {
    let effect = |entry: &str, at: i64, window_ms| Fact::Effect {
        entry: entry.to_owned(),
        operation: "pay".to_owned(),
        principal: "customer:1".to_owned(),
        at,
        window_ms,
        accounts: vec!["customer:1".to_owned()],
    };
    let of = |facts: &[Fact]| kinds(&group("once/00"), facts, &scope());
    assert!(of(&[effect("a", 1, None)]).is_empty());
    assert_eq!(of(&[effect("a", 1, None), effect("b", i64::MAX, None)]), ["duplicate_effect"]);
    assert_eq!(of(&[effect("a", 1, Some(100)), effect("b", 101, Some(100))]), ["duplicate_effect"]);
    assert!(of(&[effect("a", 1, Some(100)), effect("b", 102, Some(100))]).is_empty());
    let three = [effect("a", 1, None), effect("b", 2, None), effect("c", 3, None)];
    assert_eq!(of(&three), ["duplicate_effect", "duplicate_effect"]);
}

fn payment(state: &str, captured: &str, refundable: &str, held: bool) -> Fact {
    let money = |number: &str| if number.is_empty() { Nums::new() } else { nums(&[("ECOPAY", number)]) };
    let refundable = if refundable == "0" { Nums::new() } else { money(refundable) };
    Fact::Payment {
        state: state.to_owned(),
        merchant: OTHER.to_owned(),
        payer: format!("customer:{ID}"),
        entry: "e".to_owned(),
        authorized: if held { money("100") } else { Nums::new() },
        captured: money(captured),
        refundable,
        delta: money(captured),
        held,
    }
}

fn moved(entry: &str, delta: &[(&str, &str)]) -> Fact {
    Fact::Moved { entry: entry.to_owned(), home: "customer:1".to_owned(), delta: nums(delta) }
}

fn returned(entry: &str, delta: &str, kind: &str) -> Fact {
    let delta = nums(&[("ECOPAY", delta)]);
    Fact::Returned { id: OTHER.to_owned(), kind: kind.to_owned(), entry: entry.to_owned(), delta }
}

#[test]
fn a_payment_is_what_its_refunds_and_entries_leave() {
    let of = |facts: &[Fact]| kinds(&group(&format!("payment/{ID}")), facts, &scope());
    let (paid, paid_to) = (payment("captured", "100", "100", false), moved("e", &[("ECOPAY", "100")]));
    assert!(of(&[paid.clone(), paid_to.clone()]).is_empty());
    let back = [returned("r", "-40", "refund"), moved("r", &[("ECOPAY", "-40")])];
    let partly = payment("partially_refunded", "100", "60", false);
    assert!(of(&[&[partly.clone(), paid_to.clone()], &back[..]].concat()).is_empty());
    assert_eq!(of(&[&[paid.clone(), paid_to.clone()], &back[..]].concat()), ["payment_differs"]);
    assert_eq!(of(&[partly, paid_to.clone()]), ["payment_differs"]);
    assert_eq!(of(&[payment("refunded", "100", "100", false), paid_to.clone()]), ["payment_differs"]);
    let whole = [returned("r", "-100", "refund"), moved("r", &[("ECOPAY", "-100")])];
    assert!(of(&[&[payment("refunded", "100", "0", false), paid_to.clone()], &whole[..]].concat()).is_empty());
    assert_eq!(of(&[paid.clone(), moved("e", &[("ECOPAY", "99")])]), ["credit_differs"]);
    assert_eq!(of(&[paid, paid_to.clone(), moved("x", &[("ECOPAY", "1")])]), ["credit_differs"]);
    assert_eq!(of(&[paid_to]), ["payment_missing"]);
}

#[test]
fn a_hold_and_its_payment_tell_one_thing() {
    let of = |facts: &[Fact]| kinds(&group(&format!("payment/{ID}")), facts, &scope());
    let hold = |state: &str, held: &str| Fact::Hold {
        state: state.to_owned(),
        payer: format!("customer:{ID}"),
        held: nums(&[("ECOPAY", held)]),
    };
    let authorized = payment("authorized", "", "", true);
    assert!(of(&[authorized.clone(), hold("authorized", "100"), moved("e", &[])]).is_empty());
    assert_eq!(of(&[hold("authorized", "100"), moved("e", &[])]), ["hold_without_payment"]);
    assert_eq!(of(std::slice::from_ref(&authorized)), ["hold_differs"]);
    assert_eq!(of(&[authorized.clone(), hold("canceled", "100")]), ["hold_differs"]);
    assert_eq!(of(&[authorized, hold("authorized", "99")]), ["hold_differs"]);
    assert_eq!(of(&[payment("captured", "100", "100", false), hold("captured", "100")]), ["hold_differs"]);
}

fn topup(state: &str, refundable: &str) -> Fact {
    Fact::Topup {
        state: state.to_owned(),
        customer: format!("customer:{ID}"),
        charge: num("100"),
        refundable: num(refundable),
        taken_back: Num::ZERO,
        suspense: Num::ZERO,
        given_up: Num::ZERO,
        intent: Some("pi_1".to_owned()),
        at: 50,
    }
}

fn step(operation: &str, refund: Option<&str>) -> Fact {
    Fact::TopupEntry {
        entry: operation.to_owned(),
        operation: operation.to_owned(),
        refund: refund.map(str::to_owned),
        psp_id: Some("pi_1".to_owned()),
        decided: None,
        suspense: Num::ZERO,
    }
}

fn charge(paid: bool, received: &str) -> Fact {
    Fact::Charge { id: "pi_1".to_owned(), paid, received: num(received) }
}

#[test]
fn a_topup_is_what_its_entries_and_the_provider_say() {
    let listed = Some((Timestamp::from_millis(0), Timestamp::from_millis(100)));
    let asked = Scope { listed, ..scope() };
    let of = |facts: &[Fact]| kinds(&group(&format!("topup/{ID}")), facts, &asked);
    let good = [topup("succeeded", "100"), step("topup", None), charge(true, "100")];
    assert!(of(&good).is_empty());
    assert!(of(&[topup("pending", "0"), charge(false, "0")]).is_empty());
    assert_eq!(of(&[topup("pending", "0"), charge(true, "100")]), ["charge_without_credit"]);
    assert_eq!(of(&[charge(true, "100")]), ["charge_without_credit"]);
    assert!(of(&[charge(false, "0")]).is_empty());
    assert_eq!(of(&good[..2]), ["credit_without_charge"]);
    assert_eq!(of(&[good[0].clone(), good[1].clone(), charge(true, "90")]), ["charge_differs"]);
    assert_eq!(of(&[good[0].clone(), good[2].clone()]), ["topup_differs"], "no entry");
    let Fact::TopupEntry { operation, refund, psp_id, decided, suspense, .. } = step("topup", None) else { panic!() };
    let second = Fact::TopupEntry { entry: "second".to_owned(), operation, refund, psp_id, decided, suspense };
    assert_eq!(of(&[&good[..], &[second]].concat()), ["topup_differs"], "two");
    assert!(of(&[&good[..], &good[..]].concat()).is_empty(), "read twice");
    assert_eq!(of(&[topup("succeeded", "90"), good[1].clone(), good[2].clone()]), ["topup_differs"]);
    assert_eq!(of(&[step("topup", None)]), ["topup_missing"]);
    let refund = |state: &str| Fact::CardRefund {
        id: "r".to_owned(),
        state: state.to_owned(),
        amount: num("40"),
        paid: num("40"),
        settled: Num::ZERO,
        suspense: Num::ZERO,
        given_up: Num::ZERO,
        at: 60,
    };
    let payout = |state: &str, amount: &str| Fact::Payout {
        id: "re_1".to_owned(),
        refund: "r".to_owned(),
        state: state.to_owned(),
        amount: num(amount),
    };
    let held = step("topup_refund", Some("r"));
    let refunded = |rest: &[Fact]| {
        of(&[&[topup("succeeded", "60"), good[1].clone(), good[2].clone(), held.clone()], rest].concat())
    };
    let paid = step("topup_refund_paid", Some("r"));
    assert!(refunded(&[refund("succeeded"), paid.clone(), payout("succeeded", "40")]).is_empty());
    assert!(refunded(&[refund("pending"), payout("pending", "40")]).is_empty());
    assert_eq!(refunded(&[refund("pending"), payout("succeeded", "40")]), ["provider_refund_differs"]);
    assert_eq!(refunded(&[refund("succeeded"), paid.clone()]), ["provider_refund_differs"]);
    assert_eq!(
        refunded(&[refund("succeeded"), paid, payout("succeeded", "41")]),
        ["provider_refund_differs"],
        "another amount"
    );
    assert_eq!(refunded(&[refund("succeeded"), payout("succeeded", "40")]), ["topup_differs"], "never paid");
}

#[test]
fn what_an_item_says_of_itself() {
    let item = |sk: &str, more: &[(&str, Value)]| {
        let mut item = Item::from([
            ("uuid".to_owned(), Value::S(format!("demo#customer#{ID}"))),
            ("type".to_owned(), Value::s(sk)),
            ("updated_at".to_owned(), Value::s("2026-01-01T00:00:00Z")),
        ]);
        item.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        item
    };
    let now = Timestamp::parse("2026-01-01T01:00:00Z").unwrap();
    let broken = |item: &Item| {
        let said = of_item(item, now, Limits::default());
        let breaks = said.into_iter().filter_map(|said| match said {
            Said::Break(finding) => Some(finding),
            Said::Fact(..) => None,
        });
        breaks.map(|finding| finding.kind.name()).collect::<Vec<_>>()
    };
    let key = "card_op_idem#topup#tanaka@example.com";
    let flight =
        |state: &str, due: &str| item(key, &[("state", Value::s(state)), ("due_sk", Value::S(format!("{due}#{ID}")))]);
    assert!(broken(&flight("IN_FLIGHT", "2026-01-01T00:55:00Z")).is_empty());
    for state in ["IN_FLIGHT", "FAILED_RETRY"] {
        assert_eq!(broken(&flight(state, "2026-01-01T00:10:00Z")), ["claim_stuck"]);
    }
    assert!(broken(&flight("PARKED", "2026-01-01T00:10:00Z")).is_empty());
    assert_eq!(broken(&flight("SOMETHING", "2026-01-01T00:10:00Z")), ["unreadable_item"]);
    // A client's key may be anything, an address too.
    for state in ["IN_FLIGHT", "SOMETHING"] {
        let said = format!("{:?}", of_item(&flight(state, "2026-01-01T00:10:00Z"), now, Limits::default()).first());
        let Some(Said::Break(finding)) = of_item(&flight(state, "2026-01-01T00:10:00Z"), now, Limits::default()).pop()
        else {
            panic!("{said}")
        };
        let report = format!("{} {} {} {:?}", finding.subject, finding.expected, finding.found, finding.evidence);
        assert!(!report.contains("tanaka"), "{report}");
    }
    for sk in ["PROFILE", "METRICS", "CODE"] {
        assert!(of_item(&item(sk, &[]), now, Limits::default()).is_empty());
    }
}

#[test]
fn what_follows_says_from_what_and_proposes_nothing() {
    let tenant = Tenant::parse("demo").unwrap();
    let balance = fold(&money_of(wallet()), [posted(false, "10", 1), stored("7", "0", "0", 1)], &scope());
    let missing = fold(&group(&format!("transaction/{OTHER}")), [named(Some(&wallet().to_string()), None)], &scope());
    let mut all = [balance.clone(), missing].concat();
    explain(&mut all);
    assert_eq!(all[0].follows, Some(format!("transaction:{OTHER}")));
    assert!(all[0].proposal.is_none() && all[1].follows.is_none());
    assert_eq!(all[0].tenant, tenant);
    let mut alone = balance;
    explain(&mut alone);
    assert!(alone[0].follows.is_none() && alone[0].proposal.is_some());
}

proptest! {
    /// Whatever was posted before and meanwhile, and whenever the balance was read: a balance that holds what
    /// it should is no break, and one that is off by anything is.
    #[test]
    fn sums_are_exact(
        before in prop::collection::vec((1_i64..1_000_000, any::<bool>()), 0..20),
        during in prop::collection::vec((1_i64..1_000_000, any::<bool>()), 0..20),
        read_after in 0_usize..21,
        off in prop_oneof![Just(0_i64), -3_i64..4],
    ) {
        let merchant = Account::Merchant(MerchantId::parse(ID).unwrap());
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

#[test]
fn an_asset_of_a_group_is_the_one_that_is_found() {
    let regional = group(&format!("account/{}/REGIONAL#aoba", wallet()));
    let found = fold(&regional, [posted(false, "10", 1), stored("7", "0", "0", 1)], &scope());
    assert_eq!(found[0].asset, Asset::parse("REGIONAL#aoba").ok());
}
