//! Payments, their refunds, and their holds.

use super::{Observation, Observations, StoredItem, by_asset, num, nums};
use crate::account::Account;
use crate::crediting::{is_credited, merchant_delta};
use crate::dynamo::{Attributes, ItemError};
use crate::ids::{MerchantId, PaymentId, RefundId, SettlementId, TransactionId};
use crate::keys::{self, attr, sk};
use crate::money::{Amount, Asset, Balance, Delta};
use crate::payment_state::PaymentState;
use crate::payments::record::PARTS;
use crate::payments::{PaymentRecord, ReturnKind};
use crate::reconcile::breaks::BreakKind;
use crate::reconcile::fact::{
    AccountFact, EntryFact, GroupFact, PaymentFact, PeriodFact, RecordedHold, RecordedPayment, RecordedReturn,
    SettlementFact, Stamp,
};
use crate::reconcile::num::{Num, Nums};
use crate::transaction::{CreditKind, PeriodId};

/// The attribute with what a record credits to its merchant.
const MERCHANT_DELTA: &str = "merchant_delta";

/// A payment.
pub(super) fn payment(at: &StoredItem<'_>) -> Observations {
    let payment = PaymentRecord::read(at.item)?;
    at.check_key("payment_id", payment.id, at.id)?;
    let deltas = owed(at)?;
    let (id, entry) = (payment.id, payment.transaction_id);
    let record = RecordedPayment {
        state: payment.state,
        merchant: payment.merchant,
        payer: payment.payer,
        entry,
        authorized: by_asset(&payment.authorized, Amount::value),
        captured: by_asset(&payment.captured, Amount::value),
        refundable: by_asset(&payment.refundable, Balance::value),
        delta: nums(&deltas),
        has_hold: payment.expires_at.is_some(),
    };
    let reference = EntryFact::Reference {
        by: format!("payment:{id}"),
        home: Some(payment.payer),
        merchant: Some(payment.merchant),
        claim: None,
    };
    let mut observed =
        vec![at.fact(GroupFact::Payment(id, PaymentFact::Record(record))), at.fact(GroupFact::Entry(entry, reference))];
    observed.extend(credit(at, &format!("payment:{id}"), payment.merchant, &deltas)?);
    Ok(observed)
}

/// A refund of a payment, or a reversal.
pub(super) fn refund(at: &StoredItem<'_>) -> Observations {
    let payment = at.item.parsed("payment_id", PaymentId::parse)?;
    let id = at.item.parsed("refund_id", RefundId::parse)?;
    at.check_key("payment_id", payment, at.id)?;
    at.check_key("refund_id", id, at.after(sk::REFUND))?;
    let entry = at.item.parsed("transaction_id", TransactionId::parse)?;
    let merchant = at.item.parsed("merchant_id", MerchantId::parse)?;
    let parts = parts(at)?;
    let deltas = if parts.is_some() { Vec::new() } else { merchant_delta(at.item)? };
    let kind = at.item.named("kind", ReturnKind::parse)?;
    let record =
        RecordedReturn { id, kind, entry, delta: nums(parts.as_deref().unwrap_or(&deltas)), credits: parts.is_none() };
    let by = format!("payment:{payment}");
    let reference = EntryFact::Reference { by, home: None, merchant: Some(merchant), claim: None };
    let mut observed = vec![
        at.fact(GroupFact::Payment(payment, PaymentFact::Return(record))),
        at.fact(GroupFact::Entry(entry, reference)),
    ];
    observed.extend(credit(at, &format!("refund:{id}"), merchant, &deltas)?);
    observed.extend(super::refund_room::taken(at, merchant)?);
    Ok(observed)
}

/// The hold of a payment, open or closed.
pub(super) fn hold(at: &StoredItem<'_>) -> Observations {
    let payment = at.item.parsed("payment_id", PaymentId::parse)?;
    at.check_key("payment_id", payment, at.id)?;
    let payer = at.item.parsed("payer", Account::parse)?;
    let state = at.item.named("state", PaymentState::parse)?;
    let mut held = Nums::new();
    let mut observed = Vec::new();
    for name in at.item.keys() {
        let Some(suffix) = name.strip_prefix("held_") else { continue };
        let asset = Asset::from_attribute_suffix(suffix).map_err(|_| ItemError::invalid(name))?;
        let amount = num(at.item, name)?;
        if is_held(state) {
            let fact = AccountFact::Hold { amount, by: format!("payment:{payment}") };
            observed.push(at.of_account(payer, asset.clone(), fact));
        }
        held.insert(asset, amount);
    }
    let record = RecordedHold { state, payer, held };
    observed.push(at.fact(GroupFact::Payment(payment, PaymentFact::Hold(record))));
    Ok(observed)
}

