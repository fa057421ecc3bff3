//! Decides what a fact about one of the provider's objects means for our records: a pure function of both. Facts may
//! come late, twice and in any order. Only a legal transition of our own record has an effect, and the transaction is
//! guarded on it.

use super::clawback::{self, Clawback, Moved, round_of};
use super::decision_effect::SUSPENSE;
use super::record::{TopupRecord, TopupState};
use super::refund_record::{RefundState, RefundStep, TopupRefund};
use super::{refund, seen};
use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Item, Update, Value};
use crate::forms;
use crate::idempotency::ClaimKey;
use crate::ids::{Actor, Principal, Tenant, TransactionId};
use crate::keys::{self, attr};
use crate::money::Amount;
use crate::operation::Operation;
use crate::plan::PlanRefusal;
use crate::psp::{Fact, IntentStatus, PaymentIntent, PspId, PspMoney, PspRefund, RefundStatus, Tags};
use crate::terms::{EntryTerms, SpentPoints, TermsVersion};
use crate::time::Timestamp;
use crate::transaction::{Draft, Entry, Provenance, Role, TransactItem, exists};
use crate::unclaimed;
use crate::wallets::SeenWallet;
use crate::words::words;
use std::time::Duration;

/// When a refund in progress is looked up, in case its events are lost.
const REFUND_CHECK: Duration = Duration::from_secs(60 * 60);

/// The records that a fact concerns, as they were read at one moment.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The top-up.
    pub topup: &'a TopupRecord,
    /// The refund that the fact is about, if we requested it.
    pub refund: Option<&'a TopupRefund>,
    /// The clawback that the fact is about.
    pub clawback: Option<&'a Clawback>,
    /// The wallet's balance items. If they are closed, what is returned is unclaimed.
    pub wallet: &'a SeenWallet,
    /// The tenant's policy for points that were spent before they are taken back.
    pub spent_points: SpentPoints,
    /// The version of the terms that the policy is of.
    pub terms_version: TermsVersion,
}

/// What a fact means for our records.
#[derive(Clone, Debug)]
pub enum Routed {
    /// The fact is superseded or known already: nothing to do.
    Behind,
    /// The fact is ahead of our record: look the PaymentIntent up first.
    Ahead,
    /// The fact contradicts our record: nothing is written, and it needs review.
    Contradiction(ContradictionKind),
    /// This is to be written.
    Apply(Box<Effect>),
}

words! {
    /// How a fact contradicts our record.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ContradictionKind {
        /// Another amount or currency than was requested.
        Amount = "amount",
        /// Another object than the one in our record.
        Object = "object",
        /// Test money for a real top-up, or real money for a test top-up.
        Livemode = "livemode",
        /// A state that cannot follow our record's state.
        State = "state",
        /// Another account of the provider than the one that the request was sent to.
        Account = "account",
    }
}

/// The writes for a fact: one transaction, under the marker of an event or of the operation in flight.
#[derive(Clone, Debug)]
pub struct Effect {
    /// The state transitions, with the postings.
    pub draft: Draft,
    /// The operation, as the journal names it.
    pub operation: Operation,
    /// The principal of the operation.
    pub principal: Principal,
    /// The key, as the journal has it.
    pub key: ClaimKey,
    /// Whether our record leaves `requested`. Then its marker, if it is in flight, is completed too.
    pub lands: bool,
}

impl Effect {
    /// The provenance of the effect's journal entry.
    #[must_use]
    pub fn provenance(&self, tenant: &Tenant, now: Timestamp) -> Provenance {
        Provenance {
            tenant: tenant.clone(),
            operation: self.operation,
            principal: self.principal,
            actor: Actor::Stripe,
            key: (&self.key).into(),
            now,
        }
    }
}

