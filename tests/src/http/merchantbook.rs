//! The audit of merchants: what payments and refunds owe them, and what has been credited of it.

use super::books::{Books, Row, opt_text, text};
use super::holdbook::is_held_or_was;
use super::ledgerbook::{Posted, Sums, copied, kind_and_id, merchant_delta, number, opt_number};
use rust_decimal::Decimal;

impl Books {
    /// A merchant's postings are what its payments and refunds owe it, and what its settlements moved.
    pub(super) fn check_merchants(&self, posted: &Posted) {
        let mut owed = Sums::new();
        for (pk, sk, row) in self.rows_of_merchants() {
            let merchant = format!("merchant:{}", text(row, "merchant_id"));
            let is_owed = row.contains_key("merchant_delta");
            assert!(is_owed || is_held_or_was(row), "{pk} {sk} owes nothing to its merchant");
            for (asset, delta) in merchant_delta(row) {
                *owed.entry((merchant.clone(), asset)).or_default() += delta;
            }
            for attribute in ["owner_pk", "owner_sk"] {
                assert!(opt_text(row, attribute).is_some(), "{pk} {sk} is not listed by its merchant");
            }
        }
        for ((account, asset), delta) in &posted.settled {
            *owed.entry((account.clone(), asset.clone())).or_default() += *delta;
        }
        let [owed, posted] = [&owed, &posted.available].map(of_merchants);
        assert_eq!(owed, posted, "what merchants are owed and what is posted to them differ");
    }

    /// What merchants have available, with what records owe that have not been added to it, is what is posted to
    /// them, and so is what they hold; and each record's work is to be credited until it is, then to be settled
    /// until it is in a settlement. Not for rows that were read while merchants were being credited.
    ///
    /// # Panics
    /// With what is wrong.
    pub fn check_credited(&self) {
        let (mut available, mut held) = (Sums::new(), Sums::new());
        for (pk, sk, row) in self.under("BALANCE#").filter(|(pk, _, _)| kind_and_id(pk).0 == "merchant") {
            let account = (format!("merchant:{}", kind_and_id(pk).1), sk.replace("BALANCE#", ""));
            assert!(opt_number(row, "held") >= Decimal::ZERO, "{account:?} holds less than nothing");
            *held.entry(account.clone()).or_default() += opt_number(row, "held");
            *available.entry(account).or_default() += number(row, "balance");
        }
        // What came back is in the balance from the start, and then to be settled like all that is credited.
        let records = self.rows_of_merchants().chain(self.under("RETURNED#"));
        for (pk, sk, row) in records.filter(|(_, _, row)| row.contains_key("merchant_delta")) {
            let (merchant, credited) = (text(row, "merchant_id"), row.contains_key("credited_at"));
            let work = if credited { "settle" } else { "credit" };
            let due = opt_text(row, "due_pk").unwrap_or_default();
            match opt_text(row, "settlement_id") {
                Some(_) => assert_eq!(due, "", "{pk} {sk}: settled, and due"),
                None => {
                    assert!(due.starts_with(&format!("{}#due#{work}#{merchant}#", self.tenant)), "{pk} {sk}: {due}")
                }
            }
            if !credited {
                for (asset, delta) in merchant_delta(row) {
                    *available.entry((format!("merchant:{merchant}"), asset)).or_default() += delta;
                }
            }
        }
        let posted = self.postings();
        for (stored, posted, what) in [(available, posted.available, "available"), (held, posted.held, "held")] {
            let [stored, posted] = [&stored, &posted].map(of_merchants);
            assert_eq!(stored, posted, "merchants' {what} balances, and their postings, differ");
        }
    }

    /// What owes or may come to owe a merchant: payments, and refunds of payments.
    pub(super) fn rows_of_merchants(&self) -> impl Iterator<Item = (&str, &str, &Row)> {
        let refunds = self.under("REFUND#").filter(|(pk, _, _)| kind_and_id(pk).0 == "payment");
        self.under("PAYMENT").chain(refunds)
    }
}

/// Without whom is no merchant, and what is nothing.
fn of_merchants(sums: &Sums) -> Sums {
    let is_merchants =
        |((account, _), sum): &(&(String, String), &Decimal)| account.starts_with("merchant:") && !sum.is_zero();
    sums.iter().filter(is_merchants).map(copied).collect()
}
