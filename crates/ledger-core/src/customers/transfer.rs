//! A customer sends value to another. The recipient must exist, and its cap applies.

use crate::account::{Account, Posting};
use crate::failure::Failure;
use crate::forms;
use crate::ids::{CustomerId, Tenant, TransactionId};
use crate::keys::Partition;
use crate::limits::{LimitKind, UseCounter};
use crate::money::Amount;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::time::Timestamp;
use crate::transaction::{Draft, Entry, Planned, Reference, Role};

/// A transfer.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The tenant.
    pub tenant: Tenant,
    /// The sender.
    pub from: CustomerId,
    /// The recipient.
    pub to: CustomerId,
    /// The amount.
    pub amount: Amount,
    /// The sender's memo.
    pub memo: Option<FreeText>,
}

/// What a response says about a transfer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferReceipt {
    /// The journal entry.
    pub transaction_id: TransactionId,
    /// The recipient.
    pub to: CustomerId,
    /// The amount.
    pub amount: Amount,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Builds the transfer's transaction: both balances, journal entry, the recipient's reference.
///
/// # Errors
/// [`PlanRefusal`] if the asset cannot be sent, the recipient is the sender, or the amount alone is above the cap.
pub fn plan(command: &Transfer, terms: &TenantTerms, cx: &Context) -> Result<Planned<TransferReceipt>, PlanRefusal> {
    let invalid = |field, why| PlanRefusal::Invalid { field, why };
    let Transfer { tenant, from, to, amount, memo } = command;
    if from == to {
        return Err(invalid("to_customer_id", "is the sender"));
    }
    let asset = terms
        .asset(amount.asset())
        .filter(|asset| asset.is_transferred())
        .ok_or(invalid("asset", "cannot be sent to other customers"))?;
    let (payer, payee) = (Account::Customer(*from), Account::Customer(*to));
    let incoming = match &asset.cap {
        Some(cap) => forms::top_up(tenant, Role::Payee, payee, amount, None, cap, cx.now)
            .ok_or(PlanRefusal::Refused(Failure::CapExceeded))?,
        None => forms::credit(tenant, Role::Payee, payee, amount, cx.now)
            .ok_or(invalid("to_customer_id", "has no balance"))?,
    };
    let mut uses = UseCounter::new(terms.limits.as_ref(), payer, LimitKind::Transfer, cx.now);
    let debit = forms::debit(tenant, Role::Payer, payer, amount, cx.now);
    let mut items = Vec::from_iter(debit.map(|debit| uses.count(debit, amount)).transpose()?);
    items.push(incoming);
    let details = uses.counted().into_iter().collect();
    let entry = Entry {
        id: cx.transaction_id,
        home: payer,
        postings: vec![Posting::new(payer, amount.debit()), Posting::new(payee, amount.credit())],
        references: vec![Reference { partition: Partition::customer(tenant, *to), changes: vec![amount.credit()] }],
        details,
        memo: cx.memo(memo.as_ref()),
        terms: terms.of_entry(),
    };
    let receipt =
        TransferReceipt { transaction_id: cx.transaction_id, to: *to, amount: amount.clone(), created_at: cx.now };
    Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt })
}
