//! Top-ups and their refunds: claim the key, call the PSP, complete.
//!
//! Also applies the PSP's events and the results of lookups to the books. The request, an event and the recovery worker
//! all end in the same conditional writes.

mod call;
mod decide;
mod drive;
mod facts;
mod listing;
mod lookup;
mod notes;
mod parked;
mod provider;
mod records;
mod recover;

pub use decide::DecisionRequest;
pub use facts::Applied;
pub use parked::{Resolution, Resolved, needs_review};
pub(crate) use provider::Keeper;
pub use provider::Provider;
pub(crate) use provider::ProviderAccess;
pub use recover::Recovered;

use crate::execute::Ledger;
use crate::psp::Psp;
use ledger_core::psp::PspTerms;
use std::fmt;
use std::sync::Arc;

/// Calls the PSP and applies what it says to the books. Cheap to clone.
#[derive(Clone)]
pub struct PspExecutor {
    ledger: Ledger,
    psp: Arc<dyn Psp>,
    terms: Arc<PspTerms>,
}

impl PspExecutor {
    /// Creates it over a ledger and a PSP.
    pub(crate) fn new(ledger: Ledger, psp: impl Psp + 'static, terms: PspTerms) -> Self {
        Self { ledger, psp: Arc::new(psp), terms: Arc::new(terms) }
    }

    /// The PSP itself.
    pub(crate) fn psp(&self) -> &dyn Psp {
        self.psp.as_ref()
    }

    /// The ledger and the PSP account that the calls are made for.
    #[must_use]
    pub fn terms(&self) -> &PspTerms {
        &self.terms
    }
}

impl fmt::Debug for PspExecutor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PspExecutor")
    }
}
