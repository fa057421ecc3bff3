//! Journal entries: all postings of a transaction, and references for the other parties' histories.

use super::{BuildError, EntryTerms, Role, TransactItem};
use crate::account::{Account, Posting};
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::ids::{Actor, MerchantId, Principal, Tenant, TransactionId};
use crate::journal::{CREDITED_BY, OF_THE_ENTRY_ALONE, StoredLine, credited_by};
use crate::keys::{self, DueKeys, EntryKey, Key, Partition, attr};
use crate::memo::{self, Memo};
use crate::money::Delta;
use crate::operation::Operation;
use crate::time::Timestamp;

/// A journal entry as a builder makes it. Operation, actor and key are added when the transaction is assembled.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id.
    pub id: TransactionId,
    /// The account in whose partition it is kept: the first customer or card concerned, else the merchant.
    pub home: Account,
    /// The postings. They sum to zero per asset.
    pub postings: Vec<Posting>,
    /// References for the histories of other parties.
    pub references: Vec<Reference>,
    /// Further attributes: ids of the payment or refund, rates. No text that a person typed.
    pub details: Item,
    /// The text that a person typed, for this entry and its references.
    pub memo: Option<Memo>,
    /// What it takes from the terms that it is planned under.
    pub terms: EntryTerms,
}

/// Another party's view of an entry, without postings.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The party.
    pub partition: Partition,
    /// The changes of this party's balances.
    pub changes: Vec<Delta>,
}

/// The origin of an entry. The check for duplicates reads it: one operation under one key moves value once.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// The tenant whose books these are.
    pub tenant: Tenant,
    /// The operation that moved the value.
    pub operation: Operation,
    /// The principal of the key.
    pub principal: Principal,
    /// The actor.
    pub actor: Actor,
    /// The key.
    pub key: EntryKey,
    /// When it happened.
    pub now: Timestamp,
}

/// The location of the journal entry of a marker's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLink {
    /// The account in whose partition it is kept.
    pub home: Account,
    /// Its id.
    pub id: TransactionId,
}

impl Entry {
    /// The location of this entry.
    pub(crate) fn link(&self) -> JournalLink {
        JournalLink { home: self.home, id: self.id }
    }

    /// The journal item and its references.
    ///
    /// # Errors
    /// [`BuildError`] if `home` has no partition, or the stored form cannot say a value.
    pub(crate) fn items(&self, from: &Provenance) -> Result<Vec<TransactItem>, BuildError> {
        let home = Partition::account(&from.tenant, self.home).ok_or(BuildError::NoHome)?;
        if [memo::HASH, memo::MEMO].iter().any(|name| self.details.contains_key(*name)) {
            return Err(BuildError::EntryForm(Role::Journal));
        }
        let mut entry = self.common(from);
        entry.extend(self.details.clone());
        let shard = keys::shard_of(self.id.uuid(), self.terms.due_shards);
        let credits = self.credits_when_sealed(from.operation);
        if credits.is_some() {
            entry.insert(CREDITED_BY.to_owned(), Value::s(credited_by(&self.details)));
        }
        entry.extend(DueKeys::entry((&from.tenant, shard), self.id, credits).attributes());
        let key = home.entry(self.id);
        let entry = line(Role::Journal, &key, entry)?.with_postings(&self.postings);
        let mut items = vec![put(Role::Journal, key, entry)];
        for reference in &self.references {
            let mut item = self.common(from);
            let shared = |name: &str| !OF_THE_ENTRY_ALONE.contains(&name);
            item.extend(self.details.clone().into_iter().filter(|(name, _)| shared(name)));
            item.insert("home".to_owned(), Value::s(self.home));
            let key = reference.partition.entry_reference(self.id);
            let item = line(Role::JournalReference, &key, item)?.with_changes(&reference.changes);
            items.push(put(Role::JournalReference, key, item));
        }
        Ok(items)
    }

    /// The merchant that the transaction which seals the entry credits: the entry has postings of it that no balance item of
    /// its own transaction follows.
    fn credits_when_sealed(&self, operation: Operation) -> Option<MerchantId> {
        let merchant = |posting: &Posting| match posting.account {
            Account::Merchant(id) => Some(id),
            Account::Customer(_) | Account::Card(_) | Account::Tenant(_) => None,
        };
        if Operation::MOVING_MERCHANTS.contains(&operation) { None } else { self.postings.iter().find_map(merchant) }
    }

    fn common(&self, from: &Provenance) -> Item {
        let mut item = Item::from([
            ("transaction_id".to_owned(), Value::s(self.id)),
            ("operation".to_owned(), Value::s(from.operation)),
            ("principal".to_owned(), Value::s(from.principal)),
            ("actor".to_owned(), Value::s(from.actor)),
            ("idempotency_key".to_owned(), Value::s(&from.key.text)),
            (attr::CREATED_AT.to_owned(), Value::s(from.now)),
        ]);
        item.extend(self.terms.version.attribute());
        item.extend(self.memo.iter().flat_map(Memo::attributes));
        item
    }
}

fn line(role: Role, key: &Key, attributes: Item) -> Result<StoredLine<'_>, BuildError> {
    StoredLine::under(key, attributes).ok_or(BuildError::EntryForm(role))
}

/// Puts an entry, or a reference to one.
fn put(role: Role, key: Key, item: Item) -> TransactItem {
    // An entry with this id means that the id was generated twice: a fault of the ledger.
    TransactItem::put_new(role, key, item, Failure::AlreadyExists)
}

/// A map of signed changes by asset.
pub(crate) fn changes(deltas: &[Delta]) -> Value {
    Value::M(deltas.iter().map(|delta| (delta.asset().to_string(), Value::N(delta.text()))).collect())
}
