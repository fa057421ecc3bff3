//! Closing a merchant's period: opening a settlement. A merchant has at most one open settlement.

use super::coverage::{self, Coverage};
use super::destination::Destination;
use super::pay_on::PayOn;
use super::record::{CARRIED_BASE, OfRun, Settlement, SettlementState, quantities, quantities_value};
use super::rooms::{ReturnedRooms, RoomDebts};
use super::totals::AssetTotals;
use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{MerchantId, SettlementId, StaffId, Tenant};
use crate::keys::{self, attr};
use crate::money::{Asset, Balance};
use crate::operation::Operation;
use crate::plan::{Context, PlanRefusal};
use crate::psp::PspTerms;
use crate::terms::{MerchantTerms, SettlementTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Planned, Role, TransactItem};
use std::collections::BTreeMap;

/// A merchant's `SETTLING` item: the open settlement, and what the last one carried over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settling {
    /// The open settlement.
    pub open: Option<SettlementId>,
    /// The quantities that the next settlement begins with, by asset.
    pub carry: BTreeMap<Asset, Balance>,
    /// What the next settlement's fee is taken on beyond these, in yen.
    pub carried_base: Balance,
    /// What took from the merchant's rooms, and no settlement has covered.
    pub carried_rooms: RoomDebts,
    /// How far the merchant's cash is covered.
    pub coverage: Coverage,
    /// The last run that closed a period of the merchant.
    pub last_run: Option<OfRun>,
}

/// What a settlement that is over leaves to the next one.
pub(super) struct Carry<'a> {
    /// The quantities that the next settlement begins with, by asset.
    pub(super) left: &'a BTreeMap<Asset, Balance>,
    /// What the next settlement's fee is taken on beyond these, in yen; `None` if no cash was ever in it.
    pub(super) base: Option<Balance>,
    /// What took from the merchant's rooms and is not covered.
    pub(super) rooms: RoomDebts,
    /// How many settlements of the merchant were paid before this one, which is paid; `None` if it is not.
    pub(super) paid_before: Option<u32>,
}

impl Default for Settling {
    fn default() -> Self {
        let carried_base = Balance::zero(Asset::Ecopay);
        let (carry, coverage) = (BTreeMap::new(), Coverage::default());
        Self { open: None, carry, carried_base, carried_rooms: RoomDebts::none(), coverage, last_run: None }
    }
}

/// The command to close a period.
#[derive(Clone, Debug)]
pub struct Open<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The merchant whose period it is.
    pub merchant: &'a MerchantTerms,
    /// The merchant's payout destination, as it was read.
    pub destination: Option<&'a Destination>,
    /// The time from which the destination may be paid, if it was changed under approval.
    pub pay_from: Option<Timestamp>,
    /// The account of the payment provider that pays, if there is one.
    pub psp: Option<&'a PspTerms>,
    /// The merchant's `SETTLING` item, as it was read.
    pub settling: &'a Settling,
    /// The staff member who closes it; `None`: a schedule does.
    pub staff: Option<StaffId>,
    /// The run that closes it, if one does.
    pub run: Option<OfRun>,
    /// The day of the payout.
    pub pay_on: PayOn,
}

impl Settling {
    /// Reads the item; without an item nothing is open.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: Option<&Item>) -> Result<Self, ItemError> {
        let Some(item) = item else { return Ok(Self::default()) };
        let open = item.opt_parsed("open", SettlementId::parse)?;
        let carried_base = item.balance_or_zero(CARRIED_BASE, Asset::Ecopay)?;
        let (carried_rooms, coverage) = (RoomDebts::read(item)?, Coverage::read(Some(item))?);
        let (carry, last_run) = (quantities(item, "carry")?, OfRun::read(item)?);
        Ok(Self { open, carry, carried_base, carried_rooms, coverage, last_run })
    }
}

