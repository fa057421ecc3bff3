//! The table before the first event.

use super::{CUT_AT, FIRST, Limits, OF, PAID, SENDER, World, merchant, parts, person, settlement_id};
use ledger_core::bank::BankAccount;
use ledger_core::dynamo::{Item, Value};
use ledger_core::keys::{self, Key, Partition, attr};
use ledger_core::money::Asset;
use ledger_core::settlements::Destination;
use ledger_core::terms::SettlementTerms;
use ledger_tests::audit::Sums;
use ledger_tests::model::Model;
use std::sync::Arc;

impl World {
    /// Two settlements that are ready to be paid.
    pub(crate) fn new(limits: Limits) -> Self {
        let mut table = Model::new();
        for (number, (amount, pay_on)) in PAID.into_iter().enumerate() {
            let (own, amount) = (Partition::merchant(&OF, merchant(number)), Value::N(amount.to_string()));
            let sums = [(attr::BALANCE, Value::int(0)), (attr::HELD, amount.clone())];
            table.put(whole(&own.balance(&Asset::Ecopay), sums));
            table.put(whole(&keys::settling(&OF, merchant(number)), [("open", Value::s(settlement_id(number)))]));
            let sum = || Value::M(Item::from([("ECOPAY".to_owned(), amount.clone())]));
            let to = Destination::Bank(BankAccount::new(&parts("1234567")).unwrap());
            let terms = SettlementTerms { sender: Some(SENDER.clone()), ..SettlementTerms::free() };
            let charged = [
                ("settlement_id", Value::s(settlement_id(number))),
                ("merchant_id", Value::s(merchant(number))),
                ("state", Value::s("charged")),
                ("requested_by", Value::s(person(FIRST))),
                (attr::CREATED_AT, Value::s(CUT_AT)),
                (attr::UPDATED_AT, Value::s(CUT_AT)),
                ("pay_on", Value::s(pay_on)),
                ("destination", Value::M(to.item())),
                ("terms", Value::M(terms.item())),
                ("records", Value::int(1)),
                ("batches", Value::int(1)),
                ("taken", sum()),
                ("held_amounts", sum()),
                ("carried_in", Value::M(Item::new())),
                ("net", amount.clone()),
                ("fee", Value::int(0)),
                ("tax", Value::int(0)),
                ("payable", amount.clone()),
                ("paid_before", Value::int(0)),
                ("runs", Value::int(1)),
                ("shards", Value::int(1)),
                ("due_shards", Value::int(1)),
            ];
            table.put(whole(&keys::settlement(&OF, merchant(number), settlement_id(number)), charged));
        }
        let mut world = Self { table, files: Vec::new(), settlements: Vec::new(), posted: Sums::new(), age: 0, limits };
        world.settlements = (0..PAID.len()).map(|number| Arc::new(world.read_settlement(number))).collect();
        world
    }
}

fn whole<const N: usize>(key: &Key, attributes: [(&str, Value); N]) -> Item {
    let mut item: Item = attributes.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    item.insert(attr::PK.to_owned(), Value::s(key.pk()));
    item.insert(attr::SK.to_owned(), Value::s(key.sk()));
    item
}
