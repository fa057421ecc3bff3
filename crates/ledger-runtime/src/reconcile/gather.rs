//! Reads all items with facts of one group directly: those that a suspicion is about.

mod bank_files;
mod periods;

use super::Reconciler;
use super::read::with_unsupported_marked;
use crate::problem::Problem;
use crate::psp::{LookupResult, PspLookup, PspObject};
use http::StatusCode;
use ledger_core::account::Account;
use ledger_core::cash_rooms::CashRooms;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::ids::{MerchantId, PaymentId, SettlementId, TerminalId, TerminalOwner, TopupId, TransactionId};
use ledger_core::journal::expand;
use ledger_core::keys::{self, Key, Partition, Shards, attr};
use ledger_core::money::Asset;
use ledger_core::psp::PspId;
use ledger_core::reads::{self, Query};
use ledger_core::reconcile::{Fact, Group, Observation, Subject, of_intent, of_item, of_payout, of_refund};
use ledger_core::settlements::read_batch;
use std::collections::{BTreeMap, BTreeSet};

/// The number of items that one group may have: more cannot be read as of one moment.
const ITEMS_MAX: usize = 20_000;

/// The facts of a group, sorted, from direct reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gathered {
    pub(super) facts: Vec<Fact>,
    /// Whether every item was read that may have a fact of the group. If not, a break that is not found again may still
    /// exist.
    pub(super) is_complete: bool,
}

/// The items and facts read for one group.
pub(super) struct Gather<'a> {
    of: &'a Reconciler<'a>,
    evidence: &'a BTreeSet<String>,
    /// By key, so that no item counts twice.
    items: BTreeMap<(String, String), Item>,
    /// Facts of the PSP's objects.
    facts: Vec<Fact>,
    is_complete: bool,
}

/// Why a group cannot be read.
pub(super) enum Stopped {
    /// It has too many items, or the outcome of a PSP lookup is unknown.
    Unsettled,
    /// It changed while it was read.
    Changed,
    /// A read of the store failed.
    Problem(Problem),
}

impl From<Problem> for Stopped {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl<'a> Gather<'a> {
    /// The facts of a group, as of now.
    pub(super) async fn facts(
        of: &'a Reconciler<'a>,
        group: &Group,
        evidence: &'a BTreeSet<String>,
    ) -> Result<Gathered, Stopped> {
        let mut this = Self { of, evidence, items: BTreeMap::new(), facts: Vec::new(), is_complete: true };
        match &group.subject {
            Subject::Account(Account::Merchant(merchant), asset) => this.merchant(*merchant, asset).await?,
            Subject::Account(account, asset) => this.wallet(*account, asset).await?,
            Subject::Entry(id) => this.entry(*id).await?,
            Subject::Payment(id) => this.payment(*id).await?,
            Subject::Topup(id) => this.topup(*id).await?,
            Subject::Settlement(id) => this.settlement(*id).await?,
            Subject::Period(merchant, id) => this.period(*merchant, *id).await?,
            Subject::CashRoom(terminal) => this.cash_room(*terminal).await?,
            Subject::Rooms(TerminalOwner::Merchant(merchant)) => this.rooms(*merchant).await?,
            Subject::Rooms(TerminalOwner::Operator) => this.rooms_of_operator().await?,
            Subject::BankFile(id) => this.bank_file(*id).await?,
            // An idempotency key's facts are of journal entries, which never change: its breaks are not read again.
            Subject::Key(_) => {}
        }
        let mut facts = this.facts;
        facts.extend(of.facts_of(group, this.items.values()));
        facts.sort();
        Ok(Gathered { facts, is_complete: this.is_complete })
    }

