//! Books of any size, as an export of the table: made by the core's own builders, customer by customer, so that
//! memory holds one customer's rows and the merchants' balances.

mod export;
mod ledger;

pub use export::Export;
pub use ledger::Ledger;

use std::io;
use std::path::Path;

/// Of how many transactions a customer has.
pub const EACH: u64 = 50;

/// Writes an export of at least so many transactions, and says of how many it is and how many items it has.
/// `told` hears now and then how many there are so far.
///
/// # Errors
/// That of the disk.
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
