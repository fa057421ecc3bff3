//! The errors of a plan, and refusals with the members that help the caller.

use crate::dynamo::ReadError;
use crate::problem::Problem;
use ledger_core::account::Account;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::failure::Failure;
use ledger_core::idempotency::Claim;
use ledger_core::ids::Principal;
use ledger_core::keys::attr;
use ledger_core::limits::LimitHit;
use ledger_core::money::{Balance, MoneyError};
use ledger_core::plan::PlanRefusal;
use ledger_core::refused_payment::RefusedPayment;
use ledger_core::transaction::{FailedGuard, Rejection, Transaction};

/// Why a plan was not made.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanError {
    /// Refused by a rule of the ledger. A terminal refusal is stored under the key.
    Refused(Refusal),
    /// The request is invalid. The problem is not stored.
    Invalid(Problem),
    /// The resource does not exist or belongs to another party: 404.
    Missing,
    /// The key has been used; holds its marker.
    MarkerExists(Item),
    /// The table could not be read.
    Read(ReadError),
    /// A stored item cannot be read.
    Stored(ItemError),
    /// A sum is out of range or of several assets.
    Money(MoneyError),
}

/// A refusal by a rule of the ledger, with additional members of the problem document.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    failure: Failure,
    extra: Vec<(&'static str, serde_json::Value)>,
    /// The limit that would be exceeded. Only the account's own holder is shown which one it is.
    limit: Option<LimitHit>,
    /// The payment that is refused, if its stored refusal says what it was. It is not in the response.
    payment: Option<Box<RefusedPayment>>,
}

impl Refusal {
    /// Creates a refusal without additional members.
    #[must_use]
    pub fn new(failure: Failure) -> Self {
        Self { failure, extra: Vec::new(), limit: None, payment: None }
    }

    /// Adds a member to the problem document.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<serde_json::Value>) -> Self {
        self.extra.push((name, value.into()));
        self
    }

    /// The payment that is refused, if its stored refusal says what it was.
    pub(super) fn payment(&self) -> Option<&RefusedPayment> {
        self.payment.as_deref()
    }

    fn of_payment(self, payment: Option<Box<RefusedPayment>>) -> Self {
        Self { payment, ..self }
    }

    /// The failed rule.
    #[must_use]
    pub fn failure(&self) -> Failure {
        self.failure
    }

    /// Builds the problem document.
    #[must_use]
    pub fn problem(&self) -> Problem {
        let problem = Problem::refused(self.failure);
        self.extra.iter().fold(problem, |problem, (name, value)| problem.with(name, value.clone()))
    }

    /// Builds the problem document for the principal of the request: with the limit, if it is that of its own account.
    // INVARIANT: which limit another's account has reached is not disclosed.
    pub(super) fn problem_to(&self, principal: Principal) -> Problem {
        let own = |hit: &&LimitHit| match (hit.account, principal) {
            (Account::Customer(of), Principal::Customer(id)) => of == id,
            (Account::Customer(_) | Account::Card(_) | Account::Merchant(_) | Account::Tenant(_), _) => false,
        };
        let Some(hit) = self.limit.as_ref().filter(own) else { return self.problem() };
        let problem = self
            .problem()
            .with("limit_kind", hit.kind.name())
            .with("limit_period", hit.period.name())
            .with("asset", hit.asset.to_string());
        match hit.resets_at {
            Some(resets_at) => problem.with("resets_at", resets_at.rfc3339()),
            None => problem,
        }
    }

    /// Builds the refusal of a transaction whose guard failed. The limit, or the missing amount, is in it if it is the
    /// caller's own.
    pub(super) fn from_rejection(transaction: &Transaction, rejection: &Rejection, claim: &Claim) -> Self {
        let disclosure = transaction.disclose(rejection, claim.principal, &claim.marker_key());
        let payment = transaction.refused_payment().map(Box::new);
        let refusal = Self::new(disclosure.failure).of_payment(payment);
        if disclosure.failure == Failure::LimitExceeded {
            let hit =
                |guard: &FailedGuard| LimitHit::of_guard(transaction.items().get(guard.position)?, guard.old.as_ref());
            return Self { limit: disclosure.own.and_then(hit), ..refusal };
        }
        if disclosure.failure != Failure::Insufficient {
            return refusal;
        }
        match disclosure.own.and_then(|guard| shortfall(transaction, guard)) {
            Some(short) => refusal.with("balance_short", short.text()).with("asset", short.asset().to_string()),
            None => refusal,
        }
    }
}

