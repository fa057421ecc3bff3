//! What a command would do, in figures and by name, for the person who decides on it.

use super::command::Command;
use crate::account::Account;
use crate::ids::{MerchantId, TerminalOwner};
use crate::money::{Amount, Asset, Delta};
use crate::staff::kinds_text;
use std::collections::BTreeSet;

/// What a command would do, in figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// The account that it is about; `None` if there are many or none.
    pub account: Option<Account>,
    /// The asset, if it is about an amount.
    pub asset: Option<Asset>,
    /// The amount; for each customer, if there are many.
    pub amount: Option<Amount>,
    /// The number of customers, if there may be many.
    pub count: Option<usize>,
}

impl Command {
    /// What it would do, in figures.
    #[must_use]
    pub fn effect(&self) -> Effect {
        let of_any = |account: Option<Account>, amount: Option<&Amount>| Effect {
            account,
            asset: amount.map(|amount| amount.asset().clone()),
            amount: amount.cloned(),
            count: None,
        };
        let of = |account: Account, amount| of_any(Some(account), amount);
        let merchant = |id: &MerchantId, amount| of(Account::Merchant(*id), amount);
        let of_owner = |owner: &TerminalOwner, amount| of_any(owner.merchant().map(Account::Merchant), amount);
        match self {
            Self::Grant { customer, amount } => of(Account::Customer(*customer), Some(amount)),
            Self::BulkGrant { customers, amount } => Effect {
                account: None,
                asset: Some(amount.asset().clone()),
                amount: Some(amount.clone()),
                count: Some(customers.len()),
            },
            Self::Adjustment(adjustment) => Effect {
                asset: Some(adjustment.asset.clone()),
                ..of(adjustment.account, adjustment.delta.as_ref().and_then(Delta::size).as_ref())
            },
            Self::TopupDecision(decision) => of(decision.wallet, None),
            Self::CashCeiling { owner, ceiling: amount, .. } | Self::CashRoom { owner, room: amount, .. } => {
                of_owner(owner, Some(amount))
            }
            Self::CashCollection { amount, .. } => of_owner(&TerminalOwner::Operator, Some(amount)),
            Self::EnrolmentCode { owner, .. } => of_owner(owner, None),
            Self::CounterOpen { .. } => of_owner(&TerminalOwner::Operator, None),
            Self::RefundCeiling { merchant: id, ceiling, .. } => merchant(id, Some(ceiling)),
            Self::AssetBudget { budget, .. } => of_any(None, Some(budget)),
            Self::CashDeposit { merchant: id, amount } | Self::CashDepositReversal { merchant: id, amount, .. } => {
                merchant(id, Some(amount))
            }
            Self::Refund(order) => of(order.payer, Some(&order.amount)),
            Self::CashReversal(topup) => of(Account::Card(topup.card), Some(&topup.amount)),
            Self::CardReplace(replaced) => of(Account::Card(replaced.card), None),
            Self::SignInMove(moved) => of(Account::Customer(moved.customer), None),
            Self::CustomerClose(closing) => of(Account::Customer(closing.customer), None),
            Self::CustomerErase { customer } => of(Account::Customer(*customer), None),
            Self::CardClose(closing) => of(Account::Card(closing.card), closing.seen.as_amount().as_ref()),
            Self::UnclaimedClaim(claimed) => of(Account::Customer(claimed.to), Some(&claimed.amount)),
            Self::UnclaimedPayout(paid) => of(paid.from, Some(&paid.amount)),
            Self::SettlementReturn(of) => merchant(&of.merchant, Some(&of.amount)),
            Self::Destination { merchant: id, .. }
            | Self::SettlementOpen { merchant: id, .. }
            | Self::SettlementSchedule { merchant: id, .. }
            | Self::MerchantOwner { merchant: id, .. } => merchant(id, None),
            Self::AccountLimits { account, asset, .. } => {
                Effect { account: Some(*account), asset: Some(asset.clone()), ..Effect::default() }
            }
            Self::StaffInvite { .. }
            | Self::StaffChange { .. }
            | Self::TermsChange { .. }
            | Self::TermsCancel { .. }
            | Self::SettlementRun { .. }
            | Self::BankFile(_)
            | Self::WindDown => Effect::default(),
        }
    }

