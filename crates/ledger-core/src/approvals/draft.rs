//! What a command reads, and the draft of what it does.

use super::command::{Command, destination_digest, schedule_seen};
use crate::adjustments::{self, Adjust};
use crate::asset_budgets::{self, AssetBudget};
use crate::bank_files::{self, BankFile, BankTransfer};
use crate::cards::replace::{self, CardReplacement};
use crate::cards::reverse_cash::{self, CashReversal};
use crate::cash_collections::{self, CashCollection};
use crate::cash_deposits::{self, CashDeposit, CashDepositReversal};
use crate::cash_rooms::{self, CashRooms, RoomChange};
use crate::closing::{self, CardClose, CustomerClose};
use crate::customers::sign_in::{self, CurrentSignIn};
use crate::dynamo::Item;
use crate::erasure::{self, CustomerErase};
use crate::failure::Failure;
use crate::grants::bulk::{self, BulkGrant};
use crate::grants::grant::{self, Grant};
use crate::idempotency::MarkerKeys;
use crate::ids::{Employer, MerchantId, Tenant, TerminalId};
use crate::journal::JournalEntry;
use crate::keys::{self, Key, Partition};
use crate::limits::OwnLimits;
use crate::merchants::{self, MerchantChange};
use crate::money::{Amount, Asset, Balance};
use crate::payments::by_operator::{self, OperatorRefund};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::psp::PspTerms;
use crate::refund_rooms::{self, RefundRoom};
use crate::settlement_runs::{self, MerchantSchedule, RunStart};
use crate::settlements::{self, Open, PayOn, SeenTransfer, Settlement, Settling};
use crate::staff::{self, FirstOwner, Invitation, StaffChange, StaffMember};
use crate::tenants::{self, AccountLimitsChange, TermsBy, TermsChange};
use crate::terminals;
use crate::terms::{MerchantTerms, TenantTerms, TermsSchedule, is_ahead};
use crate::ties::Holders;
use crate::time::BusinessDate;
use crate::topups::{DecisionSeen, decision};
use crate::transaction::{Draft, Role, TransactItem};
use crate::unclaimed::{self, UnclaimedClaim, UnclaimedPayout};
use crate::wind_downs::{self, WindDownStart};
use std::collections::BTreeMap;

/// What a command is planned from.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The tenant's terms.
    pub terms: &'a TenantTerms,
    /// The account of the payment provider that pays, if there is one.
    pub psp: Option<&'a PspTerms>,
    /// The items of [`Command::keys`], as read, in their order.
    pub items: &'a [Option<Item>],
    /// What a decision about a top-up is carried out from; `None` for every other command.
    pub decision: Option<&'a DecisionSeen<'a>>,
    /// What is owed to the merchant whose period is to be closed, by asset; empty for every other command, and at a
    /// decision.
    pub owed: &'a BTreeMap<Asset, Balance>,
    /// The keys of what persons are found by, and of what an approval encrypts.
    pub keys: &'a MarkerKeys,
    /// The ties to the accounts of [`Command::scope`]: of the requester, and at a decision of the decider too.
    pub holders: &'a Holders,
}

/// The draft of a command.
#[derive(Clone, Debug)]
pub enum Drafted {
    /// What it does.
    Ready(Draft),
    /// What it was requested against has changed: it must not be executed.
    Stale,
}

impl Seen<'_> {
    pub(super) fn item(&self, at: usize) -> Option<&Item> {
        self.items.get(at).and_then(Option::as_ref)
    }

    /// An item that must exist.
    pub(super) fn must(&self, at: usize) -> Result<&Item, PlanRefusal> {
        self.item(at).ok_or(PlanRefusal::Refused(Failure::AccountMissing))
    }
}

