//! The closed list of commands that another person must approve.

use crate::account::Account;
use crate::adjustments::Adjustment;
use crate::bank_files::FileEnd;
use crate::calendar::{OwnSchedule, SettlementSchedule};
use crate::cards::replace::ReplacedCard;
use crate::cards::reverse_cash::CashTopup;
use crate::closing::{CardClosing, CustomerClosing};
use crate::customers::sign_in::SignInMove;
use crate::finding;
use crate::forms;
use crate::ids::{CardId, CustomerId, MerchantId, StaffId, Tenant, TerminalId, TerminalOwner, TransactionId};
use crate::keys::{Key, Partition};
use crate::limits::{LimitChange, OwnLimits};
use crate::money::{Amount, Asset, Balance};
use crate::payments::by_operator::OrderedRefund;
use crate::personal::FreeText;
use crate::settlements::{Destination, ReturnedTransfer};
use crate::staff::{BeneficiaryKinds, MemberState, StaffMember, StaffRole};
use crate::terms::{TermsChanges, TermsVersion};
use crate::time::{BusinessDate, Timestamp};
use crate::topups::TopupDecision;
use crate::unclaimed::{Claimed, PaidOut};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

/// A command that another person must approve. Fields named `seen` are the versions that it was requested against: if
/// one differs when it is approved, the command is stale.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Grants to one customer.
    Grant {
        /// The recipient.
        customer: CustomerId,
        /// The amount.
        amount: Amount,
    },
    /// Grants to many customers, by a job whose id is that of the approval.
    BulkGrant {
        /// The recipients, each named once.
        customers: Vec<CustomerId>,
        /// The amount for each.
        amount: Amount,
    },
    /// Adjusts the balance of a customer or a card.
    Adjustment(Adjustment),
    /// Decides about a top-up, or a refund of one, that contradicts the provider's object.
    TopupDecision(TopupDecision),
    /// Sets the ceiling of the cash rooms of a merchant or of the operator.
    CashCeiling {
        /// Whose terminals it bounds.
        owner: TerminalOwner,
        /// The new ceiling, in yen.
        ceiling: Amount,
        /// The ceiling that was seen.
        seen: Option<Balance>,
    },
    /// Sets the ceiling of a merchant's refund room.
    RefundCeiling {
        /// The merchant.
        merchant: MerchantId,
        /// The new ceiling, in yen.
        ceiling: Amount,
        /// The ceiling that was seen.
        seen: Balance,
    },
    /// Sets the budget of an asset.
    AssetBudget {
        /// The new budget, in the asset.
        budget: Amount,
        /// The budget that was seen.
        seen: Balance,
    },
    /// Refunds a payment beyond the refund room of its merchant.
    Refund(OrderedRefund),
    /// Reverses a cash top-up of a terminal.
    CashReversal(CashTopup),
    /// Records money that a merchant brought for cash that it owes.
    CashDeposit {
        /// The merchant.
        merchant: MerchantId,
        /// The amount, in yen.
        amount: Amount,
    },
    /// Takes a deposit back that was recorded wrongly.
    CashDepositReversal {
        /// The merchant.
        merchant: MerchantId,
        /// The deposit's entry.
        deposit: TransactionId,
        /// Its amount, in yen.
        amount: Amount,
    },
    /// Registers a counter of the operator.
    CounterOpen {
        /// Its id, if the requester named one. Otherwise the approval gives it one that was not known before.
        terminal: Option<TerminalId>,
    },
    /// Records that cash of a counter was collected.
    CashCollection {
        /// The counter.
        terminal: TerminalId,
        /// The amount, in yen.
        amount: Amount,
    },
    /// Allots cash room to a terminal.
    CashRoom {
        /// The terminal.
        terminal: TerminalId,
        /// Whose terminal it is.
        owner: TerminalOwner,
        /// The room, in yen.
        room: Amount,
    },
    /// Changes where a merchant is paid.
    Destination {
        /// The merchant.
        merchant: MerchantId,
        /// The new destination.
        destination: Destination,
        /// The digest of the destination that was seen.
        seen: Option<String>,
    },
    /// Closes a merchant's period, by a settlement whose id is that of the approval.
    SettlementOpen {
        /// The merchant.
        merchant: MerchantId,
        /// The day of the payout; `None`: the first possible day at the approval.
        pay_on: Option<BusinessDate>,
        /// The digest of the destination that was seen.
        seen: Option<String>,
    },
    /// Books that the bank returned a transfer.
    SettlementReturn(ReturnedTransfer),
    /// Records that a bank file was rejected, withdrawn, or wrongly recorded as accepted.
    BankFile(FileEnd),
    /// Closes the periods of all merchants whose schedule closes on a day, by a run whose id is that of the approval.
    SettlementRun {
        /// The closing day.
        closing: BusinessDate,
        /// The tenant's schedule that was seen, by [`schedule_seen`].
        seen: String,
    },
    /// Sets the settlement schedule of a merchant.
    SettlementSchedule {
        /// The merchant.
        merchant: MerchantId,
        /// The new schedule; `None`: the tenant's.
        schedule: Option<OwnSchedule>,
        /// The schedule that was seen.
        seen: Option<OwnSchedule>,
    },
    /// Permits the requester to issue one enrolment code of a terminal.
    EnrolmentCode {
        /// The terminal.
        terminal: TerminalId,
        /// Whose terminal it is.
        owner: TerminalOwner,
    },
    /// Invites a person to the operator's staff.
    StaffInvite {
        /// The person.
        id: StaffId,
        /// The person's verified e-mail address.
        email: FreeText,
        /// The roles.
        roles: BTreeSet<StaffRole>,
        /// The accounts that are the person's own, or of the person's family or business.
        beneficiary_of: BeneficiaryKinds,
    },
    /// Changes a member of the operator's staff.
    StaffChange {
        /// The member.
        id: StaffId,
        /// All roles from then on; `None` keeps them.
        roles: Option<BTreeSet<StaffRole>>,
        /// All accounts that are declared from then on; `None` keeps them.
        beneficiary_of: Option<BeneficiaryKinds>,
        /// Whether the member may act; `None` keeps it.
        state: Option<MemberState>,
        /// The version of the record that was seen.
        seen: i64,
    },
    /// Changes the tenant's terms from a stated time on.
    TermsChange {
        /// The fields to change, with the values that were seen.
        changes: TermsChanges,
        /// The time from which the version holds.
        from: Timestamp,
        /// The last version that had been stored.
        seen: TermsVersion,
    },
    /// Cancels a version of the tenant's terms before its time.
    TermsCancel {
        /// The version.
        version: TermsVersion,
    },
    /// Changes the limits of one account so that it may do more.
    AccountLimits {
        /// The account: a customer or a card.
        account: Account,
        /// The asset.
        asset: Asset,
        /// The rules to change.
        changes: Vec<LimitChange>,
        /// The limits that were seen.
        seen: OwnLimits,
    },
    /// Replaces a card by another one.
    CardReplace(ReplacedCard),
    /// Moves a customer to another sign-in.
    SignInMove(SignInMove),
    /// Closes a customer's wallet, with what it has.
    CustomerClose(CustomerClosing),
    /// Erases a closed customer.
    CustomerErase {
        /// The customer.
        customer: CustomerId,
    },
    /// Closes a card, with what it has.
    CardClose(CardClosing),
    /// Claims value of a closed account for a customer.
    UnclaimedClaim(Claimed),
    /// Records that a bank pays value of a closed account to its holder.
    UnclaimedPayout(PaidOut),
    /// Closes every card and customer of the tenant, in the background.
    WindDown,
    /// Sets the first owner of a merchant.
    MerchantOwner {
        /// The merchant.
        merchant: MerchantId,
        /// The person.
        id: StaffId,
        /// The person's verified e-mail address.
        email: FreeText,
    },
}

