//! A refund of a top-up to the card, `REFUND#<id>` in the top-up's partition.

use super::decision_effect;
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::idempotency::{Claim, ClaimKey};
use crate::ids::{Principal, RefundId, Tenant, TopupId, TransactionId};
use crate::keys::{self, Key, Shards, Work, attr};
use crate::money::{Amount, Asset, Delta};
use crate::operation::Operation;
use crate::psp::PspId;
use crate::terms::TermsVersion;
use crate::time::Timestamp;
use crate::words::words;
use std::fmt;
use std::time::Duration;

words! {
    /// The state of a refund: `requested -> pending -> succeeded -> failed`, where steps may be skipped. A failed refund
    /// never succeeds.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum RefundState {
        /// The money is held. It is not known whether the provider got the request.
        Requested = "requested",
        /// The provider is processing it.
        Pending = "pending",
        /// The provider has paid it out.
        Succeeded = "succeeded",
        /// It was not paid out, or was returned: the money is in the wallet again.
        Failed = "failed",
    }
}

/// The steps of a refund that move money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefundStep {
    /// The money is held.
    Held,
    /// The money was paid out.
    Paid,
    /// The money is in the wallet again.
    Returned,
}

/// A refund of a top-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopupRefund {
    /// Its id.
    pub id: RefundId,
    /// The top-up.
    pub topup: TopupId,
    /// What leaves the wallet.
    pub amount: Amount,
    /// What the card gets: the amount, less what is kept.
    pub paid: Amount,
    /// Yen kept for points of the top-up that the customer has spent.
    pub kept: Option<Amount>,
    /// Points of the top-up that are taken back.
    pub points: Option<Amount>,
    /// The points of the top-up that it settles: taken back, paid for in yen, or forgiven.
    pub settled: Option<Amount>,
    /// By how much the provider paid less than it should have, if that was booked and not written off.
    pub suspense: Option<Delta>,
    /// Whether such a difference was written off.
    pub written_off: bool,
    /// What the provider had paid out for it when it was given up.
    pub given_up: Option<Amount>,
    /// The present state.
    pub state: RefundState,
    /// The provider's refund, once it is known.
    pub psp_refund: Option<PspId>,
    /// The principal who requested it.
    pub principal: Principal,
    /// The idempotency key.
    pub key: ClaimKey,
    /// When it was requested.
    pub created_at: Timestamp,
    pub(super) shards: Shards,
    /// The version of the terms that its request was planned under: what it takes back follows from it.
    pub(super) terms_version: TermsVersion,
}

impl fmt::Display for RefundState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl RefundStep {
    /// The id of the step's entry: one per refund and step, ordered after those of the steps before.
    pub(super) fn id(self, refund: &TopupRefund) -> TransactionId {
        let (name, after_ms) = match self {
            Self::Held => ("hold", 0),
            Self::Paid => ("paid", 1),
            Self::Returned => ("returned", 2),
        };
        TransactionId::of_step(refund.id.uuid(), name, refund.created_at.plus(Duration::from_millis(after_ms)))
    }
}

impl TopupRefund {
    /// The key of its marker.
    #[must_use]
    pub fn marker_key(&self, tenant: &Tenant) -> Key {
        keys::marker(tenant, self.principal, Operation::TopupRefund, &self.key)
    }

    /// Reads a stored refund.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed("refund_id", RefundId::parse)?,
            topup: item.parsed("topup_id", TopupId::parse)?,
            amount: item.amount("amount", Asset::Ecopay)?,
            paid: item.amount("paid", Asset::Ecopay)?,
            kept: item.opt_amount("kept", Asset::Ecopay)?,
            points: item.opt_amount("points", Asset::Point)?,
            settled: item.opt_amount("settled", Asset::Point)?,
            suspense: item.opt_delta(decision_effect::SUSPENSE, Asset::Ecopay)?,
            written_off: item.contains_key(decision_effect::WRITTEN_OFF),
            given_up: item.opt_amount(decision_effect::GIVEN_UP, Asset::Ecopay)?,
            state: item.named("state", RefundState::parse)?,
            psp_refund: item.opt_named("psp_refund", PspId::parse)?,
            principal: item.parsed("principal", Principal::parse)?,
            key: item.parsed("idempotency_key", ClaimKey::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            shards: item.checked_int("due_shards", Shards::new)?,
            terms_version: TermsVersion::read(item)?,
        })
    }

    /// The attributes of a new refund.
    pub(super) fn item(&self, claim: &Claim) -> Item {
        let mut item = Item::from([
            ("refund_id".to_owned(), Value::s(self.id)),
            ("topup_id".to_owned(), Value::s(self.topup)),
            ("amount".to_owned(), Value::N(self.amount.text())),
            ("paid".to_owned(), Value::N(self.paid.text())),
            ("state".to_owned(), Value::s(self.state)),
            ("operation".to_owned(), Value::s(claim.operation)),
            ("principal".to_owned(), Value::s(self.principal)),
            ("actor".to_owned(), Value::s(claim.actor)),
            ("idempotency_key".to_owned(), Value::s(self.key.as_str())),
            ("due_shards".to_owned(), Value::int(self.shards.count().into())),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            (attr::UPDATED_AT.to_owned(), Value::s(self.created_at)),
        ]);
        for (name, amount) in [("kept", &self.kept), ("points", &self.points), ("settled", &self.settled)] {
            if let Some(amount) = amount {
                item.insert(name.to_owned(), Value::N(amount.text()));
            }
        }
        item.extend(self.terms_version.attribute());
        item
    }

    /// Schedules the next lookup of the provider's refund at `at`.
    pub(super) fn due_again(&self, tenant: &Tenant, update: Update, at: Timestamp) -> Update {
        let shard = keys::shard_of(self.id.uuid(), self.shards);
        Work::PspCheck.due(tenant, shard, at, self.id).set(update)
    }
}
