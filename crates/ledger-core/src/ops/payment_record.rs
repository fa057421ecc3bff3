//! The `PAYMENT` item: what was authorized and what was captured (both immutable), and what of it may
//! still be refunded.

use super::{MerchantTerms, PaymentState, TenantTerms};
use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::{MerchantId, PaymentId, Tenant, TransactionId};
use crate::keys::{self, Work, attr};
use crate::money::{Amount, Asset, AssetSpec, Balance, Co2Kg, Delta, Rate};
use crate::time::Timestamp;
use crate::transaction::changes;
use std::collections::BTreeMap;
use uuid::Uuid;

/// The attribute that says until when what is held can be captured.
pub(super) const EXPIRES_AT: &str = "expires_at";
/// The attribute that says when what was held was captured. Those in `captured_` are amounts.
pub(super) const CAPTURED_AT: &str = "taken_at";

/// A payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentRecord {
    /// Its id.
    pub id: PaymentId,
    /// The journal entry that moved the money; while nothing is captured, the one that held it.
    pub transaction_id: TransactionId,
    /// Who paid.
    pub payer: Account,
    /// Who was paid.
    pub merchant: MerchantId,
    /// What was paid in all, in the asset that it was asked in; while nothing is captured, what was held.
    pub total: Amount,
    /// How many decimals the asset of the total had at the payment; `None` if the record does not say.
    pub scale: Option<u32>,
    /// What was held for it, by asset; empty for a payment that was captured at once.
    pub authorized: BTreeMap<Asset, Amount>,
    /// Until when what is held can be captured.
    pub expires_at: Option<Timestamp>,
    /// When what was held was captured.
    pub captured_at: Option<Timestamp>,
    /// What was paid, by asset.
    pub captured: BTreeMap<Asset, Amount>,
    /// What of it may still be refunded, by asset.
    pub refundable: BTreeMap<Asset, Balance>,
    /// The points that the payment earned.
    pub points_earned: Option<Amount>,
    /// How many of them refunds have taken back.
    pub points_taken_back: Balance,
    /// Kg of CO2 per unit of the total, as it was at the payment.
    pub co2_rate: Rate,
    /// The estimate at the payment.
    pub co2: Co2Kg,
    /// Where it stands.
    pub state: PaymentState,
    /// When the money moved, or was held.
    pub created_at: Timestamp,
    /// What was written with it.
    pub memo: Option<String>,
}

/// The attribute that says how many decimals the asset of the total had.
const SCALE: &str = "scale";

/// The attribute that holds what of an asset was captured.
pub(super) fn captured_attribute(asset: &Asset) -> String {
    format!("captured_{}", asset.attribute_suffix())
}

/// The attribute that holds what of an asset may still be refunded.
pub(super) fn refundable_attribute(asset: &Asset) -> String {
    format!("refundable_{}", asset.attribute_suffix())
}

/// The scale that a new payment's record needs to say: that of a regional currency with decimals. The others
/// have the scale of their kind, or none.
pub(super) fn scale_of(total: &Amount, terms: &TenantTerms) -> Option<u32> {
    match total.asset() {
        Asset::Regional(_) => terms.spec(total.asset()).map(AssetSpec::scale).filter(|scale| *scale > 0),
        Asset::Ecopay | Asset::Point | Asset::Jcredit => None,
    }
}

impl PaymentRecord {
    /// The asset of the total and its decimals, for amounts of this payment that a request names. The tenant may
    /// no longer run the asset. A record without a scale has the present terms' one, and at least as many decimals as
    /// its own amounts have.
    #[must_use]
    pub fn spec(&self, terms: &TenantTerms) -> AssetSpec {
        let asset = self.total.asset();
        let finest = AssetSpec::finest(asset.clone());
        let Asset::Regional(key) = asset else { return finest };
        let own = || {
            let parts = [&self.authorized, &self.captured].into_iter().filter_map(|parts| parts.get(asset));
            let amounts = parts.chain([&self.total]).map(|amount| amount.value().scale());
            amounts.chain(self.refundable.get(asset).map(|left| left.value().scale())).max().unwrap_or(0)
        };
        let present = || terms.spec(asset).map_or(0, AssetSpec::scale);
        let scale = self.scale.unwrap_or_else(|| own().max(present()));
        AssetSpec::regional(key.clone(), scale).unwrap_or(finest)
    }

