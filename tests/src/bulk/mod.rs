//! Books of any size as an export of the table, made by the core's own builders, customer by customer: memory holds one
//! customer's rows and the merchants' balances.

mod export;
mod ledger;

pub use export::Export;
pub use ledger::Ledger;

use std::io;
use std::path::Path;

/// The number of transactions of a customer.
pub const EACH: u64 = 50;

/// Writes an export of at least this many transactions; returns the numbers of transactions and items. Calls `told`
/// repeatedly with the number of transactions so far.
///
/// # Errors
/// An error of the file system.
pub fn write(directory: &Path, transactions: u64, mut told: impl FnMut(u64)) -> io::Result<(u64, u64)> {
    let mut ledger = Ledger::new();
    let mut export = Export::new(directory)?;
    let mut done = 0;
    while done < transactions {
        done += ledger.customer();
        for item in ledger.take_customer() {
            export.write(&item)?;
        }
        told(done);
    }
    for item in ledger.take_rest() {
        export.write(&item)?;
    }
    let items = export.finish(ledger.now())?;
    Ok((done, items))
}
