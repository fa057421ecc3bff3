//! Looks in Stripe's lists for the object that a request may have made.
//!
//! INVARIANT: absence is reported only for lists that were read to their end.

use super::{Listed, Listing, ListingKind, LookupResult, PspObject, PspSearch, Stripe};
use crate::psp::wire::{self, Page, WireError};
use ledger_core::psp::{PspId, Step};
use ledger_core::time::Timestamp;

/// At most 5,000 objects. If a list has more, an operator has to look in Stripe's dashboard.
const PAGES_MAX: usize = 50;
const PAGE_LEN: usize = 100;

/// A list and its filter.
pub(super) struct List {
    path: &'static str,
    filter: String,
}

/// The PaymentIntents made in the time of the request.
pub(super) fn intents(search: &PspSearch) -> List {
    List { path: "/v1/payment_intents", filter: made_between(search.since, search.until) }
}

/// The payouts made in the time of the request.
pub(super) fn payouts(search: &PspSearch) -> List {
    List { path: "/v1/payouts", filter: made_between(search.since, search.until) }
}

/// Builds the filter by time. Stripe's times are whole seconds.
fn made_between(since: Timestamp, until: Timestamp) -> String {
    format!("limit={PAGE_LEN}&created%5Bgte%5D={}&created%5Blte%5D={}", since.seconds(), until.seconds())
}

/// The refunds of a PaymentIntent.
pub(super) fn refunds(intent: &PspId) -> List {
    // Ids consist of letters, digits and `_`, so they need no escaping.
    List { path: "/v1/refunds", filter: format!("limit={PAGE_LEN}&payment_intent={intent}") }
}

impl Stripe {
    /// Reads one page of a list; `None` if it cannot be read, or is empty although more should follow.
    pub(super) async fn list_page(&self, what: &Listing, account: Option<&str>) -> Option<Listed> {
        let (path, step) = match what.kind {
            ListingKind::Intents => ("/v1/payment_intents", Step::CreateIntent),
            ListingKind::Refunds => ("/v1/refunds", Step::CreateRefund),
            ListingKind::Payouts => ("/v1/payouts", Step::CreatePayout),
        };
        let mut query = made_between(what.since, what.until);
        if let Some(after) = &what.after {
            query.push_str(&format!("&starting_after={after}"));
        }
        let answer = self.get(path, &query, account).await.ok().filter(|answer| answer.status == 200)?;
        let page = page(step, &answer.body, &self.ledger).ok()?;
        let last = page.data.last().map(|last| last.id().clone());
        match (page.has_more, last) {
            (false, _) => Some(Listed { objects: page.data, next: None }),
            (true, Some(last)) => Some(Listed { objects: page.data, next: Some(last) }),
            (true, None) => None,
        }
    }

    /// Reads a list to its end and returns the one object that matches.
    pub(super) async fn search_list(&self, search: &PspSearch, list: &List, account: Option<&str>) -> LookupResult {
        let mut found: Option<PspObject> = None;
        let mut after: Option<PspId> = None;
        for _ in 0..PAGES_MAX {
            let query = match &after {
                Some(last) => format!("{}&starting_after={last}", list.filter),
                None => list.filter.clone(),
            };
            let Ok(answer) = self.get(list.path, &query, account).await else {
                return LookupResult::Unknown;
            };
            let page = match page(search.step, &answer.body, &self.ledger) {
                Ok(page) if answer.status == 200 => page,
                Ok(_) | Err(_) => return LookupResult::Unknown,
            };
            after = page.data.last().map(|last| last.id().clone());
            for object in page.data.into_iter().filter(|object| is_match(search, object)) {
                if found.as_ref().is_some_and(|other| other.id() != object.id()) {
                    // The idempotency key should have made this impossible.
                    tracing::error!(step = search.step.name(), resource = %search.resource, "found more than once");
                    return LookupResult::Unknown;
                }
                found = Some(object);
            }
            match (page.has_more, &after) {
                (false, _) => return found.map_or(LookupResult::Absent, LookupResult::Found),
                (true, Some(_)) => {}
                // An empty page gives no place to continue from.
                (true, None) => return LookupResult::Unknown,
            }
        }
        tracing::error!(step = search.step.name(), resource = %search.resource, "the list is too long to search");
        LookupResult::Unknown
    }
}

fn page(step: Step, body: &[u8], ledger: &str) -> Result<Page<PspObject>, WireError> {
    match step {
        Step::CreateIntent | Step::CancelIntent => wire::intents(body, ledger).map(|page| page.map(PspObject::Intent)),
        Step::CreateRefund => wire::refunds(body, ledger).map(|page| page.map(PspObject::Refund)),
        Step::CreatePayout => wire::payouts(body, ledger).map(|page| page.map(PspObject::Payout)),
    }
}

/// Whether the object's metadata names the record looked for.
fn is_match(search: &PspSearch, object: &PspObject) -> bool {
    let of_topup = match object {
        PspObject::Intent(intent) => intent.tags.as_ref(),
        PspObject::Refund(refund) => refund.tags.as_ref(),
        PspObject::Payout(payout) => {
            return payout.tags.as_ref().is_some_and(|tags| tags.settlement.uuid() == search.resource);
        }
    };
    of_topup.is_some_and(|tags| match search.step {
        Step::CreateIntent | Step::CancelIntent => tags.refund.is_none() && tags.topup.uuid() == search.resource,
        Step::CreateRefund => tags.refund.is_some_and(|refund| refund.uuid() == search.resource),
        Step::CreatePayout => false,
    })
}