impl Command {
    /// The items that it is planned from at a decision.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant, terms: &TenantTerms) -> Vec<Key> {
        match self {
            Self::Adjustment(adjustment) => adjustment.keys(tenant),
            Self::CashCeiling { owner, .. } | Self::CashRoom { owner, .. } => {
                vec![cash_rooms::rooms_of(tenant, *owner).cash_rooms()]
            }
            Self::RefundCeiling { merchant, .. } => vec![Partition::merchant(tenant, *merchant).refund_room()],
            Self::AssetBudget { budget, .. } => vec![keys::asset_budget(tenant, budget.asset())],
            Self::CashDepositReversal { merchant, deposit, .. } => {
                vec![Partition::merchant(tenant, *merchant).entry(*deposit)]
            }
            Self::Refund(order) => order.keys(tenant),
            Self::CashReversal(topup) => topup.keys(tenant),
            Self::CardReplace(of) => of.keys(tenant),
            Self::SignInMove(of) => of.keys(tenant),
            Self::CustomerClose(of) => of.keys_at_decision(tenant, terms),
            Self::CardClose(of) => of.keys(tenant),
            Self::UnclaimedClaim(of) => of.keys(tenant),
            Self::UnclaimedPayout(of) => of.keys(tenant),
            Self::Destination { merchant, .. } | Self::SettlementSchedule { merchant, .. } => {
                vec![Partition::merchant(tenant, *merchant).profile()]
            }
            Self::SettlementOpen { merchant, .. } => {
                vec![Partition::merchant(tenant, *merchant).profile(), keys::settling(tenant, *merchant)]
            }
            Self::CounterOpen { terminal } => {
                terminal.iter().map(|id| Partition::terminal(tenant, *id).profile()).collect()
            }
            Self::SettlementReturn(of) => of.keys(tenant),
            Self::BankFile(of) => of.keys(tenant),
            Self::StaffChange { id, .. } => vec![keys::staff_member(tenant, Employer::Operator, *id)],
            Self::CustomerErase { customer } => vec![Partition::customer(tenant, *customer).profile()],
            Self::TermsChange { .. } | Self::TermsCancel { .. } => vec![keys::config(tenant)],
            Self::AccountLimits { account, asset, .. } => {
                tenants::limited_item(tenant, *account, asset).into_iter().map(|(_, key)| key).collect()
            }
            Self::Grant { .. }
            | Self::BulkGrant { .. }
            | Self::TopupDecision(_)
            | Self::CashDeposit { .. }
            | Self::CashCollection { .. }
            | Self::EnrolmentCode { .. }
            | Self::StaffInvite { .. }
            | Self::SettlementRun { .. }
            | Self::WindDown
            | Self::MerchantOwner { .. } => Vec::new(),
        }
    }

    /// Drafts what it does, as requested by `by`. What it creates has the id of `cx.resource_id`.
    pub(super) fn draft(
        &self,
        (tenant, by): (&Tenant, &StaffMember),
        reason: Option<&FreeText>,
        seen: &Seen<'_>,
        cx: &Context,
    ) -> Result<Drafted, PlanRefusal> {
        let ready = |draft: Draft| Ok(Drafted::Ready(draft));
        let actor = by.actor();
        seen.holders.are_of(&self.scope())?;
        match self {
            Self::Grant { customer, amount } => {
                let Some(amount) = in_terms(seen.terms, amount) else { return Ok(Drafted::Stale) };
                let (customer, reason) = (*customer, stated(reason)?);
                let grant = Grant { tenant: tenant.clone(), actor, customer, amount, reason };
                ready(grant::plan(&grant, seen.terms, cx)?.draft)
            }
            Self::BulkGrant { customers, amount } => {
                let Some(amount) = in_terms(seen.terms, amount) else { return Ok(Drafted::Stale) };
                let (customers, reason) = (customers.clone(), stated(reason)?);
                let grant = BulkGrant { tenant: tenant.clone(), staff: by.id, customers, amount, reason };
                ready(bulk::plan(&grant, seen.terms, cx)?)
            }
            Self::Adjustment(adjustment) => {
                if adjustment.is_stale(seen.item(0))? {
                    return Ok(Drafted::Stale);
                }
                let reason = stated(reason)?;
                let adjust = Adjust { tenant, requested_by: by.id, adjustment, reason: &reason };
                ready(adjustments::plan(&adjust, seen.terms, cx)?)
            }
            Self::TopupDecision(decision) => {
                let reason = stated(reason)?;
                let seen = seen.decision.ok_or(PlanRefusal::Refused(Failure::AccountMissing))?;
                let decided = decision::plan(decision, seen, (actor, &reason), cx)?;
                Ok(decided.map_or(Drafted::Stale, Drafted::Ready))
            }
            Self::CashCeiling { owner, ceiling, seen: before } => {
                let rooms = seen.item(0).map(CashRooms::read).transpose()?;
                if rooms.as_ref().map(|rooms| &rooms.ceiling) != before.as_ref() {
                    return Ok(Drafted::Stale);
                }
                let of = (tenant, *owner);
                ready(cash_rooms::plan_ceiling(of, rooms.as_ref(), ceiling, (actor, reason), cx)?)
            }
            Self::RefundCeiling { merchant, ceiling, seen: before } => {
                let room = RefundRoom::read(seen.must(0)?)?;
                if room.ceiling != *before {
                    return Ok(Drafted::Stale);
                }
                ready(refund_rooms::plan_ceiling((tenant, *merchant), &room, ceiling, (actor, reason), cx)?)
            }
            Self::AssetBudget { budget, seen: before } => {
                let found = AssetBudget::read(budget.asset(), seen.item(0))?;
                if found.budget != *before {
                    return Ok(Drafted::Stale);
                }
                let by = (actor, reason);
                ready(asset_budgets::plan_budget(tenant, &found, budget, seen.terms, by, cx)?)
            }
            Self::CashDeposit { merchant, amount } => {
                let reason = stated(reason)?;
                let deposit = CashDeposit { tenant, actor, merchant: *merchant, amount, reason: &reason };
                ready(cash_deposits::plan(&deposit, seen.terms, cx))
            }
            Self::CashDepositReversal { merchant, deposit: _, amount } => {
                let (deposit, reason) = (JournalEntry::read(seen.must(0)?)?, stated(reason)?);
                if cash_deposits::amount_of(&deposit, *merchant).is_some_and(|own| own != *amount) {
                    return Ok(Drafted::Stale);
                }
                let reversal =
                    CashDepositReversal { tenant, actor, merchant: *merchant, deposit: &deposit, reason: &reason };
                ready(cash_deposits::plan_reversal(&reversal, seen.terms, cx)?)
            }
            Self::Refund(order) => {
                let reason = stated(reason)?;
                let refund = OperatorRefund { tenant, actor, order, reason: &reason };
                ready(by_operator::plan(&refund, seen.items, seen.terms, cx)?.draft)
            }
            Self::CashReversal(topup) => {
                let reason = stated(reason)?;
                let reversal = CashReversal { tenant, actor, topup, reason: &reason };
                ready(reverse_cash::plan(&reversal, seen.items, seen.terms, cx)?)
            }
            Self::CounterOpen { terminal: Some(_) } if seen.item(0).is_some() => Ok(Drafted::Stale),
            Self::CounterOpen { terminal } => {
                let terminal = terminal.unwrap_or(TerminalId::new(cx.resource_id));
                ready(terminals::plan_counter(tenant, terminal, actor, cx).draft)
            }
            Self::CashCollection { terminal, amount } => {
                let reason = stated(reason)?;
                let collection = CashCollection { tenant, actor, terminal: *terminal, amount, reason: &reason };
                ready(cash_collections::plan(&collection, cx))
            }
            Self::CashRoom { terminal, owner, room } => {
                let change = RoomChange::Allot(room.clone());
                ready(cash_rooms::plan_room(tenant, (*terminal, *owner), &change, (actor, reason), cx)?.draft)
            }
            Self::Destination { merchant, destination, seen: before } => {
                let profile = seen.must(0)?;
                if destination_digest(merchants::destination(profile)?.as_ref()) != *before {
                    return Ok(Drafted::Stale);
                }
                let change = MerchantChange { destination: Some(destination), ..MerchantChange::default() };
                let draft = merchants::plan_patch(tenant, *merchant, change, (actor, reason), cx)?.draft;
                let as_read = || vec![merchants::destination_as_read(profile)];
                let items = draft.items.into_iter().map(|item| {
                    let is_merchant = item.role() == Role::Profile;
                    if is_merchant { merchants::cooling_off(item, cx.now).guarded_also(as_read()) } else { item }
                });
                ready(Draft { entry: draft.entry, items: items.collect() })
            }
            Self::SettlementOpen { merchant, pay_on, seen: before } => {
                settlement((tenant, by), (*merchant, *pay_on, before.as_ref()), seen, cx)
            }
            Self::SettlementReturn(of) => {
                let found = SeenTransfer {
                    settlement: Settlement::read(seen.must(0)?)?,
                    transfer: BankTransfer::read(seen.must(1)?)?,
                    file: of.file.map(|_| seen.must(2)).transpose()?.map(BankFile::read).transpose()?,
                };
                let returned = settlements::plan_return((tenant, actor), (of, &found), &stated(reason)?, cx)?;
                Ok(returned.map_or(Drafted::Stale, Drafted::Ready))
            }
            Self::BankFile(of) => {
                let file = BankFile::read(seen.must(0)?)?;
                let ended = bank_files::plan_end((tenant, by.id), (of, &file), &stated(reason)?, cx)?;
                Ok(ended.map_or(Drafted::Stale, Drafted::Ready))
            }
            Self::SettlementRun { closing, seen: before } => {
                let reason = stated(reason)?;
                let (closing, schedule) = (*closing, seen.terms.settlement_schedule);
                if *before != schedule_seen(schedule) {
                    return Ok(Drafted::Stale);
                }
                let start = RunStart { tenant, closing, schedule, by: Some((by.id, &reason)) };
                ready(settlement_runs::plan(&start, cx)?.draft)
            }
            Self::SettlementSchedule { merchant, schedule, seen: before } => {
                let (profile, reason) = (seen.must(0)?, stated(reason)?);
                if merchants::own_schedule(profile)? != *before {
                    return Ok(Drafted::Stale);
                }
                let (merchant, to, reason) = (*merchant, *schedule, &reason);
                let change = MerchantSchedule { tenant, merchant, to, actor, reason };
                ready(settlement_runs::plan_schedule(&change, profile, seen.terms, cx)?)
            }
            Self::EnrolmentCode { terminal, owner } => {
                ready(terminals::permit_code(tenant, (*terminal, *owner), (by.id, actor), reason, cx))
            }
            Self::StaffInvite { id, email, roles, beneficiary_of } => {
                let invitation =
                    Invitation { tenant, by, id: *id, email, roles, beneficiary_of, shop: None, keys: seen.keys };
                ready(staff::plan_invite(invitation, cx)?.draft)
            }
            Self::StaffChange { id: _, roles, beneficiary_of, state, seen: version } => {
                let member = StaffMember::read(Employer::Operator, seen.must(0)?)?;
                if member.version != *version {
                    return Ok(Drafted::Stale);
                }
                let (roles, beneficiary_of) = (roles.as_ref(), beneficiary_of.as_ref());
                let (member, state) = (&member, *state);
                let change = StaffChange { tenant, member, roles, beneficiary_of, shop: None, state, reason };
                ready(staff::plan_change(change, by, cx)?.draft)
            }
            Self::TermsChange { changes, from, seen: last } => {
                let config = seen.must(0)?;
                let schedule = TermsSchedule::read(config)?;
                // The time only comes nearer: a change that is too late will never be in time.
                let is_stale = schedule.last() != *last
                    || changes.applied(schedule.at(cx.now)).is_none()
                    || !is_ahead(*from, cx.now);
                if is_stale {
                    return Ok(Drafted::Stale);
                }
                let by = TermsBy { staff: by.id, actor, reason };
                let change = TermsChange { tenant, config, changes, from: *from, by };
                ready(tenants::plan_terms(&change, cx)?)
            }
            Self::TermsCancel { version } => {
                let config = seen.must(0)?;
                let schedule = TermsSchedule::read(config)?;
                let next = schedule.scheduled(cx.now).filter(|next| next.terms.version == *version);
                if !next.is_some_and(|next| next.can_be_cancelled(cx.now)) {
                    return Ok(Drafted::Stale);
                }
                let by = TermsBy { staff: by.id, actor, reason };
                ready(tenants::plan_cancel_terms(tenant, config, *version, by, cx)?)
            }
            Self::AccountLimits { account, asset, changes, seen: before } => {
                let own = OwnLimits::read(seen.must(0)?, asset)?;
                if own != *before {
                    return Ok(Drafted::Stale);
                }
                let of_tenant = seen.terms.limits.as_ref();
                let change = AccountLimitsChange { account: *account, asset, of_tenant, seen: &own, changes };
                ready(tenants::plan_account_limits(tenant, change, (actor, reason), cx)?.draft)
            }
            Self::CardReplace(of) => {
                if of.has_other_owner(seen.item(0))? {
                    return Ok(Drafted::Stale);
                }
                let replacement = CardReplacement { tenant, actor, of: *of, reason };
                ready(replace::plan(&replacement, seen.items, seen.terms, cx)?)
            }
            Self::SignInMove(of) => {
                if CurrentSignIn::read(seen.must(0)?, of.customer)?.subject != of.seen {
                    return Ok(Drafted::Stale);
                }
                ready(sign_in::plan(tenant, of, seen.items, (actor, Some(&stated(reason)?)), seen.terms, cx)?)
            }
            Self::CustomerClose(of) => {
                if of.is_stale(seen.items)? {
                    return Ok(Drafted::Stale);
                }
                let close = CustomerClose { tenant, actor, of, clears: true, reason };
                ready(closing::plan_customer(&close, seen.items, seen.terms, cx)?.draft)
            }
            Self::CustomerErase { customer } => {
                let erase = CustomerErase { tenant, staff: by.id, customer: *customer };
                ready(erasure::plan(&erase, seen.item(0), seen.terms, seen.keys, cx)?)
            }
            Self::CardClose(of) => {
                if of.is_stale(seen.items)? {
                    return Ok(Drafted::Stale);
                }
                let close = CardClose { tenant, actor, of, clears: true, reason };
                ready(closing::plan_card(&close, seen.items, seen.terms, cx)?.draft)
            }
            Self::UnclaimedClaim(of) => {
                let reason = stated(reason)?;
                let claim = UnclaimedClaim { tenant, actor, of, reason: &reason };
                ready(unclaimed::plan_claim(&claim, seen.item(0), seen.terms, cx)?)
            }
            Self::UnclaimedPayout(of) => {
                let reason = stated(reason)?;
                let payout = UnclaimedPayout { tenant, actor, of, reason: &reason };
                ready(unclaimed::plan_payout(&payout, seen.item(0), seen.terms, cx)?)
            }
            Self::WindDown => {
                let reason = stated(reason)?;
                let start = WindDownStart { tenant, staff: by.id, reason: &reason };
                ready(wind_downs::plan(&start, cx)?.draft)
            }
            Self::MerchantOwner { merchant, id, email } => {
                let owner = FirstOwner { tenant, by, merchant: *merchant, id: *id, email, keys: seen.keys };
                ready(staff::plan_first_owner(owner, cx).draft)
            }
        }
    }
}