    /// What it names beside the figures and the values that it would change.
    #[must_use]
    pub fn details(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Grant { .. }
            | Self::BulkGrant { .. }
            | Self::CashCeiling { .. }
            | Self::RefundCeiling { .. }
            | Self::AssetBudget { .. }
            | Self::UnclaimedPayout(_)
            | Self::CustomerErase { .. }
            | Self::WindDown
            | Self::Destination { .. }
            | Self::SettlementSchedule { .. }
            | Self::AccountLimits { .. }
            | Self::SignInMove(_)
            | Self::CashDeposit { .. } => Vec::new(),
            Self::Adjustment(adjustment) => {
                let direction = |delta: &Delta| if delta.is_debit() { "debit" } else { "credit" };
                let direction = adjustment.delta.as_ref().map(|delta| ("direction", direction(delta).to_owned()));
                let finding = adjustment.finding.as_ref().map(|finding| ("finding", finding.name()));
                let reason = ("reason_code", adjustment.reason.name().to_owned());
                direction.into_iter().chain([reason]).chain(finding).collect()
            }
            Self::TopupDecision(decision) => {
                let of = [("topup_id", decision.topup.to_string()), ("way", decision.way.name().to_owned())];
                let refund = decision.refund.map(|refund| ("refund_id", refund.to_string()));
                of.into_iter().chain(refund).chain(decision.object.clone().map(|object| ("object", object))).collect()
            }
            Self::CashRoom { terminal, .. }
            | Self::CashCollection { terminal, .. }
            | Self::EnrolmentCode { terminal, .. } => vec![("terminal_id", terminal.to_string())],
            Self::CounterOpen { terminal } => terminal.iter().map(|id| ("terminal_id", id.to_string())).collect(),
            Self::CashDepositReversal { deposit, .. } => vec![("deposit_id", deposit.to_string())],
            Self::Refund(order) => {
                vec![("merchant_id", order.merchant.to_string()), ("payment_id", order.payment.to_string())]
            }
            Self::CashReversal(topup) => {
                let merchant = topup.owner.merchant().map(|id| ("merchant_id", id.to_string()));
                let of = [
                    ("terminal_id", topup.terminal.to_string()),
                    ("original_transaction_id", topup.transaction.to_string()),
                ];
                of.into_iter().chain(merchant).collect()
            }
            Self::SettlementOpen { pay_on, .. } => pay_on.iter().map(|day| ("pay_on", day.to_string())).collect(),
            Self::SettlementReturn(of) => {
                let file = of.file.map(|file| ("bank_file_id", file.to_string()));
                [("settlement_id", of.settlement.to_string())].into_iter().chain(file).collect()
            }
            Self::BankFile(of) => vec![("bank_file_id", of.file.to_string())],
            Self::SettlementRun { closing, seen } => {
                vec![("closing_on", closing.to_string()), ("settlement_schedule", seen.clone())]
            }
            Self::StaffInvite { id, email, roles, beneficiary_of } => vec![
                ("staff_id", id.to_string()),
                ("email", email.expose().to_owned()),
                ("roles", joined(roles)),
                ("beneficiary_of", kinds_text(beneficiary_of)),
            ],
            Self::StaffChange { id, .. } => vec![("staff_id", id.to_string())],
            Self::TermsChange { from, .. } => vec![("from", from.to_string())],
            Self::TermsCancel { version } => vec![("terms_version", version.to_string())],
            Self::CardReplace(replaced) => {
                let owner = replaced.owner.map(|owner| ("customer_id", owner.to_string()));
                [("new_card_id", replaced.by.to_string())].into_iter().chain(owner).collect()
            }
            Self::CustomerClose(closing) => {
                let rest = closing.rest();
                let rest = rest.iter().map(|amount| format!("{} {}", amount.text(), amount.asset()));
                vec![("rest", rest.collect::<Vec<_>>().join(", "))]
            }
            Self::CardClose(closing) => closing.owner.iter().map(|owner| ("customer_id", owner.to_string())).collect(),
            Self::UnclaimedClaim(claimed) => vec![("account", claimed.from.to_string())],
            Self::MerchantOwner { id, email, .. } => {
                vec![("staff_id", id.to_string()), ("email", email.expose().to_owned())]
            }
        }
    }

    /// What the audit trail names it by.
    pub(super) fn subject(&self) -> String {
        match self {
            Self::StaffInvite { id, .. } | Self::StaffChange { id, .. } | Self::MerchantOwner { id, .. } => {
                format!("staff:{id}")
            }
            Self::BulkGrant { .. } => self.operation().name().to_owned(),
            Self::Grant { customer, .. } | Self::CustomerErase { customer } => Account::Customer(*customer).to_string(),
            Self::TermsChange { .. } | Self::TermsCancel { .. } | Self::SettlementRun { .. } | Self::WindDown => {
                "tenant".to_owned()
            }
            Self::Adjustment(adjustment) => adjustment.account.to_string(),
            Self::TopupDecision(decision) => decision.wallet.to_string(),
            Self::AccountLimits { account, .. } => account.to_string(),
            Self::CardReplace(of) => Account::Card(of.card).to_string(),
            Self::SignInMove(of) => Account::Customer(of.customer).to_string(),
            Self::CardClose(of) => Account::Card(of.card).to_string(),
            Self::CustomerClose(of) => Account::Customer(of.customer).to_string(),
            Self::UnclaimedClaim(of) => of.from.to_string(),
            Self::UnclaimedPayout(of) => of.from.to_string(),
            Self::CashCeiling { owner: TerminalOwner::Merchant(merchant), .. }
            | Self::CashRoom { owner: TerminalOwner::Merchant(merchant), .. }
            | Self::RefundCeiling { merchant, .. }
            | Self::CashDeposit { merchant, .. }
            | Self::CashDepositReversal { merchant, .. }
            | Self::Destination { merchant, .. }
            | Self::SettlementOpen { merchant, .. }
            | Self::SettlementSchedule { merchant, .. } => Account::Merchant(*merchant).to_string(),
            Self::SettlementReturn(of) => Account::Merchant(of.merchant).to_string(),
            Self::BankFile(of) => format!("bank_file:{}", of.file),
            Self::AssetBudget { budget, .. } => format!("asset:{}", budget.asset()),
            Self::Refund(order) => Account::Merchant(order.merchant).to_string(),
            Self::CashReversal(topup) => format!("terminal:{}", topup.terminal),
            Self::CashCeiling { owner: TerminalOwner::Operator, .. } | Self::CounterOpen { terminal: None } => {
                TerminalOwner::Operator.to_string()
            }
            Self::CashRoom { owner: TerminalOwner::Operator, terminal, .. }
            | Self::CounterOpen { terminal: Some(terminal) }
            | Self::CashCollection { terminal, .. }
            | Self::EnrolmentCode { terminal, .. } => format!("terminal:{terminal}"),
        }
    }
}

pub(super) fn joined<T: ToString>(names: &BTreeSet<T>) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join("+")
}
