//! The requests that the core builds for a question.

use super::super::arguments::{after, at, date, day, id, key, keys, merchant, partition, slug, totals_of};
use super::{Page, Question};
use crate::wire;
use ledger_core::ids::{
    ApprovalId, BankFileId, CustomerId, Employer, FindingId, JobId, PaymentId, RunId, SettlementId, StaffId,
    TerminalId, TopupId, TransactionId,
};
use ledger_core::keys::{JobKind, TotalsGroup};
use ledger_core::reads::{self, Query, Request, Segment, Times};
use ledger_core::time::{BusinessDate, UtcMonth};

/// The core's result for a question.
pub enum ReadPlan {
    /// Complete requests.
    Requests(Vec<Request>),
    /// A query, whose later requests depend on what has been read.
    Query(Box<Query>),
}

impl Question {
    /// The core's result for this question; a query with its page.
    #[must_use]
    pub fn read_plan(&self, page: &Page) -> ReadPlan {
        let mut query = match self.plain() {
            Ok(query) => query,
            Err(requests) => return ReadPlan::Requests(requests),
        };
        if page.newest_first {
            query = query.newest_first();
        }
        if page.after.is_some() {
            query = query.after(page.after.clone());
        }
        if let Some(limit) = page.limit {
            query = query.limit(limit);
        }
        ReadPlan::Query(Box::new(query))
    }

