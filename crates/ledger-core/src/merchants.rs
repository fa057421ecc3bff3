//! Merchants: registering and changing them.

use crate::audit::Act;
use crate::calendar::OwnSchedule;
use crate::cash_rooms;
use crate::crediting::VolumeExceeded;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::finding;
use crate::ids::{Actor, MerchantId, Tenant};
use crate::keys::{self, Partition, Shards, attr};
use crate::merchant_state::{MerchantState, STATUS};
use crate::notices::{DestinationNotice, Notice, NoticeSubject};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::refund_rooms;
use crate::settlements::Destination;
use crate::terms::{CeilingTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{BuildError, Clause, Draft, Planned, Role, TransactItem, Transaction, exists};
use std::time::Duration;

mod close;

pub use close::{CLOSING_TIME, MerchantCloseReceipt, MerchantClosing, closing_since, is_payable, plan_close};

const PAYOUT: &str = "payout";
/// The attribute with the settlement schedule of a merchant in place of the tenant's.
pub(crate) const SCHEDULE: &str = "settlement_schedule";
/// The attribute with the time at which a merchant's close has begun.
const CLOSING_AT: &str = "closing_at";
/// The attribute with the last day on which payments were above the merchant's limit.
const VOLUME_EXCEEDED: &str = "volume_exceeded";
/// The attribute with the time from which a merchant may be paid to a destination that was changed under approval.
const PAYOUT_FROM: &str = "payout_from";

/// How long after an approved change of a destination no settlement is opened that pays to it: time in which the merchant
/// and the staff can notice it.
pub const DESTINATION_COOLING_OFF: Duration = Duration::from_secs(24 * 60 * 60);

/// The payout destination in a merchant's `PROFILE`; `None` if it has none yet.
///
/// # Errors
/// [`ItemError`] if an attribute is missing or malformed.
pub fn destination(profile: &Item) -> Result<Option<Destination>, ItemError> {
    profile.opt_map(PAYOUT)?.map(Destination::read).transpose()
}

/// Where a merchant is paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payee {
    /// To this destination.
    Paid(Destination),
    /// To none yet.
    Missing,
    /// To none: a part of what is stored is not what a bank file or the payment provider takes.
    Rejected(ItemError),
}

/// Where the merchant of a `PROFILE` is paid.
#[must_use]
pub fn payee(profile: &Item) -> Payee {
    match destination(profile) {
        Ok(Some(destination)) => Payee::Paid(destination),
        Ok(None) => Payee::Missing,
        Err(error) => Payee::Rejected(error),
    }
}

/// The time from which a merchant may be paid to its destination; `None`: at any time.
///
/// # Errors
/// [`ItemError`] if the attribute is malformed.
pub fn pay_from(profile: &Item) -> Result<Option<Timestamp>, ItemError> {
    profile.opt_timestamp(PAYOUT_FROM)
}

/// The settlement schedule of a merchant in place of the tenant's; `None` if it has none.
///
/// # Errors
/// [`ItemError`] if the attribute is malformed.
pub fn own_schedule(profile: &Item) -> Result<Option<OwnSchedule>, ItemError> {
    profile.opt_parsed(SCHEDULE, str::parse)
}

/// Requires that a merchant's destination is as it was read. Fails with `StalePlan`.
pub(crate) fn destination_as_read(profile: &Item) -> Clause {
    let condition = match profile.get(PAYOUT) {
        Some(seen) => Condition::compare(PAYOUT, Cmp::Eq, "seen_payout", seen.clone()),
        None => Condition::absent(PAYOUT),
    };
    Clause { condition, failure: Failure::StalePlan }
}

/// Begins the cooling-off time of a destination in the change of a merchant.
pub(crate) fn cooling_off(change: TransactItem, now: Timestamp) -> TransactItem {
    let from = now.plus(DESTINATION_COOLING_OFF);
    change.changing(|update| update.set(PAYOUT_FROM, PAYOUT_FROM, Value::s(from)))
}

