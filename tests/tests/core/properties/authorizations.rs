//! Random authorizations with concurrent transitions on the engine. Of several transitions planned from one read, one
//! applies; repetition changes nothing; balances are the sums of their postings; captures never exceed the hold.

use crate::properties::world::*;
use ledger_core::account::{Account, Bucket, TenantAccount};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::failure::Failure;
use ledger_core::forms::RoomGuard;
use ledger_core::ids::Principal;
use ledger_core::journal::JournalEntry;
use ledger_core::keys::{Partition, attr};
use ledger_core::money::{Amount, Asset, Balance};
use ledger_core::operation::Operation;
use ledger_core::payment_state::PaymentState;
use ledger_core::payments::code::PaymentCode;
use ledger_core::payments::{self, PaymentRecord};
use ledger_core::plan::{Context, PlanRefusal};
use ledger_core::terms::TenantTerms;
use ledger_core::transaction::{Planned, Transaction, Verdict};
use ledger_core::wallets::SeenWallet;
use ledger_tests::engine::{Contents, Table};
use ledger_tests::wire;
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::json;
use std::collections::BTreeMap;

/// A transition of the payment.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Transition {
    /// Captures this percentage of the hold, or all of it.
    Capture(Option<u64>),
    Void,
    /// By the worker, after the expiry time.
    Expire,
}

struct Shop {
    table: Table,
    terms: TenantTerms,
    split: Split,
    /// The balances at the start.
    opening: BTreeMap<String, Decimal>,
    /// The customer's debt after the authorization, in money and points.
    debts: Debts,
    requests: u128,
}

type Debts = [(Asset, u64); 2];

fn no_debts() -> Debts {
    [(Asset::Ecopay, 0), (Asset::Point, 0)]
}

impl Shop {
    /// A customer with exactly the hold, spare points, and debts that arise after the authorization.
    fn authorized(terms: &TenantTerms, split: Split, spare: u64, debts: Debts) -> Self {
        let table = Table::new();
        let mut opening = BTreeMap::new();
        let regional = regional_spec();
        for (asset, units) in
            [(&Asset::Ecopay, split.money), (&Asset::Point, split.points + spare), (regional.asset(), split.regional)]
        {
            let key = Partition::customer(&tenant(), customer(0xa)).balance(asset);
            let n = json!({ "N": units.to_string() });
            table.put(&json!({
                "uuid": { "S": key.pk() }, "type": { "S": key.sk() }, "balance": n, "held": { "N": "0" }, "exposure": n,
            }));
            opening.insert(asset.to_string(), Decimal::from(units));
        }
        begin_refund_room(&table);
        let profile = Partition::customer(&tenant(), customer(0xa)).profile();
        table.put(&json!({ "uuid": { "S": profile.pk() }, "type": { "S": profile.sk() } }));
        let issued = payments::code::plan(&tenant(), customer(0xa), None, &cx(1)).unwrap();
        let by_a = claim(Principal::Customer(customer(0xa)), Operation::PaymentCode, "k");
        table.execute(assemble(&issued.draft, &by_a).items()).unwrap();
        let command = payments::authorize::Authorize {
            tenant: tenant(),
            merchant: merchant(),
            code: PaymentCode::parse(issued.receipt.code.expose()).unwrap(),
            shop: None,
            parts: split.parts(terms),
            memo: None,
        };
        let plan = payments::authorize::plan(&command, terms, &cx(2)).unwrap();
        table.execute(assemble(&plan.draft, &by_merchant(Operation::Charge, 2)).items()).unwrap();
        for (asset, owed) in debts.iter().filter(|(_, owed)| *owed > 0) {
            let key = Partition::customer(&tenant(), customer(0xa)).balance(asset);
            let item = table.contents()[&(key.pk().to_owned(), key.sk().to_owned())].clone();
            let mut item = wire::item_to_json(&item);
            item["owed"] = json!({ "N": owed.to_string() });
            table.put(&item);
        }
        let shop = Self { table, terms: terms.clone(), split, opening, debts, requests: 2 };
        shop.check();
        shop
    }

    fn wallet(&self) -> SeenWallet {
        let contents = self.table.contents();
        let keys = SeenWallet::keys(&tenant(), customer(0xa));
        SeenWallet::read(keys.map(|key| contents.get(&(key.pk().to_owned(), key.sk().to_owned())).cloned())).unwrap()
    }

