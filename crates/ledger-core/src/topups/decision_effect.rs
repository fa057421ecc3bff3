//! The effect of a decision about a contradicted top-up or refund, on our records and on the books.

use super::decision::{Basis, DecisionKind};
use super::record::{TopupRecord, TopupState};
use super::refund_record::{RefundState, RefundStep, TopupRefund};
use super::route::{self, Routed, View};
use super::{refund, seen};
use crate::account::{Account, Posting, TenantAccount};
use crate::dynamo::{Condition, Item, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::idempotency::Phase;
use crate::ids::Tenant;
use crate::keys::{self, attr};
use crate::money::{Amount, AssetSpec};
use crate::plan::{Context, PlanRefusal};
use crate::psp::{Fact, IntentStatus, PaymentIntent, PspMoney, PspRefund, RefundStatus};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Entry, Role, TransactItem};
use crate::unclaimed;
use crate::words::words;

/// The attribute for what a record has on the account `suspense`, signed.
pub(super) const SUSPENSE: &str = "suspense";
/// The attribute for what the provider moved for an operation that was given up.
pub(super) const GIVEN_UP: &str = "given_up";
/// The attribute for what was written off of it.
pub(super) const WRITTEN_OFF: &str = "written_off";
/// The detail of an entry that holds the decision.
pub const DECIDED: &str = "decided";

words! {
    /// The values of an entry's detail [`DECIDED`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum EntryDecision {
        /// What the provider's object says was booked.
        Book = "book",
        /// The operation was given up.
        GiveUp = "give_up",
        /// What was on `suspense` was written off.
        WriteOff = "write_off",
        /// The refund had failed before: only what the provider paid out was posted.
        Post = "post",
    }
}

/// The effect, without the decision's own record.
pub(super) struct Effect {
    /// The journal entry, if value moves.
    pub(super) entry: Option<Entry>,
    /// The changes of items.
    pub(super) items: Vec<TransactItem>,
}

/// Plans the effect of a decision. What it gives to a closed wallet goes to `unclaimed`.
///
/// # Errors
/// [`PlanRefusal`] if the decision is not possible at present.
pub(super) fn of(basis: &Basis<'_>, way: DecisionKind, cx: &Context) -> Result<Effect, PlanRefusal> {
    let effect = decided(basis, way, cx)?;
    let view = basis.view;
    if !view.wallet.is_closed() {
        return Ok(effect);
    }
    let draft = Draft { entry: effect.entry, items: effect.items };
    let Draft { entry, items } = unclaimed::divert(view.tenant, view.topup.wallet(), draft, cx.now)?;
    Ok(Effect { entry, items })
}

fn decided(basis: &Basis<'_>, way: DecisionKind, cx: &Context) -> Result<Effect, PlanRefusal> {
    if basis.flight.is_some_and(|flight| flight.phase != Phase::Parked) {
        return Err(invalid("is still being worked on: wait until it has ended or is parked"));
    }
    let (view, now) = (basis.view, cx.now);
    if way == DecisionKind::WriteOff {
        return write_off(view, cx);
    }
    let fact = basis.fact.ok_or_else(|| invalid("cannot be decided: the provider has no such object"))?;
    match route::route(fact, view, now)? {
        Routed::Contradiction(_) => {}
        Routed::Apply(_) | Routed::Behind | Routed::Ahead => {
            return Err(invalid("cannot be decided: the provider's object agrees with the record"));
        }
    }
    match (way, fact, view.refund) {
        (DecisionKind::Book, Fact::Intent(intent), None) => book_topup(view, intent, cx),
        (DecisionKind::Book, Fact::Refund(psp), Some(refund)) => book_refund(view, refund, psp, cx),
        (DecisionKind::GiveUp, Fact::Intent(intent), None) => give_up_topup(view, intent, cx),
        (DecisionKind::GiveUp, Fact::Refund(psp), Some(refund)) => give_up_refund(view, refund, psp, cx),
        (DecisionKind::Book | DecisionKind::GiveUp | DecisionKind::WriteOff, Fact::Intent(_) | Fact::Refund(_), _)
        | (_, Fact::Withdrawn(_) | Fact::Reinstated(_), _) => {
            Err(invalid("cannot be decided: the provider's object is of another kind"))
        }
    }
}

