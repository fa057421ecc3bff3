//! The `SETTLEMENT#<id>` item: a settlement's records, sums, state and payout.

use super::destination::Destination;
use super::period::PeriodBatch;
use super::rooms::{ReturnedRooms, RoomDebts};
use super::sending::Sending;
use super::totals::{AssetTotals, totals};
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, JobId, MerchantId, SettlementId, StaffId, Tenant};
use crate::keys::{self, DueKeys, Shards, Work, attr};
use crate::money::{Amount, Asset, Balance, Delta};
use crate::psp::PspTerms;
use crate::terms::{EntryTerms, SettlementTerms, TermsVersion};
use crate::time::{BusinessDate, Timestamp};
use crate::transaction::{Clause, Role, TransactItem};
use crate::words::words;
use std::collections::BTreeMap;
use std::fmt;

words! {
    /// The state of a settlement. One step leaves each state before `Booked`, and its compensation enters it again.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum SettlementState {
        /// Records are being stamped.
        Collecting = "collecting",
        /// What the merchant is owed is held.
        Held = "held",
        /// The KYC check of the merchant has passed.
        Verified = "verified",
        /// All that is held is yen.
        Released = "released",
        /// Fee and tax are taken.
        Charged = "charged",
        /// The payout may have left. Only a proven refusal leads back.
        Paying = "paying",
        /// Booked as a transfer for the tenant's bank. Final, unless the transfer is returned.
        Booked = "booked",
        /// Paid by the payment provider. Final, unless the money is returned.
        Paid = "paid",
        /// Nothing was to be paid, and the rest goes into the next settlement. Final.
        Carried = "carried",
        /// It turned back, and the next settlement takes its records. Final.
        Undone = "undone",
        /// It was booked or paid, and the money was returned; the next settlement pays it. Final.
        Returned = "returned",
    }
}

words! {
    /// Why a settlement turned back.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum UndoReason {
        /// The KYC check was refused.
        KycRefused = "kyc_refused",
        /// The KYC check had no answer in time.
        KycUnanswered = "kyc_unanswered",
        /// The payout was refused for good, and nothing has left.
        PayoutRefused = "payout_refused",
        /// A step failed on its last retry.
        StepFailed = "step_failed",
    }
}

/// A settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// Its id.
    pub id: SettlementId,
    /// The merchant.
    pub merchant: MerchantId,
    /// The present state.
    pub state: SettlementState,
    /// Why it turned back, if it did.
    pub undo_reason: Option<UndoReason>,
    /// Since when it needs review, if it does.
    pub stuck_at: Option<Timestamp>,
    /// The staff member who closed the period; `None`: a schedule did.
    pub requested_by: Option<StaffId>,
    /// The run that closed it, if one did.
    pub run: Option<OfRun>,
    /// When the period was closed.
    pub created_at: Timestamp,
    /// The day of the payout.
    pub pay_on: BusinessDate,
    /// The payout destination.
    pub destination: Destination,
    /// The terms at the time when the period was closed.
    pub terms: SettlementTerms,
    /// The account of the payment provider that pays, if one does.
    pub psp: Option<PspTerms>,
    /// The number of its records.
    pub records: u32,
    /// The number of transactions that added them.
    pub batches: u32,
    /// The periods that it closed, unless it gave them back: its merchant's open ones at that moment.
    pub closed: Vec<PeriodBatch>,
    /// The sums of its records, by asset.
    pub totals: BTreeMap<Asset, AssetTotals>,
    /// What the fee is taken on beyond what was carried over, in yen, with its sign: cash reduced what earlier
    /// settlements carried over, and not their fee.
    pub carried_base: Balance,
    /// What took from the merchant's rooms, and earlier settlements have not covered.
    pub carried_rooms: RoomDebts,
    /// The rooms that it returned.
    pub returned_rooms: ReturnedRooms,
    /// Whether it is carried although the merchant was owed something, because fee and tax would leave nothing.
    pub to_review: bool,
    /// How many settlements of the merchant were paid before it was opened.
    pub paid_before: u32,
    /// The quantity of each asset that was held or netted, with its sign.
    pub held_amounts: BTreeMap<Asset, Balance>,
    /// When it was held.
    pub held_at: Option<Timestamp>,
    /// The total in yen.
    pub net: Option<Amount>,
    /// The fee.
    pub fee: Option<Amount>,
    /// The tax on the fee.
    pub tax: Option<Amount>,
    /// The amount that is paid out.
    pub payable: Option<Amount>,
    /// The progress of the payout request to the payment provider.
    pub sending: Option<Sending>,
    /// When it was booked as a transfer.
    pub booked_at: Option<Timestamp>,
    /// The day for which the transfer was booked.
    pub transfer_on: Option<BusinessDate>,
    /// When the payment provider paid it.
    pub paid_at: Option<Timestamp>,
    /// The payment provider's id of the payout.
    pub payout_reference: Option<String>,
    /// When the return of the money became known.
    pub returned_at: Option<Timestamp>,
    /// How often its saga was started.
    pub runs: u32,
    /// The number of shards of its merchant's records.
    pub shards: Shards,
    /// The number of shards of the tenant's due work.
    pub due_shards: Shards,
    /// The version of the terms that it was opened under. Its steps are planned from what it keeps of them.
    pub terms_version: TermsVersion,
}

