//! Audits merchants: what payments and refunds owe them, and what of it has been credited.

use super::books::{Books, Row, opt_text, text};
use super::holdbook::is_held_or_was;
use super::ledgerbook::{Posted, Sums, copied, kind_and_id, merchant_delta, number, opt_number};
use rust_decimal::Decimal;

impl Books {
    /// Checks that a merchant's postings are what its records owe it and what its settlements moved.
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

    /// Checks that merchants' balances with the uncredited records are their postings, and that each record is due for
    /// crediting until it is credited, then for settlement until it is in one. Not valid for rows that were read while
    /// merchants were being credited.
    ///
    /// # Panics
    /// With the first rule that does not hold.
    pub fn check_credited(&self) {
        let (mut available, mut held) = (Sums::new(), Sums::new());
        for (pk, sk, row) in self.under("BALANCE#").filter(|(pk, _, _)| kind_and_id(pk).0 == "merchant") {
            let account = (format!("merchant:{}", kind_and_id(pk).1), sk.replace("BALANCE#", ""));
            assert!(opt_number(row, "held") >= Decimal::ZERO, "{account:?} holds less than nothing");
            *held.entry(account.clone()).or_default() += opt_number(row, "held");
            *available.entry(account).or_default() += number(row, "balance");
        }
        // A returned settlement is in the balance from the start, and is then due for settlement.
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

    /// The rows that owe or may owe a merchant: payments, and refunds of payments.
    pub(super) fn rows_of_merchants(&self) -> impl Iterator<Item = (&str, &str, &Row)> {
        let refunds = self.under("REFUND#").filter(|(pk, _, _)| kind_and_id(pk).0 == "payment");
        self.under("PAYMENT").chain(refunds)
    }
}

/// Keeps the sums of merchants that are not zero.
fn of_merchants(sums: &Sums) -> Sums {
    let is_merchants =
        |((account, _), sum): &(&(String, String), &Decimal)| account.starts_with("merchant:") && !sum.is_zero();
    sums.iter().filter(is_merchants).map(copied).collect()
}
