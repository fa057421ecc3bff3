//! Audits settlements and merchants' balances. Written from DESIGN, without the ledger's own code.

use super::books::{Books, Row, opt_text, text};
use super::ledgerbook::{kind_and_id, merchant_delta, number};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

impl Books {
    /// Checks that a record is in one settlement at most, that totals match records, and that one settlement is open.
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
        let all = self.rows_of_merchants().chain(self.under("RETURNED#"));
        let mine = all.filter(|(_, _, row)| opt_text(row, "settlement_id") == Some(id));
        let mut sums = BTreeMap::<String, Decimal>::new();
        let mut count = 0;
        for (record, record_sk, row) in mine {
            assert!(row.contains_key("credited_at"), "{record}: settled before it was credited");
            assert!(!row.contains_key("due_pk"), "{record}: settled and still due");
            assert_eq!(text(row, "merchant_id"), kind_and_id(pk).1, "{record}: another merchant's settlement");
            count += 1;
            for (asset, delta) in merchant_delta(row) {
                let side = match (record_sk.starts_with("RETURNED#"), delta.is_sign_negative()) {
                    (true, false) => "came_back",
                    (true, true) => panic!("{record} {record_sk}: less than nothing came back"),
                    (false, true) => "refunded",
                    (false, false) => "taken",
                };
                *sums.entry(format!("{side}_{}", asset.to_lowercase().replace('#', "_"))).or_default() += delta.abs();
            }
        }
        assert_eq!(number(settlement, "records"), count.into(), "{pk} {sk}: how many records");
        let sums_of = |name: &&String| ["taken_", "refunded_", "came_back_"].iter().any(|of| name.starts_with(of));
        let stored = settlement.keys().filter(sums_of);
        let stored = stored.map(|name| (name.clone(), number(settlement, name)));
        let stored: BTreeMap<String, Decimal> = stored.filter(|(_, sum)| !sum.is_zero()).collect();
        assert_eq!(stored, sums, "{pk} {sk}: what its records add up to");
        let paid = ["paid", "returned"].contains(&text(settlement, "state"));
        if paid && settlement.contains_key("payable") {
            let parts = ["fee", "tax", "payable"].map(|part| number(settlement, part));
            assert_eq!(parts.iter().sum::<Decimal>(), number(settlement, "net"), "{pk} {sk}: how it divides");
        }
        // A settlement that is over is due only to send its file again, and a returned one sends none.
        let (is_due, resends) = (settlement.contains_key("due_pk"), settlement.contains_key("resend_id"));
        assert!(!is_over(settlement) || !is_due || resends, "{pk} {sk}: over and due");
        assert!(!resends || text(settlement, "state") == "paid", "{pk} {sk}: a file is on its way");
        // A returned settlement owes its payable amount again, once.
        let back = self.row(pk, &format!("RETURNED#{id}")).map(merchant_delta);
        let want = (text(settlement, "state") == "returned").then(|| number(settlement, "payable"));
        assert_eq!(back.map(|back| back["ECOPAY"]), want, "{pk} {sk}: what came back");
    }
}

fn is_over(settlement: &Row) -> bool {
    ["paid", "carried", "undone", "returned"].contains(&text(settlement, "state"))
}
