//! Audits what accounts have used of their limits.

use super::Checked;
use super::index::Audit;
use super::rows::{Row, decimal};
use ledger_core::dynamo::Value;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Sums by the account's partition, the asset and the count's name.
type Counts = BTreeMap<(String, String, String), Decimal>;

/// Checks that each count that an account has is the sum of what its entries and top-ups counted, less what was
/// reversed. Counts of past days are removed, so an absent one says nothing.
pub(super) fn counts_equal_what_was_counted(audit: &Audit<'_>) -> Checked {
    let mut said = Counts::new();
    let mut by_entry: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for entry in audit.under("TXN#") {
        add(&mut said, entry.pk, entry, Decimal::ONE)?;
        by_entry.insert(entry.sk, entry);
    }
    for reversal in audit.under("TXN#") {
        let Some(original) = reversal.opt_text("reverses") else { continue };
        if let Some(original) = by_entry.get(format!("TXN#{original}").as_str()) {
            // A card that replaced the original's has its counts.
            add(&mut said, reversal.pk, *original, -Decimal::ONE)?;
        }
    }
    for topup in audit.named("TOPUP") {
        let customer = format!("{}#customer#{}", audit.tenant, topup.text("customer_id")?);
        add(&mut said, &customer, topup, Decimal::ONE)?;
    }
    for row in audit.under("BALANCE#").chain(audit.named("card")) {
        let asset = row.sk.strip_prefix("BALANCE#").unwrap_or("ECOPAY");
        for name in row.item.keys().filter(|name| name.starts_with("use_")) {
            let key = (row.pk.to_owned(), asset.to_owned(), name.clone());
            let taken_over = match row.item.get("uses_taken_over") {
                Some(Value::M(uses)) => uses.get(name).and_then(decimal).unwrap_or_default(),
                _ => Decimal::ZERO,
            };
            let counted = said.get(&key).copied().unwrap_or_default() + taken_over;
            ensure_eq!(row.number(name)?, counted, "{row}: {name}");
        }
    }
    Ok(())
}

fn add(counts: &mut Counts, pk: &str, row: Row<'_>, sign: Decimal) -> Checked {
    let Some(counted) = row.item.get("counted") else { return Ok(()) };
    let malformed = || format!("{row} has a malformed `counted`");
    let Value::M(assets) = counted else { return Err(malformed()) };
    for (asset, names) in assets {
        let Value::M(names) = names else { return Err(malformed()) };
        for (name, amount) in names {
            let amount = decimal(amount).ok_or_else(malformed)?;
            *counts.entry((pk.to_owned(), asset.clone(), name.clone())).or_default() += sign * amount;
        }
    }
    Ok(())
}
