//! Ties between members of the operator's staff and accounts: reading what shows them.

use crate::app::App;
use crate::execute::PlanError;
use crate::identity::Member;
use crate::problem::Problem;
use ledger_core::account::Account;
use ledger_core::approvals::{Approval, other_deciders};
use ledger_core::dynamo::Item;
use ledger_core::idempotency::Claim;
use ledger_core::ids::{Employer, Tenant};
use ledger_core::keys::{self, Key};
use ledger_core::permission::Permission;
use ledger_core::plan::PlanRefusal;
use ledger_core::reads;
use ledger_core::staff::StaffMember;
use ledger_core::ties::{ActScope, Holders, Resolver};
use ledger_core::transaction::Planned;
use std::collections::BTreeMap;

/// Items that were read with others, by key.
pub(crate) type ReadBefore = BTreeMap<Key, Option<Item>>;

impl App {
    /// The ties of members to the accounts of an act.
    ///
    /// # Errors
    /// 503 if the store cannot be read; within, the refusal of what cannot be resolved.
    pub async fn holders<'a>(
        &self,
        tenant: &'a Tenant,
        members: impl IntoIterator<Item = &'a StaffMember>,
        scope: ActScope,
    ) -> Result<Result<Holders, PlanRefusal>, Problem> {
        self.holders_with(tenant, members, scope, &ReadBefore::new()).await
    }

    /// The same with items that were read before.
    pub(crate) async fn holders_with<'a>(
        &self,
        tenant: &'a Tenant,
        members: impl IntoIterator<Item = &'a StaffMember>,
        scope: ActScope,
        before: &ReadBefore,
    ) -> Result<Result<Holders, PlanRefusal>, Problem> {
        let keys = self.ledger().marker_keys().await?;
        self.resolved(Resolver::new(tenant, members, scope, &keys), before).await
    }

    /// Reads what a resolver needs.
    async fn resolved(
        &self,
        mut resolver: Resolver<'_>,
        before: &ReadBefore,
    ) -> Result<Result<Holders, PlanRefusal>, Problem> {
        while let Some(wanted) = resolver.needs() {
            let missing: Vec<Key> = wanted.iter().filter(|key| !before.contains_key(key)).cloned().collect();
            let read = if missing.is_empty() { Vec::new() } else { self.dynamo().get_many(&missing).await? };
            let read: ReadBefore = missing.into_iter().zip(read).collect();
            let items = wanted.iter().map(|key| read.get(key).or_else(|| before.get(key)).cloned().flatten());
            if let Err(refusal) = resolver.take(&items.collect::<Vec<_>>()) {
                return Ok(Err(refusal));
            }
        }
        Ok(resolver.holders())
    }

    /// The same at a decision on a command: of the decider, of the requester if it is to be executed, and whether another
    /// member may decide, if that matters.
    ///
    /// # Errors
    /// As [`App::holders`].
    pub(crate) async fn holders_at_decision(
        &self,
        tenant: &Tenant,
        approval: &Approval,
        (decider, requester): (&StaffMember, Option<&StaffMember>),
        before: &ReadBefore,
    ) -> Result<Result<Holders, PlanRefusal>, Problem> {
        let scope = || approval.command.scope();
        let members = requester.into_iter().chain([decider]);
        let found = match self.holders_with(tenant, members, scope(), before).await? {
            Ok(found) if found.depends_on_others(decider.id) => found,
            found => return Ok(found),
        };
        let query = reads::staff_members(tenant, Employer::Operator, None);
        let staff = self.dynamo().query(&query).await?;
        let staff = staff.iter().map(|item| StaffMember::read(Employer::Operator, item)).collect::<Result<_, _>>()?;
        let others = other_deciders(approval, decider, staff);
        let keys = self.ledger().marker_keys().await?;
        let others = self.resolved(Resolver::new(tenant, &others, scope(), &keys).unguarded(), before).await?;
        Ok(others.map(|others| found.with_others(&others)))
    }

    /// Adds to what a member does alone that none of the accounts is the member's own.
    ///
    /// # Errors
    /// 403 `four_eyes_required` if one is, `permission_missing` if the member has no record.
    pub async fn alone<R>(
        &self,
        (claim, who): (&Claim, &Member),
        (accounts, needed): (Vec<Account>, Permission),
        planned: Planned<R>,
    ) -> Result<Planned<R>, PlanError> {
        let (by, holders) = self.holders_of_own(claim, who, (accounts, needed)).await?;
        Ok(holders.alone(&by, planned)?)
    }

    /// Checks that none of the accounts is a member's own, for what is no transaction by itself.
    ///
    /// # Errors
    /// As [`App::alone`].
    pub async fn check_alone(
        &self,
        (claim, who): (&Claim, &Member),
        of: (Vec<Account>, Permission),
    ) -> Result<(), PlanError> {
        let (by, holders) = self.holders_of_own(claim, who, of).await?;
        holders.may_ask(by.id)?;
        Ok(())
    }

    async fn holders_of_own(
        &self,
        claim: &Claim,
        who: &Member,
        (accounts, needed): (Vec<Account>, Permission),
    ) -> Result<(StaffMember, Holders), PlanError> {
        let own = keys::staff_member(who.tenant(), who.employer(), who.id());
        let scope = ActScope::Named(accounts);
        let first = Resolver::first_of(who.tenant(), &[who.id()], &scope);
        let wanted: Vec<Key> = [own].into_iter().chain(first.iter().cloned()).collect();
        let mut read = self.ledger().read_for(claim, &wanted).await?.into_iter();
        let item = read.next().flatten();
        let item = item.ok_or_else(|| PlanError::Invalid(Problem::permission_missing(needed)))?;
        let by = StaffMember::read(who.employer(), &item)?;
        let before = first.into_iter().zip(read).collect();
        let holders = self.holders_with(who.tenant(), [&by], scope, &before).await??;
        Ok((by, holders))
    }
}
