//! Reconciliation: checks that records, journal and balances agree. Each stored item is read by itself and gives
//! facts. Each fact belongs to one group: an account and asset, an entry, an idempotency key, a payment, a top-up, a
//! settlement, a merchant's period or rooms, a terminal's cash room, or a bank file. A check needs the facts of one group only. So a table
//! of any size is checked by sorting its facts by group, and a suspicion is confirmed by reading one group's items again.
//!
//! Each kind of group has its own type of facts, and each check matches all of them. An item in an
//! unknown state is a break. One of an unknown kind, or of a later form, is counted as newer: no item is left out silently.
//!
//! Nothing here repairs. A break has what was expected and what was found, and no personal data: no name, no client's
//! idempotency key, no free text.

mod breaks;
mod check;
mod explain;
mod export;
mod extract;
mod fact;
mod num;
pub mod run;

pub use breaks::{BreakKind, Finding, Proposal};
pub use check::{Groups, Scope, fold, transfer_in_evidence};
pub use explain::explain;
pub use export::exported_item;
pub use extract::{
    FactCount, ItemKind, Limits, NewerItem, Observation, UNKNOWN_KIND, of_intent, of_item, of_payout, of_refund,
};
pub use fact::{
    AccountFact, BalanceAmounts, BalanceItem, BankFileFact, BonusFact, BonusPart, CashRoomFact, Charge, EntryClaim,
    EntryFact, Fact, FactLineError, FileEntry, FileTransfer, Group, GroupFact, KeyDigest, KeyFact, PaymentEntry,
    PaymentFact, PeriodFact, PeriodTotals, ProviderPayout, ProviderRefund, RecordedClawback, RecordedFile,
    RecordedHold, RecordedPayment, RecordedReturn, RecordedSettlement, RecordedTopup, RecordedTopupRefund, RoomSum,
    RoomsFact, SettledPeriod, SettledSide, SettledSum, SettledSums, SettledTransfer, SettlementEntry, SettlementFact,
    SettlementStep, Stamp, Subject, TopupEntry, TopupFact, TopupStep,
};
pub use num::{Num, Nums};

#[cfg(test)]
mod tests;
