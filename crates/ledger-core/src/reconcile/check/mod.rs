//! The checks of each group's facts against each other. A check gets the facts of its own group only, and matches all
//! of them.

mod account;
mod bank_file;
mod bonus;
mod cash_room;
mod entry;
mod payment;
mod period;
mod rooms;
mod settlement;
mod topup;

pub use bank_file::transfer_in_evidence;

use super::breaks::Finding;
use super::fact::{
    BankFileFact, EntryFact, Fact, Group, GroupFact, KeyDigest, KeyFact, PaymentFact, Subject, TopupFact,
};
use crate::account::Account;
use crate::crediting::PeriodId;
use crate::ids::{
    BankFileId, MerchantId, PaymentId, SettlementId, Tenant, TerminalId, TerminalOwner, TopupId, TransactionId,
};
use crate::money::Asset;
use crate::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// The conditions under which the facts were gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    /// When the first item was read.
    pub began_at: Timestamp,
    /// Whether all facts of a group are of one moment. If not, what was written during the read is left out where
    /// possible.
    pub at_one_moment: bool,
    /// The time range in which the listed objects of the payment provider were created; `None` if they were not
    /// listed.
    pub listed: Option<(Timestamp, Timestamp)>,
}

/// Facts by group, as sums where a group may have many, so that a merchant's account needs no more memory than a
/// customer's. Where facts are kept individually, a fact taken twice counts once.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    accounts: ByGroup<(Account, Asset), account::Sums>,
    entries: ByGroup<TransactionId, BTreeSet<EntryFact>>,
    keys: ByGroup<KeyDigest, BTreeSet<KeyFact>>,
    payments: ByGroup<PaymentId, BTreeSet<PaymentFact>>,
    topups: ByGroup<TopupId, BTreeSet<TopupFact>>,
    settlements: ByGroup<SettlementId, settlement::Sums>,
    periods: ByGroup<(MerchantId, PeriodId), period::Sums>,
    cash_rooms: ByGroup<TerminalId, cash_room::Sums>,
    rooms: ByGroup<TerminalOwner, rooms::Sums>,
    bank_files: ByGroup<BankFileId, BTreeSet<BankFileFact>>,
}

type ByGroup<Id, Facts> = BTreeMap<(Tenant, Id), Facts>;

impl Groups {
    /// Adds a fact to its group.
    pub fn take(&mut self, fact: Fact, scope: &Scope) {
        let tenant = fact.tenant;
        match fact.content {
            GroupFact::Account(account, asset, fact) => {
                self.accounts.entry((tenant, (account, asset))).or_default().take(fact, scope);
            }
            GroupFact::Entry(id, fact) => drop(self.entries.entry((tenant, id)).or_default().insert(fact)),
            GroupFact::Key(digest, fact) => drop(self.keys.entry((tenant, digest)).or_default().insert(fact)),
            GroupFact::Payment(id, fact) => drop(self.payments.entry((tenant, id)).or_default().insert(fact)),
            GroupFact::Topup(id, fact) => drop(self.topups.entry((tenant, id)).or_default().insert(fact)),
            GroupFact::Settlement(id, fact) => self.settlements.entry((tenant, id)).or_default().take(fact),
            GroupFact::Period(merchant, id, fact) => {
                self.periods.entry((tenant, (merchant, id))).or_default().take(fact, scope);
            }
            GroupFact::CashRoom(terminal, fact) => {
                self.cash_rooms.entry((tenant, terminal)).or_default().take(fact, scope);
            }
            GroupFact::Rooms(owner, fact) => {
                self.rooms.entry((tenant, owner)).or_default().take(fact, scope);
            }
            GroupFact::BankFile(id, fact) => drop(self.bank_files.entry((tenant, id)).or_default().insert(fact)),
        }
    }

    /// Opens a group, so that it is checked even without facts.
    fn open(&mut self, group: &Group) {
        let tenant = group.tenant.clone();
        match &group.subject {
            Subject::Account(account, asset) => {
                let _ = self.accounts.entry((tenant, (*account, asset.clone()))).or_default();
            }
            Subject::Entry(id) => drop(self.entries.entry((tenant, *id)).or_default()),
            Subject::Key(digest) => drop(self.keys.entry((tenant, *digest)).or_default()),
            Subject::Payment(id) => drop(self.payments.entry((tenant, *id)).or_default()),
            Subject::Topup(id) => drop(self.topups.entry((tenant, *id)).or_default()),
            Subject::Settlement(id) => drop(self.settlements.entry((tenant, *id)).or_default()),
            Subject::Period(merchant, id) => {
                let _ = self.periods.entry((tenant, (*merchant, *id))).or_default();
            }
            Subject::CashRoom(terminal) => {
                let _ = self.cash_rooms.entry((tenant, *terminal)).or_default();
            }
            Subject::Rooms(owner) => drop(self.rooms.entry((tenant, *owner)).or_default()),
            Subject::BankFile(id) => drop(self.bank_files.entry((tenant, *id)).or_default()),
        }
    }

    /// The breaks of all groups, each with its group.
    #[must_use]
    pub fn findings(self, scope: &Scope) -> Vec<(Group, Finding)> {
        let Self { accounts, entries, keys, payments, topups, settlements, periods, cash_rooms, rooms, bank_files } =
            self;
        let mut all = Vec::new();
        let mut add = |tenant: Tenant, subject: Subject, findings: Vec<Finding>| {
            let group = Group { tenant, subject };
            all.extend(findings.into_iter().map(|finding| (group.clone(), finding)));
        };
        for ((tenant, (account, asset)), sums) in accounts {
            let findings = sums.check(&tenant, account, &asset, scope);
            add(tenant, Subject::Account(account, asset), findings);
        }
        for ((tenant, id), facts) in entries {
            let findings = entry::check(&tenant, id, &facts);
            add(tenant, Subject::Entry(id), findings);
        }
        for ((tenant, digest), facts) in keys {
            let findings = entry::check_key(&tenant, &facts);
            add(tenant, Subject::Key(digest), findings);
        }
        for ((tenant, id), facts) in payments {
            let findings = payment::check(&tenant, id, &facts);
            add(tenant, Subject::Payment(id), findings);
        }
        for ((tenant, id), facts) in topups {
            let findings = topup::check(&tenant, id, &facts, scope);
            add(tenant, Subject::Topup(id), findings);
        }
        for ((tenant, id), sums) in settlements {
            let findings = sums.check(&tenant, id, scope);
            add(tenant, Subject::Settlement(id), findings);
        }
        for ((tenant, (merchant, id)), sums) in periods {
            let findings = sums.check(&tenant, merchant, id, scope);
            add(tenant, Subject::Period(merchant, id), findings);
        }
        for ((tenant, terminal), sums) in cash_rooms {
            let findings = sums.check(&tenant, terminal);
            add(tenant, Subject::CashRoom(terminal), findings);
        }
        for ((tenant, owner), sums) in rooms {
            let findings = sums.check(&tenant, owner);
            add(tenant, Subject::Rooms(owner), findings);
        }
        for ((tenant, id), facts) in bank_files {
            let findings = bank_file::check(&tenant, id, &facts, scope);
            add(tenant, Subject::BankFile(id), findings);
        }
        all
    }
}

/// The breaks of one group. Facts of other groups among `facts` are checked as well.
#[must_use]
pub fn fold(group: &Group, facts: impl IntoIterator<Item = Fact>, scope: &Scope) -> Vec<Finding> {
    let mut groups = Groups::default();
    groups.open(group);
    for fact in facts {
        groups.take(fact, scope);
    }
    groups.findings(scope).into_iter().map(|(_, finding)| finding).collect()
}