/// Decides what a fact means for our records. What it returns to a closed wallet goes to `unclaimed`.
///
/// # Errors
/// [`PlanRefusal`] if the sums do not fit, or a balance that is needed was not read.
pub fn route(fact: &Fact, view: &View<'_>, now: Timestamp) -> Result<Routed, PlanRefusal> {
    Ok(match of_fact(fact, view, now)? {
        Routed::Apply(effect) if view.wallet.is_closed() => {
            let draft = unclaimed::divert(view.tenant, view.topup.wallet(), effect.draft, now)?;
            Routed::Apply(Box::new(Effect { draft, ..*effect }))
        }
        routed @ (Routed::Apply(_) | Routed::Behind | Routed::Ahead | Routed::Contradiction(_)) => routed,
    })
}

fn of_fact(fact: &Fact, view: &View<'_>, now: Timestamp) -> Result<Routed, PlanRefusal> {
    match fact {
        Fact::Intent(intent) => of_intent(intent, view, now),
        Fact::Refund(psp) => match (view.refund, &psp.tags) {
            (Some(refund), _) => of_refund(psp, refund, view, now),
            // One of our refunds whose record does not exist or was not read.
            (None, Some(Tags { refund: Some(_), .. })) => Ok(Routed::Contradiction(ContradictionKind::Object)),
            (None, _) => {
                let is_return = psp.status == RefundStatus::Failed;
                of_clawback((&psp.id, psp.intent.as_ref(), &psp.amount), (is_return, 0), view, now)
            }
        },
        Fact::Withdrawn(dispute) | Fact::Reinstated(dispute) if dispute.livemode != view.topup.livemode => {
            Ok(Routed::Contradiction(ContradictionKind::Livemode))
        }
        Fact::Withdrawn(dispute) => {
            let moved = (&dispute.id, dispute.intent.as_ref(), &dispute.amount);
            of_clawback(moved, (false, dispute.movements), view, now)
        }
        Fact::Reinstated(dispute) => {
            let moved = (&dispute.id, dispute.intent.as_ref(), &dispute.amount);
            of_clawback(moved, (true, dispute.movements), view, now)
        }
    }
}

fn of_intent(intent: &PaymentIntent, view: &View<'_>, now: Timestamp) -> Result<Routed, PlanRefusal> {
    let (tenant, topup) = (view.tenant, view.topup);
    if intent.livemode != topup.livemode {
        return Ok(Routed::Contradiction(ContradictionKind::Livemode));
    }
    if intent.amount.yen().as_ref() != Some(&topup.charge) {
        return Ok(Routed::Contradiction(ContradictionKind::Amount));
    }
    if topup.intent.as_ref().is_some_and(|known| *known != intent.id) {
        return Ok(Routed::Contradiction(ContradictionKind::Object));
    }
    let bound = |state: TopupState| {
        Update::new()
            .set("state", "to", Value::s(state))
            .set("payment_intent", "payment_intent", Value::s(&intent.id))
            .set(attr::UPDATED_AT, "ua", Value::s(now))
    };
    let at_rest = |state| bound(state).remove(attr::DUE_PK).remove(attr::DUE_SK);
    let apply = |update: Update, entry: Option<Entry>, more: Vec<TransactItem>| {
        let clauses = vec![seen("state", "seen_state", Value::s(topup.state))];
        let mut items = vec![TransactItem::update(Role::Topup, keys::topup(tenant, topup.id), update, clauses)];
        items.extend(more);
        Routed::Apply(Box::new(Effect {
            draft: Draft { entry, items },
            operation: Operation::Topup,
            principal: topup.principal(),
            key: topup.key.clone(),
            lands: topup.state == TopupState::Requested,
        }))
    };
    Ok(match (intent.status, topup.state) {
        (IntentStatus::Open, TopupState::Requested) => apply(bound(TopupState::Pending), None, Vec::new()),
        (IntentStatus::Open, TopupState::Pending | TopupState::Succeeded | TopupState::Canceled)
        | (IntentStatus::Succeeded, TopupState::Succeeded)
        | (IntentStatus::Canceled, TopupState::Canceled) => Routed::Behind,
        (IntentStatus::Succeeded, TopupState::Requested | TopupState::Pending) => {
            let received = PspMoney { minor: intent.received, currency: intent.amount.currency.clone() };
            if received.yen().as_ref() != Some(&topup.charge) {
                return Ok(Routed::Contradiction(ContradictionKind::Amount));
            }
            let update = at_rest(TopupState::Succeeded)
                .set("refundable", "refundable", Value::N(topup.charge.text()))
                .set("points_taken_back", "nothing", Value::int(0))
                .set("succeeded_at", "ua", Value::s(now));
            let mut items = Vec::from_iter(forms::receive(tenant, topup.wallet(), &topup.charge, now));
            if let Some(points) = &topup.points {
                items.extend(forms::return_credit(tenant, Role::Points, topup.wallet(), points, now));
            }
            apply(update, Some(credit(topup, &intent.id)), items)
        }
        (IntentStatus::Canceled, TopupState::Requested | TopupState::Pending) => {
            let released = forms::release(tenant, topup.wallet(), &topup.charge, now);
            apply(at_rest(TopupState::Canceled), None, Vec::from_iter(released))
        }
        (IntentStatus::Succeeded, TopupState::Canceled | TopupState::Refused)
        | (IntentStatus::Canceled, TopupState::Succeeded | TopupState::Refused)
        | (IntentStatus::Open, TopupState::Refused) => Routed::Contradiction(ContradictionKind::State),
    })
}

