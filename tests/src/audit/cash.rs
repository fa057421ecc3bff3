//! Audits cash rooms.

use super::Checked;
use super::index::Audit;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Checks that the ceiling of a merchant or of the operator is what is unallotted and what its terminals were allotted, and
/// that a terminal's room is what it was allotted, by its own owner, less the cash that it took and did not return. What a
/// counter took was collected, or is outstanding.
pub(super) fn cash_rooms_equal_allotments(audit: &Audit<'_>) -> Checked {
    let mut left = BTreeMap::<String, Decimal>::new();
    let mut collected = BTreeMap::<String, Decimal>::new();
    for collection in audit.under("COLLECTION#") {
        *collected.entry(collection.pk.to_owned()).or_default() += collection.number("amount")?;
    }
    for rooms in audit.named("CASH_ROOM") {
        let mut sum = rooms.number("unallotted")?;
        ensure!(!sum.is_sign_negative() || sum.is_zero(), "{rooms}: `unallotted` is {sum}");
        for (name, terminal) in rooms.item.keys().filter_map(|name| Some((name, name.strip_prefix("allotted_")?))) {
            let allotted = rooms.number(name)?;
            sum += allotted;
            let pk = format!("{}#terminal#{terminal}", audit.tenant);
            let profile = audit.row(&pk, "PROFILE").ok_or_else(|| format!("{rooms}: no terminal {terminal}"))?;
            match rooms.kind() {
                "tenant" => {
                    ensure_eq!(profile.opt_text("kind"), Some("counter"), "{profile}: its kind");
                    ensure_eq!(profile.opt_text("merchant_id"), None, "{profile}: its merchant");
                }
                _ => {
                    ensure_eq!(profile.text("merchant_id")?, rooms.id(), "{profile}: its merchant");
                    ensure_eq!(profile.opt_text("kind"), None, "{profile}: its kind");
                }
            }
            ensure!(left.insert(pk, allotted).is_none(), "{rooms}: terminal {terminal} has two merchants");
        }
        sum -= rooms.opt_number("covered")?;
        ensure_eq!(rooms.number("ceiling")?, sum, "{rooms}: the ceiling");
        let returned = match rooms.kind() {
            "tenant" => collected.values().sum(),
            _ => returned(audit, rooms.pk, "returned_cash_room")?,
        };
        ensure_eq!(rooms.opt_number("covered")?, returned, "{rooms}: what was covered");
    }
    let mut at_counters = BTreeMap::<String, Decimal>::new();
    for reference in audit.under("TXNREF#").filter(|row| row.kind() == "terminal") {
        let cash = reference.opt_text("cash");
        if matches!(cash, Some("owed" | "at_counter")) {
            let taken: Decimal = reference.numbers("changes")?.into_values().sum();
            *left.entry(reference.pk.to_owned()).or_default() -= taken;
            if cash == Some("at_counter") {
                *at_counters.entry(reference.pk.to_owned()).or_default() += taken;
            }
        }
    }
    for terminal in audit.named("PROFILE").filter(|row| row.kind() == "terminal") {
        let room = terminal.opt_number("cash_room")?;
        ensure!(!room.is_sign_negative() || room.is_zero(), "{terminal}: `cash_room` is {room}");
        ensure_eq!(room, left.remove(terminal.pk).unwrap_or_default(), "{terminal}: the cash room");
        let outstanding = terminal.opt_number("cash_outstanding")?;
        ensure!(!outstanding.is_sign_negative() || outstanding.is_zero(), "{terminal}: {outstanding} outstanding");
        let taken = at_counters.remove(terminal.pk).unwrap_or_default();
        let collected = collected.remove(terminal.pk).unwrap_or_default();
        ensure_eq!(outstanding, taken - collected, "{terminal}: what is outstanding");
    }
    ensure!(collected.is_empty(), "cash was collected of terminals that do not exist: {collected:?}");
    ensure!(left.is_empty(), "there is cash of terminals that do not exist: {left:?}");
    Ok(())
}

/// Checks that a merchant's refund ceiling is its room and what is outstanding, and that this is what its returns took less
/// what its settlements returned.
pub(super) fn refund_rooms_equal_refunds(audit: &Audit<'_>) -> Checked {
    let mut taken = BTreeMap::<String, Decimal>::new();
    for refund in audit.under("REFUND#").filter(|refund| refund.has("refund_room")) {
        let pk = format!("{}#merchant#{}", audit.tenant, refund.text("merchant_id")?);
        *taken.entry(pk).or_default() += refund.number("refund_room")?;
    }
    for room in audit.named("REFUND_ROOM") {
        let outstanding = room.opt_number("outstanding")?;
        ensure!(!outstanding.is_sign_negative() || outstanding.is_zero(), "{room}: `outstanding` is {outstanding}");
        let sum = room.opt_number("room")? + outstanding;
        ensure_eq!(room.opt_number("ceiling")?, sum, "{room}: the ceiling");
        let taken = taken.remove(room.pk).unwrap_or_default();
        let returned = returned(audit, room.pk, "returned_refund_room")?;
        ensure_eq!(outstanding, taken - returned, "{room}: what is outstanding");
    }
    ensure!(taken.is_empty(), "refunds took from rooms that do not exist: {taken:?}");
    Ok(())
}

/// What a merchant's settlements returned, which only those that are over do.
fn returned(audit: &Audit<'_>, merchant_pk: &str, name: &str) -> Result<Decimal, String> {
    let mut sum = Decimal::ZERO;
    for settlement in audit.within(merchant_pk, "SETTLEMENT#").filter(|settlement| settlement.has(name)) {
        let state = settlement.text("state")?;
        ensure!(["booked", "paid", "returned", "carried"].contains(&state), "{settlement} is {state} and has `{name}`");
        sum += settlement.number(name)?;
    }
    Ok(sum)
}
