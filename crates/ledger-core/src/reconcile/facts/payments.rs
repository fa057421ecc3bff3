//! Payments, their refunds, and what is held for them.

use super::{At, Said, Told, by_asset, num, nums, wrong};
use crate::account::Account;
use crate::dynamo::{ItemError, read};
use crate::ids::{MerchantId, PaymentId, RefundId, SettlementId, TransactionId};
use crate::keys::{self, attr};
use crate::money::{Amount, Asset, Balance, Delta};
use crate::ops::PaymentRecord;
use crate::ops::crediting::{is_credited, merchant_delta};
use crate::reconcile::breaks::BreakKind;
use crate::reconcile::fact::{Fact, Subject};
use crate::reconcile::num::{Num, Nums};

/// A payment.
pub(super) fn payment(at: &At<'_>) -> Told {
    let payment = PaymentRecord::read(at.item)?;
    let deltas = owed(at)?;
    let (id, entry) = (payment.id, payment.transaction_id);
    let fact = Fact::Payment {
        state: payment.state.name().to_owned(),
        merchant: payment.merchant.to_string(),
        payer: payment.payer.to_string(),
        entry: entry.to_string(),
        authorized: by_asset(&payment.authorized, Amount::value),
        captured: by_asset(&payment.captured, Amount::value),
        refundable: by_asset(&payment.refundable, Balance::value),
        delta: nums(&deltas),
        held: payment.expires_at.is_some(),
    };
    let named = Fact::Named { by: format!("payment:{id}"), home: Some(payment.payer.to_string()), says: None };
    let mut said = vec![at.fact(Subject::Payment(id), fact), at.fact(Subject::Transaction(entry), named)];
    said.extend(credit(at, &format!("payment:{id}"), payment.merchant, &deltas)?);
    Ok(said)
}

/// A refund of a payment, or a reversal.
pub(super) fn refund(at: &At<'_>) -> Told {
    let payment = read::parsed(at.item, "payment_id", PaymentId::parse)?;
    let id = read::parsed(at.item, "refund_id", RefundId::parse)?;
    let entry = read::parsed(at.item, "transaction_id", TransactionId::parse)?;
    let merchant = read::parsed(at.item, "merchant_id", MerchantId::parse)?;
    let deltas = merchant_delta(at.item)?;
    let fact = Fact::Returned {
        id: id.to_string(),
        kind: read::text(at.item, "kind")?.to_owned(),
        entry: entry.to_string(),
        delta: nums(&deltas),
    };
    let named = Fact::Named { by: format!("payment:{payment}"), home: None, says: None };
    let mut said = vec![at.fact(Subject::Payment(payment), fact), at.fact(Subject::Transaction(entry), named)];
    said.extend(credit(at, &format!("refund:{id}"), merchant, &deltas)?);
    Ok(said)
}

/// What is or was held for a payment.
pub(super) fn hold(at: &At<'_>) -> Told {
    let payment = read::parsed(at.item, "payment_id", PaymentId::parse)?;
    let payer = read::parsed(at.item, "payer", Account::parse)?;
    let state = read::text(at.item, "state")?;
    let mut held = Nums::new();
    let mut said = Vec::new();
    for name in at.item.keys() {
        let Some(suffix) = name.strip_prefix("held_") else { continue };
        let asset = Asset::from_attribute_suffix(suffix).map_err(|_| wrong(name))?;
        let amount = num(at.item, name)?;
        held.insert(asset.to_string(), amount);
        if state == "authorized" {
            let fact = Fact::Holding { amount, by: format!("payment:{payment}") };
            said.push(at.fact(Subject::Account(payer, asset), fact));
        }
    }
    let fact = Fact::Hold { state: state.to_owned(), payer: payer.to_string(), held };
    said.push(at.fact(Subject::Payment(payment), fact));
    Ok(said)
}

/// What a payment owes its merchant; nothing while nothing has been captured.
fn owed(at: &At<'_>) -> Result<Vec<Delta>, ItemError> {
    if at.item.contains_key("merchant_delta") { merchant_delta(at.item) } else { Ok(Vec::new()) }
}

/// Whether the merchant has it, and the settlement that took it.
fn credit(at: &At<'_>, subject: &str, merchant: MerchantId, deltas: &[Delta]) -> Told {
    let mut said = Vec::new();
    if deltas.is_empty() {
        return Ok(said);
    }
    if is_credited(at.item) {
        let credited_at = at.since("credited_at")?.millis();
        for delta in deltas {
            let fact = Fact::Posted { held: false, delta: Num(delta.value()), at: credited_at };
            said.push(at.fact(Subject::Account(Account::Merchant(merchant), delta.asset().clone()), fact));
        }
    } else if let Some(late) = outstanding(at, subject, merchant)? {
        said.push(late);
    }
    if at.item.contains_key("settlement_id") {
        let settlement = read::parsed(at.item, "settlement_id", SettlementId::parse)?;
        said.push(at.fact(
            Subject::Settlement(settlement),
            Fact::Stamped { merchant: Account::Merchant(merchant).to_string(), delta: nums(deltas), came_back: false },
        ));
    }
    Ok(said)
}

/// A record that its worker does not find, or has not found for too long.
fn outstanding(at: &At<'_>, subject: &str, merchant: MerchantId) -> Result<Option<Said>, ItemError> {
    let since = at.since(if at.item.contains_key(attr::UPDATED_AT) { attr::UPDATED_AT } else { attr::CREATED_AT })?;
    let mark = read::opt_text(at.item, attr::DUE_PK)?.and_then(|mark| keys::credit_mark(&at.tenant, mark));
    let found = match mark {
        Some((whose, _)) if whose == merchant && !at.is_late(since, at.limits.credit) => return Ok(None),
        Some((whose, _)) if whose == merchant => format!("due since {since}"),
        Some(_) | None => "neither credited nor due".to_owned(),
    };
    let late = at.finding(BreakKind::CreditOutstanding, subject).expected("credited to its merchant").found(found);
    Ok(Some(at.broken(late.by([Account::Merchant(merchant).to_string()]))))
}