/// Opens a settlement: its record, and the merchant's `SETTLING` item.
///
/// # Errors
/// [`PlanRefusal`] if one is open, or the payout has no destination or no account to pay from, or cannot be made on the day.
pub fn plan(command: &Open<'_>, terms: &TenantTerms, cx: &Context) -> Result<Planned<Settlement>, PlanRefusal> {
    let Open { tenant, merchant, settling, staff, run, .. } = command;
    let refused = |why| PlanRefusal::Invalid { field: "merchant_id", why };
    let destination =
        command.destination.ok_or_else(|| refused("has no payout destination: PATCH the merchant first"))?;
    if command.pay_from.is_some_and(|pay_from| pay_from > cx.now) {
        return Err(refused("has a payout destination that was changed in the last 24 hours"));
    }
    let agreed = terms.settlement.clone().unwrap_or_else(SettlementTerms::free);
    let psp = match destination {
        Destination::Bank(_) if agreed.sender.is_none() => {
            return Err(refused("is paid by a bank file, and the tenant has no account to pay from"));
        }
        Destination::Bank(_) => None,
        Destination::Stripe { .. } if terms.topup.is_none() => {
            return Err(refused("is paid through Stripe, and the tenant has no terms for that"));
        }
        Destination::Stripe { .. } => {
            Some(command.psp.ok_or_else(|| refused("is paid through Stripe, which is not set up"))?.clone())
        }
    };
    if settling.open.is_some() {
        return Err(PlanRefusal::Refused(Failure::AlreadyExists));
    }
    let pay_on = command.pay_on.resolve(destination, &agreed.deadline, cx.now);
    let pay_on = pay_on.map_err(|why| PlanRefusal::PaymentDay { field: "pay_on", why })?;
    let carried = |(asset, carried): (&Asset, &Balance)| {
        (asset.clone(), AssetTotals { carried_in: carried.clone(), ..AssetTotals::zero(asset) })
    };
    let settlement = Settlement {
        id: SettlementId::new(cx.resource_id),
        merchant: merchant.id,
        state: SettlementState::Collecting,
        undo_reason: None,
        stuck_at: None,
        requested_by: *staff,
        run: *run,
        created_at: cx.now,
        pay_on,
        destination: destination.clone(),
        terms: agreed,
        psp,
        records: 0,
        batches: 0,
        closed: Vec::new(),
        totals: settling.carry.iter().map(carried).collect(),
        carried_base: settling.carried_base.clone(),
        carried_rooms: settling.carried_rooms.clone(),
        returned_rooms: ReturnedRooms::default(),
        to_review: false,
        paid_before: settling.coverage.paid,
        held_amounts: BTreeMap::new(),
        held_at: None,
        net: None,
        fee: None,
        tax: None,
        payable: None,
        sending: None,
        booked_at: None,
        transfer_on: None,
        paid_at: None,
        payout_reference: None,
        returned_at: None,
        runs: 0,
        shards: merchant.shards,
        due_shards: terms.due_shards,
        terms_version: terms.version,
    };
    let key = keys::settlement(tenant, merchant.id, settlement.id);
    let mut item = settlement.item(tenant);
    item.insert(attr::OWNER_PK.to_owned(), Value::S(keys::settlements_partition(tenant)));
    item.insert(attr::OWNER_SK.to_owned(), Value::s(settlement.id));
    let mut items = vec![
        TransactItem::put_new(Role::Settlement, key, item, Failure::AlreadyExists),
        opened(tenant, &settlement, settling, cx.now),
    ];
    let mut act = Act::new(settlement.actor(), Operation::SettlementOpen, format!("merchant:{}", merchant.id))
        .with("settlement_id", settlement.id)
        .with("pay_on", settlement.pay_on);
    if let Some(OfRun { run, closing }) = run {
        act = act.with("settlement_run_id", run).with("closing_on", closing);
    }
    items.push(act.record(tenant, cx));
    Ok(Planned { draft: Draft { entry: None, items }, receipt: settlement })
}

/// Requires that no settlement is open and that what is carried, and what is covered, are as they were read.
fn opened(tenant: &Tenant, settlement: &Settlement, settling: &Settling, now: Timestamp) -> TransactItem {
    let carry = if settling.carry.is_empty() {
        Condition::absent("carry")
    } else {
        Condition::compare("carry", Cmp::Eq, "seen_carry", quantities_value(&settling.carry))
    };
    let base = match settling.carried_base.as_delta() {
        Some(base) => Condition::compare(CARRIED_BASE, Cmp::Eq, "seen_base", Value::N(base.text())),
        None => Condition::absent(CARRIED_BASE),
    };
    let (rooms, paid) = (settling.carried_rooms.as_seen(), coverage::paid_as_seen(settlement.paid_before));
    let as_read = [carry, base, rooms, paid].map(|condition| Clause { condition, failure: Failure::StalePlan });
    let mut clauses = vec![Clause { condition: Condition::absent("open"), failure: Failure::AlreadyExists }];
    clauses.extend(as_read);
    let mut update = Update::new().set("open", "open", Value::s(settlement.id));
    if let Some(run) = settlement.run {
        // A merchant is closed once for a day, whatever runs there are, and never for a day before the last one.
        let earlier = Condition::compare(OfRun::CLOSING, Cmp::Lt, "closing", Value::s(run.closing));
        let condition = Condition::absent(OfRun::CLOSING).or(earlier);
        clauses.push(Clause { condition, failure: Failure::StalePlan });
        update = run.set(update);
    }
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(now));
    TransactItem::update(Role::Settlement, keys::settling(tenant, settlement.merchant), update, clauses)
}

/// Closes a settlement: the next one may be opened, and begins with `carry`. `None` keeps what this one began with,
/// because it turned back.
pub(super) fn closed(
    tenant: &Tenant,
    (merchant, id): (MerchantId, SettlementId),
    carry: Option<&Carry<'_>>,
    now: Timestamp,
) -> TransactItem {
    let mut update = Update::new();
    let quantities = carry.map(|carry| carry.left);
    let left = quantities.map(|all| (quantities_value(all), all.values().all(|left| left.as_delta().is_none())));
    if let Some((value, false)) = &left {
        update = update.set("carry", "carry", value.clone());
    }
    update = update.set(attr::UPDATED_AT, "ua", Value::s(now)).remove("open");
    if let Some((_, true)) = left {
        update = update.remove("carry");
    }
    if let Some(base) = carry.and_then(|carry| carry.base.as_ref()) {
        update = match base.as_delta() {
            Some(base) => update.set(CARRIED_BASE, "base", Value::N(base.text())),
            None => update.remove(CARRIED_BASE),
        };
    }
    if let Some(carry) = carry {
        update = carry.rooms.set(update);
    }
    if let Some(before) = carry.and_then(|carry| carry.paid_before) {
        update = coverage::counted(update, (tenant, merchant), before, now);
    }
    let mine =
        Clause { condition: Condition::compare("open", Cmp::Eq, "mine", Value::s(id)), failure: Failure::StalePlan };
    TransactItem::update(Role::Settlement, keys::settling(tenant, merchant), update, vec![mine])
}
