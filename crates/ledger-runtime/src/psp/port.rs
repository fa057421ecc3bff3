//! The port to a payment provider. A request is done, refused, or has an unknown outcome.
//!
//! Each response that is not listed as done or refused is unknown.

use futures::future::BoxFuture;
use ledger_core::psp::{Fact, PaymentIntent, Payout, PspId, PspKey, PspRefund, PspRequest, Step};
use ledger_core::time::Timestamp;
use ledger_core::trail::ProviderAnswer;
use uuid::Uuid;

/// A payment provider that deduplicates requests by our keys, which the ledger relies on.
pub trait Psp: Send + Sync {
    /// Sends a request once under its key. It can be sent again while the provider keeps the key.
    fn send<'a>(&'a self, request: &'a PspRequest, key: &'a PspKey) -> BoxFuture<'a, Sent>;

    /// Looks an object up by its id.
    fn look<'a>(&'a self, at: PspLookup<'a>, account: Option<&'a str>) -> BoxFuture<'a, LookupResult>;

    /// Looks in the provider's lists for the object that a request made, by its metadata.
    ///
    /// INVARIANT: `Absent` is returned only if the whole list was read.
    fn find<'a>(&'a self, search: &'a PspSearch, account: Option<&'a str>) -> BoxFuture<'a, LookupResult>;

    /// Reads a page of all objects of a kind made within a time, newest first. `None` if the lookup failed.
    fn list<'a>(&'a self, what: &'a Listing, account: Option<&'a str>) -> BoxFuture<'a, Option<Listed>>;
}

/// A request for one page of a list.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The kind of the objects.
    pub kind: ListingKind,
    /// The start of the time in which the objects were made, inclusive.
    pub since: Timestamp,
    /// The end of that time, inclusive.
    pub until: Timestamp,
    /// The last object of the previous page; `None` for the first page.
    pub after: Option<PspId>,
}

/// The kinds of objects that can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListingKind {
    /// PaymentIntents.
    Intents,
    /// Refunds.
    Refunds,
    /// Payouts.
    Payouts,
}

impl ListingKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Intents, Self::Refunds, Self::Payouts];
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The objects on the page.
    pub objects: Vec<PspObject>,
    /// Where the next page begins; `None` after the last.
    pub next: Option<PspId>,
}

/// The result of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The request took effect; holds the object.
    Done(PspObject),
    /// The request has no effect, and under this key it never will.
    Refused(PspRefusal),
    /// The outcome is unknown.
    Unknown(Unknown),
}

/// A provider's refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspRefusal {
    /// The provider's code, such as `amount_too_small`: no personal data.
    pub code: String,
    /// Whether the refusal is final.
    pub outlook: Outlook,
    /// The object's current state, if the provider returns it.
    pub object: Option<PspObject>,
}

/// Whether a refusal is final.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// The same request will always be refused.
    Final,
    /// The request may succeed later.
    MayPass {
        /// Whether the provider replays the refusal under this key, so that only a new key can succeed.
        burnt: bool,
    },
}

/// An unknown outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Whether sending the request again under the same key can reveal the outcome. `false` if the provider replays its
    /// own failure.
    pub resend: bool,
    /// The cause in one word, for the log.
    pub why: &'static str,
}

/// An object of the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PspObject {
    /// A PaymentIntent.
    Intent(PaymentIntent),
    /// A refund.
    Refund(PspRefund),
    /// A payout.
    Payout(Payout),
}

/// An object to look up.
#[derive(Clone, Copy, Debug)]
pub enum PspLookup<'a> {
    /// A PaymentIntent.
    Intent(&'a PspId),
    /// A refund.
    Refund(&'a PspId),
    /// A payout.
    Payout(&'a PspId),
}

/// The object that a request would have made.
#[derive(Clone, Debug)]
pub struct PspSearch {
    /// The step of the request.
    pub step: Step,
    /// The id of the top-up, refund or settlement in the object's metadata.
    pub resource: Uuid,
    /// The PaymentIntent of a refund or cancellation.
    pub intent: Option<PspId>,
    /// The start of the time in which the object may have been made, inclusive, by either clock.
    pub since: Timestamp,
    /// The end of that time, inclusive.
    pub until: Timestamp,
}

/// The result of a PSP lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LookupResult {
    /// The object exists.
    Found(PspObject),
    /// The object does not exist.
    Absent,
    /// The lookup failed.
    Unknown,
}

impl LookupResult {
    /// Converts the result for the audit trail.
    #[must_use]
    pub fn answers(&self) -> ProviderAnswer {
        match self {
            Self::Found(object) => ProviderAnswer::Found(object.id().clone()),
            Self::Absent => ProviderAnswer::Absent,
            Self::Unknown => ProviderAnswer::Unknown("look".to_owned()),
        }
    }
}

impl PspObject {
    /// The object's id.
    #[must_use]
    pub fn id(&self) -> &PspId {
        match self {
            Self::Intent(intent) => &intent.id,
            Self::Refund(refund) => &refund.id,
            Self::Payout(payout) => &payout.id,
        }
    }

    /// Returns the fact about a top-up; `None` for a payout.
    #[must_use]
    pub fn fact(self) -> Option<Fact> {
        match self {
            Self::Intent(intent) => Some(Fact::Intent(intent)),
            Self::Refund(refund) => Some(Fact::Refund(refund)),
            Self::Payout(_) => None,
        }
    }
}
