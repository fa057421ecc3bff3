//! Audits a tenant that migrates from a legacy model: which row holds each balance, and that both models agree where
//! both are written.

use super::Checked;
use super::balances::{Balance, Numbers};
use super::index::Audit;
use super::rows::{Row, opt_text};
use ledger_core::dynamo::{Item, Value};
use rust_decimal::Decimal;
use std::collections::BTreeSet;

/// Attributes of the legacy model, with their assets and concerns.
const NAMED: [(&str, &str, &str); 3] =
    [("balance", "ECOPAY", "money"), ("point", "POINT", "points"), ("jcredit", "JCREDIT", "jcredit")];

impl<'a> Audit<'a> {
    /// Every balance of customers and cards, from the model that is the truth.
    pub(super) fn balances(&self) -> Result<&[Balance<'a>], String> {
        self.balances.get_or_init(|| self.read_balances()).as_deref().map_err(Clone::clone)
    }

    fn read_balances(&self) -> Result<Vec<Balance<'a>>, String> {
        let mut all = Vec::new();
        let split = self.under("BALANCE#").chain(self.named("card")).filter(|row| row.kind() != "merchant");
        for row in split {
            let asset = row.sk.strip_prefix("BALANCE#").unwrap_or("ECOPAY");
            if self.truth(row.pk, asset) != Some("legacy") {
                let account = (format!("{}:{}", row.kind(), row.id()), asset.to_owned());
                all.push(Balance { row, account, numbers: Numbers::of_split(row)? });
            }
        }
        for record in self.god_records().filter(|record| is_adopted(*record)) {
            for asset in assets_of(record).into_iter().filter(|asset| self.truth(record.pk, asset) == Some("legacy")) {
                if let Some((row, numbers)) = self.legacy_numbers(record.pk, &asset)? {
                    all.push(Balance { row, account: (format!("customer:{}", record.id()), asset), numbers });
                }
            }
        }
        Ok(all)
    }

    fn god_records(&self) -> impl Iterator<Item = Row<'a>> {
        self.named("customer").filter(|row| row.kind() == "customer")
    }

    /// The model that holds a customer's balance, if their God Record says.
    fn truth(&self, pk: &str, asset: &str) -> Option<&'a str> {
        let concern = NAMED.iter().find(|(_, of, _)| *of == asset).map_or("regional", |(_, _, concern)| concern);
        self.row(pk, "customer")?.opt_text(&format!("truth_{concern}"))
    }

    fn migration(&self) -> Option<&'a Item> {
        map(self.row(&format!("{}#tenant#root", self.tenant), "CONFIG")?.item, "migration")
    }

    /// The numbers of a balance in the legacy model, and the row that has them.
    fn legacy_numbers(&self, pk: &str, asset: &str) -> Result<Option<(Row<'a>, Numbers)>, String> {
        let is_half_way = self.migration().is_some_and(|of| opt_text(of, "model") == Some("half_way"));
        let in_metrics = is_half_way && ["POINT", "JCREDIT"].contains(&asset);
        let Some(row) = self.row(pk, if in_metrics { "METRICS" } else { "customer" }) else { return Ok(None) };
        let regional = row.numbers("regional");
        let (word, balance) = match (NAMED.iter().find(|(_, of, _)| *of == asset), asset.split_once('#')) {
            (Some((word, _, _)), _) if row.has(word) => ((*word).to_owned(), Some(row.number(word)?)),
            (Some((word, _, _)), _) => ((*word).to_owned(), None),
            (None, Some((_, key))) => (format!("regional_{key}"), regional?.get(key).copied()),
            (None, None) => return Err(format!("{row}: there is no asset {asset}")),
        };
        let Some(balance) = balance else { return Ok(None) };
        let part = |part: &str| row.opt_number(&format!("{word}_{part}"));
        let numbers =
            Numbers { balance, held: part("held")?, reserved: part("reserved")?, exposure: part("exposure")? };
        Ok(Some((row, numbers)))
    }
}

/// Checks that both models agree where both are written, that customers who are not adopted have no postings, and that
/// a fact in both histories is the same in both.
pub(super) fn both_models_agree(audit: &Audit<'_>) -> Checked {
    for record in audit.god_records() {
        if is_adopted(record) {
            numbers_agree(audit, record)?;
        } else {
            let first = audit.within(record.pk, "TXN#").chain(audit.within(record.pk, "BALANCE#")).next();
            ensure!(first.is_none(), "{record} is not adopted and has {}", first.map_or("", |row| row.sk));
        }
    }
    if audit.migration().is_some_and(|migration| migration.contains_key("contracted_at")) {
        return Ok(());
    }
    for entry in audit.under("TXN").filter(|row| row.has("legacy_sk") && !is_foreign(*row)) {
        let Some(legacy) = audit.row(entry.pk, entry.text("legacy_sk")?) else {
            return Err(format!("{entry} is not in the legacy history"));
        };
        for name in ["transaction_id", "operation", "created_at"] {
            ensure_eq!(legacy.text(name)?, entry.text(name)?, "{legacy}: `{name}` of {entry}");
        }
    }
    Ok(())
}

fn numbers_agree(audit: &Audit<'_>, record: Row<'_>) -> Checked {
    for asset in assets_of(record).into_iter().filter(|asset| audit.truth(record.pk, asset) == Some("both")) {
        // An asset that is not enabled for the tenant may have no balance item.
        let split = audit.row(record.pk, &format!("BALANCE#{asset}")).map(Numbers::of_split).transpose()?;
        let legacy = audit.legacy_numbers(record.pk, &asset)?.map(|(_, numbers)| numbers);
        ensure_eq!(legacy.unwrap_or_default(), split.unwrap_or_default(), "{record}: {asset} in the legacy model");
    }
    if record.opt_text("truth_metrics") == Some("both") {
        let split = audit.row(record.pk, "METRICS").map_or(Ok(Decimal::ZERO), |row| row.opt_number("co2_total"));
        ensure_eq!(record.opt_number("co2_total")?, split?, "{record}: CO2 in the legacy model");
    }
    Ok(())
}

/// Whether a reference is to a legacy row from before the ledger kept books, not to an entry.
pub(super) fn is_foreign(reference: Row<'_>) -> bool {
    reference.has("legacy") && !reference.has("home")
}

fn is_adopted(record: Row<'_>) -> bool {
    record.has("fence_phase")
}

fn assets_of(record: Row<'_>) -> BTreeSet<String> {
    let regional = map(record.item, "regional").into_iter().flatten();
    let regional = regional.map(|(key, _)| format!("REGIONAL#{key}"));
    NAMED.iter().map(|(_, asset, _)| (*asset).to_owned()).chain(regional).collect()
}

fn map<'a>(item: &'a Item, name: &str) -> Option<&'a Item> {
    match item.get(name)? {
        Value::M(map) => Some(map),
        Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) => None,
    }
}
