//! Decodes a vector's JSON into the core's types, and reads what a function would have read. A vector that cannot be
//! decoded fails the test.

use super::command::{AnswerJson, Change, ClaimJson, ContextJson, Money, ProfileChange};
use super::vector::Given;
use super::written;
use crate::engine::{Contents, PrimaryKey, primary_key};
use crate::wire;
use ledger_core::account::Account;
use ledger_core::customers::profile::{self, ProfilePatch};
use ledger_core::dynamo::{Attributes, Item};
use ledger_core::forms::Patch;
use ledger_core::idempotency::{Answer, CanonicalRequest, Claim, ClaimKey, Fields, MarkerKeys, Window};
use ledger_core::ids::{
    Actor, AuditId, CustomerId, MerchantId, Principal, ShopId, StaffId, Tenant, TerminalId, TransactionId,
};
use ledger_core::keys::{self, Key, Partition};
use ledger_core::migration::{Layout, LegacyItem};
use ledger_core::money::{Amount, AmountError, Asset, AssetSpec, Delta};
use ledger_core::operation::Operation;
use ledger_core::personal::FreeText;
use ledger_core::plan::Context;
use ledger_core::terminals::TerminalRecord;
use ledger_core::terms::{MerchantTerms, SpentPoints, TenantTerms, TermsVersion};
use ledger_core::time::Timestamp;
use ledger_core::wallets::SeenWallet;
use serde_json::Value as Json;
use uuid::Uuid;

/// The context in which a function calls the builder.
pub struct World {
    /// The tenant.
    pub tenant: Tenant,
    /// Time, ids and randomness.
    pub cx: Context,
    read: Contents,
    seen: Vec<PrimaryKey>,
    layout: Layout,
}

impl World {
    /// The table as it was read by the command.
    #[must_use]
    pub fn new(given: &Given) -> Self {
        let command = &given.command;
        let now = Timestamp::parse(&given.now).unwrap();
        assert_eq!(now.to_string(), given.now, "times are written with milliseconds");
        let mut read: Contents = given.state.iter().map(wire::item_from_json).map(|i| (primary_key(&i), i)).collect();
        for seen in command.seen.iter().map(wire::item_from_json) {
            let key = primary_key(&seen);
            if seen.len() == 2 {
                read.remove(&key);
            } else {
                read.insert(key, seen);
            }
        }
        let (tenant, cx) = (Tenant::parse(&command.tenant).unwrap(), context(&command.context, now));
        let seen = command.seen.iter().map(wire::item_from_json).map(|item| primary_key(&item)).collect();
        Self { tenant, cx, read, seen, layout: written::layout(given) }
    }

