//! Bank files: reading them with their transfers, and what is shown of the payouts that they make.

use crate::app::App;
use crate::cursor::PlacedCursor;
use crate::problem::Problem;
use crate::views::SettlementView;
use ledger_core::bank_files::{BankFile, BankFileState, BankTransfer, Content, FilePart};
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::failure::Failure;
use ledger_core::ids::{BankFileId, SettlementId, Tenant};
use ledger_core::keys::{self, Key, attr};
use ledger_core::reads;
use ledger_core::settlements::Settlement;
use ledger_core::time::BusinessDate;
use std::collections::{BTreeMap, BTreeSet};

impl App {
    /// A bank file.
    ///
    /// # Errors
    /// 404 if there is none, 503 if the store cannot be read.
    pub async fn bank_file(&self, tenant: &Tenant, id: BankFileId) -> Result<BankFile, Problem> {
        let item = self.dynamo().get(&keys::bank_file(tenant, id)).await?.ok_or_else(Problem::not_found)?;
        Ok(BankFile::read(&item)?)
    }

    /// A page of a tenant's bank files, the latest day first. One that was just begun may be missing.
    ///
    /// # Errors
    /// 400 if the cursor is of another list, 503 if the store cannot be read.
    pub async fn bank_files(
        &self,
        tenant: &Tenant,
        (limit, cursor): (usize, Option<PlacedCursor>),
    ) -> Result<(Vec<BankFile>, Option<String>), Problem> {
        let after = cursor.as_ref().map(|cursor| BankFileId::parse(cursor.place())).transpose();
        let after = after.map_err(|_| Problem::invalid_field("cursor", "is not one of this list"))?;
        let found = self.dynamo().query(&reads::bank_files(tenant, after).limit(limit.saturating_add(1))).await?;
        let id = |entry: &Item| entry.parsed(attr::OWNER_SK, BankFileId::parse);
        let mut ids = found.iter().map(id).collect::<Result<Vec<_>, ItemError>>()?;
        let has_more = ids.len() > limit;
        ids.truncate(limit);
        let next = ids.last().filter(|_| has_more).map(|last| PlacedCursor::after(&last.to_string()).to_string());
        Ok((self.bank_files_of(tenant, &ids).await?, next))
    }

    async fn bank_files_of(&self, tenant: &Tenant, ids: &[BankFileId]) -> Result<Vec<BankFile>, Problem> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<Key> = ids.iter().map(|id| keys::bank_file(tenant, *id)).collect();
        let items = self.dynamo().get_many(&keys).await?;
        Ok(items.iter().flatten().map(BankFile::read).collect::<Result<_, ItemError>>()?)
    }

    /// The transfers of a file, in its order, from a place in it on, at most `limit`.
    ///
    /// # Errors
    /// 503 if the store cannot be read, 500 if the file has a part or transfer that does not exist.
    pub async fn transfers_of(
        &self,
        tenant: &Tenant,
        file: &BankFile,
        (from, limit): (usize, usize),
    ) -> Result<Vec<BankTransfer>, Problem> {
        let parts: Vec<Key> = (1..=file.parts).map(|part| keys::bank_file_part(tenant, file.id, part)).collect();
        let mut wanted = Vec::new();
        for item in self.present(tenant, file.id, &parts).await? {
            wanted.extend(FilePart::read(&item)?.keys(tenant));
        }
        let wanted: Vec<Key> = wanted.into_iter().skip(from).take(limit).collect();
        let found = self.present(tenant, file.id, &wanted).await?;
        Ok(found.iter().map(BankTransfer::read).collect::<Result<_, ItemError>>()?)
    }

    /// Items that a file names, in the order of their keys.
    async fn present(&self, tenant: &Tenant, file: BankFileId, keys: &[Key]) -> Result<Vec<Item>, Problem> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let items: Option<Vec<Item>> = self.dynamo().get_many(keys).await?.into_iter().collect();
        items.ok_or_else(|| {
            tracing::error!(%tenant, %file, "a bank file names what does not exist");
            Problem::internal()
        })
    }

    /// The content of a file, made from its transfers.
    ///
    /// # Errors
    /// 500 if the transfers are not those whose count, sum and hash the file has; 503 if the store cannot be read.
    pub async fn bank_file_content(&self, tenant: &Tenant, file: &BankFile) -> Result<Content, Problem> {
        let transfers = self.transfers_of(tenant, file, (0, usize::MAX)).await?;
        Content::of(file, &transfers).map_err(|error| {
            tracing::error!(%tenant, file = %file.id, %error, "a bank file has no content");
            Problem::internal()
        })
    }

    /// The id of the next file of a day; `None` while a job takes transfers into a file of the day.
    ///
    /// # Errors
    /// 503 if the store cannot be read, 409 if the day has 99 files.
    pub async fn next_bank_file(&self, tenant: &Tenant, day: BusinessDate) -> Result<Option<BankFileId>, Problem> {
        let mut id = BankFileId::first(day);
        while let Some(item) = self.dynamo().get(&keys::bank_file(tenant, id)).await? {
            if BankFile::read(&item)?.state == BankFileState::Assigning {
                return Ok(None);
            }
            id = id.next().ok_or_else(|| Problem::refused(Failure::WrongState))?;
        }
        Ok(Some(id))
    }

    /// What is shown of settlements: of those that a bank file pays, how far the file is.
    ///
    /// # Errors
    /// 503 if the store cannot be read.
    pub async fn settlement_views(
        &self,
        tenant: &Tenant,
        settlements: &[Settlement],
    ) -> Result<Vec<SettlementView>, Problem> {
        let booked = settlements.iter().filter_map(|of| Some(keys::bank_transfer(tenant, of.transfer_on?, of.id)));
        let wanted: Vec<Key> = booked.collect();
        let found = if wanted.is_empty() { Vec::new() } else { self.dynamo().get_many(&wanted).await? };
        let transfers: BTreeMap<SettlementId, BankTransfer> = found
            .iter()
            .flatten()
            .map(|item| BankTransfer::read(item).map(|transfer| (transfer.settlement, transfer)))
            .collect::<Result<_, ItemError>>()?;
        let ids: BTreeSet<BankFileId> = transfers.values().filter_map(|transfer| transfer.file).collect();
        let files = self.bank_files_of(tenant, &ids.into_iter().collect::<Vec<_>>()).await?;
        let now = self.now();
        let view = |settlement: &Settlement| match transfers.get(&settlement.id) {
            Some(transfer) => {
                let file = files.iter().find(|file| Some(file.id) == transfer.file);
                SettlementView::with_transfer(settlement, (transfer, file), now)
            }
            None => SettlementView::from(settlement),
        };
        Ok(settlements.iter().map(view).collect())
    }

    /// What is shown of one settlement.
    ///
    /// # Errors
    /// As [`App::settlement_views`].
    pub async fn settlement_view(&self, tenant: &Tenant, settlement: &Settlement) -> Result<SettlementView, Problem> {
        let views = self.settlement_views(tenant, std::slice::from_ref(settlement)).await?;
        Ok(views.into_iter().next().unwrap_or_else(|| SettlementView::from(settlement)))
    }
}
