//! Audits a tenant that migrates from the God Record: which item holds each balance, and that both models agree where
//! both are written. Written from DESIGN, like `ledgerbook`.

use super::books::{Books, Row, opt_text, text};
use super::ledgerbook::{kind_and_id, number, opt_number};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// The numbers of a balance in either model.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Held {
    pub(super) balance: Decimal,
    pub(super) held: Decimal,
    pub(super) reserved: Decimal,
    pub(super) exposure: Decimal,
}

/// A balance of a customer or a card.
#[derive(Clone, Debug)]
pub(super) struct Standing {
    /// `customer:<id>` and the asset.
    pub(super) account: (String, String),
    pub(super) numbers: Held,
}

/// Attributes of the legacy model, with their assets and concerns.
const NAMED: [(&str, &str, &str); 3] =
    [("balance", "ECOPAY", "money"), ("point", "POINT", "points"), ("jcredit", "JCREDIT", "jcredit")];

impl Books {
    /// Every balance of customers and cards, from the model that is the truth.
    pub(super) fn standing(&self) -> Vec<Standing> {
        let cards = self.under("card").filter(|(_, sk, _)| *sk == "card").map(|(pk, _, row)| (pk, "ECOPAY", row));
        let split = self.under("BALANCE#").map(|(pk, sk, row)| (pk, sk.trim_start_matches("BALANCE#"), row));
        let mut all = Vec::new();
        for (pk, asset, row) in split.chain(cards).filter(|(pk, _, _)| kind_and_id(pk).0 != "merchant") {
            let (kind, id) = kind_and_id(pk);
            if self.truth(pk, asset) != Some("legacy") {
                all.push(Standing { account: (format!("{kind}:{id}"), asset.to_owned()), numbers: split_numbers(row) });
            }
        }
        for (pk, _, record) in self.god_records().filter(|(_, _, record)| record.contains_key("fence_phase")) {
            let account = format!("customer:{}", kind_and_id(pk).1);
            for asset in assets_of(record).into_iter().filter(|asset| self.truth(pk, asset) == Some("legacy")) {
                if let Some(numbers) = self.legacy_numbers(pk, &asset) {
                    all.push(Standing { account: (account.clone(), asset), numbers });
                }
            }
        }
        all
    }

    /// Checks that both models agree where both are written, that customers who are not adopted have no postings, and
    /// that a fact in both formats of the history is the same in both.
    pub(super) fn check_leaving(&self) {
        for (pk, _, record) in self.god_records() {
            if !record.contains_key("fence_phase") {
                let books = self
                    .rows
                    .keys()
                    .find(|(of, sk)| of == pk && (sk.starts_with("TXN#") || sk.starts_with("BALANCE#")));
                assert_eq!(books, None, "{pk} has not been taken over");
                continue;
            }
            for asset in assets_of(record).into_iter().filter(|asset| self.truth(pk, asset) == Some("both")) {
                // An asset that is not enabled for the tenant may have an empty balance item.
                let split = self.row(pk, &format!("BALANCE#{asset}")).map(split_numbers).unwrap_or_default();
                let legacy = self.legacy_numbers(pk, &asset).unwrap_or_default();
                assert_eq!(legacy, split, "{pk}: {asset} in both models");
            }
            if opt_text(record, "truth_metrics") == Some("both") {
                let co2 = self.row(pk, "METRICS").map(|metrics| opt_number(metrics, "co2_total"));
                assert_eq!(opt_number(record, "co2_total"), co2.unwrap_or_default(), "{pk}: CO2 in both models");
            }
        }
        if self.migration().is_some_and(|migration| migration.contains_key("contracted_at")) {
            return;
        }
        for (pk, sk, entry) in self.under("TXN").filter(|(_, _, row)| row.contains_key("legacy_sk") && !is_foreign(row))
        {
            let legacy = self.row(pk, text(entry, "legacy_sk"));
            let legacy = legacy.unwrap_or_else(|| panic!("{pk} {sk} is not in the legacy history"));
            for name in ["transaction_id", "operation", "created_at"] {
                assert_eq!(text(legacy, name), text(entry, name), "{pk} {sk}: {name} in both histories");
            }
        }
    }

    /// Whether a customer has a God Record; the journal does not have everything that such a customer holds.
    pub(super) fn has_god_record(&self, pk: &str) -> bool {
        self.row(pk, "customer").is_some()
    }

    fn god_records(&self) -> impl Iterator<Item = (&str, &str, &Row)> {
        self.under("customer").filter(|(pk, sk, _)| *sk == "customer" && kind_and_id(pk).0 == "customer")
    }

    /// The model that holds a customer's balance, if their God Record says.
    fn truth(&self, pk: &str, asset: &str) -> Option<&str> {
        let concern = NAMED.iter().find(|(_, of, _)| *of == asset).map_or("regional", |(_, _, concern)| concern);
        opt_text(self.row(pk, "customer")?, &format!("truth_{concern}"))
    }

    fn migration(&self) -> Option<&Row> {
        self.row(&format!("{}#tenant#root", self.tenant), "CONFIG")?.get("migration")?.as_m().ok()
    }

    fn is_half_way(&self) -> bool {
        self.migration().is_some_and(|migration| opt_text(migration, "model") == Some("half_way"))
    }

    fn legacy_numbers(&self, pk: &str, asset: &str) -> Option<Held> {
        let in_metrics = self.is_half_way() && ["POINT", "JCREDIT"].contains(&asset);
        let row = self.row(pk, if in_metrics { "METRICS" } else { "customer" })?;
        let (word, balance) = match (NAMED.iter().find(|(_, of, _)| *of == asset), asset.split_once('#')) {
            (Some((word, _, _)), _) => ((*word).to_owned(), opt_has(row, word)?),
            (None, Some((_, key))) => (format!("regional_{key}"), opt_has(row.get("regional")?.as_m().ok()?, key)?),
            (None, None) => panic!("no asset {asset}"),
        };
        let [held, reserved, exposure] =
            ["held", "reserved", "exposure"].map(|part| opt_number(row, &format!("{word}_{part}")));
        Some(Held { balance, held, reserved, exposure })
    }
}

/// A reference to a legacy row from before the ledger kept books, not to an entry.
pub(super) fn is_foreign(reference: &Row) -> bool {
    reference.contains_key("legacy") && !reference.contains_key("home")
}

fn assets_of(record: &Row) -> BTreeSet<String> {
    let regional = record.get("regional").and_then(|map| map.as_m().ok()).into_iter().flatten();
    let regional = regional.map(|(key, _)| format!("REGIONAL#{key}"));
    NAMED.iter().map(|(_, asset, _)| (*asset).to_owned()).chain(regional).collect()
}

fn split_numbers(row: &Row) -> Held {
    let [held, reserved] = ["held", "reserved"].map(|part| opt_number(row, part));
    // A card has no cap, so nothing counts against one.
    let exposure = if text(row, "type") == "card" { Decimal::ZERO } else { number(row, "exposure") };
    Held { balance: number(row, "balance"), held, reserved, exposure }
}

fn opt_has(row: &Row, name: &str) -> Option<Decimal> {
    row.contains_key(name).then(|| number(row, name))
}
