//! A year of payments by the same customers to the same merchants, sealed, and with its posting days closed.

use super::books::{FIRST_PAYMENTS, GIVEN, MERCHANTS, YearFacts};
use super::progress;
use super::table::Table;
use ledger_core::ids::CustomerId;
use ledger_core::sealing::lanes::LANE_RECORDS_MAX;
use ledger_tests::bulk::Ledger;
use std::time::Duration;

const CUSTOMERS: u64 = 200;
/// The part of the year after which the observed day comes: its third.
const OBSERVED_AFTER: u32 = 3;
/// After how many payments there is a line of progress.
const PROGRESS_PAYMENTS: u64 = 1_000_000;

/// Adds the payments of a year to books, of `customer` and others. Of what they write only what figures are made of is
/// loaded: neither markers nor payments.
pub(super) fn fill(
    ledger: &mut Ledger,
    table: &mut Table,
    customer: CustomerId,
    (payments, step): (u64, Duration),
) -> Result<YearFacts, String> {
    let mut customers = vec![customer];
    for _ in 1..CUSTOMERS {
        let customer = ledger.open();
        ledger.give(customer, GIVEN);
        customers.push(customer);
    }
    ledger.seal();
    table.load(ledger.take_sealed())?;
    // What it was given, and what it paid before the year.
    let mut of_customer = 1 + u64::from(FIRST_PAYMENTS);
    let year = step * u32::try_from(payments).map_err(|_| "a size must fit in 32 bits".to_owned())?;
    let day = ledger.now().plus(year / OBSERVED_AFTER).business_date();
    let mut unsealed = 0;
    for number in 0..payments {
        if number > 0 && number % PROGRESS_PAYMENTS == 0 {
            progress(&format!("{number} of {payments} payments are made"));
        }
        ledger.wait(step);
        if ledger.has_day_to_close() {
            ledger.seal();
            unsealed = 0;
            ledger.close_days();
        }
        let payer = customers[at(number % CUSTOMERS)];
        let _ = ledger.pay(payer, 100 + number % 7, at((number + number / CUSTOMERS) % MERCHANTS as u64));
        of_customer += u64::from(payer == customer && ledger.now().business_date() <= day);
        unsealed += 1;
        if unsealed == LANE_RECORDS_MAX {
            ledger.seal();
            unsealed = 0;
            load_sealed(ledger, table)?;
        }
    }
    ledger.seal();
    load_sealed(ledger, table)?;
    Ok(YearFacts { day: day.to_string(), of_customer })
}

fn load_sealed(ledger: &mut Ledger, table: &mut Table) -> Result<(), String> {
    let mut sealed = ledger.take_sealed();
    sealed.retain(|row| ledger.is_of_figures(row));
    table.load(sealed)
}

fn at(number: u64) -> usize {
    usize::try_from(number).unwrap_or(0)
}
