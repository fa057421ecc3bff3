//! A customer's balance is credited, reserved on and settled only while its wallet is not closed.

use super::super::open_wallet;
use super::*;
use crate::ids::CardId;

/// Each kind of change of a customer's balance that needs an open wallet, with its postings.
fn changes_of_open_wallet() -> Vec<(&'static str, TransactItem, Vec<Posting>)> {
    let (of, amount) = (account(1), yen("100"));
    let (gained, lost) = (Posting::new(of, amount.credit()), Posting::new(of, amount.debit()));
    let (set_aside, ended) = (Posting::held(of, amount.credit()), Posting::held(of, amount.debit()));
    let (given, taken) = (Posting::new(ADJUSTMENTS, amount.debit()), Posting::new(ADJUSTMENTS, amount.credit()));
    let comes = vec![gained.clone(), given];
    let owed = debit("100").guarded_also(vec![open_wallet(Failure::StalePlan)]);
    let owed = owed.changing(|update| update.add(attr::OWED, "owed", Value::int(1)));
    let mut changes = vec![("owed", owed, vec![lost.clone(), taken.clone()])];
    let t = &tenant();
    for (name, item, postings) in [
        ("credit", forms::credit(t, Role::Payee, of, &amount, now()), comes.clone()),
        ("return", forms::return_credit(t, Role::Payee, of, &amount, now()), comes.clone()),
        ("top-up", forms::top_up(t, Role::Payee, of, &amount, None, &yen("900"), now()), comes.clone()),
        (
            "points in",
            forms::settle(t, Role::Points, of, (None, Some(&amount)), Failure::Insufficient, true, now()),
            comes.clone(),
        ),
        ("reserve", forms::reserve(t, of, &amount, Some(&yen("900")), now()), Vec::new()),
        ("release", forms::release(t, of, &amount, now()), Vec::new()),
        ("receive", forms::receive(t, of, &amount, now()), comes.clone()),
        ("receive instead", forms::receive_instead(t, of, &yen("200"), &amount, now()), comes),
        ("hold", forms::hold(t, Role::Payer, of, &amount, true, now()), vec![lost, set_aside]),
        ("pay out", forms::pay_out(t, Role::Payer, of, &amount, now()), vec![ended.clone(), taken.clone()]),
        (
            "release of a hold",
            forms::release_hold(t, Role::Payer, of, &amount, None, now()),
            vec![ended.clone(), gained],
        ),
        ("capture", forms::capture_hold(t, Role::Payer, of, &amount, (Some(&amount), None), now()), vec![ended, taken]),
    ] {
        changes.push((name, item.unwrap(), postings));
    }
    changes
}

#[test]
fn customers_balance_is_credited_reserved_on_and_settled_only_while_its_wallet_is_open() {
    let assembled = |item: TransactItem, postings: &[Posting]| {
        assemble((!postings.is_empty()).then(|| entry(postings.to_vec())), vec![item])
    };
    for (name, item, postings) in changes_of_open_wallet() {
        assert!(item.requires_open_wallet(), "{name}");
        assert_eq!(assembled(item.clone(), &postings).map(|_| ()), Ok(()), "{name}");
        let role = item.role();
        let guards = item.clauses().iter().filter(|clause| clause.condition != Condition::absent(attr::CLOSED_AT));
        let unguarded = item.clone().guarded_by(guards.cloned().collect());
        assert_eq!(assembled(unguarded, &postings), Err(BuildError::OpenWalletNotRequired(role)), "{name}");
    }
    // The freeze of a closed wallet stops a debit.
    assert!(!debit("100").requires_open_wallet());
    let frozen =
        Item::from([("uuid", "x"), ("frozen", "closed")].map(|(name, text)| (name.to_owned(), Value::s(text))));
    assert_eq!(debit("100").failure_on(Some(&frozen)).map(|clause| clause.failure), Some(Failure::AccountFrozen));
    // A card has a state of its own.
    let card = Account::Card(CardId::new(Uuid::from_u128(1)));
    let credit = forms::credit(&tenant(), Role::Card, card, &yen("100"), now()).unwrap();
    assert!(!credit.requires_open_wallet() && !credit.needs_open_wallet());
}