impl SettlementState {
    /// Whether its saga has nothing left to do.
    #[must_use]
    pub const fn is_over(self) -> bool {
        match self {
            Self::Booked | Self::Paid | Self::Carried | Self::Undone | Self::Returned => true,
            Self::Collecting | Self::Held | Self::Verified | Self::Released | Self::Charged | Self::Paying => false,
        }
    }
}

impl fmt::Display for SettlementState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Settlement {
    /// Who its steps are of.
    pub(super) fn actor(&self) -> Actor {
        self.requested_by.map_or(Actor::System, Actor::Staff)
    }

    /// What an entry of a step takes. A step changes the merchant's balance itself, so that no seal credits it.
    pub(super) fn of_entry(&self) -> EntryTerms {
        EntryTerms { due_shards: self.due_shards, version: self.terms_version }
    }

    /// Reads a stored settlement.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            id: item.parsed("settlement_id", SettlementId::parse)?,
            merchant: item.parsed("merchant_id", MerchantId::parse)?,
            state: item.named("state", SettlementState::parse)?,
            undo_reason: item.opt_named("undo_reason", UndoReason::parse)?,
            stuck_at: item.opt_timestamp("stuck_at")?,
            requested_by: item.opt_parsed("requested_by", StaffId::parse)?,
            run: OfRun::read(item)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            pay_on: item.parsed("pay_on", BusinessDate::parse)?,
            destination: Destination::read(item.map("destination")?)?,
            terms: SettlementTerms::read(item.map("terms")?)?,
            psp: item.opt_map("psp")?.map(PspTerms::read).transpose()?,
            records: item.int("records")?,
            batches: item.int("batches")?,
            closed: PeriodBatch::read(item)?,
            totals: totals(item)?,
            carried_base: item.balance_or_zero(CARRIED_BASE, Asset::Ecopay)?,
            carried_rooms: RoomDebts::read(item)?,
            returned_rooms: ReturnedRooms::read(item)?,
            to_review: item.flag(TO_REVIEW)?,
            paid_before: item.int(PAID_BEFORE)?,
            held_amounts: quantities(item, "held_amounts")?,
            held_at: item.opt_timestamp("held_at")?,
            net: yen(item, "net")?,
            fee: yen(item, "fee")?,
            tax: yen(item, "tax")?,
            payable: yen(item, "payable")?,
            sending: Sending::read(item)?,
            booked_at: item.opt_timestamp("booked_at")?,
            transfer_on: item.opt_parsed(TRANSFER_ON, BusinessDate::parse)?,
            paid_at: item.opt_timestamp("paid_at")?,
            payout_reference: item.opt_string("payout_reference")?,
            returned_at: item.opt_timestamp("returned_at")?,
            runs: item.int("runs")?,
            shards: item.checked_int("shards", Shards::new)?,
            due_shards: item.checked_int("due_shards", Shards::new)?,
            terms_version: TermsVersion::read(item)?,
        })
    }

    /// The attributes of a new settlement. It is due to be run at once.
    pub(super) fn item(&self, tenant: &Tenant) -> Item {
        let carried = self.totals.iter().map(|(asset, totals)| (asset.clone(), totals.carried_in.clone())).collect();
        let mut item = Item::from([
            ("settlement_id".to_owned(), Value::s(self.id)),
            ("merchant_id".to_owned(), Value::s(self.merchant)),
            ("state".to_owned(), Value::s(self.state)),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            (attr::UPDATED_AT.to_owned(), Value::s(self.created_at)),
            ("pay_on".to_owned(), Value::s(self.pay_on)),
            ("destination".to_owned(), Value::M(self.destination.item())),
            ("terms".to_owned(), Value::M(self.terms.item())),
            ("records".to_owned(), Value::int(self.records.into())),
            ("batches".to_owned(), Value::int(self.batches.into())),
            ("carried_in".to_owned(), quantities_value(&carried)),
            (PAID_BEFORE.to_owned(), Value::int(self.paid_before.into())),
            ("runs".to_owned(), Value::int(self.runs.into())),
            ("shards".to_owned(), Value::int(self.shards.count().into())),
            ("due_shards".to_owned(), Value::int(self.due_shards.count().into())),
        ]);
        item.extend(self.due(tenant, self.created_at).attributes());
        item.extend(self.requested_by.map(|staff| ("requested_by".to_owned(), Value::s(staff))));
        item.extend(self.carried_base.as_delta().map(|base| (CARRIED_BASE.to_owned(), Value::N(base.text()))));
        item.extend(self.carried_rooms.item());
        item.extend(self.run.iter().flat_map(|run| run.item()));
        item.extend(self.terms_version.attribute());
        item.extend(self.psp.as_ref().map(|psp| ("psp".to_owned(), Value::M(psp.item()))));
        item
    }

    /// The net of each asset: taken, less refunded, less cash that was taken and not returned, plus what was deposited for it,
    /// what was paid back to us and what the last settlement carried over.
    ///
    /// # Errors
    /// [`crate::money::MoneyError`] if a sum does not fit.
    pub fn nets(&self) -> Result<BTreeMap<Asset, Balance>, crate::money::MoneyError> {
        let net = |totals: &AssetTotals| {
            let own = totals.taken.checked_sub(&totals.refunded)?;
            let own = own.checked_sub(&totals.cash_taken)?.checked_plus(&totals.cash_reversed)?;
            let own = own.checked_plus(&totals.deposited)?;
            own.checked_plus(&totals.payouts_returned)?.checked_plus(&totals.carried_in)
        };
        self.totals.iter().map(|(asset, totals)| Ok((asset.clone(), net(totals)?))).collect()
    }

    /// Whether cash that the merchant owes is in its sums, or in those of a settlement that it carries on.
    pub(super) fn has_cash(&self) -> bool {
        let has = |totals: &AssetTotals| {
            let parts = [&totals.cash_taken, &totals.cash_reversed, &totals.deposited];
            parts.into_iter().any(|part| part.as_delta().is_some())
        };
        self.carried_base.as_delta().is_some() || self.totals.values().any(has)
    }

    /// What the fee is taken on if the net is `net` yen: taken less refunded. Cash and deposits change the net and not the
    /// fee, and what was paid before and returned was charged then. None has another asset.
    pub(super) fn fee_base(&self, net: &Balance) -> Result<Balance, crate::money::MoneyError> {
        let base = net.checked_plus(&self.carried_base)?;
        match self.totals.get(&Asset::Ecopay) {
            Some(totals) => {
                let base = base.checked_sub(&totals.payouts_returned)?;
                let base = base.checked_plus(&totals.cash_taken)?.checked_sub(&totals.cash_reversed)?;
                base.checked_sub(&totals.deposited)
            }
            None => Ok(base),
        }
    }

    /// The keys of its next run in the index `due`.
    pub(super) fn due(&self, tenant: &Tenant, at: Timestamp) -> DueKeys {
        Work::Settlement.due(tenant, keys::shard_of(self.id.uuid(), self.due_shards), at, self.id)
    }

    /// A change of the settlement, guarded on the state and the direction that were read. A worker whose guard fails
    /// reads it again.
    pub(super) fn changed(&self, tenant: &Tenant, update: Update, now: Timestamp) -> TransactItem {
        self.changed_if(tenant, Vec::new(), update, now)
    }

    /// The same, guarded also on no other sending having begun since.
    pub(super) fn changed_as_sent(&self, tenant: &Tenant, update: Update, now: Timestamp) -> TransactItem {
        let more = self.sending.iter().flat_map(Sending::as_seen).collect();
        self.changed_if(tenant, more, update, now)
    }

    fn changed_if(&self, tenant: &Tenant, more: Vec<Clause>, update: Update, now: Timestamp) -> TransactItem {
        let stale = |condition| Clause { condition, failure: Failure::StalePlan };
        let direction = match self.undo_reason {
            None => Condition::absent("undo_reason"),
            Some(_) => Condition::exists("undo_reason"),
        };
        let mut clauses = vec![
            stale(Condition::compare("state", Cmp::Eq, "seen_state", Value::s(self.state))),
            stale(Condition::compare("batches", Cmp::Eq, "seen_batches", Value::int(self.batches.into()))),
            stale(direction),
        ];
        clauses.extend(more);
        let update = update.set(attr::UPDATED_AT, "ua", Value::s(now));
        TransactItem::update(Role::Settlement, keys::settlement(tenant, self.merchant, self.id), update, clauses)
    }
}

