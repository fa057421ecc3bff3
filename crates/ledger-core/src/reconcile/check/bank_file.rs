//! The check of a bank file: what is with the bank, was debited and was returned are the transfers that name it.

use super::Scope;
use crate::account::{Account, TenantAccount};
use crate::bank_files::BankFileState;
use crate::ids::{BankFileId, SettlementId, Tenant};
use crate::keys;
use crate::operation::Operation;
use crate::reconcile::breaks::{BreakKind, Finding};
use crate::reconcile::fact::{BankFileFact, FileEntry, FileTransfer, RecordedFile};
use crate::reconcile::num::Num;
use crate::time::BusinessDate;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The most items that show a difference: 40 transfers, each with its settlement. A file has up to 5,000.
const EVIDENCE_MAX: usize = 80;
/// The kind of the partitions of transfers.
const TRANSFERS: &str = "bank_transfers";

/// The facts of a file, by their kinds.
#[derive(Default)]
struct Sorted<'a> {
    records: Vec<&'a RecordedFile>,
    parts: BTreeSet<u32>,
    /// What the parts list: settlement and day, each once for each part that has it.
    listed: Vec<(SettlementId, BusinessDate)>,
    transfers: Vec<&'a FileTransfer>,
    entries: Vec<&'a FileEntry>,
}

/// A difference, with the items that show it.
struct Difference {
    expected: String,
    found: String,
    evidence: Vec<String>,
}

/// How many transfers, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    transfers: usize,
    sum: Num,
}

/// A transfer as evidence, as an unreadable one is named.
pub(super) fn transfer_evidence(day: BusinessDate, settlement: SettlementId) -> String {
    format!("{TRANSFERS}:{day} {}{settlement}", keys::TRANSFER)
}

/// The day and the settlement of a transfer that is evidence; `None` for any other evidence.
#[must_use]
pub fn transfer_in_evidence(text: &str) -> Option<(BusinessDate, SettlementId)> {
    let (day, settlement) = text.strip_prefix(TRANSFERS)?.strip_prefix(':')?.split_once(' ')?;
    let settlement = settlement.strip_prefix(keys::TRANSFER)?;
    Some((BusinessDate::parse(day).ok()?, SettlementId::parse(settlement).ok()?))
}

/// Checks a file against the transfers and entries that name it.
pub(super) fn check(tenant: &Tenant, id: BankFileId, facts: &BTreeSet<BankFileFact>, scope: &Scope) -> Vec<Finding> {
    let sorted = Sorted::of(facts);
    let difference = match sorted.records.as_slice() {
        [record] => sorted.difference(record, scope),
        [] if facts.is_empty() => None,
        [] => Some(sorted.without_record()),
        more => Some(Difference::new("one file", format!("{} records", more.len()))),
    };
    let finding = |Difference { expected, found, evidence }| {
        let differs = Finding::new(tenant, BreakKind::BankFileDiffers, format!("bank_file:{id}"));
        let entries = sorted.entries.iter().map(|entry| entry.entry);
        let recorded = sorted.records.iter().filter_map(|record| record.debit);
        let entries = entries.chain(recorded).map(|entry| format!("transaction:{entry}"));
        differs.expected(expected).found(found).by(evidence).by(entries)
    };
    difference.into_iter().map(finding).collect()
}

impl<'a> Sorted<'a> {
    fn of(facts: &'a BTreeSet<BankFileFact>) -> Self {
        let mut sorted = Self::default();
        for fact in facts {
            match fact {
                BankFileFact::Record(record) => sorted.records.push(record),
                BankFileFact::Listed { part, day, settlement } => {
                    let _ = sorted.parts.insert(*part);
                    sorted.listed.push((*settlement, *day));
                }
                BankFileFact::Transfer(transfer) => sorted.transfers.push(transfer),
                BankFileFact::Entry(entry) => sorted.entries.push(entry),
            }
        }
        sorted
    }