/// The entry of the credit. Its id is made of the top-up, so it can be written once only.
pub(super) fn credit(topup: &TopupRecord, intent: &PspId) -> Entry {
    let (clearing, issued) =
        (Account::Tenant(TenantAccount::StripeClearing), Account::Tenant(TenantAccount::PointsIssued));
    let mut postings =
        vec![Posting::new(clearing, topup.charge.debit()), Posting::new(topup.wallet(), topup.charge.credit())];
    if let Some(points) = &topup.points {
        postings.push(Posting::new(issued, points.debit()));
        postings.push(Posting::new(topup.wallet(), points.credit()));
    }
    Entry {
        id: TransactionId::of_step(topup.id.uuid(), "credit", topup.created_at),
        home: topup.wallet(),
        postings,
        references: Vec::new(),
        details: Item::from([("topup_id".to_owned(), Value::s(topup.id)), ("psp_id".to_owned(), Value::s(intent))]),
        memo: None,
        terms: topup.of_entry(),
    }
}

fn of_refund(psp: &PspRefund, refund: &TopupRefund, view: &View<'_>, now: Timestamp) -> Result<Routed, PlanRefusal> {
    let (tenant, topup) = (view.tenant, view.topup);
    if psp.amount.yen().as_ref() != Some(&refund.paid) {
        return Ok(Routed::Contradiction(ContradictionKind::Amount));
    }
    let other = |known: &Option<PspId>, reported: Option<&PspId>| match (known, reported) {
        (Some(known), Some(reported)) => known != reported,
        (Some(_) | None, _) => false,
    };
    if other(&refund.psp_refund, Some(&psp.id)) || other(&topup.intent, psp.intent.as_ref()) {
        return Ok(Routed::Contradiction(ContradictionKind::Object));
    }
    let effect = match (psp.status, refund.state) {
        (RefundStatus::Pending, RefundState::Requested) => {
            let update = bind(RefundState::Pending, &psp.id, now);
            let update = refund.due_again(tenant, update, now.plus(REFUND_CHECK));
            let items = vec![refund_item(tenant, refund, update)];
            of(refund, Operation::TopupRefundPaid, Draft { entry: None, items })
        }
        (RefundStatus::Succeeded, RefundState::Requested | RefundState::Pending) => {
            let update = bind(RefundState::Succeeded, &psp.id, now).remove(attr::DUE_PK).remove(attr::DUE_SK);
            let mut items = vec![refund_item(tenant, refund, update)];
            for (held, role) in refund.held().into_iter().zip([Role::Payer, Role::Points]) {
                items.extend(forms::pay_out(tenant, role, topup.wallet(), held, now));
            }
            let entry = entry(topup, refund, RefundStep::Paid, paid_postings(topup, refund));
            of(refund, Operation::TopupRefundPaid, Draft { entry: Some(entry), items })
        }
        // The difference to what was paid out has been written off, as the tenant's gain or loss.
        (RefundStatus::Failed, RefundState::Succeeded) if refund.written_off => {
            return Ok(Routed::Contradiction(ContradictionKind::State));
        }
        (RefundStatus::Failed, RefundState::Requested | RefundState::Pending | RefundState::Succeeded) => {
            refund_failed(tenant, (topup, refund), view.wallet, Some(&psp.id), now)?
        }
        // The provider has a refund that it had refused to create: the money is in the wallet and also on its way to
        // the card.
        (RefundStatus::Pending | RefundStatus::Succeeded, RefundState::Failed) if refund.psp_refund.is_none() => {
            return Ok(Routed::Contradiction(ContradictionKind::State));
        }
        (RefundStatus::Pending, RefundState::Pending | RefundState::Succeeded | RefundState::Failed)
        | (RefundStatus::Succeeded, RefundState::Succeeded | RefundState::Failed)
        | (RefundStatus::Failed, RefundState::Failed) => return Ok(Routed::Behind),
    };
    Ok(Routed::Apply(Box::new(effect)))
}

