//! What a command executes, and what its requester needs.

use super::command::Command;
use crate::operation::Operation;
use crate::permission::Permission;

impl Command {
    /// The operation that it executes.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        match self {
            Self::Grant { .. } => Operation::Grant,
            Self::BulkGrant { .. } => Operation::BulkGrant,
            Self::Adjustment(_) => Operation::Adjustment,
            Self::TopupDecision(_) => Operation::TopupDecision,
            Self::CashCeiling { .. } => Operation::CashCeiling,
            Self::RefundCeiling { .. } => Operation::RefundCeiling,
            Self::AssetBudget { .. } => Operation::AssetBudget,
            Self::Refund(_) => Operation::Refund,
            Self::CashReversal(_) => Operation::CardReverse,
            Self::CashDeposit { .. } => Operation::CashDeposit,
            Self::CashDepositReversal { .. } => Operation::CashDepositReversal,
            Self::CounterOpen { .. } => Operation::TerminalOpen,
            Self::CashCollection { .. } => Operation::CashCollection,
            Self::CashRoom { .. } => Operation::CashRoom,
            Self::Destination { .. } => Operation::MerchantPatch,
            Self::SettlementOpen { .. } => Operation::SettlementOpen,
            Self::SettlementReturn(_) => Operation::SettlementReturn,
            Self::BankFile(of) => of.change.operation(),
            Self::SettlementRun { .. } => Operation::SettlementRunStart,
            Self::SettlementSchedule { .. } => Operation::SettlementSchedule,
            Self::EnrolmentCode { .. } => Operation::EnrolmentCode,
            Self::StaffInvite { .. } => Operation::StaffInvite,
            Self::StaffChange { .. } => Operation::StaffChange,
            Self::TermsChange { .. } => Operation::TermsChange,
            Self::TermsCancel { .. } => Operation::TermsCancel,
            Self::AccountLimits { .. } => Operation::AccountLimits,
            Self::CardReplace(_) => Operation::CardReplace,
            Self::SignInMove(_) => Operation::SignInMove,
            Self::CustomerClose(_) => Operation::CustomerClose,
            Self::CustomerErase { .. } => Operation::CustomerErase,
            Self::CardClose(_) => Operation::CardClose,
            Self::UnclaimedClaim(_) => Operation::UnclaimedClaim,
            Self::UnclaimedPayout(_) => Operation::UnclaimedPayout,
            Self::WindDown => Operation::WindDown,
            Self::MerchantOwner { .. } => Operation::MerchantOwner,
        }
    }

    /// The permission that the requester needs, at the request and still at the approval.
    #[must_use]
    pub const fn permission(&self) -> Permission {
        match self {
            Self::Grant { .. } | Self::BulkGrant { .. } => Permission::GrantsIssue,
            Self::Adjustment(_) => Permission::AdjustmentsRequest,
            Self::TopupDecision(_) => Permission::TopupDecisionsRequest,
            Self::CashCeiling { .. } | Self::CashRoom { .. } => Permission::CashRoomsChange,
            Self::RefundCeiling { .. } | Self::Refund(_) => Permission::RefundRoomsChange,
            Self::CashDeposit { .. }
            | Self::CashDepositReversal { .. }
            | Self::CashCollection { .. }
            | Self::CashReversal(_) => Permission::CashDepositsRecord,
            Self::Destination { .. } => Permission::DestinationsChange,
            Self::SettlementOpen { .. } | Self::SettlementRun { .. } => Permission::SettlementsOpen,
            Self::SettlementReturn(_) => Permission::SettlementsReturn,
            Self::BankFile(_) => Permission::BankFilesMark,
            Self::SettlementSchedule { .. } => Permission::DestinationsChange,
            Self::CounterOpen { .. } | Self::EnrolmentCode { .. } => Permission::TerminalsManage,
            Self::StaffInvite { .. } | Self::StaffChange { .. } => Permission::StaffManage,
            Self::TermsChange { .. } | Self::TermsCancel { .. } | Self::AssetBudget { .. } => Permission::TermsChange,
            Self::AccountLimits { .. } => Permission::LimitsChange,
            Self::CardReplace(_) => Permission::CardsManage,
            Self::SignInMove(_) => Permission::CustomersFreeze,
            Self::CustomerClose(_) | Self::CustomerErase { .. } | Self::CardClose(_) => Permission::AccountsClose,
            Self::UnclaimedClaim(_) | Self::UnclaimedPayout(_) => Permission::UnclaimedClaim,
            Self::WindDown => Permission::WindDownsRun,
            Self::MerchantOwner { .. } => Permission::MerchantsOwner,
        }
    }
}