    /// Reads a wallet or a card: its own entries, entries that refer to it, holds and reservations.
    async fn wallet(&mut self, account: Account, asset: &Asset) -> Result<(), Stopped> {
        let tenant = self.of.tenant;
        let Some(partition) = Partition::account(tenant, account) else { return Ok(()) };
        self.all_of(&reads::account_entries(&partition)).await?;
        let entries: Vec<&Item> = self.items.values().collect();
        let mut wanted: Vec<Key> = entries.iter().filter_map(|entry| self.of.held_by(entry)).collect();
        let references = self.pages(&reads::history_references(&partition, None)).await?;
        wanted.extend(references.iter().filter_map(|reference| self.of.entry_of(reference)));
        let markers = self.pages(&reads::topup_markers(&partition)).await?;
        let topups = markers.iter().filter_map(|marker| marker.parsed("topup_id", TopupId::parse).ok());
        wanted.extend(topups.map(|topup| keys::topup(tenant, topup)));
        for id in self.evidence {
            wanted.extend(self.named(id, "payment", PaymentId::parse).map(|id| keys::hold(tenant, id)));
            wanted.extend(self.named(id, "topup", TopupId::parse).map(|id| keys::topup(tenant, id)));
        }
        self.get(wanted).await?;
        let balance = self.of.stored(&self.of.balance_keys(account, asset)).await?;
        self.take(balance)
    }

    /// Reads a merchant: its balance, its closed periods, and its entries, which include those of settlements. Entries of
    /// payments are not needed: the periods have their sums.
    async fn merchant(&mut self, merchant: MerchantId, asset: &Asset) -> Result<(), Stopped> {
        let tenant = self.of.tenant;
        let partition = Partition::merchant(tenant, merchant);
        self.all_of(&reads::account_entries(&partition)).await?;
        self.all_of(&reads::periods(tenant, merchant)).await?;
        self.get(vec![partition.balance(asset)]).await
    }

    /// The largest number of shards of a merchant's records. Records may name a merchant that does not exist.
    async fn shards_of(&self, merchant: MerchantId) -> Result<u32, Problem> {
        match self.of.app.merchant_anew(self.of.tenant, merchant).await {
            Ok(terms) => Ok(terms.shards.count()),
            Err(problem) if problem.status() == StatusCode::NOT_FOUND => Ok(Shards::MAX.count()),
            Err(problem) => Err(problem),
        }
    }

    /// Reads an entry, in the partition of each account that the break names, with the bonus of a top-up and the other entries
    /// that the break names.
    async fn entry(&mut self, id: TransactionId) -> Result<(), Stopped> {
        let accounts = || self.evidence.iter().filter_map(|home| Account::parse(home).ok());
        let homes = accounts().filter_map(|home| Partition::account(self.of.tenant, home));
        let others = self.evidence.iter().filter_map(|id_of| self.named(id_of, "transaction", TransactionId::parse));
        let ids: BTreeSet<TransactionId> = others.chain([id]).collect();
        let mut wanted: Vec<Key> = homes.flat_map(|home| ids.iter().map(move |id| home.entry(*id))).collect();
        wanted.extend(accounts().filter_map(|account| match account {
            Account::Merchant(merchant) => Some(keys::cash_bonus(self.of.tenant, merchant, id)),
            Account::Customer(_) | Account::Card(_) | Account::Tenant(_) => None,
        }));
        // A refund names its entry without its home, which is the payer's partition.
        for id_of in self.evidence {
            if let Some(payment) = self.named(id_of, "payment", PaymentId::parse) {
                let record = self.of.get(&keys::payment(self.of.tenant, payment)).await?;
                let payer = record.and_then(|record| record.parsed("payer", Account::parse).ok());
                let home = payer.and_then(|payer| Partition::account(self.of.tenant, payer));
                wanted.extend(home.map(|home| home.entry(id)));
            }
        }
        self.get(wanted).await
    }

    /// Reads a payment: its partition, and the entries that it and its refunds name.
    async fn payment(&mut self, id: PaymentId) -> Result<(), Stopped> {
        let tenant = self.of.tenant;
        self.all_of(&reads::payment_items(tenant, id)).await?;
        let payers = self.items.values().filter_map(|item| item.parsed("payer", Account::parse).ok());
        let named = self.evidence.iter().filter_map(|home| Account::parse(home).ok());
        let homes: Vec<Partition> = payers.chain(named).filter_map(|home| Partition::account(tenant, home)).collect();
        let entries = self.items.values().filter_map(|item| item.parsed("transaction_id", TransactionId::parse).ok());
        let from_evidence = self.evidence.iter().filter_map(|id| self.named(id, "transaction", TransactionId::parse));
        let entries: BTreeSet<TransactionId> = entries.chain(from_evidence).collect();
        let wanted = homes.iter().flat_map(|home| entries.iter().map(|entry| home.entry(*entry)));
        let wanted = wanted.collect();
        self.get(wanted).await
    }

