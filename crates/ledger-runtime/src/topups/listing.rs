//! What the payment provider has of a time, for comparing it with ours.

use super::Desk;
use crate::psp::{Listing, ListingKind, Lookup, PspObject, Sighting};
use ledger_core::time::Timestamp;

/// Fifty thousand objects of a kind. Whoever has more in the time asked for must ask for a shorter one.
const PAGES_MAX: usize = 500;

impl Desk {
    /// Every PaymentIntent, refund and payout that was made between two instants, page by page; `false` if the provider
    /// did not tell all of them.
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

    /// One of the provider's objects as it stands.
    pub(crate) async fn look_at(&self, at: Lookup<'_>) -> Sighting {
        self.psp.look(at, self.terms().account.as_deref()).await
    }
}
