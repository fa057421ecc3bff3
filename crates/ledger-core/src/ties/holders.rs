//! Who holds the accounts of an act, as far as members of the staff are concerned.

use super::scope::ActScope;
use super::tie::Tie;
use crate::failure::Failure;
use crate::ids::StaffId;
use crate::plan::PlanRefusal;
use crate::staff::StaffMember;
use crate::transaction::{Draft, Planned, TransactItem, merged};
use std::collections::BTreeMap;

/// The ties of some members to the accounts of an act. Only a [`super::Resolver`] makes one.
#[derive(Clone, Debug)]
pub struct Holders {
    pub(super) scope: ActScope,
    pub(super) ties: BTreeMap<StaffId, Vec<Tie>>,
    pub(super) guards: Vec<TransactItem>,
    /// Whether another member without a tie may decide; `None` if that was not read.
    pub(super) another: Option<bool>,
}

impl Holders {
    /// The ties of a member: one for each account that is the member's.
    ///
    /// # Errors
    /// `FourEyes` if the ties of the member were not resolved.
    pub fn ties(&self, member: StaffId) -> Result<&[Tie], PlanRefusal> {
        self.ties.get(&member).map(Vec::as_slice).ok_or(PlanRefusal::Refused(Failure::FourEyes))
    }

    /// Checks that a member may ask for the act, or do it alone, and returns the ties of the member, to be recorded.
    ///
    /// # Errors
    /// `FourEyes` if one of the accounts is the member's own.
    pub fn may_ask(&self, member: StaffId) -> Result<&[Tie], PlanRefusal> {
        let ties = self.ties(member)?;
        let is_own = self.scope.is_named() && ties.iter().any(|tie| tie.kind.is_own());
        if is_own { Err(PlanRefusal::Refused(Failure::FourEyes)) } else { Ok(ties) }
    }

    /// Checks that a member may decide on the act, and returns the ties of the member, to be recorded. A declared tie of the
    /// family or a business keeps the member from it while another member without a tie may decide.
    ///
    /// # Errors
    /// `FourEyes` if the member may not.
    pub fn may_decide(&self, member: StaffId) -> Result<&[Tie], PlanRefusal> {
        let ties = self.may_ask(member)?;
        let is_blocked = self.scope.is_named() && !ties.is_empty() && self.another != Some(false);
        if is_blocked { Err(PlanRefusal::Refused(Failure::FourEyes)) } else { Ok(ties) }
    }

    /// Whether the decision of a member depends on whether another one may decide.
    #[must_use]
    pub fn depends_on_others(&self, member: StaffId) -> bool {
        self.scope.is_named() && self.may_ask(member).is_ok_and(|ties| !ties.is_empty())
    }

    /// The same with the ties of the other members who may decide and did not ask.
    #[must_use]
    pub fn with_others(self, others: &Self) -> Self {
        let another = others.scope == self.scope && others.ties.values().any(Vec::is_empty);
        Self { another: Some(another), ..self }
    }

    /// Checks that the holders are those of this act.
    ///
    /// # Errors
    /// `StalePlan` if they are of another one.
    pub(crate) fn are_of(&self, scope: &ActScope) -> Result<(), PlanRefusal> {
        if self.scope == *scope { Ok(()) } else { Err(PlanRefusal::Refused(Failure::StalePlan)) }
    }

    /// Requires that what the ties follow from is as it was read.
    pub(crate) fn guards(&self) -> impl Iterator<Item = TransactItem> + '_ {
        self.guards.iter().cloned()
    }

    /// Adds to an act that a member does alone that the accounts are not the member's own.
    ///
    /// # Errors
    /// `FourEyes` if one of them is.
    pub fn alone<R>(&self, by: &StaffMember, planned: Planned<R>) -> Result<Planned<R>, PlanRefusal> {
        self.may_ask(by.id)?;
        let Planned { draft: Draft { entry, items }, receipt } = planned;
        let items = merged(items.into_iter().chain(self.guards())).ok_or(PlanRefusal::Refused(Failure::StalePlan))?;
        Ok(Planned { draft: Draft { entry, items }, receipt })
    }
}
