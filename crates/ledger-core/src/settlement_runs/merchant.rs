//! What a run does with a merchant, from the merchant's records.

use super::line::{self, NotClosed};
use super::record::SettlementRun;
use crate::dynamo::{Item, ItemError};
use crate::ids::{MerchantId, SettlementId, Tenant};
use crate::keys::{self, Key, Partition, Shards};
use crate::merchant_state::MerchantState;
use crate::merchants;
use crate::plan::{Context, PlanRefusal};
use crate::psp::PspTerms;
use crate::settlements::{self, Destination, Open, PayOn, Settlement, Settling};
use crate::terms::{MerchantTerms, TenantTerms};
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{Role, TransactItem, Transaction};

/// A merchant's records, as read.
#[derive(Clone, Debug)]
pub struct SeenMerchant {
    profile: Option<Item>,
    settling: Option<Item>,
}

/// What is to be done with a merchant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing, and it has no line: its schedule does not close on the day.
    Unlisted,
    /// It is not closed, and has a line with this code.
    Not(NotClosed),
    /// It is not closed, because this settlement of it is open.
    HasOpen(SettlementId),
    /// It is closed, if anything was credited since the last settlement. This is the payment day of its schedule.
    Close(BusinessDate),
}

impl SeenMerchant {
    /// The keys of the records.
    #[must_use]
    pub fn keys(tenant: &Tenant, merchant: MerchantId) -> [Key; 2] {
        [Partition::merchant(tenant, merchant).profile(), keys::settling(tenant, merchant)]
    }

    /// The items of [`SeenMerchant::keys`], as read, in their order.
    #[must_use]
    pub fn new(items: Vec<Option<Item>>) -> Self {
        let mut items = items.into_iter();
        let mut next = || items.next().flatten();
        Self { profile: next(), settling: next() }
    }

    /// The number of shards of its records; `None` if its record cannot be read.
    #[must_use]
    pub fn shards(&self) -> Option<Shards> {
        MerchantTerms::read(self.profile.as_ref()?).ok().map(|terms| terms.shards)
    }

    /// Whether it is paid through the payment provider.
    #[must_use]
    pub fn is_paid_by_provider(&self) -> bool {
        let destination = self.profile.as_ref().map(merchants::destination);
        matches!(destination, Some(Ok(Some(Destination::Stripe { .. }))))
    }

    /// Whether it was closed for good.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.profile.as_ref().is_some_and(|profile| MerchantState::read(profile) == Ok(MerchantState::Closed))
    }
}

/// Says what is to be done with a merchant. A record that cannot be read has the line `unreadable`.
#[must_use]
pub fn verdict(run: &SettlementRun, seen: &SeenMerchant) -> Verdict {
    read(run, seen).unwrap_or(Verdict::Not(NotClosed::Unreadable))
}

fn read(run: &SettlementRun, seen: &SeenMerchant) -> Result<Verdict, ItemError> {
    let Some(profile) = &seen.profile else { return Ok(Verdict::Unlisted) };
    let schedule = match merchants::own_schedule(profile)? {
        Some(own) => own.days(),
        None => run.details.schedule,
    };
    let Some(schedule) = schedule.filter(|schedule| schedule.closes_on(run.details.closing)) else {
        return Ok(Verdict::Unlisted);
    };
    let settling = Settling::read(seen.settling.as_ref())?;
    if settling.last_run.is_some_and(|last| last.closing >= run.details.closing) {
        return Ok(Verdict::Not(NotClosed::ClosedBefore));
    }
    if let Some(open) = settling.open {
        return Ok(Verdict::HasOpen(open));
    }
    Ok(schedule.pays_on(run.details.closing).map_or(Verdict::Not(NotClosed::HolidaysUnknown), Verdict::Close))
}

/// Whether the open settlement of a merchant has all that a run would close: another run opened it when the day was over.
#[must_use]
pub fn is_covered(run: &SettlementRun, open: &Settlement) -> bool {
    open.run.is_some() && open.created_at >= run.details.closing.bounds().1
}

/// What keeps a merchant with something to settle from being closed; `None` if nothing is known to.
///
/// # Errors
/// [`ItemError`] if an attribute is missing or malformed.
fn obstacle(profile: &Item, now: Timestamp) -> Result<Option<NotClosed>, ItemError> {
    match MerchantState::read(profile)? {
        MerchantState::Closed => return Ok(Some(NotClosed::MerchantClosed)),
        MerchantState::Suspended | MerchantState::Closing => return Ok(Some(NotClosed::Suspended)),
        MerchantState::Active => {}
    }
    if merchants::destination(profile)?.is_none() {
        return Ok(Some(NotClosed::NoDestination));
    }
    Ok(merchants::pay_from(profile)?.is_some_and(|from| from > now).then_some(NotClosed::DestinationChanged))
}

/// Closes a merchant's period, with the run's line: opens its settlement, which is paid on the scheduled day or, if that is too
/// early, on the first possible one. Fails with `StalePlan` or `AlreadyExists` if the
/// merchant or the run's line has changed since it was read.
///
/// # Errors
/// The line that the merchant has instead.
pub fn plan_opening(
    tenant: &Tenant,
    run: &SettlementRun,
    (seen, scheduled): (&SeenMerchant, BusinessDate),
    (terms, psp): (&TenantTerms, Option<&PspTerms>),
    cx: &Context,
) -> Result<Transaction, NotClosed> {
    let unreadable = |_| NotClosed::Unreadable;
    let profile = seen.profile.as_ref().ok_or(NotClosed::Unreadable)?;
    if let Some(status) = obstacle(profile, cx.now).map_err(unreadable)? {
        return Err(status);
    }
    let destination = merchants::destination(profile).map_err(unreadable)?;
    let open = Open {
        tenant,
        merchant: &MerchantTerms::read(profile).map_err(unreadable)?,
        destination: destination.as_ref(),
        pay_from: merchants::pay_from(profile).map_err(unreadable)?,
        psp,
        settling: &Settling::read(seen.settling.as_ref()).map_err(unreadable)?,
        staff: run.head.staff,
        run: Some(run.of_run()),
        pay_on: PayOn::Scheduled(scheduled),
    };
    let planned = settlements::plan_open(&open, terms, cx).map_err(|refusal| match refusal {
        PlanRefusal::Invalid { .. } => NotClosed::NoPayoutAccount,
        PlanRefusal::PaymentDay { .. } => NotClosed::HolidaysUnknown,
        PlanRefusal::Refused(_) => NotClosed::SettlementOpen,
        PlanRefusal::InState { .. }
        | PlanRefusal::StillOpen(_)
        | PlanRefusal::Limit(_)
        | PlanRefusal::OfPayment { .. }
        | PlanRefusal::Denied(_)
        | PlanRefusal::Stored(_)
        | PlanRefusal::Money(_) => NotClosed::Unreadable,
    })?;
    let mut items = planned.draft.items;
    items.push(line::opened(&planned.receipt, scheduled).put(tenant, run.head.id));
    // INVARIANT: what the run saw of the merchant is where the money goes.
    let as_read = vec![merchants::destination_as_read(profile)];
    items.push(TransactItem::check(Role::Profile, Partition::merchant(tenant, open.merchant.id).profile(), as_read));
    Transaction::unkeyed(items).map_err(|_| NotClosed::Unreadable)
}
