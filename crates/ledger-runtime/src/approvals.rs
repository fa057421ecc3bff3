//! Commands that another person must approve: storing them in place of executing them, the inbox, and decisions on them.

mod decide;
mod deciders;
mod detail;
mod inbox;

pub use detail::Viewer;

use crate::app::App;
use crate::endpoint::Endpoint;
use crate::execute::{ApplyError, PlanError, accepted};
use crate::identity::Member;
use crate::problem::Problem;
use crate::topups::DecisionRequest;
use crate::views::PendingApprovalView;
use ledger_core::approvals::{
    Approval, ApprovalRequest, Approve, Command, Seen, may_approve, plan_approve, plan_request,
    plan_withdraw_of_disabled,
};
use ledger_core::customers::sign_in::own_of;
use ledger_core::dynamo::Item;
use ledger_core::failure::Failure;
use ledger_core::idempotency::{Answer, AnyAnswer, Claim};
use ledger_core::ids::{Employer, MerchantId, StaffId, Tenant};
use ledger_core::keys;
use ledger_core::money::{Asset, Balance, MoneyError};
use ledger_core::operation::Operation;
use ledger_core::permission::Permission;
use ledger_core::personal::FreeText;
use ledger_core::plan::Context;
use ledger_core::staff::StaffMember;
use ledger_core::terms::TenantTerms;
use ledger_core::ties::Resolver;
use ledger_core::topups::{DecisionSeen, TopupDecision};
use ledger_core::transaction::{Planned, Provenance, Transaction};
use std::collections::BTreeMap;

/// The most queries for one page of the inbox, each of one month.
const QUERIES_MAX: usize = 10;

/// The result of a request for a command that one person may give within a bound.
#[derive(Clone, Debug)]
pub enum Requested<R> {
    /// It was executed.
    Executed(R),
    /// It was stored: another person must approve it.
    Pending(Box<Approval>),
}

impl<R> Requested<R> {
    /// The plan of a command that needs no approval.
    pub fn executed(planned: Planned<R>) -> Planned<Self> {
        Planned { draft: planned.draft, receipt: Self::Executed(planned.receipt) }
    }

    /// The plan that stores a command.
    pub fn pending(planned: Planned<Approval>) -> Planned<Self> {
        Planned { draft: planned.draft, receipt: Self::Pending(Box::new(planned.receipt)) }
    }

    /// Builds the response: that of the executed command, or that of [`pending`]. `at` is the endpoint that returns
    /// approvals.
    pub fn answer<A: Into<AnyAnswer>>(&self, at: &Endpoint, of_executed: impl FnOnce(&R) -> A) -> AnyAnswer {
        match self {
            Self::Executed(receipt) => of_executed(receipt).into(),
            Self::Pending(approval) => pending(at, approval).into(),
        }
    }
}

/// Builds the response to a command that was stored: 202 with the approval. `at` is the endpoint that returns approvals.
#[must_use]
pub fn pending(at: &Endpoint, approval: &Approval) -> Answer {
    accepted(at.path(&[&approval.id]), &PendingApprovalView::from(approval))
}

impl App {
    /// Plans to store a command. `items` are those of [`Command::keys`], as read.
    ///
    /// # Errors
    /// [`PlanError`] if the caller may not request it, if it is about an account that does not exist, or if it could not
    /// be executed.
    pub async fn request_approval(
        &self,
        (claim, who): (&Claim, &Member),
        (command, reason): (Command, Option<&FreeText>),
        terms: &TenantTerms,
        items: &[Option<Item>],
        cx: &Context,
    ) -> Result<Planned<Approval>, PlanError> {
        self.request_from((claim, who), (command, reason), terms, (items, None), cx).await
    }

