//! A payment of the past: what it was planned from, and what became of it.

use crate::account::Account;
use crate::ids::{MerchantId, TerminalOwner};
use crate::limits::Place;
use crate::money::{Amount, Asset, AssetSpec, MoneyError};
use crate::payment_state::PaymentState;
use crate::payments::payment::Parts;
use crate::payments::record::PaymentRecord;
use crate::plan::PlanRefusal;
use crate::refused_payment::RefusedPayment;
use crate::terms::TenantTerms;
use crate::time::Timestamp;
use std::collections::BTreeMap;
use uuid::Uuid;

/// A payment or an authorization that was made or refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastPayment {
    /// The payment's id; of a refused one, the id of its stored refusal.
    pub id: Uuid,
    /// The time of its request.
    pub at: Timestamp,
    /// The payer.
    pub payer: Account,
    /// The merchant.
    pub merchant: MerchantId,
    /// Where it took place.
    pub place: Place,
    /// The total, in the asset that the request named.
    pub total: Amount,
    /// How the total divides into assets.
    pub parts: BTreeMap<Asset, Amount>,
    /// Whether it was authorized first, to be captured later.
    pub is_authorization: bool,
    /// What became of it.
    pub outcome: PastOutcome,
}

/// What became of a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PastOutcome {
    /// The merchant was paid.
    Paid(Taken),
    /// It was authorized, and not captured.
    Held,
    /// It was refused, with this code.
    Refused(String),
}

/// What a merchant was paid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The total.
    pub total: Amount,
    /// The amount of each asset.
    pub by_asset: BTreeMap<Asset, Amount>,
    /// The points that the payer earned.
    pub points: Option<Amount>,
    /// The time of the payment or of the capture.
    pub at: Timestamp,
}

impl PastPayment {
    /// The payment of a record, as it was made: what was refunded later is part of it. `None` if it was reversed, which
    /// undoes all of it.
    ///
    /// # Errors
    /// [`MoneyError`] if the parts do not sum.
    pub fn of_record(record: &PaymentRecord) -> Result<Option<Self>, MoneyError> {
        if record.state == PaymentState::Reversed {
            return Ok(None);
        }
        let is_authorization = !record.authorized.is_empty();
        let parts = if is_authorization { &record.authorized } else { &record.captured };
        let Some(total) = sum(record.total.asset(), parts)? else { return Ok(None) };
        let outcome = if record.captured.is_empty() {
            PastOutcome::Held
        } else {
            PastOutcome::Paid(Taken {
                total: record.total.clone(),
                by_asset: record.captured.clone(),
                points: record.points_earned.clone(),
                at: record.captured_at.unwrap_or(record.created_at),
            })
        };
        Ok(Some(Self {
            id: record.id.uuid(),
            at: record.created_at,
            payer: record.payer,
            merchant: record.merchant,
            place: place((record.payer, record.merchant), record.terminal.is_some()),
            total,
            parts: parts.clone(),
            is_authorization,
            outcome,
        }))
    }

    /// A refused payment, with the code of its refusal.
    #[must_use]
    pub fn of_refused(refused: RefusedPayment, code: String) -> Self {
        let RefusedPayment { id, at, payer, merchant, at_terminal, total, parts, is_authorization } = refused;
        let place = place((payer, merchant), at_terminal);
        Self { id, at, payer, merchant, place, total, parts, is_authorization, outcome: PastOutcome::Refused(code) }
    }

    /// All of it, as paid at once.
    pub(super) fn whole(&self) -> Taken {
        Taken { total: self.total.clone(), by_asset: self.parts.clone(), points: None, at: self.at }
    }

    /// The total and its parts, as the request named them.
    pub(super) fn split(&self, terms: &TenantTerms) -> Result<Parts, PlanRefusal> {
        let (mut points, mut regional) = (None, Vec::new());
        for (asset, part) in self.parts.iter().filter(|(asset, _)| *asset != self.total.asset()) {
            match asset {
                Asset::Point => points = Some(part.clone()),
                Asset::Regional(_) | Asset::Ecopay | Asset::Jcredit => regional.push(part.clone()),
            }
        }
        Parts::split(self.total.clone(), points, regional, terms)
    }
}

/// Where a payment took place: cards pay at terminals alone.
fn place((payer, merchant): (Account, MerchantId), at_terminal: bool) -> Place {
    match payer {
        Account::Card(_) => Place::Terminal(TerminalOwner::Merchant(merchant)),
        Account::Customer(_) if at_terminal => Place::Terminal(TerminalOwner::Merchant(merchant)),
        Account::Customer(_) | Account::Merchant(_) | Account::Tenant(_) => Place::Merchant(merchant),
    }
}

/// The sum of the parts in an asset, one to one; `None` if there is no part, or one that the asset cannot hold.
fn sum(asset: &Asset, parts: &BTreeMap<Asset, Amount>) -> Result<Option<Amount>, MoneyError> {
    let spec = AssetSpec::finest(asset.clone());
    let mut sum: Option<Amount> = None;
    for part in parts.values() {
        let Some(part) = part.one_to_one(&spec) else { return Ok(None) };
        sum = Some(match sum {
            Some(sum) => sum.checked_add(&part)?,
            None => part,
        });
    }
    Ok(sum)
}
