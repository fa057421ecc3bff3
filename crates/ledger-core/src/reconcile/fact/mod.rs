//! Facts, and the groups in which they are checked. Each fact is of one group and has the type of that group's facts,
//! so a check cannot meet another group's. A fact has one line of text, by which a table's facts are kept in files
//! while they are sorted. The lines of one run are written and read by the same version of the code: a line that
//! differs in anything is an error.

mod account;
mod entry;
mod payment;
mod settlement;
mod text;
mod topup;

pub use account::{AccountFact, BalanceAmounts, BalanceItem};
pub use entry::{EntryClaim, EntryFact, KeyDigest, KeyFact};
pub use payment::{PaymentEntry, PaymentFact, RecordedHold, RecordedPayment, RecordedReturn};
pub use settlement::{
    ProviderPayout, RecordedSettlement, SettledSide, SettledSum, SettledSums, SettlementEntry, SettlementFact,
    SettlementStep, Stamp,
};
pub use topup::{
    Charge, ProviderRefund, RecordedClawback, RecordedTopup, RecordedTopupRefund, TopupEntry, TopupFact, TopupStep,
};

use crate::account::Account;
use crate::ids::{PaymentId, SettlementId, Tenant, TopupId, TransactionId};
use crate::money::Asset;
use serde::de::DeserializeOwned;
use std::fmt;

/// The facts that are checked together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// Whose books.
    pub tenant: Tenant,
    /// What the facts are of.
    pub subject: Subject,
}

/// What the facts of a group are of, within a tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// An account's balance of an asset.
    Account(Account, Asset),
    /// A journal entry.
    Entry(TransactionId),
    /// An idempotency key.
    Key(KeyDigest),
    /// A payment.
    Payment(PaymentId),
    /// A top-up.
    Topup(TopupId),
    /// A settlement.
    Settlement(SettlementId),
}

/// What one item says, within a group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// Whose books.
    pub tenant: Tenant,
    /// The fact.
    pub content: GroupFact,
}

/// A fact with what it is of. There is one type of facts for each kind of group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupFact {
    /// Of an account's balance of an asset.
    Account(Account, Asset, AccountFact),
    /// Of a journal entry.
    Entry(TransactionId, EntryFact),
    /// Of an idempotency key.
    Key(KeyDigest, KeyFact),
    /// Of a payment.
    Payment(PaymentId, PaymentFact),
    /// Of a top-up.
    Topup(TopupId, TopupFact),
    /// Of a settlement.
    Settlement(SettlementId, SettlementFact),
}

/// Why a line holds no fact. It names no content of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactLineError {
    /// It has no tab between group and fact.
    #[error("a line without a group")]
    NoGroup,
    /// There is no such group.
    #[error("a line of an unknown group")]
    UnknownGroup,
    /// The fact is none of the group's.
    #[error("a line with no fact of its group")]
    UnknownFact,
}

impl Fact {
    /// The group in which it is checked.
    #[must_use]
    pub fn group(&self) -> Group {
        let subject = match &self.content {
            GroupFact::Account(account, asset, _) => Subject::Account(*account, asset.clone()),
            GroupFact::Entry(id, _) => Subject::Entry(*id),
            GroupFact::Key(digest, _) => Subject::Key(*digest),
            GroupFact::Payment(id, _) => Subject::Payment(*id),
            GroupFact::Topup(id, _) => Subject::Topup(*id),
            GroupFact::Settlement(id, _) => Subject::Settlement(*id),
        };
        Group { tenant: self.tenant.clone(), subject }
    }

    /// Its line in a file of facts: the group, a tab, and the fact as JSON.
    ///
    /// # Errors
    /// Never, for facts as we make them.
    pub fn line(&self) -> Result<String, serde_json::Error> {
        let json = match &self.content {
            GroupFact::Account(_, _, fact) => serde_json::to_string(fact),
            GroupFact::Entry(_, fact) => serde_json::to_string(fact),
            GroupFact::Key(_, fact) => serde_json::to_string(fact),
            GroupFact::Payment(_, fact) => serde_json::to_string(fact),
            GroupFact::Topup(_, fact) => serde_json::to_string(fact),
            GroupFact::Settlement(_, fact) => serde_json::to_string(fact),
        };
        Ok(format!("{}\t{}", self.group(), json?))
    }

    /// Reads such a line.
    ///
    /// # Errors
    /// [`FactLineError`] for every line that [`Fact::line`] does not write.
    pub fn parse_line(line: &str) -> Result<Self, FactLineError> {
        let (group, json) = line.split_once('\t').ok_or(FactLineError::NoGroup)?;
        let group = Group::parse(group).ok_or(FactLineError::UnknownGroup)?;
        let content = match group.subject {
            Subject::Account(account, asset) => GroupFact::Account(account, asset, parse(json)?),
            Subject::Entry(id) => GroupFact::Entry(id, parse(json)?),
            Subject::Key(digest) => GroupFact::Key(digest, parse(json)?),
            Subject::Payment(id) => GroupFact::Payment(id, parse(json)?),
            Subject::Topup(id) => GroupFact::Topup(id, parse(json)?),
            Subject::Settlement(id) => GroupFact::Settlement(id, parse(json)?),
        };
        Ok(Self { tenant: group.tenant, content })
    }
}

fn parse<T: DeserializeOwned>(json: &str) -> Result<T, FactLineError> {
    serde_json::from_str(json).map_err(|_| FactLineError::UnknownFact)
}

impl Group {
    /// Reads a group's text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(4, '/');
        let (tenant, kind, id, asset) = (parts.next()?, parts.next()?, parts.next()?, parts.next());
        let subject = match (kind, asset) {
            ("account", Some(asset)) => Subject::Account(Account::parse(id).ok()?, Asset::parse(asset).ok()?),
            ("transaction", None) => Subject::Entry(TransactionId::parse(id).ok()?),
            ("key", None) => Subject::Key(KeyDigest::parse(id)?),
            ("payment", None) => Subject::Payment(PaymentId::parse(id).ok()?),
            ("topup", None) => Subject::Topup(TopupId::parse(id).ok()?),
            ("settlement", None) => Subject::Settlement(SettlementId::parse(id).ok()?),
            _ => return None,
        };
        Some(Self { tenant: Tenant::parse(tenant).ok()?, subject })
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenant = &self.tenant;
        match &self.subject {
            Subject::Account(account, asset) => write!(f, "{tenant}/account/{account}/{asset}"),
            Subject::Entry(id) => write!(f, "{tenant}/transaction/{id}"),
            Subject::Key(digest) => write!(f, "{tenant}/key/{digest}"),
            Subject::Payment(id) => write!(f, "{tenant}/payment/{id}"),
            Subject::Topup(id) => write!(f, "{tenant}/topup/{id}"),
            Subject::Settlement(id) => write!(f, "{tenant}/settlement/{id}"),
        }
    }
}
