//! Top-ups, their refunds, what the payment provider took by itself, and its own objects.

use super::{At, Said, Told};
use crate::account::Account;
use crate::ids::{Tenant, TopupId};
use crate::money::{Amount, Asset, Delta};
use crate::ops::topup::{Clawback, ClawbackState, TopupRecord, TopupRefund, TopupState};
use crate::psp::{IntentStatus, PaymentIntent, Payout, PayoutStatus, PspMoney, PspRefund};
use crate::reconcile::fact::{Fact, Group, Subject};
use crate::reconcile::num::Num;
use rust_decimal::Decimal;

/// A top-up.
pub(super) fn topup(at: &At<'_>) -> Told {
    let topup = TopupRecord::read(at.item)?;
    let charge = Num(topup.charge.value());
    let fact = Fact::Topup {
        state: topup.state.name().to_owned(),
        customer: topup.wallet().to_string(),
        charge,
        refundable: Num(topup.refundable.value()),
        taken_back: Num(topup.points_taken_back.value()),
        suspense: signed(topup.suspense.as_ref()),
        given_up: quantity(topup.given_up.as_ref()),
        intent: topup.intent.as_ref().map(ToString::to_string),
        at: topup.created_at.millis(),
    };
    let mut said = vec![at.fact(Subject::Topup(topup.id), fact)];
    if topup.owed.as_amount().is_some() {
        let owed = Fact::OwedForTopup { amount: Num(topup.owed.value()) };
        said.push(at.fact(Subject::Account(topup.wallet(), Asset::Ecopay), owed));
    }
    if matches!(topup.state, TopupState::Requested | TopupState::Pending) {
        let reserving = Fact::Reserving { amount: charge, by: format!("topup:{}", topup.id) };
        said.push(at.fact(Subject::Account(topup.wallet(), Asset::Ecopay), reserving));
    }
    Ok(said)
}

/// A refund of a top-up to the card.
pub(super) fn refund(at: &At<'_>) -> Told {
    let refund = TopupRefund::read(at.item)?;
    let fact = Fact::CardRefund {
        id: refund.id.to_string(),
        state: refund.state.name().to_owned(),
        amount: Num(refund.amount.value()),
        paid: Num(refund.paid.value()),
        settled: quantity(refund.settled.as_ref()),
        suspense: signed(refund.suspense.as_ref()),
        given_up: quantity(refund.given_up.as_ref()),
        at: refund.created_at.millis(),
    };
    Ok(vec![at.fact(Subject::Topup(refund.topup), fact)])
}

/// What the payment provider took by itself.
pub(super) fn clawback(at: &At<'_>) -> Told {
    let clawback = Clawback::read(at.item)?;
    let topup = crate::dynamo::read::parsed(at.item, "topup_id", TopupId::parse)?;
    let is_taken = clawback.state == ClawbackState::Taken;
    let lowered = clawback.lowered.filter(|_| is_taken);
    let settled = clawback.points.settled.filter(|_| is_taken);
    let fact = Fact::Clawback {
        id: clawback.id.to_string(),
        state: clawback.state.name().to_owned(),
        round: clawback.round,
        lowered: quantity(lowered.as_ref()),
        settled: quantity(settled.as_ref()),
    };
    Ok(vec![at.fact(Subject::Topup(topup), fact)])
}

fn quantity(amount: Option<&Amount>) -> Num {
    Num(amount.map(Amount::value).unwrap_or_default())
}

fn signed(delta: Option<&Delta>) -> Num {
    Num(delta.map(Delta::value).unwrap_or_default())
}

/// What a PaymentIntent of the provider's says. Nothing, if it is not a tenant's of ours.
#[must_use]
pub fn of_intent(tenant: &Tenant, intent: &PaymentIntent) -> Option<Said> {
    let tags = intent.tags.as_ref().filter(|tags| tags.tenant == *tenant && tags.refund.is_none())?;
    let fact = Fact::Charge {
        id: intent.id.to_string(),
        paid: intent.status == IntentStatus::Succeeded,
        received: yen(intent.received, &intent.amount.currency),
    };
    Some(Said::Fact(Group { tenant: tenant.clone(), subject: Subject::Topup(tags.topup) }, fact))
}

/// What a refund of the provider's says that we asked for. Nothing, if it is not a tenant's of ours.
#[must_use]
pub fn of_refund(tenant: &Tenant, refund: &PspRefund) -> Option<Said> {
    let tags = refund.tags.as_ref().filter(|tags| tags.tenant == *tenant)?;
    let PspMoney { minor, currency } = &refund.amount;
    let fact = Fact::Payout {
        id: refund.id.to_string(),
        refund: tags.refund?.to_string(),
        state: refund.status.name().to_owned(),
        amount: yen(*minor, currency),
    };
    Some(Said::Fact(Group { tenant: tenant.clone(), subject: Subject::Topup(tags.topup) }, fact))
}

/// What a payout of the provider's says that we asked for. Nothing, if it is not a tenant's of ours.
#[must_use]
pub fn of_payout(tenant: &Tenant, payout: &Payout) -> Option<Said> {
    let tags = payout.tags.as_ref().filter(|tags| tags.tenant == *tenant)?;
    let PspMoney { minor, currency } = &payout.amount;
    let fact = Fact::PaidOut {
        id: payout.id.to_string(),
        merchant: Account::Merchant(tags.merchant).to_string(),
        amount: yen(*minor, currency),
        failed: match payout.status {
            PayoutStatus::Sent => false,
            PayoutStatus::Failed => true,
        },
    };
    Some(Said::Fact(Group { tenant: tenant.clone(), subject: Subject::Settlement(tags.settlement) }, fact))
}

/// Yen have no smaller unit. Of another currency it is nothing, which no amount of ours is.
fn yen(minor: u64, currency: &str) -> Num {
    if currency == "jpy" { Num(Decimal::from(minor)) } else { Num::ZERO }
}
