//! The texts that persons typed: where they are, beside a record that a customer's list names, and the actions that remove them.

use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::idempotency::ClaimKey;
use crate::ids::{ApprovalId, AuditId, JobId, PaymentId, Principal, RefundId, Tenant, TopupId, TransactionId};
use crate::journal::{LEGACY, expand};
use crate::keys::{self, Key, Partition, attr, sk};
use crate::memo::MEMO;
use crate::notices::{PREVIOUS_EMAIL, PREVIOUS_PHONE};
use crate::transaction::{Role, TransactItem, exists};
use std::collections::{BTreeMap, BTreeSet};

/// The attributes that are removed: texts that a person typed, and a customer's addresses before a change.
const ERASED: [&str; 5] = [MEMO, "memo", "reason", PREVIOUS_EMAIL, PREVIOUS_PHONE];

/// The action that removes the texts of an item, as it was read; `None` if it has none. The hash of a text stays. What a row of
/// a legacy history had becomes empty: the attribute says that a reference is to such a row.
#[must_use]
pub fn erase_texts(key: &Key, item: &Item) -> Option<TransactItem> {
    let there = ERASED.into_iter().filter(|name| item.contains_key(*name));
    let mut update = there.fold(Update::new(), Update::remove);
    if item.get(LEGACY).is_some_and(|row| *row != Value::M(Item::new())) {
        update = update.set(LEGACY, "empty", Value::M(Item::new()));
    }
    (!update.is_empty()).then(|| TransactItem::update(Role::Erased, key.clone(), update, vec![exists()]))
}

/// A page of a list of the customer, as the job reads it.
#[derive(Clone, Debug)]
pub struct ErasureSlice {
    records: Vec<Listed>,
    is_last: bool,
}

/// A record of the page.
#[derive(Clone, Debug)]
struct Listed {
    place: String,
    key: Key,
    /// The record, if the list has it whole.
    item: Option<Item>,
    /// The item that names the others: the entry of a reference, or the act.
    source: Option<Key>,
}

/// The records of a page, each with the items that may have its texts.
#[derive(Clone, Debug)]
pub struct ErasureTexts {
    pub(super) records: Vec<RecordTexts>,
    pub(super) is_last: bool,
}

/// The items that may have the texts of a record.
#[derive(Clone, Debug)]
pub(super) struct RecordTexts {
    /// Where the record is in its list.
    pub(super) place: String,
    /// The items, the record among them.
    pub(super) keys: BTreeSet<Key>,
    /// Whether the record names its items in a way that can be read.
    pub(super) is_readable: bool,
}

impl ErasureSlice {
    /// The page that a query found, sorted by an attribute. Fewer than `limit` are the last of their list.
    ///
    /// # Errors
    /// [`ItemError`] if an item has no key of the tenant.
    pub(super) fn read(sorted_by: &str, tenant: &Tenant, found: &[Item], limit: usize) -> Result<Self, ItemError> {
        let listed = |item: &Item| {
            let key = key_of(tenant, item).ok_or_else(|| ItemError::invalid(attr::PK))?;
            let place = item.string(sorted_by)?;
            let is_act = key.sk().starts_with(sk::AUDIT);
            let source = if is_act { Some(key.clone()) } else { home(tenant, item) };
            Ok(Listed { place, key, item: (!is_act).then(|| item.clone()), source })
        };
        let records = found.iter().map(listed).collect::<Result<_, ItemError>>()?;
        Ok(Self { records, is_last: found.len() < limit })
    }

    /// The items to be read next: what names the others.
    #[must_use]
    pub fn sources(&self) -> Vec<Key> {
        let all: BTreeSet<Key> = self.records.iter().filter_map(|record| record.source.clone()).collect();
        all.into_iter().collect()
    }