    /// An item as it was read.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&Item> {
        self.read.get(&(key.pk().to_owned(), key.sk().to_owned()))
    }

    /// The payer's wallet as it was read.
    #[must_use]
    pub fn wallet(&self, account: Account) -> SeenWallet {
        match account {
            Account::Customer(id) => {
                SeenWallet::read(SeenWallet::keys(&self.tenant, id).map(|key| self.find(&key))).unwrap()
            }
            Account::Card(_) | Account::Merchant(_) | Account::Tenant(_) => SeenWallet::default(),
        }
    }

    /// The terms' rule for spent points; they are deducted if the state has no terms.
    #[must_use]
    pub fn spent_points(&self) -> SpentPoints {
        match self.get(&keys::config(&self.tenant)) {
            Some(_) => self.terms().spent_points,
            None => SpentPoints::Deduct,
        }
    }

    /// The version of those terms.
    #[must_use]
    pub fn terms_version(&self) -> TermsVersion {
        self.get(&keys::config(&self.tenant)).map_or(TermsVersion::FIRST, |_| self.terms().version)
    }

    /// An item that must exist in the state.
    #[must_use]
    pub fn must(&self, key: &Key) -> &Item {
        self.get(key).unwrap_or_else(|| panic!("the state lacks {key:?}"))
    }

    /// The layout of the tenant's customers.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout.clone()
    }

    /// A customer's item from the model that holds it.
    #[must_use]
    pub fn find(&self, key: &Key) -> Option<Item> {
        match self.layout.reading(key) {
            Some(reading) => {
                let [record, legacy, split] = reading.keys().map(|key| self.get(&key).cloned());
                let legacy = [record, legacy].map(|item| item.map(|item| LegacyItem { item, unsupported: Vec::new() }));
                reading.item(legacy, split).unwrap()
            }
            None => self.get(key).cloned(),
        }
    }

    /// A customer's balance items from the model that holds them.
    #[must_use]
    pub fn balances(&self, partition: &Partition) -> Vec<Item> {
        let keys = self.layout.balances(partition);
        if !keys.is_empty() {
            return keys.iter().filter_map(|key| self.find(key)).collect();
        }
        let of = |(pk, sk): &(String, String)| pk == partition.as_str() && sk.starts_with(keys::sk::BALANCE);
        self.read.iter().filter(|(key, _)| of(key)).map(|(_, item)| item.clone()).collect()
    }

    /// The keys of the items for which `meant` holds.
    #[must_use]
    pub fn keys_of(&self, meant: impl Fn(&Item) -> bool) -> Vec<Key> {
        let text = |item: &Item, name| item.text(name).unwrap().to_owned();
        let key = |item: &Item| Key::stored(&self.tenant, &text(item, "uuid"), &text(item, "type")).unwrap();
        self.read.values().filter(|item| meant(item)).map(key).collect()
    }

    /// The shop that a terminal is assigned to; `None` if the state has no record of the terminal.
    #[must_use]
    pub fn shop_of(&self, terminal: &str) -> Option<ShopId> {
        let profile = Partition::terminal(&self.tenant, TerminalId::parse(terminal).unwrap()).profile();
        self.get(&profile).and_then(|item| TerminalRecord::read(item).unwrap().shop)
    }

    /// Every item, as it was read.
    pub fn items(&self) -> impl Iterator<Item = &Item> {
        self.read.values()
    }

    /// The tenant's terms.
    #[must_use]
    pub fn terms(&self) -> TenantTerms {
        TenantTerms::read(self.must(&keys::config(&self.tenant)), self.cx.now).unwrap()
    }

    /// The tenant's terms for an operation of an account. Its own limits were read if what was seen has one of its items.
    #[must_use]
    pub fn terms_for(&self, account: Account) -> TenantTerms {
        let terms = self.terms();
        let home = Partition::account(&self.tenant, account).unwrap();
        let is_own =
            |(pk, sk): &&PrimaryKey| pk == home.as_str() && (sk == "card" || sk.starts_with(keys::sk::BALANCE));
        let items: Vec<Item> = self.seen.iter().filter(is_own).map(|key| self.read[key].clone()).collect();
        let limits = terms.limits.as_ref().filter(|limits| limits.has_own_limits() && !items.is_empty());
        match limits.map(|limits| limits.of_account(&items).unwrap()) {
            Some(limits) => TenantTerms { limits: Some(limits), ..terms },
            None => terms,
        }
    }

    /// A merchant's terms.
    #[must_use]
    pub fn merchant(&self, id: &str) -> MerchantTerms {
        let id = MerchantId::parse(id).unwrap();
        MerchantTerms::read(self.must(&Partition::merchant(&self.tenant, id).profile())).unwrap()
    }

    /// An amount at the scale that the tenant's terms give the asset, or the seed form's.
    ///
    /// # Errors
    /// [`AmountError`], which is the vector's outcome.
    pub fn amount(&self, money: &Money) -> Result<Amount, AmountError> {
        let asset = Asset::parse(&money.asset).unwrap();
        let spec = match self.get(&keys::config(&self.tenant)) {
            Some(_) => self.terms().spec(&asset).unwrap().clone(),
            None => match asset {
                Asset::Ecopay => AssetSpec::ECOPAY,
                Asset::Point => AssetSpec::POINT,
                Asset::Jcredit => AssetSpec::JCREDIT,
                Asset::Regional(key) => AssetSpec::regional(key, 0).unwrap(),
            },
        };
        Amount::parse(&spec, &money.amount)
    }
}

/// A signed change of an asset.
#[must_use]
pub fn delta(money: &Money) -> Delta {
    Delta::from_stored(Asset::parse(&money.asset).unwrap(), &money.amount).unwrap()
}

/// An account in the journal's form, such as `customer:<id>`.
#[must_use]
pub fn account(text: &str) -> Account {
    Account::parse(text).unwrap()
}

/// A customer's id.
#[must_use]
pub fn customer(text: &str) -> CustomerId {
    CustomerId::parse(text).unwrap()
}

/// A free text of at most 140 characters.
#[must_use]
pub fn text(text: &str) -> FreeText {
    FreeText::parse(text, 140).unwrap()
}

/// A free text that may be absent.
#[must_use]
pub fn maybe_text(given: &Option<String>) -> Option<FreeText> {
    given.as_deref().map(text)
}

