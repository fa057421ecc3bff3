//! Facts, and the groups in which they are checked. Each fact belongs to one group and has the type of that group's
//! facts, so a check cannot get another group's. A fact has one line of text, which keeps it in a file while a
//! table's facts are sorted. The same version of the code writes and reads the lines of a run: a line that differs in
//! anything is an error.

mod account;
mod bank_file;
mod cash_room;
mod entry;
mod payment;
mod period;
mod rooms;
mod settlement;
mod text;
mod topup;

pub use account::{AccountFact, BalanceAmounts, BalanceItem};
pub use bank_file::{BankFileFact, FileEntry, FileTransfer, RecordedFile};
pub use cash_room::CashRoomFact;
pub use entry::{BonusFact, BonusPart, EntryClaim, EntryFact, KeyDigest, KeyFact};
pub use payment::{PaymentEntry, PaymentFact, RecordedHold, RecordedPayment, RecordedReturn};
pub use period::{PeriodFact, PeriodTotals};
pub use rooms::{RoomSum, RoomsFact};
pub use settlement::{
    ProviderPayout, RecordedSettlement, SettledPeriod, SettledSide, SettledSum, SettledSums, SettledTransfer,
    SettlementEntry, SettlementFact, SettlementStep, Stamp,
};
pub use topup::{
    Charge, ProviderRefund, RecordedClawback, RecordedTopup, RecordedTopupRefund, TopupEntry, TopupFact, TopupStep,
};

pub(in crate::reconcile) use settlement::add_to_sum;

use crate::account::Account;
use crate::crediting::PeriodId;
use crate::ids::{
    BankFileId, MerchantId, PaymentId, SettlementId, Tenant, TerminalId, TerminalOwner, TopupId, TransactionId,
};
use crate::money::Asset;
use serde::de::DeserializeOwned;
use std::fmt;

/// The facts that are checked together.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// The tenant.
    pub tenant: Tenant,
    /// The subject of the facts.
    pub subject: Subject,
}

/// The subject of a group's facts, within a tenant.
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
    /// A merchant's period.
    Period(MerchantId, PeriodId),
    /// A terminal's cash room.
    CashRoom(TerminalId),
    /// The rooms of a merchant or of the operator, beside those of its terminals.
    Rooms(TerminalOwner),
    /// A bank file.
    BankFile(BankFileId),
}

/// A fact of one stored item, within its group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    /// The tenant.
    pub tenant: Tenant,
    /// The fact.
    pub content: GroupFact,
}

/// A fact with its subject. Each kind of group has its own type of facts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum GroupFact {
    /// A fact of an account's balance of an asset.
    Account(Account, Asset, AccountFact),
    /// A fact of a journal entry.
    Entry(TransactionId, EntryFact),
    /// A fact of an idempotency key.
    Key(KeyDigest, KeyFact),
    /// A fact of a payment.
    Payment(PaymentId, PaymentFact),
    /// A fact of a top-up.
    Topup(TopupId, TopupFact),
    /// A fact of a settlement.
    Settlement(SettlementId, SettlementFact),
    /// A fact of a merchant's period.
    Period(MerchantId, PeriodId, PeriodFact),
    /// A fact of a terminal's cash room.
    CashRoom(TerminalId, CashRoomFact),
    /// A fact of the rooms of a merchant or of the operator.
    Rooms(TerminalOwner, RoomsFact),
    /// A fact of a bank file.
    BankFile(BankFileId, BankFileFact),
}

/// Why a line has no valid fact. It repeats nothing of the line's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FactLineError {
    /// It has no tab between group and fact.
    #[error("a line without a group")]
    NoGroup,
    /// The group is unknown.
    #[error("a line of an unknown group")]
    UnknownGroup,
    /// The fact does not belong to the group.
    #[error("a line with no fact of its group")]
    UnknownFact,
}

impl Fact {
    /// The group in which the fact is checked.
    #[must_use]
    pub fn group(&self) -> Group {
        let subject = match &self.content {
            GroupFact::Account(account, asset, _) => Subject::Account(*account, asset.clone()),
            GroupFact::Entry(id, _) => Subject::Entry(*id),
            GroupFact::Key(digest, _) => Subject::Key(*digest),
            GroupFact::Payment(id, _) => Subject::Payment(*id),
            GroupFact::Topup(id, _) => Subject::Topup(*id),
            GroupFact::Settlement(id, _) => Subject::Settlement(*id),
            GroupFact::Period(merchant, id, _) => Subject::Period(*merchant, *id),
            GroupFact::CashRoom(terminal, _) => Subject::CashRoom(*terminal),
            GroupFact::Rooms(owner, _) => Subject::Rooms(*owner),
            GroupFact::BankFile(id, _) => Subject::BankFile(*id),
        };
        Group { tenant: self.tenant.clone(), subject }
    }

    /// The fact's line in a file: the group, a tab, and the fact as JSON.
    ///
    /// # Errors
    /// Never, for the facts of this module.
    pub fn line(&self) -> Result<String, serde_json::Error> {
        let json = match &self.content {
            GroupFact::Account(_, _, fact) => serde_json::to_string(fact),
            GroupFact::Entry(_, fact) => serde_json::to_string(fact),
            GroupFact::Key(_, fact) => serde_json::to_string(fact),
            GroupFact::Payment(_, fact) => serde_json::to_string(fact),
            GroupFact::Topup(_, fact) => serde_json::to_string(fact),
            GroupFact::Settlement(_, fact) => serde_json::to_string(fact),
            GroupFact::Period(_, _, fact) => serde_json::to_string(fact),
            GroupFact::CashRoom(_, fact) => serde_json::to_string(fact),
            GroupFact::Rooms(_, fact) => serde_json::to_string(fact),
            GroupFact::BankFile(_, fact) => serde_json::to_string(fact),
        };
        Ok(format!("{}\t{}", self.group(), json?))
    }

    /// Reads a line that [`Fact::line`] wrote.
    ///
    /// # Errors
    /// [`FactLineError`] for every other line.
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
            Subject::Period(merchant, id) => GroupFact::Period(merchant, id, parse(json)?),
            Subject::CashRoom(terminal) => GroupFact::CashRoom(terminal, parse(json)?),
            Subject::Rooms(owner) => GroupFact::Rooms(owner, parse(json)?),
            Subject::BankFile(id) => GroupFact::BankFile(id, parse(json)?),
        };
        Ok(Self { tenant: group.tenant, content })
    }
}

fn parse<T: DeserializeOwned>(json: &str) -> Result<T, FactLineError> {
    serde_json::from_str(json).map_err(|_| FactLineError::UnknownFact)
}

impl Group {
    /// Parses a group's text; `None` for any other text.
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
            ("period", Some(period)) => Subject::Period(MerchantId::parse(id).ok()?, PeriodId::parse(period)?),
            ("cash_room", None) => Subject::CashRoom(TerminalId::parse(id).ok()?),
            ("rooms", None) => Subject::Rooms(TerminalOwner::parse(id).ok()?),
            ("bank_file", None) => Subject::BankFile(BankFileId::parse(id).ok()?),
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
            Subject::Period(merchant, id) => write!(f, "{tenant}/period/{merchant}/{id}"),
            Subject::CashRoom(terminal) => write!(f, "{tenant}/cash_room/{terminal}"),
            Subject::Rooms(owner) => write!(f, "{tenant}/rooms/{owner}"),
            Subject::BankFile(id) => write!(f, "{tenant}/bank_file/{id}"),
        }
    }
}
