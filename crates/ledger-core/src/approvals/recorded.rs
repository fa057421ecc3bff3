//! Requests that have records of their own: bank files that are sent again. The record's state is their only guard. The inbox
//! has an item that names the record.

use super::record::{
    APPROVAL_LIFETIME, ApprovalState, DECIDED_AT, DECIDED_BY, REASON_CHARS_MAX, REQUESTED_BY, STATE, TRANSACTION_ID,
};
use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::idempotency::OF_APPROVAL;
use crate::ids::{ApprovalId, MerchantId, PayoutRequestId, Principal, SettlementId, StaffId, Tenant, TransactionId};
use crate::keys::{self, Key, attr};
use crate::money::{Amount, Asset};
use crate::operation::Operation;
use crate::permission::Permission;
use crate::personal::FreeText;
use crate::settlements::Settlement;
use crate::settlements::requests::PayoutRequest;
use crate::staff::StaffMember;
use crate::time::Timestamp;
use crate::transaction::{Provenance, Role};
use std::collections::BTreeMap;

const KIND: &str = "kind";
const DETAILS: &str = "details";

/// The record of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRecord {
    /// A request to send the bank file of a settlement again.
    Resend(MerchantId, SettlementId, PayoutRequestId),
}

/// What the inbox shows of a request. It never changes, and has no state: that of the record is the only one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSummary {
    /// The record.
    pub record: RequestRecord,
    /// The account that it is about.
    pub account: Account,
    /// The amount that it would move; `None` if it moves none.
    pub amount: Option<Amount>,
    /// What it would do beside the amount, by name.
    pub details: BTreeMap<String, String>,
    /// The reason.
    pub reason: Option<FreeText>,
    /// The staff member who requested it.
    pub requested_by: StaffId,
    /// When it was requested.
    pub created_at: Timestamp,
}

/// A request with the state of its record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// What was requested.
    pub summary: RequestSummary,
    /// The stored state.
    pub(super) state: ApprovalState,
    /// Who decided on it or withdrew it.
    pub decided_by: Option<StaffId>,
    /// When it was decided on or withdrawn.
    pub decided_at: Option<Timestamp>,
    /// The journal entry, if it is known to the record.
    pub transaction_id: Option<TransactionId>,
}

impl RequestRecord {
    /// The id by which the inbox names it: that of the record.
    #[must_use]
    pub const fn id(&self) -> ApprovalId {
        ApprovalId::new(match self {
            Self::Resend(_, _, id) => id.uuid(),
        })
    }

    /// The key of the record.
    #[must_use]
    pub fn key(&self, tenant: &Tenant) -> Key {
        match self {
            Self::Resend(merchant, _, id) => keys::payout_file_resend(tenant, *merchant, *id),
        }
    }

    /// The operation that requested it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        match self {
            Self::Resend(..) => Operation::FileResendRequest,
        }
    }

    /// The operation of the entry that its approval writes.
    #[must_use]
    pub const fn approval(&self) -> Operation {
        match self {
            Self::Resend(..) => Operation::FileResendApprove,
        }
    }

    /// The permission that the requester needs, at the request and still at the approval.
    #[must_use]
    pub const fn permission(&self) -> Permission {
        match self {
            Self::Resend(..) => Permission::PayoutRequestsMake,
        }
    }

    pub(super) const fn role(&self) -> Role {
        match self {
            Self::Resend(..) => Role::Resend,
        }
    }

    /// The attributes that name the record.
    fn names(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Resend(merchant, settlement, id) => vec![
                ("resend_id", id.to_string()),
                ("merchant_id", merchant.to_string()),
                ("settlement_id", settlement.to_string()),
            ],
        }
    }

    fn read(item: &Item) -> Result<Self, ItemError> {
        let known = |name: &str| (name == Operation::FileResendRequest.name()).then_some(());
        item.named(KIND, known)?;
        let id = item.parsed("resend_id", PayoutRequestId::parse)?;
        let merchant = item.parsed("merchant_id", MerchantId::parse)?;
        Ok(Self::Resend(merchant, item.parsed("settlement_id", SettlementId::parse)?, id))
    }
}

