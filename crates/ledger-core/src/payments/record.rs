//! The `PAYMENT` item: what was authorized and what was captured, both immutable, and what may still be refunded.

use crate::account::Account;
use crate::dynamo::{Attributes, Item, ItemError, Value};
use crate::ids::{MerchantId, PaymentId, ShopId, Tenant, TerminalId, TransactionId};
use crate::keys::{self, attr};
use crate::money::{Amount, Asset, AssetSpec, Balance, Co2Kg, Delta, Rate};
use crate::payment_state::PaymentState;
use crate::refused_payment::RefusedPayment;
use crate::terms::{MerchantTerms, TenantTerms};
use crate::time::Timestamp;
use crate::transaction::{Action, Role, TransactItem, Transaction, changes};
use std::collections::BTreeMap;
use uuid::Uuid;

/// The attribute for the end of the hold.
pub(crate) const EXPIRES_AT: &str = "expires_at";
/// The attribute for the time of the capture. Attributes that begin with `captured_` are amounts.
pub(crate) const CAPTURED_AT: &str = "taken_at";

/// A payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaymentRecord {
    /// Its id.
    pub id: PaymentId,
    /// The journal entry that moved the money; before the capture, the one that held it.
    pub transaction_id: TransactionId,
    /// The payer.
    pub payer: Account,
    /// The merchant.
    pub merchant: MerchantId,
    /// The terminal that charged a customer's code; `None` for every other payment.
    pub terminal: Option<TerminalId>,
    /// The shop of the terminal that took the payment, or of the staff member who charged it, at the time of the payment.
    pub shop: Option<ShopId>,
    /// The total that was paid, in the asset that the request named; before the capture, what was held.
    pub total: Amount,
    /// How many decimals the total's asset had at the payment, if it is a regional currency; 0 otherwise.
    pub scale: u32,
    /// The amounts that were held, by asset; empty for a payment that was captured at once.
    pub authorized: BTreeMap<Asset, Amount>,
    /// The end of the hold.
    pub expires_at: Option<Timestamp>,
    /// When the hold was captured.
    pub captured_at: Option<Timestamp>,
    /// The amounts that were paid, by asset.
    pub captured: BTreeMap<Asset, Amount>,
    /// The amounts that may still be refunded, by asset.
    pub refundable: BTreeMap<Asset, Balance>,
    /// The points that the payment earned.
    pub points_earned: Option<Amount>,
    /// How many of these points refunds have taken back.
    pub points_taken_back: Balance,
    /// Kg of CO2 per unit of the total, at the time of the payment.
    pub co2_rate: Rate,
    /// The CO2 estimate of the payment.
    pub co2: Co2Kg,
    /// The present state.
    pub state: PaymentState,
    /// When the money was moved or held.
    pub created_at: Timestamp,
    /// The memo.
    pub memo: Option<String>,
}

/// The attribute for how a return changes what its merchant is owed, by asset.
pub(crate) const PARTS: &str = "parts";

/// The attribute for the number of decimals of the total's asset.
const SCALE: &str = "scale";

/// The attribute for the terminal that charged a customer's code.
const TERMINAL: &str = "terminal_id";

/// The attribute of a payment or a reversal that names the terminal.
pub(crate) fn terminal_attribute(terminal: TerminalId) -> (String, Value) {
    (TERMINAL.to_owned(), Value::s(terminal))
}

/// The attribute of a payment or a return that names the payment's shop.
pub(crate) fn shop_attribute(shop: ShopId) -> (String, Value) {
    (attr::SHOP.to_owned(), Value::s(shop))
}

/// The attribute for the captured amount of an asset.
pub(crate) fn captured_attribute(asset: &Asset) -> String {
    format!("captured_{}", asset.attribute_suffix())
}

/// The attribute for the refundable amount of an asset.
pub(crate) fn refundable_attribute(asset: &Asset) -> String {
    format!("refundable_{}", asset.attribute_suffix())
}

