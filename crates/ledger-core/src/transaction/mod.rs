//! Transactions as data. Only the constructors here make a [`Transaction`], and each rejects invalid drafts at build
//! time. The workspace executes nothing else.

mod aggregates;
mod balance;
mod classify;
mod disclose;
mod entry;
mod entry_terms;
mod item;
mod merge;
mod opening;
mod request;
mod sums_moved;

pub use crate::role::Role;
pub(crate) use balance::{BalanceChange, open_wallet};
pub use classify::{Broken, FailedGuard, Reason, ReasonCode, Rejection, Verdict};
pub use disclose::Disclosure;
pub(crate) use entry::changes;
pub use entry::{Entry, JournalLink, Provenance, Reference};
pub use entry_terms::EntryTerms;
pub(crate) use item::{Action, exists};
pub use item::{Clause, Rendered, RenderedAction, TransactItem};
pub(crate) use merge::merged;
pub use opening::OpeningError;
pub use request::request_text;
pub(crate) use request::single_write_text;

use crate::account::{self, Account, Posting};
use crate::ids::MerchantId;
use crate::keys::{Key, attr};
use crate::money::{Asset, MoneyError};
use crate::operation::Operation;
use std::collections::BTreeSet;

/// The most actions of a transaction, counted as they are written: while a tenant migrates, some become several. DynamoDB
/// takes 100. A copy of the table writes each transaction as one of its own, with two items beside: where its copying is,
/// and that it may copy.
pub const MAX_ITEMS: usize = 98;

/// A builder's actions, before the marker and the response are added.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The journal entry, if value moves.
    pub entry: Option<Entry>,
    /// All other actions, without the marker.
    pub items: Vec<TransactItem>,
}

/// A builder's result: the actions, and the facts for the response.
#[derive(Clone, Debug)]
pub struct Planned<R> {
    /// The actions.
    pub draft: Draft,
    /// The ids, amounts and times for the response.
    pub receipt: R,
}

impl<R> Planned<R> {
    /// Adds an action, for example a count on the record of the person who acts.
    #[must_use]
    pub fn and(mut self, item: Option<TransactItem>) -> Self {
        self.draft.items.extend(item);
        self
    }
}

/// An ordered list of actions that is safe to execute.
// INVARIANT: at most 98 items, one action per key, the marker (if there is one) first. Every change of a balance is
// matched by a posting of an entry that sums to zero per asset, or is the sum of a period that the same transaction
// closes. Aggregates beside a balance change by what the entry of a payment or refund says, and touch no sum.
// Headroom under a cap changes under a marker only. A balance item that is put whole has what it posts as its first value.
// A customer's balance is credited, reserved on and settled only while its wallet is not closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    items: Vec<TransactItem>,
}