    /// A query, or complete requests.
    fn plain(&self) -> Result<Query, Vec<Request>> {
        Ok(match self {
            Self::Finding(question) => return question.plain(),
            Self::Item { key: of } => return Err(vec![reads::item(&key(of))]),
            Self::Items { keys: of } => return Err(reads::items(&keys(of))),
            Self::Snapshot { keys: of } => return Err(reads::snapshot(&keys(of)).into_iter().collect()),
            Self::TableSegment { tenant, number, of, after } => {
                let first = &Segment::all(*of)[*number];
                let segment = after.as_ref().map_or_else(|| first.clone(), |at| first.from(wire::item_from_json(at)));
                return Err(vec![reads::table_segment(&slug(tenant), &segment)]);
            }
            Self::CustomersWithGodRecord { tenant, after } => {
                let after = after.as_ref().map(key);
                return Err(vec![reads::customers_with_god_record(&slug(tenant), after.as_ref())]);
            }
            Self::Balances { account } => reads::balances(&partition(account)),
            Self::HistoryEntries { account, after: of } => {
                reads::history_entries(&partition(account), after(of.as_ref()))
            }
            Self::HistoryReferences { account, after: of } => {
                reads::history_references(&partition(account), after(of.as_ref()))
            }
            Self::HistoryEntriesFrom { account, from, after: of } => {
                reads::history_entries_from(&partition(account), at(from), after(of.as_ref()))
            }
            Self::HistoryReferencesFrom { account, from, after: of } => {
                reads::history_references_from(&partition(account), at(from), after(of.as_ref()))
            }
            Self::AccountEntries { account } => reads::account_entries(&partition(account)),
            Self::AccountEntriesFrom { account, id: from } => {
                reads::account_entries_from(&partition(account), id(from))
            }
            Self::AccountEntriesBetween { account, from, to } => {
                reads::account_entries_between(&partition(account), id(from), id(to))
            }
            Self::AccountReferencesBetween { account, from, to } => {
                reads::account_references_between(&partition(account), id(from), id(to))
            }
            Self::LegacyHistory { account } => reads::legacy_history(&partition(account)),
            Self::LegacyHistoryBetween { account, low, high } => {
                reads::legacy_history_between(&partition(account), low, high)
            }
            Self::TerminalReferencesOf { tenant, terminal, day } => reads::terminal_references_of(
                &slug(tenant),
                TerminalId::parse(terminal).unwrap(),
                BusinessDate::parse(day).unwrap(),
            ),
            Self::CashCollections { tenant, terminal } => {
                reads::cash_collections(&slug(tenant), TerminalId::parse(terminal).unwrap())
            }
            Self::Topups { tenant, customer, from } => {
                let customer = CustomerId::parse(customer).unwrap();
                reads::topups(&slug(tenant), customer, from.as_deref().map(at))
            }
            Self::TopupMarkers { account } => reads::topup_markers(&partition(account)),
            Self::RecordsUnsealed { tenant, shard } => reads::records_unsealed(&slug(tenant), *shard),
            Self::WorkDue { tenant, shard, now } => reads::work_due(&slug(tenant), *shard, at(now)),
            Self::WorkWaiting { tenant, shard } => reads::work_waiting(&slug(tenant), *shard),
            Self::Attention { tenant } => reads::attention(&slug(tenant)),
            Self::ReturnedPayouts { tenant, merchant: of } => reads::returned_payouts(&slug(tenant), merchant(of)),
            Self::PeriodsGivenBack { tenant, merchant: of } => reads::periods_given_back(&slug(tenant), merchant(of)),
            Self::CashBonuses { tenant, merchant: of, from, until } => {
                let from = from.as_deref().map(|from| TransactionId::parse(from).unwrap());
                reads::cash_bonuses(&slug(tenant), merchant(of), from, at(until))
            }
            Self::EntriesToPublishLate { tenant, shard } => reads::entries_to_publish_late(&slug(tenant), *shard),
            Self::LaneCredits { tenant, merchant: of } => reads::lane_credits(&slug(tenant), merchant(of)),
            Self::Jobs { tenant, kind, from, after: than } => {
                let kind = JobKind::parse(kind).expect("a kind");
                reads::jobs(&slug(tenant), kind, from.as_deref().map(at), after(than.as_ref()))
            }
            Self::JobLines { tenant, job, after } => {
                reads::job_lines(&slug(tenant), JobId::new(id(job)), after.as_deref())
            }
            Self::RefusedPayments { tenant, shard, from, until } => {
                let times = Times { from: Some(at(from)), until: Some(at(until)), after: None };
                reads::refused_payments(&slug(tenant), *shard, times)
            }
            Self::BankFileItems { tenant, file } => {
                reads::bank_file_items(&slug(tenant), BankFileId::parse(file).expect("a file"))
            }
            Self::BankFiles { tenant, after } => {
                let after = after.as_deref().map(|id| BankFileId::parse(id).expect("a file"));
                reads::bank_files(&slug(tenant), after)
            }
            Self::BankTransfers { tenant, day, after: than } => {
                reads::bank_transfers(&slug(tenant), date(day), after(than.as_ref()).map(SettlementId::new))
            }
            Self::Cards { tenant, shard } => reads::cards(&slug(tenant), *shard),
            Self::Merchants { tenant } => reads::merchants(&slug(tenant)),
            Self::MerchantRecords { tenant, merchant: of, shard } => {
                reads::merchant_records(&slug(tenant), merchant(of), *shard)
            }
            Self::MerchantRecordsFrom { tenant, merchant: of, shard, from } => {
                reads::merchant_records_from(&slug(tenant), (merchant(of), *shard), at(from))
            }
            Self::Settlements { tenant, merchant: of, after: from } => {
                reads::settlements(&slug(tenant), merchant(of), after(from.as_ref()))
            }
            Self::SettlementsOfTenant { tenant, from } => {
                reads::settlements_of_tenant(&slug(tenant), from.as_deref().map(at))
            }
            Self::OpenHolds { tenant, shard } => reads::open_holds(&slug(tenant), *shard),
            Self::Breaks { tenant, from, after: than } => {
                let after = than.as_ref().map(|[run, finding]| (RunId::new(id(run)), FindingId::new(id(finding))));
                reads::breaks(&slug(tenant), from.as_deref().map(at), after)
            }
            Self::SettledBatches { tenant, merchant: of, settlement } => {
                reads::settled_batches(&slug(tenant), merchant(of), SettlementId::parse(settlement).unwrap())
            }
            Self::Periods { tenant, merchant: of } => reads::periods(&slug(tenant), merchant(of)),
            Self::AuditRecords { tenant, day: of, shard, after: from } => {
                reads::audit_records(&slug(tenant), (day(of), *shard), after(from.as_ref()))
            }
            Self::RegisteredTenants { shard, after } => {
                reads::registered_tenants(*shard, after.as_deref().map(slug).as_ref())
            }
            Self::Shops { tenant, merchant: of, after: from } => {
                reads::shops(&slug(tenant), merchant(of), after(from.as_ref()))
            }
            Self::StaffMembers { tenant, merchant: of, after: from } => {
                let employer = of.as_ref().map_or(Employer::Operator, |of| Employer::Merchant(merchant(of)));
                reads::staff_members(&slug(tenant), employer, after(from.as_ref()).map(StaffId::new))
            }
            Self::Approvals { tenant, month, from, after: than } => {
                let after = after(than.as_ref()).map(ApprovalId::new);
                reads::approvals(&slug(tenant), UtcMonth::parse(month).unwrap(), from.as_deref().map(at), after)
            }
            Self::ActsFrom { tenant, day: of, shard, from } => {
                reads::acts_from(&slug(tenant), (day(of), *shard), at(from))
            }
            Self::Terms { tenant } => reads::terms(&slug(tenant)),
            Self::Reconciliations { tenant, after: from } => {
                reads::reconciliations(&slug(tenant), after(from.as_ref()))
            }
            Self::BreaksOf { tenant, run, after: from } => {
                reads::breaks_of(&slug(tenant), RunId::parse(run).unwrap(), after(from.as_ref()))
            }
            Self::MigrationPasses { tenant } => reads::migration_passes(&slug(tenant)),
            Self::PaymentItems { tenant, payment } => {
                reads::payment_items(&slug(tenant), PaymentId::parse(payment).unwrap())
            }
            Self::TopupItems { tenant, topup } => reads::topup_items(&slug(tenant), TopupId::parse(topup).unwrap()),
            Self::TopupRefunds { tenant, topup } => reads::topup_refunds(&slug(tenant), TopupId::parse(topup).unwrap()),
            Self::StepsOf { account, resource } => reads::steps_of(&partition(account), id(resource)),
            Self::LaneSegments { tenant, lane } => reads::lane_segments(&slug(tenant), *lane),
            Self::ClosedDays { tenant, from, to } => {
                reads::closed_days(&slug(tenant), from.as_deref().map(date), to.as_deref().map(date))
            }
            Self::DayTotals { tenant, of, from, to } => {
                reads::day_totals(&slug(tenant), totals_of(of), from.as_deref().map(date), date(to))
            }
            Self::WithTotals { tenant, group, merchant: of, after } => {
                let group = match of {
                    Some(of) => TotalsGroup::Shops(Some(merchant(of))),
                    None => TotalsGroup::ALL.into_iter().find(|known| known.name() == group).unwrap(),
                };
                reads::with_totals(&slug(tenant), group, after.as_deref().map(totals_of))
            }
            Self::ActiveAccounts { tenant, date: day } => reads::active_accounts(&slug(tenant), date(day)),
            Self::Bindings { tenant, from, to } => reads::bindings(&slug(tenant), day(from), day(to)),
        })
    }
}
