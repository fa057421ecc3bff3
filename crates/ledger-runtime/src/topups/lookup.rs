//! Looks up what a request may have made, when it cannot be sent again.

use super::PspExecutor;
use super::records::Records;
use crate::psp::{LookupResult, PspLookup, PspObject, PspSearch};
use ledger_core::idempotency::Flight;
use ledger_core::psp::Step;
use ledger_core::time::Timestamp;
use std::time::Duration;

/// Twice the largest expected difference between the PSP's clock and ours.
const MARGIN: Duration = Duration::from_secs(20 * 60);

impl PspExecutor {
    /// Looks up what the operation has made at the PSP, in any of its epochs.
    pub(super) async fn find(&self, flight: &Flight, records: &Records, now: Timestamp) -> LookupResult {
        let search = PspSearch {
            step: flight.request.step,
            resource: flight.resource,
            intent: records.topup.intent.clone(),
            since: flight.claimed_at.minus(MARGIN),
            until: now.plus(MARGIN),
        };
        let known = match flight.request.step {
            Step::CreateIntent | Step::CancelIntent => records.topup.intent.as_ref().map(PspLookup::Intent),
            Step::CreateRefund => {
                records.refund.as_ref().and_then(|refund| refund.psp_refund.as_ref()).map(PspLookup::Refund)
            }
            Step::CreatePayout => None,
        };
        let account = flight.request.account.as_deref();
        let seen = match known {
            Some(lookup) => self.psp.look(lookup, account).await,
            None => self.psp.find(&search, account).await,
        };
        match seen {
            LookupResult::Found(object) if !fits(flight.request.step, &object) => LookupResult::Unknown,
            LookupResult::Found(_) | LookupResult::Absent | LookupResult::Unknown => seen,
        }
    }
}

fn fits(step: Step, object: &PspObject) -> bool {
    match (step, object) {
        (Step::CreateIntent | Step::CancelIntent, PspObject::Intent(_))
        | (Step::CreateRefund, PspObject::Refund(_)) => true,
        (Step::CreateIntent | Step::CancelIntent, PspObject::Refund(_) | PspObject::Payout(_))
        | (Step::CreateRefund, PspObject::Intent(_) | PspObject::Payout(_))
        // A payout is never an operation in flight.
        | (Step::CreatePayout, PspObject::Intent(_) | PspObject::Refund(_) | PspObject::Payout(_)) => false,
    }
}