/// Why a draft is invalid. Each is a fault of a builder, not of a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// No actions.
    #[error("a transaction has no actions")]
    Empty,
    /// More than [`MAX_ITEMS`] actions.
    #[error("a transaction has {0} actions: at most {max} are allowed", max = MAX_ITEMS)]
    TooManyItems(usize),
    /// Two actions on one item.
    #[error("a transaction has two actions on one item ({0:?})")]
    SameKey(Role),
    /// Postings that create or destroy value.
    #[error("postings of {0} do not sum to zero")]
    Unbalanced(Asset),
    /// A journal entry without postings.
    #[error("a journal entry has no postings")]
    NoPostings,
    /// The home of an entry is an account without a partition.
    #[error("a journal entry has no home")]
    NoHome,
    /// An entry, or a reference to one, has a value that its stored form cannot say.
    #[error("the stored form of an entry cannot say a value ({0:?})")]
    EntryForm(Role),
    /// A balance changes without a matching posting of the entry.
    #[error("the balance of {0} does not change by the sum of its postings")]
    Unposted(Account),
    /// A sum of postings is written otherwise than by the action's own postings.
    #[error("a balance is not written by its postings ({0:?})")]
    UnpostedBalance(Role),
    /// `exposure` changes otherwise than its parts, or headroom otherwise than it is reserved.
    #[error("`exposure` does not change by the sum of balance, held and reserved ({0:?})")]
    Exposure(Role),
    /// `exposure` is corrected by another operation than an adjustment.
    #[error("`exposure` is corrected by an operation that is not an adjustment ({0:?})")]
    ExposureCorrected(Role),
    /// Headroom is reserved or released without a marker, so a retry would do it twice.
    #[error("headroom changes without a marker ({0:?})")]
    UnmarkedExposure(Role),
    /// Value moves without a marker and a journal entry.
    #[error("value moves without a marker and a journal entry ({0:?})")]
    EffectWithoutJournal(Role),
    /// A customer's balance is credited, reserved on or settled, whether the wallet is closed or not.
    #[error("a balance changes without requiring that its wallet is not closed ({0:?})")]
    OpenWalletNotRequired(Role),
    /// An update that changes nothing, which DynamoDB rejects.
    #[error("an update changes nothing ({0:?})")]
    EmptyUpdate(Role),
    /// An update changes an attribute of a record of the audit trail that the record's seal covers.
    #[error("an update changes what a seal covers ({0:?})")]
    SealedAttribute(Role),
    /// Aggregates are written otherwise than by the action's own change of them.
    #[error("aggregates are not written by their change ({0:?})")]
    Aggregates(Role),
    /// A customer's payment or refund that does not change the aggregates once by what its entry says.
    #[error("the aggregates do not change once by what the entry says")]
    AggregatesOfEntry,
    /// Two values use one placeholder.
    #[error("an expression uses one placeholder twice ({0:?})")]
    Placeholder(Role),
    /// A merchant is credited without a fencing token.
    #[error("a merchant's balance changes without a fencing token ({0:?})")]
    Unfenced(Role),
    /// An attribute of a split record has no name in the legacy model.
    #[error("`{1}` has no name in the legacy model ({0:?})")]
    Unplaced(Role, String),
    /// A merchant is credited by a seal, and its open period was not read.
    #[error("the open period of merchant {0} was not read")]
    PeriodUnread(MerchantId),
    /// Lanes are bound, and not all segments since the last binding were read.
    #[error("not all segments since the last binding were read: verify the audit trail")]
    SegmentsUnread,
    /// A response with a one-time secret that is not declared to have one.
    #[error("the response of {0} has a one-time secret and would be stored as one without")]
    SecretInClear(Operation),
    /// A response that cannot be encrypted.
    #[error("a response cannot be encrypted")]
    Unencrypted,
    /// A record of another merchant is credited.
    #[error("a record belongs to another merchant ({0:?})")]
    Stranger(Role),
    /// A sum of postings is out of range.
    #[error(transparent)]
    Money(#[from] MoneyError),
}

impl Transaction {
    /// Makes a transaction without a marker: it moves no value, for example configuration or job progress.
    ///
    /// # Errors
    /// [`BuildError`] if the actions are invalid or change a balance.
    pub fn unkeyed(items: Vec<TransactItem>) -> Result<Self, BuildError> {
        Self::without_effect(items)
    }

    /// Adds one action, which must not post.
    pub(crate) fn and(self, more: TransactItem) -> Result<Self, BuildError> {
        if more.is_posted() {
            return Err(BuildError::EffectWithoutJournal(more.role()));
        }
        let mut items = self.items;
        items.push(more);
        Self::checked(items)
    }

    /// The actions, in the order in which DynamoDB reports on them.
    #[must_use]
    pub fn items(&self) -> &[TransactItem] {
        &self.items
    }

    /// Makes a transaction of a marker, the draft's actions, and the journal entry if value moves.
    ///
    /// # Errors
    /// [`BuildError`] if the draft is invalid.
    pub(crate) fn marked(marker: TransactItem, draft: Draft, from: &Provenance) -> Result<Self, BuildError> {
        if marker.role() != Role::Marker {
            return Err(BuildError::EffectWithoutJournal(marker.role()));
        }
        let corrected = draft.items.iter().find(|item| item.corrects_exposure());
        if let (Some(item), true) = (corrected, from.operation != Operation::Adjustment) {
            return Err(BuildError::ExposureCorrected(item.role()));
        }
        let mut items = vec![marker];
        items.extend(draft.items);
        match draft.entry {
            None => Self::unmoved(items),
            Some(entry) => {
                items.extend(entry.items(from)?);
                check_books(&entry, from.operation, &items)?;
                Self::checked(items)
            }
        }
    }