impl Command {
    /// The record of the account that it is about, if the item that it is planned from does not show that it exists. A
    /// command about an account that does not exist is not stored.
    #[must_use]
    pub fn account_record(&self, tenant: &Tenant) -> Option<Key> {
        self.beyond_plan(tenant).0
    }

    /// What it writes to whose state decides whether it may be requested, beyond what it is planned from.
    #[must_use]
    pub fn guarded(&self, tenant: &Tenant) -> Vec<Key> {
        let (account, written) = self.beyond_plan(tenant);
        account.into_iter().chain(written).collect()
    }

    /// What a request reads beyond what it is planned from: the record of its account, and the item that it writes to.
    fn beyond_plan(&self, tenant: &Tenant) -> (Option<Key>, Option<Key>) {
        let profile = |customer| Some(Partition::customer(tenant, customer).profile());
        let of_terminal = |terminal| Some(Partition::terminal(tenant, terminal).profile());
        let balance = |account, asset: &Asset| forms::balance_key(tenant, account, asset);
        match self {
            Self::Grant { customer, amount } => {
                (profile(*customer), balance(Account::Customer(*customer), amount.asset()))
            }
            Self::UnclaimedClaim(of) => (profile(of.to), balance(Account::Customer(of.to), of.amount.asset())),
            Self::Adjustment(of) => (of.account_record(tenant), balance(of.account, &of.asset)),
            Self::CashCeiling { owner: TerminalOwner::Merchant(merchant), .. }
            | Self::RefundCeiling { merchant, .. }
            | Self::CashDeposit { merchant, .. }
            | Self::MerchantOwner { merchant, .. } => (Some(Partition::merchant(tenant, *merchant).profile()), None),
            Self::CashCollection { terminal, .. } => (of_terminal(*terminal), None),
            Self::CashRoom { terminal, .. } | Self::EnrolmentCode { terminal, .. } => (None, of_terminal(*terminal)),
            Self::TopupDecision(_)
            | Self::CashCeiling { owner: TerminalOwner::Operator, .. }
            | Self::AssetBudget { .. }
            | Self::CashDepositReversal { .. }
            | Self::CounterOpen { .. }
            | Self::Refund(_)
            | Self::CashReversal(_)
            | Self::CardReplace(_)
            | Self::SignInMove(_)
            | Self::CustomerClose(_)
            | Self::CustomerErase { .. }
            | Self::CardClose(_)
            | Self::UnclaimedPayout(_)
            | Self::WindDown
            | Self::BulkGrant { .. }
            | Self::Destination { .. }
            | Self::SettlementOpen { .. }
            | Self::SettlementReturn(_)
            | Self::SettlementRun { .. }
            | Self::SettlementSchedule { .. }
            | Self::BankFile(_)
            | Self::StaffInvite { .. }
            | Self::StaffChange { .. }
            | Self::TermsChange { .. }
            | Self::TermsCancel { .. }
            | Self::AccountLimits { .. } => (None, None),
        }
    }

