//! The `TOPUP` item: what was requested, its state, and what may still be refunded.

use super::decision_effect;
use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::idempotency::{Claim, ClaimKey};
use crate::ids::{CustomerId, Principal, Tenant, TopupId};
use crate::keys::{self, DueKeys, Key, Shards, Work, attr};
use crate::money::{Amount, Asset, Balance, Delta};
use crate::operation::Operation;
use crate::psp::{PspId, PspKey, PspRequest, Step};
use crate::terms::{EntryTerms, TermsVersion};
use crate::time::Timestamp;
use crate::words::words;
use std::fmt;

words! {
    /// The state of a top-up: `requested -> pending -> succeeded | canceled`, and `requested -> refused`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum TopupState {
        /// The headroom is reserved. It is not known whether the provider got the request.
        Requested = "requested",
        /// The provider has a PaymentIntent for it, which the customer has not paid.
        Pending = "pending",
        /// It was paid and is in the wallet.
        Succeeded = "succeeded",
        /// The provider has confirmed that it will never be paid.
        Canceled = "canceled",
        /// The provider has refused to create a PaymentIntent for it.
        Refused = "refused",
    }
}

/// A top-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopupRecord {
    /// Its id.
    pub id: TopupId,
    /// The customer whose wallet it is.
    pub customer: CustomerId,
    /// The amount of money.
    pub charge: Amount,
    /// The points that come with it, as promised at the request.
    pub points: Option<Amount>,
    /// The present state.
    pub state: TopupState,
    /// The provider's PaymentIntent, once it is known.
    pub intent: Option<PspId>,
    /// Whether it is real money.
    pub livemode: bool,
    /// The connected account that is charged.
    pub account: Option<String>,
    /// What may still be refunded to the card.
    pub refundable: Balance,
    /// How many of its points refunds have taken back.
    pub points_taken_back: Balance,
    /// What a decision posted to `suspense` for it and is not written off.
    pub suspense: Option<Delta>,
    /// What the provider had received for it when it was given up.
    pub given_up: Option<Amount>,
    /// The epoch of the PSP key of the next cancellation.
    pub cancel_epoch: u32,
    /// The customer's idempotency key.
    pub key: ClaimKey,
    /// When it was requested.
    pub created_at: Timestamp,
    /// When its cancellation is requested if it has not been paid.
    pub expires_at: Timestamp,
    pub(crate) shards: Shards,
    /// The version of the terms that its request was planned under: its points follow from it.
    pub(crate) terms_version: TermsVersion,
}

impl fmt::Display for TopupState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TopupRecord {
    /// The account of the wallet.
    #[must_use]
    pub fn wallet(&self) -> Account {
        Account::Customer(self.customer)
    }

    /// The principal of its idempotency key.
    #[must_use]
    pub fn principal(&self) -> Principal {
        Principal::Customer(self.customer)
    }

    /// The key of its marker.
    #[must_use]
    pub fn marker_key(&self, tenant: &Tenant) -> Key {
        keys::marker(tenant, self.principal(), Operation::Topup, &self.key)
    }

    /// The provider request that cancels it, with its key; `None` without a known PaymentIntent.
    #[must_use]
    pub fn cancellation(&self) -> Option<(PspRequest, PspKey)> {
        let request = PspRequest::cancel_intent(self.intent.as_ref()?, self.account.as_deref());
        Some((request, PspKey::new(self.id.uuid(), Step::CancelIntent, self.cancel_epoch)))
    }

    /// What an entry takes that is planned from this record.
    pub(super) fn of_entry(&self) -> EntryTerms {
        EntryTerms { due_shards: self.shards, version: self.terms_version }
    }

    /// Reads a stored top-up.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed("topup_id", TopupId::parse)?,
            customer: item.parsed("customer_id", CustomerId::parse)?,
            charge: item.amount("charge", Asset::Ecopay)?,
            points: item.opt_amount("points", Asset::Point)?,
            state: item.named("state", TopupState::parse)?,
            intent: item.opt_named("payment_intent", PspId::parse)?,
            livemode: item.flag("livemode")?,
            account: item.opt_string("psp_account")?,
            refundable: item.balance_or_zero("refundable", Asset::Ecopay)?,
            points_taken_back: item.balance_or_zero("points_taken_back", Asset::Point)?,
            suspense: item.opt_delta(decision_effect::SUSPENSE, Asset::Ecopay)?,
            given_up: item.opt_amount(decision_effect::GIVEN_UP, Asset::Ecopay)?,
            cancel_epoch: item.opt_int("cancel_epoch")?.unwrap_or(1),
            key: item.parsed("idempotency_key", ClaimKey::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            expires_at: item.timestamp("expires_at")?,
            shards: item.checked_int("due_shards", Shards::new)?,
            terms_version: TermsVersion::read(item)?,
        })
    }

    /// The attributes of a new top-up. It is due to be looked up when it expires.
    pub(super) fn item(&self, tenant: &Tenant, claim: &Claim) -> Item {
        let mut item = Item::from([
            ("topup_id".to_owned(), Value::s(self.id)),
            ("customer_id".to_owned(), Value::s(self.customer)),
            ("charge".to_owned(), Value::N(self.charge.text())),
            ("state".to_owned(), Value::s(self.state)),
            ("livemode".to_owned(), Value::Bool(self.livemode)),
            ("operation".to_owned(), Value::s(claim.operation)),
            ("principal".to_owned(), Value::s(claim.principal)),
            ("actor".to_owned(), Value::s(claim.actor)),
            ("idempotency_key".to_owned(), Value::s(self.key.as_str())),
            ("expires_at".to_owned(), Value::s(self.expires_at)),
            ("due_shards".to_owned(), Value::int(self.shards.count().into())),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            (attr::UPDATED_AT.to_owned(), Value::s(self.created_at)),
        ]);
        item.extend(self.due(tenant, self.expires_at).attributes());
        if let Some(points) = &self.points {
            item.insert("points".to_owned(), Value::N(points.text()));
        }
        if let Some(account) = &self.account {
            item.insert("psp_account".to_owned(), Value::s(account));
        }
        item.extend(self.terms_version.attribute());
        item.insert(attr::OWNER_PK.to_owned(), Value::S(keys::topups_partition(tenant, self.customer)));
        item.insert(attr::OWNER_SK.to_owned(), Value::s(self.id));
        item
    }

    /// Schedules the next lookup at `at`.
    pub(super) fn due_again(&self, tenant: &Tenant, update: Update, at: Timestamp) -> Update {
        self.due(tenant, at).set(update)
    }

    fn due(&self, tenant: &Tenant, at: Timestamp) -> DueKeys {
        Work::PspCheck.due(tenant, keys::shard_of(self.id.uuid(), self.shards), at, self.id)
    }
}
