//! Payouts that were returned: the merchant is owed the money again, and its next settlement pays it. The fact comes
//! from the payment provider, by an event or a lookup, or from two people who saw it on the bank's statement. It is
//! booked once, because the transition to `returned` happens once.

use super::destination::Destination;
use super::record::{Settlement, SettlementState};
use super::steps::entry;
use crate::account::{Account, Posting, TenantAccount};
use crate::audit::Act;
use crate::bank_files::{BankFile, BankTransfer, ReturnGuard};
use crate::dynamo::{Attributes, Item, ItemError, Update, Value};
use crate::failure::Failure;
use crate::forms;
use crate::idempotency::LedgerKey;
use crate::ids::{Actor, BankFileId, MerchantId, Principal, SettlementId, Tenant};
use crate::keys::{self, Key, attr};
use crate::money::{Amount, Asset, Delta};
use crate::operation::Operation;
use crate::personal::FreeText;
use crate::plan::{Context, PlanRefusal};
use crate::psp::{Payout, PayoutStatus};
use crate::time::{BusinessDate, Timestamp};
use crate::topups::ContradictionKind;
use crate::transaction::{Draft, Provenance, Role, TransactItem};

/// The attribute for the settlement whose payout was returned. The record's stamp is another settlement's.
pub(crate) const RETURNED_ID: &str = "returned_settlement_id";
/// The attribute for what the record owes the merchant, by asset.
const DELTA: &str = "merchant_delta";

/// What the record of a returned payout owes its merchant, by asset.
///
/// # Errors
/// [`ItemError`] if the attribute is missing or malformed.
pub fn owed(record: &Item) -> Result<Vec<Delta>, ItemError> {
    // Every such record has the attribute.
    record.map(DELTA)?;
    record.numbers(DELTA, |asset, number| {
        let asset = Asset::parse(asset).map_err(|_| ItemError::invalid(DELTA))?;
        Delta::from_stored(asset, number).map_err(|_| ItemError::invalid(DELTA))
    })
}

/// The attribute for that.
pub(super) fn owed_attribute(owed: &[Delta]) -> (String, Value) {
    (DELTA.to_owned(), crate::transaction::changes(owed))
}

/// What the payment provider's fact about a payout means for our record.
#[derive(Clone, Debug)]
pub enum PayoutMeaning {
    /// The fact is known already: nothing to do.
    Behind,
    /// The payout has left, and our record does not have that yet: [`super::paid`] comes first.
    Ahead,
    /// The fact contradicts our record: nothing is written, and it needs review.
    Contradiction(ContradictionKind),
    /// The money was returned: this is to be written.
    Return(Box<Draft>),
}

/// How a payout contradicts its settlement; `None` if it does not.
#[must_use]
pub fn contradiction(
    tenant: &Tenant,
    settlement: &Settlement,
    payout: &Payout,
    account: Option<&str>,
) -> Option<ContradictionKind> {
    let (Destination::Stripe { .. }, Some(psp)) = (&settlement.destination, &settlement.psp) else {
        return Some(ContradictionKind::Object);
    };
    if payout.livemode != psp.livemode {
        return Some(ContradictionKind::Livemode);
    }
    if account != psp.account.as_deref() {
        return Some(ContradictionKind::Account);
    }
    if payout.amount.yen().is_none() || payout.amount.yen() != settlement.payable {
        return Some(ContradictionKind::Amount);
    }
    let named = payout.tags.as_ref().is_some_and(|tags| {
        tags.tenant == *tenant && tags.merchant == settlement.merchant && tags.settlement == settlement.id
    });
    let known = settlement.payout_reference.as_ref().is_none_or(|known| known == payout.id.as_str());
    (!named || !known).then_some(ContradictionKind::Object)
}

/// Decides what a payout's fact means for its settlement. `account` is the provider's account of the payout.
#[must_use]
pub fn meaning_of(
    tenant: &Tenant,
    settlement: &Settlement,
    payout: &Payout,
    account: Option<&str>,
    now: Timestamp,
) -> PayoutMeaning {
    if let Some(contradiction) = contradiction(tenant, settlement, payout, account) {
        return PayoutMeaning::Contradiction(contradiction);
    }
    match (settlement.state, payout.status) {
        (SettlementState::Paying | SettlementState::Paid, PayoutStatus::Sent) | (SettlementState::Returned, _) => {
            PayoutMeaning::Behind
        }
        (SettlementState::Paying, PayoutStatus::Failed) => PayoutMeaning::Ahead,
        (SettlementState::Paid, PayoutStatus::Failed) => {
            match return_draft(tenant, settlement, TenantAccount::StripeClearing, now) {
                Some(draft) => PayoutMeaning::Return(Box::new(draft)),
                None => PayoutMeaning::Contradiction(ContradictionKind::Amount),
            }
        }
        // No payout was requested, or it was refused for good.
        (
            SettlementState::Collecting
            | SettlementState::Held
            | SettlementState::Verified
            | SettlementState::Released
            | SettlementState::Charged
            | SettlementState::Booked
            | SettlementState::Carried
            | SettlementState::Undone,
            PayoutStatus::Sent | PayoutStatus::Failed,
        ) => PayoutMeaning::Contradiction(ContradictionKind::State),
    }
}