    /// The items that may have the texts. `sources` are the items of [`ErasureSlice::sources`] that exist, in any order.
    #[must_use]
    pub fn texts(self, tenant: &Tenant, sources: &[Item]) -> ErasureTexts {
        let sources = by_key(tenant, sources);
        let texts = |record: Listed| {
            let source = record.source.as_ref().and_then(|key| sources.get(key)).copied();
            let named = match (&record.item, source) {
                // An act.
                (None, Some(act)) => of_act(tenant, act),
                (None, None) => Ok(BTreeSet::new()),
                // A reference, and the entry that it is to.
                (Some(own), Some(entry)) => of_entry(tenant, own)
                    .and_then(|keys| Ok(keys.into_iter().chain(of_entry(tenant, entry)?).collect())),
                // An entry, or a reference to a row of a legacy history, which has no entry.
                (Some(own), None) => of_entry(tenant, own),
            };
            let is_readable = named.is_ok();
            let keys = named.unwrap_or_default().into_iter().chain([record.key]).chain(record.source).collect();
            RecordTexts { place: record.place, keys, is_readable }
        };
        ErasureTexts { records: self.records.into_iter().map(texts).collect(), is_last: self.is_last }
    }
}

impl ErasureTexts {
    /// The items to be read: those that may have texts.
    #[must_use]
    pub fn keys(&self) -> Vec<Key> {
        let all: BTreeSet<&Key> = self.records.iter().flat_map(|record| &record.keys).collect();
        all.into_iter().cloned().collect()
    }
}

/// The items by their keys.
pub(super) fn by_key<'a>(tenant: &Tenant, items: &'a [Item]) -> BTreeMap<Key, &'a Item> {
    items.iter().filter_map(|item| Some((key_of(tenant, item)?, item))).collect()
}

fn key_of(tenant: &Tenant, item: &Item) -> Option<Key> {
    Key::stored(tenant, item.key_text(attr::PK)?, item.key_text(attr::SK)?)
}

/// The entry that a reference is to; `None` of an entry, and of what cannot be read.
fn home(tenant: &Tenant, item: &Item) -> Option<Key> {
    let full = expand(item).ok()?;
    let home = full.opt_parsed("home", Account::parse).ok()??;
    let id = full.parsed("transaction_id", TransactionId::parse).ok()?;
    Some(Partition::account(tenant, home)?.entry(id))
}

/// The items that an entry, or a reference to one, names: its references, and records of what it belongs to.
fn of_entry(tenant: &Tenant, item: &Item) -> Result<BTreeSet<Key>, ItemError> {
    let full = expand(item)?;
    let mut keys = BTreeSet::new();
    if full.contains_key("postings") {
        let id = full.parsed("transaction_id", TransactionId::parse)?;
        let accounts = full.maps("postings", |posting| posting.parsed("account", Account::parse))?;
        let parties = accounts.into_iter().filter_map(|account| Partition::account(tenant, account));
        // A terminal is the principal of what it does, and no account.
        let principal = Partition::principal(tenant, full.parsed("principal", Principal::parse)?);
        keys.extend(parties.chain([principal]).map(|party| party.entry_reference(id)));
    }
    let refund = full.opt_parsed("refund_id", RefundId::parse)?;
    if let Some(payment) = full.opt_parsed("payment_id", PaymentId::parse)? {
        keys.insert(keys::payment(tenant, payment));
        keys.extend(refund.map(|refund| keys::refund(tenant, payment, refund)));
    }
    if let Some(topup) = full.opt_parsed("topup_id", TopupId::parse)? {
        keys.extend(refund.map(|refund| keys::topup_refund(tenant, topup, refund)));
    }
    let approval = full.opt_parsed("idempotency_key", ClaimKey::parse)?.and_then(|key| key.approval());
    keys.extend(approval.map(|approval| keys::approval(tenant, approval)));
    Ok(keys)
}

/// The items that an act names in its details.
fn of_act(tenant: &Tenant, act: &Item) -> Result<BTreeSet<Key>, ItemError> {
    let details = act.map("details")?;
    let mut keys = BTreeSet::from([keys::notice(tenant, act.parsed("audit_id", AuditId::parse)?)]);
    let approval = details.opt_parsed("approval_id", ApprovalId::parse)?;
    keys.extend(approval.map(|approval| keys::approval(tenant, approval)));
    if let Some(topup) = details.opt_parsed("topup_id", TopupId::parse)? {
        let refund = details.opt_parsed("refund_id", RefundId::parse)?;
        keys.extend(refund.map(|refund| keys::topup_refund(tenant, topup, refund)));
    }
    keys.extend(details.opt_parsed("job_id", JobId::parse)?.map(|job| keys::job(tenant, job)));
    Ok(keys)
}
