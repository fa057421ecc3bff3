//! The keys of the index `due`: work still to be done, by kind and shard.

use crate::ids::{MerchantId, Tenant};
use crate::time::Timestamp;

/// A kind of work in the index `due`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A journal entry to publish and to seal.
    Publish,
    /// A sealed journal entry to publish, whose event was not taken in time.
    PublishLate,
    /// A bulk grant to continue.
    Job,
    /// An operation in flight whose lease may have ended, from the instant in its sort key on.
    Flight,
    /// A top-up or refund to look up at the PSP, from the instant in its sort key on.
    PspCheck,
    /// An operation or event that needs review.
    Attention,
    /// A returned payout to take into its merchant's next settlement.
    Settle(MerchantId),
    /// A closed period that a settlement gave back, to take into its merchant's next settlement.
    SettlePeriod(MerchantId),
    /// A hold to expire, from the instant in its sort key on.
    Hold,
    /// A settlement whose saga is to be started or restarted.
    Settlement,
    /// A record of the audit trail to be sealed.
    Seal,
    /// A reconciliation to run, again if it failed.
    Reconciliation,
    /// A preview of a change of terms to run.
    TermsPreview,
    /// A notice to announce.
    Notice,
    /// A merchant with a paid settlement, on whose cash bonuses may be due.
    CoveredCash,
    /// A bonus on cash of the merchant that is not granted.
    CashBonus(MerchantId),
    /// A batch of cards to continue.
    CardBatch,
    /// A job that winds a tenant down, to continue.
    WindDown,
    /// A run that closes merchants' periods, to continue.
    SettlementRun,
    /// A file to be made.
    File,
}

/// The partition of the index `due` for a kind of work and a shard: `<tenant>#due#publish#3`.
#[must_use]
pub fn due_partition(tenant: &Tenant, work: Work, shard: u32) -> String {
    match work {
        Work::Publish => format!("{tenant}#due#publish#{shard}"),
        Work::PublishLate => format!("{tenant}#due#publish_late#{shard}"),
        Work::Job => format!("{tenant}#due#job#{shard}"),
        Work::Flight => format!("{tenant}#due#flight#{shard}"),
        Work::PspCheck => format!("{tenant}#due#psp_check#{shard}"),
        Work::Attention => format!("{tenant}#due#attention#{shard}"),
        Work::Settle(merchant) => format!("{tenant}#due#settle#{merchant}#{shard}"),
        Work::SettlePeriod(merchant) => format!("{tenant}#due#settle_period#{merchant}#{shard}"),
        Work::Hold => format!("{tenant}#due#hold#{shard}"),
        Work::Settlement => format!("{tenant}#due#settlement#{shard}"),
        Work::Seal => format!("{tenant}#due#seal#{shard}"),
        Work::Reconciliation => format!("{tenant}#due#reconciliation#{shard}"),
        Work::TermsPreview => format!("{tenant}#due#terms_preview#{shard}"),
        Work::Notice => format!("{tenant}#due#notice#{shard}"),
        Work::CoveredCash => format!("{tenant}#due#covered_cash#{shard}"),
        Work::CashBonus(merchant) => format!("{tenant}#due#cash_bonus#{merchant}#{shard}"),
        Work::CardBatch => format!("{tenant}#due#card_batch#{shard}"),
        Work::WindDown => format!("{tenant}#due#wind_down#{shard}"),
        Work::SettlementRun => format!("{tenant}#due#settlement_run#{shard}"),
        Work::File => format!("{tenant}#due#file#{shard}"),
    }
}

/// The sort key of work that is due from an instant on. Texts of instants sort by time.
#[must_use]
pub fn due_from(at: Timestamp, id: impl std::fmt::Display) -> String {
    format!("{at}#{id}")
}

/// An upper bound of the sort keys of work that is due at `now`.
#[must_use]
pub fn due_until(now: Timestamp) -> String {
    format!("{now}#~")
}
