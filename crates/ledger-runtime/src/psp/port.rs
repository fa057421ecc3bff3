//! What the ledger asks of a payment provider. An answer has three values: done, refused, or not known;
//! whatever is not listed as one of the first two is the third.

use futures::future::BoxFuture;
use ledger_core::psp::{Fact, PaymentIntent, Payout, PspId, PspKey, PspRefund, PspRequest, Step};
use ledger_core::time::Timestamp;
use ledger_core::trail::Heard;
use uuid::Uuid;

/// A payment provider that dedupes on our keys. One that does not is not admitted.
pub trait Psp: Send + Sync {
    /// Sends a request once under its key. Repeating it is always safe while the key is kept.
    fn send<'a>(&'a self, request: &'a PspRequest, key: &'a PspKey) -> BoxFuture<'a, Sent>;

    /// Looks an object up by its id.
    fn look<'a>(&'a self, at: Lookup<'a>, account: Option<&'a str>) -> BoxFuture<'a, Sighting>;

    /// Looks for what a request made, by its metadata, in the provider's lists. `Absent` is said only
    /// when the whole list was read.
    fn find<'a>(&'a self, sought: &'a Sought, account: Option<&'a str>) -> BoxFuture<'a, Sighting>;

    /// A page of everything of a kind that was made in a time, the newest first. `None` if the provider did not
    /// tell.
    fn list<'a>(&'a self, what: &'a Listing, account: Option<&'a str>) -> BoxFuture<'a, Option<Listed>>;
}

/// What is listed.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Which objects.
    pub kind: ListingKind,
    /// Not made before this.
    pub since: Timestamp,
    /// Nor after this.
    pub until: Timestamp,
    /// After the last of the page before.
    pub after: Option<PspId>,
}

/// Kinds of objects that are listed.
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

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What is on it.
    pub objects: Vec<PspObject>,
    /// Where the next one begins; `None` after the last.
    pub next: Option<PspId>,
}

/// What a request came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It has its effect: this is the object.
    Done(PspObject),
    /// It has no effect, and this request never will under this key.
    Refused(PspRefusal),
    /// It may or may not have an effect.
    Unknown(Unknown),
}

/// A provider's refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PspRefusal {
    /// The provider's code, such as `amount_too_small`: no personal data.
    pub code: String,
    /// Whether it can become otherwise.
    pub outlook: Outlook,
    /// The object as it stands, where the provider shows it.
    pub object: Option<PspObject>,
}

/// Whether a refusal can become otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlook {
    /// The request itself is refused, and will be every time.
    Final,
    /// It may go away. `burnt`: the provider keeps the refusal under the key, so that only another
    /// key can ever succeed.
    MayPass {
        /// Whether the key is used up.
        burnt: bool,
    },
}

/// An outcome that is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Whether sending it again under the same key can tell more: not if the provider replays its
    /// own failure.
    pub resend: bool,
    /// What was met, in a word for the log.
    pub why: &'static str,
}

/// One of the provider's objects.
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
pub enum Lookup<'a> {
    /// A PaymentIntent.
    Intent(&'a PspId),
    /// A refund.
    Refund(&'a PspId),
    /// A payout.
    Payout(&'a PspId),
}

/// What a request would have made.
#[derive(Clone, Debug)]
pub struct Sought {
    /// By which step.
    pub step: Step,
    /// The id of our top-up, refund or settlement in its metadata.
    pub resource: Uuid,
    /// The PaymentIntent of a refund.
    pub intent: Option<PspId>,
    /// Not made before this, by the provider's clock or ours.
    pub since: Timestamp,
    /// Nor after this.
    pub until: Timestamp,
}

/// What a look shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sighting {
    /// This.
    Found(PspObject),
    /// There is no such object.
    Absent,
    /// The provider did not tell.
    Unknown,
}

impl Sighting {
    /// What is put on record of it.
    #[must_use]
    pub fn heard(&self) -> Heard {
        match self {
            Self::Found(object) => Heard::Found(object.id().clone()),
            Self::Absent => Heard::Absent,
            Self::Unknown => Heard::Unknown("look".to_owned()),
        }
    }
}

impl PspObject {
    /// Its id.
    #[must_use]
    pub fn id(&self) -> &PspId {
        match self {
            Self::Intent(intent) => &intent.id,
            Self::Refund(refund) => &refund.id,
            Self::Payout(payout) => &payout.id,
        }
    }

    /// What it tells about a top-up, or `None` for a payout.
    #[must_use]
    pub fn fact(self) -> Option<Fact> {
        match self {
            Self::Intent(intent) => Some(Fact::Intent(intent)),
            Self::Refund(refund) => Some(Fact::Refund(refund)),
            Self::Payout(_) => None,
        }
    }
}
