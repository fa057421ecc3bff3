//! Payments, their refunds, and their holds.

use super::{Observations, StoredItem, by_asset, num, nums};
use crate::account::Account;
use crate::dynamo::{Attributes, ItemError};
use crate::ids::{MerchantId, PaymentId, RefundId, TransactionId};
use crate::keys::sk;
use crate::money::{Amount, Asset, Balance, Delta};
use crate::payment_state::PaymentState;
use crate::payments::record::PARTS;
use crate::payments::{PaymentRecord, ReturnKind};
use crate::reconcile::fact::{
    AccountFact, EntryFact, GroupFact, PaymentFact, RecordedHold, RecordedPayment, RecordedReturn,
};
use crate::reconcile::num::Nums;

/// A payment.
pub(super) fn payment(at: &StoredItem<'_>) -> Observations {
    let payment = PaymentRecord::read(at.item)?;
    at.check_key("payment_id", payment.id, at.id)?;
    let (id, entry) = (payment.id, payment.transaction_id);
    let record = RecordedPayment {
        state: payment.state,
        merchant: payment.merchant,
        payer: payment.payer,
        entry,
        authorized: by_asset(&payment.authorized, Amount::value),
        captured: by_asset(&payment.captured, Amount::value),
        refundable: by_asset(&payment.refundable, Balance::value),
        has_hold: payment.expires_at.is_some(),
    };
    let reference = EntryFact::Reference {
        by: format!("payment:{id}"),
        home: Some(payment.payer),
        merchant: Some(payment.merchant),
        claim: None,
    };
    Ok(vec![at.fact(GroupFact::Payment(id, PaymentFact::Record(record))), at.fact(GroupFact::Entry(entry, reference))])
}

/// A refund of a payment, or a reversal.
pub(super) fn refund(at: &StoredItem<'_>) -> Observations {
    let payment = at.item.parsed("payment_id", PaymentId::parse)?;
    let id = at.item.parsed("refund_id", RefundId::parse)?;
    at.check_key("payment_id", payment, at.id)?;
    at.check_key("refund_id", id, at.after(sk::REFUND))?;
    let entry = at.item.parsed("transaction_id", TransactionId::parse)?;
    let merchant = at.item.parsed("merchant_id", MerchantId::parse)?;
    let kind = at.item.named("kind", ReturnKind::parse)?;
    let record = RecordedReturn { id, kind, entry, delta: nums(&parts(at)?) };
    let by = format!("payment:{payment}");
    let reference = EntryFact::Reference { by, home: None, merchant: Some(merchant), claim: None };
    let mut observed = vec![
        at.fact(GroupFact::Payment(payment, PaymentFact::Return(record))),
        at.fact(GroupFact::Entry(entry, reference)),
    ];
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

/// How a return changes what its merchant is owed.
fn parts(at: &StoredItem<'_>) -> Result<Vec<Delta>, ItemError> {
    at.item.map(PARTS)?;
    let part = |asset: &str, number: &str| {
        let asset = Asset::parse(asset).map_err(|_| ItemError::invalid(PARTS))?;
        Delta::from_stored(asset, number).map_err(|_| ItemError::invalid(PARTS))
    };
    at.item.numbers(PARTS, part)
}
