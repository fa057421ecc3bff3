//! Random sequences of holds, reservations and their ends, on the engine and on a model.
//! Exposure is the sum of three parts, and the books are the sum of two of them.

use crate::properties::world::*;
use ledger_core::account::{self, Account, Bucket, Posting, TenantAccount};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::forms;
use ledger_core::ids::{Principal, TransactionId};
use ledger_core::journal::JournalEntry;
use ledger_core::keys::{Partition, Shards};
use ledger_core::money::Asset;
use ledger_core::operation::Operation;
use ledger_core::terms::{EntryTerms, TermsVersion};
use ledger_core::transaction::{Draft, Entry, Role, TransactItem, Verdict};
use ledger_tests::engine::{Contents, Table};
use ledger_tests::wire;
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::json;
use uuid::Uuid;

/// The cap on the account's exposure.
const CAP: u64 = 1000;

#[derive(Clone, Copy, Debug)]
enum Step {
    Credit(u64),
    Debit(u64),
    Reserve(u64),
    Release(u64),
    Receive(u64),
    /// `true` if the owner acts, which a freeze stops.
    Hold(u64, bool),
    PayOut(u64),
    ReleaseHold(u64),
    /// Of the held amount, how much is captured, and how much is earned.
    CaptureHold(u64, u64, u64),
    /// Sets or clears the freeze.
    Freeze(bool),
}

/// The expected state of the account.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Model {
    balance: u64,
    held: u64,
    reserved: u64,
    frozen: bool,
}

impl Model {
    /// The account after a step, or `None` if the step is refused.
    fn after(mut self, step: Step) -> Option<Self> {
        let exposure = self.balance + self.held + self.reserved;
        match step {
            Step::Credit(x) => self.balance += x,
            Step::Debit(x) => self.balance = self.balance.checked_sub(x).filter(|_| !self.frozen)?,
            Step::Reserve(x) if exposure + x > CAP => return None,
            Step::Reserve(x) => self.reserved += x,
            Step::Release(x) => self.reserved = self.reserved.checked_sub(x)?,
            Step::Receive(x) => {
                self.reserved = self.reserved.checked_sub(x)?;
                self.balance += x;
            }
            Step::Hold(x, own) => {
                self.balance = self.balance.checked_sub(x).filter(|_| !(own && self.frozen))?;
                self.held += x;
            }
            Step::PayOut(x) => self.held = self.held.checked_sub(x)?,
            Step::ReleaseHold(x) => {
                self.held = self.held.checked_sub(x)?;
                self.balance += x;
            }
            Step::CaptureHold(x, taken, earned) => {
                self.held = self.held.checked_sub(x)?;
                self.balance += x - taken + earned;
            }
            Step::Freeze(frozen) => self.frozen = frozen,
        }
        Some(self)
    }
}

fn account() -> Account {
    Account::Customer(customer(0xa))
}

fn action(step: Step) -> Option<TransactItem> {
    let (tenant, at) = (tenant(), now());
    match step {
        Step::Credit(x) => forms::credit(&tenant, Role::Payee, account(), &yen(x), at),
        Step::Debit(x) => forms::debit(&tenant, Role::Payer, account(), &yen(x), at),
        Step::Reserve(x) => forms::reserve(&tenant, account(), &yen(x), Some(&yen(CAP)), at),
        Step::Release(x) => forms::release(&tenant, account(), &yen(x), at),
        Step::Receive(x) => forms::receive(&tenant, account(), &yen(x), at),
        Step::Hold(x, own) => forms::hold(&tenant, Role::Payer, account(), &yen(x), own, at),
        Step::PayOut(x) => forms::pay_out(&tenant, Role::Payer, account(), &yen(x), at),
        Step::ReleaseHold(x) => forms::release_hold(&tenant, Role::Payer, account(), &yen(x), None, at),
        Step::CaptureHold(x, taken, earned) => {
            let some = |units: u64| (units > 0).then(|| yen(units));
            let (taken, earned) = (some(taken), some(earned));
            let parts = (taken.as_ref(), earned.as_ref());
            forms::capture_hold(&tenant, Role::Payer, account(), &yen(x), parts, at)
        }
        Step::Freeze(_) => None,
    }
}