    fn payment(&self) -> PaymentRecord {
        payment(&self.table.contents())
    }

    /// Plans from the current records; an expiry is planned after the hold's time is over, the others before.
    fn plan(&mut self, transition: Transition) -> Result<Transaction, PlanRefusal> {
        let payment = self.payment();
        self.requests += 1;
        let cx = cx(self.requests);
        let late = Context { now: payment.expires_at.unwrap(), ..cx };
        let (t, m) = (tenant(), merchant());
        let assemble_as = |planned: Planned<PaymentRecord>, operation| {
            assemble(&planned.draft, &by_merchant(operation, self.requests))
        };
        match transition {
            Transition::Capture(percent) => {
                let amount = percent.map(|percent| yen((self.split.total() * percent / 100).max(1)));
                let capture = payments::capture::Capture {
                    tenant: &t,
                    merchant: &m,
                    payment: &payment,
                    wallet: &self.wallet(),
                    amount: amount.as_ref(),
                };
                Ok(assemble_as(payments::capture::plan(&capture, &self.terms, &cx)?, Operation::Capture))
            }
            Transition::Void => {
                let void = payments::void::Void { tenant: &t, payment: &payment, wallet: &self.wallet(), reason: None };
                Ok(assemble_as(payments::void::plan(&void, &self.terms, &cx)?, Operation::Void))
            }
            Transition::Expire => Ok(assemble_as(
                payments::expire::plan(&t, (&payment, &self.wallet()), &self.terms, &late)?,
                Operation::HoldExpire,
            )),
        }
    }

    fn refund(&mut self, amount: Option<u64>) -> Result<(), PlanRefusal> {
        let payment = self.payment();
        let (available, _) = sums(&self.table.contents());
        self.requests += 1;
        let amount = amount.map(yen);
        let command = payments::refund::Refund {
            wallet: &self.wallet(),
            tenant: &tenant(),
            merchant: &merchant(),
            payment: &payment,
            amount: amount.as_ref(),
            points: Some(&Balance::from_stored(Asset::Point, &available["POINT"].to_string()).unwrap()),
            reason: None,
            card: None,
            reference: None,
            room: RoomGuard::Enough,
            is_closed: false,
        };
        let plan = payments::refund::plan(&command, &self.terms, &cx(self.requests))?;
        let assembled = assemble(&plan.draft, &by_merchant(Operation::Refund, self.requests));
        self.table.execute(assembled.items()).unwrap();
        self.check();
        Ok(())
    }

    /// Checks that the released part paid the debt first.
    fn check_repaid(&self, ended: &PaymentRecord) {
        let wallet = self.wallet();
        for (asset, debt) in &self.debts {
            let captured = ended.captured.get(asset).map(Amount::value).unwrap_or_default();
            let released = ended.authorized.get(asset).map(Amount::value).unwrap_or_default() - captured;
            let left = wallet.get(asset).unwrap().owed.value();
            assert_eq!(left, (Decimal::from(*debt) - released).max(Decimal::ZERO), "{asset}");
        }
    }

    /// Executes a plan; returns whether it applied. If not, the plan was stale.
    fn run(&self, planned: &Transaction) -> bool {
        let before = self.table.contents();
        match self.table.execute(planned.items()) {
            Ok(()) => {
                self.check();
                true
            }
            Err(reasons) => {
                match planned.classify(&reasons) {
                    Verdict::Rejected(rejection) => assert_eq!(rejection.failure, Failure::StalePlan),
                    other
                    @ (Verdict::MarkerExists(_) | Verdict::Broken(_) | Verdict::Throttled | Verdict::Conflict) => {
                        panic!("{other:?}")
                    }
                }
                assert_eq!(self.table.contents(), before);
                false
            }
        }
    }