/// Returns a refund's money to the wallet: from the held part, or from the provider if it was paid out. Returns the
/// points too, and raises the top-up's refundable rest.
pub(super) fn refund_failed(
    tenant: &Tenant,
    (topup, refund): (&TopupRecord, &TopupRefund),
    wallet_seen: &SeenWallet,
    psp: Option<&PspId>,
    now: Timestamp,
) -> Result<Effect, PlanRefusal> {
    let mut update = Update::new().set("state", "to", Value::s(RefundState::Failed));
    if let Some(psp) = psp {
        update = update.set("psp_refund", "psp_refund", Value::s(psp));
    }
    if refund.suspense.is_some() {
        update = update.remove(SUSPENSE);
    }
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(now)).remove(attr::DUE_PK).remove(attr::DUE_SK);
    let mut items = vec![refund_item(tenant, refund, update)];
    let wallet = topup.wallet();
    let paid_out = refund.state == RefundState::Succeeded;
    let mut postings = Vec::new();
    for (amount, role) in refund.held().into_iter().zip([Role::Payer, Role::Points]) {
        let division = wallet_seen.divide(wallet, amount)?;
        if paid_out {
            items.extend(wallet_seen.return_amount(tenant, role, wallet, amount, now)?);
        } else {
            let repaid = division.repaid.as_ref();
            let item = forms::release_hold(tenant, role, wallet, amount, repaid, now);
            items.extend(item.map(|item| wallet_seen.repaying(item, wallet, (amount.asset(), repaid), now)));
            postings.push(Posting::held(wallet, amount.debit()));
        }
        postings.extend(division.postings(wallet));
    }
    if paid_out {
        let outside = paid_postings(topup, refund).into_iter().filter(|posting| posting.account != wallet);
        postings.extend(outside.map(|posting| Posting::new(posting.account, posting.delta.inverse())));
    }
    let mut remainder = Update::new().add("refundable", "again", Value::N(refund.amount.text()));
    if let Some(settled) = &refund.settled {
        remainder = remainder.add("points_taken_back", "unsettled", Value::N(settled.debit().text()));
    }
    let remainder = remainder.set(attr::UPDATED_AT, "ua", Value::s(now));
    items.push(TransactItem::update(Role::Topup, keys::topup(tenant, topup.id), remainder, vec![exists()]));
    let entry = entry(topup, refund, RefundStep::Returned, postings);
    Ok(of(refund, Operation::TopupRefundReturned, Draft { entry: Some(entry), items }))
}

