//! Audits customers' aggregates: what `METRICS` and all balance items of a customer have together.

use super::Checked;
use super::holds::was_never_captured;
use super::index::Audit;
use super::rows::Row;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

const CO2: &str = "co2_total";
const PAYMENTS: &str = "payments";
const PAID: &str = "paid_total";
const REFUNDS: &str = "refunds";
const REFUNDED: &str = "refunded_total";
const ALL: [&str; 5] = [CO2, PAYMENTS, PAID, REFUNDS, REFUNDED];

/// Sums by a customer's partition and the aggregate's name.
type Totals = BTreeMap<(String, &'static str), Decimal>;

/// Checks that a customer's CO2 estimate is the sum over the entries.
pub(super) fn co2_equals_entries(audit: &Audit<'_>) -> Checked {
    let mut said = Totals::new();
    for entry in audit.under("TXN#").filter(|entry| entry.pk.contains("#customer#")) {
        add(&mut said, entry.pk.to_owned(), CO2, entry.opt_number("co2")?);
    }
    compare(audit, &[CO2], &said)
}

/// Checks that a customer's counts and totals are those of the captured payments and their refunds.
pub(super) fn aggregates_equal_payments_and_refunds(audit: &Audit<'_>) -> Checked {
    let mut said = Totals::new();
    for payment in audit.named("PAYMENT").filter(|payment| !was_never_captured(*payment)) {
        let payer = payment.text("payer")?;
        if !payer.starts_with("customer:") {
            continue;
        }
        let customer = format!("{}#{}", audit.tenant, payer.replace(':', "#"));
        add(&mut said, customer.clone(), PAYMENTS, Decimal::ONE);
        add(&mut said, customer.clone(), PAID, payment.number("total")?);
        for refund in audit.within(payment.pk, "REFUND#") {
            // The reversal of a customer's charge is a refund of all of it.
            if ["refund", "payment_reversal"].contains(&refund.text("kind")?) {
                add(&mut said, customer.clone(), REFUNDS, Decimal::ONE);
                add(&mut said, customer.clone(), REFUNDED, refund.number("total")?);
            }
        }
    }
    compare(audit, &[PAYMENTS, PAID, REFUNDS, REFUNDED], &said)
}

/// Compares stored aggregates with the sums. The opening values of a customer with a God Record are in no record.
fn compare(audit: &Audit<'_>, names: &[&'static str], said: &Totals) -> Checked {
    let stored = stored(audit)?;
    for (pk, name) in said.keys().chain(stored.keys()).filter(|(_, name)| names.contains(name)) {
        if audit.row(pk, "customer").is_some() {
            continue;
        }
        let key = (pk.clone(), *name);
        let of = |totals: &Totals| totals.get(&key).copied().unwrap_or_default();
        ensure_eq!(of(&stored), of(said), "{pk}: {name}, of `METRICS` and all balances");
    }
    Ok(())
}

fn stored(audit: &Audit<'_>) -> Result<Totals, String> {
    let mut stored = Totals::new();
    for row in audit.named("METRICS") {
        take(&mut stored, row, "")?;
    }
    for row in audit.under("BALANCE#") {
        take(&mut stored, row, "aggregate_")?;
    }
    Ok(stored)
}

fn take(stored: &mut Totals, row: Row<'_>, prefix: &str) -> Checked {
    for name in ALL {
        add(stored, row.pk.to_owned(), name, row.opt_number(&format!("{prefix}{name}"))?);
    }
    Ok(())
}

fn add(totals: &mut Totals, pk: String, name: &'static str, more: Decimal) {
    *totals.entry((pk, name)).or_default() += more;
}
