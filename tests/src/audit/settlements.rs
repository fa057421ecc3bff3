//! Audits settlements.

use super::Checked;
use super::credits::{Credit, Kind, credits_by_seals};
use super::index::Audit;
use super::periods::{REFUND_ROOM, SIDES, counted, settlement_of, side};
use super::rows::Row;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// A returned payout or an entry in a settlement.
struct Settled<'a> {
    row: Row<'a>,
    /// The partition key of its merchant.
    merchant_pk: String,
    /// Which sums it counts in.
    kind: Kind,
    owed: BTreeMap<&'a str, Decimal>,
}

/// Checks that the count and totals of a settlement are those of the returned payouts that it has and of the entries in its
/// periods, which are credited, not due, and of its merchant.
pub(super) fn settlements_equal_records(audit: &Audit<'_>) -> Checked {
    let mut settled = BTreeMap::<&str, Vec<Settled<'_>>>::new();
    for record in audit.under("RETURNED#") {
        let merchant_pk = format!("{}#merchant#{}", audit.tenant, record.text("merchant_id")?);
        if let Some(id) = record.opt_text("settlement_id") {
            let owed = record.numbers("merchant_delta")?;
            settled.entry(id).or_default().push(Settled { row: record, merchant_pk, kind: Kind::Trade, owed });
        }
    }
    for credit in credits_by_seals(audit)? {
        if let Some(id) = settlement_of(audit, credit.row, &credit.merchant_pk)? {
            let Credit { row, merchant_pk, kind, owed } = credit;
            settled.entry(id).or_default().push(Settled { row, merchant_pk, kind, owed });
        }
    }
    for settlement in audit.under("SETTLEMENT#") {
        let of_it = settled.remove(settlement.text("settlement_id")?).unwrap_or_default();
        let mut sums = BTreeMap::<String, Decimal>::new();
        for Settled { row: record, merchant_pk, kind, owed } in &of_it {
            let is_credited =
                record.has("_credited_at") || (record.sk.starts_with("RETURNED#") && record.has("credited_at"));
            ensure!(is_credited, "{record} is in {settlement} and was never credited");
            ensure_eq!(merchant_pk, settlement.pk, "{record} is in {settlement}: its merchant");
            if record.sk.starts_with("TXN#") {
                *sums.entry(REFUND_ROOM.to_owned()).or_default() += record.opt_number("refund_room")?;
            }
            for (asset, delta) in owed {
                let of_side = match (record.sk.starts_with("RETURNED#"), delta.is_sign_negative()) {
                    (true, false) => "payouts_returned",
                    (true, true) => return Err(format!("{record} owes {delta} {asset} again")),
                    (false, _) => side(*kind, *delta),
                };
                let name = format!("{of_side}_{}", asset.to_lowercase().replace('#', "_"));
                *sums.entry(name).or_default() += counted(*kind, *delta);
            }
        }
        ensure_eq!(settlement.number("records")?, of_it.len().into(), "{settlement}: the number of records");
        let mut totals = BTreeMap::new();
        for name in settlement.item.keys().filter(|name| is_total(name)) {
            totals.insert(name.clone(), settlement.number(name)?);
        }
        totals.retain(|_, sum| !sum.is_zero());
        sums.retain(|_, sum| !sum.is_zero());
        ensure_eq!(totals, sums, "{settlement}: the totals of its records");
    }
    Ok(())
}

/// Checks that fee, tax and payable amount of a paid settlement are its net amount.
pub(super) fn settlements_divide_into_parts(audit: &Audit<'_>) -> Checked {
    for settlement in audit.under("SETTLEMENT#").filter(|settlement| settlement.has("payable")) {
        if ["booked", "paid", "returned"].contains(&settlement.text("state")?) {
            let mut sum = Decimal::ZERO;
            for part in ["fee", "tax", "payable"] {
                sum += settlement.number(part)?;
            }
            ensure_eq!(sum, settlement.number("net")?, "{settlement}: the sum of fee, tax and payable amount");
        }
    }
    Ok(())
}

/// Checks that the open settlement of a merchant is its only one that is not over.
pub(super) fn one_settlement_is_open(audit: &Audit<'_>) -> Checked {
    for settling in audit.named("SETTLING") {
        let mut open = Vec::new();
        for settlement in audit.within(settling.pk, "SETTLEMENT#").filter(|settlement| !is_over(*settlement)) {
            open.push(settlement.text("settlement_id")?);
        }
        ensure_eq!(Vec::from_iter(settling.opt_text("open")), open, "{settling}: the open settlement");
    }
    Ok(())
}

/// Checks that no settlement that is over is due.
pub(super) fn over_settlements_are_not_due(audit: &Audit<'_>) -> Checked {
    for settlement in audit.under("SETTLEMENT#") {
        ensure!(!is_over(settlement) || !settlement.has("_due_pk"), "{settlement} is over and due");
    }
    Ok(())
}

/// Checks that a returned settlement owes its payable amount again, once.
pub(super) fn returned_settlements_are_owed_again(audit: &Audit<'_>) -> Checked {
    for settlement in audit.under("SETTLEMENT#") {
        let returned = audit.row(settlement.pk, &format!("RETURNED#{}", settlement.text("settlement_id")?));
        let owed = match returned {
            Some(returned) => returned.numbers("merchant_delta")?.get("ECOPAY").copied(),
            None => None,
        };
        let is_returned = settlement.text("state")? == "returned";
        let payable = if is_returned { Some(settlement.number("payable")?) } else { None };
        ensure_eq!(owed, payable, "{settlement}: what is owed again");
    }
    Ok(())
}

fn is_total(name: &str) -> bool {
    name.starts_with("payouts_returned_") || SIDES.iter().any(|(side, _)| name.starts_with(side))
}

fn is_over(settlement: Row<'_>) -> bool {
    let state = settlement.opt_text("state").unwrap_or_default();
    ["booked", "paid", "carried", "undone", "returned"].contains(&state)
}
