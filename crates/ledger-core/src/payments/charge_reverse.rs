//! A terminal reverses one of its own charges of a customer's code, whose outcome it may not know. A charge that was made
//! is refunded whole, and one that has not arrived is forbidden by a tombstone.

use super::record::PaymentRecord;
use super::refund::{self, Refund, ReversedCharge};
use super::reversal::{REVERSAL_TIME, Reversal, ReverseReceipt, reversed_marker};
use crate::dynamo::Item;
use crate::failure::Failure;
use crate::forms::RoomGuard;
use crate::idempotency::{Claim, Marker, MarkerState};
use crate::ids::{Tenant, TransactionId};
use crate::journal::JournalEntry;
use crate::keys::Partition;
use crate::money::Balance;
use crate::payment_state::PaymentState;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{MerchantTerms, TenantTerms};
use crate::transaction::{Draft, Planned};
use crate::wallets::SeenWallet;

/// A reversal of a charge.
#[derive(Clone, Debug)]
pub struct ChargeReverse<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// The terminal's partition, which has references to its operations.
    pub terminal: Partition,
    /// The terminal's merchant.
    pub merchant: &'a MerchantTerms,
    /// The charge's claim on its key.
    pub original: &'a Claim,
    /// What was read under the charge's key; `None` if nothing is there.
    pub marker: Option<&'a Marker>,
    /// The charge, if it was made.
    pub charge: Option<SeenCharge<'a>>,
}

/// A charge that was made, with what was read of its payer.
#[derive(Clone, Copy, Debug)]
pub struct SeenCharge<'a> {
    /// Its entry.
    pub entry: &'a JournalEntry,
    /// Its payment.
    pub payment: &'a PaymentRecord,
    /// The payer's points. Required if the payment earned points.
    pub points: Option<&'a Balance>,
    /// The payer's wallet. What is returned pays its debt first.
    pub wallet: &'a SeenWallet,
    /// The payer's balance items, if the charge counted toward limits.
    pub balances: &'a [Item],
    /// Whether the payer's wallet is closed: what is returned is unclaimed.
    pub is_closed: bool,
}

/// Builds the reversal's transaction from what was read. Any change since then is a `StalePlan`.
///
/// # Errors
/// [`PlanRefusal`] if the charge was made more than [`REVERSAL_TIME`] ago or is refunded.
pub fn plan(
    command: &ChargeReverse<'_>,
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<ReverseReceipt>, PlanRefusal> {
    let receipt = |reversal, original: Option<TransactionId>| ReverseReceipt {
        operation: command.original.operation,
        reversal,
        transaction_id: (reversal == Reversal::Undone).then_some(cx.transaction_id),
        original_transaction_id: original,
        created_at: cx.now,
    };
    let without_entry =
        |items, reversal| Ok(Planned { draft: Draft { entry: None, items }, receipt: receipt(reversal, None) });
    let Some(marker) = command.marker else {
        return without_entry(vec![command.original.tombstone()], Reversal::Forbidden);
    };
    if marker.state == MarkerState::Reversed {
        return without_entry(Vec::new(), Reversal::AlreadyReversed);
    }
    let marker = reversed_marker(command.original);
    let Some(charge) = command.charge else {
        return without_entry(vec![marker], Reversal::NothingMoved);
    };
    if charge.payment.state == PaymentState::Reversed {
        // The marker says otherwise: it was read before another reversal wrote both.
        return Err(PlanRefusal::Refused(Failure::StalePlan));
    }
    if cx.now.since(charge.entry.created_at) > REVERSAL_TIME {
        return Err(PlanRefusal::Refused(Failure::ReversalTooLate));
    }
    let refund = Refund {
        tenant: command.tenant,
        merchant: command.merchant,
        payment: charge.payment,
        amount: None,
        points: charge.points,
        wallet: charge.wallet,
        reason: None,
        card: None,
        reference: Some(command.terminal.clone()),
        room: RoomGuard::None,
        is_closed: charge.is_closed,
    };
    let reversed =
        ReversedCharge { entry: charge.entry, operation: command.original.operation, balances: charge.balances };
    let mut planned = refund::plan_return(&refund, Some(reversed), terms, cx)?;
    planned.draft.items.push(marker);
    Ok(Planned { draft: planned.draft, receipt: receipt(Reversal::Undone, Some(charge.entry.id)) })
}