/// The attribute with the day for which its transfer was booked.
pub(super) const TRANSFER_ON: &str = "transfer_on";
/// The attribute that marks a settlement to be reviewed.
pub(super) const TO_REVIEW: &str = "to_review";
/// The attribute of a settlement with what the fee is taken on beyond what was carried over; of `SETTLING`, the same for
/// the next settlement.
pub(super) const CARRIED_BASE: &str = "carried_base";

/// The run that closes a period, and the day at whose end it is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfRun {
    /// The run.
    pub run: JobId,
    /// The closing day.
    pub closing: BusinessDate,
}

impl OfRun {
    const RUN: &'static str = "settlement_run_id";
    pub(super) const CLOSING: &'static str = "closing_on";

    /// Reads it from a settlement, or the last one from `SETTLING`.
    pub(super) fn read(item: &Item) -> Result<Option<Self>, ItemError> {
        let run = item.opt_parsed(Self::RUN, JobId::parse)?;
        run.map(|run| Ok(Self { run, closing: item.parsed(Self::CLOSING, BusinessDate::parse)? })).transpose()
    }

    /// The attributes that are stored.
    pub(super) fn item(self) -> [(String, Value); 2] {
        [(Self::RUN.to_owned(), Value::s(self.run)), (Self::CLOSING.to_owned(), Value::s(self.closing))]
    }