    /// Transfers, parts and entries of a file that is not there.
    fn without_record(&self) -> Difference {
        let (transfers, entries) = (self.transfers.len(), self.entries.len());
        let found = format!("none, with {transfers} transfers, {} in parts, and {entries} entries", self.listed.len());
        Difference::new("a file", found).by(self.transfers.iter().flat_map(|of| of.evidence()))
    }

    fn difference(&self, record: &RecordedFile, scope: &Scope) -> Option<Difference> {
        // What came after the record was read is not in it.
        let is_later = |at: i64| !scope.at_one_moment && at > scope.began_at.millis() && at > record.changed_at;
        let transfers = self.transfers.iter().filter_map(|transfer| match is_later(transfer.changed_at) {
            // It was returned since.
            true if transfer.is_returned => Some(FileTransfer { is_returned: false, ..(*transfer).clone() }),
            true => None,
            false => Some((*transfer).clone()),
        });
        let transfers: Vec<FileTransfer> = transfers.collect();
        let entries: Vec<&FileEntry> = self.entries.iter().copied().filter(|entry| !is_later(entry.at)).collect();
        self.of_parts(record, &transfers)
            .or_else(|| self.of_transfers(record, &transfers))
            .or_else(|| of_state(record))
            .or_else(|| of_debit(record))
            .or_else(|| of_entries(record, &entries))
    }

    /// The parts list what the record counts, and each transfer that names the file: the bank gets what the parts list.
    fn of_parts(&self, record: &RecordedFile, transfers: &[FileTransfer]) -> Option<Difference> {
        if !self.parts.iter().copied().eq(1..=record.parts) {
            let found = format!("{} parts, the last of number {}", self.parts.len(), self.parts.last().unwrap_or(&0));
            return Some(Difference::new(format!("parts 1 to {}", record.parts), found));
        }
        if !is_number(self.listed.len(), record.transfers) {
            return Some(Difference::new(record.transfers, format!("{} transfers in parts", self.listed.len())));
        }
        let listed: BTreeMap<SettlementId, BusinessDate> = self.listed.iter().copied().collect();
        let unlisted: Vec<_> = transfers.iter().filter(|of| listed.get(&of.settlement) != Some(&of.day)).collect();
        let found = format!("{} transfers that no part lists", unlisted.len());
        let differs = Difference::new("none", found).by(unlisted.iter().flat_map(|of| of.evidence()));
        (!unlisted.is_empty()).then_some(differs)
    }

    /// The transfers that name the file are those that it counts: all and the returned ones. Of a file that the bank does not pay,
    /// another one takes what was not returned.
    fn of_transfers(&self, record: &RecordedFile, transfers: &[FileTransfer]) -> Option<Difference> {
        let all = Count::of(transfers.iter());
        let is_all = match record.state {
            BankFileState::Assigning
            | BankFileState::Written
            | BankFileState::Accepted
            | BankFileState::Debited
            | BankFileState::Empty => is_number(all.transfers, record.transfers) && all.sum == record.sum,
            BankFileState::Rejected | BankFileState::Withdrawn => {
                let is_fewer = u32::try_from(all.transfers).is_ok_and(|count| count <= record.transfers);
                is_fewer && all.sum <= record.sum
            }
        };
        if !is_all {
            let named: BTreeSet<SettlementId> = transfers.iter().map(|of| of.settlement).collect();
            let missing = self.listed.iter().filter(|(settlement, _)| !named.contains(settlement));
            let expected = format!("{} transfers of {}", record.transfers, record.sum);
            let missing = missing.flat_map(|(settlement, day)| evidence(*day, *settlement));
            return Some(Difference::new(expected, all).by(missing));
        }
        let returned = Count::of(transfers.iter().filter(|of| of.is_returned));
        let is_same = is_number(returned.transfers, record.returned) && returned.sum == record.returned_sum;
        let expected = || format!("{} transfers of {} returned", record.returned, record.returned_sum);
        (!is_same).then(|| Difference::new(expected(), returned))
    }
}

