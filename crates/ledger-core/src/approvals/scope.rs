//! What each command is for: named accounts, or a class of them.

use super::command::Command;
use crate::account::Account;
use crate::ids::{CustomerId, MerchantId, TerminalOwner};
use crate::ties::{ActScope, Among};

/// From how many customers on a grant of one amount is one of a class. It has a written rule: its reason.
pub const CLASS_CUSTOMERS_MIN: usize = 20;

impl Command {
    /// What it is for. A tie to a named account keeps a member from asking and deciding.
    #[must_use]
    pub fn scope(&self) -> ActScope {
        let customer = |id: &CustomerId| Account::Customer(*id);
        let named = ActScope::Named;
        let merchant = |id: &MerchantId| ActScope::Named(vec![Account::Merchant(*id)]);
        let of_owner = |owner: &TerminalOwner| named(owner.merchant().map(Account::Merchant).into_iter().collect());
        match self {
            Self::Grant { customer: id, .. } | Self::CustomerErase { customer: id } => named(vec![customer(id)]),
            Self::BulkGrant { customers, .. } => {
                let accounts: Vec<Account> = customers.iter().map(customer).collect();
                let is_class = accounts.len() >= CLASS_CUSTOMERS_MIN;
                if is_class { ActScope::Class(Among::Accounts(accounts)) } else { ActScope::Named(accounts) }
            }
            Self::Adjustment(of) => named(vec![of.account]),
            Self::TopupDecision(of) => named(vec![of.wallet]),
            Self::CashCeiling { owner, .. } | Self::CashRoom { owner, .. } | Self::EnrolmentCode { owner, .. } => {
                of_owner(owner)
            }
            Self::RefundCeiling { merchant: id, .. }
            | Self::CashDeposit { merchant: id, .. }
            | Self::CashDepositReversal { merchant: id, .. }
            | Self::Destination { merchant: id, .. }
            | Self::SettlementOpen { merchant: id, .. }
            | Self::SettlementSchedule { merchant: id, .. }
            | Self::MerchantOwner { merchant: id, .. } => merchant(id),
            Self::SettlementReturn(of) => merchant(&of.merchant),
            // The payer gets the money, and the merchant is free of a claim that it cannot pay.
            Self::Refund(of) => named(vec![of.payer, Account::Merchant(of.merchant)]),
            // The merchant owes less: one that takes the value back and keeps the cash gains it.
            Self::CashReversal(of) => {
                let owner = of.owner.merchant().map(Account::Merchant);
                named([Account::Card(of.card)].into_iter().chain(owner).collect())
            }
            // The holder of the other card gets the balance.
            Self::CardReplace(of) => {
                let owner = of.owner.as_ref().map(customer);
                named([Account::Card(of.card), Account::Card(of.by)].into_iter().chain(owner).collect())
            }
            // The holder of the subject gets the wallet.
            Self::SignInMove(of) => named(vec![customer(&of.customer), customer(&CustomerId::new(of.subject.uuid()))]),
            Self::CustomerClose(of) => named(vec![customer(&of.customer)]),
            Self::CardClose(of) => {
                named([Account::Card(of.card)].into_iter().chain(of.owner.as_ref().map(customer)).collect())
            }
            // The owner of the closed account, and who gets what was another's.
            Self::UnclaimedClaim(of) => named(vec![of.from, customer(&of.to)]),
            Self::UnclaimedPayout(of) => named(vec![of.from]),
            // The operator's own counters and staff. A change of the member's own record is no matter of accounts.
            Self::CounterOpen { .. }
            | Self::CashCollection { .. }
            | Self::StaffInvite { .. }
            | Self::StaffChange { .. } => named(Vec::new()),
            Self::SettlementRun { .. } | Self::BankFile(_) => ActScope::Class(Among::Merchants),
            Self::AccountLimits { account, .. } => named(vec![*account]),
            Self::AssetBudget { .. } | Self::TermsChange { .. } | Self::TermsCancel { .. } | Self::WindDown => {
                ActScope::Class(Among::Everyone)
            }
        }
    }
}