/// The entry of an action's postings; a remainder is posted against adjustments.
fn entry(item: &TransactItem, number: u128) -> Option<Entry> {
    let mut postings = item.postings().cloned().collect::<Vec<_>>();
    let sum = account::net(postings.iter().map(|posting| ((), &posting.delta))).unwrap();
    let other = sum.values().map(|sum| Posting::new(Account::Tenant(TenantAccount::Adjustments), sum.inverse()));
    postings.extend(other.collect::<Vec<_>>());
    let id = TransactionId::new(Uuid::from_u128(number));
    let (references, details) = (Vec::new(), Item::new());
    (!postings.is_empty()).then_some(Entry {
        id,
        home: account(),
        postings,
        references,
        details,
        memo: None,
        terms: EntryTerms { due_shards: Shards::ONE, version: TermsVersion::FIRST },
    })
}

fn number(item: &Item, name: &str) -> Decimal {
    item.opt_number(name).unwrap().map_or(Decimal::ZERO, |text| text.parse().unwrap())
}

fn wallet(contents: &Contents) -> &Item {
    contents.iter().find(|((_, sk), _)| sk == "BALANCE#ECOPAY").unwrap().1
}

fn check(contents: &Contents, model: Model) {
    let wallet = wallet(contents);
    let parts = ["balance", "held", "reserved"].map(|name| number(wallet, name));
    assert_eq!(parts, [model.balance, model.held, model.reserved].map(Decimal::from), "{model:?}");
    assert_eq!(number(wallet, "exposure"), parts.iter().sum(), "what counts against the cap");
    let mut posted = [Decimal::ZERO; 2];
    for item in contents.iter().filter(|((_, sk), _)| sk.starts_with("TXN#")).map(|(_, item)| item) {
        for posting in JournalEntry::read(item).unwrap().postings {
            if posting.account == account() {
                let part = match posting.bucket {
                    Bucket::Available => 0,
                    Bucket::Held => 1,
                };
                posted[part] += posting.delta.value();
            }
        }
    }
    assert_eq!(posted, [parts[0], parts[1]], "the books");
}

/// Runs a step; returns whether it was applied.
fn run(table: &Table, step: Step, number: u128) -> bool {
    if let Step::Freeze(frozen) = step {
        let mut item = wire::item_to_json(wallet(&table.contents()));
        let item_ = item.as_object_mut().unwrap();
        item_.remove("frozen");
        if frozen {
            item_.insert("frozen".to_owned(), json!({ "S": "staff:x" }));
        }
        table.put(&item);
        return true;
    }
    // An amount above the cap alone has no action.
    let Some(item) = action(step) else { return false };
    let draft = Draft { entry: entry(&item, number), items: vec![item] };
    let claim = claim(Principal::Customer(customer(0xa)), Operation::Pay, &format!("k-{number}"));
    let assembled = assemble(&draft, &claim);
    match table.execute(assembled.items()) {
        Ok(()) => true,
        Err(reasons) => {
            assert!(matches!(assembled.classify(&reasons), Verdict::Rejected(_)), "{reasons:?}");
            false
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let some = || prop_oneof![1..=20_u64, 1..=400_u64, Just(CAP), Just(CAP + 1)];
    let step = prop_oneof![
        some().prop_map(Step::Credit),
        some().prop_map(Step::Debit),
        some().prop_map(Step::Reserve),
        some().prop_map(Step::Release),
        some().prop_map(Step::Receive),
        (some(), any::<bool>()).prop_map(|(x, own)| Step::Hold(x, own)),
        some().prop_map(Step::PayOut),
        some().prop_map(Step::ReleaseHold),
        (1..=400_u64, 0..=100_u64, 0..=9_u64).prop_map(|(x, percent, earned)| Step::CaptureHold(
            x,
            x * percent / 100,
            earned
        )),
        any::<bool>().prop_map(Step::Freeze),
    ];
    proptest::collection::vec(step, 1..25)
}

proptest! {
    #![proptest_config(super::cases(100))]

    #[test]
    fn account_parts_equal_exposure_and_postings(steps in steps()) {
        let table = Table::new();
        let key = Partition::customer(&tenant(), customer(0xa)).balance(&Asset::Ecopay);
        let nothing = json!({ "N": "0" });
        table.put(&json!({
            "uuid": { "S": key.pk() }, "type": { "S": key.sk() }, "balance": nothing, "held": nothing, "exposure": nothing,
        }));
        let mut model = Model::default();
        for (at, step) in steps.into_iter().enumerate() {
            let before = table.contents();
            let applied = run(&table, step, at as u128 + 1);
            let expected = model.after(step);
            prop_assert_eq!(applied, expected.is_some(), "{:?} on {:?}", step, model);
            model = expected.unwrap_or(model);
            let contents = table.contents();
            if !applied {
                prop_assert_eq!(&contents, &before, "a refused step does not change the table");
            }
            check(&contents, model);
        }
    }
}
