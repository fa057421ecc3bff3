//! Classification of a cancelled transaction, in one declared order of precedence.

use super::{Role, TransactItem, Transaction};
use crate::dynamo::{Item, ItemError};
use crate::failure::Failure;
use crate::form::check_form;

/// One cancellation reason. Its position in the list is that of its action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// DynamoDB's code.
    pub code: ReasonCode,
    /// The item as it was; `None` if it did not exist.
    pub item: Option<Item>,
}

/// The codes of a cancellation reason.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReasonCode {
    /// The action did not cause the cancellation.
    None,
    /// Its condition does not hold.
    ConditionalCheckFailed,
    /// Another request was writing the item.
    TransactionConflict,
    /// The partition is throttled.
    ProvisionedThroughputExceeded,
    /// The control plane is throttled.
    ThrottlingError,
    /// An item collection is too large.
    ItemCollectionSizeLimitExceeded,
    /// The action is malformed.
    ValidationError,
    /// A code that the ledger does not know.
    Unknown(String),
}

impl ReasonCode {
    /// Parses a code. Unknown codes are kept, because the service may add some.
    #[must_use]
    pub fn parse(code: &str) -> Self {
        match code {
            "None" => Self::None,
            "ConditionalCheckFailed" => Self::ConditionalCheckFailed,
            "TransactionConflict" => Self::TransactionConflict,
            "ProvisionedThroughputExceeded" => Self::ProvisionedThroughputExceeded,
            "ThrottlingError" => Self::ThrottlingError,
            "ItemCollectionSizeLimitExceeded" => Self::ItemCollectionSizeLimitExceeded,
            "ValidationError" => Self::ValidationError,
            other => Self::Unknown(other.to_owned()),
        }
    }

    fn class(&self) -> Class {
        match self {
            Self::None => Class::Fine,
            Self::ConditionalCheckFailed => Class::Condition,
            Self::TransactionConflict => Class::Conflict,
            Self::ProvisionedThroughputExceeded | Self::ThrottlingError => Class::Throttled,
            Self::ItemCollectionSizeLimitExceeded | Self::ValidationError | Self::Unknown(_) => Class::Broken,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Fine,
    Condition,
    Conflict,
    Throttled,
    Broken,
}

/// The meaning of a cancelled transaction, of which nothing was applied. Highest precedence first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The marker exists: the key has been used. The item decides between replay and refusal.
    MarkerExists(Item),
    /// A guard does not hold.
    Rejected(Rejection),
    /// A cancellation that no request explains: an alarm and a 500.
    Broken(Broken),
    /// The store is throttled. The ledger does not retry.
    Throttled,
    /// Other transactions were writing the same items: retry.
    Conflict,
}

/// A guard that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The meaning of the failed guard.
    pub failure: Failure,
    /// The position of the action whose guard failed: two actions may have one role.
    pub position: usize,
    /// Every position whose guard fails with the same meaning; [`Rejection::position`] is the first.
    pub positions: Vec<usize>,
    /// The role of that action.
    pub role: Role,
    /// The item as it was.
    pub old: Option<Item>,
    /// Every guard that does not hold, in the order of the actions.
    pub guards: Vec<FailedGuard>,
}

/// One guard that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedGuard {
    /// The meaning of the failed guard.
    pub failure: Failure,
    /// The position of its action.
    pub position: usize,
    /// The item as it was.
    pub old: Option<Item>,
}

impl Rejection {
    /// The failed positions behind the first actions, `before` of them, counted from there.
    #[must_use]
    pub fn positions_behind(&self, before: usize) -> Vec<usize> {
        self.positions.iter().filter_map(|position| position.checked_sub(before)).collect()
    }
}

