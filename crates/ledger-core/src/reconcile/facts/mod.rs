//! What one stored item says: facts, and what is wrong with it by itself.

mod books;
mod journal;
mod outside;
mod payments;

pub use outside::{of_intent, of_payout, of_refund};

use super::breaks::{BreakKind, Finding};
use super::fact::{Fact, Group, Subject};
use super::num::{Num, Nums};
use crate::dynamo::{Item, ItemError, read};
use crate::ids::Tenant;
use crate::keys::{self, Key, attr, sk};
use crate::money::{Asset, Delta};
use crate::time::Timestamp;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::time::Duration;

/// How late may be what somebody will still do by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A claim after its lease, or after its next try was due.
    pub claim: Duration,
    /// An entry that has not been told as an event.
    pub event: Duration,
    /// A record that has not been credited.
    pub credit: Duration,
}

impl Default for Limits {
    /// Ten minutes: each has a worker that comes every minute.
    fn default() -> Self {
        let late = Duration::from_secs(10 * 60);
        Self { claim: late, event: late, credit: late }
    }
}

/// What an item says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A fact, to be checked with others of its group.
    Fact(Group, Fact),
    /// Something is wrong with the item itself.
    Break(Finding),
}

/// An item as it is read: where it stands, and what is due.
struct At<'a> {
    item: &'a Item,
    tenant: Tenant,
    kind: &'a str,
    id: &'a str,
    sk: &'a str,
    key: Key,
    now: Timestamp,
    limits: Limits,
}

type Told = Result<Vec<Said>, ItemError>;

/// What a stored item says. Nothing, if it is no item of a tenant's or has nothing to do with the books.
#[must_use]
pub fn of_item(item: &Item, now: Timestamp, limits: Limits) -> Vec<Said> {
    let (Some(pk), Some(sk)) = (read::key_text(item, attr::PK), read::key_text(item, attr::SK)) else {
        return Vec::new();
    };
    let mut parts = pk.splitn(3, '#');
    let (Some(tenant), Some(kind), Some(id)) = (keys::tenant_of(pk), parts.nth(1), parts.next()) else {
        return Vec::new();
    };
    let Some(key) = Key::stored(&tenant, pk, sk) else { return Vec::new() };
    let at = At { item, tenant, kind, id, sk, key, now, limits };
    at.told().unwrap_or_else(|error| {
        let odd = at.finding(BreakKind::UnreadableItem, at.shown()).by([at.owner()]);
        vec![at.broken(odd.expected("an item as we write it").found(format!("no readable `{}`", error.attribute)))]
    })
}

impl At<'_> {
    fn told(&self) -> Told {
        let is = |prefix: &str| self.sk.starts_with(prefix);
        match self.kind {
            _ if is(sk::TXN) => journal::entry(self),
            _ if is(sk::TXNREF) => journal::reference(self),
            _ if is(MARKER) => journal::marker(self),
            "customer" | "merchant" if is(sk::BALANCE) => books::balance(self),
            "customer" if matches!(self.sk, "customer" | "METRICS") => books::legacy(self),
            "card" if self.sk == "card" => books::card(self),
            "merchant" if is(sk::SETTLEMENT) => books::settlement(self),
            "merchant" if is(sk::RETURNED) => books::returned(self),
            "tenant" if is(ADJUSTMENT) => journal::adjustment(self),
            "stripe_event" if self.sk == "event" => journal::event(self),
            "payment" if self.sk == "PAYMENT" => payments::payment(self),
            "payment" if is(sk::REFUND) => payments::refund(self),
            "payment" if self.sk == "HOLD" => payments::hold(self),
            "topup" if self.sk == "TOPUP" => outside::topup(self),
            "topup" if is(sk::REFUND) => outside::refund(self),
            "topup" if is(sk::CLAWBACK) => outside::clawback(self),
            // People, terminals, work and settings: they hold no money.
            _ => Ok(Vec::new()),
        }
    }

    fn finding(&self, kind: BreakKind, subject: impl ToString) -> Finding {
        Finding::new(&self.tenant, kind, subject)
    }

    /// A break that reading this item again confirms.
    fn broken(&self, finding: Finding) -> Said {
        Said::Break(finding.seen_at(&self.key))
    }

    fn fact(&self, subject: Subject, fact: Fact) -> Said {
        Said::Fact(Group { tenant: self.tenant.clone(), subject }, fact)
    }

    /// Whose partition it is: `customer:<id>`.
    fn owner(&self) -> String {
        format!("{}:{}", self.kind, self.id)
    }

    /// The item's name without what a client or a person has written: a marker's key may be anything.
    fn shown(&self) -> String {
        match self.sk.strip_prefix(MARKER).and_then(|rest| rest.split('#').next()) {
            Some(operation) => format!("{} marker of {operation}", self.owner()),
            None => format!("{} {}", self.owner(), self.sk),
        }
    }

    fn since(&self, attribute: &str) -> Result<Timestamp, ItemError> {
        read::parsed(self.item, attribute, Timestamp::parse)
    }

    fn is_late(&self, since: Timestamp, limit: Duration) -> bool {
        self.now.since(since) > limit
    }

    /// The instant from which on marked work is due.
    fn due_at(&self) -> Result<Timestamp, ItemError> {
        let due = read::text(self.item, attr::DUE_SK)?;
        let (instant, _) = due.split_once('#').ok_or_else(|| wrong(attr::DUE_SK))?;
        Timestamp::parse(instant).map_err(|_| wrong(attr::DUE_SK))
    }
}

/// Sort keys' prefixes that nothing but markers and adjustments have.
const MARKER: &str = "card_op_idem#";
const ADJUSTMENT: &str = "ADJUSTMENT#";

/// A number, nothing if it is not there.
fn num(item: &Item, attribute: &str) -> Result<Num, ItemError> {
    match read::opt_number(item, attribute)? {
        None => Ok(Num::ZERO),
        Some(number) => Num::parse(number).ok_or_else(|| wrong(attribute)),
    }
}

fn wrong(attribute: &str) -> ItemError {
    ItemError::invalid(attribute)
}

/// What stands for an idempotency key of an operation: a client's key may be anything, so it is not kept.
fn digest(principal: &str, operation: &str, key: &str) -> String {
    let digest: [u8; 32] = Sha256::digest(format!("{principal}/{operation}/{key}")).into();
    let (half, _) = digest.split_at(16);
    hex::encode(half)
}

fn nums<'a>(deltas: impl IntoIterator<Item = &'a Delta>) -> Nums {
    let mut sums = Nums::new();
    for delta in deltas {
        let sum = sums.entry(delta.asset().to_string()).or_default();
        *sum = sum.plus(Num(delta.value()));
    }
    sums.retain(|_, sum| !sum.is_zero());
    sums
}

/// Quantities by asset that are not nothing.
fn by_asset<'a, T: 'a>(amounts: &'a BTreeMap<Asset, T>, value: impl Fn(&'a T) -> rust_decimal::Decimal) -> Nums {
    let all = amounts.iter().map(|(asset, amount)| (asset.to_string(), Num(value(amount))));
    all.filter(|(_, amount)| !amount.is_zero()).collect()
}
