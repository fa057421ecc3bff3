//! A vector's question, and the requests that the core builds for it.

mod plan;

use super::finding::FindingQuestion;
pub use super::page::Page;
pub use plan::ReadPlan;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// An item's primary key.
pub type ItemKey = (String, String);

/// A question, with the arguments of the function of the same name in `ledger_core::reads`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[expect(missing_docs, reason = "the functions of the same names are documented")]
pub enum Question {
    Item {
        key: ItemKey,
    },
    Items {
        keys: Vec<ItemKey>,
    },
    Snapshot {
        keys: Vec<ItemKey>,
    },
    TableSegment {
        tenant: String,
        number: usize,
        of: u16,
        /// The last key of the previous page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Json>,
    },
    CustomersWithGodRecord {
        tenant: String,
        after: Option<ItemKey>,
    },
    Balances {
        account: String,
    },
    HistoryEntries {
        account: String,
        after: Option<String>,
    },
    HistoryReferences {
        account: String,
        after: Option<String>,
    },
    HistoryEntriesFrom {
        account: String,
        from: String,
        after: Option<String>,
    },
    HistoryReferencesFrom {
        account: String,
        from: String,
        after: Option<String>,
    },
    AccountEntries {
        account: String,
    },
    AccountEntriesFrom {
        account: String,
        id: String,
    },
    AccountEntriesBetween {
        account: String,
        from: String,
        to: String,
    },
    AccountReferencesBetween {
        account: String,
        from: String,
        to: String,
    },
    LegacyHistory {
        account: String,
    },
    LegacyHistoryBetween {
        account: String,
        low: String,
        high: String,
    },
    TerminalReferencesOf {
        tenant: String,
        terminal: String,
        day: String,
    },
    CashCollections {
        tenant: String,
        terminal: String,
    },
    Topups {
        tenant: String,
        customer: String,
        from: Option<String>,
    },
    TopupMarkers {
        account: String,
    },
    RecordsUnsealed {
        tenant: String,
        shard: u32,
    },
    WorkDue {
        tenant: String,
        shard: u32,
        now: String,
    },
    WorkWaiting {
        tenant: String,
        shard: u32,
    },
    Attention {
        tenant: String,
    },
    ReturnedPayouts {
        tenant: String,
        merchant: String,
    },
    PeriodsGivenBack {
        tenant: String,
        merchant: String,
    },
    CashBonuses {
        tenant: String,
        merchant: String,
        from: Option<String>,
        until: String,
    },
    EntriesToPublishLate {
        tenant: String,
        shard: u32,
    },
    LaneCredits {
        tenant: String,
        merchant: String,
    },
    Jobs {
        tenant: String,
        kind: String,
        from: Option<String>,
        after: Option<String>,
    },
    JobLines {
        tenant: String,
        job: String,
        after: Option<String>,
    },
    RefusedPayments {
        tenant: String,
        shard: u32,
        from: String,
        until: String,
    },
    BankFileItems {
        tenant: String,
        file: String,
    },
    BankFiles {
        tenant: String,
        after: Option<String>,
    },
    BankTransfers {
        tenant: String,
        day: String,
        after: Option<String>,
    },
    Cards {
        tenant: String,
        shard: u32,
    },
    Merchants {
        tenant: String,
    },
    MerchantRecords {
        tenant: String,
        merchant: String,
        shard: u32,
    },
    MerchantRecordsFrom {
        tenant: String,
        merchant: String,
        shard: u32,
        from: String,
    },
    Settlements {
        tenant: String,
        merchant: String,
        after: Option<String>,
    },
    SettledBatches {
        tenant: String,
        merchant: String,
        settlement: String,
    },
    Periods {
        tenant: String,
        merchant: String,
    },
    AuditRecords {
        tenant: String,
        day: String,
        shard: u32,
        after: Option<String>,
    },
    RegisteredTenants {
        shard: u8,
        after: Option<String>,
    },
    Shops {
        tenant: String,
        merchant: String,
        after: Option<String>,
    },
    StaffMembers {
        tenant: String,
        merchant: Option<String>,
        after: Option<String>,
    },
    Approvals {
        tenant: String,
        month: String,
        from: Option<String>,
        after: Option<String>,
    },
    ActsFrom {
        tenant: String,
        day: String,
        shard: u32,
        from: String,
    },
    Terms {
        tenant: String,
    },
    Reconciliations {
        tenant: String,
        after: Option<String>,
    },
    BreaksOf {
        tenant: String,
        run: String,
        after: Option<String>,
    },
    Breaks {
        tenant: String,
        from: Option<String>,
        after: Option<[String; 2]>,
    },
    OpenHolds {
        tenant: String,
        shard: u32,
    },
    SettlementsOfTenant {
        tenant: String,
        from: Option<String>,
    },
    MigrationPasses {
        tenant: String,
    },
    PaymentItems {
        tenant: String,
        payment: String,
    },
    TopupItems {
        tenant: String,
        topup: String,
    },
    TopupRefunds {
        tenant: String,
        topup: String,
    },
    StepsOf {
        account: String,
        resource: String,
    },
    LaneSegments {
        tenant: String,
        lane: u32,
    },
    Bindings {
        tenant: String,
        from: String,
        to: String,
    },
    ClosedDays {
        tenant: String,
        from: Option<String>,
        to: Option<String>,
    },
    DayTotals {
        tenant: String,
        of: String,
        from: Option<String>,
        to: String,
    },
    WithTotals {
        tenant: String,
        group: String,
        merchant: Option<String>,
        after: Option<String>,
    },
    ActiveAccounts {
        tenant: String,
        date: String,
    },
    #[serde(untagged)]
    Finding(FindingQuestion),
}
