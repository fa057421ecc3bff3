//! Whose ties are asked of each command, and in which states of its subjects it is executed: the table of `docs/permissions.md`.

use super::states::{
    ACTIVE_CARD, ACTIVE_WALLET, BOOKED, CARD_NOT_ENDED, CLOSED_CARD, CLOSED_WALLET, FILE_ACCEPTED, FILE_NOT_OVER,
    FILE_WITH_BANK, MERCHANT_NOT_CLOSING, OPEN_WALLET, REFUND_HELD, REFUND_NOT_PAID, REFUNDABLE, Subject, SubjectRule,
    TERMINAL_NOT_CLOSED, TOPUP_NOT_PAID,
};
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
    /// The states of its subjects.
    pub subjects: &'static [SubjectRule],
    /// What is required beside them, in words; empty if nothing is.
    pub also: &'static str,
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
pub const COMMAND_RULES: [CommandRule; 37] =
    [
        rule(Operation::AccountLimits, Permission::LimitsChange, ScopeRule::Named, "the customer or card")
            .of(&[SubjectRule::any(Subject::Customer, "customer"), SubjectRule::any(Subject::Card, "card")]),
        rule(Operation::Adjustment, Permission::AdjustmentsRequest, ScopeRule::Named, "the customer or card")
            .of(&[
                SubjectRule::only(Subject::Customer, "credited customer", OPEN_WALLET),
                SubjectRule::only(Subject::Card, "credited card", CARD_NOT_ENDED),
                SubjectRule::only(Subject::Customer, "debited customer", ACTIVE_WALLET),
                SubjectRule::only(Subject::Card, "debited card", ACTIVE_CARD).and("not frozen"),
            ])
            .also("an exposure alone: any"),
        rule(Operation::AssetBudget, Permission::TermsChange, ScopeRule::Class, "all").also("the asset has a budget"),
        rule(Operation::BankFileReject, Permission::BankFilesMark, ScopeRule::Class, "all merchants")
            .of(&[SubjectRule::only(Subject::BankFile, "file", FILE_WITH_BANK)]),
        rule(Operation::BankFileReopen, Permission::BankFilesMark, ScopeRule::Class, "all merchants")
            .of(&[SubjectRule::only(Subject::BankFile, "file", FILE_ACCEPTED).and("without a returned transfer")]),
        rule(Operation::BankFileWithdraw, Permission::BankFilesMark, ScopeRule::Class, "all merchants")
            .of(&[SubjectRule::only(Subject::BankFile, "file", FILE_NOT_OVER)]),
        rule(Operation::CardClose, Permission::AccountsClose, ScopeRule::Named, "the card; its owner")
            .of(&[SubjectRule::only(Subject::Card, "card", CARD_NOT_ENDED)]),
        rule(Operation::CardReplace, Permission::CardsManage, ScopeRule::Named, "both cards; the owner").of(&[
            SubjectRule::only(Subject::Card, "card", CARD_NOT_ENDED).and("not frozen by the operator"),
            SubjectRule::only(Subject::Card, "new card", ACTIVE_CARD).and("unused"),
        ]),
        rule(
            Operation::CardReverse,
            Permission::CashDepositsRecord,
            ScopeRule::Named,
            "the card; the merchant of the terminal",
        )
        .of(&[
            SubjectRule::only(Subject::Card, "card, or the last that replaced it", CARD_NOT_ENDED),
            SubjectRule::only(Subject::Merchant, "merchant", MERCHANT_NOT_CLOSING),
            SubjectRule::any(Subject::Terminal, "terminal"),
        ]),
        rule(
            Operation::CashCeiling,
            Permission::CashRoomsChange,
            ScopeRule::Named,
            "the merchant; none of the operator's counters",
        )
        .of(&[SubjectRule::any(Subject::Merchant, "merchant")]),
        rule(Operation::CashCollection, Permission::CashDepositsRecord, ScopeRule::Named, OPERATORS)
            .of(&[SubjectRule::any(Subject::Terminal, "counter")]),
        rule(Operation::CashDeposit, Permission::CashDepositsRecord, ScopeRule::Named, "the merchant")
            .of(&[SubjectRule::any(Subject::Merchant, "merchant")]),
        rule(Operation::CashDepositReversal, Permission::CashDepositsRecord, ScopeRule::Named, "the merchant")
            .of(&[SubjectRule::any(Subject::Merchant, "merchant")])
            .also("the deposit is not reversed at the decision"),
        rule(
            Operation::CashRoom,
            Permission::CashRoomsChange,
            ScopeRule::Named,
            "the merchant of the terminal; none of a counter",
        )
        .of(&[SubjectRule::only(Subject::Terminal, "terminal", TERMINAL_NOT_CLOSED)]),
        rule(Operation::CustomerClose, Permission::AccountsClose, ScopeRule::Named, "the customer")
            .of(&[SubjectRule::only(Subject::Customer, "customer", OPEN_WALLET)
                .and("without cards and held, reserved or owed sums")]),
        rule(Operation::CustomerErase, Permission::AccountsClose, ScopeRule::Named, "the customer")
            .of(&[SubjectRule::only(Subject::Customer, "customer", CLOSED_WALLET).and("not erased")]),
        rule(
            Operation::EnrolmentCode,
            Permission::TerminalsManage,
            ScopeRule::Named,
            "the merchant of the terminal; none of a counter",
        )
        .of(&[SubjectRule::only(Subject::Terminal, "terminal", TERMINAL_NOT_CLOSED)]),
        rule(Operation::Grant, Permission::GrantsIssue, ScopeRule::Named, "the customer").of(&[SubjectRule::only(
            Subject::Customer,
            "customer",
            OPEN_WALLET,
        )]),
        rule(Operation::MerchantOwner, Permission::MerchantsOwner, ScopeRule::Named, "the merchant")
            .of(&[SubjectRule::any(Subject::Merchant, "merchant").and("without an owner at the decision")]),
        rule(Operation::MerchantPatch, Permission::DestinationsChange, ScopeRule::Named, "the merchant")
            .of(&[SubjectRule::any(Subject::Merchant, "merchant")]),
        rule(
            Operation::Refund,
            Permission::RefundRoomsChange,
            ScopeRule::Named,
            "the payer, a customer or card; the merchant",
        )
        .of(&[
            SubjectRule::only(Subject::Payment, "payment", REFUNDABLE),
            SubjectRule::only(Subject::Merchant, "merchant", MERCHANT_NOT_CLOSING),
        ]),
        rule(Operation::RefundCeiling, Permission::RefundRoomsChange, ScopeRule::Named, "the merchant")
            .of(&[SubjectRule::any(Subject::Merchant, "merchant")]),
        rule(Operation::SettlementOpen, Permission::SettlementsOpen, ScopeRule::Named, "the merchant")
            .of(&[SubjectRule::any(Subject::Merchant, "merchant").and("without an open settlement")]),
        rule(Operation::SettlementReturn, Permission::SettlementsReturn, ScopeRule::Named, "the merchant")
            .of(&[SubjectRule::only(Subject::Settlement, "settlement", BOOKED)
                .and("in no file that is assigning or written")]),
        rule(Operation::SettlementRunStart, Permission::SettlementsOpen, ScopeRule::Class, "all merchants")
            .of(&[SubjectRule::any(Subject::Merchant, "merchant")
                .and("but the period of one that is not `active` stays open")]),
        rule(Operation::SettlementSchedule, Permission::DestinationsChange, ScopeRule::Named, "the merchant")
            .of(&[SubjectRule::any(Subject::Merchant, "merchant")]),
        rule(
            Operation::SignInMove,
            Permission::CustomersFreeze,
            ScopeRule::Named,
            "the customer; the one with the subject's id",
        )
        .of(&[SubjectRule::only(Subject::Customer, "customer", OPEN_WALLET)]),
        rule(Operation::StaffChange, Permission::StaffManage, ScopeRule::Named, NONE).of(&[SubjectRule::any(
            Subject::Member,
            "member",
        )
        .and("but an `invited` one is not enabled")]),
        rule(Operation::StaffInvite, Permission::StaffManage, ScopeRule::Named, NONE)
            .also("the person has no record at the decision"),
        rule(Operation::TerminalOpen, Permission::TerminalsManage, ScopeRule::Named, OPERATORS)
            .also("the id has no terminal"),
        rule(Operation::TermsCancel, Permission::TermsChange, ScopeRule::Class, "all")
            .also("the version is `scheduled`"),
        rule(Operation::TermsChange, Permission::TermsChange, ScopeRule::Class, "all")
            .also("no other version is `scheduled`"),
        rule(Operation::TopupDecision, Permission::TopupDecisionsRequest, ScopeRule::Named, "the customer")
            .of(&[
                SubjectRule::only(Subject::Topup, "top-up", TOPUP_NOT_PAID),
                SubjectRule::only(Subject::TopupRefund, "refund that is booked", REFUND_HELD),
                SubjectRule::only(Subject::TopupRefund, "refund that is given up", REFUND_NOT_PAID),
            ])
            .also("a write-off: any, on suspense"),
        rule(
            Operation::UnclaimedClaim,
            Permission::UnclaimedClaim,
            ScopeRule::Named,
            "the closed customer or card; the customer who claims",
        )
        .of(&[
            SubjectRule::only(Subject::Customer, "customer", CLOSED_WALLET),
            SubjectRule::only(Subject::Card, "card", CLOSED_CARD),
            SubjectRule::only(Subject::Customer, "claiming customer", OPEN_WALLET),
        ]),
        rule(Operation::UnclaimedPayout, Permission::UnclaimedClaim, ScopeRule::Named, "the closed customer or card")
            .of(&[
                SubjectRule::only(Subject::Customer, "customer", CLOSED_WALLET),
                SubjectRule::only(Subject::Card, "card", CLOSED_CARD),
            ]),
        rule(Operation::WindDown, Permission::WindDownsRun, ScopeRule::Class, "all")
            .also("an account with held, reserved or owed sums stays open"),
        rule(Operation::BulkGrant, Permission::GrantsIssue, ScopeRule::ByCount, "the customers")
            .of(&[SubjectRule::any(Subject::Customer, "customer").and("but the line of a `closed` one fails")]),
    ];

const fn rule(operation: Operation, permission: Permission, scope: ScopeRule, accounts: &'static str) -> CommandRule {
    CommandRule { operation, permission, scope, accounts, subjects: &[], also: "" }
}

impl CommandRule {
    const fn of(mut self, subjects: &'static [SubjectRule]) -> Self {
        self.subjects = subjects;
        self
    }

    const fn also(mut self, also: &'static str) -> Self {
        self.also = also;
        self
    }

    /// The states of its subjects in words: a cell of `docs/permissions.md`.
    #[must_use]
    pub fn states(&self) -> String {
        let also = (!self.also.is_empty()).then(|| self.also.to_owned());
        self.subjects.iter().map(ToString::to_string).chain(also).collect::<Vec<_>>().join("; ")
    }
}
