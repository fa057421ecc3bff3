//! Commands that another person must approve, as the operator API shows them.

use super::words;
use ledger_core::account::Posting;
use ledger_core::approvals::{Approval, ApprovalState, Command, DestinationChange, Effect, ValueChange};
use ledger_core::dynamo::Attributes;
use ledger_core::settlements::Destination;
use ledger_core::terms::percent_of;
use ledger_core::ties::Tie;
use ledger_core::time::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use utoipa::ToSchema;

/// A command that another person must approve, or that was decided on. `Debug` prints its id alone.
#[derive(Clone, Serialize, ToSchema)]
pub struct ApprovalView {
    /// The approval's id.
    pub approval_id: String,
    /// `pending` until another staff member decides; `stale` if what it was requested against had changed by then.
    #[schema(value_type = words::ApprovalStateWord)]
    pub status: &'static str,
    /// The command: the name of its operation, for example `grant`.
    pub command: &'static str,
    /// The account that it is about: `customer:<id>`, `card:<id>` or `merchant:<id>`; absent if there are many or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The asset of the amount; absent without an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub asset: Option<String>,
    /// The amount; for each customer, if there are many. Absent if the command is not about an amount.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub amount: Option<String>,
    /// The number of customers; absent unless there may be many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customers: Option<usize>,
    /// What the command would post, as at its request; empty if it posts nothing by itself.
    pub postings: Vec<PostingView>,
    /// The values that the command would change beside postings, as at its request.
    pub changes: Vec<ValueChangeView>,
    /// What is known beside these, as at the request: `total` of a grant to many; of a settlement `owed.<asset>`, what it would
    /// take, and its `payout_destination`, masked.
    pub known: BTreeMap<String, String>,
    /// What else the command says, by name. An e-mail address is for those who may decide.
    pub details: BTreeMap<String, String>,
    /// The staff member who requested it.
    pub requested_by: String,
    /// The time of the request.
    pub created_at: String,
    /// The time at which it can no longer be decided on.
    pub expires_at: String,
    /// The staff member who decided on it or withdrew it; absent until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// The time of the decision or the withdrawal; absent until then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// The journal entry that it posted; absent unless it was approved and moved value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transaction_id: Option<String>,
    /// The job that it started; absent unless it was approved and is a grant to many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_id: Option<String>,
    /// The settlement that it opened; absent unless it was approved and closes a period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settlement_id: Option<String>,
}

/// A posting of the command's journal entry.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PostingView {
    /// The account: `customer:<id>`, `card:<id>`, `merchant:<id>` or an account of the tenant.
    pub account: String,
    /// The asset.
    pub asset: String,
    /// The signed change.
    pub delta: String,
    /// `available`, or `held`: reserved for a hold or an outflow.
    #[schema(value_type = words::PostingBucket)]
    pub bucket: &'static str,
}

/// The change of one value.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ValueChangeView {
    /// The name of the value, for example `roles`, `ceiling` or a term of the tenant.
    pub name: String,
    /// The value that was seen; absent if there was none. A bank account is masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The value after the command; absent if it is cleared. A bank account is masked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// The value that was seen in per cent; absent unless it is a share of money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_percent: Option<String>,
    /// The value after the command in per cent; absent unless it is a share of money.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_percent: Option<String>,
}

/// A command that another person must approve, or that was decided on, with its reason. `Debug` prints its id alone.
#[derive(Clone, Serialize, ToSchema)]
pub struct ApprovalDetail {
    /// The command.
    #[serde(flatten)]
    pub approval: ApprovalView,
    /// The reason; absent if none was given, or if it was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Names by id: of `merchant:<id>`, and for those who may decide the e-mail address of `staff:<id>`. Of `customer:<id>` if the
    /// caller may decide on this command, which is pending; in a list none.
    pub names: BTreeMap<String, String>,
    /// The ties of the requester and of the person who decided to the accounts that it is for; while it is pending, the caller's too.
    /// Those of others are for members who read the audit trail.
    pub ties: Vec<TieView>,
    /// The payout destinations whole, if it is pending and changes one: for the person who may decide on it, and of the one that
    /// was sent for the requester. Absent otherwise and in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payout_destination: Option<DestinationChangeView>,
}

/// A tie between a member of the staff and an account.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct TieView {
    /// The member.
    pub member: String,
    /// The account: `customer:<id>`, `card:<id>` or `merchant:<id>`.
    pub account: String,
    /// `sign_in`, `card` or `staff`: as the records show; `own`, `family` or `business`: as the member's record declares.
    #[schema(value_type = words::TieKindWord)]
    pub kind: &'static str,
}

/// A change of a payout destination, whole.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct DestinationChangeView {
    /// The destination at the request; absent if there was none, and for the requester.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<DestinationView>,
    /// The destination that was sent.
    pub to: DestinationView,
}

/// A payout destination, whole. `Debug` prints nothing of it.
#[derive(Clone, Serialize, ToSchema)]
pub struct DestinationView {
    /// `bank`, or `stripe`.
    #[schema(value_type = words::DestinationKind)]
    pub kind: String,
    /// The bank code; absent unless it is a bank account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_code: Option<String>,
    /// The bank's name; absent if none was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bank_name: Option<String>,
    /// The branch code; absent unless it is a bank account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_code: Option<String>,
    /// The branch's name; absent if none was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch_name: Option<String>,
    /// `ordinary`, `checking` or `savings`; absent unless it is a bank account.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::BankAccountType>)]
    pub account_type: Option<String>,
    /// The account number; absent unless it is a bank account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_number: Option<String>,
    /// The account holder's name in half-width katakana; absent unless it is a bank account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account_holder: Option<String>,
    /// Stripe's id of the external account; absent unless it is paid through Stripe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_account: Option<String>,
}

