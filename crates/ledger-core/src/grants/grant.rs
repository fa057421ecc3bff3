//! The operator grants points or regional currency to a customer.

use crate::account::{Account, Posting, TenantAccount};
use crate::asset_budgets;
use crate::audit::Act;
use crate::dynamo::Item;
use crate::forms;
use crate::ids::{Actor, CustomerId, Tenant, TransactionId};
use crate::money::{Amount, Asset};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{AssetTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{Draft, Entry, Planned, Role};

/// A grant.
#[derive(Clone, Debug)]
pub struct Grant {
    /// The tenant.
    pub tenant: Tenant,
    /// Who makes the grant.
    pub actor: Actor,
    /// The recipient.
    pub customer: CustomerId,
    /// The amount.
    pub amount: Amount,
    /// The reason.
    pub reason: FreeText,
}

/// What a response says about a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantReceipt {
    /// The journal entry.
    pub transaction_id: TransactionId,
    /// The recipient.
    pub customer: CustomerId,
    /// The amount.
    pub amount: Amount,
    /// When it was created.
    pub created_at: Timestamp,
}

/// Refuses an asset that cannot be granted: money and carbon credits cannot be created.
///
/// # Errors
/// [`PlanRefusal::Invalid`] for any asset but points and regional currency.
pub fn check_asset(asset: &Asset) -> Result<(), PlanRefusal> {
    match asset {
        Asset::Point | Asset::Regional(_) => Ok(()),
        Asset::Ecopay | Asset::Jcredit => {
            Err(PlanRefusal::Invalid { field: "asset", why: "only POINT and regional currency can be granted" })
        }
    }
}

/// Refuses an asset that is not granted under the terms.
///
/// # Errors
/// [`PlanRefusal::Invalid`] for any asset but points and regional currency, and for one that is stopped.
pub(super) fn check_issued(asset: &Asset, terms: &TenantTerms) -> Result<(), PlanRefusal> {
    check_asset(asset)?;
    match terms.asset(asset).is_some_and(AssetTerms::is_issued) {
        true => Ok(()),
        false => Err(PlanRefusal::Invalid { field: "asset", why: "is not issued" }),
    }
}

/// Builds the grant's transaction: the balance, journal entry, audit record, and what it takes from the asset's budget.
///
/// # Errors
/// [`PlanRefusal`] for an asset that cannot be granted, or is not issued.
pub fn plan(command: &Grant, terms: &TenantTerms, cx: &Context) -> Result<Planned<GrantReceipt>, PlanRefusal> {
    let Grant { tenant, actor, customer, amount, reason } = command;
    check_issued(amount.asset(), terms)?;
    let account = Account::Customer(*customer);
    let mut items = Vec::from_iter(forms::credit(tenant, Role::Payee, account, amount, cx.now));
    items.push(
        Act::new(*actor, Operation::Grant, account)
            .because(Some(reason))
            .with("amount", amount.text())
            .with("asset", amount.asset())
            .record(tenant, cx),
    );
    items.extend(asset_budgets::issue(tenant, amount, terms, cx.now));
    let entry = Entry {
        id: cx.transaction_id,
        home: account,
        postings: vec![
            Posting::new(Account::Tenant(TenantAccount::PointsIssued), amount.debit()),
            Posting::new(account, amount.credit()),
        ],
        references: Vec::new(),
        details: Item::new(),
        memo: cx.memo(Some(reason)),
        terms: terms.of_entry(),
    };
    let receipt = GrantReceipt {
        transaction_id: cx.transaction_id,
        customer: *customer,
        amount: amount.clone(),
        created_at: cx.now,
    };
    Ok(Planned { draft: Draft { entry: Some(entry), items }, receipt })
}
