//! Customers, merchants, cards and terminals as the faces show them.

use super::words;
use ledger_core::dynamo::{Attributes, Item, ItemError};
use ledger_core::keys::attr;
use ledger_core::ops::MerchantTerms;
use ledger_core::ops::card::{CardReceipt, CardRecord};
use ledger_core::ops::merchant;
use ledger_core::ops::profile::ProfileReceipt;
use serde::Serialize;
use utoipa::ToSchema;

/// A customer's profile.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CustomerView {
    /// The customer's id.
    pub customer_id: String,
    /// The name.
    pub name: String,
    /// The e-mail address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// The telephone number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone: Option<String>,
    /// `active` or `frozen`.
    #[schema(value_type = words::AccountStatus)]
    pub status: String,
    /// When the wallet was opened.
    pub created_at: String,
    /// When the profile last changed.
    pub updated_at: String,
}

/// A customer that has just been changed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CustomerChangeView {
    /// The customer's id.
    pub customer_id: String,
    /// When.
    pub updated_at: String,
}

/// A stored-value card.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CardView {
    /// The card's id.
    pub card_id: String,
    /// What is on it, in yen.
    pub balance: String,
    /// `active`, `frozen` or a later state of its life.
    pub status: String,
    /// Whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer_id: Option<String>,
    /// When it was issued.
    pub created_at: String,
}

/// A card whose status has just been changed.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct CardChangeView {
    /// The card's id.
    pub card_id: String,
    /// `active` or `frozen`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<words::AccountStatus>)]
    pub status: Option<&'static str>,
    /// When.
    pub updated_at: String,
}

/// A merchant.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct MerchantView {
    /// The merchant's id.
    pub merchant_id: String,
    /// The shown name.
    pub name: String,
    /// `active` or `suspended`.
    #[schema(value_type = words::MerchantStatus)]
    pub status: String,
    /// Over how many index partitions its payments are spread.
    pub shards: u32,
    /// Where it is paid, if somebody has said: bank, branch, and the end of the account's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payout_destination: Option<String>,
    /// When it was registered.
    pub created_at: String,
    /// When it last changed.
    pub updated_at: String,
}

impl CustomerView {
    /// From a customer's `PROFILE`.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            customer_id: item.string("customer_id")?,
            name: item.string("name")?,
            email: item.opt_string("email")?,
            phone: item.opt_string("phone")?,
            status: item.string("status")?,
            created_at: item.string(attr::CREATED_AT)?,
            updated_at: item.string(attr::UPDATED_AT)?,
        })
    }
}

impl MerchantView {
    /// From a merchant's `PROFILE`.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        Ok(Self {
            merchant_id: item.string("merchant_id")?,
            name: item.string("name")?,
            status: item.string("status")?,
            shards: MerchantTerms::read(item)?.shards.count(),
            payout_destination: merchant::destination(item)?.map(|destination| destination.shown()),
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

impl From<&CardRecord> for CardView {
    fn from(card: &CardRecord) -> Self {
        Self {
            card_id: card.id.to_string(),
            balance: card.balance.text(),
            status: card.status().to_owned(),
            customer_id: card.owner.map(|owner| owner.to_string()),
            created_at: card.created_at.to_string(),
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
