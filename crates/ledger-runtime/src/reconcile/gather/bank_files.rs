//! Reads bank files, and the transfers of settlements.

use super::{Gather, Stopped};
use ledger_core::account::{Account, TenantAccount};
use ledger_core::bank_files::FilePart;
use ledger_core::dynamo::Attributes;
use ledger_core::ids::{BankFileId, SettlementId, TransactionId};
use ledger_core::keys::{self, Key, Partition};
use ledger_core::reads;
use ledger_core::reconcile::transfer_in_evidence;
use ledger_core::time::BusinessDate;

impl Gather<'_> {
    /// Reads a bank file: its record and parts, the transfers that the parts list or that the break names, and the entry of its
    /// debit, with other entries that the break names.
    pub(super) async fn bank_file(&mut self, id: BankFileId) -> Result<(), Stopped> {
        let tenant = self.of.tenant;
        self.all_of(&reads::bank_file_items(tenant, id)).await?;
        // Another item of the partition, or a part that is malformed, lists none.
        let listed = self.items.values().filter_map(|item| FilePart::read(item).ok());
        let mut wanted: Vec<Key> = listed.flat_map(|part| part.keys(tenant)).collect();
        wanted.extend(self.transfers_in_evidence());
        let recorded =
            self.items.values().filter_map(|file| file.parsed("debit_transaction_id", TransactionId::parse).ok());
        let named = self.evidence.iter().filter_map(|id| self.named(id, "transaction", TransactionId::parse));
        let home = Partition::account(tenant, Account::Tenant(TenantAccount::Bank));
        wanted.extend(recorded.chain(named).filter_map(|entry| Some(home.as_ref()?.entry(entry))));
        wanted.sort();
        wanted.dedup();
        self.get(wanted).await
    }

    /// Reads the transfers of a settlement: the one of the day that its record names, and those that the break names.
    pub(super) async fn transfers(&mut self, id: SettlementId) -> Result<(), Stopped> {
        let days = self.items.values().filter_map(|item| item.parsed("transfer_on", BusinessDate::parse).ok());
        let mut wanted: Vec<Key> = days.map(|day| keys::bank_transfer(self.of.tenant, day, id)).collect();
        wanted.extend(self.transfers_in_evidence());
        wanted.sort();
        wanted.dedup();
        self.get(wanted).await
    }

    fn transfers_in_evidence(&self) -> Vec<Key> {
        let named = self.evidence.iter().filter_map(|text| transfer_in_evidence(text));
        named.map(|(day, settlement)| keys::bank_transfer(self.of.tenant, day, settlement)).collect()
    }
}