/// Cancellations that no request explains.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The number of reasons differs from the number of actions.
    #[error("{reasons} cancellation reasons for {items} actions")]
    WrongCount {
        /// The number of reasons.
        reasons: usize,
        /// The number of actions.
        items: usize,
    },
    /// Cancelled, but with every reason `None`.
    #[error("cancelled without a reason")]
    NoReason,
    /// The marker's condition failed, but the reason has no item.
    #[error("the marker's condition failed, but its item is missing from the reason")]
    MarkerWithoutItem,
    /// A condition failed on an item on which it holds.
    #[error("the condition of {0:?} failed on an item on which it holds")]
    Unexplained(Role),
    /// A code that is neither a condition, a conflict nor throttling.
    #[error("unexpected cancellation code {code:?} on {role:?}")]
    Code {
        /// The code.
        code: ReasonCode,
        /// The role of its action.
        role: Role,
    },
}

impl Transaction {
    /// The fault of an item of a later form that made a condition fail, which is then not classified: its attributes may
    /// mean something else. A marker of a known form comes before it.
    #[must_use]
    pub fn later_form(&self, reasons: &[Reason]) -> Option<ItemError> {
        let failed = || {
            let pairs = self.items.iter().zip(reasons);
            pairs.filter(|(_, reason)| reason.code.class() == Class::Condition)
        };
        let form = |(_, reason): (&TransactItem, &Reason)| reason.item.as_ref().and_then(|item| check_form(item).err());
        match failed().find(|(item, _)| item.role() == Role::Marker) {
            Some(marker) => form(marker),
            None => failed().find_map(form),
        }
    }

    /// Classifies the reasons of a cancellation, one for each action.
    #[must_use]
    pub fn classify(&self, reasons: &[Reason]) -> Verdict {
        if reasons.len() != self.items.len() {
            return Verdict::Broken(Broken::WrongCount { reasons: reasons.len(), items: self.items.len() });
        }
        let pairs = || self.items.iter().zip(reasons);
        if let Some((item, reason)) = pairs().find(|(item, _)| item.role() == Role::Marker) {
            match reason.code.class() {
                Class::Fine => {}
                Class::Condition => {
                    return match &reason.item {
                        Some(old) => Verdict::MarkerExists(old.clone()),
                        None => Verdict::Broken(Broken::MarkerWithoutItem),
                    };
                }
                Class::Conflict => return Verdict::Conflict,
                Class::Throttled => return Verdict::Throttled,
                Class::Broken => return broken_code(item, reason),
            }
        }
        if let Some(verdict) = rejection(pairs()) {
            return verdict;
        }
        let first = |class: Class| pairs().find(|(_, reason)| reason.code.class() == class);
        if let Some((item, reason)) = first(Class::Broken) {
            return broken_code(item, reason);
        }
        if first(Class::Throttled).is_some() {
            return Verdict::Throttled;
        }
        if first(Class::Conflict).is_some() {
            return Verdict::Conflict;
        }
        Verdict::Broken(Broken::NoReason)
    }
}

/// The failed guard that takes precedence: the first [`Failure`] in declared order, then the first action.
fn rejection<'a>(pairs: impl Iterator<Item = (&'a TransactItem, &'a Reason)>) -> Option<Verdict> {
    let mut best: Option<Rejection> = None;
    let mut guards = Vec::new();
    for (position, (item, reason)) in
        pairs.enumerate().filter(|(_, (_, reason))| reason.code.class() == Class::Condition)
    {
        let Some(clause) = item.failure_on(reason.item.as_ref()) else {
            return Some(Verdict::Broken(Broken::Unexplained(item.role())));
        };
        guards.push(FailedGuard { failure: clause.failure, position, old: reason.item.clone() });
        match &mut best {
            Some(so_far) if so_far.failure == clause.failure => so_far.positions.push(position),
            Some(so_far) if so_far.failure < clause.failure => {}
            Some(_) | None => {
                let (failure, old) = (clause.failure, reason.item.clone());
                let (positions, guards) = (vec![position], Vec::new());
                best = Some(Rejection { failure, position, positions, role: item.role(), old, guards });
            }
        }
    }
    best.map(|best| Verdict::Rejected(Rejection { guards, ..best }))
}

fn broken_code(item: &TransactItem, reason: &Reason) -> Verdict {
    Verdict::Broken(Broken::Code { code: reason.code.clone(), role: item.role() })
}
