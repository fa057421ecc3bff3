//! A payment that was refused, as its stored refusal says it: what a preview of a change of terms plans again.

use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::{MerchantId, Tenant};
use crate::keys::{self, attr};
use crate::money::{Amount, Asset};
use crate::time::Timestamp;
use std::collections::BTreeMap;
use uuid::Uuid;

/// The attribute of a marker with the payment that it refuses.
pub(crate) const REFUSED: &str = "refused";
const ID: &str = "id";
const CODE: &str = "code";
const PAYER: &str = "payer";
const MERCHANT: &str = "merchant_id";
const ASSET: &str = "asset";
const TOTAL: &str = "total";
const PART: &str = "part_";
const AT_TERMINAL: &str = "at_terminal";
const AUTHORIZATION: &str = "authorization";

/// A payment or an authorization that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedPayment {
    /// The id that its journal entry would have had.
    pub id: Uuid,
    /// The time of the request.
    pub at: Timestamp,
    /// The payer.
    pub payer: Account,
    /// The merchant.
    pub merchant: MerchantId,
    /// Whether a terminal charged a customer's code.
    pub at_terminal: bool,
    /// The total, in the asset that the request named.
    pub total: Amount,
    /// How the total divides into assets.
    pub parts: BTreeMap<Asset, Amount>,
    /// Whether it was an authorization.
    pub is_authorization: bool,
}

impl RefusedPayment {
    /// The attributes of the marker that stores the refusal with a code: the payment, and its entry in the list of the
    /// tenant's refused payments.
    pub(crate) fn attributes(&self, tenant: &Tenant, code: &str) -> Item {
        let mut refused = Item::from([
            (ID.to_owned(), Value::s(self.id)),
            (CODE.to_owned(), Value::s(code)),
            (attr::CREATED_AT.to_owned(), Value::s(self.at)),
            (PAYER.to_owned(), Value::s(self.payer)),
            (MERCHANT.to_owned(), Value::s(self.merchant)),
            (ASSET.to_owned(), Value::s(self.total.asset())),
            (TOTAL.to_owned(), Value::N(self.total.text())),
        ]);
        for (asset, part) in &self.parts {
            refused.insert(format!("{PART}{}", asset.attribute_suffix()), Value::N(part.text()));
        }
        if self.is_authorization {
            refused.insert(AUTHORIZATION.to_owned(), Value::Bool(true));
        }
        if self.at_terminal {
            refused.insert(AT_TERMINAL.to_owned(), Value::Bool(true));
        }
        let shard = keys::listed_shard(self.id);
        Item::from([
            (REFUSED.to_owned(), Value::M(refused)),
            (attr::OWNER_PK.to_owned(), Value::S(keys::refused_partition(tenant, shard))),
            (attr::OWNER_SK.to_owned(), Value::S(keys::place(self.at, self.id))),
        ])
    }

    /// Reads a marker; with the code of the refusal. `None` if it refuses no payment.
    ///
    /// # Errors
    /// [`ItemError`] if the attribute is malformed.
    pub fn read(marker: &Item) -> Result<Option<(Self, String)>, ItemError> {
        let Some(refused) = marker.opt_map(REFUSED)? else { return Ok(None) };
        let asset = refused.parsed(ASSET, Asset::parse)?;
        let payment = Self {
            id: refused.parsed(ID, crate::ids::parse_uuid)?,
            at: refused.timestamp(attr::CREATED_AT)?,
            payer: refused.parsed(PAYER, Account::parse)?,
            merchant: refused.parsed(MERCHANT, MerchantId::parse)?,
            at_terminal: refused.flag(AT_TERMINAL)?,
            total: refused.opt_amount(TOTAL, asset)?.ok_or_else(|| ItemError::invalid(TOTAL))?,
            parts: refused.by_asset(PART, Item::amount)?,
            is_authorization: refused.flag(AUTHORIZATION)?,
        };
        Ok(Some((payment, refused.string(CODE)?)))
    }
}
