mod accounts;
mod bank_files;
mod cash_rooms;
mod credits;
mod entries;
mod items;
mod lines;
mod payments;
mod periods;
mod rooms;
mod settlements;
mod standing;
mod topups;

use super::*;
use crate::account::Account;
use crate::crediting::CreditKind;
use crate::dynamo::{Item, Value};
use crate::ids::{CustomerId, MerchantId, RefundId, Tenant, TerminalOwner, TransactionId};
use crate::money::Asset;
use crate::psp::PspId;
use crate::time::Timestamp;

const ID: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5e";
const OTHER: &str = "019389d2-7c1e-7a52-9c3f-2b1f6a0c4d5f";

/// A fact of one kind of group, so that a test names the group once.
trait InGroup: Clone {
    fn in_group(self, subject: &Subject) -> GroupFact;
}

macro_rules! in_group {
    ($($fact:ty: $subject:ident;)*) => {$(
        impl InGroup for $fact {
            fn in_group(self, subject: &Subject) -> GroupFact {
                match subject {
                    Subject::$subject(id) => GroupFact::$subject(id.clone(), self),
                    other => panic!("{self:?} is of no {other:?}"),
                }
            }
        }
    )*};
}

in_group! {
    EntryFact: Entry;
    KeyFact: Key;
    PaymentFact: Payment;
    TopupFact: Topup;
    SettlementFact: Settlement;
    BankFileFact: BankFile;
}

impl InGroup for AccountFact {
    fn in_group(self, subject: &Subject) -> GroupFact {
        let Subject::Account(account, asset) = subject else { panic!("{self:?} is of no {subject:?}") };
        GroupFact::Account(*account, asset.clone(), self)
    }
}

impl InGroup for PeriodFact {
    fn in_group(self, subject: &Subject) -> GroupFact {
        let Subject::Period(merchant, number) = subject else { panic!("{self:?} is of no {subject:?}") };
        GroupFact::Period(*merchant, *number, self)
    }
}

impl InGroup for CashRoomFact {
    fn in_group(self, subject: &Subject) -> GroupFact {
        let Subject::CashRoom(terminal) = subject else { panic!("{self:?} is of no {subject:?}") };
        GroupFact::CashRoom(*terminal, self)
    }
}

impl InGroup for RoomsFact {
    fn in_group(self, subject: &Subject) -> GroupFact {
        let Subject::Rooms(owner) = subject else { panic!("{self:?} is of no {subject:?}") };
        GroupFact::Rooms(*owner, self)
    }
}

fn facts_of<F: InGroup>(group: &Group, facts: &[F]) -> Vec<Fact> {
    let fact = |fact: &F| Fact { tenant: group.tenant.clone(), content: fact.clone().in_group(&group.subject) };
    facts.iter().map(fact).collect()
}

fn found<F: InGroup>(group: &Group, facts: &[F], scope: &Scope) -> Vec<Finding> {
    fold(group, facts_of(group, facts), scope)
}

fn kinds<F: InGroup>(group: &Group, facts: &[F], scope: &Scope) -> Vec<&'static str> {
    found(group, facts, scope).iter().map(|finding| finding.kind.name()).collect()
}

fn num(text: &str) -> Num {
    Num::parse(text).unwrap()
}

fn nums(all: &[(&str, &str)]) -> Nums {
    all.iter().map(|(asset, number)| (Asset::parse(asset).unwrap(), num(number))).collect()
}

fn wallet() -> Account {
    Account::Customer(CustomerId::parse(ID).unwrap())
}

fn merchant_id() -> MerchantId {
    MerchantId::parse(ID).unwrap()
}

fn refund_id() -> RefundId {
    RefundId::parse(OTHER).unwrap()
}

fn psp_id(text: &str) -> PspId {
    PspId::parse(text).unwrap()
}

/// The id of an entry, by number.
fn transaction(number: u8) -> TransactionId {
    TransactionId::parse(&format!("019389d2-7c1e-7a52-9c3f-{number:012}")).unwrap()
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

/// A scope in which the provider's objects that were created until 100 were listed.
fn listed_scope() -> Scope {
    Scope { listed: Some((Timestamp::from_millis(0), Timestamp::from_millis(100))), ..scope() }
}

fn posted(held: bool, delta: &str, at: i64) -> AccountFact {
    AccountFact::Posted { held, delta: num(delta), at }
}

fn amounts(balance: &str, held: &str, reserved: &str, updated_at: i64) -> BalanceAmounts {
    let (balance, held, reserved) = (num(balance), num(held), num(reserved));
    let (owed, exposure, corrections, corrected_at) = (Num::ZERO, None, 0, None);
    BalanceAmounts { balance, held, reserved, owed, exposure, corrections, corrected_at, updated_at }
}

fn stored(balance: &str, held: &str, reserved: &str, at: i64) -> AccountFact {
    AccountFact::Balance { item: BalanceItem::Own, amounts: amounts(balance, held, reserved, at) }
}

fn named(home: Option<Account>, claim: Option<EntryClaim>) -> EntryFact {
    EntryFact::Reference { by: "payment:1".to_owned(), home, merchant: None, claim }
}

#[test]
fn break_follows_from_the_missing_entry_and_proposes_nothing() {
    let tenant = Tenant::parse("demo").unwrap();
    let balance = found(&money_of(wallet()), &[posted(false, "10", 1), stored("7", "0", "0", 1)], &scope());
    let missing = found(&group(&format!("transaction/{OTHER}")), &[named(Some(wallet()), None)], &scope());
    let mut all = [balance.clone(), missing].concat();
    explain(&mut all);
    assert_eq!(all[0].follows, Some(format!("transaction:{OTHER}")));
    assert!(all[0].proposal.is_none() && all[1].follows.is_none());
    assert_eq!(all[0].tenant, tenant);
    let mut alone = balance;
    explain(&mut alone);
    assert!(alone[0].follows.is_none() && alone[0].proposal.is_some());
}

#[test]
fn facts_of_several_groups_are_checked_each_in_its_own() {
    let (one, two) = (money_of(wallet()), group(&format!("transaction/{OTHER}")));
    let mut groups = Groups::default();
    let balance = facts_of(&one, &[posted(false, "10", 1), stored("7", "0", "0", 1)]);
    for fact in [balance, facts_of(&two, &[named(None, None)])].concat() {
        groups.take(fact, &scope());
    }
    let findings = groups.findings(&scope());
    let found: Vec<_> = findings.iter().map(|(group, finding)| (group, finding.kind.name())).collect();
    assert_eq!(found, [(&one, "balance_differs"), (&two, "entry_missing")]);
    // An opened group is checked even without facts, and the other group's facts are checked too.
    assert_eq!(kinds::<PaymentFact>(&group(&format!("payment/{ID}")), &[], &scope()), ["payment_missing"]);
    let both = fold(&two, facts_of(&one, &[posted(false, "10", 1)]), &scope());
    let names: Vec<_> = both.iter().map(|finding| finding.kind.name()).collect();
    assert_eq!(names, ["balance_differs", "entry_missing"]);
}
