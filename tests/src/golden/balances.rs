//! Reads customers' balances from raw attributes in each phase of a migration, without the core's own reading, to check
//! the books after a vector.

use crate::engine::Contents;
use ledger_core::dynamo::{Attributes, Item, Value};
use rust_decimal::Decimal;

/// A balance with its parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Balance {
    pub(super) balance: Decimal,
    pub(super) held: Decimal,
    pub(super) reserved: Decimal,
    pub(super) exposure: Decimal,
}

/// Every customer's balances: account, asset and numbers. Leaves out God Records that are not adopted. A balance in
/// both models must be the same in both.
pub(super) fn balances(contents: &Contents) -> Vec<(String, String, Balance)> {
    let mut found = Vec::new();
    for ((pk, sk), item) in contents {
        let Some((_, id)) = pk.split_once("#customer#") else { continue };
        let account = format!("customer:{id}");
        let record = contents.get(&(pk.clone(), "customer".to_owned()));
        if let Some(asset) = sk.strip_prefix("BALANCE#") {
            match record.map_or("split", |record| truth(record, asset)) {
                "legacy" => {}
                "split" => found.push((account, asset.to_owned(), split(item))),
                "both" => {
                    let in_legacy = record.and_then(|record| legacy(contents, pk, record, asset));
                    assert_eq!(in_legacy, Some(split(item)), "{asset} is the same in both models");
                    found.push((account, asset.to_owned(), split(item)));
                }
                other => panic!("unknown truth: {other}"),
            }
        } else if sk == "customer" && item.contains_key("fence_phase") {
            let regional = item.opt_map("regional").unwrap().into_iter().flatten();
            let regional = regional.map(|(key, _)| format!("REGIONAL#{key}"));
            for asset in ["ECOPAY", "POINT", "JCREDIT"].map(str::to_owned).into_iter().chain(regional) {
                match (truth(item, &asset), legacy(contents, pk, item, &asset)) {
                    ("legacy", Some(balance)) => found.push((account.clone(), asset, balance)),
                    ("both", Some(_)) => {
                        let key = (pk.clone(), format!("BALANCE#{asset}"));
                        assert!(contents.contains_key(&key), "{asset} is kept in both models");
                    }
                    (_, _) => {}
                }
            }
        }
    }
    found
}

/// The model that holds an asset. A God Record without a truth has been contracted, or has not been adopted.
fn truth<'a>(record: &'a Item, asset: &str) -> &'a str {
    let concern = match asset {
        "ECOPAY" => "money",
        "POINT" => "points",
        "JCREDIT" => "jcredit",
        _ => "regional",
    };
    let default = if record.contains_key("fence_phase") { "split" } else { "legacy" };
    record.opt_text(&format!("truth_{concern}")).unwrap().unwrap_or(default)
}

fn split(item: &Item) -> Balance {
    let number = |name: &str| item.opt_number(name).unwrap().map_or(Decimal::ZERO, |text| text.parse().unwrap());
    Balance {
        balance: number("balance"),
        held: number("held"),
        reserved: number("reserved"),
        exposure: number("exposure"),
    }
}

/// The balance in the legacy model; `None` if the attribute is missing.
fn legacy(contents: &Contents, pk: &str, record: &Item, asset: &str) -> Option<Balance> {
    let (word, sum) = match asset {
        "ECOPAY" => ("balance".to_owned(), record.get("balance")),
        "POINT" | "JCREDIT" => {
            let word = asset.to_lowercase();
            let metrics = contents.get(&(pk.to_owned(), "METRICS".to_owned()));
            let item = if is_half_way(contents, pk) { metrics } else { Some(record) };
            return item.and_then(|item| parts(item, &word, item.get(&word)));
        }
        regional => {
            let key = regional.strip_prefix("REGIONAL#").unwrap();
            (format!("regional_{key}"), record.opt_map("regional").unwrap().and_then(|map| map.get(key)))
        }
    };
    parts(record, &word, sum)
}

fn parts(item: &Item, word: &str, sum: Option<&Value>) -> Option<Balance> {
    let number = |name: &str| {
        let text = item.opt_number(&format!("{word}_{name}")).unwrap();
        text.map_or(Decimal::ZERO, |text| text.parse().unwrap())
    };
    let Value::N(balance) = sum? else { panic!("not a number: {sum:?}") };
    Some(Balance {
        balance: balance.parse().unwrap(),
        held: number("held"),
        reserved: number("reserved"),
        exposure: number("exposure"),
    })
}

/// Whether the tenant's legacy model keeps points and J-Credits in the aggregates.
fn is_half_way(contents: &Contents, pk: &str) -> bool {
    let (tenant, _) = pk.split_once('#').unwrap();
    let config = contents.get(&(format!("{tenant}#tenant#root"), "CONFIG".to_owned()));
    let migration = config.and_then(|config| config.opt_map("migration").unwrap());
    migration.and_then(|migration| migration.opt_text("model").unwrap()) == Some("half_way")
}
