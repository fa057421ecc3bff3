//! The operator refunds a top-up to the card: the money is held before the provider is called. Points that came with
//! it are taken back as with a payment.

use super::record::{TopupRecord, TopupState};
use super::refund_record::{RefundState, RefundStep, TopupRefund};
use super::seen;
use crate::account::Posting;
use crate::audit::Act;
use crate::dynamo::{Cmp, Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::idempotency::{Claim, PlannedCall};
use crate::ids::{Actor, RefundId};
use crate::keys::{self, attr};
use crate::money::{Amount, Asset, Balance};
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal, memo_attribute};
use crate::psp::{PspRequest, PspTerms};
use crate::terms::TenantTerms;
use crate::transaction::{Clause, Draft, Entry, Role, TransactItem, exists};
use crate::wallets::earned::{Earned, TakenBack};

/// A refund of a top-up that was read.
#[derive(Clone, Debug)]
pub struct RefundTopup<'a> {
    /// The actor who requests it.
    pub actor: Actor,
    /// The top-up as it was read.
    pub topup: &'a TopupRecord,
    /// How much leaves the wallet; `None`: all that is left.
    pub amount: Option<&'a Amount>,
    /// The customer's points as they were read. Required if the top-up came with points.
    pub points: Option<&'a Balance>,
    /// The reason.
    pub reason: &'a FreeText,
}

/// Builds the claim. Money and points are held, the top-up's remainder is lowered, and the `REFUND` record is written
/// before the provider is called.
///
/// # Errors
/// [`PlanRefusal`] if nothing or less than the amount is left to refund.
pub fn plan(
    command: &RefundTopup<'_>,
    claim: &Claim,
    terms: &TenantTerms,
    psp: &PspTerms,
    cx: &Context,
) -> Result<PlannedCall, PlanRefusal> {
    let (tenant, topup) = (&claim.tenant, command.topup);
    // Real money cannot be refunded with a test key, nor test money with a live key.
    let refundable = topup.state == TopupState::Succeeded && topup.livemode == psp.livemode;
    let intent = topup.intent.as_ref().filter(|_| refundable);
    let intent = intent.ok_or(PlanRefusal::Refused(Failure::WrongState))?;
    let amount = match command.amount {
        Some(amount) => amount.clone(),
        None => topup.refundable.as_amount().ok_or(PlanRefusal::Refused(Failure::OverRefund))?,
    };
    if topup.refundable.value() < amount.value() {
        return Err(PlanRefusal::Refused(Failure::OverRefund));
    }
    let points = points_of(command, &amount, terms)?;
    let paid = match &points.from_money {
        Some(kept) => amount.checked_sub(kept)?,
        None => Some(amount.clone()),
    };
    let refund = TopupRefund {
        id: RefundId::new(cx.resource_id),
        topup: topup.id,
        paid: paid.ok_or(PlanRefusal::Invalid { field: "amount", why: "is all kept for points that were spent" })?,
        amount,
        kept: points.from_money,
        points: points.from_points,
        settled: points.settled,
        suspense: None,
        written_off: false,
        given_up: None,
        state: RefundState::Requested,
        psp_refund: None,
        principal: claim.principal,
        key: claim.key.clone(),
        created_at: cx.now,
        shards: terms.due_shards,
        terms_version: terms.version,
    };
    let mut record = refund.item(claim);
    record.extend(memo_attribute(Some(command.reason)));
    let act = Act::new(command.actor, claim.operation, topup.wallet())
        .because(Some(command.reason))
        .with("topup_id", topup.id)
        .with("refund_id", refund.id)
        .with("amount", refund.amount.text());
    let mut items = holds(command, &refund, claim, cx)?;
    items.push(remainder(claim, topup, &refund, cx));
    let key = keys::topup_refund(tenant, topup.id, refund.id);
    items.push(TransactItem::put_new(Role::Refund, key, record, Failure::AlreadyExists));
    items.push(act.record(tenant, cx));
    let account = topup.account.as_deref();
    let request = PspRequest::create_refund(tenant, (topup.id, refund.id), intent, &refund.paid, &psp.ledger, account);
    let entry = Entry {
        id: RefundStep::Held.id(&refund),
        home: topup.wallet(),
        postings: refund.held().into_iter().flat_map(|held| hold_postings(topup, held)).collect(),
        references: Vec::new(),
        details: details(topup, &refund),
        memo: None,
        terms: terms.of_entry(),
    };
    Ok(PlannedCall {
        draft: Draft { entry: Some(entry), items },
        resource: cx.resource_id,
        topup: topup.id,
        request,
        shards: terms.due_shards,
    })
}

