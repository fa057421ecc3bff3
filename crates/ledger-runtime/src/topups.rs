//! Money from outside: claim, call the payment provider, complete; and what its events and our own
//! looks at its objects do to the books. All three ways (the request itself, an event, the recovery
//! worker) end in the same conditional writes.

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
pub use recover::{Recovered, any_waits};

use crate::execute::Ledger;
use crate::psp::Psp;
use ledger_core::psp::PspTerms;
use std::fmt;
use std::sync::Arc;

/// Where the payment provider is asked, and what it says is brought to the books. Cheap to clone.
#[derive(Clone)]
pub struct Desk {
    ledger: Ledger,
    psp: Arc<dyn Psp>,
    terms: Arc<PspTerms>,
}

impl Desk {
    /// Over a ledger and a provider.
    pub(crate) fn new(ledger: Ledger, psp: impl Psp + 'static, terms: PspTerms) -> Self {
        Self { ledger, psp: Arc::new(psp), terms: Arc::new(terms) }
    }

    /// The provider itself.
    pub(crate) fn psp(&self) -> &dyn Psp {
        self.psp.as_ref()
    }

    /// Which ledger asks, and on whose account.
    #[must_use]
    pub fn terms(&self) -> &PspTerms {
        &self.terms
    }
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Desk")
    }
}
