//! What one stored item gives: facts, and the breaks of the item by itself.

mod bank_files;
mod bonus;
mod books;
mod cash_room;
mod credit;
mod journal;
mod kind;
mod payments;
mod periods;
mod refund_room;
mod topups;

pub use kind::{FactCount, ItemKind};
pub use topups::{of_intent, of_payout, of_refund};

use super::breaks::{BreakKind, Finding};
use super::fact::{AccountFact, Fact, GroupFact, KeyDigest};
use super::num::{Num, Nums};
use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError};
use crate::form::check_form;
use crate::ids::Tenant;
use crate::journal::expand;
use crate::keys::{self, CALLERS_MARKER, Key, LEDGERS_MARKER, attr, kind_of};
use crate::money::{Asset, Delta};
use crate::time::Timestamp;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

/// How late the work of the workers may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For a claim: after its lease, or after its next retry was due.
    pub claim: Duration,
    /// For an entry that was not published as an event.
    pub event: Duration,
    /// For an entry that was not credited.
    pub credit: Duration,
    /// For the bonuses on cash that a settlement covered.
    pub bonus: Duration,
}

impl Default for Limits {
    /// Ten minutes for each, since its worker runs every minute. An hour for bonuses: their worker looks for ten minutes.
    fn default() -> Self {
        let late = Duration::from_secs(10 * 60);
        Self { claim: late, event: late, credit: late, bonus: Duration::from_secs(60 * 60) }
    }
}

/// One observation about an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Observation {
    /// A fact, to be checked with others of its group.
    Fact(Fact),
    /// A break of the item by itself.
    Break(Finding),
    /// An item that a later release wrote: no break, and no facts.
    Newer(NewerItem),
}

/// An item of a later form, or of a kind that this release does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewerItem {
    /// The tenant.
    pub tenant: Tenant,
    /// The name of its kind, as [`ITEM_FORMS`](crate::keys::ITEM_FORMS) has it, or [`UNKNOWN_KIND`].
    pub name: &'static str,
}

/// The name of every kind that this release does not know.
pub const UNKNOWN_KIND: &str = "unknown kind";

/// An item with its key's parts, and the instant for judging lateness.
#[derive(Clone)]
struct StoredItem<'a> {
    item: &'a Item,
    tenant: Tenant,
    kind: &'a str,
    id: &'a str,
    sk: &'a str,
    key: Key,
    now: Timestamp,
    limits: Limits,
}

type Observations = Result<Vec<Observation>, ItemError>;

/// The observations about a stored item. An unreadable item is a break. One of a later form, or of an unknown kind, is newer.
/// None if the key names no tenant: such an item belongs to no tenant's books.
#[must_use]
pub fn of_item(item: &Item, now: Timestamp, limits: Limits) -> Vec<Observation> {
    let pk = item.key_text(attr::PK).unwrap_or_default();
    let sk = item.key_text(attr::SK).unwrap_or_default();
    let Some(tenant) = keys::tenant_of(pk) else { return Vec::new() };
    let Some(key) = Key::stored(&tenant, pk, sk) else { return Vec::new() };
    let mut parts = pk.splitn(3, '#').skip(1);
    let (kind, id) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let item = StoredItem { item, tenant, kind, id, sk, key, now, limits };
    match (ItemKind::of(kind, sk), check_form(item.item)) {
        (Some(kind), Ok(())) => item.observations(kind).unwrap_or_else(|error| vec![item.unreadable(&error)]),
        (Some(_), Err(error)) if !error.is_later_form() => vec![item.unreadable(&error)],
        (Some(_), Err(_)) | (None, _) => vec![item.newer()],
    }
}