impl TopupRefund {
    /// The amounts that are held for it.
    pub(super) fn held(&self) -> Vec<&Amount> {
        std::iter::once(&self.amount).chain(&self.points).collect()
    }
}

/// The journal's details of a refund's entries.
pub(super) fn details(topup: &TopupRecord, refund: &TopupRefund) -> Item {
    Item::from([("topup_id".to_owned(), Value::s(topup.id)), ("refund_id".to_owned(), Value::s(refund.id))])
}

fn hold_postings(topup: &TopupRecord, held: &Amount) -> [Posting; 2] {
    [Posting::new(topup.wallet(), held.debit()), Posting::held(topup.wallet(), held.credit())]
}

fn points_of(command: &RefundTopup<'_>, amount: &Amount, terms: &TenantTerms) -> Result<TakenBack, PlanRefusal> {
    let topup = command.topup;
    let Some(points) = &topup.points else { return Ok(TakenBack::default()) };
    let earned = Earned { points, with: &topup.charge, taken_back: &topup.points_taken_back };
    let left = topup.refundable.checked_apply(&amount.debit())?;
    let nothing = Balance::zero(Asset::Point);
    earned.points_due(&left, command.points.unwrap_or(&nothing), Some(amount), terms.spent_points)
}

/// Holds money and points. If the points do not cover what is taken back, the shortfall was computed from the read,
/// and the guard is the exact balance.
fn holds(
    command: &RefundTopup<'_>,
    refund: &TopupRefund,
    claim: &Claim,
    cx: &Context,
) -> Result<Vec<TransactItem>, PlanRefusal> {
    let (tenant, wallet) = (&claim.tenant, command.topup.wallet());
    let mut items = Vec::from_iter(forms::hold(tenant, Role::Payer, wallet, &refund.amount, true, cx.now));
    let covered = refund.points == refund.settled;
    let as_read = || Clause {
        condition: Condition::compare(
            attr::BALANCE,
            Cmp::Eq,
            "seen",
            Value::N(command.points.map_or_else(|| "0".to_owned(), Balance::text)),
        ),
        failure: Failure::StalePlan,
    };
    match &refund.points {
        Some(points) => {
            let guard = if covered { forms::holds(points, Failure::StalePlan) } else { as_read() };
            let held = forms::hold(tenant, Role::Points, wallet, points, false, cx.now);
            let guards = forms::open(wallet, Failure::WrongState).into_iter().chain([guard]).collect();
            items.extend(held.map(|item| item.guarded_by(guards)));
        }
        None if !covered => {
            let check = forms::check_balance(tenant, Role::Points, wallet, &Asset::Point);
            items.extend(check.map(|item| item.guarded_by(vec![exists(), as_read()])));
        }
        None => {}
    }
    Ok(items)
}

/// Lowers the top-up's remainder, guarded on what was read, because the points depend on it.
fn remainder(claim: &Claim, topup: &TopupRecord, refund: &TopupRefund, cx: &Context) -> TransactItem {
    let mut update = Update::new().add("refundable", "back", Value::N(refund.amount.debit().text()));
    if let Some(settled) = &refund.settled {
        update = update.add("points_taken_back", "settled", Value::N(settled.text()));
    }
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(cx.now));
    let clauses = vec![
        exists(),
        seen("state", "seen_state", Value::s(topup.state)),
        seen("refundable", "seen_refundable", Value::N(topup.refundable.text())),
        seen("points_taken_back", "seen_taken_back", Value::N(topup.points_taken_back.text())),
    ];
    TransactItem::update(Role::Topup, keys::topup(&claim.tenant, topup.id), update, clauses)
}