/// Credits what was received, with the promised points in proportion.
fn book_topup(view: &View<'_>, intent: &PaymentIntent, cx: &Context) -> Result<Effect, PlanRefusal> {
    let (tenant, topup, now) = (view.tenant, view.topup, cx.now);
    let received = received(topup, intent).ok_or_else(|| {
        invalid("cannot be book: the PaymentIntent is not paid in yen of this mode; cancel it and give the top-up up")
    })?;
    let whole = received.at_most(&topup.charge.as_balance())?.unwrap_or_else(|| received.clone());
    let points = match &topup.points {
        Some(points) => Amount::proportion(points, &whole.as_balance(), &topup.charge, &AssetSpec::POINT)?,
        None => None,
    };
    let reserved = match topup.state {
        TopupState::Requested | TopupState::Pending => true,
        TopupState::Canceled | TopupState::Refused => false,
        TopupState::Succeeded => return Err(PlanRefusal::Refused(Failure::WrongState)),
    };
    let mut update = Update::new()
        .set("state", "to", Value::s(TopupState::Succeeded))
        .set("payment_intent", "payment_intent", Value::s(&intent.id))
        .set("charge", "received", Value::N(received.text()))
        .set("refundable", "received", Value::N(received.text()))
        .set("points_taken_back", "nothing", Value::int(0))
        .set("succeeded_at", "ua", Value::s(now));
    update = match &points {
        Some(points) => update.set("points", "points", Value::N(points.text())),
        None => update.remove("points"),
    };
    let mut items = vec![topup_item(tenant, topup, update, now)];
    items.extend(match reserved {
        true => forms::receive_instead(tenant, topup.wallet(), &topup.charge, &received, now),
        false => forms::return_credit(tenant, Role::Payee, topup.wallet(), &received, now),
    });
    let credited = |points| forms::return_credit(tenant, Role::Points, topup.wallet(), points, now);
    items.extend(points.as_ref().and_then(credited));
    let credited = TopupRecord { charge: received, points, ..topup.clone() };
    let mut entry = route::credit(&credited, &intent.id);
    entry.details.insert(DECIDED.to_owned(), Value::s(DecisionKind::Book.name()));
    Ok(Effect { entry: Some(entry), items })
}

/// Ends the top-up and frees its reservation. What was received is posted to `suspense`.
fn give_up_topup(view: &View<'_>, intent: &PaymentIntent, cx: &Context) -> Result<Effect, PlanRefusal> {
    let (tenant, topup, now) = (view.tenant, view.topup, cx.now);
    if intent.status == IntentStatus::Open {
        return Err(invalid("cannot be give_up: the PaymentIntent can still be paid; cancel it at the provider first"));
    }
    let received = received(topup, intent);
    let mut items = Vec::new();
    let mut update = match topup.state {
        TopupState::Requested => Update::new().set("state", "to", Value::s(TopupState::Refused)),
        TopupState::Pending => Update::new().set("state", "to", Value::s(TopupState::Canceled)),
        TopupState::Canceled | TopupState::Refused => Update::new(),
        TopupState::Succeeded => return Err(PlanRefusal::Refused(Failure::WrongState)),
    };
    match topup.state {
        TopupState::Requested | TopupState::Pending => {
            items.extend(forms::release(tenant, topup.wallet(), &topup.charge, now));
        }
        TopupState::Canceled | TopupState::Refused | TopupState::Succeeded if topup.given_up.is_some() => {
            return Err(PlanRefusal::Refused(Failure::WrongState));
        }
        TopupState::Canceled | TopupState::Refused | TopupState::Succeeded => {}
    }
    let mut entry = None;
    if let Some(received) = &received {
        update = update.set(SUSPENSE, "received", Value::N(received.text())).set(
            GIVEN_UP,
            "received",
            Value::N(received.text()),
        );
        let postings = vec![
            Posting::new(Account::Tenant(TenantAccount::StripeClearing), received.debit()),
            Posting::new(Account::Tenant(TenantAccount::Suspense), received.credit()),
        ];
        let details = Item::from([("topup_id".to_owned(), Value::s(topup.id))]);
        entry = Some(decided_entry(view, (DecisionKind::GiveUp, details), postings, cx));
    } else if topup.state != TopupState::Requested && topup.state != TopupState::Pending {
        return Err(invalid("cannot be give_up: nothing is reserved, and the provider has moved nothing in yen"));
    }
    items.insert(0, topup_item(tenant, topup, update, now));
    Ok(Effect { entry, items })
}

