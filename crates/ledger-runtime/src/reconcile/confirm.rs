//! Confirms a suspicion by reading its group again until two successive reads are equal.
//!
//! Equal reads show the state at one moment, the one between them. A group that keeps changing is not a break: it is
//! reported as unsettled. A period is read once: its sums say which entries they have.

use super::Reconciler;
use super::gather::{Gather, Gathered, Stopped};
use crate::problem::Problem;
use ledger_core::account::Account;
use ledger_core::money::Asset;
use ledger_core::reconcile::{BreakKind, Finding, Group, Observation, Scope, Subject, fold, of_item};
use ledger_core::retry;

/// The number of times that a changing group is read.
const TRIES: u32 = 6;

/// The result of a second read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The break is confirmed: as it was read last.
    Break(Box<Finding>),
    /// There is no break, or no longer.
    Fine,
    /// The group kept changing while it was read.
    Unsettled,
}

fn confirmed(finding: Finding) -> Verdict {
    Verdict::Break(Box::new(finding))
}

impl Reconciler<'_> {
    /// Confirms a suspicion about one item.
    pub(super) async fn confirm_item(&self, suspect: Finding) -> Result<Verdict, Problem> {
        let Some(key) = &suspect.seen_at else { return Ok(confirmed(suspect)) };
        let items = self.stored(std::slice::from_ref(key)).await?;
        let observations = items.iter().flat_map(|item| of_item(item, self.app.now(), self.settings.limits));
        let again = observations.filter_map(|observation| match observation {
            Observation::Break(finding) => Some(finding),
            Observation::Fact(_) | Observation::Newer(_) => None,
        });
        Ok(again.into_iter().find(|finding| finding.is_again(&suspect)).map_or(Verdict::Fine, confirmed))
    }

    /// Confirms all suspicions about one group.
    pub(super) async fn confirm(
        &self,
        group: &Group,
        suspects: Vec<Finding>,
        scope: &Scope,
    ) -> Result<Vec<Verdict>, Problem> {
        let scope = Scope { at_one_moment: true, ..*scope };
        let (certain, suspects): (Vec<_>, Vec<_>) =
            suspects.into_iter().partition(|suspect| suspect.kind.is_of_unchanging_items());
        let mut verdicts: Vec<Verdict> = certain.into_iter().map(confirmed).collect();
        let suspects = match &group.subject {
            Subject::Account(account, asset) => {
                let (alone, suspects): (Vec<_>, Vec<_>) =
                    suspects.into_iter().partition(|suspect| suspect.kind.is_of_balance_alone());
                verdicts.extend(self.confirm_balance(group, (*account, asset), alone, &scope).await?);
                suspects
            }
            Subject::Entry(_)
            | Subject::Key(_)
            | Subject::Payment(_)
            | Subject::Topup(_)
            | Subject::Settlement(_)
            | Subject::Period(..)
            | Subject::CashRoom(_)
            | Subject::Rooms(_)
            | Subject::BankFile(_) => suspects,
        };
        if !suspects.is_empty() {
            verdicts.extend(self.confirm_group(group, suspects, &scope).await?);
        }
        Ok(verdicts)
    }

    /// Confirms suspicions about an account's balance from the items alone that may hold it. Concurrent postings to the
    /// account do not matter.
    async fn confirm_balance(
        &self,
        group: &Group,
        (account, asset): (Account, &Asset),
        suspects: Vec<Finding>,
        scope: &Scope,
    ) -> Result<Vec<Verdict>, Problem> {
        if suspects.is_empty() {
            return Ok(Vec::new());
        }
        let items = self.stored(&self.balance_keys(account, asset)).await?;
        let found = fold(group, self.facts_of(group, &items), scope);
        let again = |suspect: &Finding| found.iter().find(|finding| finding.is_again(suspect));
        let verdict = |suspect: Finding| again(&suspect).cloned().map_or(Verdict::Fine, confirmed);
        Ok(suspects.into_iter().map(verdict).collect())
    }

    async fn confirm_group(
        &self,
        group: &Group,
        suspects: Vec<Finding>,
        scope: &Scope,
    ) -> Result<Vec<Verdict>, Problem> {
        let evidence = suspects.iter().flat_map(|finding| finding.evidence.iter().cloned()).collect();
        // The PSP's events to us and our calls to it take a moment to arrive: wait and read again.
        let waits = suspects.iter().any(|finding| {
            matches!(
                finding.kind,
                BreakKind::ChargeWithoutCredit | BreakKind::CreditWithoutCharge | BreakKind::ProviderRefundDiffers
            )
        });
        let mut tries = 0;
        loop {
            let Some(Gathered { facts, is_complete }) = self.at_one_moment(group, &evidence).await? else {
                return Ok(vec![Verdict::Unsettled; suspects.len()]);
            };
            let found = fold(group, facts, scope);
            let not_seen_again = if is_complete { Verdict::Fine } else { Verdict::Unsettled };
            if !waits || found.is_empty() || tries >= TRIES {
                let verdict = |suspect: Finding| {
                    let again = found.iter().find(|finding| finding.is_again(&suspect));
                    again.map_or(not_seen_again.clone(), |finding| {
                        // The evidence of the first read is kept as well.
                        let mut finding = finding.clone();
                        finding.evidence.extend(suspect.evidence);
                        confirmed(finding)
                    })
                };
                return Ok(suspects.into_iter().map(verdict).collect());
            }
            tries = tries.saturating_add(1);
            tokio::time::sleep(self.settings.patience).await;
        }
    }

    /// The facts of a group as of one moment; `None` if they kept changing.
    async fn at_one_moment(
        &self,
        group: &Group,
        evidence: &std::collections::BTreeSet<String>,
    ) -> Result<Option<Gathered>, Problem> {
        match &group.subject {
            Subject::Period(..) => self.as_of_its_segment(group, evidence).await,
            Subject::Account(..)
            | Subject::Entry(_)
            | Subject::Key(_)
            | Subject::Payment(_)
            | Subject::Topup(_)
            | Subject::Settlement(_)
            | Subject::CashRoom(_)
            | Subject::Rooms(_)
            | Subject::BankFile(_) => self.read_twice(group, evidence).await,
        }
    }

    /// The facts of a group that two successive reads found equal; `None` if they kept changing.
    async fn read_twice(
        &self,
        group: &Group,
        evidence: &std::collections::BTreeSet<String>,
    ) -> Result<Option<Gathered>, Problem> {
        let mut last = None;
        for tries in 0..TRIES {
            if tries > 1 {
                tokio::time::sleep(retry::backoff(tries, self.app.ledger().entropy().jitter())).await;
            }
            match Gather::facts(self, group, evidence).await {
                Ok(gathered) if last.as_ref() == Some(&gathered) => return Ok(Some(gathered)),
                Ok(gathered) => last = Some(gathered),
                Err(Stopped::Changed) => last = None,
                Err(Stopped::Unsettled) => return Ok(None),
                Err(Stopped::Problem(problem)) => return Err(problem),
            }
        }
        Ok(None)
    }

    /// The facts of a period as of the segment in its sums; `None` if settlements kept changing it.
    async fn as_of_its_segment(
        &self,
        group: &Group,
        evidence: &std::collections::BTreeSet<String>,
    ) -> Result<Option<Gathered>, Problem> {
        for _ in 0..TRIES {
            match Gather::facts(self, group, evidence).await {
                Ok(gathered) => return Ok(Some(gathered)),
                // The next read begins with a pause.
                Err(Stopped::Changed) => {}
                Err(Stopped::Unsettled) => return Ok(None),
                Err(Stopped::Problem(problem)) => return Err(problem),
            }
        }
        Ok(None)
    }
}