    /// Reads a top-up: its partition, its customer's entries, and the PSP's objects.
    async fn topup(&mut self, id: TopupId) -> Result<(), Stopped> {
        let tenant = self.of.tenant;
        self.all_of(&reads::topup_items(tenant, id)).await?;
        let mut objects = BTreeSet::new();
        for item in self.items.values() {
            for (name, is_refund) in [("payment_intent", false), ("psp_refund", true)] {
                let known = opt_text(item, name).and_then(PspId::parse);
                objects.extend(known.map(|known| (known, is_refund)));
            }
        }
        for (prefix, is_refund) in [("pi_", false), ("re_", true), ("pyr_", true)] {
            let named = self.evidence.iter().filter(|id| id.starts_with(prefix)).filter_map(|id| PspId::parse(id));
            objects.extend(named.map(|object| (object, is_refund)));
        }
        let customers =
            self.items.values().filter_map(|item| Some(format!("customer:{}", opt_text(item, "customer_id")?)));
        let customers: BTreeSet<String> = customers.chain(self.evidence.iter().cloned()).collect();
        for account in customers.iter().filter_map(|customer| Account::parse(customer).ok()) {
            if let Some(home) = Partition::account(tenant, account) {
                self.all_of(&reads::account_entries(&home)).await?;
            }
        }
        let Some(psp_executor) = self.of.psp_executor else { return Ok(()) };
        for (object, is_refund) in objects {
            let fact = match psp_executor
                .look_up_object(if is_refund { PspLookup::Refund(&object) } else { PspLookup::Intent(&object) })
                .await
            {
                LookupResult::Found(PspObject::Intent(intent)) => of_intent(tenant, &intent),
                LookupResult::Found(PspObject::Refund(refund)) => of_refund(tenant, &refund),
                LookupResult::Found(PspObject::Payout(payout)) => of_payout(tenant, &payout),
                LookupResult::Absent => None,
                LookupResult::Unknown => return Err(Stopped::Unsettled),
            };
            self.facts.extend(fact);
        }
        Ok(())
    }

    /// Reads a settlement: its record, its lists of records with those records, the periods that it has, its bank transfer, and its
    /// merchant's entries.
    async fn settlement(&mut self, id: SettlementId) -> Result<(), Stopped> {
        let tenant = self.of.tenant;
        let merchants = self.evidence.iter().filter_map(|id| Account::parse(id).ok());
        for account in merchants {
            let Account::Merchant(merchant) = account else { continue };
            let partition = Partition::merchant(tenant, merchant);
            self.all_of(&reads::account_entries(&partition)).await?;
            let mut wanted = vec![keys::settlement(tenant, merchant, id)];
            for list in self.pages(&reads::settled_batches(tenant, merchant, id)).await? {
                let records = read_batch(&list).map_err(Problem::from)?;
                wanted.extend(records.iter().map(|record| record.key(tenant, merchant)));
            }
            self.get(wanted).await?;
            let id = id.to_string();
            let is_of_it = |record: &Item| opt_text(record, "settlement_id") == Some(&id);
            let periods = self.pages(&reads::periods(tenant, merchant)).await?;
            self.take(periods.into_iter().filter(is_of_it).collect())?;
        }
        self.transfers(id).await?;
        let Some(psp_executor) = &self.of.psp_executor else { return Ok(()) };
        let payouts = self.evidence.iter().filter(|id| id.starts_with("po_")).filter_map(|id| PspId::parse(id));
        let recorded = self.items.values().filter_map(|item| PspId::parse(opt_text(item, "payout_reference")?));
        for payout in payouts.chain(recorded).filter(|id| id.as_str().starts_with("po_")).collect::<BTreeSet<PspId>>() {
            let fact = match psp_executor.look_up_object(PspLookup::Payout(&payout)).await {
                LookupResult::Found(PspObject::Payout(payout)) => of_payout(tenant, &payout),
                LookupResult::Found(PspObject::Intent(_) | PspObject::Refund(_)) | LookupResult::Unknown => {
                    return Err(Stopped::Unsettled);
                }
                LookupResult::Absent => None,
            };
            self.facts.extend(fact);
        }
        Ok(())
    }

