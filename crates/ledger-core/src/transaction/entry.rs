//! A journal entry: every posting of one transaction, and the references that let other parties see it.

use super::{Role, TransactItem};
use crate::account::{Account, Posting};
use crate::dynamo::{Item, Value};
use crate::failure::Failure;
use crate::idempotency::{Claim, JournalLink};
use crate::ids::TransactionId;
use crate::keys::{self, Partition, Shards, Work, attr};
use crate::money::Delta;

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

impl Entry {
    /// Where it stands.
    pub(super) fn link(&self) -> JournalLink {
        JournalLink { home: self.home, id: self.id }
    }

    /// The journal item and its references, or `None` if `home` has no partition.
    pub(super) fn items(&self, claim: &Claim) -> Option<Vec<TransactItem>> {
        let home = Partition::account(&claim.tenant, self.home)?;
        let mut entry = self.common(claim);
        entry.extend(self.details.clone());
        entry.insert("postings".to_owned(), Value::L(self.postings.iter().map(posting).collect()));
        let shard = keys::shard_of(self.id.uuid(), self.due_shards);
        entry.insert(attr::DUE_PK.to_owned(), Value::S(keys::due_partition(&claim.tenant, Work::Publish, shard)));
        entry.insert(attr::DUE_SK.to_owned(), Value::s(self.id));
        // An id that exists was minted twice; nothing explains that but a fault of ours.
        let mut items = vec![TransactItem::put_new(Role::Journal, home.entry(self.id), entry, Failure::AlreadyExists)];
        for reference in &self.references {
            let mut item = self.common(claim);
            item.extend(self.details.clone());
            item.insert("home".to_owned(), Value::s(self.home));
            item.insert("changes".to_owned(), changes(&reference.changes));
            let key = reference.partition.entry_reference(self.id);
            items.push(TransactItem::put_new(Role::JournalReference, key, item, Failure::AlreadyExists));
        }
        Some(items)
    }

    fn common(&self, claim: &Claim) -> Item {
        Item::from([
            ("transaction_id".to_owned(), Value::s(self.id)),
            ("operation".to_owned(), Value::s(claim.operation)),
            ("principal".to_owned(), Value::s(claim.principal)),
            ("actor".to_owned(), Value::s(claim.actor)),
            ("idempotency_key".to_owned(), Value::s(claim.key.as_str())),
            (attr::CREATED_AT.to_owned(), Value::s(claim.now)),
        ])
    }
}

fn posting(posting: &Posting) -> Value {
    Value::M(Item::from([
        ("account".to_owned(), Value::s(posting.account)),
        ("asset".to_owned(), Value::s(posting.delta.asset())),
        ("delta".to_owned(), Value::N(posting.delta.text())),
    ]))
}

/// A map of signed changes by asset.
pub(crate) fn changes(deltas: &[Delta]) -> Value {
    Value::M(deltas.iter().map(|delta| (delta.asset().to_string(), Value::N(delta.text()))).collect())
}
