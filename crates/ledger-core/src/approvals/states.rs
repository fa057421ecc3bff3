//! In which states of its subjects a command is requested, and in which a decision executes it.
//!
//! Both follow from the builders: a request plans the command from the items that were read, and a decision applies its guards
//! too. The table says it in the words of the states, and tests plan each command in each of them.

use crate::bank_files::BankFileState;
use crate::card_state::CardState;
use crate::customer_state;
use crate::merchant_state::MerchantState;
use crate::payment_state::PaymentState;
use crate::settlements::SettlementState;
use crate::staff::MemberState;
use crate::terminal_state::TerminalState;
use crate::topups::{RefundState, TopupState};
use std::fmt;

/// What has a state on which a command may depend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A customer's wallet.
    Customer,
    /// A card.
    Card,
    /// A merchant.
    Merchant,
    /// A till or a counter.
    Terminal,
    /// A settlement.
    Settlement,
    /// A bank file.
    BankFile,
    /// A payment.
    Payment,
    /// A top-up.
    Topup,
    /// A refund of a top-up.
    TopupRefund,
    /// A member of the operator's staff.
    Member,
}

impl Subject {
    /// The names of all its states.
    #[must_use]
    pub fn states(self) -> Vec<&'static str> {
        match self {
            Self::Customer => customer_state::STATES.to_vec(),
            Self::Card => CardState::ALL.map(CardState::name).to_vec(),
            Self::Merchant => MerchantState::ALL.map(MerchantState::name).to_vec(),
            Self::Terminal => TerminalState::ALL.map(TerminalState::name).to_vec(),
            Self::Settlement => SettlementState::ALL.map(SettlementState::name).to_vec(),
            Self::BankFile => BankFileState::ALL.map(BankFileState::name).to_vec(),
            Self::Payment => PaymentState::ALL.map(PaymentState::name).to_vec(),
            Self::Topup => TopupState::ALL.map(TopupState::name).to_vec(),
            Self::TopupRefund => RefundState::ALL.map(RefundState::name).to_vec(),
            Self::Member => MemberState::ALL.map(MemberState::name).to_vec(),
        }
    }
}

/// States of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum States {
    /// Every one.
    Any,
    /// These, by name.
    Only(&'static [&'static str]),
}

impl States {
    /// Whether a state is among them.
    #[must_use]
    pub fn contains(self, state: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Only(states) => states.contains(&state),
        }
    }
}

impl fmt::Display for States {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("any"),
            Self::Only(states) => {
                let names: Vec<String> = states.iter().map(|state| format!("`{state}`")).collect();
                f.write_str(&names.join(" "))
            }
        }
    }
}

/// The states of one subject of a command. `Display` gives a cell of `docs/permissions.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubjectRule {
    /// What it is.
    pub subject: Subject,
    /// How it is named among the subjects of the command.
    pub name: &'static str,
    /// The states in which a request is stored, and in which a decision executes it.
    pub states: States,
    /// What else of it is required; empty if nothing is.
    pub also: &'static str,
}

impl SubjectRule {
    /// A subject whose state does not matter.
    pub(super) const fn any(subject: Subject, name: &'static str) -> Self {
        Self { subject, name, states: States::Any, also: "" }
    }

    /// A subject that is in one of these states at the request and at the decision.
    pub(super) const fn only(subject: Subject, name: &'static str, states: &'static [&'static str]) -> Self {
        Self { subject, name, states: States::Only(states), also: "" }
    }

    /// The same, with what else is required.
    pub(super) const fn and(mut self, also: &'static str) -> Self {
        self.also = also;
        self
    }
}

impl fmt::Display for SubjectRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.states)?;
        if self.also.is_empty() { Ok(()) } else { write!(f, ", {}", self.also) }
    }
}

pub(super) const OPEN_WALLET: &[&str] = &customer_state::OPEN;
pub(super) const ACTIVE_WALLET: &[&str] = &[customer_state::ACTIVE];
pub(super) const CLOSED_WALLET: &[&str] = &[customer_state::CLOSED];
pub(super) const CARD_NOT_ENDED: &[&str] = &[CardState::Active.name(), CardState::Blocked.name()];
pub(super) const ACTIVE_CARD: &[&str] = &[CardState::Active.name()];
pub(super) const CLOSED_CARD: &[&str] = &[CardState::Closed.name()];
pub(super) const MERCHANT_NOT_CLOSING: &[&str] = &[MerchantState::Active.name(), MerchantState::Suspended.name()];
pub(super) const TERMINAL_NOT_CLOSED: &[&str] = &[TerminalState::Active.name(), TerminalState::Frozen.name()];
pub(super) const BOOKED: &[&str] = &[SettlementState::Booked.name()];
pub(super) const FILE_WITH_BANK: &[&str] = &[BankFileState::Written.name(), BankFileState::Accepted.name()];
pub(super) const FILE_NOT_OVER: &[&str] =
    &[BankFileState::Assigning.name(), BankFileState::Written.name(), BankFileState::Accepted.name()];
pub(super) const FILE_ACCEPTED: &[&str] = &[BankFileState::Accepted.name()];
pub(super) const REFUNDABLE: &[&str] = &[PaymentState::Captured.name(), PaymentState::PartiallyRefunded.name()];
pub(super) const TOPUP_NOT_PAID: &[&str] = &[
    TopupState::Requested.name(),
    TopupState::Pending.name(),
    TopupState::Canceled.name(),
    TopupState::Refused.name(),
];
pub(super) const REFUND_HELD: &[&str] = &[RefundState::Requested.name(), RefundState::Pending.name()];
pub(super) const REFUND_NOT_PAID: &[&str] =
    &[RefundState::Requested.name(), RefundState::Pending.name(), RefundState::Failed.name()];
