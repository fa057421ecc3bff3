//! Cash deposits: the operator records that a merchant brought money for the cash that its terminals took. The seal of the
//! entry credits the merchant, in a sum of its own, and its next settlement nets it. A deposit that was recorded wrongly is
//! taken back once, in the same sum.

use crate::account::{Account, Posting, TenantAccount};
use crate::audit::Act;
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::ids::{Actor, MerchantId, Tenant};
use crate::journal::JournalEntry;
use crate::journal::{CASH, CASH_IS_DEPOSITED};
use crate::keys::{self, Partition, attr};
use crate::money::{Amount, Delta};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::transaction::{Draft, Entry, Role, TransactItem, exists};

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

/// Builds the deposit's transaction: the journal entry, an audit record, and a check that the merchant exists.
#[must_use]
pub fn plan(command: &CashDeposit<'_>, terms: &TenantTerms, cx: &Context) -> Draft {
    let CashDeposit { tenant, actor, merchant, amount, reason } = command;
    let account = Account::Merchant(*merchant);
    let items = vec![
        TransactItem::check(Role::Profile, Partition::merchant(tenant, *merchant).profile(), vec![exists()]),
        Act::new(*actor, Operation::CashDeposit, account)
            .because(Some(reason))
            .with("amount", amount.text())
            .record(tenant, cx),
    ];
    let entry = entry((*merchant, amount.credit()), reason, terms, cx);
    Draft { entry: Some(entry), items }
}

/// The reversal of a deposit.
#[derive(Clone, Debug)]
pub struct CashDepositReversal<'a> {
    /// The tenant.
    pub tenant: &'a Tenant,
    /// Who takes it back.
    pub actor: Actor,
    /// The merchant.
    pub merchant: MerchantId,
    /// The deposit's entry, as read.
    pub deposit: &'a JournalEntry,
    /// Why.
    pub reason: &'a FreeText,
}

/// The amount of a deposit of the merchant; `None` if the entry is no deposit.
#[must_use]
pub fn amount_of(deposit: &JournalEntry, merchant: MerchantId) -> Option<Amount> {
    let own = deposit.postings.iter().find(|posting| posting.account == Account::Merchant(merchant))?;
    let is_deposit = deposit.operation == Operation::CashDeposit.name() && !own.delta.is_debit();
    own.delta.size().filter(|_| is_deposit)
}

/// Builds the reversal's transaction: the journal entry, the mark that the deposit was taken back, and an audit record. Fails
/// with `WrongState` if it was taken back before.
///
/// # Errors
/// [`PlanRefusal`] if the entry is no deposit of the merchant.
pub fn plan_reversal(
    command: &CashDepositReversal<'_>,
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let CashDepositReversal { tenant, actor, merchant, deposit, reason } = command;
    let amount = amount_of(deposit, *merchant).ok_or(PlanRefusal::Refused(Failure::AccountMissing))?;
    let mark = Item::from([
        ("deposit_id".to_owned(), Value::s(deposit.id)),
        ("transaction_id".to_owned(), Value::s(cx.transaction_id)),
        (attr::CREATED_AT.to_owned(), Value::s(cx.now)),
    ]);
    let key = keys::cash_deposit_reversed(tenant, *merchant, deposit.id);
    let act = Act::new(*actor, Operation::CashDepositReversal, Account::Merchant(*merchant)).because(Some(reason));
    let items = vec![
        TransactItem::put_new(Role::Refund, key, mark, Failure::WrongState),
        act.with("deposit_id", deposit.id).with("amount", amount.text()).record(tenant, cx),
    ];
    let mut entry = entry((*merchant, amount.debit()), reason, terms, cx);
    entry.details.insert("reverses".to_owned(), Value::s(deposit.id));
    entry.details.insert("reverses_operation".to_owned(), Value::s(Operation::CashDeposit));
    Ok(Draft { entry: Some(entry), items })
}

/// The entry of what a deposit, or its reversal, changes in the merchant's balance.
fn entry((merchant, change): (MerchantId, Delta), reason: &FreeText, terms: &TenantTerms, cx: &Context) -> Entry {
    let account = Account::Merchant(merchant);
    let details =
        Item::from([("merchant_id".to_owned(), Value::s(merchant)), (CASH.to_owned(), Value::s(CASH_IS_DEPOSITED))]);
    Entry {
        id: cx.transaction_id,
        home: account,
        postings: vec![
            Posting::new(Account::Tenant(TenantAccount::CashClearing), change.inverse()),
            Posting::new(account, change),
        ],
        references: Vec::new(),
        details,
        memo: cx.memo(Some(reason)),
        terms: terms.of_entry(),
    }
}