    /// The same of a command that is planned from the payment provider's object too.
    pub(crate) async fn request_from(
        &self,
        (claim, who): (&Claim, &Member),
        (command, reason): (Command, Option<&FreeText>),
        terms: &TenantTerms,
        (items, decision): (&[Option<Item>], Option<&DecisionSeen<'_>>),
        cx: &Context,
    ) -> Result<Planned<Approval>, PlanError> {
        let own = keys::staff_member(who.tenant(), Employer::Operator, who.id());
        let account = command.account_record(who.tenant());
        let (scope, is_account_known) = (command.scope(), account.is_none());
        let first = Resolver::first_of(who.tenant(), &[who.id()], &scope);
        let of_guards = command.guarded(who.tenant());
        let before_guards = [own].into_iter().chain(account).chain(first.iter().cloned());
        let mut wanted = Vec::from_iter(before_guards);
        let known = wanted.len();
        wanted.extend(of_guards.iter().filter(|key| !wanted.contains(key)).cloned().collect::<Vec<_>>());
        let mut found = self.ledger().read_for(claim, &wanted).await?;
        let present = wanted.iter().zip(&found).filter(|(key, _)| of_guards.contains(key));
        let guarded = present.filter_map(|(key, item)| Some((key.clone(), item.clone()?))).collect();
        found.truncate(known);
        let mut read = found.into_iter();
        let by = member(read.next().flatten().as_ref(), command.permission())?;
        if !is_account_known && read.next().flatten().is_none() {
            return Err(PlanError::Missing);
        }
        let before = first.into_iter().zip(read).collect();
        let provider = self.provider_of(&command).await?;
        let psp = provider.as_ref().map(|provider| provider.psp_executor().terms());
        let keys = self.ledger().marker_keys().await?;
        let owed = if let Command::SettlementOpen { merchant, .. } = command {
            self.owed(who.tenant(), merchant).await?
        } else {
            BTreeMap::new()
        };
        let holders = &self.holders_with(who.tenant(), [&by], scope, &before).await??;
        let seen = Seen { terms, psp, items, decision, owed: &owed, keys: &keys, holders };
        Ok(plan_request(
            &ApprovalRequest { tenant: who.tenant(), by: &by, command, reason, seen, guarded: &guarded },
            cx,
        )?)
    }

    /// Plans the request of a decision about a top-up.
    ///
    /// # Errors
    /// [`PlanError`] if the caller may not request it, there is no such top-up, or it could not be carried out.
    pub async fn request_decision(
        &self,
        (claim, who): (&Claim, &Member),
        wanted: &DecisionRequest,
        reason: &FreeText,
        cx: &Context,
    ) -> Result<Planned<Approval>, PlanError> {
        self.ledger().read_for(claim, &[]).await?;
        let tenant = who.tenant();
        let read = self.psp_executor().await?.decision_requested(tenant, wanted, cx).await?;
        let view = read.view(tenant);
        let seen = read.seen(&view);
        let command = Command::TopupDecision(TopupDecision::of(&seen.basis, wanted.way));
        let terms = self.terms_at(tenant, cx.now).await?;
        self.request_from((claim, who), (command, Some(reason)), &terms, (&[], Some(&seen)), cx).await
    }

    /// Plans the approval of a command, and its execution.
    async fn approve_command(
        &self,
        claim: &Claim,
        who: &Member,
        (approval, decider): (&Approval, &StaffMember),
        cx: &Context,
    ) -> Result<(Planned<Approval>, Provenance), PlanError> {
        let tenant = who.tenant();
        let mut wanted = vec![keys::staff_member(tenant, Employer::Operator, approval.requested_by)];
        let terms = self.terms_at(tenant, cx.now).await?;
        let of_command = approval.command.keys(tenant, &terms);
        wanted.extend(of_command.iter().cloned());
        let people = [decider.id, approval.requested_by];
        let first = Resolver::first_of(tenant, &people, &approval.command.scope());
        wanted.extend(first.iter().cloned());
        let mut items = self.ledger().read_for(claim, &wanted).await?;
        let mut rest = items.split_off(items.len().min(1));
        let before = rest.split_off(rest.len().min(of_command.len()));
        let before = first.into_iter().zip(before).collect();
        self.follow_card((tenant, approval.command.returns_to()), &of_command, &mut rest).await?;
        let requester = member(items.first().and_then(Option::as_ref), approval.command.permission())?;
        let holders = &self.holders_at_decision(tenant, approval, (decider, Some(&requester)), &before).await??;
        // Before the payment provider is asked: a person who may not decide learns nothing of it.
        may_approve(approval, decider, holders, cx.now)?;
        let provider = self.provider_of(&approval.command).await?;
        let psp = provider.as_ref().map(|provider| provider.psp_executor().terms());
        let keys = self.ledger().marker_keys().await?;
        let decided = if let (Command::TopupDecision(decision), Some(provider)) = (&approval.command, &provider) {
            Some(provider.psp_executor().decision_read(tenant, decision, cx).await?)
        } else {
            None
        };
        let view = decided.as_ref().map(|read| read.view(tenant));
        let decision = decided.as_ref().zip(view.as_ref()).map(|(read, view)| read.seen(view));
        let owed = BTreeMap::new();
        let (terms, items, owed, keys) = (&terms, &rest, &owed, &keys);
        let seen = Seen { terms, psp, items, decision: decision.as_ref(), owed, keys, holders };
        let command = Approve { tenant, approval, decider, requester: &requester, seen };
        match plan_approve(&command, cx) {
            Ok(planned) => Ok(planned),
            Err(refusal) => {
                // Another approval between the reads may have made the object agree with the record.
                let found = self.ledger().read_for(claim, &[keys::approval(tenant, approval.id)]).await?;
                let found = found.first().and_then(Option::as_ref).ok_or(PlanError::Missing)?;
                let is_same = Approval::read(found)? == *approval;
                Err(if is_same { refusal.into() } else { Failure::WrongState.into() })
            }
        }
    }

    /// What a settlement would take of what a merchant was credited with, by asset.
    async fn owed(&self, tenant: &Tenant, merchant: MerchantId) -> Result<BTreeMap<Asset, Balance>, Problem> {
        let balances = self.merchant_balances(tenant, merchant).await?.by_asset.into_iter();
        let owed = balances.map(|(asset, of)| Ok((asset, of.credited.checked_sub(&of.held)?)));
        owed.collect::<Result<_, MoneyError>>().map_err(|_| Problem::internal())
    }

    /// Withdraws what a member who was disabled has requested, in the name of `who` who disabled the member.
    ///
    /// The answer of the change is stored already, so a failure is logged. What is left is withdrawn when the change is
    /// sent again. It cannot be approved meanwhile, since an approval requires that the requester is active.
    pub async fn withdraw_requests_of(&self, who: &Member, id: StaffId) {
        if let Err(problem) = self.try_withdraw_requests_of(who, id).await {
            tracing::error!(
                code = problem.code(),
                "the requests of a disabled member are not withdrawn: repeat the change"
            );
        }
    }

    async fn try_withdraw_requests_of(&self, who: &Member, id: StaffId) -> Result<(), Problem> {
        let tenant = who.tenant();
        let (by, requester) = (self.staff_member(who, who.id()).await?, self.staff_member(who, id).await?);
        for approval in self.pending_commands(tenant).await?.iter().filter(|approval| approval.requested_by == id) {
            self.withdraw_of_disabled(tenant, approval, (&requester, &by)).await?;
        }
        Ok(())
    }

    async fn withdraw_of_disabled(
        &self,
        tenant: &Tenant,
        approval: &Approval,
        (requester, by): (&StaffMember, &StaffMember),
    ) -> Result<(), Problem> {
        let cx = self.ledger().context(self.now())?;
        // It is decided on or has expired, or the member is active again.
        let Ok(planned) = plan_withdraw_of_disabled(tenant, approval, requester, by, &cx) else { return Ok(()) };
        let transaction = Transaction::unkeyed(planned.draft.items).map_err(|error| {
            tracing::error!(%error, "a withdrawal cannot be built");
            Problem::internal()
        })?;
        match self.ledger().apply(tenant, Operation::ApprovalWithdraw, &transaction).await {
            // The same, or another request decided on it meanwhile.
            Ok(()) | Err(ApplyError::Rejected(_)) => Ok(()),
            Err(ApplyError::Problem(problem)) => Err(problem),
        }
    }

    /// Removes from the caches what an approved command changed.
    pub fn forget_changed(&self, tenant: &Tenant, command: &Command) {
        match command {
            Command::Destination { merchant, .. } => self.records().forget_merchant(tenant, *merchant),
            Command::StaffInvite { id, .. } | Command::StaffChange { id, .. } => {
                self.records().forget_staff(tenant, (Employer::Operator, *id));
            }
            Command::MerchantOwner { merchant, id, .. } => {
                self.records().forget_staff(tenant, (Employer::Merchant(*merchant), *id));
            }
            // A terminal whose id was named may have been looked for before it was registered.
            Command::CounterOpen { terminal: Some(terminal) } => self.records().forget_terminal(tenant, *terminal),
            Command::TermsChange { .. } | Command::TermsCancel { .. } => self.records().forget_tenant(tenant),
            Command::SignInMove(of) => {
                // The first move of a tenant changes its configuration.
                self.records().forget_tenant(tenant);
                [of.subject, of.seen].into_iter().for_each(|subject| self.records().forget_sign_in(tenant, subject));
            }
            Command::CustomerErase { customer } => {
                // The first subject of a tenant that ends changes its configuration.
                self.records().forget_tenant(tenant);
                self.records().forget_sign_in(tenant, own_of(*customer));
            }
            Command::CounterOpen { terminal: None }
            | Command::Grant { .. }
            | Command::BulkGrant { .. }
            | Command::Adjustment(_)
            | Command::SettlementReturn(_)
            | Command::BankFile(_)
            | Command::TopupDecision(_)
            | Command::CashCeiling { .. }
            | Command::RefundCeiling { .. }
            | Command::AssetBudget { .. }
            | Command::CashDeposit { .. }
            | Command::CashDepositReversal { .. }
            | Command::Refund(_)
            | Command::CashReversal(_)
            | Command::CardReplace(_)
            | Command::CustomerClose(_)
            | Command::CardClose(_)
            | Command::UnclaimedClaim(_)
            | Command::UnclaimedPayout(_)
            | Command::WindDown
            | Command::CashRoom { .. }
            | Command::CashCollection { .. }
            | Command::EnrolmentCode { .. }
            | Command::AccountLimits { .. }
            | Command::SettlementRun { .. }
            | Command::SettlementSchedule { .. }
            | Command::SettlementOpen { .. } => {}
        }
    }

    /// The payment provider, if the command may need it.
    async fn provider_of(&self, command: &Command) -> Result<Option<crate::topups::Provider>, Problem> {
        match command {
            Command::SettlementOpen { .. } => self.provider_if_any().await,
            Command::TopupDecision(_) => self.provider().await.map(Some),
            Command::Grant { .. }
            | Command::BulkGrant { .. }
            | Command::Adjustment(_)
            | Command::SettlementReturn(_)
            | Command::BankFile(_)
            | Command::CashCeiling { .. }
            | Command::RefundCeiling { .. }
            | Command::AssetBudget { .. }
            | Command::CashDeposit { .. }
            | Command::CashDepositReversal { .. }
            | Command::Refund(_)
            | Command::CashReversal(_)
            | Command::CardReplace(_)
            | Command::SignInMove(_)
            | Command::CustomerClose(_)
            | Command::CustomerErase { .. }
            | Command::CardClose(_)
            | Command::UnclaimedClaim(_)
            | Command::UnclaimedPayout(_)
            | Command::WindDown
            | Command::SettlementRun { .. }
            | Command::SettlementSchedule { .. }
            | Command::CashRoom { .. }
            | Command::CashCollection { .. }
            | Command::CounterOpen { .. }
            | Command::Destination { .. }
            | Command::EnrolmentCode { .. }
            | Command::StaffInvite { .. }
            | Command::StaffChange { .. }
            | Command::TermsChange { .. }
            | Command::TermsCancel { .. }
            | Command::AccountLimits { .. }
            | Command::MerchantOwner { .. } => Ok(None),
        }
    }
}

/// The member in a record; a person without one may do nothing.
pub(crate) fn member(item: Option<&Item>, needed: Permission) -> Result<StaffMember, PlanError> {
    let item = item.ok_or_else(|| PlanError::Invalid(Problem::permission_missing(needed)))?;
    Ok(StaffMember::read(Employer::Operator, item)?)
}
