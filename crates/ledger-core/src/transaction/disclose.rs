//! What the caller of a refused transaction may learn.

use super::{FailedGuard, Rejection, Role, Transaction};
use crate::failure::Failure;
use crate::ids::Principal;
use crate::keys::Key;

/// A refusal as its caller may see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Disclosure<'a> {
    /// The failure.
    pub failure: Failure,
    /// The failed guard, if its item is the caller's own: only then may the response contain an amount.
    pub own: Option<&'a FailedGuard>,
}

impl Transaction {
    /// Chooses what `principal`, whose marker is `marker`, may learn of a rejection.
    ///
    /// A customer learns of a recipient's item only that it cannot receive, and only if no guard of the customer's own
    /// fails: a person without money must not find out what another person has.
    #[must_use]
    pub fn disclose<'a>(&self, rejection: &'a Rejection, principal: Principal, marker: &Key) -> Disclosure<'a> {
        let is_own =
            |guard: &FailedGuard| self.items.get(guard.position).is_some_and(|item| item.key().pk() == marker.pk());
        let is_customer = match principal {
            Principal::Customer(_) => true,
            Principal::Merchant(_) | Principal::Terminal(_) | Principal::Staff(_) => false,
        };
        if rejection.failure == Failure::StalePlan || !is_customer {
            return Disclosure { failure: rejection.failure, own: None };
        }
        let is_recipient = |guard: &FailedGuard| {
            let is_payee = self.items.get(guard.position).is_some_and(|item| item.role() == Role::Payee);
            is_payee && !is_own(guard)
        };
        let shown = rejection.guards.iter().filter(|guard| !is_recipient(guard));
        match shown.min_by_key(|guard| (guard.failure, guard.position)) {
            Some(guard) => Disclosure { failure: guard.failure, own: Some(guard).filter(|guard| is_own(guard)) },
            None => Disclosure { failure: Failure::RecipientUnavailable, own: None },
        }
    }
}