    /// The card among its [`Command::keys`] to which it returns something: if the card was replaced, the command is planned from
    /// the item of the card that replaced it last.
    #[must_use]
    pub fn returns_to(&self) -> Option<CardId> {
        match self {
            Self::Refund(order) => order.card(),
            Self::CashReversal(topup) => Some(topup.card),
            Self::Grant { .. }
            | Self::BulkGrant { .. }
            | Self::Adjustment(_)
            | Self::TopupDecision(_)
            | Self::AssetBudget { .. }
            | Self::CashCeiling { .. }
            | Self::RefundCeiling { .. }
            | Self::CashDeposit { .. }
            | Self::CashDepositReversal { .. }
            | Self::CounterOpen { .. }
            | Self::CashCollection { .. }
            | Self::CashRoom { .. }
            | Self::Destination { .. }
            | Self::SettlementOpen { .. }
            | Self::SettlementReturn(_)
            | Self::BankFile(_)
            | Self::SettlementRun { .. }
            | Self::SettlementSchedule { .. }
            | Self::EnrolmentCode { .. }
            | Self::StaffInvite { .. }
            | Self::StaffChange { .. }
            | Self::TermsChange { .. }
            | Self::TermsCancel { .. }
            | Self::AccountLimits { .. }
            | Self::CardReplace(_)
            | Self::SignInMove(_)
            | Self::CustomerClose(_)
            | Self::CustomerErase { .. }
            | Self::CardClose(_)
            | Self::UnclaimedClaim(_)
            | Self::UnclaimedPayout(_)
            | Self::WindDown
            | Self::MerchantOwner { .. } => None,
        }
    }

    /// Whether it changes this member's record, writes one for the same e-mail address, or gives the member a wallet: then the
    /// member may not decide on it.
    #[must_use]
    pub fn is_about(&self, member: &StaffMember) -> bool {
        match self {
            Self::StaffInvite { id, email, .. } | Self::MerchantOwner { id, email, .. } => {
                *id == member.id || finding::address(email.expose()) == finding::address(member.email.expose())
            }
            Self::StaffChange { id, .. } => *id == member.id,
            Self::SignInMove(of) => of.subject.uuid() == member.id.uuid(),
            Self::Grant { .. }
            | Self::BulkGrant { .. }
            | Self::Adjustment(_)
            | Self::TopupDecision(_)
            | Self::CashCeiling { .. }
            | Self::RefundCeiling { .. }
            | Self::AssetBudget { .. }
            | Self::Refund(_)
            | Self::CashReversal(_)
            | Self::CardReplace(_)
            | Self::CustomerClose(_)
            | Self::CustomerErase { .. }
            | Self::CardClose(_)
            | Self::UnclaimedClaim(_)
            | Self::UnclaimedPayout(_)
            | Self::WindDown
            | Self::CashDeposit { .. }
            | Self::CashRoom { .. }
            | Self::CashDepositReversal { .. }
            | Self::CounterOpen { .. }
            | Self::CashCollection { .. }
            | Self::Destination { .. }
            | Self::EnrolmentCode { .. }
            | Self::TermsChange { .. }
            | Self::TermsCancel { .. }
            | Self::AccountLimits { .. }
            | Self::SettlementOpen { .. }
            | Self::SettlementReturn(_)
            | Self::BankFile(_)
            | Self::SettlementRun { .. }
            | Self::SettlementSchedule { .. } => false,
        }
    }
}

/// What a command keeps of the destination that was seen: a digest, so that the bank account is not stored again.
#[must_use]
pub fn destination_digest(destination: Option<&Destination>) -> Option<String> {
    destination.map(|seen| hex::encode(Sha256::digest(seen.text())))
}

/// What a command keeps of the tenant's settlement schedule that was seen: its text, or `none`.
#[must_use]
pub fn schedule_seen(schedule: Option<SettlementSchedule>) -> String {
    schedule.map_or_else(|| "none".to_owned(), |schedule| schedule.to_string())
}
