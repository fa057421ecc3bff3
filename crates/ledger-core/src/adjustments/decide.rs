//! Another person decides on an adjustment: approval posts it, rejection does not.

use super::record::{Adjustment, AdjustmentState};
use crate::account::{Account, Posting, TenantAccount};
use crate::audit::Act;
use crate::dynamo::{Item, Update, Value};
use crate::failure::Failure;
use crate::ids::{Actor, StaffId, Tenant, TransactionId};
use crate::operation::Operation;
use crate::plan::{Context, PlanRefusal};
use crate::terms::{AssetTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{Clause, Draft, Entry, Planned, Role, TransactItem};
use crate::{forms, keys};

/// A decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The adjustment is posted.
    Approve,
    /// The adjustment is not posted.
    Reject,
}

/// What a response says about a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecisionReceipt {
    /// The adjustment.
    pub adjustment: Adjustment,
    /// The decision.
    pub decision: Decision,
    /// The journal entry, if it was posted.
    pub transaction_id: Option<TransactionId>,
    /// When it was decided.
    pub decided_at: Timestamp,
}

impl Decision {
    /// The adjustment's state after the decision.
    #[must_use]
    pub fn state(self) -> &'static str {
        match self {
            Self::Approve => AdjustmentState::Approved.name(),
            Self::Reject => AdjustmentState::Rejected.name(),
        }
    }

    /// The operation that records the decision.
    #[must_use]
    pub fn operation(self) -> Operation {
        match self {
            Self::Approve => Operation::AdjustmentApprove,
            Self::Reject => Operation::AdjustmentReject,
        }
    }
}

/// Builds the decision's transaction. It has the adjustment's state, guarded against its requester and a second
/// decision; if approved, the balance and the journal entry; and the audit record.
///
/// # Errors
/// [`PlanRefusal`] if the sums do not fit, or a retired asset would be credited.
pub fn plan(
    tenant: &Tenant,
    staff: StaffId,
    decision: Decision,
    adjustment: &Adjustment,
    terms: &TenantTerms,
    cx: &Context,
) -> Result<Planned<DecisionReceipt>, PlanRefusal> {
    let mut update = Update::new()
        .set("state", "state", Value::s(decision.state()))
        .set("decided_by", "me", Value::s(staff))
        .set("decided_at", "now", Value::s(cx.now));
    let (account, delta) = (adjustment.account, &adjustment.delta);
    let mut items = Vec::new();
    let mut entry = None;
    if decision == Decision::Approve {
        update = update.set("transaction_id", "transaction_id", Value::s(cx.transaction_id));
        let size = delta.size().ok_or(PlanRefusal::Refused(Failure::WrongState))?;
        // What answers a break corrects the record of what is held, whatever the asset's state is.
        let is_credited = terms.asset(size.asset()).is_none_or(AssetTerms::is_credited);
        if !is_credited && !delta.is_debit() && adjustment.finding.is_none() {
            return Err(PlanRefusal::Invalid { field: "asset", why: "is retired: it is credited to no account" });
        }
        let posted = if delta.is_debit() {
            forms::debit(tenant, Role::Payer, account, &size, cx.now)
        } else {
            forms::credit(tenant, Role::Payee, account, &size, cx.now)
                .map(|item| item.guarded_also(Vec::from_iter(in_use(account))))
        };
        items.extend(posted.map(|item| match &adjustment.finding {
            Some(answered) => forms::correction(item, answered.seen, cx.now),
            None => item,
        }));
        let mut details = Item::from([
            ("adjustment_id".to_owned(), Value::s(adjustment.id)),
            ("reason_code".to_owned(), Value::s(adjustment.reason.name())),
            ("requested_by".to_owned(), Value::s(adjustment.requested_by)),
        ]);
        if let Some(answered) = &adjustment.finding {
            details.insert("finding".to_owned(), Value::S(answered.name()));
        }
        entry = Some(Entry {
            id: cx.transaction_id,
            home: account,
            postings: vec![
                Posting::new(account, delta.clone()),
                Posting::new(Account::Tenant(TenantAccount::Adjustments), delta.inverse()),
            ],
            references: Vec::new(),
            details,
            memo: None,
            terms: terms.of_entry(),
        });
    }
    items.insert(0, decided(tenant, staff, adjustment, update));
    items.push(
        Act::new(Actor::Staff(staff), decision.operation(), account)
            .with("adjustment_id", adjustment.id)
            .with("delta", delta.text())
            .with("asset", delta.asset())
            .record(tenant, cx),
    );
    let receipt = DecisionReceipt {
        adjustment: adjustment.clone(),
        decision,
        transaction_id: entry.as_ref().map(|entry| entry.id),
        decided_at: cx.now,
    };
    Ok(Planned { draft: Draft { entry, items }, receipt })
}

/// Requires of a card that no other has its place: what is credited to it would stay there.
fn in_use(account: Account) -> Option<Clause> {
    match account {
        Account::Card(_) => Some(forms::card_not_ended(Failure::WrongState)),
        Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => None,
    }
}

fn decided(tenant: &Tenant, staff: StaffId, adjustment: &Adjustment, update: Update) -> TransactItem {
    let guards = forms::pending_of_another(staff);
    TransactItem::update(Role::Adjustment, keys::adjustment(tenant, adjustment.id), update, guards)
}
