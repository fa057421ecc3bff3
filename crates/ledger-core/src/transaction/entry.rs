//! A journal entry: every posting of one transaction, and the references that let other parties see it.

use super::{Role, TransactItem};
use crate::account::{Account, Bucket, Posting};
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::ids::{Actor, Principal, Tenant, TransactionId};
use crate::keys::{self, Partition, Shards, Work, attr};
use crate::money::Delta;
use crate::operation::Operation;
use crate::time::Timestamp;

/// A journal entry as a builder gives it. Operation, actor and key are added when it is sealed.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its id.
    pub id: TransactionId,
    /// In whose partition it stands: the first customer or card concerned, else the merchant.
    pub home: Account,
    /// Both sides.
    pub postings: Vec<Posting>,
    /// Others who see it in their history.
    pub references: Vec<Reference>,
    /// What else is kept with it: ids of the payment or refund, the memo, rates.
    pub details: Item,
    /// Over how many shards the work of publishing is spread.
    pub due_shards: Shards,
}

/// Another party's view of an entry. It has no postings of its own.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The party.
    pub partition: Partition,
    /// What the entry changed from this party's point of view.
    pub changes: Vec<Delta>,
}

/// On whose behalf an entry is written: the second line of defence, and what the check for
/// duplicates reads. One operation under one key moves value once.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// Whose books.
    pub tenant: Tenant,
    /// What moved the value.
    pub operation: Operation,
    /// Whose key.
    pub principal: Principal,
    /// Who acted.
    pub actor: Actor,
    /// The idempotency key, or the payment provider's name of the fact.
    pub key: String,
    /// When.
    pub now: Timestamp,
}

/// Where the journal entry of a marker's operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalLink {
    /// In whose partition.
    pub home: Account,
    /// Under which id.
    pub id: TransactionId,
}

impl Entry {
    /// Where it stands.
    pub(crate) fn link(&self) -> JournalLink {
        JournalLink { home: self.home, id: self.id }
    }

    /// The journal item and its references, or `None` if `home` has no partition.
    pub(crate) fn items(&self, from: &Provenance) -> Option<Vec<TransactItem>> {
        let home = Partition::account(&from.tenant, self.home)?;
        let mut entry = self.common(from);
        entry.extend(self.details.clone());
        entry.insert("postings".to_owned(), Value::L(self.postings.iter().map(posting).collect()));
        let shard = keys::shard_of(self.id.uuid(), self.due_shards);
        entry.insert(attr::DUE_PK.to_owned(), Value::S(keys::due_partition(&from.tenant, Work::Publish, shard)));
        entry.insert(attr::DUE_SK.to_owned(), Value::s(self.id));
        // An id that exists was minted twice; nothing explains that but a fault of ours.
        let mut items = vec![TransactItem::put_new(Role::Journal, home.entry(self.id), entry, Failure::AlreadyExists)];
        for reference in &self.references {
            let mut item = self.common(from);
            item.extend(self.details.clone());
            item.insert("home".to_owned(), Value::s(self.home));
            item.insert("changes".to_owned(), changes(&reference.changes));
            let key = reference.partition.entry_reference(self.id);
            items.push(TransactItem::put_new(Role::JournalReference, key, item, Failure::AlreadyExists));
        }
        Some(items)
    }

    fn common(&self, from: &Provenance) -> Item {
        Item::from([
            ("transaction_id".to_owned(), Value::s(self.id)),
            ("operation".to_owned(), Value::s(from.operation)),
            ("principal".to_owned(), Value::s(from.principal)),
            ("actor".to_owned(), Value::s(from.actor)),
            ("idempotency_key".to_owned(), Value::s(&from.key)),
            (attr::CREATED_AT.to_owned(), Value::s(from.now)),
        ])
    }
}

fn posting(posting: &Posting) -> Value {
    let mut item = Item::from([
        ("account".to_owned(), Value::s(posting.account)),
        ("asset".to_owned(), Value::s(posting.delta.asset())),
        ("delta".to_owned(), Value::N(posting.delta.text())),
    ]);
    match posting.bucket {
        Bucket::Available => {}
        Bucket::Held => {
            item.insert("bucket".to_owned(), Value::s(posting.bucket.name()));
        }
    }
    Value::M(item)
}

/// A map of signed changes by asset.
pub(crate) fn changes(deltas: &[Delta]) -> Value {
    Value::M(deltas.iter().map(|delta| (delta.asset().to_string(), Value::N(delta.text()))).collect())
}
