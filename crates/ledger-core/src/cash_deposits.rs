//! Cash deposits: the operator records that a merchant brought money for the cash that its terminals took. The seal of the
//! entry credits the merchant, in a sum of its own, and its next settlement nets it.

use crate::account::{Account, Posting, TenantAccount};
use crate::audit::Act;
use crate::dynamo::Value;
use crate::ids::{Actor, MerchantId, Tenant, TransactionId};
use crate::keys::Partition;
use crate::money::Amount;
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::time::Timestamp;
use crate::transaction::{CASH, CASH_IS_DEPOSITED, Draft, Entry, Planned, Role, TransactItem, exists};

/// A deposit.
#[derive(Clone, Debug)]
pub struct CashDeposit<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who records it.
    pub actor: Actor,
    /// The merchant that brought the money.
    pub merchant: MerchantId,
    /// The amount, in yen.
    pub amount: &'a Amount,
    /// What it is recorded from: a receipt, a line of a bank's statement.
    pub reason: &'a FreeText,
}

/// What a response says about a deposit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CashDepositReceipt {
    /// The journal entry.
    pub transaction_id: TransactionId,
    /// The merchant.
    pub merchant: MerchantId,
    /// The amount, in yen.
    pub amount: Amount,
    /// When it was recorded.
    pub created_at: Timestamp,
}

/// Builds the deposit's transaction: the journal entry, an audit record, and a check that the merchant exists.
///
/// # Errors
/// [`PlanRefusal`] if the tenant writes records whose seals credit no merchant.
pub fn plan(
    command: &CashDeposit<'_>,
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<CashDepositReceipt>, PlanRefusal> {
    let CashDeposit { tenant, actor, merchant, amount, reason } = command;
    if !terms.records.credits_when_sealed() {
        return Err(PlanRefusal::Invalid {
            field: "merchant_id",
            why: "is of a tenant whose seals credit no merchant",
        });
    }
    let account = Account::Merchant(*merchant);
    let items = vec![
        TransactItem::check(Role::Profile, Partition::merchant(tenant, *merchant).profile(), vec![exists()]),
        Act::new(*actor, Operation::CashDeposit, account)
            .because(Some(reason))
            .with("amount", amount.text())
            .record(tenant, cx),
    ];
    let mut details = crate::plan::memo_details(Some(reason));
    details.insert("merchant_id".to_owned(), Value::s(merchant));
    details.insert(CASH.to_owned(), Value::s(CASH_IS_DEPOSITED));
    let entry = Entry {
        id: cx.transaction_id,
        home: account,
        postings: vec![
            Posting::new(Account::Tenant(TenantAccount::CashClearing), amount.debit()),
            Posting::new(account, amount.credit()),
        ],
        references: Vec::new(),
        details,
        due_shards: terms.due_shards,
        records: terms.records,
    };
    let receipt = CashDepositReceipt {
        transaction_id: cx.transaction_id,
        merchant: *merchant,
        amount: (*amount).clone(),
        created_at: cx.now,
    };
    Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt })
}