impl StoredItem<'_> {
    fn observations(&self, kind: ItemKind) -> Observations {
        match kind {
            ItemKind::Entry => self.expanded(journal::entry),
            ItemKind::Reference => self.expanded(journal::reference),
            ItemKind::Marker => journal::marker(self),
            ItemKind::EventMarker => journal::event(self),
            ItemKind::Approval => journal::approval(self),
            ItemKind::Balance => books::balance(self),
            ItemKind::GodRecord | ItemKind::Metrics => books::legacy(self),
            ItemKind::Card => books::card(self),
            ItemKind::Settlement => books::settlement(self),
            ItemKind::Returned => books::returned(self),
            ItemKind::LaneCredit => periods::lane(self),
            ItemKind::Period => periods::closed(self),
            ItemKind::SettledBatch => periods::taken(self),
            ItemKind::CashRooms => cash_room::rooms(self),
            ItemKind::CashCollection => cash_room::collected(self),
            ItemKind::RefundRoom => refund_room::room(self),
            ItemKind::CashBonus => bonus::bonus(self),
            ItemKind::Settling => bonus::settling(self),
            ItemKind::Terminal => cash_room::terminal(self),
            ItemKind::BankTransfer => bank_files::transfer(self),
            ItemKind::BankFile => bank_files::file(self),
            ItemKind::BankFilePart => bank_files::part(self),
            ItemKind::Payment => payments::payment(self),
            ItemKind::PaymentRefund => payments::refund(self),
            ItemKind::Hold => payments::hold(self),
            ItemKind::Topup => topups::topup(self),
            ItemKind::TopupRefund => topups::refund(self),
            ItemKind::Clawback => topups::clawback(self),
            // These kinds hold no value.
            ItemKind::Profile
            | ItemKind::LegacyHistory
            | ItemKind::MerchantWork
            | ItemKind::KeptEvent
            | ItemKind::Trail
            | ItemKind::TenantWork => Ok(Vec::new()),
        }
    }

    /// The observations about the expanded form of an entry or reference.
    fn expanded(&self, observe: impl FnOnce(&StoredItem<'_>) -> Observations) -> Observations {
        let item = expand(self.item)?;
        observe(&StoredItem { item: &item, ..self.clone() })
    }

    fn unreadable(&self, error: &ItemError) -> Observation {
        let unreadable = self.finding(BreakKind::UnreadableItem, self.shown()).by([self.owner()]);
        let found = format!("no readable `{}`", error.attribute);
        self.broken(unreadable.expected("an item as we write it").found(found))
    }

    fn newer(&self) -> Observation {
        let name = kind_of(self.key.pk(), self.key.sk()).map_or(UNKNOWN_KIND, |kind| kind.name);
        Observation::Newer(NewerItem { tenant: self.tenant.clone(), name })
    }

    fn finding(&self, kind: BreakKind, subject: impl ToString) -> Finding {
        Finding::new(&self.tenant, kind, subject)
    }

    /// A break that is confirmed by reading this item again.
    fn broken(&self, finding: Finding) -> Observation {
        Observation::Break(finding.seen_at(&self.key))
    }

    fn fact(&self, content: GroupFact) -> Observation {
        Observation::Fact(Fact { tenant: self.tenant.clone(), content })
    }

    /// A fact of an account's balance of an asset.
    fn of_account(&self, account: Account, asset: Asset, fact: AccountFact) -> Observation {
        self.fact(GroupFact::Account(account, asset, fact))
    }

    /// Refuses an item whose attribute differs from its key: its facts would be in another group.
    fn check_key(&self, attribute: &str, written: impl ToString, in_key: &str) -> Result<(), ItemError> {
        if written.to_string() == in_key { Ok(()) } else { Err(ItemError::invalid(attribute)) }
    }

    /// The sort key after its prefix.
    fn after<'a>(&'a self, prefix: &str) -> &'a str {
        self.sk.strip_prefix(prefix).unwrap_or_default()
    }

    /// The owner of the partition: `customer:<id>`, or an account of the tenant's own.
    fn owner(&self) -> String {
        if self.kind == keys::OWN { self.id.to_owned() } else { format!("{}:{}", self.kind, self.id) }
    }

    /// The item's name without text from clients: a marker's key may be anything.
    fn shown(&self) -> String {
        match self.marked_operation() {
            Some(operation) => format!("{} marker of {operation}", self.owner()),
            None => format!("{} {}", self.owner(), self.sk),
        }
    }

    /// The operation in the sort key of a marker.
    fn marked_operation(&self) -> Option<&str> {
        [CALLERS_MARKER, LEDGERS_MARKER].iter().find_map(|prefix| self.sk.strip_prefix(prefix))?.split('#').next()
    }

    fn since(&self, attribute: &str) -> Result<Timestamp, ItemError> {
        self.item.timestamp(attribute)
    }

    fn is_late(&self, since: Timestamp, limit: Duration) -> bool {
        self.now.since(since) > limit
    }

    /// The instant from which work in the due index is due.
    fn due_at(&self) -> Result<Timestamp, ItemError> {
        let due = self.item.text(attr::DUE_SK)?;
        let (instant, _) = due.split_once('#').ok_or_else(|| ItemError::invalid(attr::DUE_SK))?;
        Timestamp::parse(instant).map_err(|_| ItemError::invalid(attr::DUE_SK))
    }
}

/// A number; zero if the attribute is absent.
fn num(item: &Item, attribute: &str) -> Result<Num, ItemError> {
    let number = item.opt_parsed_number(attribute, |number| Num::parse(number).ok_or(()))?;
    Ok(number.unwrap_or(Num::ZERO))
}

/// The digest of an operation's idempotency key. The key itself is not kept, because a client may write anything into
/// it.
fn digest(principal: &str, operation: &str, key: &str) -> KeyDigest {
    let digest: [u8; 32] = Sha256::digest(format!("{principal}/{operation}/{key}")).into();
    let [half @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = digest;
    KeyDigest::new(half)
}

fn nums<'a>(deltas: impl IntoIterator<Item = &'a Delta>) -> Nums {
    let mut sums = Nums::new();
    for delta in deltas {
        let sum = sums.entry(delta.asset().clone()).or_default();
        *sum = sum.plus(Num(delta.value()));
    }
    sums.retain(|_, sum| !sum.is_zero());
    sums
}

/// The quantities by asset that are not zero.
fn by_asset<'a, T: 'a>(amounts: &'a BTreeMap<Asset, T>, value: impl Fn(&'a T) -> rust_decimal::Decimal) -> Nums {
    let all = amounts.iter().map(|(asset, amount)| (asset.clone(), Num(value(amount))));
    all.filter(|(_, amount)| !amount.is_zero()).collect()
}