/// Opens a settlement that pays to the destination that was seen.
fn settlement(
    (tenant, by): (&Tenant, &StaffMember),
    (merchant, pay_on, before): (MerchantId, Option<BusinessDate>, Option<&String>),
    seen: &Seen<'_>,
    cx: &Context,
) -> Result<Drafted, PlanRefusal> {
    let profile = seen.must(0)?;
    let destination = merchants::destination(profile)?;
    if destination_digest(destination.as_ref()).as_ref() != before {
        return Ok(Drafted::Stale);
    }
    let settling = Settling::read(seen.item(1))?;
    let open = Open {
        tenant,
        merchant: &MerchantTerms::read(profile)?,
        destination: destination.as_ref(),
        pay_from: merchants::pay_from(profile)?,
        psp: seen.psp,
        settling: &settling,
        staff: Some(by.id),
        run: None,
        pay_on: pay_on.map_or(PayOn::First, PayOn::Stated),
    };
    let mut draft = settlements::plan_open(&open, seen.terms, cx)?.draft;
    let key = Partition::merchant(tenant, merchant).profile();
    // INVARIANT: what two people saw is where the money goes.
    draft.items.push(TransactItem::check(Role::Profile, key, vec![merchants::destination_as_read(profile)]));
    Ok(Drafted::Ready(draft))
}

/// The amount under the tenant's present terms; `None` if they do not allow it any more.
fn in_terms(terms: &TenantTerms, amount: &Amount) -> Option<Amount> {
    Amount::parse(terms.spec(amount.asset())?, &amount.text()).ok()
}

fn stated(reason: Option<&FreeText>) -> Result<FreeText, PlanRefusal> {
    reason.cloned().ok_or(PlanRefusal::Invalid { field: "reason", why: "is missing" })
}
