//! A payout through the payment provider: the request, its key, and until when it may be sent. The key is made of the
//! settlement, the step and an epoch, so the payout is made once however often it is sent. The next epoch begins only
//! if the last one can have no effect: after a refusal that the provider keeps under the key, or a proven absence. A
//! worker records a sending before it sends, so that only the last sending's refusal counts.

use super::destination::Destination;
use super::record::Settlement;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::idempotency::RESEND_WITHIN;
use crate::ids::Tenant;
use crate::psp::{PspKey, PspRequest, Step};
use crate::time::{CLOCK_SKEW, Timestamp};
use crate::transaction::{BuildError, Clause, Transaction};
use std::time::Duration;

/// A worker that has recorded a sending must send within this time, or not at all.
pub const SEND_WITHIN: Duration = Duration::from_secs(20);
/// After this time a request has arrived, or never will. Includes the clock skew between two of our machines.
const QUIET_AFTER: Duration = CLOCK_SKEW.saturating_add(Duration::from_secs(90));
/// How long after the epoch's beginning the provider's lists are sure to show what it made. Includes the clock skew
/// between two of our machines.
const LISTED_AFTER: Duration = CLOCK_SKEW.saturating_add(Duration::from_secs(10 * 60));

/// The progress of a payout request to the payment provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Since when the payout may have left, in any epoch.
    pub since: Timestamp,
    /// The epoch, from 1 on.
    pub epoch: u32,
    /// When the epoch began.
    pub epoch_at: Timestamp,
    /// How many sendings were begun in the epoch.
    pub sends: u32,
    /// When the last sending was begun.
    pub sent_at: Option<Timestamp>,
}

impl Sending {
    /// Reads the progress; `None` if the payout has not begun, or was turned back.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub(super) fn read(item: &Item) -> Result<Option<Self>, ItemError> {
        if item.opt_number("payout_epoch")?.is_none() || item.opt_text("paying_at")?.is_none() {
            return Ok(None);
        }
        Ok(Some(Self {
            since: item.timestamp("paying_at")?,
            epoch: item.int("payout_epoch")?,
            epoch_at: item.timestamp("payout_epoch_at")?,
            sends: item.int("payout_sends")?,
            sent_at: item.opt_timestamp("payout_sent_at")?,
        }))
    }

    /// Whether the provider still stores the epoch's key. After that the payout is only looked up.
    #[must_use]
    pub fn may_send(&self, now: Timestamp) -> bool {
        now < self.epoch_at.plus(RESEND_WITHIN) && now.plus(RESEND_WITHIN) > self.epoch_at
    }

    /// Whether no sending that was begun can still have an effect.
    #[must_use]
    pub fn is_quiet(&self, now: Timestamp) -> bool {
        self.sent_at.is_none_or(|sent_at| now >= sent_at.plus(QUIET_AFTER))
    }

    /// Whether the provider's lists are sure to show what the epoch made.
    #[must_use]
    pub fn is_listed(&self, now: Timestamp) -> bool {
        now >= self.epoch_at.plus(LISTED_AFTER)
    }

    /// Requires that no sending and no epoch was begun since this was read.
    pub(super) fn as_seen(&self) -> [Clause; 2] {
        [("payout_epoch", "seen_epoch", self.epoch), ("payout_sends", "seen_sends", self.sends)].map(
            |(attribute, name, seen)| Clause {
                condition: Condition::compare(attribute, Cmp::Eq, name, Value::int(seen.into())),
                failure: Failure::StalePlan,
            },
        )
    }
}

/// Begins the first epoch, if the payment provider pays.
pub(super) fn begun(settlement: &Settlement, update: Update, now: Timestamp) -> Update {
    match &settlement.destination {
        Destination::Bank(_) => update,
        Destination::Stripe { .. } => epoch(update, 1, now),
    }
}

/// The request of this epoch, with its key. Its bytes are the same each time. `None` if the provider does not pay
/// this settlement, or not yet.
#[must_use]
pub fn request(tenant: &Tenant, settlement: &Settlement) -> Option<(PspRequest, PspKey)> {
    let Destination::Stripe { external_account } = &settlement.destination else { return None };
    let (terms, sending) = (settlement.psp.as_ref()?, settlement.sending?);
    let what = (settlement.merchant, settlement.id);
    let request = PspRequest::create_payout(tenant, what, settlement.payable.as_ref()?, external_account, terms);
    Some((request, PspKey::new(settlement.id.uuid(), Step::CreatePayout, sending.epoch)))
}

/// Records that a sending begins: from now on refusals of earlier sendings do not count. Also returns the settlement
/// after the write.
///
/// # Errors
/// [`BuildError::Empty`] if no payout request has begun.
pub fn send(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<(Settlement, Transaction), BuildError> {
    let sending = settlement.sending.ok_or(BuildError::Empty)?;
    let sends = sending.sends.saturating_add(1);
    let update =
        Update::new().set("payout_sends", "sends", Value::int(sends.into())).set("payout_sent_at", "ua", Value::s(now));
    let transaction = Transaction::unkeyed(vec![settlement.changed_as_sent(tenant, update, now)])?;
    let sending = Sending { sends, sent_at: Some(now), ..sending };
    Ok((Settlement { sending: Some(sending), ..settlement.clone() }, transaction))
}

/// Begins the next epoch. The caller has proven that the present one can have no effect.
///
/// # Errors
/// [`BuildError::Empty`] if no payout request has begun.
pub fn next_epoch(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<Transaction, BuildError> {
    let sending = settlement.sending.ok_or(BuildError::Empty)?;
    let update = epoch(Update::new(), sending.epoch.saturating_add(1), now).remove("payout_sent_at");
    Transaction::unkeyed(vec![settlement.changed_as_sent(tenant, update, now)])
}

fn epoch(update: Update, epoch: u32, now: Timestamp) -> Update {
    update.set("payout_epoch", "epoch", Value::int(epoch.into())).set("payout_epoch_at", "ua", Value::s(now)).set(
        "payout_sends",
        "sends",
        Value::int(0),
    )
}