impl RequestSummary {
    /// The summary of a request to send a bank file again.
    #[must_use]
    pub fn of_payout(request: &PayoutRequest, settlement: &Settlement, reason: Option<&FreeText>) -> Self {
        let details = BTreeMap::from([("settlement_id".to_owned(), request.settlement.to_string())]);
        Self {
            record: RequestRecord::Resend(request.merchant, request.settlement, request.id),
            account: Account::Merchant(request.merchant),
            amount: settlement.payable.clone(),
            details,
            reason: reason.cloned(),
            requested_by: request.requested_by,
            created_at: request.created_at,
        }
    }

    /// Reads the inbox's item.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let amount = match item.opt_parsed("asset", Asset::parse)? {
            Some(asset) => item.opt_amount("amount", asset)?,
            None => None,
        };
        let details = item.map(DETAILS)?;
        Ok(Self {
            record: RequestRecord::read(item)?,
            account: item.parsed("account", Account::parse)?,
            amount,
            details: details
                .keys()
                .map(|name| Ok((name.clone(), details.string(name)?)))
                .collect::<Result<_, ItemError>>()?,
            reason: item.opt_parsed("reason", |text| FreeText::parse(text, REASON_CHARS_MAX))?,
            requested_by: item.parsed(REQUESTED_BY, StaffId::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
        })
    }

    /// The attributes of the inbox's item.
    pub(super) fn item(&self) -> Item {
        let details = self.details.iter().map(|(name, text)| (name.clone(), Value::s(text))).collect();
        let mut item = Item::from([
            (KIND.to_owned(), Value::s(self.record.operation())),
            ("account".to_owned(), Value::s(self.account)),
            (DETAILS.to_owned(), Value::M(details)),
            (REQUESTED_BY.to_owned(), Value::s(self.requested_by)),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
        ]);
        item.extend(self.record.names().into_iter().map(|(name, id)| (name.to_owned(), Value::S(id))));
        if let Some(amount) = &self.amount {
            item.insert("asset".to_owned(), Value::s(amount.asset()));
            item.insert("amount".to_owned(), Value::N(amount.text()));
        }
        item.extend(self.reason.as_ref().map(|reason| ("reason".to_owned(), Value::s(reason.expose()))));
        item
    }

    /// When the time to decide ends.
    #[must_use]
    pub fn expires_at(&self) -> Timestamp {
        self.created_at.plus(APPROVAL_LIFETIME)
    }
}

impl RecordedRequest {
    /// Reads the state of a request from its record.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(summary: RequestSummary, record: &Item) -> Result<Self, ItemError> {
        let stored = |name: &str| match ApprovalState::parse(name)? {
            state @ (ApprovalState::Pending
            | ApprovalState::Approved
            | ApprovalState::Rejected
            | ApprovalState::Withdrawn) => Some(state),
            ApprovalState::Expired | ApprovalState::Stale => None,
        };
        Ok(Self {
            summary,
            state: record.named(STATE, stored)?,
            decided_by: record.opt_parsed(DECIDED_BY, StaffId::parse)?,
            decided_at: record.opt_timestamp(DECIDED_AT)?,
            transaction_id: record.opt_parsed(TRANSACTION_ID, TransactionId::parse)?,
        })
    }

    /// The state at an instant.
    #[must_use]
    pub fn state(&self, now: Timestamp) -> ApprovalState {
        self.state.at(self.summary.expires_at(), now)
    }

    /// Whose entry its approval at the inbox writes: the requester's, under a key of the request's id.
    #[must_use]
    pub fn provenance(&self, tenant: &Tenant, decider: &StaffMember, now: Timestamp) -> Provenance {
        Provenance {
            tenant: tenant.clone(),
            operation: self.summary.record.approval(),
            principal: Principal::Staff(self.summary.requested_by),
            actor: decider.actor(),
            key: format!("{OF_APPROVAL}{}", self.summary.record.id()),
            now,
        }
    }

    /// The request after another person approved it.
    #[must_use]
    pub fn approved(&self, decider: &StaffMember, transaction_id: Option<TransactionId>, now: Timestamp) -> Self {
        Self { transaction_id, ..self.ended(ApprovalState::Approved, decider, now) }
    }

    pub(super) fn ended(&self, state: ApprovalState, by: &StaffMember, now: Timestamp) -> Self {
        Self { state, decided_by: Some(by.id), decided_at: Some(now), ..self.clone() }
    }
}