    /// What must hold at any time.
    fn check(&self) {
        let contents = self.table.contents();
        let payment = payment(&contents);
        let (mut available, mut held) = (self.opening.clone(), BTreeMap::<String, Decimal>::new());
        let (mut owed, mut repaid) = (BTreeMap::<String, Decimal>::new(), BTreeMap::<String, Decimal>::new());
        let owner = format!("customer:{}", customer(0xa));
        for entry in entries(&contents) {
            assert!(ledger_core::account::unbalanced(&entry.postings).unwrap().is_empty());
            for posting in entry.postings {
                let sums = match (posting.account.to_string() == owner, posting.bucket) {
                    (true, Bucket::Available) => &mut available,
                    (true, Bucket::Held) => &mut held,
                    (false, _) if posting.account.to_string().starts_with("merchant:") => &mut owed,
                    (false, _) if posting.account == Account::Tenant(TenantAccount::Disputes) => &mut repaid,
                    (false, _) => continue,
                };
                *sums.entry(posting.delta.asset().to_string()).or_default() += posting.delta.value();
            }
        }
        let (balances, holding) = sums(&contents);
        held.retain(|_, sum| !sum.is_zero());
        let wallet = self.wallet();
        for (asset, debt) in &self.debts {
            let paid = repaid.get(&asset.to_string()).copied().unwrap_or_default();
            let left = wallet.get(asset).unwrap().owed.value();
            assert_eq!(left, Decimal::from(*debt) - paid, "what is owed is what was, less what is posted");
            assert!(left >= Decimal::ZERO, "{asset}");
        }
        assert_eq!(balances, available, "what is available is what is posted");
        assert_eq!(holding, held, "what is held is what is posted");
        assert!(balances.values().chain(holding.values()).all(|sum| *sum >= Decimal::ZERO));
        let still = payment.state == PaymentState::Authorized;
        let of_payment = |(asset, amount): (&Asset, &Amount)| (asset.to_string(), amount.value());
        let expected = if still { payment.authorized.iter().map(of_payment).collect() } else { BTreeMap::new() };
        assert_eq!(holding, expected, "what is held is what the payment holds");
        for (asset, captured) in &payment.captured {
            assert!(captured.value() <= payment.authorized[asset].value(), "more is captured than was held");
            assert_eq!(owed[&asset.to_string()], payment.refundable[asset].value(), "{asset}");
        }
        assert!(payment.state.is_captured() || owed.is_empty());
        check_aggregates(&contents);
    }
}

fn by_merchant(operation: Operation, number: u128) -> ledger_core::idempotency::Claim {
    claim(Principal::Merchant(merchant().id), operation, &format!("k-{number}"))
}

fn payment(contents: &Contents) -> PaymentRecord {
    let (_, item) = contents.iter().find(|((_, sk), _)| sk == "PAYMENT").unwrap();
    PaymentRecord::read(item).unwrap()
}

fn entries(contents: &Contents) -> Vec<JournalEntry> {
    let entries = contents.iter().filter(|((_, sk), _)| sk.starts_with("TXN#"));
    entries.map(|(_, item)| JournalEntry::read(item).unwrap()).collect()
}

/// The sums of available and held value by asset, without assets of which nothing is held.
fn sums(contents: &Contents) -> (BTreeMap<String, Decimal>, BTreeMap<String, Decimal>) {
    let number = |item: &Item, name: &str| -> Decimal { item.number(name).unwrap().parse().unwrap() };
    let wallets = contents.iter().filter_map(|((_, sk), item)| Some((sk.strip_prefix("BALANCE#")?, item)));
    let (mut available, mut held) = (BTreeMap::new(), BTreeMap::new());
    for (asset, item) in wallets {
        assert_eq!(number(item, attr::EXPOSURE), number(item, attr::BALANCE) + number(item, attr::HELD));
        available.insert(asset.to_owned(), number(item, attr::BALANCE));
        held.insert(asset.to_owned(), number(item, attr::HELD));
    }
    held.retain(|_, sum| !sum.is_zero());
    (available, held)
}

fn transitions() -> impl Strategy<Value = Transition> {
    prop_oneof![
        proptest::option::of(1..=100_u64).prop_map(Transition::Capture),
        Just(Transition::Void),
        Just(Transition::Expire)
    ]
}

fn debts() -> impl Strategy<Value = Debts> {
    let owed = || prop_oneof![Just(0_u64), 1..3_000_u64];
    (owed(), owed()).prop_map(|(money, points)| [(Asset::Ecopay, money), (Asset::Point, points)])
}

/// Whether the transition, planned on a payment in this end state, returns the payment unchanged.
fn is_repeated(transition: Transition, payment: &PaymentRecord, total: u64) -> bool {
    match transition {
        Transition::Capture(percent) => {
            let same = percent.is_none_or(|percent| yen((total * percent / 100).max(1)) == payment.total);
            payment.state.is_captured() && same
        }
        Transition::Void => payment.state.is_released(),
        Transition::Expire => false,
    }
}

