//! The audit of settlements and of merchants' balances, written from DESIGN without the ledger's own code.

use super::books::{Books, Row, opt_text, text};
use super::ledgerbook::{kind_and_id, merchant_delta, number};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

impl Books {
    /// A record belongs to one settlement, a settlement is what its records are, and one of a merchant's is open.
    pub(super) fn check_settlements(&self) {
        for (pk, sk, settlement) in self.under("SETTLEMENT#") {
            self.check_totals(pk, sk, settlement);
        }
        for (pk, _, settling) in self.under("SETTLING") {
            let open = self.under("SETTLEMENT#").filter(|(of, _, row)| *of == pk && !is_over(row));
            let open: Vec<&str> = open.map(|(_, _, row)| text(row, "settlement_id")).collect();
            assert_eq!(open, Vec::from_iter(opt_text(settling, "open")), "{pk}: what is open");
        }
    }

    fn check_totals(&self, pk: &str, sk: &str, settlement: &Row) {
        let id = text(settlement, "settlement_id");
        let mine = self.rows_of_merchants().filter(|(_, _, row)| opt_text(row, "settlement_id") == Some(id));
        let mut sums = BTreeMap::<String, Decimal>::new();
        let mut count = 0;
        for (record, _, row) in mine {
            assert!(row.contains_key("credited_at"), "{record}: settled before it was credited");
            assert!(!row.contains_key("due_pk"), "{record}: settled and still due");
            assert_eq!(text(row, "merchant_id"), kind_and_id(pk).1, "{record}: another merchant's settlement");
            count += 1;
            for (asset, delta) in merchant_delta(row) {
                let side = if delta.is_sign_negative() { "refunded" } else { "taken" };
                *sums.entry(format!("{side}_{}", asset.to_lowercase().replace('#', "_"))).or_default() += delta.abs();
            }
        }
        assert_eq!(number(settlement, "records"), count.into(), "{pk} {sk}: how many records");
        let stored = settlement.keys().filter(|name| name.starts_with("taken_") || name.starts_with("refunded_"));
        let stored = stored.map(|name| (name.clone(), number(settlement, name)));
        let stored: BTreeMap<String, Decimal> = stored.filter(|(_, sum)| !sum.is_zero()).collect();
        assert_eq!(stored, sums, "{pk} {sk}: what its records add up to");
        if text(settlement, "state") == "paid" && settlement.contains_key("payable") {
            let parts = ["fee", "tax", "payable"].map(|part| number(settlement, part));
            assert_eq!(parts.iter().sum::<Decimal>(), number(settlement, "net"), "{pk} {sk}: how it divides");
        }
        assert!(!is_over(settlement) || !settlement.contains_key("due_pk"), "{pk} {sk}: over and due");
    }
}

fn is_over(settlement: &Row) -> bool {
    ["paid", "carried", "undone"].contains(&text(settlement, "state"))
}
