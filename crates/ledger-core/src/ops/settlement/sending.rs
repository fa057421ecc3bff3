//! A payout through the payment provider: what it is asked, under which key, and until when. The key is made of
//! the settlement, the step and an epoch, so that whoever sends it, and however often, it is done once. The
//! next epoch begins only when nothing can come of the one before: a refusal that the provider keeps under the
//! key, or a proven absence. Who sends says so first, so that a refusal is believed only of the last sending.

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

/// Whoever has said that it sends sends within this, or not at all.
pub const SEND_WITHIN: Duration = Duration::from_secs(20);
/// What was sent has arrived, or never will, after this, by the clocks of two of our machines.
const QUIET_AFTER: Duration = CLOCK_SKEW.saturating_add(Duration::from_secs(90));
/// The provider's lists are believed to lack what was made only so long after the epoch began, by the clocks of two of
/// our machines.
const LISTED_AFTER: Duration = CLOCK_SKEW.saturating_add(Duration::from_secs(10 * 60));

/// How far asking the payment provider has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sending {
    /// Since when the payout may have left, in whichever epoch.
    pub since: Timestamp,
    /// Which epoch it is, from 1 on.
    pub epoch: u32,
    /// When it began.
    pub epoch_at: Timestamp,
    /// How many sendings were begun in it.
    pub sends: u32,
    /// When the last one was.
    pub sent_at: Option<Timestamp>,
}

impl Sending {
    /// Reads how far it has come; `None` if it has not begun, or has turned back.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
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

    /// Whether the provider still knows the epoch's key: past that it may only be looked for.
    #[must_use]
    pub fn may_send(&self, now: Timestamp) -> bool {
        now < self.epoch_at.plus(RESEND_WITHIN) && now.plus(RESEND_WITHIN) > self.epoch_at
    }

    /// Whether no sending that was begun can still have its effect.
    #[must_use]
    pub fn is_quiet(&self, now: Timestamp) -> bool {
        self.sent_at.is_none_or(|sent_at| now >= sent_at.plus(QUIET_AFTER))
    }

    /// Whether the provider's lists would have what the epoch made.
    #[must_use]
    pub fn is_listed(&self, now: Timestamp) -> bool {
        now >= self.epoch_at.plus(LISTED_AFTER)
    }

    /// Nobody has begun a sending, or another epoch, since this was read.
    pub(super) fn as_seen(&self) -> [Clause; 2] {
        [("payout_epoch", "seen_epoch", self.epoch), ("payout_sends", "seen_sends", self.sends)].map(
            |(attribute, name, seen)| Clause {
                condition: Condition::compare(attribute, Cmp::Eq, name, Value::int(seen.into())),
                failure: Failure::StalePlan,
            },
        )
    }
}

/// The first epoch, if it is the payment provider who pays.
pub(super) fn begun(settlement: &Settlement, update: Update, now: Timestamp) -> Update {
    match &settlement.destination {
        Destination::Bank(_) => update,
        Destination::Stripe { .. } => epoch(update, 1, now),
    }
}

/// What the provider is asked in this epoch, byte for byte the same each time, and under which key. `None` if
/// it is not the provider who pays, or not yet.
#[must_use]
pub fn request(tenant: &Tenant, settlement: &Settlement) -> Option<(PspRequest, PspKey)> {
    let Destination::Stripe { external_account } = &settlement.destination else { return None };
    let (terms, sending) = (settlement.psp.as_ref()?, settlement.sending?);
    let what = (settlement.merchant, settlement.id);
    let request = PspRequest::create_payout(tenant, what, settlement.payable.as_ref()?, external_account, terms);
    Some((request, PspKey::new(settlement.id.uuid(), Step::CreatePayout, sending.epoch)))
}

/// Somebody is about to send: refusals of whoever was before are not believed any more. With what the
/// settlement is by that.
///
/// # Errors
/// [`BuildError::Empty`] if the provider is not to be asked.
pub fn send(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Result<(Settlement, Transaction), BuildError> {
    let sending = settlement.sending.ok_or(BuildError::Empty)?;
    let sends = sending.sends.saturating_add(1);
    let update =
        Update::new().set("payout_sends", "sends", Value::int(sends.into())).set("payout_sent_at", "ua", Value::s(now));
    let transaction = Transaction::unkeyed(vec![settlement.changed_as_sent(tenant, update, now)])?;
    let sending = Sending { sends, sent_at: Some(now), ..sending };
    Ok((Settlement { sending: Some(sending), ..settlement.clone() }, transaction))
}

/// Nothing can come of this epoch any more: the next one begins.
///
/// # Errors
/// [`BuildError::Empty`] if the provider is not to be asked.
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
