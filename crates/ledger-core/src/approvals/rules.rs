//! Whose ties are asked of each command: the table of `docs/permissions.md`.

use crate::operation::Operation;
use crate::permission::Permission;

/// The scope of a kind of command, and the accounts whose ties are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandRule {
    /// The operation that it executes.
    pub operation: Operation,
    /// The permission of who asks.
    pub permission: Permission,
    /// Whether it is for named accounts, for a class of them, or either, by how many it names.
    pub scope: ScopeRule,
    /// The accounts whose ties are asked.
    pub accounts: &'static str,
}

/// Whether a kind of command is for named accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeRule {
    /// For named accounts, of which there may be none.
    Named,
    /// For a class.
    Class,
    /// For named accounts, and for a class from [`super::CLASS_CUSTOMERS_MIN`] on.
    ByCount,
}

const NONE: &str = "none; the member whose record it is does not decide";
const OPERATORS: &str = "none; it is the operator's own";

/// The rule of each kind of command.
pub const COMMAND_RULES: [CommandRule; 34] = [
    rule(Operation::AccountLimits, Permission::LimitsChange, ScopeRule::Named, "the customer or card"),
    rule(Operation::Adjustment, Permission::AdjustmentsRequest, ScopeRule::Named, "the customer or card"),
    rule(Operation::AssetBudget, Permission::TermsChange, ScopeRule::Class, "all"),
    rule(Operation::CardClose, Permission::AccountsClose, ScopeRule::Named, "the card; its owner"),
    rule(Operation::CardReplace, Permission::CardsManage, ScopeRule::Named, "both cards; the owner"),
    rule(
        Operation::CardReverse,
        Permission::CashDepositsRecord,
        ScopeRule::Named,
        "the card; the merchant of the terminal",
    ),
    rule(
        Operation::CashCeiling,
        Permission::CashRoomsChange,
        ScopeRule::Named,
        "the merchant; none of the operator's counters",
    ),
    rule(Operation::CashCollection, Permission::CashDepositsRecord, ScopeRule::Named, OPERATORS),
    rule(Operation::CashDeposit, Permission::CashDepositsRecord, ScopeRule::Named, "the merchant"),
    rule(Operation::CashDepositReversal, Permission::CashDepositsRecord, ScopeRule::Named, "the merchant"),
    rule(
        Operation::CashRoom,
        Permission::CashRoomsChange,
        ScopeRule::Named,
        "the merchant of the terminal; none of a counter",
    ),
    rule(Operation::CustomerClose, Permission::AccountsClose, ScopeRule::Named, "the customer"),
    rule(Operation::CustomerErase, Permission::AccountsClose, ScopeRule::Named, "the customer"),
    rule(
        Operation::EnrolmentCode,
        Permission::TerminalsManage,
        ScopeRule::Named,
        "the merchant of the terminal; none of a counter",
    ),
    rule(Operation::Grant, Permission::GrantsIssue, ScopeRule::Named, "the customer"),
    rule(Operation::MerchantOwner, Permission::MerchantsOwner, ScopeRule::Named, "the merchant"),
    rule(Operation::MerchantPatch, Permission::DestinationsChange, ScopeRule::Named, "the merchant"),
    rule(
        Operation::Refund,
        Permission::RefundRoomsChange,
        ScopeRule::Named,
        "the payer, a customer or card; the merchant",
    ),
    rule(Operation::RefundCeiling, Permission::RefundRoomsChange, ScopeRule::Named, "the merchant"),
    rule(Operation::SettlementOpen, Permission::SettlementsOpen, ScopeRule::Named, "the merchant"),
    rule(Operation::SettlementReturn, Permission::PayoutRequestsMake, ScopeRule::Named, "the merchant"),
    rule(Operation::SettlementRunStart, Permission::SettlementsOpen, ScopeRule::Class, "all merchants"),
    rule(Operation::SettlementSchedule, Permission::DestinationsChange, ScopeRule::Named, "the merchant"),
    rule(
        Operation::SignInMove,
        Permission::CustomersFreeze,
        ScopeRule::Named,
        "the customer; the one with the subject's id",
    ),
    rule(Operation::StaffChange, Permission::StaffManage, ScopeRule::Named, NONE),
    rule(Operation::StaffInvite, Permission::StaffManage, ScopeRule::Named, NONE),
    rule(Operation::TerminalOpen, Permission::TerminalsManage, ScopeRule::Named, OPERATORS),
    rule(Operation::TermsCancel, Permission::TermsChange, ScopeRule::Class, "all"),
    rule(Operation::TermsChange, Permission::TermsChange, ScopeRule::Class, "all"),
    rule(Operation::TopupDecision, Permission::TopupDecisionsRequest, ScopeRule::Named, "the customer"),
    rule(
        Operation::UnclaimedClaim,
        Permission::UnclaimedClaim,
        ScopeRule::Named,
        "the closed customer or card; the customer who claims",
    ),
    rule(Operation::UnclaimedPayout, Permission::UnclaimedClaim, ScopeRule::Named, "the closed customer or card"),
    rule(Operation::WindDown, Permission::WindDownsRun, ScopeRule::Class, "all"),
    rule(Operation::BulkGrant, Permission::GrantsIssue, ScopeRule::ByCount, "the customers"),
];

const fn rule(operation: Operation, permission: Permission, scope: ScopeRule, accounts: &'static str) -> CommandRule {
    CommandRule { operation, permission, scope, accounts }
}
