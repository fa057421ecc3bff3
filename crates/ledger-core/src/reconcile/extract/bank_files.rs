//! Bank files: the record of each, its parts, the transfers that name it, and the entry of its debit.

use super::journal::ReadEntry;
use super::{Observations, StoredItem, nums};
use crate::account::{Account, TenantAccount};
use crate::bank_files::{BankFile, BankTransfer, FilePart};
use crate::dynamo::{Attributes, ItemError};
use crate::ids::BankFileId;
use crate::keys::{FILE_PART, TRANSFER, attr};
use crate::money::{Asset, Balance};
use crate::operation::Operation;
use crate::reconcile::fact::{
    BankFileFact, EntryFact, FileEntry, FileTransfer, GroupFact, RecordedFile, SettledTransfer, SettlementFact,
};
use crate::reconcile::num::Num;

/// A transfer to a merchant's bank account: of its settlement, and of the file that has it.
pub(super) fn transfer(at: &StoredItem<'_>) -> Observations {
    let transfer = BankTransfer::read(at.item)?;
    at.check_key("day", transfer.day, at.id)?;
    at.check_key("settlement_id", transfer.settlement, at.after(TRANSFER))?;
    let BankTransfer { settlement, merchant, day, file, .. } = transfer;
    let (amount, is_returned) = (Num(transfer.amount.value()), transfer.returned_at.is_some());
    let changed_at = at.since(attr::UPDATED_AT)?.millis();
    let settled = SettledTransfer { merchant, day, amount, is_returned };
    let mut observed = vec![at.fact(GroupFact::Settlement(settlement, SettlementFact::Transfer(settled)))];
    observed.extend(file.map(|file| {
        let of_file = FileTransfer { day, settlement, amount, is_returned, changed_at };
        at.fact(GroupFact::BankFile(file, BankFileFact::Transfer(of_file)))
    }));
    Ok(observed)
}

/// A bank file.
pub(super) fn file(at: &StoredItem<'_>) -> Observations {
    let file = BankFile::read(at.item)?;
    at.check_key("bank_file_id", file.id, at.id)?;
    let value = |sum: &Balance| Num(sum.value());
    let record = RecordedFile {
        state: file.state,
        superseded_by: file.superseded_by,
        parts: file.parts,
        transfers: file.transfers,
        sum: value(&file.sum),
        returned: file.returned,
        returned_sum: value(&file.returned_sum),
        debited_sum: file.debited_sum.as_ref().map(|sum| Num(sum.value())),
        debit: file.debit_id,
        changed_at: at.since(attr::UPDATED_AT)?.millis(),
    };
    let mut observed = vec![at.fact(GroupFact::BankFile(file.id, BankFileFact::Record(record)))];
    observed.extend(file.debit_id.map(|debit| {
        let home = Some(Account::Tenant(TenantAccount::Bank));
        let reference = EntryFact::Reference { by: at.owner(), home, merchant: None, claim: None };
        at.fact(GroupFact::Entry(debit, reference))
    }));
    Ok(observed)
}

/// The transfers that one transaction took into a bank file. No part is empty.
pub(super) fn part(at: &StoredItem<'_>) -> Observations {
    let file = BankFileId::parse(at.id).map_err(|_| ItemError::invalid(attr::PK))?;
    let part: u32 = at.after(FILE_PART).parse().map_err(|_| ItemError::invalid(attr::SK))?;
    at.check_key(attr::SK, format!("{part:04}"), at.after(FILE_PART))?;
    let FilePart(transfers) = FilePart::read(at.item)?;
    if transfers.is_empty() {
        return Err(ItemError::invalid("transfers"));
    }
    let listed = transfers
        .into_iter()
        .map(|(day, settlement)| at.fact(GroupFact::BankFile(file, BankFileFact::Listed { part, day, settlement })));
    Ok(listed.collect())
}

/// The fact of an entry that names a bank file. The entry of a debit names one.
pub(super) fn of_entry(at: &StoredItem<'_>, of: &ReadEntry) -> Observations {
    const FILE: &str = "bank_file_id";
    let file = if of.operation == Operation::BankFileDebit {
        Some(at.item.parsed(FILE, BankFileId::parse)?)
    } else {
        at.item.opt_parsed(FILE, BankFileId::parse)?
    };
    let Some(file) = file else { return Ok(Vec::new()) };
    let fact = FileEntry {
        entry: of.entry.id,
        home: of.home,
        operation: of.operation,
        out: Num::ZERO.minus(yen_of(of, TenantAccount::BankClearing)),
        paid: yen_of(of, TenantAccount::Bank),
        at: of.millis,
    };
    Ok(vec![at.fact(GroupFact::BankFile(file, BankFileFact::Entry(fact)))])
}

/// What an entry posts to an account of the tenant's own, in yen.
pub(super) fn yen_of(of: &ReadEntry, account: TenantAccount) -> Num {
    let own = of.entry.postings.iter().filter(|posting| posting.account == Account::Tenant(account));
    nums(own.map(|posting| &posting.delta)).get(&Asset::Ecopay).copied().unwrap_or_default()
}