/// The scale of a new payment's record: that of a regional currency; 0 for other assets, whose scale is fixed.
pub(crate) fn scale_of(total: &Amount, terms: &TenantTerms) -> u32 {
    match total.asset() {
        Asset::Regional(_) => terms.spec(total.asset()).map_or(0, AssetSpec::scale),
        Asset::Ecopay | Asset::Point | Asset::Jcredit => 0,
    }
}

impl PaymentRecord {
    /// The asset of the total with its decimals, for amounts that a request names. The tenant's terms may no longer
    /// have the asset.
    #[must_use]
    pub fn spec(&self) -> AssetSpec {
        let finest = AssetSpec::finest(self.total.asset().clone());
        match self.total.asset() {
            Asset::Regional(key) => AssetSpec::regional(key.clone(), self.scale).unwrap_or(finest),
            Asset::Ecopay | Asset::Point | Asset::Jcredit => finest,
        }
    }

    /// The item's attributes.
    pub(crate) fn item(&self, tenant: &Tenant, terms: &MerchantTerms) -> Item {
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
        item.extend(self.terminal.map(terminal_attribute));
        item.extend(self.shop.map(shop_attribute));
        if self.scale > 0 {
            item.insert(SCALE.to_owned(), Value::int(self.scale.into()));
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
        item.extend(owner_mark(tenant, terms, self.id.uuid()));
        item
    }

    /// Reads a stored payment.
    ///
    /// # Errors
    /// [`ItemError`] if an attribute is missing or malformed.
    pub fn read(item: &Item) -> Result<Self, ItemError> {
        let refundable = item.by_asset("refundable_", Item::balance)?;
        let asset = item.parsed("asset", Asset::parse)?;
        Ok(Self {
            id: item.parsed("payment_id", PaymentId::parse)?,
            transaction_id: item.parsed("transaction_id", TransactionId::parse)?,
            payer: item.parsed("payer", Account::parse)?,
            merchant: item.parsed("merchant_id", MerchantId::parse)?,
            terminal: item.opt_parsed(TERMINAL, TerminalId::parse)?,
            shop: item.opt_parsed(attr::SHOP, ShopId::parse)?,
            total: item.opt_amount("total", asset)?.ok_or_else(|| ItemError::invalid("total"))?,
            scale: item.opt_int(SCALE)?.unwrap_or_default(),
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

impl PaymentRecord {
    /// This payment as a refusal says it.
    pub(crate) fn refused(&self) -> RefusedPayment {
        let is_authorization = !self.authorized.is_empty();
        RefusedPayment {
            id: self.transaction_id.uuid(),
            at: self.created_at,
            payer: self.payer,
            merchant: self.merchant,
            at_terminal: self.terminal.is_some(),
            total: self.total.clone(),
            parts: if is_authorization { self.authorized.clone() } else { self.captured.clone() },
            is_authorization,
        }
    }
}

impl Transaction {
    /// The payment that this transaction makes, as a refusal says it; `None` if it makes none.
    #[must_use]
    pub fn refused_payment(&self) -> Option<RefusedPayment> {
        let made = self.items().iter().filter(|item| item.role() == Role::Payment);
        let put = |item: &TransactItem| match &item.action {
            Action::Put(item) => Some(PaymentRecord::read(item).ok()?.refused()),
            Action::Update(_) | Action::Check => None,
        };
        made.filter_map(put).next()
    }
}

/// The attributes that list a record under its merchant.
pub(crate) fn owner_mark(tenant: &Tenant, terms: &MerchantTerms, id: Uuid) -> Item {
    let shard = keys::shard_of(id, terms.shards);
    Item::from([
        (attr::OWNER_PK.to_owned(), Value::S(keys::owner_partition(tenant, terms.id, shard))),
        (attr::OWNER_SK.to_owned(), Value::s(id)),
    ])
}

/// The attributes of a return, refund or reversal: they list it under its merchant, and say how it changes what the
/// merchant is owed.
pub(crate) fn return_attributes(tenant: &Tenant, terms: &MerchantTerms, id: Uuid, owed: &[Delta]) -> Item {
    let mut attributes = owner_mark(tenant, terms, id);
    attributes.insert(PARTS.to_owned(), changes(owed));
    attributes
}