pub(super) fn paid_postings(topup: &TopupRecord, refund: &TopupRefund) -> Vec<Posting> {
    let (clearing, issued) =
        (Account::Tenant(TenantAccount::StripeClearing), Account::Tenant(TenantAccount::PointsIssued));
    let mut postings: Vec<Posting> =
        refund.held().into_iter().map(|held| Posting::held(topup.wallet(), held.debit())).collect();
    postings.push(Posting::new(clearing, refund.paid.credit()));
    let suspense = Account::Tenant(TenantAccount::Suspense);
    postings.extend(refund.suspense.iter().map(|difference| Posting::new(suspense, difference.clone())));
    let kept: [Option<&Amount>; 2] = [refund.kept.as_ref(), refund.points.as_ref()];
    postings.extend(kept.into_iter().flatten().map(|kept| Posting::new(issued, kept.credit())));
    postings
}

fn bind(state: RefundState, psp: &PspId, now: Timestamp) -> Update {
    Update::new().set("state", "to", Value::s(state)).set("psp_refund", "psp_refund", Value::s(psp)).set(
        attr::UPDATED_AT,
        "ua",
        Value::s(now),
    )
}

fn refund_item(tenant: &Tenant, refund: &TopupRefund, update: Update) -> TransactItem {
    let clauses = vec![seen("state", "seen_state", Value::s(refund.state))];
    TransactItem::update(Role::Refund, keys::topup_refund(tenant, refund.topup, refund.id), update, clauses)
}

/// The entry of a refund's step. Its id is made of the refund and the step, so it can be posted once only.
pub(super) fn entry(topup: &TopupRecord, refund: &TopupRefund, step: RefundStep, postings: Vec<Posting>) -> Entry {
    Entry {
        id: step.id(refund),
        home: topup.wallet(),
        postings,
        references: Vec::new(),
        details: refund::details(topup, refund),
        memo: None,
        terms: EntryTerms { version: refund.terms_version, ..topup.of_entry() },
    }
}

fn of(refund: &TopupRefund, operation: Operation, draft: Draft) -> Effect {
    Effect {
        draft,
        operation,
        principal: refund.principal,
        key: refund.key.clone(),
        lands: refund.state == RefundState::Requested,
    }
}

/// Decides about a dispute, or a refund that was made at the provider.
fn of_clawback(
    (id, intent, amount): (&PspId, Option<&PspId>, &PspMoney),
    (is_return, movements): (bool, u32),
    view: &View<'_>,
    now: Timestamp,
) -> Result<Routed, PlanRefusal> {
    let topup = view.topup;
    match topup.state {
        TopupState::Requested | TopupState::Pending => return Ok(Routed::Ahead),
        TopupState::Canceled | TopupState::Refused => return Ok(Routed::Contradiction(ContradictionKind::State)),
        TopupState::Succeeded => {}
    }
    if intent.is_some() && intent != topup.intent.as_ref() {
        return Ok(Routed::Contradiction(ContradictionKind::Object));
    }
    let known = view.clawback.map(|clawback| &clawback.amount);
    let Some(amount) = amount.yen().filter(|a| a.value() <= topup.charge.value() && known.is_none_or(|k| k == a))
    else {
        return Ok(Routed::Contradiction(ContradictionKind::Amount));
    };
    let moved = Moved { id, amount: &amount, round: round_of(is_return, movements) };
    let is_known = view.clawback.is_some_and(|clawback| clawback.round >= moved.round);
    let effect = match (is_return, view.wallet.is_closed()) {
        (true, _) => clawback::return_clawback(view, &moved, now)?,
        // There is no wallet to take from.
        (false, true) if !is_known => return Ok(Routed::Contradiction(ContradictionKind::State)),
        (false, _) => clawback::take(view, &moved, now)?,
    };
    Ok(effect.map_or(Routed::Behind, |effect| Routed::Apply(Box::new(effect))))
}