    /// Reads a terminal's cash room: its profile, the references to its operations, its collections, and what merchants and
    /// the operator allotted to it.
    async fn cash_room(&mut self, terminal: TerminalId) -> Result<(), Stopped> {
        let tenant = self.of.tenant;
        let partition = Partition::terminal(tenant, terminal);
        self.all_of(&reads::history_references(&partition, None)).await?;
        self.all_of(&reads::cash_collections(tenant, terminal)).await?;
        let mut wanted = vec![partition.profile(), Partition::tenant(tenant).cash_rooms()];
        for account in self.evidence.iter().filter_map(|id| Account::parse(id).ok()) {
            if let Account::Merchant(merchant) = account {
                wanted.push(Partition::merchant(tenant, merchant).cash_rooms());
            }
        }
        self.get(wanted).await
    }

    /// Reads a merchant's rooms, its settlements, and the returns that took from its refund room.
    async fn rooms(&mut self, merchant: MerchantId) -> Result<(), Stopped> {
        let partition = Partition::merchant(self.of.tenant, merchant);
        self.all_of(&reads::settlements(self.of.tenant, merchant, None)).await?;
        self.records_of(merchant, |record| record.contains_key("refund_room")).await?;
        self.get(vec![partition.cash_rooms(), partition.refund_room()]).await
    }

    /// Reads the operator's rooms, and the collections of its counters.
    async fn rooms_of_operator(&mut self) -> Result<(), Stopped> {
        let tenant = self.of.tenant;
        let Some(rooms) = self.of.get(&Partition::tenant(tenant).cash_rooms()).await? else { return Ok(()) };
        let counters = CashRooms::read(&rooms).map(|rooms| rooms.allotted).map_err(Problem::from)?;
        for counter in counters.into_keys() {
            self.all_of(&reads::cash_collections(tenant, counter)).await?;
        }
        self.take(vec![rooms])
    }

    /// Reads a merchant's payments and returns for which `is_meant` holds.
    async fn records_of(&mut self, merchant: MerchantId, is_meant: impl Fn(&Item) -> bool) -> Result<(), Stopped> {
        for shard in 0..self.shards_of(merchant).await? {
            let Some(listed) = self.listed_if_few(merchant, shard).await? else { continue };
            // The index has keys alone: each record is read.
            let records = self.of.app.dynamo().stored_many(&listed).await.map_err(Problem::from)?;
            let records = records.iter().map(with_unsupported_marked);
            self.take(records.filter(|record| is_meant(record)).collect())?;
        }
        Ok(())
    }

    /// The keys of a merchant's records of a shard; `None`, and the group is not complete, if there are too many.
    async fn listed_if_few(&mut self, merchant: MerchantId, shard: u32) -> Result<Option<Vec<Key>>, Stopped> {
        match self.listed(merchant, shard).await {
            Ok(listed) => Ok(Some(listed)),
            Err(Stopped::Unsettled) => {
                self.is_complete = false;
                Ok(None)
            }
            Err(stopped @ (Stopped::Problem(_) | Stopped::Changed)) => Err(stopped),
        }
    }

    /// The keys of a merchant's records of a shard.
    async fn listed(&self, merchant: MerchantId, shard: u32) -> Result<Vec<Key>, Stopped> {
        let entries = self.pages(&reads::merchant_records(self.of.tenant, merchant, shard)).await?;
        Ok(entries.iter().filter_map(|entry| self.of.key_of(entry)).collect())
    }

    fn named<T, E>(&self, text: &str, kind: &str, parse: impl FnOnce(&str) -> Result<T, E>) -> Option<T> {
        parse(text.strip_prefix(kind)?.strip_prefix(':')?).ok()
    }

    /// Adds all items of a query.
    async fn all_of(&mut self, query: &Query) -> Result<(), Stopped> {
        let items = self.pages(query).await?;
        self.take(items)
    }

