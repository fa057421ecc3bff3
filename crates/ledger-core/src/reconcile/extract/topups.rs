//! Top-ups, their refunds and clawbacks, and the payment provider's objects for them.

use super::{Observations, StoredItem};
use crate::dynamo::Attributes;
use crate::ids::{Tenant, TopupId};
use crate::keys::sk;
use crate::money::{Amount, Asset, Delta};
use crate::psp::{PaymentIntent, Payout, PspMoney, PspRefund};
use crate::reconcile::fact::{
    AccountFact, Charge, Fact, GroupFact, ProviderPayout, ProviderRefund, RecordedClawback, RecordedTopup,
    RecordedTopupRefund, SettlementFact, TopupFact,
};
use crate::reconcile::num::Num;
use crate::topups::{Clawback, ClawbackState, TopupRecord, TopupRefund, TopupState};
use rust_decimal::Decimal;

/// A top-up.
pub(super) fn topup(at: &StoredItem<'_>) -> Observations {
    let topup = TopupRecord::read(at.item)?;
    at.check_key("topup_id", topup.id, at.id)?;
    let (id, wallet, charge) = (topup.id, topup.wallet(), Num(topup.charge.value()));
    let mut observed = Vec::new();
    let has_reservation = match topup.state {
        TopupState::Requested | TopupState::Pending => true,
        TopupState::Succeeded | TopupState::Canceled | TopupState::Refused => false,
    };
    if has_reservation {
        let reservation = AccountFact::Reservation { amount: charge, by: format!("topup:{id}") };
        observed.push(at.of_account(wallet, Asset::Ecopay, reservation));
    }
    let record = RecordedTopup {
        state: topup.state,
        wallet,
        charge,
        refundable: Num(topup.refundable.value()),
        taken_back: Num(topup.points_taken_back.value()),
        suspense: signed(topup.suspense.as_ref()),
        given_up: quantity(topup.given_up.as_ref()),
        intent: topup.intent,
        at: topup.created_at.millis(),
    };
    observed.push(at.fact(GroupFact::Topup(id, TopupFact::Record(record))));
    Ok(observed)
}

/// A refund of a top-up to the card.
pub(super) fn refund(at: &StoredItem<'_>) -> Observations {
    let refund = TopupRefund::read(at.item)?;
    at.check_key("topup_id", refund.topup, at.id)?;
    at.check_key("refund_id", refund.id, at.after(sk::REFUND))?;
    let record = RecordedTopupRefund {
        id: refund.id,
        state: refund.state,
        amount: Num(refund.amount.value()),
        paid: Num(refund.paid.value()),
        settled: quantity(refund.settled.as_ref()),
        suspense: signed(refund.suspense.as_ref()),
        given_up: quantity(refund.given_up.as_ref()),
        at: refund.created_at.millis(),
    };
    Ok(vec![at.fact(GroupFact::Topup(refund.topup, TopupFact::Refund(record)))])
}

/// A clawback: money of a top-up that the payment provider took by itself.
pub(super) fn clawback(at: &StoredItem<'_>) -> Observations {
    let clawback = Clawback::read(at.item)?;
    let topup = at.item.parsed("topup_id", TopupId::parse)?;
    at.check_key("topup_id", topup, at.id)?;
    at.check_key("psp_id", &clawback.id, at.after(sk::CLAWBACK))?;
    let (lowered, settled) = match clawback.state {
        ClawbackState::Taken => (Some(clawback.amount), clawback.points.settled),
        ClawbackState::Returned => (None, None),
    };
    let record = RecordedClawback {
        id: clawback.id,
        state: clawback.state,
        round: clawback.round,
        lowered: quantity(lowered.as_ref()),
        settled: quantity(settled.as_ref()),
    };
    Ok(vec![at.fact(GroupFact::Topup(topup, TopupFact::Clawback(record)))])
}

fn quantity(amount: Option<&Amount>) -> Num {
    Num(amount.map(Amount::value).unwrap_or_default())
}

fn signed(delta: Option<&Delta>) -> Num {
    Num(delta.map(Delta::value).unwrap_or_default())
}

/// The fact of a PaymentIntent of the provider. `None` unless it is one of the tenant's.
#[must_use]
pub fn of_intent(tenant: &Tenant, intent: &PaymentIntent) -> Option<Fact> {
    let tags = intent.tags.as_ref().filter(|tags| tags.tenant == *tenant)?;
    let received = yen(intent.received, &intent.amount.currency);
    let charge = Charge { id: intent.id.clone(), status: intent.status, received };
    Some(Fact { tenant: tenant.clone(), content: GroupFact::Topup(tags.topup, TopupFact::Charge(charge)) })
}

/// The fact of a provider's refund that we requested. `None` unless it is one of the tenant's. A refund that was made
/// at the provider names none of our refunds, and is a clawback.
#[must_use]
pub fn of_refund(tenant: &Tenant, refund: &PspRefund) -> Option<Fact> {
    let tags = refund.tags.as_ref().filter(|tags| tags.tenant == *tenant)?;
    let PspMoney { minor, currency } = &refund.amount;
    let fact = TopupFact::ProviderRefund(ProviderRefund {
        id: refund.id.clone(),
        refund: tags.refund?,
        status: refund.status,
        amount: yen(*minor, currency),
    });
    Some(Fact { tenant: tenant.clone(), content: GroupFact::Topup(tags.topup, fact) })
}

/// The fact of a provider's payout that we requested. `None` unless it is one of the tenant's.
#[must_use]
pub fn of_payout(tenant: &Tenant, payout: &Payout) -> Option<Fact> {
    let tags = payout.tags.as_ref().filter(|tags| tags.tenant == *tenant)?;
    let PspMoney { minor, currency } = &payout.amount;
    let fact = SettlementFact::ProviderPayout(ProviderPayout {
        id: payout.id.clone(),
        merchant: tags.merchant,
        amount: yen(*minor, currency),
        status: payout.status,
    });
    Some(Fact { tenant: tenant.clone(), content: GroupFact::Settlement(tags.settlement, fact) })
}

/// An amount in yen, which have no smaller unit. Zero for another currency, since none of our amounts is zero.
fn yen(minor: u64, currency: &str) -> Num {
    if currency == "jpy" { Num(Decimal::from(minor)) } else { Num::ZERO }
}
