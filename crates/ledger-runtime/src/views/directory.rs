//! Customers, merchants, cards and terminals, as the APIs show them.

use super::words;
use ledger_core::cards::record::{CardReceipt, CardRecord};
use ledger_core::customers::profile::ProfileReceipt;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::keys::attr;
use ledger_core::merchants;
use ledger_core::shops::ShopRecord;
use ledger_core::terms::MerchantTerms;
use ledger_core::time::Timestamp;
use ledger_core::unclaimed;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// A customer's profile.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CustomerView {
    /// The customer's id.
    pub customer_id: String,
    /// The name; absent if the customer was erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How the name is read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kana: Option<String>,
    /// The e-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The telephone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// `active`, `frozen` or `closed`.
    #[schema(value_type = words::CustomerStatus)]
    pub status: String,
    /// The time at which the wallet was closed; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
    /// The time at which the customer was erased; absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erased_at: Option<String>,
    /// The time at which the wallet was opened.
    pub created_at: String,
    /// The time of the last change of the profile.
    pub updated_at: String,
}

/// A shop of a merchant.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ShopView {
    /// The shop's id.
    pub shop_id: String,
    /// The displayed name.
    pub name: String,
    /// `open` or `closed`.
    #[schema(value_type = words::ShopStatus)]
    pub status: &'static str,
    /// How many terminals and staff members are assigned to it.
    pub assigned: i64,
    /// The time at which it was opened.
    pub created_at: String,
}

impl From<&ShopRecord> for ShopView {
    fn from(shop: &ShopRecord) -> Self {
        Self {
            shop_id: shop.id.to_string(),
            name: shop.name.clone(),
            status: shop.state.name(),
            assigned: shop.assigned,
            created_at: shop.created_at.to_string(),
        }
    }
}

/// A change of a customer.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CustomerChangeView {
    /// The customer's id.
    pub customer_id: String,
    /// The time of the change.
    pub updated_at: String,
}

/// A stored-value card.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CardView {
    /// The card's id.
    pub card_id: String,
    /// The balance, in yen.
    pub balance: String,
    /// `active`, `frozen`, `blocked` after a loss, `expired`, `replaced` or `closed`.
    pub status: String,
    /// The customer that the card belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_id: Option<String>,
    /// The state of the card's PIN, to the operator's staff; absent if it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::CardPinState>)]
    pub pin: Option<&'static str>,
    /// The time at which the card was issued.
    pub created_at: String,
    /// The time from which no terminal debits or loads the card; absent if it does not expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// The card that replaced this one, to its owner and the operator's staff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<String>,
    /// What of `unclaimed` is of the closed card, by asset, to the operator's staff; absent if nothing is.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unclaimed: BTreeMap<String, String>,
}

/// A change of a card.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CardChangeView {
    /// The card's id.
    pub card_id: String,
    /// `active` or `frozen`, if that was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::AccountStatus>)]
    pub status: Option<&'static str>,
    /// The time of the change.
    pub updated_at: String,
}

/// A merchant.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MerchantView {
    /// The merchant's id.
    pub merchant_id: String,
    /// The displayed name.
    pub name: String,
    /// `active`, `suspended`, `closing` once its close has begun, or `closed`.
    #[schema(value_type = words::MerchantStateWord)]
    pub status: String,
    /// The number of index shards that the merchant's payments are spread over.
    pub shards: u32,
    /// The payout account, if one is set: bank, branch, and the end of the account number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payout_destination: Option<String>,
    /// Its own settlement schedule, or `by_hand` if it has none; absent if it has that of the tenant's terms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settlement_schedule: Option<String>,
    /// The time at which its close has begun; absent if it has not, or was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closing_at: Option<String>,
    /// The time at which it was closed; absent if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
    /// The time of registration.
    pub created_at: String,
    /// The time of the last change.
    pub updated_at: String,
}

impl CustomerView {
    /// Reads a customer's `PROFILE`.
    ///
    /// # Errors
    /// [`ItemError`] if the item is malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            customer_id: item.string("customer_id")?,
            name: item.opt_string("name")?,
            kana: item.opt_string("kana")?,
            email: item.opt_string("email")?,
            phone: item.opt_string("phone")?,
            status: item.string("status")?,
            closed_at: item.opt_string("closed_at")?,
            erased_at: item.opt_string("erased_at")?,
            created_at: item.string(attr::CREATED_AT)?,
            updated_at: item.string(attr::UPDATED_AT)?,
        })
    }
}

impl MerchantView {
    /// Reads a merchant's `PROFILE`.
    ///
    /// # Errors
    /// [`ItemError`] if the item is malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            merchant_id: item.string("merchant_id")?,
            name: item.string("name")?,
            status: item.string("status")?,
            shards: MerchantTerms::read(item)?.shards.count(),
            payout_destination: merchants::destination(item)?.map(|destination| destination.shown()),
            settlement_schedule: merchants::own_schedule(item)?.map(|schedule| schedule.to_string()),
            closing_at: item.opt_string("closing_at")?,
            closed_at: item.opt_string("closed_at")?,
            created_at: item.string(attr::CREATED_AT)?,
            updated_at: item.string(attr::UPDATED_AT)?,
        })
    }
}

impl From<&ProfileReceipt> for CustomerChangeView {
    fn from(receipt: &ProfileReceipt) -> Self {
        Self { customer_id: receipt.customer.to_string(), updated_at: receipt.updated_at.to_string() }
    }
}

/// What of `unclaimed` is of a closed account, by asset. `record` is the account's.
///
/// # Errors
/// [`ItemError`] if a sum is malformed.
pub fn unclaimed_of(record: &Item) -> Result<BTreeMap<String, String>, ItemError> {
    let sums = unclaimed::sums(record)?;
    Ok(sums.into_iter().map(|(asset, sum)| (asset.to_string(), sum.text())).collect())
}

impl CardView {
    /// Shows a card as it is at an instant.
    #[must_use]
    pub fn at(card: &CardRecord, now: Timestamp) -> Self {
        Self {
            card_id: card.id.to_string(),
            balance: card.balance.text(),
            status: card.status(now).name().to_owned(),
            customer_id: card.owner.map(|owner| owner.to_string()),
            pin: None,
            created_at: card.created_at.to_string(),
            expires_at: card.expires_at.map(|at| at.to_string()),
            replaced_by: card.replaced_by.map(|card| card.to_string()),
            unclaimed: BTreeMap::new(),
        }
    }
}

impl From<&CardReceipt> for CardChangeView {
    fn from(receipt: &CardReceipt) -> Self {
        Self {
            card_id: receipt.card.to_string(),
            status: receipt.status.map(|status| status.name()),
            updated_at: receipt.at.to_string(),
        }
    }
}