/// Whether a merchant may take payments, as staff says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MerchantStatus {
    /// It may take payments.
    Active,
    /// It may not take payments; refunds are still possible.
    Suspended,
}

impl MerchantStatus {
    /// The stable name, as stored.
    #[must_use]
    pub fn name(self) -> &'static str {
        MerchantState::from(self).name()
    }

    /// Parses a name; `None` for any other text.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Active, Self::Suspended].into_iter().find(|status| status.name() == name)
    }
}

impl From<MerchantStatus> for MerchantState {
    fn from(status: MerchantStatus) -> Self {
        match status {
            MerchantStatus::Active => Self::Active,
            MerchantStatus::Suspended => Self::Suspended,
        }
    }
}

/// The changes to a merchant; `None` keeps a value.
#[derive(Clone, Copy, Debug, Default)]
pub struct MerchantChange<'a> {
    /// The displayed name.
    pub name: Option<&'a FreeText>,
    /// Whether it may take payments.
    pub status: Option<MerchantStatus>,
    /// The payout destination.
    pub destination: Option<&'a Destination>,
    /// The number of shards of its payments: not below the present number.
    pub shards: Option<Shards>,
}

/// What a response says about a merchant that was registered or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MerchantReceipt {
    /// The merchant.
    pub merchant: MerchantId,
    /// When it was registered or changed.
    pub at: Timestamp,
}