    /// The item's attributes; where the merchant is owed something, the work mark for its credit is among
    /// them.
    pub(super) fn item(&self, tenant: &Tenant, terms: &MerchantTerms) -> Item {
        let mut item = Item::from([
            ("payment_id".to_owned(), Value::s(self.id)),
            ("transaction_id".to_owned(), Value::s(self.transaction_id)),
            ("payer".to_owned(), Value::s(self.payer)),
            ("merchant_id".to_owned(), Value::s(self.merchant)),
            ("asset".to_owned(), Value::s(self.total.asset())),
            ("total".to_owned(), Value::N(self.total.text())),
            ("points_taken_back".to_owned(), Value::N(self.points_taken_back.text())),
            ("co2_rate".to_owned(), Value::N(self.co2_rate.text())),
            ("co2".to_owned(), Value::N(self.co2.text())),
            ("state".to_owned(), Value::s(self.state)),
            (attr::CREATED_AT.to_owned(), Value::s(self.created_at)),
            (attr::UPDATED_AT.to_owned(), Value::s(self.created_at)),
        ]);
        if let Some(scale) = self.scale {
            item.insert(SCALE.to_owned(), Value::int(scale.into()));
        }
        for (asset, amount) in &self.authorized {
            item.insert(format!("authorized_{}", asset.attribute_suffix()), Value::N(amount.text()));
        }
        if let Some(expires_at) = self.expires_at {
            item.insert(EXPIRES_AT.to_owned(), Value::s(expires_at));
        }
        for (asset, amount) in &self.captured {
            item.insert(captured_attribute(asset), Value::N(amount.text()));
        }
        for (asset, left) in &self.refundable {
            item.insert(refundable_attribute(asset), Value::N(left.text()));
        }
        if let Some(earned) = &self.points_earned {
            item.insert("points_earned".to_owned(), Value::N(earned.text()));
        }
        if let Some(memo) = &self.memo {
            item.insert("memo".to_owned(), Value::s(memo));
        }
        let credited: Vec<Delta> = self.captured.values().map(Amount::credit).collect();
        if credited.is_empty() {
            item.extend(owner_mark(tenant, terms, self.id.uuid()));
        } else {
            item.extend(merchant_work(tenant, terms, self.id.uuid(), &credited));
        }
        item
    }

    /// Reads a stored payment.
    ///
    /// # Errors
    /// [`ItemError`] if it does not look as we write it.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let refundable = item.by_asset("refundable_", Item::balance)?;
        let asset = item.parsed("asset", Asset::parse)?;
        Ok(Self {
            id: item.parsed("payment_id", PaymentId::parse)?,
            transaction_id: item.parsed("transaction_id", TransactionId::parse)?,
            payer: item.parsed("payer", Account::parse)?,
            merchant: item.parsed("merchant_id", MerchantId::parse)?,
            total: item.opt_amount("total", asset)?.ok_or_else(|| ItemError::invalid("total"))?,
            scale: item.opt_int(SCALE)?,
            authorized: item.by_asset("authorized_", Item::amount)?,
            expires_at: item.opt_timestamp(EXPIRES_AT)?,
            captured_at: item.opt_timestamp(CAPTURED_AT)?,
            captured: item.by_asset("captured_", Item::amount)?,
            refundable,
            points_earned: item.opt_amount("points_earned", Asset::Point)?,
            points_taken_back: item.balance("points_taken_back", Asset::Point)?,
            co2_rate: item.rate("co2_rate")?,
            co2: item.parsed_number("co2", Co2Kg::from_stored)?,
            state: item.named("state", PaymentState::parse)?,
            created_at: item.timestamp(attr::CREATED_AT)?,
            memo: item.opt_string("memo")?,
        })
    }
}

/// What makes a record visible to its merchant.
pub(super) fn owner_mark(tenant: &Tenant, terms: &MerchantTerms, id: Uuid) -> Item {
    let shard = keys::shard_of(id, terms.shards);
    Item::from([
        (attr::OWNER_PK.to_owned(), Value::S(keys::owner_partition(tenant, terms.id, shard))),
        (attr::OWNER_SK.to_owned(), Value::s(id)),
    ])
}

/// What a record owes to its merchant, and the work mark for that.
pub(super) fn credit_work(tenant: &Tenant, terms: &MerchantTerms, id: Uuid, credited: &[Delta]) -> Item {
    let shard = keys::shard_of(id, terms.shards);
    Item::from([
        ("merchant_delta".to_owned(), changes(credited)),
        (attr::DUE_PK.to_owned(), Value::S(keys::due_partition(tenant, Work::Credit(terms.id), shard))),
        (attr::DUE_SK.to_owned(), Value::s(id)),
    ])
}

/// What makes a record visible to its merchant and due for its merchant's credit.
pub(super) fn merchant_work(tenant: &Tenant, terms: &MerchantTerms, id: Uuid, credited: &[Delta]) -> Item {
    let mut work = owner_mark(tenant, terms, id);
    work.extend(credit_work(tenant, terms, id, credited));
    work
}
