//! The checks: what the facts of one group must say together.

mod account;
mod entries;
mod payment;
mod settlement;
mod topup;

use super::breaks::Finding;
use super::fact::{Fact, Group, Subject};
use crate::time::Timestamp;
use account::Sums;

/// Under what circumstances facts were gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// When the first item was read.
    pub began_at: Timestamp,
    /// Whether all facts of a group are of one moment; else what was written meanwhile is left out where it can be.
    pub at_one_moment: bool,
    /// Between which instants the payment provider's objects were made that were listed, if they were.
    pub listed: Option<(Timestamp, Timestamp)>,
}

/// The facts of one group, put together: sums where there may be many, so that a merchant's account takes no
/// more memory than a customer's.
#[derive(Clone, Debug)]
pub struct Folded {
    group: Group,
    state: State,
}

#[derive(Clone, Debug)]
enum State {
    Account(Sums),
    Settlement(settlement::Sums),
    Few(Vec<Fact>),
}

impl Folded {
    /// Nothing yet.
    #[must_use]
    pub fn new(group: Group) -> Self {
        let state = match &group.subject {
            Subject::Account(..) => State::Account(Sums::default()),
            Subject::Settlement(_) => State::Settlement(settlement::Sums::default()),
            Subject::Transaction(_) | Subject::Once(_) | Subject::Payment(_) | Subject::Topup(_) => {
                State::Few(Vec::new())
            }
        };
        Self { group, state }
    }

    /// Takes a fact of the group.
    pub fn take(&mut self, fact: Fact, scope: &Scope) {
        match &mut self.state {
            State::Account(sums) => sums.take(fact, scope),
            State::Settlement(sums) => sums.take(fact),
            State::Few(facts) => facts.push(fact),
        }
    }

    /// What is wrong.
    #[must_use]
    pub fn findings(mut self, scope: &Scope) -> Vec<Finding> {
        if let State::Few(facts) = &mut self.state {
            facts.sort();
            // An item that was read twice says nothing new.
            facts.dedup();
        }
        let tenant = &self.group.tenant;
        match (&self.group.subject, &self.state) {
            (Subject::Account(account, asset), State::Account(sums)) => sums.check(tenant, *account, asset, scope),
            (Subject::Settlement(id), State::Settlement(sums)) => sums.check(tenant, *id, scope),
            (Subject::Transaction(id), State::Few(facts)) => entries::transaction(tenant, *id, facts),
            (Subject::Once(_), State::Few(facts)) => entries::once(tenant, facts),
            (Subject::Payment(id), State::Few(facts)) => payment::check(tenant, *id, facts),
            (Subject::Topup(id), State::Few(facts)) => topup::check(tenant, *id, facts, scope),
            // INVARIANT: `new` pairs them.
            (_, State::Account(_) | State::Settlement(_) | State::Few(_)) => Vec::new(),
        }
    }
}

/// What is wrong with the facts of one group.
#[must_use]
pub fn fold(group: &Group, facts: impl IntoIterator<Item = Fact>, scope: &Scope) -> Vec<Finding> {
    let mut folded = Folded::new(group.clone());
    for fact in facts {
        folded.take(fact, scope);
    }
    folded.findings(scope)
}
