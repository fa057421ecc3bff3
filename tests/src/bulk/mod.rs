//! Books of any size as an export of the table, made by the core's own builders, customer by customer: memory holds one
//! customer's rows and the merchants' balances.

mod export;
mod ledger;
mod trail;

pub use export::Export;
pub use ledger::{Contact, Ledger};

use ledger_core::ids::Tenant;
use std::path::Path;
use std::{io, iter};

/// The number of transactions of a customer.
pub const EACH: u64 = 50;

/// Writes an export of at least this many transactions; returns the numbers of transactions and items. Calls `progress`
/// repeatedly with the number of transactions so far.
///
/// The books of one tenant are made, and written again for each other one under its slug.
///
/// # Errors
/// An error of the file system.
///
/// # Panics
/// Never: the slugs are valid.
pub fn write(
    directory: &Path,
    transactions: u64,
    tenants: u64,
    mut progress: impl FnMut(u64),
) -> io::Result<(u64, u64)> {
    let mut ledger = Ledger::new();
    let others = (1..tenants).map(|number| Tenant::parse(&format!("{}-{number}", ledger.tenant())).expect("a slug"));
    let all: Vec<Tenant> = iter::once(ledger.tenant().clone()).chain(others).collect();
    let mut export = Export::new(directory, all)?;
    let mut done = 0;
    while done < transactions {
        done += ledger.customer() * tenants;
        for item in ledger.take_customer() {
            export.write(&item)?;
        }
        progress(done);
    }
    for item in ledger.take_rest() {
        export.write(&item)?;
    }
    let items = export.finish(ledger.now())?;
    Ok((done, items))
}