/// A change of a profile.
#[must_use]
pub fn profile_patch(change: &ProfileChange) -> ProfilePatch {
    let patch = |change: &Change, read: fn(&str) -> FreeText| match change {
        Change::Keep => Patch::Keep,
        Change::Clear => Patch::Clear,
        Change::Set(value) => Patch::Set(read(value)),
    };
    ProfilePatch {
        name: maybe_text(&change.name),
        kana: Patch::Keep,
        email: patch(&change.email, |text| FreeText::email(text).unwrap()),
        phone: patch(&change.phone, |text| FreeText::phone(text).unwrap()),
    }
}

/// A change of a profile that is planned without its contact as it was.
#[must_use]
pub fn unread<'a>(patch: &'a ProfilePatch, keys: &'a MarkerKeys) -> profile::ProfileChange<'a> {
    profile::ProfileChange { patch, previous: None, keys }
}

/// The actor: `system`, or `<kind>:<id>`.
#[must_use]
pub fn actor(given: &str) -> Actor {
    if given == "system" {
        return Actor::System;
    }
    let (kind, id) = given.split_once(':').unwrap();
    match kind {
        "customer" => Actor::Customer(customer(id)),
        "merchant_staff" => Actor::MerchantStaff(StaffId::parse(id).unwrap()),
        "terminal" => Actor::Terminal(TerminalId::parse(id).unwrap()),
        "staff" => Actor::Staff(StaffId::parse(id).unwrap()),
        other => panic!("not an actor: {other}"),
    }
}

/// The principal: `<kind>:<id>`.
#[must_use]
pub fn principal(given: &str) -> Principal {
    let (kind, id) = given.split_once(':').unwrap();
    match kind {
        "customer" => Principal::Customer(customer(id)),
        "merchant" => Principal::Merchant(MerchantId::parse(id).unwrap()),
        "terminal" => Principal::Terminal(TerminalId::parse(id).unwrap()),
        "staff" => Principal::Staff(StaffId::parse(id).unwrap()),
        other => panic!("not a principal: {other}"),
    }
}

/// A claim on a key.
#[must_use]
pub fn claim(tenant: &Tenant, given: &ClaimJson, now: Timestamp) -> Claim {
    let operation = Operation::parse(&given.operation).unwrap();
    Claim {
        tenant: tenant.clone(),
        principal: principal(&given.principal),
        actor: actor(&given.actor),
        operation,
        key: ClaimKey::parse(&given.key).unwrap(),
        request: CanonicalRequest {
            method: match given.method.as_str() {
                "POST" => "POST",
                "PATCH" => "PATCH",
                other => panic!("not a method: {other}"),
            },
            path: given.path.clone(),
            fields: given.fields.iter().fold(Fields::new(), |fields, (name, value)| field(fields, name, value)),
        },
        window: Window::of(operation),
        now,
    }
}

fn field(fields: Fields, name: &str, value: &Json) -> Fields {
    match value {
        Json::Null => fields.with_cleared(name),
        Json::String(text) => fields.with(name, text),
        Json::Array(list) => fields.with_list(name, list.iter().map(|value| value.as_str().unwrap())),
        Json::Object(_) => {
            let money: Money = serde_json::from_value(value.clone()).unwrap();
            let asset = Asset::parse(&money.asset).unwrap();
            let spec = match asset {
                Asset::Ecopay => AssetSpec::ECOPAY,
                Asset::Point => AssetSpec::POINT,
                Asset::Jcredit => AssetSpec::JCREDIT,
                Asset::Regional(key) => AssetSpec::regional(key, AssetSpec::MAX_SCALE).unwrap(),
            };
            fields.with_amount(name, &Amount::parse(&spec, &money.amount).unwrap())
        }
        Json::Bool(_) | Json::Number(_) => panic!("not a typed field: {name}: {value}"),
    }
}

/// The response that is stored.
#[must_use]
pub fn answer(given: &AnswerJson) -> Answer {
    Answer {
        status: given.status.parse().unwrap(),
        content_type: given.content_type.clone(),
        location: given.location.clone(),
        body: given.body.clone(),
    }
}

fn context(given: &ContextJson, now: Timestamp) -> Context {
    let bytes = |text: &str| -> [u8; 16] {
        let bytes = (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap());
        bytes.collect::<Vec<u8>>().try_into().unwrap()
    };
    Context {
        now,
        transaction_id: TransactionId::parse(&given.transaction_id).unwrap(),
        resource_id: Uuid::parse_str(&given.resource_id).unwrap(),
        audit_id: AuditId::parse(&given.audit_id).unwrap(),
        secret: bytes(&given.secret),
        salt: bytes(&given.salt),
    }
}
