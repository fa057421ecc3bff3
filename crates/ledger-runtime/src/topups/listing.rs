//! Lists the PSP's objects of a period, to compare them with our records.

use super::PspExecutor;
use crate::psp::{Listing, ListingKind, LookupResult, PspLookup, PspObject};
use ledger_core::time::Timestamp;

/// The most pages per kind of object: 50,000 objects. For more, choose a shorter period.
const PAGES_MAX: usize = 500;

impl PspExecutor {
    /// Passes every PaymentIntent, refund and payout made between two times to `take`. `false` if the PSP did not list
    /// all of them.
    pub(crate) async fn list_all(
        &self,
        since: Timestamp,
        until: Timestamp,
        mut take: impl FnMut(PspObject) -> std::io::Result<()>,
    ) -> std::io::Result<bool> {
        for kind in ListingKind::ALL {
            let mut listing = Listing { kind, since, until, after: None };
            let mut pages = 0_usize;
            loop {
                let Some(page) = self.psp.list(&listing, self.terms().account.as_deref()).await else {
                    return Ok(false);
                };
                for object in page.objects {
                    take(object)?;
                }
                pages = pages.saturating_add(1);
                match page.next {
                    None => break,
                    Some(_) if pages >= PAGES_MAX => return Ok(false),
                    after => listing.after = after,
                }
            }
        }
        Ok(true)
    }

    /// Looks up one of the PSP's objects.
    pub(crate) async fn look_up_object(&self, at: PspLookup<'_>) -> LookupResult {
        self.psp.look(at, self.terms().account.as_deref()).await
    }
}