/// A command that was stored in place of being executed: another staff member must approve it first.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct PendingApprovalView {
    /// The approval's id.
    pub approval_id: String,
    /// `pending`.
    #[schema(value_type = words::PendingWord)]
    pub status: &'static str,
    /// The command: the name of its operation, for example `grant`.
    pub command: &'static str,
    /// The time of the request.
    pub created_at: String,
    /// The time at which it can no longer be decided on.
    pub expires_at: String,
}

impl ApprovalView {
    /// The approval as it is at `now`.
    #[must_use]
    pub fn at(approval: &Approval, now: Timestamp) -> Self {
        let Effect { account, asset, amount, count } = approval.command.effect();
        let state = approval.state(now);
        let made = (state == ApprovalState::Approved).then(|| approval.id.to_string());
        let is_job = matches!(
            approval.command,
            Command::BulkGrant { .. }
                | Command::WindDown
                | Command::SettlementRun { .. }
                | Command::CustomerErase { .. }
        );
        let is_settlement = matches!(approval.command, Command::SettlementOpen { .. });
        Self {
            approval_id: approval.id.to_string(),
            status: state.name(),
            command: approval.command.operation().name(),
            account: account.map(|account| account.to_string()),
            asset: asset.map(|asset| asset.to_string()),
            amount: amount.map(|amount| amount.text()),
            customers: count,
            postings: approval.projected.postings.iter().map(PostingView::from).collect(),
            changes: approval.projected.changes.iter().map(ValueChangeView::from).collect(),
            known: approval.projected.known.clone(),
            details: approval.command.details().into_iter().map(|(name, text)| (name.to_owned(), text)).collect(),
            requested_by: approval.requested_by.to_string(),
            created_at: approval.created_at.to_string(),
            expires_at: approval.expires_at.to_string(),
            decided_by: approval.decided_by.map(|id| id.to_string()),
            decided_at: approval.decided_at.map(|at| at.to_string()),
            transaction_id: approval.transaction_id.map(|id| id.to_string()),
            job_id: made.clone().filter(|_| is_job),
            settlement_id: made.filter(|_| is_settlement),
        }
    }

    /// The same without e-mail addresses.
    #[must_use]
    pub fn without_addresses(mut self) -> Self {
        self.details.remove("email");
        self
    }
}

impl ApprovalDetail {
    /// The approval as it is at `now`.
    #[must_use]
    pub fn at(approval: &Approval, now: Timestamp) -> Self {
        let reason = approval.reason.as_ref().map(|reason| reason.expose().to_owned());
        Self {
            approval: ApprovalView::at(approval, now),
            reason,
            names: BTreeMap::new(),
            ties: approval.ties.iter().map(TieView::from).collect(),
            payout_destination: None,
        }
    }

    /// The same without e-mail addresses.
    #[must_use]
    pub fn without_addresses(self) -> Self {
        Self { approval: self.approval.without_addresses(), ..self }
    }
}

impl From<&DestinationChange> for DestinationChangeView {
    fn from(change: &DestinationChange) -> Self {
        Self { from: change.from.as_ref().map(DestinationView::from), to: DestinationView::from(&change.to) }
    }
}

impl From<&Destination> for DestinationView {
    fn from(destination: &Destination) -> Self {
        let item = destination.item();
        let part = |name: &str| item.opt_string(name).ok().flatten();
        Self {
            kind: part("kind").unwrap_or_default(),
            bank_code: part("bank_code"),
            bank_name: part("bank_name"),
            branch_code: part("branch_code"),
            branch_name: part("branch_name"),
            account_type: part("account_type"),
            account_number: part("account_number"),
            account_holder: part("account_holder"),
            external_account: part("external_account"),
        }
    }
}

impl fmt::Debug for ApprovalView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalView").field("approval_id", &self.approval_id).finish_non_exhaustive()
    }
}

impl fmt::Debug for ApprovalDetail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApprovalDetail").field("approval", &self.approval).finish_non_exhaustive()
    }
}

impl fmt::Debug for DestinationView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DestinationView").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl From<&Tie> for TieView {
    fn from(tie: &Tie) -> Self {
        Self { member: tie.member.to_string(), account: tie.account.to_string(), kind: tie.kind.name() }
    }
}

impl From<&Posting> for PostingView {
    fn from(posting: &Posting) -> Self {
        Self {
            account: posting.account.to_string(),
            asset: posting.delta.asset().to_string(),
            delta: posting.delta.text(),
            bucket: posting.bucket.name(),
        }
    }
}

impl From<&ValueChange> for ValueChangeView {
    fn from(change: &ValueChange) -> Self {
        let ValueChange { name, from, to } = change.clone();
        let percent = |value: &Option<String>| value.as_deref().and_then(|value| percent_of(&name, value));
        let (from_percent, to_percent) = (percent(&from), percent(&to));
        Self { name, from, to, from_percent, to_percent }
    }
}

impl From<&Approval> for PendingApprovalView {
    fn from(approval: &Approval) -> Self {
        Self {
            approval_id: approval.id.to_string(),
            status: ApprovalState::Pending.name(),
            command: approval.command.operation().name(),
            created_at: approval.created_at.to_string(),
            expires_at: approval.expires_at.to_string(),
        }
    }
}