proptest! {
    #![proptest_config(super::cases(60))]

    #[test]
    fn concurrent_transitions_apply_once(
        terms in terms(),
        split in splits(),
        spare in 0..30_u64,
        debts in debts(),
        requested in proptest::collection::vec(transitions(), 1..4),
    ) {
        let mut shop = Shop::authorized(&terms, split, spare, debts);
        let planned: Vec<Transaction> = requested.iter().map(|transition| shop.plan(*transition).unwrap()).collect();
        let applied: Vec<bool> = planned.iter().map(|planned| shop.run(planned)).collect();
        prop_assert!(applied[0] && applied[1..].iter().all(|applied| !applied), "{applied:?}");
        let ended = shop.payment();
        let end = match requested[0] {
            Transition::Capture(_) => PaymentState::Captured,
            Transition::Void => PaymentState::Canceled,
            Transition::Expire => PaymentState::Expired,
        };
        prop_assert_eq!(ended.state, end);
        shop.check_repaid(&ended);
        // Planned again from the current payment, each is a repetition or is refused for the state.
        for transition in requested {
            let before = entries(&shop.table.contents()).len();
            match shop.plan(transition) {
                Ok(again) => {
                    prop_assert!(is_repeated(transition, &ended, split.total()), "{transition:?} of {}", ended.state);
                    prop_assert!(shop.run(&again));
                }
                Err(refusal) => {
                    prop_assert!(!is_repeated(transition, &ended, split.total()), "{transition:?} of {}", ended.state);
                    prop_assert_eq!(refusal, PlanRefusal::InState { state: ended.state, expired_at: None });
                }
            }
            prop_assert_eq!(shop.payment(), ended.clone());
            prop_assert_eq!(entries(&shop.table.contents()).len(), before);
        }
    }

    #[test]
    fn refunds_are_limited_to_the_captured_amount(
        terms in terms(), split in splits(), debts in debts(), percent in 1..=100_u64, first in 1..=100_u64,
    ) {
        let mut shop = Shop::authorized(&terms, split, 0, debts);
        let in_state = |state| PlanRefusal::InState { state, expired_at: None };
        prop_assert_eq!(shop.refund(None).unwrap_err(), in_state(PaymentState::Authorized));
        let capture = shop.plan(Transition::Capture(Some(percent))).unwrap();
        prop_assert!(shop.run(&capture));
        let taken = (split.total() * percent / 100).max(1);
        prop_assert_eq!(shop.payment().total, yen(taken));
        let over = PlanRefusal::Refused(Failure::OverRefund);
        prop_assert_eq!(shop.refund(Some(taken + 1)).unwrap_err(), over.clone());
        let part = (taken * first / 100).max(1);
        shop.refund(Some(part)).unwrap();
        prop_assert_eq!(shop.refund(Some(taken - part + 1)).unwrap_err(), over);
        if part < taken {
            shop.refund(None).unwrap();
        }
        prop_assert_eq!(shop.payment().state, PaymentState::Refunded);
    }

    #[test]
    fn capture_above_hold_or_after_expiry_is_refused(terms in terms(), split in splits(), more in 1..1_000_u64) {
        let shop = Shop::authorized(&terms, split, 0, no_debts());
        let (t, m, payment, amount) = (tenant(), merchant(), shop.payment(), yen(split.total() + more));
        let capture = payments::capture::Capture { tenant: &t, merchant: &m, payment: &payment, wallet: &SeenWallet::default(), amount: Some(&amount) };
        let refused = payments::capture::plan(&capture, &terms, &cx(9)).unwrap_err();
        prop_assert_eq!(refused, PlanRefusal::Invalid { field: "amount", why: "is more than was authorized" });
        let late = Context { now: payment.expires_at.unwrap(), ..cx(9) };
        let capture = payments::capture::Capture { amount: None, ..capture };
        let refused = payments::capture::plan(&capture, &terms, &late).unwrap_err();
        let expired_at = payment.expires_at;
        prop_assert_eq!(refused, PlanRefusal::InState { state: PaymentState::Authorized, expired_at });
        let early = payments::expire::plan(&t, (&payment, &SeenWallet::default()), &terms, &cx(9)).unwrap_err();
        prop_assert_eq!(early, PlanRefusal::Refused(Failure::StalePlan));
    }
}
