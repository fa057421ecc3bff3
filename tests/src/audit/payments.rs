//! Audits payments to merchants and their refunds.

use super::Checked;
use super::credits::{letters, owed};
use super::holds::was_never_captured;
use super::index::Audit;
use super::rows::{Row, decimal};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Checks that the refundable amount of a captured payment is what was captured less what was refunded, between zero
/// and the captured amount, and that its state agrees.
pub(super) fn refundable_equals_captured_less_refunded(audit: &Audit<'_>) -> Checked {
    for payment in audit.named("PAYMENT").filter(|payment| !was_never_captured(*payment)) {
        let (mut refunded, mut reversed) = (BTreeMap::<String, Decimal>::new(), false);
        for refund in audit.within(payment.pk, "REFUND#") {
            reversed |= refund.text("kind")? == "payment_reversal";
            for (asset, delta) in owed(refund)? {
                *refunded.entry(asset).or_default() -= delta;
            }
        }
        let (mut all, mut none) = (true, true);
        for (asset, captured) in owed(payment)? {
            let left = refundable(payment, &asset)?;
            let expected = captured - refunded.remove(&asset).unwrap_or_default();
            ensure_eq!(left, expected, "{payment}: refundable {asset}");
            ensure!(left >= Decimal::ZERO && left <= captured, "{payment}: refundable {asset} is {left} of {captured}");
            all &= left == captured;
            none &= left.is_zero();
        }
        ensure!(refunded.is_empty(), "{payment}: refunded assets that were never paid: {refunded:?}");
        let state = match (reversed, all, none) {
            (true, _, _) => "reversed",
            (false, true, _) => "captured",
            (false, false, true) => "refunded",
            (false, false, false) => "partially_refunded",
        };
        ensure_eq!(payment.text("state")?, state, "{payment}: the state");
    }
    Ok(())
}

/// Checks that a payment that was never captured has no refund and nothing refundable.
pub(super) fn uncaptured_payments_are_not_refunded(audit: &Audit<'_>) -> Checked {
    for payment in audit.named("PAYMENT").filter(|payment| was_never_captured(*payment)) {
        let refund = audit.within(payment.pk, "REFUND#").next();
        ensure!(refund.is_none(), "{payment} was never captured and has a refund");
        let refundable = payment.item.keys().find(|name| name.starts_with("refundable_"));
        ensure!(refundable.is_none(), "{payment} was never captured and has {refundable:?}");
    }
    Ok(())
}

/// The refundable amount of an asset: compares attribute names such as `refundable_regional_aoba` by letters only.
fn refundable(row: Row<'_>, asset: &str) -> Result<Decimal, String> {
    let mut found = row.item.iter().filter_map(|(name, value)| Some((name.strip_prefix("refundable_")?, value)));
    let found = found.find(|(suffix, _)| letters(suffix) == letters(asset)).and_then(|(_, value)| decimal(value));
    found.ok_or_else(|| format!("{row} has no refundable {asset}"))
}