/// A file that is with the bank is not superseded, and an empty one has no transfers.
fn of_state(record: &RecordedFile) -> Option<Difference> {
    let state = record.state.name();
    match record.state {
        BankFileState::Rejected | BankFileState::Withdrawn => None,
        BankFileState::Empty if record.transfers > 0 => {
            Some(Difference::new("no transfers: empty", format!("{} transfers", record.transfers)))
        }
        BankFileState::Assigning
        | BankFileState::Written
        | BankFileState::Accepted
        | BankFileState::Debited
        | BankFileState::Empty => record.superseded_by.map(|by| {
            let superseded = Difference::new(format!("superseded by none: {state}"), by);
            superseded.by([format!("bank_file:{by}")])
        }),
    }
}

/// What was debited is the sum less what was returned before: no more than the sum, no less than what is left of it.
fn of_debit(record: &RecordedFile) -> Option<Difference> {
    let least = record.sum.minus(record.returned_sum);
    let debited = record.debited_sum.unwrap_or_default();
    match record.state {
        BankFileState::Debited => {
            let is_between = least <= debited && debited <= record.sum;
            (!is_between).then(|| Difference::new(format!("{least} to {} debited", record.sum), debited))
        }
        BankFileState::Assigning
        | BankFileState::Written
        | BankFileState::Accepted
        | BankFileState::Rejected
        | BankFileState::Withdrawn
        | BankFileState::Empty => record.debited_sum.map(|sum| {
            let expected = format!("nothing debited: {}", record.state.name());
            Difference::new(expected, sum)
        }),
    }
}

/// A file of which something was debited has one entry, which its record names; any other has none.
fn of_entries(record: &RecordedFile, entries: &[&FileEntry]) -> Option<Difference> {
    let bank = Account::Tenant(TenantAccount::Bank);
    let is_right = match (record.debited_sum, record.debit, entries) {
        (None, None, []) => true,
        (Some(sum), Some(debit), [of]) => {
            let is_debit = of.operation == Operation::BankFileDebit && of.home == bank;
            is_debit && of.entry == debit && of.out == sum && of.paid == sum
        }
        (None | Some(_), ..) => false,
    };
    let shown = |of: &&FileEntry| format!("{} of {} to {}", of.operation, of.out, of.paid);
    let found = || entries.iter().map(shown).collect::<Vec<_>>().join(", ");
    let expected = || match record.debited_sum {
        Some(sum) => format!("one entry of a debit of {sum}, named by the file"),
        None => format!("no entry: {}", record.state.name()),
    };
    (!is_right)
        .then(|| Difference::new(expected(), format!("{} entries: {}", entries.len(), found())).by([bank.to_string()]))
}

fn is_number(count: usize, recorded: u32) -> bool {
    u32::try_from(count) == Ok(recorded)
}

/// A transfer and its settlement.
fn evidence(day: BusinessDate, settlement: SettlementId) -> [String; 2] {
    [transfer_evidence(day, settlement), format!("settlement:{settlement}")]
}

impl FileTransfer {
    fn evidence(&self) -> [String; 2] {
        evidence(self.day, self.settlement)
    }
}

impl Count {
    fn of<'a>(transfers: impl Iterator<Item = &'a FileTransfer>) -> Self {
        transfers.fold(Self::default(), |count, of| Self {
            transfers: count.transfers.saturating_add(1),
            sum: count.sum.plus(of.amount),
        })
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} transfers of {}", self.transfers, self.sum)
    }
}

impl Difference {
    fn new(expected: impl ToString, found: impl ToString) -> Self {
        Self { expected: expected.to_string(), found: found.to_string(), evidence: Vec::new() }
    }

    /// Adds the items that show it: the first ones, if there are many.
    fn by(mut self, evidence: impl IntoIterator<Item = String>) -> Self {
        self.evidence.extend(evidence.into_iter().take(EVIDENCE_MAX));
        self
    }
}
