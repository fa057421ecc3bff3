//! What a transaction changes for merchants: by the seals of entries, or by itself.

use super::judge::{Sums, held};
use crate::engine::Contents;
use ledger_core::account::Account;
use ledger_core::crediting::is_credited;
use ledger_core::dynamo::{Attributes, Item, Value};
use ledger_core::journal::JournalEntry;
use ledger_core::money::Asset;
use ledger_core::settlements::returned;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// The amounts that the seals of entries will add for merchants, and returned payouts have added.
#[must_use]
pub(super) fn merchant_work(before: &Contents, after: &Contents) -> Sums {
    let mut sums = Sums::new();
    for item in after.iter().filter(|(key, _)| !before.contains_key(*key)).map(|(_, item)| item) {
        add(&mut sums, entry_credit(item));
    }
    let new = |key: &(String, String)| !before.get(key).is_some_and(|item| item.contains_key("merchant_delta"));
    for item in after.iter().filter(|(key, _)| new(key)).map(|(_, item)| item) {
        let Some(delta) = item.opt_map("merchant_delta").unwrap() else { continue };
        let merchant = format!("merchant:{}", item.text("merchant_id").unwrap());
        for (asset, change) in delta {
            *sums.entry((merchant.clone(), asset.clone())).or_default() += number(change);
        }
    }
    sums
}

/// The gains of merchants' balances, and the sums of the records that were flagged as credited.
pub(super) fn credited(before: &Contents, after: &Contents) -> (Sums, Sums) {
    let (mut gained, mut flagged) = (Sums::new(), Sums::new());
    for ((pk, sk), item) in after {
        let old = before.get(&(pk.clone(), sk.clone()));
        if let (Some((_, merchant)), Some(asset)) = (pk.split_once("#merchant#"), sk.strip_prefix("BALANCE#")) {
            let number =
                |item: &Item| item.opt_number("balance").unwrap().map_or(Decimal::ZERO, |n| n.parse().unwrap());
            let key = (format!("merchant:{merchant}"), asset.to_owned());
            gained.insert(key, number(item) - old.map_or(Decimal::ZERO, number));
        }
        if is_credited(item) && !old.is_some_and(is_credited) && sk.starts_with("TXN#") {
            add(&mut flagged, entry_credit(item));
        } else if is_returned(item) && !old.is_some_and(is_returned) && sk.starts_with("RETURNED#") {
            let merchant = format!("merchant:{}", item.text("merchant_id").unwrap());
            for delta in returned::owed(item).unwrap() {
                *flagged.entry((merchant.clone(), delta.asset().to_string())).or_default() += delta.value();
            }
        }
    }
    add(&mut gained, lane_changes(before, after));
    for sums in [&mut gained, &mut flagged] {
        sums.retain(|_, sum| !sum.is_zero());
    }
    (gained, flagged)
}

fn is_returned(payout: &Item) -> bool {
    payout.contains_key("credited_at")
}

/// The changes of merchants' balances and of their held amounts.
pub(super) fn merchant_changes(before: &Contents, after: &Contents) -> Sums {
    let mut changes = Sums::new();
    for ((pk, sk), item) in after {
        let (Some((_, merchant)), Some(asset)) = (pk.split_once("#merchant#"), sk.strip_prefix("BALANCE#")) else {
            continue;
        };
        let old = before.get(&(pk.clone(), sk.clone()));
        for (attribute, name) in [("balance", asset.to_owned()), ("held", held(asset))] {
            let number =
                |item: &Item| item.opt_number(attribute).unwrap().map_or(Decimal::ZERO, |n| n.parse().unwrap());
            changes.insert((format!("merchant:{merchant}"), name), number(item) - old.map_or(Decimal::ZERO, number));
        }
    }
    add(&mut changes, lane_changes(before, after));
    changes.retain(|_, change| !change.is_zero());
    changes
}

/// What an entry owes its merchant, if its seal credits it.
fn entry_credit(item: &Item) -> Sums {
    let mut sums = Sums::new();
    if item.contains_key("credited_by") {
        for posting in JournalEntry::read(item).unwrap().postings {
            if let Account::Merchant(_) = posting.account {
                let part = (posting.account.to_string(), posting.delta.asset().to_string());
                *sums.entry(part).or_default() += posting.delta.value();
            }
        }
    }
    sums
}

fn add(sums: &mut Sums, more: Sums) {
    for (part, sum) in more {
        *sums.entry(part).or_default() += sum;
    }
}

/// The sums of a lane, each with its sign in the merchant's balance.
const SIDES: [(&str, Decimal); 5] = [
    ("taken_", Decimal::ONE),
    ("refunded_", Decimal::NEGATIVE_ONE),
    ("cash_taken_", Decimal::NEGATIVE_ONE),
    ("cash_reversed_", Decimal::ONE),
    ("deposited_", Decimal::ONE),
];

/// The open sums of a merchant in a lane, by asset: payments less refunds, less cash that was taken and not returned.
fn open_sums(item: Option<&Item>) -> BTreeMap<String, Decimal> {
    let mut sums = BTreeMap::<String, Decimal>::new();
    for (name, value) in item.into_iter().flatten() {
        for (side, sign) in SIDES {
            if let Some(suffix) = name.strip_prefix(side) {
                *sums.entry(asset_named(suffix)).or_default() += sign * number(value);
            }
        }
    }
    sums
}

fn asset_named(suffix: &str) -> String {
    Asset::from_attribute_suffix(suffix).unwrap().to_string()
}

/// The changes of what merchants are credited with in lanes.
fn lane_changes(before: &Contents, after: &Contents) -> Sums {
    let mut changes = Sums::new();
    for ((pk, sk), item) in after.iter().filter(|((_, sk), _)| sk.starts_with("CREDITED#")) {
        let merchant = pk.split_once("#merchant#").unwrap().1;
        let old = open_sums(before.get(&(pk.clone(), sk.clone())));
        let signed = [(open_sums(Some(item)), Decimal::ONE), (old, Decimal::NEGATIVE_ONE)];
        for (asset, sum) in
            signed.into_iter().flat_map(|(sums, sign)| sums.into_iter().map(move |(a, s)| (a, s * sign)))
        {
            *changes.entry((format!("merchant:{merchant}"), asset)).or_default() += sum;
        }
    }
    changes
}

fn number(value: &Value) -> Decimal {
    match value {
        Value::N(text) => text.parse().unwrap(),
        Value::S(_) | Value::Bool(_) | Value::B(_) | Value::L(_) | Value::M(_) => panic!("not a number: {value:?}"),
    }
}
