//! What a payment writes in each design, and the keys of all items.
//!
//! Ours is that of `docs/architecture/records.md`: a payment in money has 5 items of up to 1 KB and
//! an entry in each index, 12 write units. The customer's aggregates are beside the balance, in its action.

use crate::model::table::{Action, Change, Condition, Entry, Index, Key, Transaction, Writer};

/// `Lanes::MAX` of `ledger_core::sealing::lanes`.
pub const LANES_MAX: u32 = 16;

/// How a payment changes its merchant's balance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Ours: not at all; the transaction that seals its journal entry credits the merchant.
    Credited,
    /// In the payment's transaction, on one item.
    Synchronous,
    /// In the payment's transaction, on one of so many items with partition keys of their own, chosen at random.
    Sharded(u32),
}

impl Design {
    /// The designs that are compared.
    pub const ALL: [Self; 4] = [Self::Credited, Self::Synchronous, Self::Sharded(16), Self::Sharded(64)];

    /// The name in tables and plots.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Credited => "ours".to_owned(),
            Self::Synchronous => "synchronous".to_owned(),
            Self::Sharded(shards) => format!("sharded-{shards}"),
        }
    }

    /// How many items hold the merchant's balance; in ours, one for each lane that the audit trail may have.
    #[must_use]
    pub fn balances(self) -> u32 {
        match self {
            Self::Credited => LANES_MAX,
            Self::Synchronous => 1,
            Self::Sharded(shards) => shards,
        }
    }
}

/// A payment of a customer to the merchant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payment {
    /// Its number, which is also the order of its creation.
    pub id: u32,
    /// The customer.
    pub customer: u32,
    /// The amount in yen.
    pub amount: i64,
    /// The shard of its entry in the index `due` of its tenant.
    pub tenant_shard: u32,
    /// The shard of its entry under its merchant.
    pub merchant_shard: u32,
    /// Which of the merchant's balances its transaction changes, where it changes one.
    pub balance: u32,
}

/// The units of a journal entry, a payment's record and an index entry: each up to 1 KB.
const ONE_KB: u64 = 1;

impl Payment {
    /// The payment's transaction.
    #[must_use]
    pub fn transaction(&self, design: Design) -> Transaction {
        let by_owner = entry(Index::ByOwner, Kind::OwnerList, self.merchant_shard);
        let publish = entry(Index::Due, Kind::DuePublish, self.tenant_shard);
        let mut actions = vec![
            put(key(Kind::Customer, self.customer, MARKER | u64::from(self.id)), Vec::new()),
            Action {
                condition: Condition::AtLeast(self.amount),
                ..add(balance(self.customer), self.amount.saturating_neg())
            },
            add(key(Kind::Customer, self.customer, POINTS), self.amount / 100),
            put(payment_record(self.id), vec![by_owner]),
            put(journal_entry(self.customer, self.id), vec![publish]),
        ];
        match design {
            Design::Credited => {}
            Design::Synchronous | Design::Sharded(_) => {
                actions.push(add(merchant_balance(design, self.balance), self.amount));
            }
        }
        Transaction { writer: Writer::Customer(self.customer), actions }
    }
}

/// The kind of a partition key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A customer's items.
    Customer,
    /// A payment's.
    Payment,
    /// The merchant's.
    Merchant,
    /// One shard of the merchant's balance, where it has several.
    MerchantShard,
    /// A lane's of the audit trail.
    Lane,
    /// A shard of `by_owner`.
    OwnerList,
    /// A shard of `due` for journal entries to be published and sealed.
    DuePublish,
}

const BALANCE: u64 = 0;
const POINTS: u64 = 1;
/// Sort keys of markers and of journal entries are these and the number of the payment.
const MARKER: u64 = 1 << 40;
const ENTRY: u64 = 2 << 40;
/// Sort keys of a merchant's sums are this and the number of the lane.
const CREDITED: u64 = 3 << 40;

/// The partition key of a kind and number.
#[must_use]
pub fn partition_key(kind: Kind, number: u32) -> u64 {
    let kind: u64 = match kind {
        Kind::Customer => 1,
        Kind::Payment => 2,
        Kind::Merchant => 3,
        Kind::MerchantShard => 4,
        Kind::Lane => 5,
        Kind::OwnerList => 6,
        Kind::DuePublish => 7,
    };
    (kind << 40) | u64::from(number)
}

fn key(kind: Kind, number: u32, sk: u64) -> Key {
    Key { pk: partition_key(kind, number), sk }
}

/// A customer's balance.
#[must_use]
pub fn balance(customer: u32) -> Key {
    key(Kind::Customer, customer, BALANCE)
}

/// A customer's points, which a payment adds to.
#[must_use]
pub fn points(customer: u32) -> Key {
    key(Kind::Customer, customer, POINTS)
}

/// A payment's record.
#[must_use]
pub fn payment_record(payment: u32) -> Key {
    key(Kind::Payment, payment, 0)
}

/// A payment's journal entry. Its number is 0, and 1 once sealed, which in our design credits the merchant.
#[must_use]
pub fn journal_entry(customer: u32, payment: u32) -> Key {
    key(Kind::Customer, customer, ENTRY | u64::from(payment))
}