/// Books the refund: what was held leaves the wallet. The difference to what the provider paid is posted to
/// `suspense`.
fn book_refund(view: &View<'_>, refund: &TopupRefund, psp: &PspRefund, cx: &Context) -> Result<Effect, PlanRefusal> {
    let (tenant, topup, now) = (view.tenant, view.topup, cx.now);
    let paid = psp.amount.yen().filter(|_| psp.status == RefundStatus::Succeeded);
    let paid = paid.ok_or_else(|| invalid("cannot be book: the provider has not paid the refund out in yen"))?;
    if !matches!(refund.state, RefundState::Requested | RefundState::Pending) {
        return Err(invalid("cannot be book: nothing is held for the refund any more"));
    }
    let difference = refund.paid.as_balance().checked_sub(&paid.as_balance())?.as_delta();
    let booked = TopupRefund { paid: paid.clone(), suspense: difference.clone(), ..refund.clone() };
    let mut update = Update::new()
        .set("state", "to", Value::s(RefundState::Succeeded))
        .set("psp_refund", "psp_refund", Value::s(&psp.id))
        .set("paid", "paid", Value::N(paid.text()));
    if let Some(difference) = &difference {
        update = update.set(SUSPENSE, "difference", Value::N(difference.text()));
    }
    let mut items = vec![refund_item(tenant, refund, update, now)];
    for (held, role) in refund.held().into_iter().zip([Role::Payer, Role::Points]) {
        items.extend(forms::pay_out(tenant, role, topup.wallet(), held, now));
    }
    let postings = route::paid_postings(topup, &booked);
    let mut entry = route::entry(topup, refund, RefundStep::Paid, postings);
    entry.details.insert(DECIDED.to_owned(), Value::s(DecisionKind::Book.name()));
    Ok(Effect { entry: Some(entry), items })
}

/// Fails the refund and returns its money to the wallet. What the provider has paid out is posted to `suspense`.
fn give_up_refund(view: &View<'_>, refund: &TopupRefund, psp: &PspRefund, cx: &Context) -> Result<Effect, PlanRefusal> {
    let (tenant, topup, now) = (view.tenant, view.topup, cx.now);
    let paid = match psp.status {
        RefundStatus::Pending => {
            return Err(invalid("cannot be give_up: the refund is on its way; wait until it has ended"));
        }
        RefundStatus::Succeeded => psp.amount.yen(),
        RefundStatus::Failed => None,
    };
    let mut marks = Update::new();
    let mut postings = Vec::new();
    if let Some(paid) = &paid {
        marks = marks.set(SUSPENSE, "owing", Value::N(paid.debit().text())).set(
            GIVEN_UP,
            "given_up",
            Value::N(paid.text()),
        );
        postings.push(Posting::new(Account::Tenant(TenantAccount::StripeClearing), paid.credit()));
        postings.push(Posting::new(Account::Tenant(TenantAccount::Suspense), paid.debit()));
    }
    match refund.state {
        RefundState::Requested | RefundState::Pending => {
            let returned = route::refund_failed(tenant, (topup, refund), view.wallet, None, now)?;
            let Draft { entry, mut items } = returned.draft;
            let key = keys::topup_refund(tenant, topup.id, refund.id);
            let marks = TransactItem::update(Role::Refund, key, marks, vec![unseen_decision(None)]);
            let marked = items.first().cloned().and_then(|item| item.and(marks));
            let marked = marked.ok_or(PlanRefusal::Refused(Failure::WrongState))?;
            items.splice(..1, [marked]);
            let entry = entry.map(|entry| {
                let postings = entry.postings.into_iter().chain(postings).collect();
                let mut details = entry.details;
                details.insert(DECIDED.to_owned(), Value::s(DecisionKind::GiveUp.name()));
                Entry { postings, details, ..entry }
            });
            Ok(Effect { entry, items })
        }
        RefundState::Failed if paid.is_some() && refund.given_up.is_none() => {
            let mut entry = decided_entry(view, (DecisionKind::GiveUp, refund::details(topup, refund)), postings, cx);
            entry.details.insert(DECIDED.to_owned(), Value::s(EntryDecision::Post.name()));
            Ok(Effect { entry: Some(entry), items: vec![refund_item(tenant, refund, marks, now)] })
        }
        RefundState::Failed | RefundState::Succeeded => {
            Err(invalid("cannot be give_up: nothing is held, and the provider has moved nothing in yen"))
        }
    }
}

