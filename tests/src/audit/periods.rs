//! Audits periods: the records that name one, its sums, and the settlement that has it.

use super::Checked;
use super::index::Audit;
use super::merchants::records;
use super::rows::{Row, decimal};
use ledger_core::dynamo::{Item, Value};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// The sums of records by the name of a sum, and the number of records as `period_records`.
type Sums = BTreeMap<String, Decimal>;

/// The settlement that has a record: by its own stamp, or by its period.
pub(super) fn settlement_of<'a>(audit: &Audit<'a>, record: Row<'a>) -> Result<Option<&'a str>, String> {
    let stamp = record.opt_text("settlement_id");
    if !record.has("period") {
        return Ok(stamp);
    }
    ensure_eq!(stamp, None, "{record} is in a period, and its settlement");
    let merchant = merchant_pk(audit, record)?;
    let closed = audit.row(&merchant, &sort_key(record.number("period")?));
    Ok(closed.and_then(|closed| closed.opt_text("settlement_id")))
}

/// Checks that each period is open or closed once, has the sums of the records that name it, and is in one settlement
/// once it is closed, or due for the next one.
pub(super) fn periods_equal_records(audit: &Audit<'_>) -> Checked {
    let mut credited = BTreeMap::<(String, Decimal), Sums>::new();
    for record in records(audit).filter(|record| record.has("period")) {
        ensure!(record.has("credited_at"), "{record} is in a period and was never credited");
        let key = (merchant_pk(audit, record)?, record.number("period")?);
        let sums = credited.entry(key).or_default();
        *sums.entry("period_records".to_owned()).or_default() += Decimal::ONE;
        for (asset, delta) in record.numbers("merchant_delta")? {
            let side = if delta.is_sign_negative() { "refunded" } else { "taken" };
            *sums.entry(format!("{side}_{}", asset.to_lowercase().replace('#', "_"))).or_default() += delta.abs();
        }
    }
    let mut next = BTreeMap::<&str, Decimal>::new();
    for closed in audit.under("PERIOD#") {
        let number = closed.number("period")?;
        ensure_eq!(closed.sk, sort_key(number), "{closed}: the sort key");
        *next.entry(closed.pk).or_default() += Decimal::ONE;
        ensure_eq!(number, next[closed.pk], "{closed}: the number after those before it");
        let records = credited.remove(&(closed.pk.to_owned(), number)).unwrap_or_default();
        ensure_eq!(sums(closed.item), records, "{closed}: the sums of its records");
        is_in_one_settlement(audit, closed, number, &records)?;
    }
    for open in audit.named("CREDITING") {
        let first = next.get(open.pk).copied().unwrap_or_default() + Decimal::ONE;
        let number = if open.has("period") { open.number("period")? } else { Decimal::ONE };
        ensure_eq!(number, first, "{open}: the open period");
        let records = credited.remove(&(open.pk.to_owned(), number)).unwrap_or_default();
        ensure_eq!(sums(open.item), records, "{open}: the sums of the open period's records");
    }
    ensure!(credited.is_empty(), "there are records of periods that do not exist: {credited:?}");
    Ok(())
}

/// Checks that the settlement that has a period names it once, and no other settlement does.
fn is_in_one_settlement(audit: &Audit<'_>, closed: Row<'_>, number: Decimal, records: &Sums) -> Checked {
    let owner = closed.opt_text("settlement_id");
    let mut named = Vec::new();
    for settlement in audit.within(closed.pk, "SETTLEMENT#").filter(|settlement| settlement.has("closed_period")) {
        ensure!(settlement.number("closed_batch")? <= settlement.number("batches")?, "{settlement}: its batches");
        if settlement.number("closed_period")? == number {
            named.push(settlement.text("settlement_id")?);
        }
    }
    for list in audit.within(closed.pk, "SETTLED#").filter(|list| !list.has("given_back_at")) {
        for entry in maps(list)? {
            if entry.get("period").and_then(decimal) == Some(number) {
                ensure_eq!(sums(entry), *records, "{list}: the sums of {closed}");
                named.push(list.text("settlement_id")?);
            }
        }
    }
    ensure_eq!(named, Vec::from_iter(owner), "{closed}: the settlements that have it");
    let due = closed.opt_text("due_pk").unwrap_or_default();
    let expected = match owner {
        Some(_) => String::new(),
        None => format!("{}#due#settle_period#{}#0", audit.tenant, closed.id()),
    };
    ensure_eq!(due, expected, "{closed}: `due_pk`");
    Ok(())
}

fn maps<'a>(list: Row<'a>) -> Result<Vec<&'a Item>, String> {
    let Some(Value::L(entries)) = list.item.get("records") else {
        return Err(format!("{list} has no list of records"));
    };
    let map = |value: &'a Value| match value {
        Value::M(map) => Some(map),
        Value::S(_) | Value::N(_) | Value::Bool(_) | Value::B(_) | Value::L(_) => None,
    };
    entries.iter().map(|value| map(value).ok_or_else(|| format!("{list} has an entry that is no map"))).collect()
}

/// The sums of an item that are not zero.
fn sums(item: &Item) -> Sums {
    let is_sum = |name: &str| name == "period_records" || name.starts_with("taken_") || name.starts_with("refunded_");
    let sums = item.iter().filter(|(name, _)| is_sum(name));
    let sums = sums.map(|(name, value)| (name.clone(), decimal(value).unwrap_or_default()));
    sums.filter(|(_, sum)| !sum.is_zero()).collect()
}

fn sort_key(number: Decimal) -> String {
    format!("PERIOD#{:0>8}", number.to_string())
}

fn merchant_pk(audit: &Audit<'_>, record: Row<'_>) -> Result<String, String> {
    Ok(format!("{}#merchant#{}", audit.tenant, record.text("merchant_id")?))
}
