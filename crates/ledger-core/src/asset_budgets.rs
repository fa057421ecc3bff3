//! Budgets of assets: the most that may be granted of one in total. Grants of the asset take from it, and nothing else
//! does. The budget is always the sum of what was issued and of what remains.

use crate::audit::Act;
use crate::dynamo::{Attributes, Cmp, Condition, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Tenant};
use crate::keys::{self, attr};
use crate::money::{Amount, Asset, Balance};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::terms::TenantTerms;
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Role, TransactItem};

const ASSET: &str = "asset";
const BUDGET: &str = "budget";
const ISSUED: &str = "issued";
const REMAINING: &str = "remaining";

/// The budget of an asset. Without an item all is zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetBudget {
    /// The most that may be issued.
    pub budget: Balance,
    /// What was issued.
    pub issued: Balance,
    /// What may still be issued.
    pub remaining: Balance,
}

impl AssetBudget {
    /// Reads the stored item of an asset.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is malformed.
    pub fn read(asset: &Asset, item: Option<&Item>) -> Result<Self, ItemError> {
        let sum = |name: &str| match item {
            Some(item) => item.balance_or_zero(name, asset.clone()),
            None => Ok(Balance::zero(asset.clone())),
        };
        Ok(Self { budget: sum(BUDGET)?, issued: sum(ISSUED)?, remaining: sum(REMAINING)? })
    }
}

/// Takes a grant from the budget of its asset; `None` if the asset has none. Fails with `BudgetExceeded` without enough of
/// it.
#[must_use]
pub(crate) fn issue(tenant: &Tenant, amount: &Amount, terms: &TenantTerms, now: Timestamp) -> Option<TransactItem> {
    terms.asset(amount.asset()).filter(|terms| terms.budgeted)?;
    let enough = Condition::compare(REMAINING, Cmp::Ge, "granted", Value::N(amount.text()));
    let update = Update::new()
        .add(REMAINING, "taken", Value::N(amount.debit().text()))
        .add(ISSUED, "granted", Value::N(amount.text()))
        .set(attr::UPDATED_AT, "ua", Value::s(now));
    let clauses = vec![Clause { condition: enough, failure: Failure::BudgetExceeded }];
    Some(TransactItem::update(Role::Budget, keys::asset_budget(tenant, amount.asset()), update, clauses))
}

/// Sets the budget of an asset; what remains changes by as much as the budget does. `seen` is the item as it was read.
/// Fails with `BudgetExceeded` if more than the new budget is issued.
///
/// # Errors
/// [`PlanRefusal`] if the asset has no budget under the terms, or the sums do not fit.
pub fn plan_budget(
    tenant: &Tenant,
    seen: &AssetBudget,
    budget: &Amount,
    terms: &TenantTerms,
    (actor, reason): (Actor, Option<&FreeText>),
    cx: &Context,
) -> Result<Draft, PlanRefusal> {
    let asset = budget.asset();
    if !terms.asset(asset).is_some_and(|terms| terms.budgeted) {
        return Err(PlanRefusal::Invalid { field: "asset", why: "has no budget: it was added without one" });
    }
    let as_read = match seen.budget.as_delta() {
        None => Condition::absent(BUDGET),
        Some(seen) => Condition::compare(BUDGET, Cmp::Eq, "seen", Value::N(seen.text())),
    };
    let mut clauses = vec![Clause { condition: as_read, failure: Failure::StalePlan }];
    let mut update = Update::new().set(BUDGET, BUDGET, Value::N(budget.text())).set(ASSET, ASSET, Value::s(asset)).set(
        attr::UPDATED_AT,
        "ua",
        Value::s(cx.now),
    );
    if let Some(change) = budget.as_balance().checked_sub(&seen.budget)?.as_delta() {
        update = update.add(REMAINING, "change", Value::N(change.text()));
        if let Some(less) = change.size().filter(|_| change.is_debit()) {
            let enough = Condition::compare(REMAINING, Cmp::Ge, "needed", Value::N(less.text()));
            clauses.push(Clause { condition: enough, failure: Failure::BudgetExceeded });
        }
    }
    let act = Act::new(actor, Operation::AssetBudget, format!("asset:{asset}")).because(reason);
    let items = vec![
        TransactItem::update(Role::Budget, keys::asset_budget(tenant, asset), update, clauses),
        act.with(BUDGET, budget.text()).record(tenant, cx),
    ];
    Ok(Draft { entry: None, items })
}