/// The provenance of the entry for a returned payout.
#[must_use]
pub fn provenance(tenant: &Tenant, settlement: &Settlement, now: Timestamp) -> Provenance {
    Provenance {
        tenant: tenant.clone(),
        operation: Operation::SettlementReturned,
        principal: Principal::Merchant(settlement.merchant),
        actor: Actor::Stripe,
        key: LedgerKey::of_settlement(settlement.id, "returned").into(),
        now,
    }
}

/// The return of a transfer that two people saw on the bank's statement, or that never left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnedTransfer {
    /// The settlement's merchant.
    pub merchant: MerchantId,
    /// The settlement.
    pub settlement: SettlementId,
    /// What it pays, in yen.
    pub amount: Amount,
    /// The day for which the transfer was booked.
    pub day: BusinessDate,
    /// The file that has the transfer, if one has.
    pub file: Option<BankFileId>,
}

/// What a return is planned from.
#[derive(Clone, Debug)]
pub struct SeenTransfer {
    /// The settlement.
    pub settlement: Settlement,
    /// Its transfer.
    pub transfer: BankTransfer,
    /// The file that has it, if one has.
    pub file: Option<BankFile>,
}

impl ReturnedTransfer {
    /// The items that it is planned from: settlement, transfer, and file.
    #[must_use]
    pub fn keys(&self, tenant: &Tenant) -> Vec<Key> {
        let mut keys = vec![
            keys::settlement(tenant, self.merchant, self.settlement),
            keys::bank_transfer(tenant, self.day, self.settlement),
        ];
        keys.extend(self.file.map(|file| keys::bank_file(tenant, file)));
        keys
    }
}

/// Records that a transfer was returned; `None` if the settlement is not booked, or another file has the transfer than was seen.
///
/// # Errors
/// `WrongState` while a file with it is being written, or waits for the bank.
pub fn plan_return(
    (tenant, by): (&Tenant, Actor),
    (of, seen): (&ReturnedTransfer, &SeenTransfer),
    reason: &FreeText,
    cx: &Context,
) -> Result<Option<Draft>, PlanRefusal> {
    let SeenTransfer { settlement, transfer, file } = seen;
    if settlement.state != SettlementState::Booked || transfer.file != of.file || transfer.amount != of.amount {
        return Ok(None);
    }
    let from = match transfer.return_guard(file.as_ref()).map_err(PlanRefusal::Refused)? {
        ReturnGuard::Unassigned | ReturnGuard::WithBank(_) | ReturnGuard::Over(_) => TenantAccount::BankClearing,
        ReturnGuard::Debited(_) => TenantAccount::Bank,
    };
    let Some(mut draft) = return_draft(tenant, settlement, from, cx.now) else { return Ok(None) };
    draft.items.push(transfer.returned(tenant, cx.now));
    if let Some(file) = file {
        draft.items.push(file.counting_return(tenant, &transfer.amount, cx.now)?);
    }
    let act = Act::new(by, Operation::SettlementReturn, Account::Merchant(settlement.merchant))
        .because(Some(reason))
        .with("settlement_id", settlement.id);
    let act = file.iter().fold(act, |act, file| act.with("bank_file_id", file.id));
    draft.items.push(act.record(tenant, cx));
    Ok(Some(draft))
}

/// Takes a returned payout back from `clearing` and owes it to the merchant again. It is in the merchant's balance
/// again, and in a record that the next settlement takes. `None` if nothing was paid.
fn return_draft(tenant: &Tenant, settlement: &Settlement, clearing: TenantAccount, now: Timestamp) -> Option<Draft> {
    let (merchant, payable) = (settlement.merchant, settlement.payable.as_ref()?);
    let update =
        Update::new().set("state", "to", Value::s(SettlementState::Returned)).set("returned_at", "ua", Value::s(now));
    let owed = payable.credit();
    let record = Item::from([
        (RETURNED_ID.to_owned(), Value::s(settlement.id)),
        ("merchant_id".to_owned(), Value::s(merchant)),
        owed_attribute(std::slice::from_ref(&owed)),
        ("credited_at".to_owned(), Value::s(now)),
        (attr::CREATED_AT.to_owned(), Value::s(now)),
    ]);
    let key = keys::returned(tenant, merchant, settlement.id);
    let mut items = vec![
        settlement.changed(tenant, update, now),
        TransactItem::put_new(Role::Returned, key, record, Failure::StalePlan),
    ];
    items.extend(forms::settle_merchant(tenant, merchant, &Asset::Ecopay, (Some(&owed), None), now));
    let postings =
        vec![Posting::new(Account::Tenant(clearing), payable.debit()), Posting::new(Account::Merchant(merchant), owed)];
    Some(Draft { entry: Some(entry(settlement, "returned", postings)), items })
}
