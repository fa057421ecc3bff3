//! Journal entries as published: CloudEvents 1.0 events in structured JSON, of the schema under `events/v1`. They
//! hold no personal data: no memo, no actor, no key.

mod announcement;
mod letter;
mod marks;
#[cfg(test)]
mod tests;

pub use announcement::{
    Announcement, CONTACT_CHANGED, CONTACT_CHANGED_SCHEMA, DESTINATION_CHANGED, DESTINATION_CHANGED_SCHEMA,
    RECONCILIATION_BREAK, RECONCILIATION_BREAK_SCHEMA, SIGN_IN_CHANGED, SIGN_IN_CHANGED_SCHEMA, SOURCE,
};
pub use letter::DeadLetter;
pub use marks::{MARKS_MAX, published};

use crate::account::{self, Account, Posting};
use crate::dynamo::{Attributes, Item, ItemError};
use crate::ids::{BankFileId, Tenant, TransactionId, parse_uuid};
use crate::journal::{self, JournalEntry};
use crate::keys::Key;
use crate::time::Timestamp;
use serde_json::{Map, Value, json};

/// The event type, with the version of its schema.
pub const TYPE: &str = "ecopay.ledger.transaction.v1";
/// The schema of an event, kept in the repository under `events/v1`.
pub const SCHEMA: &str = "https://ecopay.example/events/v1/transaction.schema.json";

/// The attributes that link an entry to another record. Each holds that record's id.
const LINKS: [&str; 7] =
    ["adjustment_id", "merchant_id", "payment_id", "refund_id", "reverses", "settlement_id", "topup_id"];
/// The attribute that links the debit of a bank file to it.
const BANK_FILE: &str = "bank_file_id";

/// An event, ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The transaction's id. Receivers recognize a repetition by it.
    pub id: TransactionId,
    /// The ordering group: the account in whose partition the entry is kept. Events of one group are sent in order.
    pub group: String,
    /// When the transaction took place.
    pub created_at: Timestamp,
    /// The event's JSON.
    pub body: String,
}

/// Why an entry cannot be published. Repeats nothing of the entry's content.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unpublishable {
    /// An attribute is missing or malformed.
    #[error(transparent)]
    Unreadable(#[from] ItemError),
    /// The item is no journal entry.
    #[error("the item is not a journal entry")]
    NoEntry,
    /// The item's id differs from that of its key.
    #[error("the entry's id differs from the id in its key")]
    OtherId,
    /// The postings do not sum to zero, or there are none.
    #[error("the entry's postings do not sum to zero")]
    Unbalanced,
}

impl Event {
    /// Builds the event of the entry under `key`, in the deployment `ledger`.
    ///
    /// # Errors
    /// [`Unpublishable`] if the item is no valid journal entry.
    pub fn of_entry(ledger: &str, tenant: &Tenant, key: &Key, item: &Item) -> Result<Self, Unpublishable> {
        let (home, id) = key.entry().ok_or(Unpublishable::NoEntry)?;
        let item = &*journal::expand(item)?;
        let entry = JournalEntry::read(item)?;
        if entry.id != id {
            return Err(Unpublishable::OtherId);
        }
        let balanced = account::unbalanced(&entry.postings).is_ok_and(|assets| assets.is_empty());
        if entry.postings.is_empty() || !balanced {
            return Err(Unpublishable::Unbalanced);
        }
        let (id, created_at) = (entry.id, entry.created_at);
        let body = json!({
            "specversion": "1.0",
            "id": id.to_string(),
            "source": source(ledger, tenant),
            "type": TYPE,
            "subject": home.to_string(),
            "time": created_at.rfc3339(),
            "datacontenttype": "application/json",
            "dataschema": SCHEMA,
            "data": data(tenant, &entry, item)?,
        });
        Ok(Self { id, group: group(tenant, home), created_at, body: body.to_string() })
    }
}

/// The event's source: the deployment's name and the tenant.
fn source(ledger: &str, tenant: &Tenant) -> String {
    let plain: String = form_urlencoded::byte_serialize(ledger.as_bytes()).collect();
    format!("/ledgers/{plain}/tenants/{tenant}")
}

/// The ordering group. At most 78 characters, all valid in a queue's group id: a slug, a kind of account and a UUID.
fn group(tenant: &Tenant, home: Account) -> String {
    format!("{tenant}#{home}")
}

fn data(tenant: &Tenant, entry: &JournalEntry, item: &Item) -> Result<Value, ItemError> {
    let mut data = Map::new();
    let mut insert = |name: &str, value: Value| {
        data.insert(name.to_owned(), value);
    };
    insert("tenant", json!(tenant.as_str()));
    insert("transaction_id", json!(entry.id.to_string()));
    insert("operation", json!(entry.operation));
    insert("created_at", json!(entry.created_at.rfc3339()));
    insert("postings", entry.postings.iter().map(posting).collect());
    for name in LINKS {
        if let Some(id) = item.opt_parsed(name, parse_uuid)? {
            insert(name, json!(id.to_string()));
        }
    }
    if let Some(file) = item.opt_parsed(BANK_FILE, BankFileId::parse)? {
        insert(BANK_FILE, json!(file.to_string()));
    }
    Ok(Value::Object(data))
}

fn posting(posting: &Posting) -> Value {
    json!({
        "account": posting.account.to_string(),
        "asset": posting.delta.asset().to_string(),
        "delta": posting.delta.text(),
        "bucket": posting.bucket.name(),
    })
}
