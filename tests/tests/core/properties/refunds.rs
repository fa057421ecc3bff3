//! A random payment refunded in random parts on the engine, while the customer's points change.
//! Refunds never exceed the payment, settle everything in the end, and leave no balance negative.

use crate::properties::world::*;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::failure::Failure;
use ledger_core::forms::RoomGuard;
use ledger_core::ids::Principal;
use ledger_core::journal::JournalEntry;
use ledger_core::keys::{Partition, attr};
use ledger_core::money::{Amount, Asset, Balance};
use ledger_core::operation::Operation;
use ledger_core::payment_state::PaymentState;
use ledger_core::payments::{self, PaymentRecord};
use ledger_core::plan::PlanRefusal;
use ledger_core::terms::TenantTerms;
use ledger_core::transaction::{Transaction, Verdict};
use ledger_core::wallets;
use ledger_tests::engine::{Contents, Table};
use ledger_tests::wire;
use proptest::prelude::*;
use rust_decimal::Decimal;
use serde_json::json;
use std::collections::BTreeMap;

struct Shop {
    table: Table,
    terms: TenantTerms,
    /// The changes of customers' balances made past the ledger.
    beside: BTreeMap<String, Decimal>,
    requests: u128,
}

impl Shop {
    fn new(terms: &TenantTerms) -> Self {
        let table = Table::new();
        begin_refund_room(&table);
        Self { table, terms: terms.clone(), beside: BTreeMap::new(), requests: 1 }
    }

    /// Sets a balance past the ledger, as other operations would.
    fn set(&mut self, asset: &Asset, balance: u64) {
        let key = Partition::customer(&tenant(), customer(0xa)).balance(asset);
        let before = balances(&self.table.contents()).get(&asset.to_string()).copied().unwrap_or_default();
        *self.beside.entry(asset.to_string()).or_default() += Decimal::from(balance) - before;
        let stored = self.table.contents().get(&(key.pk().to_owned(), key.sk().to_owned())).cloned();
        let mut item = wire::item_to_json(&stored.unwrap_or_default());
        let n = json!({ "N": balance.to_string() });
        for (name, value) in [("uuid", json!({ "S": key.pk() })), ("type", json!({ "S": key.sk() }))] {
            item[name] = value;
        }
        for (name, value) in [("balance", &n), ("held", &json!({ "N": "0" })), ("exposure", &n)] {
            item[name] = value.clone();
        }
        self.table.put(&item);
    }

    fn pay(&mut self, split: Split) {
        let command = payments::pay::Pay {
            tenant: tenant(),
            customer: customer(0xa),
            merchant: merchant(),
            parts: split.parts(&self.terms),
            memo: None,
        };
        let plan = payments::pay::plan(&command, &self.terms, &cx(1)).unwrap();
        let assembled = assemble(&plan.draft, &claim(Principal::Customer(customer(0xa)), Operation::Pay, "k"));
        self.table.execute(assembled.items()).unwrap();
    }

    fn plan(&mut self, amount: Option<u64>) -> Result<Transaction, PlanRefusal> {
        let contents = self.table.contents();
        let points = balances(&contents)["POINT"].to_string();
        self.requests += 1;
        let amount = amount.map(yen);
        let command = payments::refund::Refund {
            wallet: &wallets::SeenWallet::default(),
            tenant: &tenant(),
            merchant: &merchant(),
            payment: &payment(&contents),
            amount: amount.as_ref(),
            points: Some(&Balance::from_stored(Asset::Point, &points).unwrap()),
            reason: None,
            card: None,
            reference: None,
            room: RoomGuard::Enough,
            is_closed: false,
        };
        let plan = payments::refund::plan(&command, &self.terms, &cx(self.requests))?;
        let key = format!("refund-{}", self.requests);
        Ok(assemble(&plan.draft, &claim(Principal::Merchant(merchant().id), Operation::Refund, &key)))
    }

    /// The refundable rest of the payment, in yen.
    fn left(&self) -> u64 {
        let left = payment(&self.table.contents()).refundable.values().map(Balance::value).sum::<Decimal>();
        left.try_into().unwrap()
    }

    /// What must hold at any time.
    fn check(&self) {
        let contents = self.table.contents();
        let payment = payment(&contents);
        let mut posted = BTreeMap::<(String, String), Decimal>::new();
        for entry in entries(&contents) {
            assert!(ledger_core::account::unbalanced(&entry.postings).unwrap().is_empty());
            for posting in entry.postings {
                let key = (posting.account.to_string(), posting.delta.asset().to_string());
                *posted.entry(key).or_default() += posting.delta.value();
            }
        }
        let owner = format!("customer:{}", customer(0xa));
        for (asset, balance) in balances(&contents) {
            assert!(balance >= Decimal::ZERO, "{asset} below zero");
            let posted = posted.get(&(owner.clone(), asset.clone())).copied().unwrap_or_default();
            assert_eq!(balance, posted + self.beside[&asset], "{asset}: balance and postings");
        }
        let shop = format!("merchant:{}", merchant().id);
        for (asset, captured) in &payment.captured {
            let left = payment.refundable[asset].value();
            assert!(left >= Decimal::ZERO && left <= captured.value());
            let kept = posted.get(&(shop.clone(), asset.to_string())).copied().unwrap_or_default();
            assert_eq!(kept, left, "{asset}: what the merchant keeps is what is left");
        }
        let earned = payment.points_earned.as_ref().map_or(Decimal::ZERO, Amount::value);
        let taken_back = payment.points_taken_back.value();
        assert!(taken_back >= Decimal::ZERO && taken_back <= earned);
        check_aggregates(&contents);
    }
}

