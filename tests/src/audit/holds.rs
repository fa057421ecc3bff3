//! Audits authorized payments: the hold, the entries and the due index entry of each.

use super::Checked;
use super::index::Audit;
use super::postings::Sums;
use super::rows::Row;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Whether a payment was authorized and never captured.
pub(super) fn was_never_captured(payment: Row<'_>) -> bool {
    let state = payment.opt_text("state").unwrap_or_default();
    payment.opt_text("expires_at").is_some() && ["authorized", "canceled", "expired"].contains(&state)
}

/// What authorized payments that are not captured hold, by customer and asset.
pub(super) fn held_for_merchants(audit: &Audit<'_>) -> Result<Sums, String> {
    let mut sums = Sums::new();
    for hold in audit.named("HOLD") {
        if hold.text("state")? == "authorized" {
            for (asset, held) in by_asset(hold, "held_")? {
                *sums.entry((hold.text("payer")?.to_owned(), asset)).or_default() += held;
            }
        }
    }
    Ok(sums)
}

/// Checks that an authorized payment has a hold in the matching state, due until it has ended, that no more was
/// captured than was held, and that each hold is of such a payment.
pub(super) fn authorized_payments_have_holds(audit: &Audit<'_>) -> Checked {
    for payment in authorized(audit) {
        let Some(hold) = audit.row(payment.pk, "HOLD") else { return Err(format!("{payment} has no hold")) };
        let state = state_of_hold(payment)?;
        ensure_eq!(hold.text("state")?, state, "{hold}: the state");
        ensure_eq!(hold.text("expires_at")?, payment.text("expires_at")?, "{hold}: `expires_at`");
        let is_due = hold.opt_text("_due_sk").is_some_and(|due| due.contains("#hold#"));
        ensure_eq!(is_due, state == "authorized", "{hold} is {state}: whether it is due");
        let is_listed = hold.opt_text("owner_pk").is_some_and(|of| of.contains("#holds#"));
        ensure_eq!(is_listed, is_due, "{hold} is {state}: whether it is listed");
        let (held, captured) = (by_asset(payment, "authorized_")?, by_asset(payment, "captured_")?);
        ensure_eq!(by_asset(hold, "held_")?, held, "{hold}: what is held");
        let is_within = captured.iter().all(|(asset, taken)| held.get(asset) >= Some(taken));
        ensure!(is_within, "{payment}: captured {captured:?} of {held:?}");
        ensure_eq!(captured.is_empty(), state != "captured", "{payment} is {state}: whether nothing is captured");
    }
    for hold in audit.named("HOLD") {
        let Some(payment) = audit.row(hold.pk, "PAYMENT") else { return Err(format!("{hold} has no payment")) };
        ensure!(payment.has("expires_at"), "{hold}: its payment was never authorized");
    }
    Ok(())
}

/// Checks that an authorized payment has one entry that holds, and at most one that ends the hold, as its state says.
pub(super) fn holds_begin_and_end_once(audit: &Audit<'_>) -> Checked {
    for payment in authorized(audit) {
        let state = state_of_hold(payment)?;
        let count = |operation| audit.entries_of(operation, "payment_id", payment.id()).count();
        ensure_eq!(count("charge"), 1, "{payment}: the number of entries of `charge`");
        for (operation, end) in [("capture", "captured"), ("void", "canceled"), ("hold_expire", "expired")] {
            let expected = usize::from(end == state);
            ensure_eq!(count(operation), expected, "{payment} is {state}: the number of entries of `{operation}`");
        }
    }
    Ok(())
}

fn authorized<'a>(audit: &Audit<'a>) -> impl Iterator<Item = Row<'a>> {
    audit.named("PAYMENT").filter(|payment| payment.has("expires_at"))
}

/// The state that a payment's hold has.
fn state_of_hold(payment: Row<'_>) -> Result<&str, String> {
    Ok(match payment.text("state")? {
        "partially_refunded" | "refunded" => "captured",
        state => state,
    })
}

/// Amounts of attributes such as `captured_ecopay` and `captured_regional_aoba`, by asset.
pub(super) fn by_asset(row: Row<'_>, prefix: &str) -> Result<BTreeMap<String, Decimal>, String> {
    let suffixes = row.item.keys().filter_map(|name| Some((name, name.strip_prefix(prefix)?)));
    let amounts = suffixes.map(|(name, suffix)| {
        let asset = match suffix.strip_prefix("regional_") {
            Some(key) => format!("REGIONAL#{key}"),
            None => suffix.to_uppercase(),
        };
        Ok((asset, row.number(name)?))
    });
    amounts.collect()
}
