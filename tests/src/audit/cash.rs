//! Audits cash rooms.

use super::Checked;
use super::index::Audit;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Checks that a merchant's ceiling is what is unallotted and what its terminals were allotted, and that a terminal's room
/// is what it was allotted, by its own merchant, less the cash that it took and did not return.
pub(super) fn cash_rooms_equal_allotments(audit: &Audit<'_>) -> Checked {
    let mut left = BTreeMap::<String, Decimal>::new();
    for rooms in audit.named("CASH_ROOM") {
        let mut sum = rooms.number("unallotted")?;
        ensure!(!sum.is_sign_negative() || sum.is_zero(), "{rooms}: `unallotted` is {sum}");
        for (name, terminal) in rooms.item.keys().filter_map(|name| Some((name, name.strip_prefix("allotted_")?))) {
            let allotted = rooms.number(name)?;
            sum += allotted;
            let pk = format!("{}#terminal#{terminal}", audit.tenant);
            let profile = audit.row(&pk, "PROFILE").ok_or_else(|| format!("{rooms}: no terminal {terminal}"))?;
            ensure_eq!(profile.text("merchant_id")?, rooms.id(), "{profile}: its merchant");
            ensure!(left.insert(pk, allotted).is_none(), "{rooms}: terminal {terminal} has two merchants");
        }
        ensure_eq!(rooms.number("ceiling")?, sum, "{rooms}: the ceiling");
    }
    for reference in audit.under("TXNREF#").filter(|row| row.kind() == "terminal") {
        if reference.opt_text("cash") == Some("owed") {
            let taken: Decimal = reference.numbers("changes")?.into_values().sum();
            *left.entry(reference.pk.to_owned()).or_default() -= taken;
        }
    }
    for terminal in audit.named("PROFILE").filter(|row| row.kind() == "terminal") {
        let room = terminal.opt_number("cash_room")?;
        ensure!(!room.is_sign_negative() || room.is_zero(), "{terminal}: `cash_room` is {room}");
        ensure_eq!(room, left.remove(terminal.pk).unwrap_or_default(), "{terminal}: the cash room");
    }
    ensure!(left.is_empty(), "there is cash of terminals that do not exist: {left:?}");
    Ok(())
}