    /// Stores it in `SETTLING`.
    pub(super) fn set(self, update: Update) -> Update {
        update.set(Self::RUN, "run", Value::s(self.run)).set(Self::CLOSING, "closing", Value::s(self.closing))
    }
}

/// The attribute of a settlement with the number of its merchant's settlements that were paid before it was opened.
const PAID_BEFORE: &str = "paid_before";

/// A yen amount of a settlement; `None` if it is zero or not computed yet.
fn yen(item: &Item, name: &str) -> Result<Option<Amount>, ItemError> {
    if item.opt_number(name)? == Some("0") { Ok(None) } else { item.opt_amount(name, Asset::Ecopay) }
}

/// A map of quantities by asset; empty if the attribute is absent.
pub(super) fn quantities(item: &Item, name: &str) -> Result<BTreeMap<Asset, Balance>, ItemError> {
    item.numbers(name, |asset, number| {
        let asset = Asset::parse(asset).map_err(|_| ItemError::invalid(name))?;
        let quantity = Balance::from_stored(asset.clone(), number).map_err(|_| ItemError::invalid(name))?;
        Ok((asset, quantity))
    })
}

/// The stored form of quantities. Zero quantities are left out.
pub(super) fn quantities_value(quantities: &BTreeMap<Asset, Balance>) -> Value {
    let deltas: Vec<Delta> = quantities.values().filter_map(Balance::as_delta).collect();
    crate::transaction::changes(&deltas)
}