/// Whether the payer's balance holds the money of a hold in this state.
fn is_held(state: PaymentState) -> bool {
    match state {
        PaymentState::Authorized => true,
        PaymentState::Captured | PaymentState::Canceled | PaymentState::Expired => false,
        // No hold is stored in these states. If one is, the payment's check reports that it does not fit.
        PaymentState::Created
        | PaymentState::Authorizing
        | PaymentState::Capturing
        | PaymentState::Refunding
        | PaymentState::PartiallyRefunded
        | PaymentState::Refunded
        | PaymentState::Failed
        | PaymentState::Reversed => false,
    }
}

/// What a payment owes its merchant; empty before the capture.
fn owed(at: &StoredItem<'_>) -> Result<Vec<Delta>, ItemError> {
    if at.item.contains_key(MERCHANT_DELTA) { merchant_delta(at.item) } else { Ok(Vec::new()) }
}

/// How a return changes what its merchant is owed, if the seal of its entry credits that; `None` if the return does.
fn parts(at: &StoredItem<'_>) -> Result<Option<Vec<Delta>>, ItemError> {
    if !at.item.contains_key(PARTS) {
        return Ok(None);
    }
    if at.item.contains_key(MERCHANT_DELTA) {
        return Err(ItemError::invalid(PARTS));
    }
    at.item.map(PARTS)?;
    let part = |asset: &str, number: &str| {
        let asset = Asset::parse(asset).map_err(|_| ItemError::invalid(PARTS))?;
        Delta::from_stored(asset, number).map_err(|_| ItemError::invalid(PARTS))
    };
    at.item.numbers(PARTS, part).map(Some)
}

/// Whether the merchant was credited, and which settlement or period took the record. A record that credits nothing is in
/// none, and is not due for its merchant's credit.
fn credit(at: &StoredItem<'_>, subject: &str, merchant: MerchantId, deltas: &[Delta]) -> Observations {
    let mut observed = Vec::new();
    let stamp = at.item.opt_parsed("settlement_id", SettlementId::parse)?;
    let period = PeriodId::read(at.item)?;
    if deltas.is_empty() && stamp.is_none() && period.is_none() && !is_credited(at.item) {
        let is_due = at.item.opt_text(attr::DUE_PK)?.is_some_and(|mark| keys::credit_mark(&at.tenant, mark).is_some());
        if is_due {
            let finding = at.finding(BreakKind::CreditOutstanding, subject).expected("not due: it credits nothing");
            observed.push(at.broken(finding.found("due").by([Account::Merchant(merchant).to_string()])));
        }
        return Ok(observed);
    }
    if is_credited(at.item) {
        let credited_at = at.since("credited_at")?.millis();
        for delta in deltas {
            let fact = AccountFact::Posted { held: false, delta: Num(delta.value()), at: credited_at };
            observed.push(at.of_account(Account::Merchant(merchant), delta.asset().clone(), fact));
        }
        if let Some(id) = period {
            let (delta, refund_room) = (nums(deltas), Num::ZERO);
            let fact =
                PeriodFact::Credited { delta, kind: CreditKind::Trade, refund_room, at: credited_at, segment: None };
            observed.push(at.fact(GroupFact::Period(merchant, id, fact)));
        }
        let is_due = at.item.opt_text(attr::DUE_PK)?.is_some_and(|due| keys::is_settle_mark(&at.tenant, merchant, due));
        let settled_by = [stamp.is_some(), period.is_some(), is_due].into_iter().filter(|is_set| *is_set).count();
        if settled_by != 1 {
            let finding = at.finding(BreakKind::PeriodDiffers, subject).expected("one period, or one settlement");
            let finding = finding.found(if settled_by == 0 { "none, and not due for one" } else { "more than one" });
            observed.push(at.broken(finding.by([Account::Merchant(merchant).to_string()])));
        }
    } else if let Some(late) = outstanding(at, subject, merchant)? {
        observed.push(late);
    }
    if let Some(settlement) = stamp {
        let stamp = Stamp { merchant, delta: nums(deltas), came_back: false };
        observed.push(at.fact(GroupFact::Settlement(settlement, SettlementFact::Stamp(stamp))));
    }
    Ok(observed)
}

/// The break of a record that is not due to be credited, or was not credited for too long.
fn outstanding(at: &StoredItem<'_>, subject: &str, merchant: MerchantId) -> Result<Option<Observation>, ItemError> {
    let since = at.since(if at.item.contains_key(attr::UPDATED_AT) { attr::UPDATED_AT } else { attr::CREATED_AT })?;
    let mark = at.item.opt_text(attr::DUE_PK)?.and_then(|mark| keys::credit_mark(&at.tenant, mark));
    let found = match mark {
        Some((due_merchant, _)) if due_merchant == merchant && !at.is_late(since, at.limits.credit) => return Ok(None),
        Some((due_merchant, _)) if due_merchant == merchant => format!("due since {since}"),
        Some(_) | None => "neither credited nor due".to_owned(),
    };
    let late = at.finding(BreakKind::CreditOutstanding, subject).expected("credited to its merchant").found(found);
    Ok(Some(at.broken(late.by([Account::Merchant(merchant).to_string()]))))
}