/// Writes off what a record has on `suspense`, as the tenant's gain or loss.
fn write_off(view: &View<'_>, cx: &Context) -> Result<Effect, PlanRefusal> {
    let (tenant, topup, now) = (view.tenant, view.topup, cx.now);
    let on_suspense = match view.refund {
        Some(refund) => refund.suspense.clone(),
        None => topup.suspense.clone(),
    };
    let on_suspense = on_suspense.ok_or_else(|| invalid("cannot be write_off: nothing of it is on suspense"))?;
    let as_seen = seen(SUSPENSE, "seen_suspense", Value::N(on_suspense.text()));
    let update = Update::new().remove(SUSPENSE).set(WRITTEN_OFF, "suspense", Value::N(on_suspense.text()));
    let (item, mut details) = match view.refund {
        Some(refund) => (refund_item(tenant, refund, update, now), refund::details(topup, refund)),
        None => {
            let details = Item::from([("topup_id".to_owned(), Value::s(topup.id))]);
            (topup_item(tenant, topup, update, now), details)
        }
    };
    details.insert(DECIDED.to_owned(), Value::s(DecisionKind::WriteOff.name()));
    let postings = vec![
        Posting::new(Account::Tenant(TenantAccount::Suspense), on_suspense.inverse()),
        Posting::new(Account::Tenant(TenantAccount::Adjustments), on_suspense),
    ];
    let entry = decided_entry(view, (DecisionKind::WriteOff, details), postings, cx);
    Ok(Effect { entry: Some(entry), items: vec![item.guarded_also(vec![as_seen])] })
}

/// What the customer paid; `None` unless it is paid, in yen, and in the mode of our record.
fn received(topup: &TopupRecord, intent: &PaymentIntent) -> Option<Amount> {
    let is_paid = intent.status == IntentStatus::Succeeded && intent.livemode == topup.livemode;
    let money = PspMoney { minor: intent.received, currency: intent.amount.currency.clone() };
    money.yen().filter(|_| is_paid)
}

fn decided_entry(
    view: &View<'_>,
    (way, mut details): (DecisionKind, Item),
    postings: Vec<Posting>,
    cx: &Context,
) -> Entry {
    details.insert(DECIDED.to_owned(), Value::s(way.name()));
    Entry {
        id: cx.transaction_id,
        home: view.topup.wallet(),
        postings,
        references: Vec::new(),
        details,
        memo: None,
        terms: view.topup.of_entry(),
    }
}

fn topup_item(tenant: &Tenant, topup: &TopupRecord, update: Update, now: Timestamp) -> TransactItem {
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(now)).remove(attr::DUE_PK).remove(attr::DUE_SK);
    let clauses = vec![seen("state", "seen_state", Value::s(topup.state)), unseen_decision(topup.given_up.as_ref())];
    TransactItem::update(Role::Topup, keys::topup(tenant, topup.id), update, clauses)
}

fn refund_item(tenant: &Tenant, refund: &TopupRefund, update: Update, now: Timestamp) -> TransactItem {
    let update = update.set(attr::UPDATED_AT, "ua", Value::s(now)).remove(attr::DUE_PK).remove(attr::DUE_SK);
    let clauses = vec![seen("state", "seen_state", Value::s(refund.state)), unseen_decision(refund.given_up.as_ref())];
    TransactItem::update(Role::Refund, keys::topup_refund(tenant, refund.topup, refund.id), update, clauses)
}

/// Requires that what was given up is as it was read.
fn unseen_decision(given_up: Option<&Amount>) -> Clause {
    match given_up {
        Some(amount) => seen(GIVEN_UP, "seen_given_up", Value::N(amount.text())),
        None => Clause { condition: Condition::absent(GIVEN_UP), failure: Failure::StalePlan },
    }
}

fn invalid(why: &'static str) -> PlanRefusal {
    PlanRefusal::Invalid { field: "way", why }
}