    /// All items of a query. [`Stopped::Unsettled`] if there are more than [`ITEMS_MAX`].
    async fn pages(&self, query: &Query) -> Result<Vec<Item>, Stopped> {
        let query = query.clone().limit(ITEMS_MAX.saturating_add(1));
        let rows = self.of.app.dynamo().query_readable(&query).await.map_err(Problem::from)?;
        if rows.len() > ITEMS_MAX {
            return Err(Stopped::Unsettled);
        }
        Ok(rows.iter().map(with_unsupported_marked).collect())
    }

    async fn get(&mut self, wanted: Vec<Key>) -> Result<(), Stopped> {
        if wanted.len() > ITEMS_MAX {
            return Err(Stopped::Unsettled);
        }
        let items = self.of.app.dynamo().get_many(&wanted).await.map_err(Problem::from)?;
        self.take(items.into_iter().flatten().collect())
    }

    fn take(&mut self, items: Vec<Item>) -> Result<(), Stopped> {
        for item in items {
            let text = |name| item.key_text(name).unwrap_or_default().to_owned();
            self.items.insert((text(attr::PK), text(attr::SK)), item);
        }
        if self.items.len() > ITEMS_MAX { Err(Stopped::Unsettled) } else { Ok(()) }
    }
}

impl Reconciler<'_> {
    pub(super) async fn get(&self, key: &Key) -> Result<Option<Item>, Problem> {
        Ok(self.app.dynamo().get(key).await?)
    }

    /// The items with these keys that exist, in the form in which a scan of the table returns them.
    pub(super) async fn stored(&self, keys: &[Key]) -> Result<Vec<Item>, Problem> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let items = self.app.dynamo().stored_together(keys).await?;
        Ok(items.iter().flatten().map(with_unsupported_marked).collect())
    }

    /// The keys of the items that may hold an account's balance. A customer's may be in the legacy layout.
    pub(super) fn balance_keys(&self, account: Account, asset: &Asset) -> Vec<Key> {
        let partition = Partition::account(self.tenant, account);
        match (account, partition) {
            (Account::Card(id), _) => vec![keys::card(self.tenant, id)],
            (Account::Customer(_), Some(own)) => vec![own.balance(asset), own.god_record(), keys::metrics_of(&own)],
            (Account::Merchant(_), Some(own)) => vec![own.balance(asset)],
            (Account::Customer(_) | Account::Merchant(_), None) | (Account::Tenant(_), _) => Vec::new(),
        }
    }

    /// The facts of a group in these items. Breaks of single items are confirmed elsewhere.
    pub(super) fn facts_of<'a>(&self, group: &Group, items: impl IntoIterator<Item = &'a Item>) -> Vec<Fact> {
        let now = self.app.now();
        let observations = items.into_iter().flat_map(|item| of_item(item, now, self.settings.limits));
        let of_group = observations.filter_map(|observation| match observation {
            Observation::Fact(fact) => Some(fact).filter(|fact| fact.group() == *group),
            Observation::Break(_) | Observation::Newer(_) => None,
        });
        of_group.collect()
    }

    fn key_of(&self, item: &Item) -> Option<Key> {
        Key::stored(self.tenant, item.key_text(attr::PK)?, item.key_text(attr::SK)?)
    }

    /// The key of the entry that a reference names.
    fn entry_of(&self, reference: &Item) -> Option<Key> {
        let reference = expand(reference).ok()?;
        let home = reference.parsed("home", Account::parse).ok()?;
        let id = reference.parsed("transaction_id", TransactionId::parse).ok()?;
        Some(Partition::account(self.tenant, home)?.entry(id))
    }

    /// The key of the hold, if an entry belongs to a payment with a hold.
    fn held_by(&self, entry: &Item) -> Option<Key> {
        let entry = expand(entry).ok()?;
        let payment = entry.parsed("payment_id", PaymentId::parse).ok()?;
        entry.contains_key("payment_status").then(|| keys::hold(self.tenant, payment))
    }
}

/// A text that another item is found by. If the attribute has another type, `of_item` gives a break; here it leads to
/// no item.
fn opt_text<'a>(item: &'a Item, name: &str) -> Option<&'a str> {
    item.opt_text(name).ok().flatten()
}
