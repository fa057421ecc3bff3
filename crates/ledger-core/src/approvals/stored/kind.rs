//! The word that a stored command has for its kind.

use crate::bank_files::FileChange;
use crate::dynamo::{Attributes, Item, ItemError};
use crate::operation::Operation;

/// The attribute that has the word.
pub(super) const KIND: &str = "kind";

/// The kinds of stored commands. A release that does not know a kind must not decide on it.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Grant,
    BulkGrant,
    Adjustment,
    TopupDecision,
    CashCeiling,
    RefundCeiling,
    AssetBudget,
    CashDeposit,
    CashDepositReversal,
    Refund,
    CashReversal,
    CounterOpen,
    CashCollection,
    CashRoom,
    Destination,
    SettlementOpen,
    SettlementReturn,
    BankFile(FileChange),
    SettlementRun,
    SettlementSchedule,
    EnrolmentCode,
    StaffInvite,
    StaffChange,
    TermsChange,
    TermsCancel,
    AccountLimits,
    CardReplace,
    SignInMove,
    CustomerClose,
    CustomerErase,
    CardClose,
    UnclaimedClaim,
    UnclaimedPayout,
    WindDown,
    MerchantOwner,
}

impl Kind {
    const ALL: [(Operation, Self); 37] = [
        (Operation::Grant, Self::Grant),
        (Operation::BulkGrant, Self::BulkGrant),
        (Operation::Adjustment, Self::Adjustment),
        (Operation::TopupDecision, Self::TopupDecision),
        (Operation::CashCeiling, Self::CashCeiling),
        (Operation::RefundCeiling, Self::RefundCeiling),
        (Operation::AssetBudget, Self::AssetBudget),
        (Operation::CashDeposit, Self::CashDeposit),
        (Operation::CashDepositReversal, Self::CashDepositReversal),
        (Operation::Refund, Self::Refund),
        (Operation::CardReverse, Self::CashReversal),
        (Operation::TerminalOpen, Self::CounterOpen),
        (Operation::CashCollection, Self::CashCollection),
        (Operation::CashRoom, Self::CashRoom),
        (Operation::MerchantPatch, Self::Destination),
        (Operation::SettlementOpen, Self::SettlementOpen),
        (Operation::SettlementReturn, Self::SettlementReturn),
        (Operation::BankFileReject, Self::BankFile(FileChange::Reject)),
        (Operation::BankFileWithdraw, Self::BankFile(FileChange::Withdraw)),
        (Operation::BankFileReopen, Self::BankFile(FileChange::Reopen)),
        (Operation::SettlementRunStart, Self::SettlementRun),
        (Operation::SettlementSchedule, Self::SettlementSchedule),
        (Operation::EnrolmentCode, Self::EnrolmentCode),
        (Operation::StaffInvite, Self::StaffInvite),
        (Operation::StaffChange, Self::StaffChange),
        (Operation::TermsChange, Self::TermsChange),
        (Operation::TermsCancel, Self::TermsCancel),
        (Operation::AccountLimits, Self::AccountLimits),
        (Operation::CardReplace, Self::CardReplace),
        (Operation::SignInMove, Self::SignInMove),
        (Operation::CustomerClose, Self::CustomerClose),
        (Operation::CustomerErase, Self::CustomerErase),
        (Operation::CardClose, Self::CardClose),
        (Operation::UnclaimedClaim, Self::UnclaimedClaim),
        (Operation::UnclaimedPayout, Self::UnclaimedPayout),
        (Operation::WindDown, Self::WindDown),
        (Operation::MerchantOwner, Self::MerchantOwner),
    ];

    pub(super) fn of(item: &Item) -> Result<Self, ItemError> {
        let known = |name: &str| Self::ALL.into_iter().find(|(operation, _)| operation.name() == name);
        Ok(item.named(KIND, known)?.1)
    }
}
