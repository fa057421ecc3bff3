//! The figures of a year: what operators, merchants and auditors read of it.

use super::{Bench, Caller, Measured, Reading};
use ledger_core::figures::BaseDate;
use ledger_core::time::BusinessDate;

impl Bench {
    pub(super) async fn figures(&self) -> Result<Vec<Measured>, String> {
        let year = self.facts.year.as_ref().ok_or("the books are not of a year")?;
        let day = BusinessDate::parse(&year.day).map_err(|error| error.to_string())?;
        let (noon, month, now) = (format!("{day}T03:00:00Z"), day.month(), self.app.now());
        let (first, last, today) = (month.first(), month.last(), now.business_date());
        let report = BaseDate::before(today).date();
        let totals = |from, to, by: &str| format!("/v1/admin/totals?from={from}&to={to}&by={by}");
        let balance = |account: &str, at: &str| format!("/v1/admin/accounts/{account}/balance?at={at}");
        let merchant = format!("merchant:{}", self.facts.merchant);
        let customer = format!("customer:{}", self.facts.customer);
        let (staff, merchants) = (self.staff(), self.merchant());
        let mut measured = Vec::new();
        for (operation, caller, path) in [
            ("totals of a day", &staff, totals(day, day, "day")),
            ("totals of a day by merchant", &staff, totals(day, day, "merchant")),
            ("totals of a month", &staff, totals(first, last, "day")),
            ("totals of the open day", &staff, totals(today, today, "day")),
            ("trial balance of a day", &staff, format!("/v1/admin/trial-balance?date={day}")),
            ("own account, end of a day", &staff, balance("points_issued", &day.to_string())),
            ("own account, noon", &staff, balance("points_issued", &noon)),
            ("merchant's balance, end of a day", &staff, balance(&merchant, &day.to_string())),
            ("merchant's balance, noon", &staff, balance(&merchant, &noon)),
            ("merchant's month", &merchants, format!("/v1/merchant/statements?month={month}")),
            ("prepaid report", &staff, format!("/v1/admin/prepaid-report?date={report}")),
        ] {
            measured.push(self.read(operation, caller, &Reading::Get(path), 0).await?);
        }
        measured.push(self.balance_of_customer(&staff, balance(&customer, &day.to_string()), year.of_customer).await?);
        Ok(measured)
    }

    /// The balance of the customer at the end of a day, which reads its `entries` until then.
    async fn balance_of_customer(&self, staff: &Caller, path: String, entries: u64) -> Result<Measured, String> {
        let read = self.read("customer's balance, end of a day", staff, &Reading::Get(path), 0).await?;
        Ok(Measured { work: entries, ..read })
    }
}
