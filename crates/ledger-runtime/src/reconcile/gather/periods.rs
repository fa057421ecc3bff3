//! The items of merchants' periods, and the entries that seals have credited in them.

use super::{Gather, ITEMS_MAX, Stopped, opt_text};
use crate::problem::Problem;
use crate::reconcile::read::with_unsupported_marked;
use ledger_core::account::Account;
use ledger_core::cash_rooms::CashRooms;
use ledger_core::crediting::LaneCredit;
use ledger_core::crediting::PeriodId;
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::ids::{MerchantId, PaymentId, SettlementId, TransactionId};
use ledger_core::journal::expand;
use ledger_core::keys::{self, Key, Partition};
use ledger_core::reads::{self, Query};
use ledger_core::sealing::lanes::LaneLink;
use std::collections::{BTreeMap, BTreeSet};

impl Gather<'_> {
    /// Reads a merchant's period: what says that it is open or closed, the settlements that may have it, and the
    /// entries that name it.
    ///
    /// No lease holds up the seals that credit the merchant. They need not be: the sums say with their segment which
    /// entries they have, and later ones are left out. [`Stopped::Changed`] if a settlement has closed the period, or taken
    /// it or given it back, since its sums were read.
    pub(super) async fn period(&mut self, merchant: MerchantId, id: PeriodId) -> Result<(), Stopped> {
        let (tenant, lane) = (self.of.tenant, id.lane);
        let closed = id.key(tenant, merchant);
        let sums = [keys::credited_in_lane(tenant, merchant, lane), closed.clone()];
        let seen = self.of.stored(&sums).await?;
        self.take(seen.clone())?;
        let read = |item: &Item| LaneCredit::read(lane, item).ok().filter(|open| open.period() == id);
        let until = seen.iter().find_map(read).map(|open| open.segment);
        // The index may list the records of the last entries in the sums only a moment later.
        tokio::time::sleep(self.of.settings.index_lag).await;
        self.settlements_of_period(merchant).await?;
        let names = |entry: &Item| PeriodId::of_entry(entry).ok().flatten() == Some(id);
        let is_in_sums = |entry: &Item| match (until, opt_text(entry, "_sealed").and_then(LaneLink::read_stamp)) {
            (Some(until), Some((_, segment))) => segment <= until,
            // A closed period has all of its entries; one with another stamp is a break by itself.
            (None, _) | (Some(_), None) => true,
        };
        self.entries_credited_by_seals(merchant, |entry| names(entry) && is_in_sums(entry)).await?;
        let closed_in =
            |items: &[Item]| items.iter().find(|item| self.of.key_of(item).as_ref() == Some(&closed)).cloned();
        if closed_in(&self.of.stored(&sums).await?) != closed_in(&seen) {
            return Err(Stopped::Changed);
        }
        if self.is_complete { Ok(()) } else { Err(Stopped::Unsettled) }
    }

    /// Reads the settlements that have the period that was read, or that the break names.
    async fn settlements_of_period(&mut self, merchant: MerchantId) -> Result<(), Stopped> {
        let tenant = self.of.tenant;
        let owners = self.items.values().filter_map(|item| item.parsed("settlement_id", SettlementId::parse).ok());
        let named = self.evidence.iter().filter_map(|id| self.named(id, "settlement", SettlementId::parse));
        for settlement in owners.chain(named).collect::<BTreeSet<SettlementId>>() {
            self.get(vec![keys::settlement(tenant, merchant, settlement)]).await?;
            self.all_of(&reads::settled_batches(tenant, merchant, settlement)).await?;
        }
        Ok(())
    }

    /// Reads the entries for which `is_meant` holds, of a merchant's deposits, of cash that its terminals took, and of payments
    /// and refunds. The entries of the last two are in the payer's partition.
    async fn entries_credited_by_seals(
        &mut self,
        merchant: MerchantId,
        is_meant: impl Fn(&Item) -> bool,
    ) -> Result<(), Stopped> {
        let tenant = self.of.tenant;
        let mut payers = BTreeMap::<PaymentId, Account>::new();
        let mut entries = Vec::<(PaymentId, TransactionId)>::new();
        for shard in 0..self.shards_of(merchant).await? {
            let Some(listed) = self.listed_if_few(merchant, shard).await? else { continue };
            for record in self.of.app.dynamo().stored_many(&listed).await.map_err(Problem::from)? {
                let record = with_unsupported_marked(&record);
                let Ok(payment) = record.parsed("payment_id", PaymentId::parse) else { continue };
                payers.extend(record.parsed("payer", Account::parse).ok().map(|payer| (payment, payer)));
                let entry = record.parsed("transaction_id", TransactionId::parse).ok();
                entries.extend(entry.map(|entry| (payment, entry)));
            }
        }
        let mut wanted = Vec::new();
        for (payment, entry) in entries {
            // The index may list a refund and not its payment.
            let payer = match payers.get(&payment) {
                Some(payer) => Some(*payer),
                None => {
                    let record = self.of.get(&keys::payment(tenant, payment)).await?;
                    record.and_then(|record| record.parsed("payer", Account::parse).ok())
                }
            };
            let home = payer.and_then(|payer| Partition::account(tenant, payer));
            wanted.extend(home.map(|home| home.entry(entry)));
        }
        wanted.extend(self.entries_of_cash(merchant).await?);
        wanted.sort();
        wanted.dedup();
        if wanted.len() > ITEMS_MAX {
            self.is_complete = false;
            return Ok(());
        }
        let entries = self.of.app.dynamo().stored_many(&wanted).await.map_err(Problem::from)?;
        let entries = entries.iter().map(with_unsupported_marked);
        self.take(entries.filter(|entry| is_meant(entry)).collect())?;
        let own = self.pages_if_few(&reads::account_entries(&Partition::merchant(tenant, merchant))).await?;
        self.take(own.into_iter().filter(|entry| is_meant(entry)).collect())
    }

    /// The keys of the entries of cash that a merchant's terminals took. The terminals have references to them.
    async fn entries_of_cash(&mut self, merchant: MerchantId) -> Result<Vec<Key>, Stopped> {
        let tenant = self.of.tenant;
        let Some(rooms) = self.of.get(&Partition::merchant(tenant, merchant).cash_rooms()).await? else {
            return Ok(Vec::new());
        };
        let terminals = CashRooms::read(&rooms).map(|rooms| rooms.allotted).map_err(Problem::from)?;
        let mut entries = Vec::new();
        for terminal in terminals.into_keys() {
            let references = reads::history_references(&Partition::terminal(tenant, terminal), None);
            let references = self.pages_if_few(&references).await?;
            let is_of_cash = |reference: &&Item| expand(reference).is_ok_and(|full| full.contains_key("cash"));
            entries.extend(references.iter().filter(is_of_cash).filter_map(|reference| self.of.entry_of(reference)));
        }
        Ok(entries)
    }

    /// All items of a query; none, and the group is not complete, if there are too many.
    async fn pages_if_few(&mut self, query: &Query) -> Result<Vec<Item>, Stopped> {
        match self.pages(query).await {
            Err(Stopped::Unsettled) => {
                self.is_complete = false;
                Ok(Vec::new())
            }
            read => read,
        }
    }
}