/// Registers a merchant whose payments are spread over `shards` index partitions, with the ceilings of the tenant's terms.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_open(
    tenant: &Tenant,
    merchant: Option<MerchantId>,
    name: &FreeText,
    shards: Shards,
    terms: &TenantTerms,
    actor: Actor,
    cx: &Context,
) -> Result<Planned<MerchantReceipt>, PlanRefusal> {
    let merchant = merchant.unwrap_or(MerchantId::new(cx.resource_id));
    let profile = Item::from([
        ("merchant_id".to_owned(), Value::s(merchant)),
        ("name".to_owned(), Value::s(name.expose())),
        (STATUS.to_owned(), Value::s(MerchantState::Active.name())),
        ("shards".to_owned(), Value::int(shards.count().into())),
        (attr::OWNER_PK.to_owned(), Value::S(keys::merchants_partition(tenant))),
        (attr::OWNER_SK.to_owned(), Value::s(merchant)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
        (attr::UPDATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    let partition = Partition::merchant(tenant, merchant);
    let CeilingTerms { refund, cash } = &terms.ceilings;
    let act = Act::new(actor, Operation::MerchantOpen, format!("merchant:{merchant}"))
        .with("refund_ceiling", refund.text())
        .with("cash_ceiling", cash.text());
    let items = vec![
        TransactItem::put_new(Role::Profile, partition.profile(), profile, Failure::AlreadyExists),
        act.record(tenant, cx),
        finding::write_merchant(tenant, merchant, name.expose()),
        refund_rooms::begun(&partition, refund, cx.now),
        cash_rooms::begun(&partition, cash, cx.now),
    ];
    Ok(planned(merchant, items, cx))
}

/// Changes a merchant's name, status or payout destination, or raises its shards. Caches see it within a minute. An
/// open settlement keeps the destination and the shards that it was opened with. Fails with `WrongState` if the
/// merchant has more shards already, or its status is to change and it is closed.
///
/// # Errors
/// Never, at present; the signature is that of every builder.
pub fn plan_patch(
    tenant: &Tenant,
    merchant: MerchantId,
    change: MerchantChange<'_>,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Planned<MerchantReceipt>, PlanRefusal> {
    let MerchantChange { name, status, destination, shards } = change;
    let (mut update, mut guard) = (Update::new(), vec![exists()]);
    let mut act = Act::new(actor, Operation::MerchantPatch, format!("merchant:{merchant}")).because(reason);
    if let Some(name) = name {
        update = update.set("name", "name", Value::s(name.expose()));
    }
    if let Some(status) = status {
        // A close that has begun is given up; one that is finished is final.
        let closed = Condition::is_not(STATUS, "closed", Value::s(MerchantState::Closed.name()));
        guard.push(Clause { condition: closed, failure: Failure::WrongState });
        update = update.set(STATUS, "status", Value::s(status.name())).remove(CLOSING_AT);
        act = act.with("status", status.name());
    }
    if let Some(destination) = destination {
        update = update.set(PAYOUT, "payout", Value::M(destination.item()));
        act = act.with("payout_destination", destination.shown());
    }
    if let Some(shards) = shards {
        let count = Value::int(shards.count().into());
        // INVARIANT: shards are only ever raised. Records on a shard above the count would never be found.
        let not_more = Condition::compare("shards", Cmp::Le, "shards", count.clone());
        guard.push(Clause { condition: not_more, failure: Failure::WrongState });
        update = update.set("shards", "shards", count);
        act = act.with("shards", shards.count());
    }
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let key = Partition::merchant(tenant, merchant).profile();
    let mut items = vec![TransactItem::update(Role::Profile, key, update, guard), act.record(tenant, cx)];
    if let Some(name) = name {
        items.push(finding::write_merchant(tenant, merchant, name.expose()));
    }
    Ok(planned(merchant, items, cx))
}

/// The notice that a merchant's payout destination was changed.
pub(crate) fn notice(
    tenant: &Tenant,
    merchant: MerchantId,
    change: DestinationNotice,
    cx: &Context,
) -> Option<TransactItem> {
    let subject = NoticeSubject::Destination { merchant, change };
    Notice::of(cx.audit_id, subject, cx.now).map(|notice| notice.store(tenant))
}

/// Records on the audit trail that payments to a merchant are above its limit of a day, once a day, and suspends the merchant
/// if the tenant says so and its state, as it was read, is active. Fails with `WrongState` if that was done for the day or a later
/// one, and with `StalePlan` if the state that was read has changed.
///
/// # Errors
/// [`BuildError`], which a transaction of this form never causes.
pub fn record_volume(
    tenant: &Tenant,
    exceeded: &VolumeExceeded,
    state: MerchantState,
    cx: &Context,
) -> Result<Transaction, BuildError> {
    let VolumeExceeded { merchant, date, volume, most, suspends } = exceeded;
    let day = Value::S(date.digits());
    let before = Condition::compare(VOLUME_EXCEEDED, Cmp::Lt, "day", day.clone());
    let first = Clause { condition: Condition::absent(VOLUME_EXCEEDED).or(before), failure: Failure::WrongState };
    let mut update = Update::new().set(VOLUME_EXCEEDED, "day", day).set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let mut act = Act::new(Actor::System, Operation::VolumeExceeded, format!("merchant:{merchant}"))
        .with("date", date)
        .with("asset", most.asset())
        .with("volume", volume.text())
        .with("limit", most.text());
    let mut guards = vec![exists(), first];
    if *suspends && state.is_open() {
        let suspended = MerchantState::Suspended.name();
        update = update.set(STATUS, "status", Value::s(suspended));
        act = act.with("status", suspended);
        let as_read = Condition::compare(STATUS, Cmp::Eq, "seen_status", Value::s(state.name()));
        guards.push(Clause { condition: as_read, failure: Failure::StalePlan });
    }
    let profile = Partition::merchant(tenant, *merchant).profile();
    let item = TransactItem::update(Role::Profile, profile, update, guards);
    Transaction::unkeyed(vec![item, act.record(tenant, cx)])
}

fn planned(merchant: MerchantId, items: Vec<TransactItem>, cx: &Context) -> Planned<MerchantReceipt> {
    Planned { draft: Draft { entry: None, items }, receipt: MerchantReceipt { merchant, at: cx.now } }
}