    pub(crate) fn without_effect(items: Vec<TransactItem>) -> Result<Self, BuildError> {
        match items.iter().find(|item| item.touches_exposure()) {
            Some(item) if !item.is_posted() => Err(BuildError::UnmarkedExposure(item.role())),
            Some(_) | None => Self::unmoved(items),
        }
    }

    fn unmoved(items: Vec<TransactItem>) -> Result<Self, BuildError> {
        match items.iter().find(|item| item.is_posted() || item.counts_beside_balance()) {
            Some(item) => Err(BuildError::EffectWithoutJournal(item.role())),
            None => Self::checked(items),
        }
    }

    fn checked(items: Vec<TransactItem>) -> Result<Self, BuildError> {
        if items.is_empty() {
            return Err(BuildError::Empty);
        }
        if items.len() > MAX_ITEMS {
            return Err(BuildError::TooManyItems(items.len()));
        }
        let mut keys = BTreeSet::<&Key>::new();
        for item in &items {
            if !keys.insert(item.key()) {
                return Err(BuildError::SameKey(item.role()));
            }
            match item.unposted_sum() {
                Some(attr::BALANCE | attr::HELD) => return Err(BuildError::UnpostedBalance(item.role())),
                Some(_) => return Err(BuildError::Exposure(item.role())),
                None => {}
            }
            if item.has_unstated_aggregates() {
                return Err(BuildError::Aggregates(item.role()));
            }
            if item.has_clash() {
                return Err(BuildError::Placeholder(item.role()));
            }
            if item.needs_open_wallet() && !item.requires_open_wallet() {
                return Err(BuildError::OpenWalletNotRequired(item.role()));
            }
            if matches!(&item.action, Action::Update(update) if update.is_empty()) {
                return Err(BuildError::EmptyUpdate(item.role()));
            }
            if item.changes_sealed_attribute() {
                return Err(BuildError::SealedAttribute(item.role()));
            }
        }
        Ok(Self { items })
    }
}

/// Checks that postings sum to zero, and that balances change by exactly what is posted.
fn check_books(entry: &Entry, operation: Operation, items: &[TransactItem]) -> Result<(), BuildError> {
    if entry.postings.is_empty() {
        return Err(BuildError::NoPostings);
    }
    if let Some(asset) = account::unbalanced(&entry.postings)?.into_iter().next() {
        return Err(BuildError::Unbalanced(asset));
    }
    let moves_merchants = Operation::MOVING_MERCHANTS.contains(&operation);
    let has_balance_item = |account: Account| match account {
        Account::Merchant(_) => moves_merchants,
        Account::Customer(_) | Account::Card(_) | Account::Tenant(_) => account.has_balance_item(),
    };
    let posted = entry.postings.iter().filter(|posting| has_balance_item(posting.account));
    let part = |p: &Posting| (p.account, p.bucket, p.delta.asset().clone());
    let posted = account::net(posted.map(|p| (part(p), &p.delta)))?;
    let moved = items.iter().flat_map(TransactItem::postings);
    let moved = account::net(moved.map(|p| (part(p), &p.delta)))?;
    let differs = posted.iter().find(|(key, delta)| moved.get(key) != Some(delta));
    let differs = differs.or_else(|| moved.iter().find(|(key, delta)| posted.get(key) != Some(delta)));
    if let Some(((account, _, _), _)) = differs {
        return Err(BuildError::Unposted(*account));
    }
    match aggregates::are_as_the_entry_says(entry.home, &entry.details, items) {
        true => Ok(()),
        false => Err(BuildError::AggregatesOfEntry),
    }
}

#[cfg(test)]
mod tests;