fn payment(contents: &Contents) -> PaymentRecord {
    let (_, item) = contents.iter().find(|((_, sk), _)| sk == "PAYMENT").unwrap();
    PaymentRecord::read(item).unwrap()
}

fn entries(contents: &Contents) -> Vec<JournalEntry> {
    let entries = contents.iter().filter(|((_, sk), _)| sk.starts_with("TXN#"));
    entries.map(|(_, item)| JournalEntry::read(item).unwrap()).collect()
}

fn balances(contents: &Contents) -> BTreeMap<String, Decimal> {
    let of = |((_, sk), item): (&(String, String), &Item)| {
        let asset = sk.strip_prefix("BALANCE#")?;
        Some((asset.to_owned(), item.number(attr::BALANCE).unwrap().parse().unwrap()))
    };
    contents.iter().filter_map(of).collect()
}

fn opened(terms: &TenantTerms, split: Split, spare_points: u64) -> Shop {
    let mut shop = Shop::new(terms);
    shop.set(&Asset::Ecopay, split.money);
    shop.set(&Asset::Point, split.points + spare_points);
    shop.set(regional_spec().asset(), split.regional);
    shop.pay(split);
    shop.check();
    shop
}

proptest! {
    #![proptest_config(super::cases(60))]

    #[test]
    fn partial_refunds_add_up_to_the_payment(
        terms in terms(),
        split in splits(),
        spare in 0..30_u64,
        steps in proptest::collection::vec((1..=100_u64, proptest::option::of(0..40_u64)), 0..6),
    ) {
        let mut shop = opened(&terms, split, spare);
        for (percent, points) in steps {
            if let Some(points) = points {
                // The customer's points change between the refunds.
                shop.set(&Asset::Point, points);
            }
            let left = shop.left();
            prop_assert_eq!(shop.plan(Some(left + 1)).unwrap_err(), PlanRefusal::Refused(Failure::OverRefund));
            if left == 0 {
                break;
            }
            let refund = shop.plan(Some((left * percent / 100).max(1))).unwrap();
            shop.table.execute(refund.items()).unwrap();
            shop.check();
        }
        if shop.left() > 0 {
            let rest = shop.plan(None).unwrap();
            shop.table.execute(rest.items()).unwrap();
            shop.check();
        }
        prop_assert_eq!(shop.plan(None).unwrap_err(), PlanRefusal::Refused(Failure::OverRefund));
        let contents = shop.table.contents();
        let payment = payment(&contents);
        prop_assert_eq!(payment.state, PaymentState::Refunded);
        prop_assert_eq!(shop.left(), 0);
        let earned = payment.points_earned.as_ref().map_or(Decimal::ZERO, Amount::value);
        prop_assert_eq!(payment.points_taken_back.value(), earned, "every earned point is settled");
        prop_assert_eq!(aggregate(&contents, "co2_total"), Decimal::ZERO);
        prop_assert_eq!(aggregate(&contents, "refunded_total"), aggregate(&contents, "paid_total"));
    }

    #[test]
    fn concurrent_refunds_apply_once(
        terms in terms(), split in splits(), one in 1..=100_u64, other in 1..=100_u64,
    ) {
        let mut shop = opened(&terms, split, 0);
        let total = split.total();
        let part = |percent: u64| (total * percent / 100).max(1);
        let (first, second) = (shop.plan(Some(part(one))).unwrap(), shop.plan(Some(part(other))).unwrap());
        shop.table.execute(first.items()).unwrap();
        let before = shop.table.contents();
        let reasons = shop.table.execute(second.items()).unwrap_err();
        match second.classify(&reasons) {
            Verdict::Rejected(rejection) => prop_assert_eq!(rejection.failure, Failure::StalePlan),
            other @ (Verdict::MarkerExists(_) | Verdict::Broken(_) | Verdict::Throttled | Verdict::Conflict) => {
                panic!("{other:?}")
            }
        }
        prop_assert_eq!(shop.table.contents(), before);
        // Planned again, it is refunded if that much is left, and refused for good if not.
        match shop.plan(Some(part(other))) {
            Ok(again) => {
                prop_assert!(part(one) + part(other) <= total);
                shop.table.execute(again.items()).unwrap();
            }
            Err(refusal) => {
                prop_assert!(part(one) + part(other) > total);
                prop_assert_eq!(refusal, PlanRefusal::Refused(Failure::OverRefund));
            }
        }
        shop.check();
    }
}