impl From<Failure> for PlanError {
    fn from(failure: Failure) -> Self {
        Self::Refused(Refusal::new(failure))
    }
}

impl From<Refusal> for PlanError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<PlanRefusal> for PlanError {
    fn from(refusal: PlanRefusal) -> Self {
        match refusal {
            PlanRefusal::Refused(failure) => failure.into(),
            PlanRefusal::InState { state, expired_at } => {
                let refusal = Refusal::new(Failure::WrongState).with("payment_status", state.name());
                Self::Refused(match expired_at {
                    Some(expired_at) => refusal.with("expired_at", expired_at.rfc3339()),
                    None => refusal,
                })
            }
            PlanRefusal::StillOpen(open) => Self::Refused(Refusal::new(Failure::WrongState).with("open", open)),
            PlanRefusal::Limit(hit) => {
                Self::Refused(Refusal { limit: Some(hit), ..Refusal::new(Failure::LimitExceeded) })
            }
            PlanRefusal::OfPayment { refusal, payment } => match Self::from(*refusal) {
                Self::Refused(refusal) => Self::Refused(refusal.of_payment(Some(payment))),
                other @ (Self::Invalid(_)
                | Self::Missing
                | Self::MarkerExists(_)
                | Self::Read(_)
                | Self::Stored(_)
                | Self::Money(_)) => other,
            },
            PlanRefusal::Invalid { field, why } => Self::Invalid(Problem::invalid_field(field, why)),
            PlanRefusal::PaymentDay { field, why } => Self::Invalid(Problem::invalid_field(field, why)),
            PlanRefusal::Denied(permission) => Self::Invalid(Problem::permission_missing(permission)),
            PlanRefusal::Stored(error) => Self::Stored(error),
            PlanRefusal::Money(error) => Self::Money(error),
        }
    }
}

impl From<PlanRefusal> for Problem {
    fn from(refusal: PlanRefusal) -> Self {
        PlanError::from(refusal).into_problem()
    }
}

impl From<ReadError> for PlanError {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<ItemError> for PlanError {
    fn from(error: ItemError) -> Self {
        Self::Stored(error)
    }
}

impl From<Problem> for PlanError {
    fn from(problem: Problem) -> Self {
        Self::Invalid(problem)
    }
}

impl PlanError {
    /// Builds the problem document for the principal of the request.
    // INVARIANT: only the operator's staff see which attribute of a legacy record cannot be read.
    pub(super) fn into_problem_to(self, principal: Principal) -> Problem {
        match (&self, principal) {
            (Self::Read(ReadError::Unadoptable(error)), Principal::Staff(_)) => Problem::legacy_record_attribute(error),
            _ => self.into_problem(),
        }
    }

    pub(super) fn into_problem(self) -> Problem {
        match self {
            Self::Invalid(problem) => problem,
            Self::Missing => Problem::not_found(),
            Self::Read(error) => error.into(),
            Self::Stored(error) => error.into(),
            Self::Money(MoneyError::TooLarge) => Problem::invalid("The sum of the amounts is too large."),
            Self::Money(error @ (MoneyError::AssetMismatch | MoneyError::Unreadable)) => {
                tracing::error!(%error, "a plan could not be made");
                Problem::internal()
            }
            // The executor handles both of these before this call.
            Self::Refused(refusal) => refusal.problem(),
            Self::MarkerExists(_) => Problem::busy(),
        }
    }
}

/// Returns the missing amount: what the failed guard requires less what its item holds.
fn shortfall(transaction: &Transaction, guard: &FailedGuard) -> Option<Balance> {
    let item = transaction.items().get(guard.position)?;
    let asset = item.postings().next()?.delta.asset().clone();
    let needed = item.failure_on(guard.old.as_ref())?.condition.at_least(attr::BALANCE)?;
    let held = guard.old.as_ref().map_or(Ok(None), |old| old.opt_number(attr::BALANCE)).ok()?.unwrap_or("0");
    let held = Balance::from_stored(asset.clone(), held).ok()?;
    let short = Balance::from_stored(asset, needed).ok()?.checked_sub(&held).ok()?;
    short.as_amount().map(|_| short)
}
