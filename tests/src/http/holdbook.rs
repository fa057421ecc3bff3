//! Audits authorized payments: the hold, entries and due index entry of each. Written from DESIGN, like `ledgerbook`.

use super::books::{Books, Row, opt_text, text};
use super::ledgerbook::{Sums, opt_number};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// Whether a payment was authorized and never captured.
pub(super) fn is_held_or_was(payment: &Row) -> bool {
    opt_text(payment, "expires_at").is_some() && ["authorized", "canceled", "expired"].contains(&text(payment, "state"))
}

impl Books {
    /// What authorized payments that are not captured hold, by customer and asset.
    pub(super) fn held_for_merchants(&self) -> Sums {
        let mut sums = Sums::new();
        for (_, _, hold) in self.under("HOLD").filter(|(_, _, hold)| text(hold, "state") == "authorized") {
            for (asset, held) in by_asset(hold, "held_") {
                *sums.entry((text(hold, "payer").to_owned(), asset)).or_default() += held;
            }
        }
        sums
    }

    /// Checks that an authorized payment has a hold in the matching state, due until it is over; that it was held once
    /// and ended at most once; and that no more was captured than was held.
    pub(super) fn check_holds(&self) {
        for (pk, _, payment) in
            self.under("PAYMENT").filter(|(_, _, payment)| opt_text(payment, "expires_at").is_some())
        {
            let hold = self.row(pk, "HOLD").unwrap_or_else(|| panic!("{pk} has no hold"));
            let state = match text(payment, "state") {
                "partially_refunded" | "refunded" => "captured",
                state => state,
            };
            assert_eq!(text(hold, "state"), state, "{pk}: the hold's state");
            assert_eq!(text(hold, "expires_at"), text(payment, "expires_at"), "{pk}");
            let due = opt_text(hold, "due_pk").is_some_and(|due| due.contains("#due#hold#"));
            assert_eq!(due, state == "authorized", "{pk}: it is looked at while it is held");
            let (held, captured) = (by_asset(payment, "authorized_"), by_asset(payment, "captured_"));
            assert_eq!(by_asset(hold, "held_"), held, "{pk}");
            assert!(
                captured.iter().all(|(asset, taken)| held.get(asset) >= Some(taken)),
                "{pk}: {captured:?} of {held:?}"
            );
            assert_eq!(captured.is_empty(), state != "captured", "{pk}");
            let of = |operation| self.entries_of_payment(pk, operation);
            let ends = [("capture", "captured"), ("void", "canceled"), ("hold_expire", "expired")];
            assert_eq!(of("charge"), 1, "{pk}: it was held once");
            for (operation, end) in ends {
                assert_eq!(of(operation), usize::from(end == state), "{pk} is {state}: {operation}");
            }
        }
        for (pk, sk, _) in self.under("HOLD") {
            let payment = self.row(pk, "PAYMENT").unwrap_or_else(|| panic!("{pk} {sk} has no payment"));
            assert!(opt_text(payment, "expires_at").is_some(), "{pk} {sk} was never authorized");
        }
    }

    fn entries_of_payment(&self, pk: &str, operation: &str) -> usize {
        let entries = self.under("TXN#").filter(|(_, _, entry)| text(entry, "operation") == operation);
        entries.filter(|(_, _, entry)| opt_text(entry, "payment_id").is_some_and(|id| pk.ends_with(id))).count()
    }
}

/// Amounts of attributes such as `captured_ecopay` and `captured_regional_aoba`, by asset.
fn by_asset(row: &Row, prefix: &str) -> BTreeMap<String, Decimal> {
    let of = |name: &String| {
        let suffix = name.strip_prefix(prefix)?;
        let asset = match suffix.strip_prefix("regional_") {
            Some(key) => format!("REGIONAL#{key}"),
            None => suffix.to_uppercase(),
        };
        Some((asset, opt_number(row, name)))
    };
    row.keys().filter_map(of).collect()
}