/// A merchant's balance, or one of the items that hold it. In our design, that is `CREDITED#<lane>`.
#[must_use]
pub fn merchant_balance(design: Design, number: u32) -> Key {
    match design {
        Design::Credited => key(Kind::Merchant, 0, CREDITED | u64::from(number)),
        Design::Synchronous => key(Kind::Merchant, 0, BALANCE),
        Design::Sharded(_) => key(Kind::MerchantShard, number, BALANCE),
    }
}

/// The head of a lane of the tenant's audit trail. Each lane has a partition of its own.
#[must_use]
pub fn lane_head(lane: usize) -> Key {
    key(Kind::Lane, u32::try_from(lane).unwrap_or(u32::MAX), 0)
}

/// A segment of a lane of the tenant's audit trail.
#[must_use]
pub fn lane_segment(lane: usize, number: u32) -> Key {
    key(Kind::Lane, u32::try_from(lane).unwrap_or(u32::MAX), u64::from(number).saturating_add(1))
}

/// One write of an index entry.
#[must_use]
pub fn entry(index: Index, kind: Kind, shard: u32) -> Entry {
    Entry { index, pk: partition_key(kind, shard), kilobytes: ONE_KB }
}

/// An `ADD` without a condition.
#[must_use]
pub fn add(key: Key, delta: i64) -> Action {
    Action { key, kilobytes: ONE_KB, condition: Condition::None, change: Change::Add(delta), entries: Vec::new() }
}

/// An update of an item's number from what was read.
#[must_use]
pub fn replace(key: Key, seen: Option<i64>, to: i64, entries: Vec<Entry>) -> Action {
    let condition = seen.map_or(Condition::Absent, Condition::Equals);
    Action { key, kilobytes: ONE_KB, condition, change: Change::Set(to), entries }
}

/// A put of an item that does not exist.
fn put(key: Key, entries: Vec<Entry>) -> Action {
    replace(key, None, 0, entries)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::limits::TRANSACTION_UNITS_PER_KB;

    const PAYMENT: Payment =
        Payment { id: 7, customer: 3, amount: 1_740, tenant_shard: 1, merchant_shard: 2, balance: 0 };

    #[expect(clippy::arithmetic_side_effects, reason = "small numbers of a test")]
    fn units(transaction: &Transaction) -> u64 {
        let entries = transaction.actions.iter().flat_map(|action| &action.entries).map(|entry| entry.kilobytes);
        let items = transaction.actions.iter().map(|action| action.kilobytes * TRANSACTION_UNITS_PER_KB);
        items.sum::<u64>() + entries.sum::<u64>()
    }

    #[test]
    fn our_payment_has_the_items_and_index_entries_of_the_golden_vector() {
        let vector = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/pay/money.json");
        let vector: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(vector).unwrap()).unwrap();
        let actions = vector["request"].as_array().unwrap();
        let set = |attribute| actions.iter().filter(|action| !action["Put"]["Item"][attribute].is_null()).count();
        assert_eq!((actions.len(), set("owner_pk"), set("_due_pk")), (5, 1, 1));
        let ours = PAYMENT.transaction(Design::Credited);
        let of = |index| ours.actions.iter().flat_map(|it| &it.entries).filter(|entry| entry.index == index).count();
        assert_eq!((ours.actions.len(), of(Index::ByOwner), of(Index::Due)), (5, 1, 1));
        assert_eq!(units(&ours), 12);
    }

    #[test]
    fn payment_writes_none_of_the_items_that_hold_its_merchants_balance_in_our_design_alone() {
        let written = |design: Design| {
            let balances: Vec<Key> = (0..design.balances()).map(|number| merchant_balance(design, number)).collect();
            PAYMENT.transaction(design).actions.into_iter().filter(|action| balances.contains(&action.key)).count()
        };
        assert_eq!((written(Design::Credited), written(Design::Synchronous), written(Design::Sharded(16))), (0, 1, 1));
    }

    #[test]
    fn payments_of_different_customers_share_no_item_in_our_design_alone() {
        let other = Payment { id: 8, customer: 4, ..PAYMENT };
        let shared = |design| {
            let keys = |payment: Payment| payment.transaction(design).actions.into_iter().map(|action| action.key);
            keys(PAYMENT).filter(|key| keys(other).any(|of_other| of_other == *key)).count()
        };
        assert_eq!((shared(Design::Credited), shared(Design::Synchronous), shared(Design::Sharded(16))), (0, 1, 1));
    }

    #[test]
    fn keys_of_different_kinds_differ() {
        let keys = [balance(1), points(1), payment_record(1), journal_entry(1, 1), lane_segment(0, 0)];
        let balances = [Design::Credited, Design::Synchronous].map(|design| merchant_balance(design, 0));
        let keys = [&keys[..], &balances].concat();
        for (at, key) in keys.iter().enumerate() {
            assert!(keys.iter().skip(at + 1).all(|other| other != key));
        }
    }
}
